"""What was excluded, remembered for the time when its files and folders are gone."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from os.path import join

from core.errors import EngineMissing, from_os
from core.files import FileLock, read_or_none, write_atomic
from ingest.policy import FILE, UNITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.home import Home

    # Source and unit.
    Unit = tuple[str, str]

_LOCK_WAIT_S = 10.0


class Withheld:
    """Folders that held a marker, and (source, unit) → (why, by what: the digest of the folder with the marker, or
    ``Rules``' word for its rules).

    Read when it is first asked; what is noted lasts once it is saved. A file that is damaged raises EngineMissing: what
    it knew is not to be read for want of it.
    """

    __slots__ = ("_changed_folders", "_changed_units", "_folders", "_home", "_units")

    def __init__(self, home: Home) -> None:
        self._home = home
        self._folders: set[str] | None = None
        self._units: dict[Unit, tuple[str, str]] | None = None
        self._changed_folders: dict[str, bool] = {}
        self._changed_units: dict[Unit, tuple[str, str] | None] = {}

    def has_folder(self, folder: str) -> bool:
        """Return True if a folder held a marker when it was last looked at."""
        return digest(folder) in self._marked()

    def note_folder(self, folder: str, *, marked: bool) -> None:
        """Remember that a folder holds a marker, or that it is there and holds none."""
        name, folders = digest(folder), self._marked()
        if marked is not (name in folders):
            self._changed_folders[name] = marked
            (folders.add if marked else folders.discard)(name)

    def unit(self, source: str, unit: str) -> tuple[str, bool]:
        """Return (why a unit was excluded or "", True if the folder that excluded it still counts as marked)."""
        why, folder = self._kept_out().get((source, unit), ("", ""))
        return why, folder in self._marked()

    def rules(self, source: str, unit: str) -> str:
        """Return the noted rules that excluded a unit, "" if none are known."""
        return self._kept_out().get((source, unit), ("", ""))[1]

    def note_unit(self, source: str, unit: str, why: str, folder: str = "", *, rules: str = "") -> None:
        """Remember why a unit is excluded (``folder``: where the marker lies), or with "" that it is not."""
        self._note((source, unit), (why, digest(folder) if folder else rules) if why else None)

    def inherit(self, source: str, unit: str, parent: str) -> None:
        """Remember that a unit is excluded as its parent is."""
        self._note((source, unit), self._kept_out().get((source, parent)))

    def save(self, *, wait_s: float = _LOCK_WAIT_S) -> None:
        """Write the notes to the disk, merged with those of other processes. Raises OSError and LockContention."""
        if not (self._changed_folders or self._changed_units):
            return
        with FileLock(join(self._home.state, "excluded.lock"), wait_s):
            if self._changed_folders:
                self._folders = None
                folders = self._marked()
                for name, marked in self._changed_folders.items():
                    (folders.add if marked else folders.discard)(name)
                self._write(FILE, {"schema": 1, "folders": sorted(folders)})
            if self._changed_units:
                self._units = None
                units = self._kept_out()
                for key, value in self._changed_units.items():
                    _put(units, key, value)
                rows = [[*key, *value] for key, value in sorted(units.items())]
                self._write(UNITS, {"schema": 1, "units": rows})
        self._changed_folders, self._changed_units = {}, {}

    def add(self, other: Withheld) -> None:
        """Note what another home remembers as well, as far as either can be read."""
        with suppress(EngineMissing):
            self._changed_folders |= dict.fromkeys(other._marked() - self._marked(), True)
        with suppress(EngineMissing):
            units = self._kept_out()
            self._changed_units |= {key: value for key, value in other._kept_out().items() if key not in units}

    def check(self) -> None:
        """Read all of it. Raises EngineMissing if it is damaged."""
        self._marked()
        self._kept_out()

    def _note(self, key: Unit, now: tuple[str, str] | None) -> None:
        units = self._kept_out()
        if units.get(key) != now:
            self._changed_units[key] = now
            _put(units, key, now)

    def _marked(self) -> set[str]:
        if self._folders is None:
            names = self._read(FILE, "folders")
            if not all(isinstance(name, str) for name in names):
                raise _damaged(join(self._home.state, FILE))
            self._folders = {str(name) for name in names}
        return self._folders

    def _kept_out(self) -> dict[Unit, tuple[str, str]]:
        if self._units is None:
            units: dict[Unit, tuple[str, str]] = {}
            for row in self._read(UNITS, "units"):
                if not (isinstance(row, list) and len(row) == 4 and all(isinstance(cell, str) for cell in row)):
                    raise _damaged(join(self._home.state, UNITS))
                source, unit, why, folder = row
                units[source, unit] = (why, folder)
            self._units = units
        return self._units

    def _read(self, name: str, key: str) -> list[object]:
        """Return the list in one file, empty if there is no file. An empty file is damaged: none is ever written so."""
        path = join(self._home.state, name)
        if not os.path.lexists(path):
            return []
        try:
            data = read_or_none(path)
        except OSError as error:
            raise from_os(error) or _damaged(path) from None
        if data is None:
            return []
        try:
            held = json.loads(data)
        except (ValueError, RecursionError):
            raise _damaged(path) from None
        found = held.get(key) if isinstance(held, dict) else None
        if not isinstance(found, list):
            raise _damaged(path)
        return found

    def _write(self, name: str, held: dict[str, object]) -> None:
        write_atomic(join(self._home.state, name), json.dumps(held, indent=0).encode())


def _damaged(path: str) -> EngineMissing:
    from shlex import quote

    return EngineMissing(
        f"{path} cannot be read: it says what was excluded, so nothing is read without it",
        "put it back from a backup (brain restore BACKUP --to FOLDER unpacks one); only where no folder with a"
        f" .brain-ignore was deleted: mv {quote(path)} {quote(f'{path}.damaged')}",
    )


def digest(folder: str) -> str:
    """Return the key under which a folder is remembered."""
    try:
        name = os.fsencode(folder)
    except UnicodeEncodeError:  # a record may say any string; half a character is in no folder's name
        name = folder.encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()


def _put(units: dict[Unit, tuple[str, str]], key: Unit, value: tuple[str, str] | None) -> None:
    if value is None:
        units.pop(key, None)
    else:
        units[key] = value
