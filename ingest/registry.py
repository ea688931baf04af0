"""The sources of this installation: Brain's own, and those that other distributions add.

A source is registered by an entry point of the group ``brain.sources``, which names a ``ingest.source.Source``. Brain's
own are registered by the same names in pyproject.toml; ``BUILTIN`` repeats them because reading entry points takes
40 ms, which a hook and a question do not have. A test holds the two together.
"""

from __future__ import annotations

import os
import sys
from os.path import join

from core import jsonb
from core.version import VERSION
from ingest import roots
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from core.config import Config
    from core.home import Home

GROUP = "brain.sources"
# In the order in which sources run; those on request last.
BUILTIN = {
    "claude": "ingest.sources.claude.source",
    "codex": "ingest.sources.codex.source",
    "pi": "ingest.sources.pi.source",
    "gemini": "ingest.sources.gemini.source",
    "cursor": "ingest.sources.cursor.source",
    "opencode": "ingest.sources.opencode.source",
    "copilot": "ingest.sources.copilot.source",
    "amp": "ingest.sources.amp.source",
    "shell": "ingest.sources.shell.source",
    "openclaw": "ingest.sources.openclaw.source",
    "chrome": "ingest.sources.chrome.source",
    "code": "ingest.sources.code.source",
    "git": "ingest.sources.git.source",
}
# Brain's own that are read only when they are named.
ON_REQUEST = ("chrome", "code", "git")
# The sources of other distributions, once they were looked for. (``functools.cache`` is too dear to import here.)
_found: list[dict[str, Source]] = []


def _plugins() -> dict[str, Source]:
    """Return the sources of other distributions by name. One that cannot be loaded is left out with a warning."""
    if _found:
        return _found[0]
    from importlib.metadata import entry_points
    from warnings import warn

    found: dict[str, Source] = {}
    for entry in entry_points(group=GROUP):
        if entry.name in BUILTIN:
            continue
        try:
            made = entry.load()
        except Exception as error:  # noqa: BLE001  # a stranger's module may raise anything
            warn(f"the source {entry.name!r} cannot be loaded: {error}", stacklevel=2)
            continue
        if isinstance(made, Source) and made.name == entry.name:
            found[made.name] = made
        else:
            warn(f"the source {entry.name!r} is no ingest.source.Source of that name", stacklevel=2)
    _found.append(found)
    return found


def names() -> tuple[str, ...]:
    """Return the names of all sources in the order in which they run; those on request last."""
    plugins = _plugins()
    return (
        *(name for name in BUILTIN if name not in ON_REQUEST),
        *(name for name, each in plugins.items() if not each.on_request),
        *ON_REQUEST,
        *(name for name, each in plugins.items() if each.on_request),
    )


def is_on_request(name: str) -> bool:
    """Return True if a source is read only when it is named."""
    return name in ON_REQUEST or (name not in BUILTIN and (found := find(name)) is not None and found.on_request)


def find(name: str) -> Source | None:
    """Return a source, None if there is none of that name."""
    if name in BUILTIN:
        found: Source = __import__(BUILTIN[name], fromlist=["SOURCE"]).SOURCE  # importlib would cost more than it loads
        return found
    return _plugins().get(name)


def source(name: str) -> Source:
    """Return a source. Raises BadInput if there is none of that name."""
    found = find(name)
    if found is not None:
        return found
    from core.errors import BadInput

    raise BadInput(f"unknown source {name!r}", f"sources of this version: {', '.join(names())}")


def collecting() -> Iterator[Source]:
    """Yield the sources that run unless others are named."""
    return (source(name) for name in names() if not is_on_request(name))


def every_root(home: Home, config: Config | None, environ: Mapping[str, str] | None = None) -> dict[str, list[str]]:
    """Return the existing roots of each source that has any and needs not be named.

    ``config``: its ``sources.<name>.roots`` are added. The tables are those of the last index run. Before the first run
    of this version, only Brain's own sources are known: a question does not look for others.
    """
    env = os.environ if environ is None else environ
    found = roots.places(home, config, env)
    if found is not None:
        return found
    noted = roots.noted(home)
    own = (
        [name for name in BUILTIN if name not in ON_REQUEST] if noted is None else [name for name, _ in noted["tables"]]
    )
    return _there({name: source(name).places(env) for name in own}, config)


def _there(places: Mapping[str, list[str]], config: Config | None) -> dict[str, list[str]]:
    found = {name: roots.existing([*own, *roots.added(config, name)]) for name, own in places.items()}
    return {name: there for name, there in found.items() if there}


def note_roots(home: Home) -> None:
    """Write the tables of roots for ``every_root``, if what is installed has changed. Raises OSError."""
    from core.files import write_atomic

    installed = _installed()
    held = roots.noted(home)
    if held is not None and held.get("installed") == installed:
        return
    tables = {each.name: each.roots if type(each).places is Source.places else None for each in collecting()}
    kept = {"version": VERSION, "installed": installed, "tables": [[name, rows] for name, rows in tables.items()]}
    write_atomic(join(home.state, roots.FILE), jsonb.pack(kept), sync=False)


def _installed() -> list[list[Any]]:
    """Return when distributions were last added to or removed from each folder of the import path."""
    folders = [folder for folder in sys.path if folder.endswith("-packages") and os.path.isdir(folder)]
    return [[folder, os.stat(folder).st_mtime_ns] for folder in folders]


def present(home: Home) -> tuple[str, ...]:
    """Return the sources that have files here and need not be named, and Claude Code, which is always looked for."""
    config, held = settled(home), roots.noted(home)
    if held is not None and held.get("installed") == _installed():
        there = every_root(home, config)
    else:
        there = _there({each.name: each.places() for each in collecting()}, config)
    return tuple(dict.fromkeys(("claude", *there)))


def settled(home: Home) -> Config | None:
    """Return the configuration, None if it is not valid: the commands that need it report that."""
    from core.config import load
    from core.errors import BadInput

    try:
        return load(home)
    except BadInput:
        return None
