"""Repositories for the sources that read them: where they are, which work trees they have, how they are named.

The folder that all work trees share identifies a repository (gitrepository-layout(5): ``.git`` is a file
``gitdir: <path>`` in a linked work tree, and ``commondir`` in that path leads to the shared folder). No git is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from os.path import abspath, basename, dirname, isdir, isfile, join, normpath, realpath
from typing import NamedTuple

import apsw

from core.git import run
from core.redaction import clean as redact
from core.sqlite import connect
from ingest.collector import Collector
from ingest.pipeline import remade

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from core.home import Home

DEPTH = 6
_MOST_FOLDERS = 50_000
# Folders with other people's repositories, or none. Hidden folders are not searched either.
_NEVER = frozenset(("node_modules", "__pycache__", "site-packages", "venv", "vendor", "target", "dist", "build"))
_POINTER = "gitdir:"
_REF = "ref:"
_BRANCHES = "refs/heads/"
_LONGEST = 4096
_GIT = ".git"
_BUSY_MS = 30_000
TIMEOUT_S = 120.0
_MOST_BYTES = 256 << 20
# The output depends on nobody's configuration.
_PRINTED = ("core.quotePath=true", "diff.renames=false", "log.showRoot=true", "log.mailmap=false")
SILENT = "git says nothing"
SCHEMA = """
create table if not exists repositories(root blob primary key, name text not null unique) without rowid;
"""


class NoLog(Exception):
    """Git printed an error instead of a log."""


class Worked(tuple[str, ...]):
    """Folders that sessions worked in: repositories are looked for around them, not below."""

    __slots__ = ()


class Place(NamedTuple):
    """A repository: ``path`` is its main work tree, or its own folder if it has none; ``trees`` are its work trees."""

    path: str
    trees: tuple[str, ...]


class CheckedOut(NamedTuple):
    """``heads``: commits that other work trees have checked out without a branch, at most 64.

    ``hidden``: branches (without ``refs/heads/``) that only excluded work trees have checked out.
    """

    heads: tuple[str, ...]
    hidden: tuple[str, ...]


def git(root: str, *words: str) -> bytes:
    """Return the output of git, which runs no program that the repository names. Raises NoLog."""
    environ = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    environ |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1"}
    try:
        done = run(
            ["--literal-pathspecs", *words],
            timeout_s=TIMEOUT_S,
            environ=environ,
            folder=root,
            most_bytes=_MOST_BYTES,
            settings=_PRINTED,
        )
    except OSError as error:
        raise NoLog(f"git cannot be run: {error.strerror}") from None
    if done.timed_out or done.flooded:
        raise NoLog("the log is too long to be read")
    if done.code:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise NoLog(said[0][:200] if said else SILENT)
    return done.stdout


def places(folders: Iterable[str], *, below: bool) -> tuple[list[Place], list[str]]:
    """Return (the repositories of some folders, each once, sorted; the folders without one).

    ``below``: search folders that are no repositories, ``DEPTH`` deep; else take the repository around each.
    """
    tops: dict[str, None] = {}
    without: list[str] = []
    for folder in dict.fromkeys(map(abspath, folders)):
        top = top_of(folder)
        found = list(_below(folder)) if below and top != folder and isdir(folder) else []
        found = found or ([top] if top else [])
        tops |= dict.fromkeys(found)
        if not found:
            without.append(folder)
    shared: dict[str, list[str]] = {}
    for top in tops:
        shared.setdefault(common_of(top), []).append(top)
    held = [Place(_main(common, trees), tuple(sorted(trees))) for common, trees in shared.items()]
    return sorted(held), sorted(without)


def top_of(folder: str) -> str:
    """Return the work tree around a folder, which may be gone; "" if there is none.

    A repository without a work tree is its own.
    """
    place = abspath(folder)
    if is_bare(place):
        return place
    while not os.path.lexists(join(place, _GIT)):
        above = dirname(place)
        if above == place:
            return ""
        place = above
    return place


def is_bare(folder: str) -> bool:
    """Return True if a folder is a repository without a work tree."""
    if basename(folder) == _GIT or os.path.lexists(join(folder, _GIT)):
        return False
    return isfile(join(folder, "HEAD")) and isdir(join(folder, "objects")) and isdir(join(folder, "refs"))


def common_of(top: str) -> str:
    """Return the folder that all work trees of a repository share, with links resolved."""
    return realpath(_linked(top) or _git_folder(top))


def checked_out(top: str, is_excluded: Callable[[str], bool]) -> CheckedOut:
    """Return what other work trees of the repository at ``top`` have checked out.

    ``is_excluded`` takes the folder of a work tree. In ``worktrees/<name>``, ``gitdir`` names its ``.git``, ``HEAD``
    its branch or commit, ``rebase-merge/head-name`` the branch that a rebase moves, and ``BISECT_START`` the branch
    that a bisection returns to (gitrepository-layout(5), git-rebase(1), git-bisect(1)).
    """
    folder = join(common_of(top), "worktrees")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    heads: set[str] = set()
    shown = {"" if is_bare(top) else _branch(_line(join(_git_folder(top), "HEAD")))}
    hidden: set[str] = set()
    for own in (join(folder, name) for name in names):
        head, back = _line(join(own, "HEAD")), _line(join(own, "gitdir"))
        left_out = bool(back) and is_excluded(dirname(normpath(join(own, back))))
        moved = [_line(join(own, each, "head-name")) for each in ("rebase-merge", "rebase-apply")]
        moved.append(_BRANCHES + _line(join(own, "BISECT_START")))
        (hidden if left_out else shown).update((_branch(head), *(_branch(f"{_REF} {name}") for name in moved)))
        if not left_out and len(head) in (40, 64) and set(head) <= set("0123456789abcdef"):
            heads.add(head)
    return CheckedOut(tuple(sorted(heads)[:64]), tuple(sorted(hidden - shown - {""})))


def _branch(head: str) -> str:
    """Return the branch that a ``HEAD`` names, without ``refs/heads/``; "" if it names a commit or nothing."""
    kind, _, name = head.partition(" ")
    return name.strip().removeprefix(_BRANCHES) if kind == _REF and name.strip().startswith(_BRANCHES) else ""


def called(top: str) -> str:
    """Return the name of a repository's folder; without ``.git``, or the folder's above, if it has no work tree."""
    if not is_bare(top):
        return basename(top)
    name = basename(top)
    return basename(dirname(top)) if name.startswith(".") else name.removesuffix(_GIT) or name


def _main(common: str, trees: list[str]) -> str:
    """Return the main work tree if it exists, else the repository itself, else its first work tree."""
    own = [tree for tree in trees if not _linked(tree)]
    if own:
        return min(own)
    if basename(common) == _GIT:
        return dirname(common)
    return common if is_bare(common) else min(trees)


def _git_folder(top: str) -> str:
    """Return the folder of the repository of a work tree."""
    path = join(top, _GIT)
    if not isfile(path):
        return path if os.path.lexists(path) else top
    line = _line(path)
    return normpath(join(top, line[len(_POINTER) :].strip())) if line.startswith(_POINTER) else path


def _linked(top: str) -> str:
    """Return the shared folder of a linked work tree, "" if ``top`` is none: both folders must name each other."""
    if not isfile(join(top, _GIT)):
        return ""
    folder = _git_folder(top)
    said = _line(join(folder, "commondir"))
    common = normpath(join(folder, said)) if said else ""
    if not common or realpath(dirname(dirname(folder))) != realpath(common) or not isdir(common):
        return ""
    back = _line(join(folder, "gitdir"))
    return common if back and realpath(join(folder, back)) == realpath(join(top, _GIT)) else ""


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            text = stream.read(_LONGEST).strip("\n")
    except OSError:
        return ""
    return "" if "\0" in text else text.partition("\n")[0].strip()


def _below(root: str) -> Iterator[str]:
    """Yield the repositories below a folder. Links are not followed, and repositories are not searched."""
    waiting = [(root, 0)]
    looked = 0
    while waiting and looked < _MOST_FOLDERS:
        folder, depth = waiting.pop()
        looked += 1
        try:
            with os.scandir(folder) as entries:
                inside = sorted((entry.name for entry in entries if entry.is_dir(follow_symlinks=False)), reverse=True)
        except OSError:
            continue
        for name in inside:
            path = join(folder, name)
            if os.path.lexists(join(path, _GIT)) or is_bare(path):
                yield path
            elif depth + 1 < DEPTH and name not in _NEVER and not name.startswith("."):
                waiting.append((path, depth + 1))


def registered_name(connection: apsw.Connection, root: str, wanted: str = "") -> str:
    """Return the name of a repository in a source's database, which registers a new one.

    The name is ``wanted`` or the folder's; if another repository has it, digits of the path's digest are added.
    """
    known = connection.execute("select name from repositories where root = ?", (os.fsencode(root),)).get
    if known is not None:
        return str(known)
    safe = "".join(
        each if each.isascii() and (each.isalnum() or each in "._-") else "-"
        for each in redact(wanted or basename(root), {})
    )
    safe = safe.strip(".-")[:60] or "repository"
    taken = {str(name).casefold() for (name,) in connection.execute("select name from repositories")}
    if safe.casefold() in taken:
        safe = f"{safe}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:8]}"
    with connection:
        connection.execute("insert into repositories values(?, ?)", (os.fsencode(root), safe))
    return safe


def registered(connection: apsw.Connection) -> list[tuple[str, str]]:
    """Return (folder, name) of every repository in a source's database, sorted by folder."""
    found = connection.execute("select root, name from repositories order by root")
    return [(os.fsdecode(root), str(name)) for root, name in found]


