"""``state/sync.json``: this machine's name among those that share a memory, and its copies of the others' documents.

The file may come out of a backup, so it is checked completely: its names become folders and branches, and git gets its
address.
"""

from __future__ import annotations

import json
import re
from os.path import isabs, join
from typing import TYPE_CHECKING, Any

from core.errors import BrainError, EngineMissing
from core.files import read_or_none, remove_temporary, write_atomic

if TYPE_CHECKING:
    from core.home import Home

FILE = "sync.json"
# Limits of a path that another machine sends: file systems allow 255 bytes in a part, macOS 1024 in a path.
_PART_BYTES = 255
_PARTS = 100
_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_OID = re.compile(r"[0-9a-f]{40}|")
_SHAPE: dict[str, type] = {
    "name": str,
    "remote": str,
    "machines": dict,
    "removed": list,
    "former": list,
    "purge": bool,
    "unproven": bool,
    "failed": int,
    "synced": int,
}


class State:
    """This machine's name, the remote, the copies of others' documents, pending purges.

    ``machines``: name → {commit, heard: when that was made, files: path → oid, coming: oids being laid down,
    lacking: reason → how many documents were not taken, marks, removed, policy}. ``synced``: the last run that
    reached the remote; ``failed``: the last run if it did not, else 0, in epoch seconds. ``removed``: [machine,
    collection, path] of others' documents that were forgotten here, with or without a tombstone. ``former``: names
    that this machine had; their branches on the remote are no longer written. ``unproven``: the home was restored
    or renamed, so that its branch on the remote may have documents it lacks.
    """

    __slots__ = (
        "_path", "failed", "former", "machines", "name", "purge", "remote", "removed", "synced", "unproven",
    )  # fmt: skip

    def __init__(self, home: Home) -> None:
        """Read the file; without one, everything is empty. Raises EngineMissing if it is damaged."""
        self._path = join(home.state, FILE)
        try:
            data = read_or_none(self._path)
            held: dict[str, Any] = {} if data is None else json.loads(data)
            _check(held)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise EngineMissing(
                f"{self._path} is damaged: {error}",
                f"take it out of a backup: tar --zstd -xf FILE -C {home.root} state/{FILE}; where none has it: mv"
                f" {self._path} {self._path}.damaged; brain sync --remote URL --as NAME, by which other machines'"
                " documents that were forgotten here may come in again",
            ) from error
        self.name: str = held.get("name") or ""
        self.remote: str = held.get("remote") or ""
        self.machines: dict[str, dict[str, Any]] = held.get("machines") or {}
        self.removed: list[list[str]] = held.get("removed") or []
        self.former: list[str] = held.get("former") or []
        self.purge: bool = held.get("purge") or False
        self.unproven: bool = held.get("unproven") or False
        self.failed: int = held.get("failed") or 0
        self.synced: int = held.get("synced") or 0

    def save(self) -> None:
        """Write the file durably. Raises OSError."""
        kept = {"schema": 1, **{name: getattr(self, name) for name in self.__slots__ if name != "_path"}}
        write_atomic(self._path, json.dumps(kept).encode("utf-8", "surrogateescape"))

    def rename(self, name: str) -> None:
        """Call this machine ``name`` from now on."""
        self.former = [each for each in dict.fromkeys([*self.former, self.name]) if each not in ("", name)]
        self.name = name
        self.unproven = True


def restored(home: Home, copy: Home) -> str:
    """Settle the machine's identity in ``copy``, an unpacked backup that will replace ``home``.

    The name and the remote stay this home's; no address comes out of a backup. Others' forgotten documents stay
    forgotten. Return the address that only the backup had, "" for none. Raises OSError.
    """
    try:
        given = State(copy)
    except BrainError:
        remove_temporary(join(copy.state, FILE))
        given = State(copy)
    try:
        held = State(home)
    except BrainError:
        held = State(copy)  # nothing is known of the home's own
        held.remote = ""
    if not given.name and not held.name:
        return ""
    dropped = given.remote if given.remote != held.remote else ""
    if held.name and held.name != given.name:
        given.rename(held.name)
    given.former = [each for each in dict.fromkeys([*given.former, *held.former]) if each != given.name]
    given.remote = held.remote
    given.removed = [list(row) for row in dict.fromkeys(map(tuple, [*given.removed, *held.removed]))]
    given.purge = given.purge or held.purge
    given.unproven = True
    given.save()
    return dropped


def valid(name: str) -> bool:
    """Return True if a branch may be a machine's: its name becomes a folder's."""
    return 0 < len(name) <= 60 and _NAME.issuperset(name) and not name.startswith("-")


def is_address(remote: str) -> bool:
    """Return True if git reads ``remote`` as an address, not as an option or a command."""
    if isabs(remote):
        return "\0" not in remote
    return not remote.startswith("-") and "::" not in remote and all(ord(each) > 32 for each in remote)


def is_plain(path: str) -> bool:
    """Return True if ``path`` is made of ordinary names: no dots first, nothing that steers, valid UTF-8."""
    parts = path.split("/")
    return len(parts) <= _PARTS and all(map(_is_plain_part, parts))


def _is_plain_part(part: str) -> bool:
    return (
        bool(part)
        and not part.startswith(".")
        and part.isprintable()
        and "\\" not in part
        and len(part) < 200
        and len(part.encode("utf-8", "replace")) <= _PART_BYTES
    )


def _check(held: dict[str, Any]) -> None:
    """Raise ValueError, TypeError or AttributeError for what ``brain sync`` does not write."""
    for key, kind in _SHAPE.items():
        if not isinstance(held.get(key, kind()), kind):
            raise ValueError(f"{key} has another type")
    if (held.get("name") and not valid(held["name"])) or not all(map(valid, held.get("former") or ())):
        raise ValueError("it has a name that is no machine's")
    if not is_address(held.get("remote") or ""):
        raise ValueError("its remote is no address")
    for row in held.get("removed") or ():
        if [type(each) for each in row] != [str, str, str]:
            raise ValueError("removed has another shape")
    for name, machine in (held.get("machines") or {}).items():
        files = {**(machine.get("files") or {}), **(machine.get("coming") or {})}
        if not valid(name) or not all(map(is_plain, files)) or not all(map(_OID.fullmatch, files.values())):
            raise ValueError(f"machines has an entry that is no machine's: {name[:100]!r}")
        if not _OID.fullmatch(machine.get("commit") or ""):
            raise ValueError(f"the commit of {name} is none")
        lacking = machine.get("lacking") or {}
        if type(machine.get("heard", 0)) is not int or not all(type(count) is int for count in lacking.values()):
            raise ValueError(f"the entry of {name} has another shape")
