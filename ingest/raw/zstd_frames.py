"""Whether a compressed file is all there, by the lengths that its frames and their blocks give (RFC 8878 §3.1).

Who unpacks a file that was cut short gets what its whole blocks hold, and no word of the rest.
"""

from __future__ import annotations

import os

_MAGIC = 0xFD2FB528
_SKIPPED, _ANY = 0x184D2A50, 0xFFFFFFF0
_MOST = 18  # bytes of a frame's header
# Kinds of blocks; the first holds its bytes as they are, the next there is stands for nothing.
_RLE, _PACKED = 1, 2


def end_early(file: int, size: int) -> bool:
    """Whether the frames of a file, open as ``file`` and of so many bytes, go on behind its end. Raises OSError."""
    at = 0
    while 0 <= at < size:
        at = _after_frame(file, at, size)
    return at > size


def _after_frame(file: int, at: int, size: int) -> int:
    """Where the frame at ``at`` ends, or a place behind the file where that holds less of it; -1 where it is none."""
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
