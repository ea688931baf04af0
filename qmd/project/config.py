"""``semantic-search.yml``: which folders of a project are searched; and where that project's index lies."""

from __future__ import annotations

import json
import os
from os.path import abspath, dirname, expanduser, join, realpath
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from core.files import read_or_none, write_atomic
from core.home import make_private
from qmd.settings import Config, require_no_symlink

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qmd.settings import Collection

FILE = "semantic-search.yml"
DATABASE = join(".search", "search.db")
_KEYS = ("path", "pattern", "ignore", "context", "includeByDefault")
_EXAMPLE = "collections:\n  notes: {path: kb/notes}"


class Project:
    """A project's search: ``root`` (the folder of its configuration), its collections, their paths absolute.

    ``outside`` are collections that lie outside the project and that the user has not approved: a checkout must not
    choose which of the user's other files are indexed.
    """

    __slots__ = ("collections", "global_context", "outside", "path", "root")

    def __init__(self, path: str, config: Config) -> None:
        self.path = path
        self.root = dirname(path)
        self.global_context = config.global_context
        self.collections: list[Collection] = []
        self.outside: list[Collection] = []
        approved = _approved().get(path, ())
        for each in config.collections.values():
            each.path = os.path.normpath(join(self.root, expanduser(each.path)))
            each.update = ""  # no command of a checked-in file is run
            trusted = self._is_inside(each.path) or realpath(each.path) in approved
            (self.collections if trusted else self.outside).append(each)

    def approve(self) -> None:
        """Record that the collections that lie outside may be indexed; another path of theirs is asked for again."""
        outside = [realpath(each.path) for each in (*self.collections, *self.outside) if not self._is_inside(each.path)]
        make_private(dirname(_record()))
        write_atomic(_record(), json.dumps({**_approved(), self.path: outside}, indent=1).encode())
        self.collections += self.outside
        self.outside = []

    def _is_inside(self, path: str) -> bool:
        return join(realpath(path), "").startswith(join(realpath(self.root), ""))


def find(name: str, folder: str) -> str | None:
    """Return the nearest file or folder ``name`` at or above ``folder``, None if there is none."""
    folder = abspath(folder)
    while True:
        candidate = join(folder, name)
        if os.path.exists(candidate):
            return candidate
        if dirname(folder) == folder:
            return None
        folder = dirname(folder)


def locate(given: str | None, folder: str) -> str:
    """Return the configuration's absolute path: as given, else the nearest one. Raises BadInput if there is none."""
    if given:
        return abspath(expanduser(given))
    found = find(FILE, folder)
    if found is None:
        raise BadInput(f"there is no {FILE} here or in any folder above", f"write one:\n{_EXAMPLE}")
    return found


def database(given: str | None, config: str | None, folder: str) -> str:
    """Return the index's absolute path: as given, else next to ``config``, else the nearest index.

    Raises Refused if that is a symlink which nobody named.
    """
    if given:
        return abspath(expanduser(given))
    near = config or find(FILE, folder)
    found = join(dirname(near), DATABASE) if near else find(DATABASE, folder) or join(abspath(folder), DATABASE)
    require_no_symlink(found, "remove it, or name the index: --database FILE")
    return found


def read(path: str) -> Project:
    """Return the project that a configuration describes. Raises BadInput, saying what is wrong with it."""
    from qmd.config_file import load

    if not os.path.isfile(path):
        raise BadInput(f"there is no configuration at {path}", f"write one:\n{_EXAMPLE}")
    data = load(path)
    entries = data.get("collections")
    if not isinstance(entries, dict) or not entries:
        raise BadInput(
            f"{path}: `collections:` must name at least one collection", f"edit {path}, such as:\n{_EXAMPLE}"
        )
    for name, entry in entries.items():
        _check(path, name, entry)
    return Project(path, Config(data))


def _record() -> str:
    return join(os.environ.get("XDG_CONFIG_HOME") or expanduser("~/.config"), "commonplace", "trusted.json")


def _approved() -> dict[str, list[str]]:
    """Return the folders outside their projects that the user has approved, by configuration."""
    try:
        found = json.loads(read_or_none(_record()) or b"{}")
    except ValueError:
        return {}  # nothing is approved; the next approval replaces the file
    return found if isinstance(found, dict) else {}


def _check(path: str, name: str, entry: Any) -> None:
    if not name or "/" in name or not name.isprintable():
        raise BadInput(f"{path}: a collection cannot be named {name!r}", f"edit {path}")
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str) or not entry["path"]:
        raise BadInput(f"{path}: collection {name!r} has no path", f"edit {path}, such as:\n{_EXAMPLE}")
    kinds: Mapping[str, type] = {"pattern": str, "ignore": list, "context": dict, "includeByDefault": bool}
    for key, value in entry.items():
        kind = kinds.get(key)
        if key not in _KEYS or (kind is not None and not isinstance(value, kind)):
            raise BadInput(f"{path}: collection {name!r}: {key} is not understood", f"known: {', '.join(_KEYS)}")
