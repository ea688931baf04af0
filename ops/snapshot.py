"""A copy of a home at one moment, while others write: databases through SQLite, files by hard links.

The order makes the copy consistent. The state of the sources is copied before the archive's catalogue, and both before
the files that they name. So a copy may hold more files than its databases name, which the next ``brain index`` repairs,
and never fewer. If a named file vanishes meanwhile, the copy starts again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from os.path import basename, dirname, join, relpath
from typing import TYPE_CHECKING

import apsw

from core import access_token
from core.config import FILE as CONFIG
from core.config import load
from core.errors import BrainError, Internal, LockContention
from core.files import read_or_none
from core.home import CORPUS, FILES, PRIVATE_FILE, RECORDS, Home, is_collection_folder, make_private
from core.sqlite import connect
from core.tombstones import FILE as TOMBSTONES
from ingest import registry
from ingest.archive import archive, keeping
from ingest.archive.verifier import broken
from ingest.pipeline import remade

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.config import Config
    from ingest.archive.verifier import Broken
    from ingest.collector import Collector

RAW = "raw"
SOURCES = join("state", "sources.sqlite")
FORGETTING = "forgetting.json"
# Below state/: unfinished work, copies of other programs' databases, caches, and the key to this machine's servers.
NOT_KEPT = ("scratch", "copies", "work", "config.cache", keeping.STATES, access_token.NAME)
_TRIES = 3
_BUSY_MS = 30_000
_COMPANIONS = ("-wal", "-shm", "-journal")


class Snapshot:
    """A copy. ``home`` is its home; ``outside`` lists folders of collections beyond the home, which are not copied.

    ``missing`` lists the objects that the archive's catalogue names and the home itself lacks.
    """

    __slots__ = ("home", "missing", "outside")

    def __init__(self, home: Home, outside: list[str], missing: list[Broken]) -> None:
        self.home = home
        self.outside = outside
        self.missing = missing


def parts(home: Home, config: Config) -> tuple[dict[str, str], list[str]]:
    """Return (folders of the corpus: name below the home → where it lies, folders of all other collections).

    A folder with a dot or one of the brain's own folders is no part of the corpus, whatever a configuration says: a
    backup or a sync would copy state and keys.
    """
    inside: dict[str, str] = {}
    outside: list[str] = []
    root = os.path.realpath(home.root)
    for name, folder in config.collections.items():
        real = os.path.realpath(folder.path)
        below = relpath(real, root)
        if real != root and is_collection_folder(below.split(os.sep)[0]):
            inside[below] = folder.path
        elif name == "inbox" and folder.path == home.inbox:
            inside["inbox"] = folder.path
        else:
            outside.append(folder.path)
    return inside, outside


def tops(home: Home) -> set[str]:
    """Return the top-level names of the home's memory; a configuration that is not valid names the shipped folders."""
    try:
        inside, _ = parts(home, load(home))
    except BrainError:
        inside = dict.fromkeys(CORPUS, "")
    return {*(name.split(os.sep)[0] for name in inside), *RECORDS, *FILES}


def take(home: Home, config: Config, folder: str) -> Snapshot:
    """Copy the home into ``folder``, which is empty, private, and preferably on the home's file system.

    Raises OSError, apsw.Error, and LockContention where the home did not hold still.
    """
    for _ in range(_TRIES):
        before = _forgotten(home)
        outside = _copy(home, config, folder)
        missing = _missing(home, folder)
        if _forgotten(home) == before and missing is not None:
            return Snapshot(Home(folder), outside, missing)
        shutil.rmtree(folder)
        make_private(folder)
    raise LockContention("documents were being forgotten all the while", "wait for that to end, then run it again")


