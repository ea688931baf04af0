"""The commits of a repository, by ``git log``: ``core.git`` runs no program that the repository names."""

from __future__ import annotations

import re
from typing import NamedTuple

from ingest.repositories import SILENT, NoLog, checked_out, git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_COMMITS = 50_000
_MOST_FILES = 40

_LOG = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-notes", "--no-decorate")
_COMMIT = re.compile(rb"[0-9a-f]{40,64}")


class Commit(NamedTuple):
    """``at``: the author's clock, ISO 8601 with its offset; ``files``: at most 40 of the ``changed`` paths."""

    hash: str
    at: str
    author: str
    message: str
    files: tuple[str, ...]
    changed: int


def _nothing(folder: str) -> bool:
    del folder
    return False


def tip(root: str, is_excluded: Callable[[str], bool] = _nothing) -> str:
    """Return a text that changes when a branch of the repository does. Raises NoLog."""
    there = checked_out(root, is_excluded)
    return " ".join((_branches(root, there.hidden) + _head(root, there.hidden), *there.heads))


def commits(root: str, is_excluded: Callable[[str], bool] = _nothing) -> list[Commit]:
    """Return the commits of all local branches and work trees, newest first, at most 50,000. Raises NoLog.

    Commits and branches that only excluded work trees have checked out are left out.
    """
    # HEAD may name a branch that does not exist yet, while others do.
    there = checked_out(root, is_excluded)
    branches = (*(f"--exclude={name}" for name in there.hidden), "--branches")
    refs: tuple[str, ...] = ("HEAD",) if _head(root, there.hidden) else ()
    if _branches(root, there.hidden):
        refs = (*refs, *branches)
    if not refs:
        return []
    refs = ("--ignore-missing", *refs, *there.heads)
    most = f"--max-count={MOST_COMMITS}"
    # A commit contains no NUL, and git quotes control characters in names of files.
    texts = git(root, "log", "-z", *_LOG, most, "--encoding=UTF-8", "--format=%H%n%aI%n%an%n%B", *refs, "--")
    names = git(root, "log", *_LOG, most, "--format=%x01%H", "--name-only", *refs, "--")
    files: dict[str, list[str]] = {}
    held: list[str] = []
    for line in names.split(b"\n"):
        if line.startswith(b"\x01") and _COMMIT.fullmatch(line[1:]):
            held = files.setdefault(line[1:].decode(), [])
        elif line:
            held.append(_unquoted(line))
    found: list[Commit] = []
    for record in texts.split(b"\0"):
        parts = record.decode("utf-8", "replace").split("\n", 3)
        if len(parts) == 4 and _COMMIT.fullmatch(parts[0].encode("utf-8", "replace")):
            name, at, author, message = parts
            paths = files.get(name, [])
            found.append(Commit(name, at, author, message, tuple(paths[:_MOST_FILES]), len(paths)))
    return found


def _branches(root: str, hidden: Sequence[str]) -> str:
    said = git(root, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads").decode(
        "utf-8", "surrogateescape"
    )
    names = {f"refs/heads/{name}" for name in hidden}
    # Unchanged if nothing is hidden, so that the recorded text of a repository stays valid.
    return "".join(line for line in said.splitlines(keepends=True) if line.rstrip("\n").partition(" ")[2] not in names)


def _head(root: str, hidden: Sequence[str]) -> str:
    try:
        if hidden and _named(root) in hidden:
            return ""  # HEAD names a branch that only an excluded work tree has checked out
        return git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").decode().strip()
    except NoLog as error:
        if str(error) == SILENT:
            return ""  # no commit yet
        raise


def _named(root: str) -> str:
    """Return the branch that ``HEAD`` names, "" if it names a commit. Raises NoLog."""
    try:
        said = git(root, "symbolic-ref", "--quiet", "HEAD").decode("utf-8", "surrogateescape").strip()
    except NoLog as error:
        if str(error) == SILENT:
            return ""
        raise
    return said.removeprefix("refs/heads/")


def _unquoted(line: bytes) -> str:
    """Return a path from git's output, which quotes special characters as C does."""
    if not (line.startswith(b'"') and line.endswith(b'"')):
        return line.decode("utf-8", "replace")
    plain = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8) & 0xFF]), line[1:-1])
    return plain.replace(b'\\"', b'"').replace(b"\\\\", b"\\").decode("utf-8", "replace")
