"""Raw files: found by walking, compared with what is known of them, and opened, all in one place.

A ``RawStore`` reads files from disk; ``.zst`` is unpacked on the way. Nothing here raises anything but OSError. A named
pipe in place of a file holds nobody up.
"""

from __future__ import annotations

import errno
import io
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, BinaryIO

    from ingest.archive.archive import Entry
    from ingest.archive.recording import Recorder
    from ingest.archive.resuming import ResumePoint
    from ingest.pipeline.reading import Reading
    from ingest.pipeline.state import FileRow
    from ingest.raw.packed import Unpacked
    from ingest.raw.records import Records
    from ingest.session.transcripts import Transcripts

# How the names of databases end.
DATABASES = (".vscdb", ".sqlite", ".db")
PACKED = (".zst", ".zstd")
TORN = "cut short"
# A document that is parsed whole takes several times its size in memory; no session that was seen comes near.
MAX_WHOLE = 256 * 1024 * 1024
_BUFFER = 256 * 1024


class RawStore:
    """The raw files of one source as they lie on disk; nothing is recorded and nothing withheld.

    ``ingest.archive.keeping.Keeping`` also records what is read in the archive, or reads files back from there.
    ``from_archive``: True if files are read back, ``records`` if a run over the source decides what is recorded.
    ``keeps_raw``: True if files are recorded as found, not redacted. ``transcripts``: which sessions have transcripts;
    None if unknown.
    """

    from_archive = False
    records = False
    keeps_raw = False
    transcripts: Transcripts | None = None

    def open(self, path: str) -> RawFile:
        """Open a file to be read in order. Raises OSError."""
        return RawFile(path)

    def is_shelved(self, path: str) -> bool:
        """Return True if the file is read from the archive."""
        del path
        return False

    def listed(self, folder: str) -> list[str]:
        """Return the paths in a folder, sorted, also of a folder that only the archive has; empty without it."""
        if self.from_archive:
            return self.below(folder)
        try:
            return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def below(self, folder: str) -> list[str]:
        """Return the paths of the archived files that lay in a folder, sorted."""
        del folder
        return []

    def load(self, path: str, limit: int = MAX_WHOLE, *, later: list[Callable[[], None]] | None = None) -> bytes:
        """Return the bytes of a small companion file, secrets replaced, and record the file.

        ``later`` takes the function that records the file, if only the transcript shows whether it may be recorded.
        Raises OSError, also past ``limit`` bytes.
        """
        loaded = Loaded(path, self, limit)
        if later is None:
            loaded.keep()
        else:
            later.append(loaded.keep)
        return loaded.data

    def keep(self, path: str, data: bytes) -> None:
        """Record what one file says of another alone, under a path of our own making; there are no secrets in it."""
        recorder = self.recorder(path, companion=True)
        if recorder is not None:
            import hashlib

            recorder.whole(data)
            recorder.finish(len(data), 0, len(data), hashlib.sha256(data).hexdigest())

    def keep_with(self, reading: Reading, later: Iterable[Callable[[], None]] = (), gone: Iterable[str] = ()) -> None:
        """Record the companions of a transcript, unless its session was forgotten or is excluded.

        ``gone``: files that the session was made of and is not any more.
        """
        if not self.withhold(reading):
            for keep in later:
                keep()
            self.leave(gone)

    def recorder(self, path: str, *, companion: bool = False, version: int = 0) -> Recorder | None:
        """Return the recorder of a file, or of a ``companion`` file; None if nothing is recorded."""
        del path, companion, version
        return None

    def resume_point(
        self, file: RawFile, lines: Records, recorder: Recorder | None, reading: Reading
    ) -> ResumePoint | None:
        """Return where the reading of a journal goes on; None if each reading begins at the start."""
        del file, lines, recorder, reading
        return None

    def older(self, path: str) -> list[Entry]:
        """Return the archived versions of a file from before it said less: the newest first."""
        del path
        return []

    def showing(self, entry: Entry) -> RawStore:
        """Return a store that reads a file back as ``entry`` has it."""
        raise NotImplementedError(entry)

    def as_archived(self) -> RawStore:
        """Return a store that reads back what was archived before this run."""
        return self

    def missing(self) -> set[str]:
        """Return the archived companion files that are not on disk any more."""
        return set()

    def leave(self, paths: Iterable[str]) -> None:
        """Drop companion files that a session is not made of any more."""
        del paths

    def remove(self, reading: Reading) -> bool:
        """Take out of a reading what was forgotten or is excluded; return True if it ever had any."""
        del reading
        return False

    def withholds(self, unit: str, reading: Reading) -> bool:
        """Return True if the part of a unit was forgotten or is excluded."""
        del unit, reading
        return False

    def forgot(self, unit: str) -> bool:
        """Return True if a unit of this source was forgotten."""
        del unit
        return False

    def withhold(self, reading: Reading) -> bool:
        """Do ``remove`` for a reading that has ended; if nothing is left, drop its failures as well."""
        del reading
        return False

    def excluded(self, folder: str) -> str:
        """Return why work in a folder is excluded, "" if it is not."""
        del folder
        return ""

    def section(self, source: str) -> Mapping[str, Any]:
        """Return what collections.yml says of a source, nothing if files are only read."""
        del source
        return {}

    def configured(self, source: str) -> list[str]:
        """Return the folders that collections.yml adds to those of a source's tool."""
        del source
        return []

    def is_of(self, source: str, path: str, unit: str) -> bool:
        """Return True if another source made a document of a file, or a session of it with this id was forgotten."""
        del source, path, unit
        return False

    def alone_has(self, path: str, other: str) -> bool:
        """Return True if a file is read from the archive, which has it of this source and not of the ``other`` one."""
        del path, other
        return False


