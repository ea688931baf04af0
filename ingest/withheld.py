"""What was excluded, for when nothing else can tell it any more: ``state/excluded.json``, digests and ids, no content.

A folder that held a marker is remembered by the SHA-256 of its path: once it is deleted, its marker is gone with it. A
session that was excluded is remembered by its id: its agents go with it, and so do prompts that tell no folder.
"""

from __future__ import annotations

import os
from os.path import join

from core.files import read_or_none, write_atomic
from core.locks import FileLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.home import Home

    # Source and unit.
    Unit = tuple[str, str]

FILE = "excluded.json"
_LOCK_WAIT_S = 10.0


class Withheld:
    """Folders that held a marker, and (source, unit) → (why, the digest of the folder with the marker or "").

    Read when it is first asked; what is noted lasts once it is saved.
    """

    __slots__ = ("_changed_folders", "_changed_units", "_folders", "_home", "_units")

    def __init__(self, home: Home) -> None:
        self._home = home
        self._folders: set[str] | None = None
        self._units: dict[Unit, tuple[str, str]] = {}
        self._changed_folders: dict[str, bool] = {}
        self._changed_units: dict[Unit, tuple[str, str] | None] = {}

    def has_folder(self, folder: str) -> bool:
        """Whether a folder held a marker when it was last looked at."""
        return digest(folder) in self._read()

    def note_folder(self, folder: str, *, marked: bool) -> None:
        """Remember that a folder holds a marker, or that it is there and holds none."""
        name, folders = digest(folder), self._read()
        if marked is not (name in folders):
            self._changed_folders[name] = marked
            (folders.add if marked else folders.discard)(name)

    def unit(self, source: str, unit: str) -> tuple[str, bool]:
        """(why a unit was excluded or "", whether that was by a folder that still counts as marked)."""
        folders = self._read()
        why, folder = self._units.get((source, unit), ("", ""))
        return why, folder in folders

    def note_unit(self, source: str, unit: str, why: str, folder: str = "") -> None:
        """Remember why a unit is excluded (``folder``: where the marker lies), or with "" that it is not."""
        self._read()
        before, now = self._units.get((source, unit)), (why, digest(folder) if folder else "") if why else None
        if before != now:
            self._changed_units[source, unit] = now
            _put(self._units, (source, unit), now)

    def inherit(self, source: str, unit: str, parent: str) -> None:
        """Remember that a unit is excluded as its parent is."""
        self._read()
        now = self._units.get((source, parent))
        if self._units.get((source, unit)) != now:
            self._changed_units[source, unit] = now
            _put(self._units, (source, unit), now)

    def save(self, *, wait_s: float = _LOCK_WAIT_S) -> None:
        """Make durable what was noted, beside what others noted meanwhile. Raises OSError and LockContention."""
        if not (self._changed_folders or self._changed_units):
            return
        import json

        with FileLock(join(self._home.state, "excluded.lock"), wait_s):
            self._folders = None
            folders = self._read()
            for name, marked in self._changed_folders.items():
                (folders.add if marked else folders.discard)(name)
            for key, value in self._changed_units.items():
                _put(self._units, key, value)
            rows = [[*key, *value] for key, value in sorted(self._units.items())]
            said = {"schema": 1, "folders": sorted(folders), "units": rows}
            write_atomic(join(self._home.state, FILE), json.dumps(said, indent=0).encode())
        self._changed_folders, self._changed_units = {}, {}

    def add(self, other: Withheld) -> None:
        """Note what another home remembers as well."""
        folders, mine = other._read(), self._read()
        self._changed_folders |= dict.fromkeys(folders - mine, True)
        self._changed_units |= {key: value for key, value in other._units.items() if key not in self._units}

    def _read(self) -> set[str]:
        if self._folders is None:
            self._folders, self._units = set(), {}
            data = read_or_none(join(self._home.state, FILE))
            if data:
                import json

                said = json.loads(data)
                self._folders = {str(name) for name in said["folders"]}
                for source, unit, why, folder in said["units"]:
                    self._units[str(source), str(unit)] = (str(why), str(folder))
        return self._folders


def digest(folder: str) -> str:
    """What a folder is remembered by."""
    import hashlib  # a run that finds nothing new does without it

    return hashlib.sha256(os.fsencode(folder)).hexdigest()


def _put(units: dict[Unit, tuple[str, str]], key: Unit, value: tuple[str, str] | None) -> None:
    if value is None:
        units.pop(key, None)
    else:
        units[key] = value
