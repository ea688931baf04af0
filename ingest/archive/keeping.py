"""The raw files of a run over one source: recorded in the archive, or read back from there, without what is excluded.

The archive is opened when the first file is read: a run with nothing to read pays for neither its SQLite nor zstd.
"""

from __future__ import annotations

import os
from os.path import join

from core.errors import BrainError
from core.tombstones import Tombstones
from core.version import REDACTION
from ingest.policy.exclusions import EXCLUDED, Rules
from ingest.raw.store import RawFile, RawStore
from ingest.session.transcripts import PROMPT_HISTORY, Lineage, parent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any

    from core.home import Home
    from ingest.archive.archive import Entry
    from ingest.archive.recording import Archive, Recorder
    from ingest.pipeline.reading import Reading
    from ingest.raw.files import SourceFile
    from ingest.session.transcripts import Transcripts
    from ingest.source import Settings, Source

FORGOTTEN = "forgotten"
DEFAULT_GB = 20.0
_OFF = "off"
# An excluded session is looked for among the parents of an agent, so many generations up.
_DEEP = 64


class Policy:
    """``archive:`` of collections.yml: ``enabled``, ``redact`` (False: lines are kept as found), ``max_bytes``.

    ``state/redaction`` holds the ``mark`` if everything that is to be redacted is, in the archive too.
    """

    __slots__ = ("enabled", "mark", "max_bytes", "redact")

    def __init__(self, settings: Settings) -> None:
        section = settings.get("archive") or {}
        self.enabled = section.get("enabled") is not False
        self.redact = section.get("redact") is not False
        self.max_bytes = int(float(section.get("max_gb") or DEFAULT_GB) * 1e9)
        self.mark = f"{REDACTION}\n".encode() if self.redact else f"{REDACTION} raw\n".encode()