# Files are only read, as they lie there.
DISK = RawStore()


class Loaded:
    """A small file, read as ``RawStore.load`` does, to be recorded by ``keep``: ``data`` as it is by then.

    ``found`` are its bytes with their secrets.
    """

    def __init__(self, path: str, store: RawStore, limit: int = MAX_WHOLE) -> None:
        with store.open(path) as raw:
            if not stat.S_ISREG(raw.status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            self.found, self._digest = raw.whole(limit)
            self._size, self._mtime_ns = raw.status.st_size, raw.status.st_mtime_ns
        from core.redaction import clean_document
        from ingest.raw.records import without_tail

        self._path = path
        self._store = store
        self.data = clean_document(without_tail(self.found), {})

    def keep(self) -> None:
        """Record the file in the archive."""
        recorder = self._store.recorder(self._path, companion=True)
        if recorder is not None:
            recorder.whole(self.found if recorder.archive.keeps_raw else self.data)
            recorder.finish(self._size, self._mtime_ns, self._size, self._digest)


class RawFile:
    """A file opened to be read in order; ``with`` closes it.

    ``lines`` gives the unpacked bytes, ``status`` is the file's own. ``packed``: what unpacks the file if it is
    compressed. ``entry``: the file is read from the archive, and these are its size and digest.
    """

    def __init__(self, path: str) -> None:
        self.entry: Entry | None = None
        file = io.FileIO(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
        self.status = os.fstat(file.fileno())
        self.packed: Unpacked | None = None
        if path.endswith(PACKED) and stat.S_ISREG(self.status.st_mode):
            from ingest.raw.packed import Unpacked

            self.packed = Unpacked(file)
        self.lines: BinaryIO = io.BufferedReader(self.packed or file, _BUFFER)

    @classmethod
    def archived(cls, entry: Entry, stream: io.RawIOBase) -> RawFile:
        """Return a file as the archive has it."""
        made = cls.__new__(cls)
        mode = stat.S_IFREG | 0o600
        times = {"st_mtime_ns": entry.mtime_ns}
        made.entry = entry
        made.status = os.stat_result((mode, 0, 0, 1, 0, 0, entry.size, 0, entry.mtime_ns // 10**9, 0), times)
        made.packed = None
        made.lines = io.BufferedReader(stream, _BUFFER)
        return made

    def __enter__(self) -> RawFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.lines.close()

    def whole(self, limit: int = MAX_WHOLE) -> tuple[bytes, str]:
        """Return all unpacked bytes, and the SHA-256 (hex) of the raw file. Raises OSError, also past ``limit``
        bytes."""
        data = self.lines.read(limit + 1)
        if len(data) > limit:
            raise OSError(errno.EFBIG, f"larger than {limit >> 20} MB")
        if self.entry is not None:
            return data, self.entry.digest
        if self.packed is not None:
            return data, self.packed.finish()[1]
        import hashlib

        return data, hashlib.sha256(data).hexdigest()


class SourceFile:
    """A file as ``discover`` saw it; ``skip`` is the reason why it is not to be read, or ""."""

    __slots__ = ("inode", "mtime_ns", "path", "size", "skip")

    def __init__(self, path: str, size: int, mtime_ns: int, inode: int, skip: str) -> None:
        self.path, self.size, self.mtime_ns, self.inode, self.skip = path, size, mtime_ns, inode, skip


def walk(
    roots: Iterable[str],
    suffix: str | tuple[str, ...] | Callable[[str], bool],
    skipped_files: Mapping[str, str],
    skipped_folders: Mapping[str, str],
) -> list[SourceFile]:
    """Return every file below ``roots`` with a name that ends in ``suffix``, or passes it, sorted by path, each once.

    A root may be a file or a symbolic link; links to folders further down are not followed, so there are no loops.
    A file that is not regular, or that ``skipped_…`` names by its folder or name, is listed with the reason. A database
    has the size and the mtime that it has with its write-ahead log.
    """
    wanted = suffix if callable(suffix) else lambda name: name.endswith(suffix)
    found: dict[str, SourceFile] = {}
    for root in roots:
        root = os.path.abspath(root)
        folders = [(root, "")]
        if not os.path.isdir(root):
            folders = []
            _one(root, found)
        while folders:
            folder, reason = folders.pop()
            try:
                entries = list(os.scandir(folder))
            except OSError as error:
                found[folder] = SourceFile(folder, 0, 0, 0, f"unreadable folder: {error.strerror}")
                continue
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append((entry.path, reason or skipped_folders.get(entry.name, "")))
                        continue
                    if not wanted(entry.name):
                        continue
                    status = entry.stat()
                except OSError as error:
                    if wanted(entry.name):
                        found[entry.path] = SourceFile(entry.path, 0, 0, 0, f"unreadable: {error.strerror}")
                    continue
                if not stat.S_ISDIR(status.st_mode):
                    found[entry.path] = _found(entry.path, status, reason or skipped_files.get(entry.name, ""))
    return [found[path] for path in sorted(found)]


def changed(file: SourceFile, known: FileRow | None, *, trust_stat: bool) -> bool:
    """Return True if the file must be read again.

    Append-only is the rule and not a law: without ``trust_stat`` the recorded prefix is hashed again, so that a file
    rewritten in place under the same stat is noticed. Unreadable ones are always tried again.
    """
    if known is None or known.size != file.size or known.status in ("vanished", "unreadable"):
        return True
    if trust_stat:
        return known.mtime_ns != file.mtime_ns or known.inode != file.inode
    if not file.size:
        return False
    if known.consumed != file.size and (known.mtime_ns != file.mtime_ns or known.inode != file.inode):
        return True  # the line that was still being written may have been finished
    from ingest.raw.records import prefix_digest

    try:
        return prefix_digest(file.path, known.consumed) != known.digest
    except OSError:
        return True


def pending(files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool) -> list[SourceFile]:
    """Return those of ``files`` that are new, or changed since ``known`` was recorded: the default of
    ``Source.pending``."""
    return [file for file in files if not file.skip and changed(file, known.get(file.path), trust_stat=trust_stat)]


def _one(path: str, found: dict[str, SourceFile]) -> None:
    try:
        status = os.stat(path)
    except OSError as error:
        found[path] = SourceFile(path, 0, 0, 0, f"unreadable: {error.strerror}")
    else:
        found[path] = _found(path, status, "")


def _found(path: str, status: os.stat_result, why: str) -> SourceFile:
    size, mtime_ns = with_log(path, status) if path.endswith(DATABASES) else (status.st_size, status.st_mtime_ns)
    return SourceFile(
        path, size, mtime_ns, status.st_ino, why if stat.S_ISREG(status.st_mode) else "not a regular file"
    )


def with_log(path: str, status: os.stat_result) -> tuple[int, int]:
    """Return (bytes, latest mtime in ns) of a database with its write-ahead log; ``status`` is its own."""
    try:
        log = os.stat(f"{path}-wal")
    except OSError:
        return status.st_size, status.st_mtime_ns
    latest = max(status.st_mtime_ns, log.st_mtime_ns) if log.st_size else status.st_mtime_ns
    return status.st_size + log.st_size, latest
