"""Raw files, opened in one place: whole ones and JSON Lines; ``.zst`` is unpacked on the way.

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
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, BinaryIO

    from ingest.archive.archive import Entry
    from ingest.archive.keeping import Keeping
    from ingest.pipeline.reading import Reading

PACKED = ".zst"
TORN = "cut short"
# A document that is parsed whole takes several times its size in memory; no session that was seen comes near.
MAX_WHOLE = 256 * 1024 * 1024
_BUFFER = 256 * 1024
# Of one frame, in bytes (RFC 8878 §3.1.1.1.2 recommends that 8 MiB be supported; zstd --long=27 needs this much).
_WINDOW = 128 * 1024 * 1024


# What the run under way does with raw files (``ingest.archive.keeping``); set by ``kept_by``.
_keeping: Keeping | None = None


class _Kept:
    """While it lasts, every file that is read is recorded by, or read back from, the archive."""

    __slots__ = ("_before", "_keeping")

    def __init__(self, keeping: Keeping | None) -> None:
        self._keeping = keeping
        self._before: Keeping | None = None

    def __enter__(self) -> None:
        global _keeping
        self._before, _keeping = _keeping, self._keeping

    def __exit__(self, *_: object) -> None:
        global _keeping
        _keeping = self._before


def kept_by(keeping: Keeping) -> _Kept:
    """Have every file that is read recorded by, or read back from, the archive. A context."""
    return _Kept(keeping)


def kept_by_nobody() -> _Kept:
    """Have files only read, as they lie there. A context."""
    return _Kept(None)


def keeping() -> Keeping | None:
    """The archive of the run under way."""
    return _keeping


def listed(folder: str) -> list[str]:
    """The paths of what lies in a folder, sorted, also of one that only the archive still has; empty without it."""
    if _keeping is not None and _keeping.from_archive:
        return _keeping.below(folder)
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    except (FileNotFoundError, NotADirectoryError):
        return []


def is_shelved(path: str) -> bool:
    """Whether the file at ``path`` is read from the archive."""
    return _keeping is not None and _keeping.shelved(path) is not None


def load(path: str, limit: int = MAX_WHOLE, *, later: list[Callable[[], None]] | None = None) -> bytes:
    """The bytes of a small file that says something of others, secrets replaced; the archive keeps it beside them.

    ``later`` takes what has the archive keep it, where only the others tell whether it may. Raises OSError, also past
    ``limit`` bytes.
    """
    loaded = Loaded(path, limit)
    if later is None:
        loaded.keep()
    else:
        later.append(loaded.keep)
    return loaded.data


class Loaded:
    """A small file, read as ``load`` does, and kept by the archive once that is told to: ``data`` as it is by then.

    ``found`` are its bytes with their secrets.
    """

    __slots__ = ("_digest", "_mtime_ns", "_path", "_size", "data", "found")

    def __init__(self, path: str, limit: int = MAX_WHOLE) -> None:
        with RawFile(path) as raw:
            if not stat.S_ISREG(raw.status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            self.found, self._digest = raw.whole(limit)
            self._size, self._mtime_ns = raw.status.st_size, raw.status.st_mtime_ns
        from ingest.raw.records import without_tail

        self._path = path
        self.data = clean_document(without_tail(self.found), {})

    def keep(self) -> None:
        """Let the archive have it."""
        recorder = None if _keeping is None else _keeping.recorder(self._path, beside=True)
        if recorder is not None:
            recorder.whole(self.found if recorder.keeps_raw else self.data)
            recorder.finish(self._size, self._mtime_ns, self._size, self._digest)


def held(folder: str, entry: Entry) -> Iterator[bytes]:
    """What the archive in ``folder`` has of a file, object by object. Raises OSError."""
    from ingest.archive.archive import content

    return (content(folder, segment) for segment in entry.segments)


def keep(path: str, data: bytes) -> None:
    """Let the archive have what one file says of another alone, under a path of our own making; no secrets in it."""
    recorder = None if _keeping is None else _keeping.recorder(path, beside=True)
    if recorder is not None:
        import hashlib

        recorder.whole(data)
        recorder.finish(len(data), 0, len(data), hashlib.sha256(data).hexdigest())


def keep_with(reading: Reading, later: Iterable[Callable[[], None]], gone: Iterable[str] = ()) -> None:
    """Let the archive have what was read beside ``reading``, unless its session was forgotten or is excluded.

    ``gone``: files that were, and that it is not made of any more.
    """
    if _keeping is not None and not _keeping.withhold(reading):
        for keep in later:
            keep()
        _keeping.leave(gone)


class RawFile:
    """A file opened to be read in order; ``with`` closes it.

    ``lines`` gives the unpacked bytes, ``status`` is the file's own, ``packed`` whether it is compressed;
    ``finish()`` gives (size, SHA-256, hex) of the raw bytes that a packed file was read from. ``entry``: the file is
    read from the archive, and these are its size and digest.
    """

    __slots__ = ("_raw", "entry", "lines", "packed", "status")

    def __init__(self, path: str) -> None:
        self.entry: Entry | None = None
        shelved = None if _keeping is None else _keeping.shelved(path)
        if shelved is not None:
            folder, self.entry = shelved
            self._shelve(folder, self.entry)
            return
        file = io.FileIO(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
        self.status = os.fstat(file.fileno())
        self.packed = path.endswith(PACKED) and stat.S_ISREG(self.status.st_mode)
        raw = _Hashed(file)
        self._raw: _Hashed | None = raw
        self.lines: BinaryIO = io.BufferedReader(_Unpacked(raw) if self.packed else file, _BUFFER)

    def _shelve(self, folder: str, entry: Entry) -> None:
        from ingest.archive.archive import Shelved

        mode = stat.S_IFREG | 0o600
        times = {"st_mtime_ns": entry.mtime_ns}
        self.status = os.stat_result((mode, 0, 0, 1, 0, 0, entry.size, 0, entry.mtime_ns // 10**9, 0), times)
        self.packed = False
        self._raw = None
        self.lines = io.BufferedReader(Shelved(folder, entry.segments), _BUFFER)

    def __enter__(self) -> RawFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.lines.close()
        if self._raw is not None:
            self._raw.close()

    def whole(self, limit: int = MAX_WHOLE) -> tuple[bytes, str]:
        """All unpacked bytes, and the SHA-256 (hex) of the raw file. Raises OSError, also past ``limit`` bytes."""
        data = self.lines.read(limit + 1)
        if len(data) > limit:
            raise OSError(errno.EFBIG, f"larger than {limit >> 20} MB")
        if self.entry is not None:
            return data, self.entry.digest
        import hashlib

        return data, self.finish()[1] if self.packed else hashlib.sha256(data).hexdigest()

    def is_cut(self) -> bool:
        """Whether a packed file ends within a frame: there was more, however well what is left of it ends."""
        if self._raw is None or not self.packed:
            return False
        from ingest.raw.zstd_frames import end_early

        return end_early(self._raw.number, self.status.st_size)

    def finish(self) -> tuple[int, str]:
        """(bytes, SHA-256, hex) of the raw file, read to its end."""
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
