"""``semantic-search.yml``: which folders of a project are searched; and where that project's index lies."""

from __future__ import annotations

import os
from os.path import abspath, dirname, expanduser, join
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from qmd.settings import Config

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "semantic-search.yml"
DATABASE = join(".search", "search.db")
_KEYS = ("path", "pattern", "ignore", "context", "includeByDefault")
_EXAMPLE = "collections:\n  notes: {path: kb/notes}"


class Project:
    """A project's search: ``root`` (the folder of its configuration), its collections, their paths absolute."""

    __slots__ = ("collections", "global_context", "path", "root")

    def __init__(self, path: str, config: Config) -> None:
        self.path = path
        self.root = dirname(path)
        self.collections = list(config.collections.values())
        self.global_context = config.global_context


def find(name: str, folder: str) -> str | None:
    """The nearest file or folder ``name`` at or above ``folder``, None where there is none."""
    folder = abspath(folder)
    while True:
        candidate = join(folder, name)
        if os.path.exists(candidate):
            return candidate
        if dirname(folder) == folder:
            return None
        folder = dirname(folder)


def locate(given: str | None, folder: str) -> str:
    """The configuration's absolute path: as given, else the nearest one. Raises BadInput where there is none."""
    if given:
        return abspath(expanduser(given))
    found = find(FILE, folder)
    if found is None:
        raise BadInput(f"there is no {FILE} here or in any folder above", f"write one:\n{_EXAMPLE}")
    return found


def database(given: str | None, config: str | None, folder: str) -> str:
    """The index's absolute path: as given, else beside ``config``, else the nearest that there is."""
    if given:
        return abspath(expanduser(given))
    if config:
        return join(dirname(config), DATABASE)
    beside = find(FILE, folder)
    return join(dirname(beside), DATABASE) if beside else find(DATABASE, folder) or join(abspath(folder), DATABASE)


def read(path: str) -> Project:
    """The project that a configuration describes. Raises BadInput, saying what is wrong with it."""
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
    project = Project(path, Config(data))
    for collection in project.collections:
        collection.path = os.path.normpath(join(project.root, expanduser(collection.path)))
        collection.update = ""  # nothing of a checked-in file is run
    return project


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
