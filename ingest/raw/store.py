"""Raw files, opened in one place: a ``RawStore`` reads them from disk; ``.zst`` is unpacked on the way.

Nothing here raises anything but OSError. A named pipe in place of a file holds nobody up.
"""

from __future__ import annotations

import errno
import io
import os
import stat

from core.redaction import clean_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, BinaryIO

    from ingest.archive.archive import Entry
    from ingest.archive.recording import Recorder
    from ingest.pipeline.reading import Reading
    from ingest.session.transcripts import Transcripts

PACKED = ".zst"
TORN = "cut short"
# A document that is parsed whole takes several times its size in memory; no session that was seen comes near.
MAX_WHOLE = 256 * 1024 * 1024
_BUFFER = 256 * 1024
# The window of one frame, in bytes (RFC 8878 §3.1.1.1.2 recommends that 8 MiB be supported; zstd --long=27 needs this
# much).
_WINDOW = 128 * 1024 * 1024


class RawStore:
    """The raw files of one source as they lie on disk; nothing is recorded and nothing withheld.

    ``ingest.archive.keeping.Keeping`` also records what is read in the archive, or reads files back from there.
    ``from_archive``: True if files are read back, ``records`` if a run over the source decides what is recorded.
    ``keeps_raw``: True if files are recorded as found, not redacted. ``transcripts``: which sessions have transcripts;
    None if unknown.
    """

    __slots__ = ()

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

    __slots__ = ("_digest", "_mtime_ns", "_path", "_size", "_store", "data", "found")

    def __init__(self, path: str, store: RawStore, limit: int = MAX_WHOLE) -> None:
        with store.open(path) as raw:
            if not stat.S_ISREG(raw.status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            self.found, self._digest = raw.whole(limit)
            self._size, self._mtime_ns = raw.status.st_size, raw.status.st_mtime_ns
        from ingest.raw.records import without_tail

        self._path = path
        self._store = store
        self.data = clean_document(without_tail(self.found), {})

    def keep(self) -> None:
        """Record the file in the archive."""
        recorder = self._store.recorder(self._path, companion=True)
        if recorder is not None:
            recorder.whole(self.found if recorder.keeps_raw else self.data)
            recorder.finish(self._size, self._mtime_ns, self._size, self._digest)


class RawFile:
    """A file opened to be read in order; ``with`` closes it.

    ``lines`` gives the unpacked bytes, ``status`` is the file's own, ``packed`` whether it is compressed;
    ``finish()`` gives (size, SHA-256, hex) of the raw bytes that a packed file was read from. ``entry``: the file is
    read from the archive, and these are its size and digest.
    """

    __slots__ = ("_raw", "entry", "lines", "packed", "status")

    def __init__(self, path: str) -> None:
        self.entry: Entry | None = None
        file = io.FileIO(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
        self.status = os.fstat(file.fileno())
        self.packed = path.endswith(PACKED) and stat.S_ISREG(self.status.st_mode)
        raw = _Hashed(file)
        self._raw: _Hashed | None = raw
        self.lines: BinaryIO = io.BufferedReader(_Unpacked(raw) if self.packed else file, _BUFFER)

    @classmethod
    def archived(cls, entry: Entry, stream: io.RawIOBase) -> RawFile:
        """Return a file as the archive has it."""
        made = cls.__new__(cls)
        mode = stat.S_IFREG | 0o600
        times = {"st_mtime_ns": entry.mtime_ns}
        made.entry = entry
        made.status = os.stat_result((mode, 0, 0, 1, 0, 0, entry.size, 0, entry.mtime_ns // 10**9, 0), times)
        made.packed = False
        made._raw = None
        made.lines = io.BufferedReader(stream, _BUFFER)
        return made

    def __enter__(self) -> RawFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.lines.close()
        if self._raw is not None:
            self._raw.close()

    def whole(self, limit: int = MAX_WHOLE) -> tuple[bytes, str]:
        """Return all unpacked bytes, and the SHA-256 (hex) of the raw file. Raises OSError, also past ``limit``
        bytes."""
        data = self.lines.read(limit + 1)
        if len(data) > limit:
            raise OSError(errno.EFBIG, f"larger than {limit >> 20} MB")
        if self.entry is not None:
            return data, self.entry.digest
        import hashlib

        return data, self.finish()[1] if self.packed else hashlib.sha256(data).hexdigest()

    def is_cut(self) -> bool:
        """Return True if a packed file ends within a frame: there was more, however well what is left of it ends."""
        if self._raw is None or not self.packed:
            return False
        return end_early(self._raw.number, self.status.st_size)

    def finish(self) -> tuple[int, str]:
        """Return (bytes, SHA-256, hex) of the raw file, read to its end."""
        assert self._raw is not None
        return self._raw.finish()


class _Hashed:
    """A raw file that knows the digest of what was read of it."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        import hashlib

        self._hash = hashlib.sha256()
        self._size = 0

    def read(self, size: int = -1) -> bytes:
        block = self._raw.read(size) or b""
        self._hash.update(block)
        self._size += len(block)
        return block

    def finish(self) -> tuple[int, str]:
        while self.read(_BUFFER):
            pass
        return self._size, self._hash.hexdigest()

    @property
    def number(self) -> int:
        """The file's descriptor."""
        return self._raw.fileno()

    def close(self) -> None:
        self._raw.close()


class _Unpacked(io.RawIOBase):
    """The bytes that zstd frames hold; what is no zstd is an OSError."""

    def __init__(self, raw: _Hashed) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        source: Any = raw  # it reads, which is all that is asked of it
        self._reader = unpacker.stream_reader(source, read_size=_BUFFER, read_across_frames=True)

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        try:
            return self._reader.readinto(into)
        except self._error as error:
            raise OSError(errno.EILSEQ, f"not zstd: {error}") from None


_MAGIC = 0xFD2FB528
_SKIPPED, _ANY = 0x184D2A50, 0xFFFFFFF0
_MOST = 18  # bytes of a frame's header
# Kinds of blocks; the first holds its bytes as they are, the last is reserved.
_RLE, _PACKED = 1, 2


def end_early(file: int, size: int) -> bool:
    """Return True if the frames of an open file with so many bytes continue past its end. Raises OSError."""
    at = 0
    while 0 <= at < size:
        at = _after_frame(file, at, size)
    return at > size


def _after_frame(file: int, at: int, size: int) -> int:
    """Return the end of the frame at ``at``, which may be past the file's end; -1 if there is no frame."""
    head = os.pread(file, _MOST, at)
    magic = int.from_bytes(head[:4], "little")
    if len(head) < 6:
        return size + 1
    if magic & _ANY == _SKIPPED:
        return at + 8 + int.from_bytes(head[4:8], "little")
    if magic != _MAGIC:
        return -1
    told = head[4]
    is_single = told >> 5 & 1
    of_content = (is_single, 2, 4, 8)[told >> 6]
    at += 5 + (not is_single) + (0, 1, 2, 4)[told & 3] + of_content
    is_last = 0
    while not is_last:
        block = int.from_bytes(os.pread(file, 3, at).ljust(3, b"\0"), "little")
        if at + 3 > size:
            return size + 1
        is_last, kind, length = block & 1, block >> 1 & 3, block >> 3
        if kind > _PACKED:
            return -1
        at += 3 + (1 if kind == _RLE else length)
    return at + 4 * (told >> 2 & 1)