def forgotten_digest(forgotten: Iterable[str]) -> str:
    """Return a part of a version that changes with the set of forgotten units; "" for none.

    A changed version makes a run read everything again.
    """
    held = "\n".join(sorted(forgotten))
    return f".{hashlib.sha256(held.encode()).hexdigest()[:8]}" if held else ""


class RepositoryCollector(Collector):
    """A collector with a database of repositories and their documents; ``by_repository``: (table, column) pairs."""

    by_repository: tuple[tuple[str, str], ...] = ()

    def forget(self, home: Home, units: Iterable[str], names: Iterable[str]) -> None:
        """Remove documents by their names; units name no document."""
        del units
        with self._state(home) as connection:
            if connection is not None:
                with connection:
                    connection.executemany("delete from documents where name = ?", [(name,) for name in names])
                connection.execute("pragma wal_checkpoint(truncate)").fetchall()

    def forget_repositories(self, home: Home, test: Callable[[str], bool]) -> None:
        """Remove repositories without documents if their folder or name passes ``test``. Raises apsw.Error.

        A repository is read again when it is named again.
        """
        with self._state(home) as connection:
            if connection is None:
                return
            known: list[Any] = connection.execute(
                "select root, name from repositories where name not in (select repository from documents)"
            ).fetchall()
            with connection:
                for root, name in known:
                    if test(os.fsdecode(root)) or test(str(name)):
                        connection.execute("delete from repositories where root = ?", (root,))
                        for table, column in self.by_repository:
                            connection.execute(f"delete from {table} where {column} = ?", (name,))
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()

    @contextlib.contextmanager
    def _state(self, home: Home) -> Iterator[apsw.Connection | None]:
        """Open the database, None if it has no tables; a damaged one is moved aside."""
        path = join(home.state, self.state_file)
        if not os.path.exists(path):
            yield None
            return
        if remade.fault(path):
            remade.set_aside(path)
            yield None
            return
        connection = connect(path)
        try:
            connection.set_busy_timeout(_BUSY_MS)
            connection.execute("pragma secure_delete=on").fetchall()
            names = connection.execute("select name from sqlite_schema where type = 'table'")
            yield connection if {"documents", "repositories"} <= {str(name) for (name,) in names} else None
        finally:
            connection.close()
