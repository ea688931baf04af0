"""The account of a run: every file that was seen ends in exactly one of ingested, unchanged, skipped, failed.

Kept in ``state/ledger/<source>.json``, read by ``explain``: the last run's that found any files, since one over empty
folders says nothing of what the brain holds. What a file had to say is remembered with it, so that a run in which
nothing changed still reports what was skipped, failed or not understood; what was not understood also of the files
that the run did not look at.
"""

from __future__ import annotations

import os
from os.path import join

from core.counting import add
from core.home import Home
from ingest.pipeline.state import HIDDEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ingest.pipeline.state import FileRow

_MAX_FAILURES = 50
_MAX_VERSIONS = 20

# Where a run looked: the folders that the source has on this machine and in the configuration, or others given to it.
OWN, GIVEN, ARCHIVE = "own folders", "--from", "archive"


class Ledger:
    """Counts of one run over one source. ``as_dict()`` is the form that is printed and kept.

    ``bytes``: of the files read in this run; ``documents``: of this source in the corpus after it; ``written``: those
    whose bytes changed; ``redacted``: kind → secrets replaced in the files that were seen; ``dropped``: records that
    policy leaves out, by reason; ``truncated``: (how many are not all of their transcript, pieces they lack).
    ``partial``: files of which damage ended the reading when something of them had been read; they count as that says.
    ``failed`` lists the first 50 failures, of files (line 0) and of records. ``roots`` is OWN, GIVEN or ARCHIVE,
    ``finished`` epoch seconds.
    """

    __slots__ = (
        "bytes",
        "documents",
        "dropped",
        "failed",
        "failed_files",
        "failed_reasons",
        "failed_records",
        "finished",
        "ingested",
        "kept",
        "partial",
        "recovered",
        "redacted",
        "removed",
        "renamed",
        "roots",
        "seen",
        "skipped",
        "source",
        "truncated",
        "unchanged",
        "unknown",
        "vanished",
        "written",
    )

    def __init__(self, source: str, roots: str = OWN) -> None:
        self.source = source
        self.roots = roots
        self.truncated = (0, 0)
        self.seen = self.ingested = self.unchanged = self.vanished = self.bytes = 0
        self.documents = self.written = self.renamed = self.removed = self.kept = 0
        self.failed_files = self.failed_records = self.partial = self.finished = 0
        self.skipped: dict[str, int] = {}
        self.dropped: dict[str, int] = {}
        self.recovered: dict[str, int] = {}
        self.redacted: dict[str, int] = {}
        self.failed_reasons: dict[str, int] = {}
        self.failed: list[dict[str, object]] = []
        self.unknown: dict[str, dict[str, object]] = {}

    def skip(self, reason: str) -> None:
        """Count a file that makes no document."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def fail(self, path: str, reason: str, detail: str = "") -> None:
        """Count a whole file that could not be read."""
        self.failed_files += 1
        self._failed(reason, 1)
        self._example(path, reason, detail, 0)

    def account(self, row: FileRow, *, fresh: bool) -> None:
        """Count one file by what is known of it; ``fresh``: it was read in this run."""
        if row.status == "ingested":
            if fresh:
                self.ingested += 1
            else:
                self.unchanged += 1
        elif row.status == "skipped":
            self.skip(row.reason)
        else:
            reason, _, detail = row.reason.partition(": ")
            self.fail(row.path, reason, detail)
        if row.notes:
            import json

            self.note(row.path, json.loads(row.notes))

    def note(self, path: str, notes: dict[str, Any]) -> None:
        """Add what one file had to say: counts by reason or kind, and the first ``failures``."""
        add(self.dropped, notes.get("dropped", {}))
        _add_unknown(self.unknown, path, notes)
        add(self.recovered, notes.get("recovered", {}))
        add(self.redacted, notes.get("redacted", {}))
        for reason, count in notes.get("failed", {}).items():
            self.failed_records += count
            self._failed(reason, count)
        if "partial" in notes:
            reason, detail = notes["partial"]
            self.partial += 1
            self._failed(reason, 1)
            self._example(path, reason, detail, 0)
        for reason, detail, line in notes.get("failures", []):
            self._example(path, reason, detail, line)

    def _failed(self, reason: str, count: int) -> None:
        self.failed_reasons[reason] = self.failed_reasons.get(reason, 0) + count

    def _example(self, path: str, reason: str, detail: str, line: int) -> None:
        if len(self.failed) < _MAX_FAILURES:
            self.failed.append({"path": shown(path), "reason": reason, "detail": detail[:300], "line": line})

    def as_dict(self) -> dict[str, object]:
        """Plain data, JSON-able, keys in a fixed order."""
        return {
            "source": self.source,
            "roots": self.roots,
            "seen": self.seen,
            "ingested": self.ingested,
            "unchanged": self.unchanged,
            "skipped": dict(sorted(self.skipped.items())),
            "failed_files": self.failed_files,
            "partial": self.partial,
            "failed_records": self.failed_records,
            "failed_reasons": dict(sorted(self.failed_reasons.items())),
            "failed": self.failed,
            "dropped": dict(sorted(self.dropped.items())),
            "recovered": dict(sorted(self.recovered.items())),
            "redacted": dict(sorted(self.redacted.items())),
            "unknown": dict(sorted(self.unknown.items())),
            "vanished": self.vanished,
            "documents": self.documents,
            "truncated": {"documents": self.truncated[0], "pieces": self.truncated[1]},
            "written": self.written,
            "renamed": self.renamed,
            "removed": self.removed,
            "kept": self.kept,
            "bytes": self.bytes,
            "finished": self.finished,
        }

    def write(self, home: Home, elsewhere: Iterable[FileRow] = ()) -> None:
        """Keep this ledger, unless one is kept and this run found nothing to say. Raises OSError.

        ``elsewhere``: the source's files that this run did not find, given by hand once or deleted since. What was not
        understood of them is kept with it: their documents lack it still.
        """
        import json

        from core.files import write_atomic

        if not self.seen and not self.vanished and self.source in read(home):
            return
        unknown = {what: dict(entry) for what, entry in self.unknown.items()}
        for row in elsewhere:
            # A size below 0: what an earlier version of the parser had to say.
            if row.size >= 0 and row.notes and '"unknown"' in row.notes:
                _add_unknown(unknown, row.path, json.loads(row.notes))
        kept = {**self.as_dict(), "unknown": dict(sorted(unknown.items()))}
        text = json.dumps(kept, ensure_ascii=False, indent=1)
        write_atomic(join(home.state, "ledger", f"{self.source}.json"), text.encode("utf-8", "replace"))


def _add_unknown(unknown: dict[str, dict[str, object]], path: str, notes: dict[str, Any]) -> None:
    """Add what one file had to say of records and fields that nothing is known of."""
    for what, (count, line, *look) in notes.get("unknown", {}).items():
        entry = unknown.setdefault(what, {"count": 0, "example": f"{shown(path)}:{line}"})
        if look and look[0]:
            entry.setdefault("shape", look[0])
        entry["count"] = int(str(entry["count"])) + count
        seen = entry.get("versions")
        found = {*(seen if isinstance(seen, list) else ()), *notes.get("versions", ())}
        if found:
            entry["versions"] = sorted(found)[:_MAX_VERSIONS]


def read(home: Home) -> dict[str, dict[str, object]]:
    """Source → its last ledger; a file that is not whole JSON is left out."""
    import json

    folder = join(home.state, "ledger")
    found: dict[str, dict[str, object]] = {}
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return found
    for name in names:
        if not name.endswith(".json"):
            continue
        try:
            with open(join(folder, name), encoding="utf-8") as stream:
                data = json.load(stream)
        except (OSError, ValueError):
            continue
        if isinstance(data, dict):
            found[name.removesuffix(".json")] = data
    return found


def of(home: Home, source: str) -> dict[str, object]:
    """The last ledger of one source; empty before the first."""
    return read(home).get(source) or {}


def shown(path: str) -> str:
    """A path that any JSON writer and terminal can take, whatever bytes the file's name has."""
    if path.startswith(HIDDEN):
        return "a file that is called what was forgotten"
    return os.fsencode(path).decode("utf-8", "backslashreplace")
