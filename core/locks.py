"""One writer at a time, across processes: an advisory lock that dies with its holder."""

from __future__ import annotations

import fcntl
import os
import time
from os.path import dirname, samestat

from core.errors import LockContention
from core.home import PRIVATE_FILE, make_private

_POLL_S = 0.05


class FileLock:
    """``with FileLock(path, wait_s=30):`` holds ``flock(LOCK_EX)`` on ``path``.

    The kernel releases it when the process ends, however it ends, so there is no stale lock to clean.
    Raises LockContention when another process still holds it after ``wait_s`` seconds.
    """

    __slots__ = ("_descriptor", "path", "wait_s")

    def __init__(self, path: str, wait_s: float) -> None:
        self.path = path
        self.wait_s = wait_s
        self._descriptor = -1

    def __enter__(self) -> FileLock:
        deadline = time.monotonic() + self.wait_s
        while not self._acquire():
            if time.monotonic() >= deadline:
                raise LockContention(
                    f"another brain process is writing (held {self.path} for over {self.wait_s:g} s)",
                    "wait for it to end, then run the command again; `brain explain` shows what runs",
                )
            time.sleep(_POLL_S)
        return self

    def _acquire(self) -> bool:
        """Return True if the lock is ours, and its path still names its file: ``brain restore`` renames folders."""
        make_private(dirname(self.path))
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if samestat(os.fstat(descriptor), os.stat(self.path)):
                self._descriptor = descriptor
                return True
        except (BlockingIOError, FileNotFoundError):
            pass  # held by another process, or renamed
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return False

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
        self._descriptor = -1


def is_held(path: str) -> bool:
    """Return True if a process holds the lock at ``path``."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
