"""Whether and where a run keeps raw files: the archive, opened when the first file is read, and the other way round.

A run with nothing to read must pay for neither SQLite nor zstd of it.
"""

from __future__ import annotations

import os

from core.errors import BrainError
from core.home import Home
from core.tombstones import Tombstones
from core.version import REDACTION
from ingest.policy.exclusions import EXCLUDED, Rules
from ingest.raw.store import RawStore
from ingest.session.lineage import parent_of
from ingest.sources.histories.source import HISTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ingest.archive.archive import Entry
    from ingest.archive.recording import Archive, Recorder
    from ingest.pipeline.reading import Reading
    from ingest.raw.files import SourceFile
    from ingest.session.lineage import Lineage
    from ingest.sources.histories.source import Transcripts

FORGOTTEN = "forgotten"
DEFAULT_GB = 20.0
_CATALOGUE = ("raw", "catalogue.sqlite")
_OFF = "off"
# Agents of agents: so far up a session's exclusion is looked for.
_DEEP = 64


class Policy:
    """``archive:`` of collections.yml: ``enabled``, ``redact`` (false: lines are kept as found), ``max_gb``."""

    __slots__ = ("enabled", "max_bytes", "redact")

    def __init__(self, home: Home) -> None:
        from core.config import load

        try:
            section: dict[str, Any] = load(home).section("archive")
        except BrainError:
            section = {}  # an invalid configuration is reported by those who need it
        self.enabled = section.get("enabled") is not False
        self.redact = section.get("redact") is not False
        self.max_bytes = int(float(section.get("max_gb") or DEFAULT_GB) * 1e9)

    @property
    def gone_through(self) -> bytes:
        """What ``state/redaction`` says where all that is to be redacted is, in the archive too."""
        return f"{REDACTION}\n".encode() if self.redact else f"{REDACTION} raw\n".encode()


