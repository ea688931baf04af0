"""Units that were forgotten and must not come back: ``state/tombstones.json``, identities without any content.

An identity is a source and a unit of it: a session's id (its agents are meant too), ``<session>\\t<agent>`` for one
agent, a day for a browser, the id of a note or an article. Any other document has the source ``document`` and the
SHA-256 of its bytes. It cannot be derived from anything, so it lies in ``state/`` and not in the index.

A unit of a source with ``Source.made_of`` has a second one, ``<unit>\\t=<digest>,<digest>``: a commit's hash, the
digest of a symbol (``ingest.sources.code.source.same``), the SHA-256 of an article's file. It identifies a clone in
another folder and a copy of the file.

A day of commits is called after its repository. Where that name is itself what is to be forgotten, ``sha256:`` and the
digest of the unit stand in its place.
"""

from __future__ import annotations

from os.path import dirname, exists, join

from core import clock
from core.errors import EngineMissing, from_os
from core.files import read_or_none, write_atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from core.files import FileLock
    from core.home import Home

FILE = "tombstones.json"
# An empty file that is there once something was forgotten: by it a file of tombstones that is gone is missed.
MARK = "tombstones.once"
_LOCK_WAIT_S = 10.0
_HIDDEN = "sha256:"

Tombstone = tuple[str, str]
# Between a unit and the digests of its content. No agent's id begins with the sign.
_DIGESTS = "\t="


def by_content(source: str, unit: str, digests: Iterable[str]) -> Tombstone:
    """Return the tombstone of a unit, wherever it lies, by digests of its content."""
    return source, f"{unit}{_DIGESTS}{','.join(digests)}"


def is_by_content(mark: Tombstone) -> bool:
    """Return True if a tombstone is the second one of its unit."""
    return _DIGESTS in mark[1]


def digests(marks: Iterable[Tombstone], source: str) -> set[str]:
    """Return the digests by which one source's tombstones know their units, wherever these lie."""
    units = [unit for held, unit in marks if held == source and is_by_content((held, unit))]
    return {each for unit in units for each in unit.partition(_DIGESTS)[2].split(",")}


def hidden(unit: str) -> str:
    """Return a substitute for a unit's name where the name must not be: the same for everybody who knows the name."""
    import hashlib

    name, tab, rest = unit.partition("\t")
    return f"{_HIDDEN}{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}{tab}{rest}"


def without_digests(units: Iterable[str]) -> set[str]:
    """Those of the units that were forgotten of which no second tombstone says what they were made of."""
    told = {unit for unit in units if "\t" in unit}
    return set(units) - told - {unit.partition("\t")[0] for unit in told}


class Tombstones:
    """A set of (source, unit) → the time at which it was forgotten, ISO 8601.

    A file that is damaged (an empty one is), or gone after it was there, raises EngineMissing: what it knew is not to
    be read for want of it.
    """

    __slots__ = ("_held", "_hiding", "_path")

    def __init__(self, home: Home) -> None:
        self._path = join(home.state, FILE)
        self._hold(_read(self._path))

    def _hold(self, held: dict[Tombstone, str]) -> None:
        self._held = held
        # The sources with hidden units: for the others no name is hashed.
        self._hiding = {source for source, unit in held if unit.startswith(_HIDDEN)}

    def __len__(self) -> int:
        return len(self._held)

    def covers(self, source: str, unit: str) -> bool:
        """Return True if a unit was forgotten, by itself or with its session; by content, only by itself."""
        if source in self._hiding and not unit.startswith(_HIDDEN) and (source, hidden(unit)) in self._held:
            return True
        if is_by_content((source, unit)):
            return (source, unit) in self._held
        return (source, unit) in self._held or (source, unit.partition("\t")[0]) in self._held

    def marks(self) -> list[Tombstone]:
        """All of them, sorted."""
        return sorted(self._held)

    def of(self, source: str) -> set[str]:
        """The units of one source."""
        return {unit for held, unit in self._held if held == source}

    def add(self, marks: Iterable[Tombstone]) -> None:
        """Add some, durably; keep what other processes wrote meanwhile. Raises OSError, LockContention."""
        now = clock.iso(clock.now())
        with self._alone():
            self._hold(_read(self._path))
            for mark in marks:
                self._held.setdefault(mark, now)
            self._write()

    def lift(self, marks: Iterable[Tombstone]) -> int:
        """Remove some and return how many there were; keep what others wrote meanwhile. Raises as ``add``."""
        with self._alone():
            self._hold(_read(self._path))
            gone = [mark for mark in marks if self._held.pop(mark, None) is not None]
            if gone:
                self._write()
        return len(gone)

    def hide(self, sources: Collection[str], test: Callable[[str], bool]) -> None:
        """Replace units of ``sources`` that pass ``test`` by ``hidden`` names, which keep away the same.

        Raises as ``add``.
        """
        if not any(source in sources and test(unit) for source, unit in self._held):
            return
        with self._alone():
            self._hold(
                {
                    (source, hidden(unit) if source in sources and test(unit) else unit): at
                    for (source, unit), at in _read(self._path).items()
                }
            )
            self._write()

    def _alone(self) -> FileLock:
        from core.files import FileLock

        return FileLock(join(dirname(self._path), "tombstones.lock"), _LOCK_WAIT_S)

    def _write(self) -> None:
        import json

        rows = [[source, unit, at] for (source, unit), at in sorted(self._held.items())]
        write_atomic(self._path, json.dumps({"schema": 1, "forgotten": rows}, indent=0).encode())
        mark = join(dirname(self._path), MARK)
        if not exists(mark):
            write_atomic(mark, b"")


def _read(path: str) -> dict[Tombstone, str]:
    try:
        data = read_or_none(path)
    except OSError as error:
        raise from_os(error) or _damaged(path) from None
    if data is None:
        if exists(join(dirname(path), MARK)):
            raise _damaged(path)
        return {}
    import json

    try:
        rows = json.loads(data)["forgotten"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _damaged(path) from None
    if not isinstance(rows, list):
        raise _damaged(path)
    for row in rows:
        if not (isinstance(row, list) and len(row) == 3 and all(isinstance(cell, str) for cell in row)):
            raise _damaged(path)
    return {(source, unit): at for source, unit, at in rows}


def _damaged(path: str) -> EngineMissing:
    from shlex import quote

    home = dirname(dirname(path))
    return EngineMissing(
        f"{path} cannot be read: it says what was forgotten, so nothing is read without it",
        f"take it out of a backup: tar --zstd -xf FILE -C {quote(home)} state/{FILE}; only where nothing was ever"
        f" forgotten: mv {quote(path)} {quote(f'{path}.damaged')}; rm {quote(join(dirname(path), MARK))}",
    )
