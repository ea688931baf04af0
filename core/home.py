"""The home of a brain: one folder, private to its user.

Nothing outside the home is written except by explicit install commands. The functions take and return plain strings,
because every question imports this module and importing ``pathlib`` would cost more than a query.
"""

from __future__ import annotations

import os
from os.path import abspath, dirname, expanduser, isfile, join

from core.errors import BadInput, DiskFull, from_os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600
_PRIVATE_UMASK = 0o077
# The top-level names of a home: folders of the shipped collections, folders that hold no document, single files, and
# folders that are this machine's and never part of a backup. Any other name is a collection of the user's own.
CORPUS = ("brain", "distilled", "kb-wiki", "kb-raw", "chrome-history", "inbox", "code", "git")
RECORDS = ("logs", "raw", "state")
FILES = ("collections.yml", "index.sqlite", "index.sqlite-shm", "index.sqlite-wal")
LOCAL = ("backups", "sync.git")
_LONGEST_SOCKET = 100

_ROOT = dirname(dirname(abspath(__file__)))


# The umask that this process was started with, -1 until ``private_process``.
_users_umask = -1


def private_process() -> None:
    """Have this process, and each one that it starts, make files that only their user can read.

    Every entry point calls this before it writes. Nothing else changes the umask, which all threads share.
    """
    global _users_umask
    _users_umask = os.umask(_PRIVATE_UMASK)


def users_umask() -> int:
    """Return the umask for a command of the user's own, -1 to inherit this process's (``subprocess.Popen``)."""
    return _users_umask


class Home:
    """The paths of one brain, derived from its root folder (``BRAIN_HOME``, default ``~/.brain``)."""

    __slots__ = ("inbox", "index", "logs", "root", "socket", "state", "usage")

    def __init__(self, root: str, inbox: str = "") -> None:
        self.root, self.inbox = root, inbox or join(root, "inbox")
        self.index, self.state, self.logs = join(root, "index.sqlite"), join(root, "state"), join(root, "logs")
        self.usage = join(self.logs, "usage.jsonl")
        # Where the resident process listens.
        self.socket = _socket(root, join(self.state, "serve.sock"))

    def path(self, *parts: str) -> str:
        """Return a path below the root."""
        return join(self.root, *parts)

    def make(self) -> None:
        """Create the root, ``state/`` and ``logs/`` if they are missing, mode 0700."""
        for folder in (self.root, self.state, self.logs):
            make_private(folder)


def _socket(root: str, path: str) -> str:
    """Return ``path``, or a path in a short private folder if ``path`` is too long for the address of a socket.

    Such an address holds about a hundred bytes, the system's terminator included (unix(7), unix(4)).
    """
    if len(os.fsencode(path)) <= _LONGEST_SOCKET:
        return path
    import hashlib

    # Two programs of one user need not agree on $TMPDIR. Both sides check who owns the folder.
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return f"/tmp/brain-{os.getuid()}-{digest}/serve.sock"  # noqa: S108


def resolve(environ: Mapping[str, str] = os.environ) -> Home:
    """Return the home that the environment names.

    Raises BadInput if ``BRAIN_HOME`` is relative to nothing, names no user's folder, or is a file.
    """
    root = _absolute("BRAIN_HOME", environ.get("BRAIN_HOME") or "~/.brain")
    if os.path.exists(root) and not os.path.isdir(root):
        raise BadInput(f"BRAIN_HOME is a file: {root}", "export BRAIN_HOME=~/.brain")
    inbox = environ.get("BRAIN_INBOX_DIR") or ""
    return Home(root, _absolute("BRAIN_INBOX_DIR", inbox) if inbox else "")


def _absolute(name: str, path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{name} is not valid UTF-8", f"export {name}=/path/to/folder") from None
    expanded = expanduser(path)
    if expanded.startswith("~"):
        raise BadInput(f"{name} names no user's folder: {path}", f"give it whole: export {name}=/path/to/folder")
    try:
        return abspath(expanded)
    except FileNotFoundError:
        raise BadInput(f"{name} is relative to a folder that is gone: {path}", f"cd, or: export {name}=/path") from None


def is_collection_folder(name: str) -> bool:
    """Return True if ``name``, of one part, may be the top-level folder of a collection in a backup or a sync."""
    return bool(name) and not name.startswith(".") and "/" not in name and name not in (*RECORDS, *FILES, *LOCAL)


def make_private(folder: str) -> None:
    """Create ``folder`` and its parents; what is created has mode 0700, what exists is left as it is.

    Raises BadInput if the folder cannot be made.
    """
    if os.path.isdir(folder):
        return
    parent = dirname(folder)
    if parent != folder:
        make_private(parent)
    try:
        os.mkdir(folder, PRIVATE_DIR)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise BadInput(f"not a folder: {folder}", f"move it away: mv {folder} {folder}.old") from None
    except OSError as error:
        failure = from_os(error)
        if isinstance(failure, DiskFull):
            raise failure from None
        raise BadInput(
            f"cannot create {folder}: {error.strerror}", "choose a writable place: export BRAIN_HOME=…"
        ) from None


def shipped(name: str) -> str:
    """Return the path of a file that ships with the product, in the checkout or in the installed wheel.

    Raises BadInput if the installation lacks the file.
    """
    for candidate in (join(_ROOT, name), join(_ROOT, "core", "shipped", name)):
        if os.path.exists(candidate):
            return candidate
    raise BadInput(f"{name} is missing from this installation", "reinstall: pip install --force-reinstall .")


def checkout() -> str | None:
    """Return the checkout that this code runs from, None for an installed wheel."""
    return _ROOT if isfile(join(_ROOT, "pyproject.toml")) and isfile(join(_ROOT, "brain.py")) else None
