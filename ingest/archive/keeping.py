"""The raw files of a run over one source, recorded in the archive while they are read, without what is excluded.

The archive is opened when the first file is read: a run with nothing to read pays for neither its SQLite nor zstd.
"""

from __future__ import annotations

import os
from os.path import basename, isdir, join

from core.errors import BrainError
from core.version import REDACTION
from ingest.policy.exclusions import Policy, Withholding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.home import Home
    from ingest.archive.archive import Entry
    from ingest.archive.reading_back import ReadBack
    from ingest.archive.recording import Archive, Recorder
    from ingest.archive.resuming import ResumePoint
    from ingest.pipeline.reading import Reading
    from ingest.policy.exclusions import Holds
    from ingest.raw.records import Records
    from ingest.raw.store import RawFile, SourceFile
    from ingest.source import Settings

# Below ``state/``: what parsers knew at the end of journals that grow.
STATES = "resume"
_OFF = "off"


class Keeping(Withholding):
    """The raw files of a run over one source: it records them.

    ``checks``: the archived form of each file is verified. ``hasty``: the catalogue's log is left for others to write
    back.
    """

    records = True

    def __init__(
        self,
        home: Home,
        source: str,
        settings: Settings,
        *,
        checks: bool = False,
        hasty: bool = False,
        holds: Holds = lambda *_: False,
    ) -> None:
        super().__init__(home, source, settings, holds=holds)
        self._folder = join(home.root, "raw")
        self._checks, self._hasty = checks, hasty
        self._policy = Policy(settings)
        self.keeps_raw = not self._policy.redact
        self._archive: Archive | None = None
        self._back: ReadBack | None = None
        self._missing: set[str] | None = None

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

    def recorder(self, path: str, *, companion: bool = False, version: int = 0) -> Recorder | None:
        """Return the recorder of a file, or of a ``companion`` file; None if nothing is recorded."""
        archive = self._opened()
        if archive is None:
            return None
        from ingest.archive.archive import COMPANION
        from ingest.archive.recording import Recorder

        return Recorder(archive, path, COMPANION if companion else version)

    def resume_point(
        self, file: RawFile, lines: Records, recorder: Recorder | None, reading: Reading
    ) -> ResumePoint | None:
        """Return where the reading of a journal goes on; None for a run that reads everything again."""
        if self._checks:
            return None
        from ingest.archive.resuming import ResumePoint

        return ResumePoint(self.states(), self._source, file, lines, recorder, reading)

    def states(self) -> str:
        """Return the folder of the parsers' states that were written under the present policy and exclusions."""
        import hashlib

        rules = f"{REDACTION} {self.rules.fingerprint}".encode("utf-8", "surrogatepass")
        return join(self._home.state, STATES, hashlib.sha256(rules).hexdigest()[:16])

    def drop_outdated_states(self) -> None:
        """Delete the states that hold what the present policy or exclusions may leave out. Raises OSError."""
        folder = join(self._home.state, STATES)
        if not isdir(folder):
            return
        import contextlib
        import shutil

        present = basename(self.states())
        for name in os.listdir(folder):
            if name != present:
                with contextlib.suppress(FileNotFoundError):  # another source's run was first
                    path = join(folder, name)
                    shutil.rmtree(path) if isdir(path) else os.unlink(path)

    def older(self, path: str) -> list[Entry]:
        """Return the archived versions of a file from before it said less: the newest first."""
        archive = self._opened()
        return [] if archive is None else archive.older(path)

    def _opened(self) -> Archive | None:
        if self._archive is None and self._policy.enabled:
            from ingest.archive.recording import Archive

            self._archive = Archive(
                self._home, self._source, keeps_raw=self.keeps_raw, checks=self._checks, hasty=self._hasty
            )
        return self._archive

    def as_archived(self) -> ReadBack:
        """Return a store that reads back what was archived before this run."""
        from ingest.archive.reading_back import ReadBack

        return ReadBack(self._home, self._source, self._settings)

    def showing(self, entry: Entry) -> ReadBack:
        """Return a store that reads a file back as ``entry`` has it."""
        if self._back is None:
            self._back = self.as_archived()
        return self._back.showing(entry)

    def missing(self) -> set[str]:
        """Return the archived companion files that are not on disk any more; looked for once."""
        if self._missing is None:
            from ingest.archive import archive

            held = archive.versions(self._home, self._source)
            companions = {entry.path for entry in held if entry.version == archive.COMPANION}
            self._missing = {path for path in companions if not os.path.exists(path)}
        return self._missing

    def lacking(self, files: list[SourceFile]) -> list[SourceFile]:
        """Return the files on disk of which the archive misses an object, or with ``checks`` has a damaged one.

        If an object of a companion file is missing, and the companion is there, all files are returned.
        """
        if not self._policy.enabled or not os.path.exists(self._folder):
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

    def leave(self, paths: Iterable[str]) -> None:
        """Drop companion files that a session is not made of any more."""
        for path in paths:
            archive = self._opened()
            if archive is not None:
                archive.leave(path)

    def commit(self) -> None:
        """Make durable what was recorded. Raises OSError and BrainError."""
        self.rules.save()
        if self._archive is not None:
            self._archive.commit()

    def close(self) -> None:
        """Close the archive; exclusions stay known even if nothing was written. Raises as ``commit``."""
        try:
            self.rules.save()
        finally:
            if self._archive is not None:
                self._archive.close()
