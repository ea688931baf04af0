"""The record of installations outside the home, for status, the doctor and teardown.

``state/installed.json``: kind → path → details. The record cannot be derived: nothing else names the settings files
with our hooks.
"""

from __future__ import annotations

import json
from os.path import join

from core.errors import Internal
from core.files import FileLock, read_or_none, write_atomic
from core.home import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KINDS = ("hooks", "skills", "files", "schedules", "completions")
# Details that are read: (kind, key) → type. A file is removed only if it still has the recorded hash.
_TYPES = {
    ("hooks", "events"): list,
    ("skills", "sha256"): str,
    ("files", "sha256"): str,
    ("completions", "sha256"): str,
}
_REQUIRED = "sha256"


def read(home: Home) -> dict[str, dict[str, dict[str, Any]]]:
    """Kind → path → details. Raises Internal if the record is damaged."""
    path = _path(home)
    data = read_or_none(path)
    if data is None:
        return {kind: {} for kind in KINDS}
    try:
        found = json.loads(data)
        record = {kind: dict(found.get(kind) or {}) for kind in KINDS}
        for (kind, key), wanted in _TYPES.items():
            for place, details in record[kind].items():
                if not isinstance(details.get(key, None if key == _REQUIRED else wanted()), wanted):
                    raise ValueError(f"the entry of {place} in {kind} has no valid {key}")
        if not all(isinstance(details, dict) for places in record.values() for details in places.values()):
            raise ValueError("an entry has another shape")
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise Internal(f"{path} is damaged: {error}", f"mv {path} {path}.damaged; then install again") from error
    return record


def add(home: Home, kind: str, path: str, details: Mapping[str, Any]) -> None:
    """Record an installation at ``path``, replacing its former record. Raises Internal, OSError."""
    home.make()
    with FileLock(f"{_path(home)}.lock", 10):
        found = read(home)
        found[kind][path] = dict(details)
        _write(home, found)


def drop(home: Home, kind: str, path: str) -> None:
    """Remove the record of ``path``. Raises Internal, OSError."""
    home.make()
    with FileLock(f"{_path(home)}.lock", 10):
        found = read(home)
        if found[kind].pop(path, None) is not None:
            _write(home, found)


def _path(home: Home) -> str:
    return join(home.state, "installed.json")


def _write(home: Home, found: dict[str, dict[str, dict[str, Any]]]) -> None:
    write_atomic(_path(home), json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True).encode())