class Keeping(RawStore):
    """The raw files of a run over one source: it records them, or reads them back (``from_archive``).

    ``checks``: the archived form of each file is verified. ``hasty``: the catalogue's log is left for others to write
    back. A run sets ``transcripts``, which knows the sessions that have transcripts, and ``holds(source, path)``: True
    if another source made a document of a file.
    """

    __slots__ = (
        "_archive", "_back", "_checks", "_depth", "_entries", "_expected", "_folder", "_folders", "_forgotten",
        "_hasty", "_home", "_judged", "_lineage", "_missing", "_older", "_others", "_policy", "_settings", "_source",
        "from_archive", "holds", "keeps_raw", "rules", "transcripts",
    )  # fmt: skip

    records = True

    def __init__(
        self,
        home: Home,
        source: str,
        settings: Settings,
        *,
        from_archive: bool = False,
        checks: bool = False,
        hasty: bool = False,
    ) -> None:
        self._home, self._source, self._settings = home, source, settings
        self._folder = join(home.root, "raw")
        self._checks, self._hasty, self.from_archive = checks, hasty, from_archive
        self._policy = Policy(settings)
        self.keeps_raw = not self._policy.redact
        self.rules = Rules(home, settings)
        self.transcripts: Transcripts | None = None
        self.holds: Callable[[str, str], bool] = lambda _, __: False
        self._forgotten = Tombstones(home)
        self._archive: Archive | None = None
        # If files are read back: path → the present version, path → older versions, folder → paths.
        self._entries: dict[str, Entry] = {}
        self._older: dict[str, list[Entry]] = {}
        self._folders: dict[str, list[str]] = {}
        self._back: Keeping | None = None
        self._missing: set[str] | None = None
        self._others: set[str] | None = None
        # Unit → why it is excluded, of those that this run has judged; and where a parent may be looked up.
        self._judged: dict[str, str] = {}
        self._depth = 0
        self._expected: tuple[Source, list[str], Collection[str]] | None = None
        self._lineage: Lineage | None = None

    def mark(self) -> str:
        """Return what changes when files have to be read again: another archive, or other exclusions."""
        rules = self.rules.fingerprint
        if not self._policy.enabled:
            return f"{_OFF} {rules}"
        try:
            inode = os.stat(join(self._folder, "catalogue.sqlite")).st_ino
        except FileNotFoundError:
            inode = 0
        return f"{inode} {self._policy.redact} {rules}"

    def expect(self, source: Source, paths: list[str], known: Collection[str]) -> None:
        """Set the files that the run is to read, among which a session that is not ``known`` may be looked up."""
        self._expected = source, paths, known

    def is_of(self, source: str, path: str, unit: str) -> bool:
        """Return True if another source made a document of a file, or a session of it with this id was forgotten."""
        return self._forgotten.covers(source, unit) or (not self.from_archive and self.holds(source, path))

    def alone_has(self, path: str, other: str) -> bool:
        """Return True if a file is read from the archive, which has it of this source and not of the ``other`` one."""
        if not self.from_archive or path not in self._entries:
            return False
        if self._others is None:
            from ingest.archive import archive

            self._others = {entry.path for entry in archive.versions(self._home, other)}
        return path not in self._others

    def configured(self, source: str) -> list[str]:
        """Return the folders that collections.yml adds to those of a source's tool."""
        from ingest.roots import added

        return added(self._settings.get("sources") or {}, source)

    def excluded(self, folder: str) -> str:
        """Return why work in a folder is excluded, "" if it is not."""
        return self.rules.excluded("", folder)

    def files(self) -> list[SourceFile]:
        """Return the archived files, as ``discover`` would have found them."""
        from ingest.archive import archive
        from ingest.raw.files import SourceFile

        held = archive.versions(self._home, self._source)
        files = {entry.path: entry for entry in held if not entry.version}
        self._entries = {**{entry.path: entry for entry in held if entry.version == archive.COMPANION}, **files}
        self._older = {}
        for entry in reversed(held):
            if entry.version > 0:
                self._older.setdefault(entry.path, []).append(entry)
        return [SourceFile(entry.path, entry.size, entry.mtime_ns, 0, "") for entry in files.values()]

    def recorder(self, path: str, *, companion: bool = False, version: int = 0) -> Recorder | None:
        """Return the recorder of a file, or of a ``companion`` file; None if nothing is recorded."""
        archive = self._opened()
        return None if archive is None else archive.recorder(path, companion=companion, version=version)

    def older(self, path: str) -> list[Entry]:
        """Return the archived versions of a file from before it said less: the newest first."""
        if self.from_archive:
            return self._older.get(path, [])
        archive = self._opened()
        return [] if archive is None else archive.older(path)

    def showing(self, entry: Entry) -> Keeping:
        """Return a store that reads a file back as ``entry`` has it."""
        import copy

        if self._back is None:
            self._back = self if self.from_archive else self.as_archived()
        store = copy.copy(self._back)
        store._entries = {**self._back._entries, entry.path: entry}
        store._older = {}
        return store

    def _opened(self) -> Archive | None:
        if self._archive is None and self._policy.enabled and not self.from_archive:
            from ingest.archive.recording import Archive

            self._archive = Archive(
                self._home, self._source, keeps_raw=self.keeps_raw, checks=self._checks, hasty=self._hasty
            )
        return self._archive

    def missing(self) -> set[str]:
        """Return the archived companion files that are not on disk any more; looked for once."""
        if self._missing is None:
            from ingest.archive import archive

            held = [] if self.from_archive else archive.versions(self._home, self._source)
            companions = {entry.path for entry in held if entry.version == archive.COMPANION}
            self._missing = {path for path in companions if not os.path.exists(path)}
        return self._missing

    def lacking(self, files: list[SourceFile]) -> list[SourceFile]:
        """Return the files on disk of which the archive misses an object, or with ``checks`` has a damaged one.

        If an object of a companion file is missing, and the companion is there, all files are returned.
        """
        if self.from_archive or not self._policy.enabled or not os.path.exists(self._folder):
            return []
        from ingest.archive import archive, verifier

        try:
            lost = verifier.broken(self._home, (self._source,), contents=self._checks)
        except BrainError:
            if self._checks:
                raise
            return []  # the doctor reports a damaged catalogue: a run that stores nothing goes on without it
        if any(each.version == archive.COMPANION and os.path.exists(each.path) for each in lost):
            return files
        # An older version is not in the file any more: reading the file again would find nothing.
        paths = {each.path for each in lost if each.version <= 0}
        return [file for file in files if file.path in paths]

    def as_archived(self) -> Keeping:
        """Return a store that reads back what was archived before this run."""
        store = Keeping(self._home, self._source, self._settings, from_archive=True)
        store.files()
        return store

    def leave(self, paths: Iterable[str]) -> None:
        """Drop companion files that a session is not made of any more."""
        for path in paths:
            archive = self._opened()
            if archive is not None:
                archive.leave(path)

    def open(self, path: str) -> RawFile:
        """Open a file to be read in order. Raises OSError."""
        if not self.is_shelved(path):
            return RawFile(path)
        from ingest.archive.archive import Shelved

        entry = self._entries[path]
        return RawFile.archived(entry, Shelved(self._folder, entry.segments))

    def is_shelved(self, path: str) -> bool:
        """Return True if the file is read from the archive."""
        return self.from_archive and path in self._entries

    def below(self, folder: str) -> list[str]:
        """Return the paths of the archived files that lay in a folder, sorted, once ``files`` was called."""
        if not self._folders:
            for path in sorted(self._entries):
                self._folders.setdefault(os.path.dirname(path), []).append(path)
        return self._folders.get(folder, [])

    def withhold(self, reading: Reading) -> bool:
        """Do ``remove`` for a reading that has ended; if nothing is left, drop its failures as well."""
        any_removed = self.remove(reading)
        if any_removed and not reading.parts and not reading.taken:
            reading.skipped = reading.withheld
            reading.unknown.clear()
            reading.failures.clear()
            reading.failed_reasons.clear()
        return any_removed

    def remove(self, reading: Reading) -> bool:
        """Take out of a reading what was forgotten or is excluded; return True if it ever had any."""
        for unit in [unit for unit, part in reading.parts.items() if reading.passed.get(unit) is not part]:
            reason = self._withheld(unit, reading)
            if reason:
                reading.withheld = reason
                if reason.startswith(EXCLUDED):
                    reading.excluded.add(unit)
                del reading.parts[unit]
            else:
                reading.passed[unit] = reading.parts[unit]
        return bool(reading.withheld)

    def withholds(self, unit: str, reading: Reading) -> bool:
        """Return True if the part of a unit was forgotten or is excluded."""
        return bool(self._withheld(unit, reading))

    def forgot(self, unit: str) -> bool:
        """Return True if a unit of this source was forgotten."""
        return self._forgotten.covers(self._source, unit)

    def _withheld(self, unit: str, reading: Reading) -> str:
        if self.forgot(unit):
            return FORGOTTEN
        part = reading.parts[unit]
        if part.partial and self.transcripts is not None and self.transcripts.covers(unit):
            return PROMPT_HISTORY
        reason = self._excluded(unit, part, reading)
        if reason or not self._judged.get(unit):
            self._judged[unit] = reason  # one of its copies is enough
        return reason

    def _excluded(self, unit: str, part: Any, reading: Reading) -> str:
        """Return why a unit is excluded, by itself or with the session that it worked for; remember the reason."""
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
        """Return why a session is excluded that another unit worked for; look the session up if it is not known."""
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
            self._judged[unit] = ""  # two units that name each other as parents are not looked up for ever
            self._judged[unit] = self._excluded(unit, reading.parts[unit], reading)
        elif not self.rules.remembered(self._source, unit) and self._expected is not None:
            if self._lineage is None:
                self._lineage = Lineage(*self._expected)
            self._judged[unit] = ""
            for found in self._lineage.look_up(unit, reading.path):
                if unit in found.parts and not self._judged[unit]:
                    self._judged[unit] = self._excluded(unit, found.parts[unit], found)

    def commit(self) -> None:
        """Make durable what was recorded. Raises OSError and BrainError."""
        self.rules.withheld.save()
        if self._archive is not None:
            self._archive.commit()

    def close(self) -> None:
        """Close the archive; exclusions stay known even if nothing was written. Raises as ``commit``."""
        try:
            self.rules.withheld.save()
        finally:
            if self._archive is not None:
                self._archive.close()
