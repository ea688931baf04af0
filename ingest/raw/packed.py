"""Files that zstd packed: their content, the digest of their own bytes, and whether their last frame is whole."""

from __future__ import annotations

import errno
import hashlib
import io
import os
from typing import TYPE_CHECKING, Any

import zstandard

if TYPE_CHECKING:
    from collections.abc import Callable

_BUFFER = 256 * 1024
# The window of one frame, in bytes (RFC 8878 §3.1.1.1.2 recommends that 8 MiB be supported; zstd --long=27 needs this
# much).
_WINDOW = 128 * 1024 * 1024
# A file that unpacks to more bytes than these, and to more than so many times its size, is a bomb, not a journal.
_MOST, _TIMES = 64 * 1024 * 1024, 200


class Unpacked(io.RawIOBase):
    """The bytes that the frames of a file hold, in order; what is no zstd is an OSError. It closes the file."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._size = 0
        self._left = max(_MOST, _TIMES * os.fstat(file.fileno()).st_size)
        unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        source: Any = _Source(self._taken)
        self._reader = unpacker.stream_reader(source, read_size=_BUFFER, read_across_frames=True)

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        try:
            count: int = self._reader.readinto(into)
        except zstandard.ZstdError as error:
            raise OSError(errno.EILSEQ, f"not zstd: {error}") from None
        self._left -= count
        if self._left < 0:
            raise OSError(errno.EFBIG, f"unpacks to more than {_TIMES} times its size")
        return count

    def close(self) -> None:
        super().close()
        self._file.close()

    def finish(self) -> tuple[int, str]:
        """Return (bytes, SHA-256, hex) of the packed file, read to its end."""
        while self._taken(_BUFFER):
            pass
        return self._size, self._hash.hexdigest()

    def is_cut(self) -> bool:
        """Return True if the file ends within a frame: there was more, however well what is left of it ends."""
        number = self._file.fileno()
        return end_early(number, os.fstat(number).st_size)

    def _taken(self, size: int = -1) -> bytes:
        block = self._file.read(size) or b""
        self._hash.update(block)
        self._size += len(block)
        return block


class _Source:
    """A stream as zstd reads it."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.read = read


_MAGIC = 0xFD2FB528
_SKIPPED, _ANY = 0x184D2A50, 0xFFFFFFF0
_HEADER = 18  # bytes of a frame's header
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
    head = os.pread(file, _HEADER, at)
    magic = int.from_bytes(head[:4], "little")
    if len(head) < 6:
        return size + 1
    if magic & _ANY == _SKIPPED:
        return at + 8 + int.from_bytes(head[4:8], "little")
    if magic != _MAGIC:
        return -1
    flags = head[4]
    is_single = flags >> 5 & 1
    of_content = (is_single, 2, 4, 8)[flags >> 6]
    at += 5 + (not is_single) + (0, 1, 2, 4)[flags & 3] + of_content
    is_last = 0
    while not is_last:
        block = int.from_bytes(os.pread(file, 3, at).ljust(3, b"\0"), "little")
        if at + 3 > size:
            return size + 1
        is_last, kind, length = block & 1, block >> 1 & 3, block >> 3
        if kind > _PACKED:
            return -1
        at += 3 + (1 if kind == _RLE else length)
    return at + 4 * (flags >> 2 & 1)
