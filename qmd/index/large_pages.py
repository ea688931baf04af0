"""Large pages for the memory of a large update.

FTS5 looks every word up in a hash table of some ten megabytes, mostly outside the processor's caches. With pages of 4
KB the lookups miss its table of pages as well: in a virtual machine that is an eighth of an update's time. Linux gives
pages of 2 MB on request if ``/sys/kernel/mm/transparent_hugepage/enabled`` is ``madvise`` (the default of most
distributions) or ``always``.
"""

from __future__ import annotations

import sys

# mallopt(3): the heap grows by so much at once; blocks up to so much lie in it. madvise(2): large pages, please.
_TOP_PAD = (-2, 96 << 20)
_MMAP_THRESHOLD = (-3, 32 << 20)
_HUGEPAGE = 14
_LARGE = 2 << 20

_asked = False


def ask() -> bool:
    """Have the heap grow, once, and ask for large pages in it; returns whether they were asked for.

    Nothing is asked of other systems, or of a C library without glibc's ``mallopt``: there all stays as it is. Address
    space grows, memory only as it is used.
    """
    global _asked
    if _asked or sys.platform != "linux":
        return _asked
    import ctypes

    try:
        library = ctypes.CDLL(None, use_errno=True)
        mallopt, malloc, free, madvise = library.mallopt, library.malloc, library.free, library.madvise
        malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
        free.argtypes, free.restype = [ctypes.c_void_p], None
        madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        # 1 is success.
        if not (mallopt(*_TOP_PAD) and mallopt(*_MMAP_THRESHOLD)):
            return False
        free(malloc(_TOP_PAD[1] // 8))
        start, end = _heap()
        _asked = end > start and madvise(start, end - start, _HUGEPAGE) == 0
    except (AttributeError, OSError, ValueError):
        return False
    return _asked


def _heap() -> tuple[int, int]:
    """Return the start and end of the heap, from its first whole large page on. Raises ValueError without a heap."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as stream:
        for line in stream:
            if line.rstrip().endswith("[heap]"):
                start, end = (int(part, 16) for part in line.split(maxsplit=1)[0].split("-"))
                return -(-start // _LARGE) * _LARGE, end
    raise ValueError("no heap")
