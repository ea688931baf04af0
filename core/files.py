"""Files that are whole or not there, and locks between processes."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from os.path import abspath, dirname, expanduser, isdir, join, lexists, samestat

from core.errors import BadInput, LockContention, Refused
from core.home import PRIVATE_FILE, make_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

_LONGEST_PROCESS = 9
# How often a lock that another process holds is looked at again.
_POLL_S = 0.05
# So long a writer that cannot be seen from here may still be about to rename what it writes.
LIVELY_S = 60.0

# Numbers of OSErrors: nothing more can be written there.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def write_atomic(path: str, data: bytes, *, sync: bool = True) -> os.stat_result:
    """Replace ``path`` by ``data`` so that a reader, or a crash, sees the old bytes or the new ones.

    The temporary file lies in the folder of its target, since a rename does not cross file systems. It has mode 0600,
    is synced, then renamed. Its name begins with a dot, so that no glob of a collection finds it after a crash.
    ``sync=False`` is for what may be lost with the machine's power, not with the process: it saves milliseconds.
    Returns the stat of the new file. Raises OSError; the temporary file is then removed.
    """
    folder = dirname(path)
    make_private(folder)
    temporary, descriptor = write_temporary(folder, data)
    try:
        status = sync_and_close(descriptor, sync=sync)
        os.rename(temporary, path)
    except BaseException:
        remove_temporary(temporary)
        raise
    return status


def write_new(path: str, text: str, option: str) -> str:
    """Write ``text`` to a new private file and return its absolute path; ``option`` is how a user names another one.

    Raises Refused if something is there already, BadInput if its folder is missing, OSError.
    """
    target = abspath(expanduser(path))
    if lexists(target):
        raise Refused(f"{target} exists, and is not overwritten", f"name another file: {option} FILE")
    if not isdir(dirname(target)):
        raise BadInput(f"there is no folder {dirname(target)}", f"mkdir -p {dirname(target)}")
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    # Text that was read from a file is given back byte for byte.
    with open(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
        stream.write(text)
    return target


def write_temporary(folder: str, data: bytes) -> tuple[str, int]:
    """Put ``data`` into a new temporary file in ``folder``; returns its path and its open descriptor.

    For writers that sync and rename several files at once; ``write_atomic`` says why it is so. Raises OSError.
    """
    temporary = join(folder, f".{os.getpid()}-{os.urandom(4).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        with open(descriptor, "wb", closefd=False) as stream:
            stream.write(data)
    except BaseException:
        os.close(descriptor)
        remove_temporary(temporary)
        raise
    return temporary, descriptor


def sync_and_close(descriptor: int, *, sync: bool = True) -> os.stat_result:
    """Bring a file's bytes to the disk and close it; returns its stat. Raises OSError; it is then closed too."""
    try:
        if sync:
            os.fsync(descriptor)
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def remove_temporary(temporary: str) -> None:
    """Remove a file that is not to be renamed into its place."""
    import contextlib

    with contextlib.suppress(OSError):
        os.unlink(temporary)


def sync_folder(folder: str) -> None:
    """Make the renames inside ``folder`` durable; file systems that cannot are left to their own timing."""
    import contextlib

    with contextlib.suppress(OSError):
        sync_and_close(os.open(folder, os.O_RDONLY))


def open_regular(path: str) -> BinaryIO:
    """Open what a folder lists, or a path that somebody else chose, to read it: a named pipe would hold up for ever.

    Raises OSError: IsADirectoryError of a folder, EINVAL of what else is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_or_none(path: str) -> bytes | None:
    """The bytes of a regular file, or None where there is no such file. Raises other OSErrors."""
    try:
        with open_regular(path) as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def sweep_tree(top: str) -> None:
    """Do ``sweep_temporaries`` for a folder and all folders below."""
    for folder, _, _ in os.walk(top):
        sweep_temporaries(folder)


def sweep_temporaries(folder: str, older_than_s: float = 3600) -> int:
    """Remove what killed writers left in ``folder``; returns how many files went.

    A file of a process that has ended goes once it is a minute old, any other file when it is old: processes of another
    machine or container that shares the folder cannot be seen from here.
    """
    gone = 0
    try:
        entries = os.scandir(folder)
    except FileNotFoundError:
        return 0
    with entries:
        for entry in entries:
            if entry.name.startswith(".") and entry.name.endswith(".tmp"):
                import contextlib  # late, as all that takes a millisecond of a run with nothing to do

                with contextlib.suppress(OSError):
                    age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                    if age > older_than_s or (age > LIVELY_S and is_left_over(entry.name)):
                        os.unlink(entry.path)
                        gone += 1
    return gone


def is_left_over(name: str) -> bool:
    """Return True if a file is a temporary one (``.<process>-<digits>.tmp``) of a process that has ended."""
    process = name[1:].partition("-")[0]
    if not (process.isascii() and process.isdigit() and 0 < len(process) < _LONGEST_PROCESS) or int(process) == 0:
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # another user's, so there it is
    return False


class FileLock:
    """``with FileLock(path, wait_s=30):`` holds ``flock(LOCK_EX)`` on ``path``.

    The kernel releases it when the process ends, however it ends, so there is no stale lock to clean.
    Raises LockContention when another process still holds it after ``wait_s`` seconds.
    """

    def __init__(self, path: str, wait_s: float) -> None:
        self.path, self.wait_s, self._descriptor = path, wait_s, -1

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
