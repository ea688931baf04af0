"""Tables of roots: the folders in which tools keep their files, as data that a question reads without the tools' code.

``ingest.registry`` writes the tables of all sources to ``state/roots`` when an index run ends.
"""

from __future__ import annotations

import os
from os.path import abspath, exists, expanduser, join

from core import jsonb
from core.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from core.config import Config
    from core.home import Home

# One row of a table. The variable of the environment that moves the folder ("" for none; a comma at its end: it may
# name several folders, separated by commas or the path separator). The folder, or several separated by commas, "" for
# none but the variable's. The places below the folder: a star stands for anything within one name; of places separated
# by "|" the first that exists counts, else the first; "file#key" is the folder that a key of a JSON file names.
Root = tuple[str, str, tuple[str, ...]]

# ``state/roots``.
FILE = "roots"
_MOST_SETTINGS = 1_000_000


def expand(rows: Iterable[Sequence[Any]], environ: Mapping[str, str]) -> list[str]:
    """Return the paths that a table of roots names in an environment, whether or not they exist."""
    found: list[str] = []
    for variable, folder, below in rows:
        given = environ.get(variable.rstrip(",")) or folder
        for base in _folders(given) if "," in variable else (given,):
            if base:
                base = abspath(expanduser(base))
                found += [path for part in below for path in _below(base, part)] if below else (base,)
    return found


def existing(paths: Iterable[str]) -> list[str]:
    """Return the paths that exist, each once."""
    return [path for path in dict.fromkeys(paths) if exists(path)]


def added(config: Config | None, name: str) -> list[str]:
    """Return the folders that collections.yml adds to a source's own."""
    section = config.sources.get(name) if config is not None else None
    return [abspath(expanduser(str(root))) for root in section.get("roots") or ()] if section else []


def places(home: Home, config: Config | None, environ: Mapping[str, str]) -> dict[str, list[str]] | None:
    """Return the existing roots of each source that has any, by the noted tables.

    None if nothing is noted, or if a source finds its places by code of its own.
    """
    held = noted(home)
    if held is None or any(rows is None for _, rows in held["tables"]):
        return None
    found = {name: existing([*expand(rows, environ), *added(config, name)]) for name, rows in held["tables"]}
    return {name: there for name, there in found.items() if there}


def noted(home: Home) -> dict[str, Any] | None:
    """Return what the registry wrote to ``state/roots``, None if nothing of this version can be read."""
    try:
        with open(join(home.state, FILE), "rb") as stream:
            held = jsonb.unpack(stream.read())
    except (OSError, ValueError):
        return None
    if not isinstance(held, dict) or held.get("version") != VERSION or not isinstance(held.get("tables"), list):
        return None
    return held


def _folders(given: str) -> list[str]:
    """Return the folders that a list names; a path that exists is one folder, whatever is in its name."""
    if exists(expanduser(given.strip())):
        return [given.strip()]
    return [part.strip() for part in given.replace(os.pathsep, ",").split(",")]


def _below(base: str, part: str) -> Sequence[str]:
    """Return the paths that one place of a row names below a folder."""
    if "*" in part:
        return _starred(base, part)
    if "#" in part:
        return _named_by_settings(base, *part.split("#"))
    choices = [join(base, each) for each in part.split("|")]
    return (next(filter(exists, choices), choices[0]),)


def _starred(base: str, part: str) -> list[str]:
    """Return the paths that ``part`` names below a folder, with every expansion of its stars."""
    found = [base]
    for piece in part.split("/"):
        begins, star, ends = piece.partition("*")
        if star:
            found = [join(each, name) for each in found for name in _names(each, begins, ends)]
        else:
            found = [join(each, piece) for each in found]
    return found


def _names(folder: str, begins: str, ends: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if name.startswith(begins) and name[len(begins) :].endswith(ends)]


def _named_by_settings(base: str, file: str, key: str) -> list[str]:
    """Return the folder that a tool's settings name, relative to ``base``; a folder that holds the user's is left out.

    Settings that cannot be read name none.
    """
    path = join(base, file)
    if not exists(path):
        return []
    import json

    try:
        with open(path, "rb") as stream:
            named = json.loads(stream.read(_MOST_SETTINGS)).get(key)
    except (OSError, ValueError, AttributeError, RecursionError):
        return []
    if type(named) is not str or not named or "\0" in named:
        return []
    folder = abspath(join(base, expanduser(named)))
    return [] if join(expanduser("~"), "").startswith(join(folder, "")) else [folder]