def _copy(home: Home, config: Config, folder: str) -> list[str]:
    copy = Home(folder)
    copy.make()
    databases = [path for path in _files(home.state, NOT_KEPT) if path.endswith(".sqlite")]
    first = join(home.root, SOURCES)
    for path in sorted(databases, key=lambda path: path != first):
        with _naming(home, path):
            database(path, join(folder, relpath(path, home.root)))
    names = (archive.CATALOGUE, *_own_archives())
    for path in (*(join(home.root, RAW, name) for name in names), home.index):
        if os.path.isfile(path):
            with _naming(home, path):
                database(path, join(folder, relpath(path, home.root)))
    inside, outside = parts(home, config)
    trees = {**inside, RAW: home.path(RAW), "state": home.state, "logs": home.logs}
    for name, tree in trees.items():
        for path in _files(tree, NOT_KEPT if name == "state" else ()):
            if not path.endswith(".sqlite"):
                _link(path, join(folder, name, relpath(path, tree)))
    if os.path.isfile(home.path(CONFIG)):
        _link(home.path(CONFIG), join(folder, CONFIG))
    return outside


def _own_archives() -> dict[str, Collector]:
    """Return the databases below raw/ that collectors keep themselves, by name."""
    return {each.own_archive: each for each in registry.collectors() if each.own_archive}


@contextlib.contextmanager
def _naming(home: Home, path: str) -> Iterator[None]:
    """Raise an error that names the database at ``path`` if it is emptied or damaged. Errors of the index pass
    unchanged.
    """

    if basename(path) == archive.CATALOGUE:
        with archive.named(path):
            archive.refuse_emptied(path)
            yield
        return
    own: Collector | None = None
    if dirname(path) == home.path(RAW):
        own = _own_archives()[basename(path)]
        own.examine(home, path)
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        if path == home.index:
            raise
        if own is not None:
            raise own.damaged(path, remade.reason(error)) from error
        message = f"{path} is damaged: {remade.reason(error)}"
        raise Internal(message, f"mv {path} {path}.damaged; brain index makes it again") from error


def database(path: str, target: str) -> None:
    """Copy one database through SQLite's backup interface (https://sqlite.org/backup.html): one state of it, whole."""
    make_private(dirname(target))
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))
    source = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        source.set_busy_timeout(_BUSY_MS)
        copy = connect(target)
        try:
            with copy.backup("main", source, "main") as backup:
                backup.step(-1)
            # A copy without writers needs no write-ahead log.
            copy.execute("pragma journal_mode=delete").fetchall()
        finally:
            copy.close()
    finally:
        source.close()


def _files(tree: str, left_out: tuple[str, ...]) -> Iterator[str]:
    """Yield the regular files below ``tree``, without temporary files, locks and journals."""
    for place, folders, names in os.walk(tree):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not (place == tree and name in left_out)
        )
        for name in sorted(names):
            path = join(place, name)
            if name.endswith((".tmp", ".lock", *(f".sqlite{each}" for each in _COMPANIONS))) or (
                place == tree and name in left_out
            ):
                continue
            with contextlib.suppress(FileNotFoundError):
                if stat.S_ISREG(os.lstat(path).st_mode):
                    yield path


def _link(path: str, target: str) -> None:
    """Link a file, since most files are replaced as a whole; copy a ledger, which grows in place."""
    make_private(dirname(target))
    try:
        if not path.endswith(".jsonl"):
            with contextlib.suppress(OSError):
                os.link(path, target)
                return
        shutil.copyfile(path, target)
        shutil.copystat(path, target)
    except FileNotFoundError:
        return  # it vanished meanwhile: `_missing` finds it if a database names it


def _forgotten(home: Home) -> tuple[bytes | None, bool]:
    return read_or_none(join(home.state, TOMBSTONES)), os.path.exists(join(home.state, FORGETTING))


def _missing(home: Home, folder: str) -> list[Broken] | None:
    """Return the objects that the copy's catalogue names and that are missing; None if they vanished meanwhile."""

    try:
        missing = broken(Home(folder))
    except BrainError:
        broken(home)  # the home itself is damaged: name its catalogue, not the copy's
        raise
    if not missing:
        return []
    lost = {each.name for each in broken(home)}
    return missing if all(each.name in lost for each in missing) else None
