"""The account of a run: every file that was seen ends in exactly one of ingested, unchanged, skipped, failed.

``state/ledger/<source>.json`` holds the account of the last run that found any files, for ``explain``: a run over empty
folders says nothing of the memory. The notes on a file are kept with its row, so that a run in which nothing changed
still reports what was skipped, failed or not understood.
"""

from __future__ import annotations

import os
from operator import attrgetter
from os.path import join

from core.counting import add
from core.files import write_atomic
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
# In the order of ``Ledger.as_dict``.
_FIELDS = (
    "source", "roots", "seen", "ingested", "unchanged", "skipped", "failed_files", "partial", "failed_records",
    "failed_reasons", "failed", "dropped", "recovered", "redacted", "unknown", "vanished", "documents", "truncated",
    "written", "renamed", "removed", "kept", "bytes", "finished",
)  # fmt: skip


class Ledger:
    """Counts of one run over one source. ``as_dict()`` is the form that is printed and kept.

    ``bytes``: of the files read in this run; ``documents``: of this source in the corpus after it; ``written``: changed
    documents; ``redacted``: kind → secrets replaced in the files that were seen; ``dropped``: records that policy
    leaves out, by reason; ``truncated``: (documents that lack pieces of their transcript, those pieces). ``partial``:
    files with damage after readable content. ``failed`` lists the first 50 failures, of files (line 0) and of records.
    ``roots`` is OWN, GIVEN or ARCHIVE, ``finished`` epoch seconds.
    """

    def __init__(self, source: str, roots: str = OWN) -> None:
        self.source, self.roots, self.truncated = source, roots, (0, 0)
        self.seen = self.ingested = self.unchanged = self.vanished = self.bytes = 0
        self.documents = self.written = self.renamed = self.removed = self.kept = 0
        self.failed_files = self.failed_records = self.partial = self.finished = 0
        self.skipped, self.dropped, self.failed_reasons = (dict[str, int]() for _ in range(3))
        self.recovered, self.redacted = dict[str, int](), dict[str, int]()
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
        """Count one file by its row; ``fresh``: it was read in this run."""
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
        """Add the notes on one file: counts by reason or kind, and the first ``failures``."""
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
        """Return plain data, JSON-able, keys in a fixed order."""
        found: dict[str, object] = {}
        for name, value in zip(_FIELDS, attrgetter(*_FIELDS)(self), strict=True):
            found[name] = dict(sorted(value.items())) if isinstance(value, dict) else value
        found["truncated"] = {"documents": self.truncated[0], "pieces": self.truncated[1]}
        return found

    def write(self, home: Home) -> None:
        """Write what ``encoded`` returns. Raises OSError."""
        if data := self.encoded(home):
            write_atomic(path(home, self.source), data)

    def encoded(self, home: Home, elsewhere: Iterable[FileRow] = ()) -> bytes:
        """Return this ledger as its file keeps it; nothing if there is a file and this run found no files.

        ``elsewhere``: the source's files that this run did not find, given by hand once or deleted since. Their unknown
        records are added: their documents still lack them.
        """
        import json

        if not self.seen and not self.vanished and self.source in read(home):
            return b""
        unknown = {what: dict(entry) for what, entry in self.unknown.items()}
        for row in elsewhere:
            # A size below 0: the notes are of an earlier version of the parser.
            if row.size >= 0 and row.notes and '"unknown"' in row.notes:
                _add_unknown(unknown, row.path, json.loads(row.notes))
        kept = {**self.as_dict(), "unknown": dict(sorted(unknown.items()))}
        return json.dumps(kept, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def path(home: Home, source: str) -> str:
    """Return where the ledger of a source's last run is."""
    return join(home.state, "ledger", f"{source}.json")


def _add_unknown(unknown: dict[str, dict[str, object]], path: str, notes: dict[str, Any]) -> None:
    """Add the notes on one file's unknown records and fields."""
    for what, (count, line, *look) in notes.get("unknown", {}).items():
        entry = unknown.setdefault(what, {"count": 0, "example": f"{shown(path)}:{line}" if line else shown(path)})
        if look and look[0]:
            entry.setdefault("shape", look[0])
        entry["count"] = int(str(entry["count"])) + count
        seen = entry.get("versions")
        found = {*(seen if isinstance(seen, list) else ()), *notes.get("versions", ())}
        if found:
            entry["versions"] = sorted(found)[:_MAX_VERSIONS]


def read(home: Home) -> dict[str, dict[str, object]]:
    """Return source → its last ledger; a file that is not whole JSON is left out."""
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
    """Return the last ledger of one source; empty before the first."""
    return read(home).get(source) or {}


def shown(path: str) -> str:
    """Return a path that any JSON writer and terminal can print, whatever bytes the file's name has."""
    if path.startswith(HIDDEN):
        return "a file that is called what was forgotten"
    return os.fsencode(path).decode("utf-8", "backslashreplace")
