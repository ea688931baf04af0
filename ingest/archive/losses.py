"""What the archive has lost for good, as its person has said: ``state/accepted-losses.json``, names of objects alone.

A loss that is known is no alarm any more, so that the next one is heard; it stays in the catalogue, and is said.
"""

from __future__ import annotations

import json
from os.path import join
from typing import TYPE_CHECKING

from core import clock
from core.files import read_or_none, write_atomic
from core.locks import FileLock

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from core.home import Home

FILE = "accepted-losses.json"
_WAIT_S = 10.0


def accepted(home: Home) -> dict[str, str]:
    """Object → when its loss was accepted, ISO 8601; empty where the file cannot be read: that is to be heard."""
    try:
        said = json.loads(read_or_none(join(home.state, FILE)) or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    held = said.get("objects") if isinstance(said, dict) else None
    return {str(name): str(at) for name, at in held.items()} if isinstance(held, dict) else {}


def accept(home: Home, names: Iterable[str]) -> int:
    """Accept the loss of these objects, which are all that is lost by now; returns how many were not accepted before.

    Raises OSError, LockContention.
    """
    with FileLock(join(home.state, "accepted-losses.lock"), _WAIT_S):
        before, now = accepted(home), clock.iso(clock.now())
        after = {name: before.get(name, now) for name in sorted(set(names))}
        if after != before:
            _write(home, after)
    return len(after.keys() - before.keys())


def found(home: Home, names: Collection[str]) -> None:
    """Accept no loss of objects that are there again: their next one is to be heard. Raises as ``accept``."""
    _only(home, lambda name: name not in names)


def keep(home: Home, named: Collection[str]) -> None:
    """Know nothing of objects but of those ``named`` in the catalogue, or there: the rest was forgotten.

    Raises as ``accept``.
    """
    _only(home, lambda name: name in named)


def _only(home: Home, stays: Callable[[str], bool]) -> None:
    if not all(map(stays, accepted(home))):
        with FileLock(join(home.state, "accepted-losses.lock"), _WAIT_S):
            _write(home, {name: at for name, at in accepted(home).items() if stays(name)})


def _write(home: Home, objects: dict[str, str]) -> None:
    write_atomic(join(home.state, FILE), json.dumps({"schema": 1, "objects": objects}, indent=0).encode())