class Keeping(RawStore):
    """What a run over one source does with raw files: records them, or reads them back (``from_archive``)."""

    __slots__ = (
        "_archive",
        "_back",
        "_checks",
        "_configured",
        "_depth",
        "_entries",
        "_folders",
        "_forgotten",
        "_hasty",
        "_home",
        "_judged",
        "_missing",
        "_older",
        "_others",
        "_policy",
        "_source",
        "from_archive",
        "keeps_raw",
        "lineage",
        "rules",
        "transcripts",
    )

    records = True

    def __init__(
        self, home: Home, source: str, *, from_archive: bool = False, checks: bool = False, hasty: bool = False
    ) -> None:
        self._home = home
        self._checks = checks
        self._hasty = hasty
        self._source = source
        self._policy = Policy(home)
        self.keeps_raw = not self._policy.redact
        self._archive: Archive | None = None
        self._entries: dict[str, Entry] = {}
        self._back: Keeping | None = None
        self._older: dict[str, list[Entry]] = {}
        self._folders: dict[str, list[str]] = {}
        self._missing: set[str] | None = None
        self._others: set[str] | None = None
        self._configured: dict[str, list[str]] = {}
        self._forgotten = Tombstones(home)
        self._depth = 0
        self._judged: dict[str, str] = {}
        self.rules = Rules(home)
        self.lineage: Lineage | None = None
        """Where a session may be looked up that has not been read yet, for a run to say."""
        self.from_archive = from_archive
        self.transcripts: Transcripts | None = None
        """What tells sessions of which histories have the prompts, for a run to say."""

    def mark(self) -> str:
        """Changes when files have to be read again: they are not in the archive, or other ones are excluded."""
        rules = self.rules.fingerprint
        if not self._policy.enabled:
            return f"{_OFF} {rules}"
        try:
            inode = os.stat(self._home.path(*_CATALOGUE)).st_ino
        except FileNotFoundError:
            inode = 0
        return f"{inode} {self._policy.redact} {rules}"

    def is_of(self, source: str, path: str, unit: str) -> bool:
        """Whether another source has made a document of a file, or one of its that was forgotten is of this unit."""
        from ingest.pipeline.state import holds

        return self._forgotten.covers(source, unit) or (not self.from_archive and holds(self._home, source, path))

    def alone_has(self, path: str, other: str) -> bool:
        """Whether a file is read from the archive, which has it of this source and not of the ``other`` one."""
        if not self.from_archive or path not in self._entries:
            return False
        if self._others is None:
            from ingest.archive import archive

            self._others = {entry.path for entry in archive.versions(self._home, other)}
        return path not in self._others

    def configured(self, source: str) -> list[str]:
        """Return the folders that collections.yml adds to those of a source's tool; looked up once."""
        if source not in self._configured:
            from ingest.source import configured

            try:
                self._configured[source] = configured(source, self._home)
            except BrainError:
                self._configured[source] = []  # an invalid configuration is reported by those who need it
        return self._configured[source]

    def excluded(self, folder: str) -> str:
        """Return why work in a folder is excluded, "" if it is not."""
        return self.rules.excluded("", folder)

    def files(self) -> list[SourceFile]:
        """The archived files, as ``discover`` would have found them."""
        from ingest.archive import archive
        from ingest.raw.files import SourceFile

        held = archive.versions(self._home, self._source)
        files = {entry.path: entry for entry in held if not entry.version}
        self._entries = {**{entry.path: entry for entry in held if entry.version == archive.BESIDE}, **files}
        self._older = {}
        for entry in reversed(held):
            if entry.version > 0:
                self._older.setdefault(entry.path, []).append(entry)
        return [SourceFile(entry.path, entry.size, entry.mtime_ns, 0, "") for entry in files.values()]

    def recorder(self, path: str, *, beside: bool = False, version: int = 0) -> Recorder | None:
        """Takes a file in as it is read, or one that is read ``beside`` such; None where nothing is to be kept."""
        archive = self._opened()
        return None if archive is None else archive.recorder(path, beside=beside, version=version)

    def older(self, path: str) -> list[Entry]:
        """What the archive has of a file from before it said less: the newest first."""
        if self.from_archive:
            return self._older.get(path, [])
        archive = self._opened()
        return [] if archive is None else archive.older(path)

    def showing(self, entry: Entry) -> Keeping:
        """One that reads a file back as ``entry`` has it."""
        import copy

        if self._back is None:
            self._back = self if self.from_archive else self.as_archived()
        keeping = copy.copy(self._back)
        keeping._entries = {**self._back._entries, entry.path: entry}
        keeping._older = {}
        return keeping

    def _opened(self) -> Archive | None:
        if self.from_archive or not self._policy.enabled:
            return None
        if self._archive is None:
            from ingest.archive.recording import Archive

            self._archive = Archive(
                self._home, self._source, keeps_raw=not self._policy.redact, checks=self._checks, hasty=self._hasty
            )
        return self._archive

    def missing(self) -> set[str]:
        """The files that were read beside others, as the archive has them, and lie there no more; looked for once."""
        if self._missing is None:
            from ingest.archive import archive

            held = [] if self.from_archive else archive.versions(self._home, self._source)
            beside = {entry.path for entry in held if entry.version == archive.BESIDE}
            self._missing = {path for path in beside if not os.path.exists(path)}
        return self._missing

    def lacking(self, files: list[SourceFile]) -> list[SourceFile]:
        """Those of the files that lie on disk of whose archived form something is missing, or with ``checks`` damaged.

        Where that is of a file that is read beside others, and is there, it is all of them.
        """
        if self.from_archive or not self._policy.enabled:
            return []
        from ingest.archive import archive, soundness

        try:
            lost = soundness.broken(self._home, (self._source,), contents=self._checks)
        except BrainError:
            if self._checks:
                raise
            return []  # the doctor says what is wrong with it: a run that stores nothing goes on without
        if any(each.version == archive.BESIDE and os.path.exists(each.path) for each in lost):
            return files
        # What a file said before is not in it any more: to read it again would find nothing.
        paths = {each.path for each in lost if each.version <= 0}
        return [file for file in files if file.path in paths]

    def as_archived(self) -> Keeping:
        """One that reads back what was archived before this run."""
        keeping = Keeping(self._home, self._source, from_archive=True)
        keeping.files()
        return keeping

    def leave(self, paths: Iterable[str]) -> None:
        """Let files that were read beside another go: that is not made of them any more."""
        for path in paths:
            archive = self._opened()
            if archive is not None:
                archive.leave(path)

    def shelved(self, path: str) -> tuple[str, Entry] | None:
        """(the archive's folder, the entry) where the file is to be read from the archive."""
        entry = self._entries.get(path) if self.from_archive else None
        return None if entry is None else (self._home.path(_CATALOGUE[0]), entry)

    def below(self, folder: str) -> list[str]:
        """The paths of the archived files that lay in ``folder``, sorted, once ``files`` has looked."""
        if not self._folders:
            for path in sorted(self._entries):
                self._folders.setdefault(os.path.dirname(path), []).append(path)
        return self._folders.get(folder, [])

    def withhold(self, reading: Reading) -> bool:
        """``remove`` from a file's reading, once that has ended; where it then has nothing, it says nothing either."""
        any_removed = self.remove(reading)
        if any_removed and not reading.parts and not reading.taken:
            reading.skipped = reading.withheld
            reading.unknown.clear()
            reading.failures.clear()
            reading.failed_reasons.clear()
        return any_removed

    def remove(self, reading: Reading) -> bool:
        """Take out of a reading what was forgotten or is excluded; returns whether it ever had any."""
        for unit in list(reading.parts):
            reason = self._withheld(unit, reading)
            if reason:
                reading.withheld = reason
                if reason.startswith(EXCLUDED):
                    reading.excluded.add(unit)
                del reading.parts[unit]
        return bool(reading.withheld)

    def withholds(self, unit: str, reading: Reading) -> bool:
        """Whether the part of a unit was forgotten or is excluded."""
        return bool(self._withheld(unit, reading))

    def forgot(self, unit: str) -> bool:
        """Whether a unit of this source was forgotten."""
        return self._forgotten.covers(self._source, unit)

    def _withheld(self, unit: str, reading: Reading) -> str:
        if self.forgot(unit):
            return FORGOTTEN
        is_partial = reading.parts[unit].partial
        if is_partial and self.transcripts is not None and self.transcripts.tells(unit):
            return HISTORY
        reason = self._excluded(unit, reading.parts[unit], reading)
        if reason or not self._judged.get(unit):
            self._judged[unit] = reason  # one of its copies is enough
        return reason

    def _excluded(self, unit: str, part: Any, reading: Reading) -> str:
        """Why a unit is excluded, by itself or with the session that it worked for; what is found is remembered."""
        withheld = self.rules.withheld
        project, sign = part.cwd, part.sign
        reason = self.rules.excluded(reading.path, project, sign)
        if reason:
            self.rules.remember(self._source, unit, reason, reading.path, project, sign)
            return reason
        parent = parent_of(unit, part)
        if parent and parent != unit:
            reason = self._of_session(parent, reading)
        if reason:
            withheld.inherit(self._source, unit, parent)
        elif part.partial:
            return self.rules.remembered(self._source, unit)
        elif not self._judged.get(unit):
            withheld.note_unit(self._source, unit, "")
        return reason

    def _of_session(self, unit: str, reading: Reading) -> str:
        """Why a session is excluded that another unit worked for; it is looked up where nothing is known of it."""
        if unit in self._judged:
            return self._judged[unit]
        if self._depth >= _DEEP:
            return self.rules.remembered(self._source, unit)
        self._depth += 1
        try:
            self._look_up(unit, reading)
        finally:
            self._depth -= 1
        return self._judged.get(unit) or self.rules.remembered(self._source, unit)

    def _look_up(self, unit: str, reading: Reading) -> None:
        if unit in reading.parts:
            self._judged[unit] = ""  # who says to have worked for each other is not looked up for ever
            self._judged[unit] = self._excluded(unit, reading.parts[unit], reading)
        elif not self.rules.remembered(self._source, unit) and self.lineage is not None:
            self._judged[unit] = ""
            for found in self.lineage.look_up(unit, reading.path):
                if unit in found.parts and not self._judged[unit]:
                    self._judged[unit] = self._excluded(unit, found.parts[unit], found)

    def commit(self) -> None:
        """Make durable what was recorded. Raises OSError and BrainError."""
        self.rules.withheld.save()
        if self._archive is not None:
            self._archive.commit()

    def close(self) -> None:
        """Close the archive; what was excluded stays known, also where nothing was written. Raises as ``commit``."""
        try:
            self.rules.withheld.save()
        finally:
            if self._archive is not None:
                self._archive.close()


def state(home: Home) -> dict[str, object]:
    """What ``explain`` says of the archive: on or off, objects, bytes, its cap in bytes and whether it is above it.

    ``lost``: objects whose loss was accepted. ``unnamed``: those that no catalogue names. Raises BrainError where that
    cannot be read.
    """
    from ingest.archive import archive, losses, orphan_objects

    policy = Policy(home)
    count, total = archive.size(home)
    unnamed = set(map(orphan_objects.name_of, orphan_objects.objects(home)))
    return {
        "enabled": policy.enabled,
        "redacted": policy.redact,
        "objects": count,
        "bytes": total,
        "max_bytes": policy.max_bytes,
        "over": total > policy.max_bytes,
        "lost": len(losses.accepted(home).keys() - unnamed),
        "unnamed": len(unnamed),
    }
