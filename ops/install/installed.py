"""The record of installations outside the home, for status, the doctor and teardown.

``state/installed.json``: kind → path → details. The record cannot be derived: nothing else names the settings files
with our hooks.
"""

from __future__ import annotations

import json
from os.path import join
from shlex import quote
from types import NoneType

from core.errors import EngineMissing
from core.files import FileLock, read_or_none, write_atomic
from core.home import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KINDS = ("hooks", "skills", "files", "schedules", "completions")
# Details that are read: (kind, key) → type. A file is removed only if it still has the recorded hash.
_REQUIRED: dict[tuple[str, str], Any] = {
    ("skills", "sha256"): str,
    ("skills", "agents"): bool,
    ("files", "sha256"): str,
    ("files", "parts"): list,
    ("files", "undo"): list,
    ("files", "made"): bool,
    ("files", "folders"): list,
    ("completions", "sha256"): str,
}
_OPTIONAL: dict[tuple[str, str], Any] = {
    ("hooks", "events"): list,
    ("hooks", "folders"): list,
    ("skills", "users"): list,
    ("skills", "scope"): (list, NoneType),
}
_LISTS = ("events", "folders", "users")  # of texts


def read(home: Home) -> dict[str, dict[str, dict[str, Any]]]:
    """Kind → path → details. Raises EngineMissing if the record is damaged."""
    path = _path(home)
    try:
        data = read_or_none(path)
        found = {} if data is None else json.loads(data)
        record = {kind: dict(found.get(kind) or {}) for kind in KINDS}
        for kind, places in record.items():
            for place, details in places.items():
                _check(kind, place, details)
    except (IsADirectoryError, ValueError, AttributeError, TypeError, RecursionError) as error:
        fix = (
            f"mv {quote(path)} {quote(path)}.damaged; brain install --auto; then repeat what you had of"
            " `brain install AGENT`, `brain skills install`, `brain completion install` and `brain schedule install`."
            " The edited files' former bytes are lost: `brain uninstall` removes Brain's entries alone"
        )
        raise EngineMissing(f"{path} is damaged: {error}", fix) from error
    return record


def _check(kind: str, place: str, details: object) -> None:
    """Raise ValueError unless the details of one entry have the shape that the readers of the record rely on."""
    if not isinstance(details, dict):
        raise ValueError(f"the entry of {place} in {kind} has another shape")
    for (of, key), wanted in {**_REQUIRED, **_OPTIONAL}.items():
        is_absent = (of, key) in _OPTIONAL and key not in details
        if of == kind and not is_absent and not isinstance(details.get(key), wanted):
            raise ValueError(f"the entry of {place} in {kind} has no valid {key}")
    for key in _LISTS:
        if not all(isinstance(each, str) for each in details.get(key) or ()):
            raise ValueError(f"the entry of {place} in {kind} has no valid {key}")
    if kind != "files":
        return
    from ops.install.forms import from_record

    if not details["parts"]:
        raise ValueError(f"the entry of {place} in {kind} has no part")
    for part in details["parts"]:
        from_record(part)
    if len(details["undo"]) != 3 or not all(map(isinstance, details["undo"], (int, str, str))):
        raise ValueError(f"the entry of {place} in {kind} has no valid undo")


def add(home: Home, kind: str, path: str, details: Mapping[str, Any]) -> None:
    """Record an installation at ``path``, replacing its former record. Raises EngineMissing, OSError."""
    home.make()
    with FileLock(f"{_path(home)}.lock", 10):
        found = read(home)
        found[kind][path] = dict(details)
        _write(home, found)


def drop(home: Home, kind: str, path: str) -> None:
    """Remove the record of ``path``. Raises EngineMissing, OSError."""
    home.make()
    with FileLock(f"{_path(home)}.lock", 10):
        found = read(home)
        if found[kind].pop(path, None) is not None:
            _write(home, found)


def _path(home: Home) -> str:
    return join(home.state, "installed.json")


def _write(home: Home, found: dict[str, dict[str, dict[str, Any]]]) -> None:
    write_atomic(_path(home), json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True).encode())
