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
    from typing import Any

    from core.config import Config
    from core.home import Home
    from ingest.collector import Collector
    from ingest.source import Environ, Settings

GROUP = "brain.sources"
# Brain's own that are read only when they are named.
ON_REQUEST = ("chrome", "code", "git", "chatgpt", "claudeai", "bookmarks", "mail", "calendar")
# Brain's own, in the order in which sources run; those on request last.
BUILTIN = (*roots.ROOTS, *ON_REQUEST)
# Brain's own that no run reads, because a person adds their documents: ``source`` of a document → package.
ADDED = {"article": "articles"}
# The source that every run looks for. A folder that is given without a source has its files.
DEFAULT = BUILTIN[0]
_HOW = "docs/adding-a-source.md"
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
            warn(f"the source {entry.name!r} cannot be loaded: {error} ({_HOW})", stacklevel=2)
            continue
        if isinstance(made, Source) and made.name == entry.name:
            found[made.name] = made
        else:
            warn(f"the source {entry.name!r} is no ingest.source.Source of that name ({_HOW})", stacklevel=2)
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
        module = __import__(f"ingest.sources.{name}.source", fromlist=["SOURCE"])  # importlib costs more than it loads
        found: Source = module.SOURCE
        return found
    return _plugins().get(name)


def maker(name: str) -> Source:
    """Return the source that makes documents of this ``source``; one with every default if there is none."""
    if name in ADDED:
        module = __import__(f"ingest.sources.{ADDED[name]}.source", fromlist=["SOURCE"])
        added: Source = module.SOURCE
        return added
    return find(name) or Source()


def package(name: str) -> str:
    """Return the package to upgrade for a newer parser of a source: ``brain``, or ``the package NAME`` of a plugin."""
    if name in BUILTIN:
        return "brain"
    from importlib.metadata import entry_points

    found = (entry.dist.name for entry in entry_points(group=GROUP, name=name) if entry.dist is not None)
    return f"the package {next(found, f'of {name}')}"


def collectors() -> list[Collector]:
    """Return the sources that make documents of something else than sessions."""
    from ingest.collector import Collector

    found = (source(name) for name in names() if is_on_request(name))
    return [each for each in found if isinstance(each, Collector)]


def is_history(name: str, path: str) -> bool:
    """Return True if a raw file of a source is a history of prompts; the source may no longer be installed."""
    found = find(name)
    return found is not None and found.is_history(path)


def source(name: str) -> Source:
    """Return a source. Raises BadInput if there is none of that name."""
    found = find(name)
    if found is not None:
        return found
    from core.errors import BadInput

    raise BadInput(f"unknown source {name!r}", f"sources of this version: {', '.join(names())}")


def every_root(home: Home, config: Config | None, environ: Environ | None = None) -> dict[str, list[str]]:
    """Return the existing roots of each source that has any and needs not be named.

    ``config``: its ``sources.<name>.roots`` are added. Other distributions' sources are those of the last index run: a
    question does not look for others.
    """
    env = os.environ if environ is None else environ
    found = roots.places(home, config, env)
    if found is not None:
        return found
    held = roots.noted(home)
    names = [*roots.ROOTS, *(name for name, _ in held["tables"])] if held is not None else [*roots.ROOTS]
    return roots.there({name: source(name).places(env) for name in names}, {} if config is None else config.sources)


def present(home: Home, config: Config | None = None) -> tuple[str, ...]:
    """Return the sources that have files here and need not be named, and the default one."""
    config = config or settled(home)
    if _is_noted(home):
        there = every_root(home, config)
    else:
        own = {name: roots.expand(rows, os.environ) for name, rows in roots.ROOTS.items()}
        plugins = {name: each.places() for name, each in _plugins().items() if not each.on_request}
        there = roots.there({**own, **plugins}, {} if config is None else config.sources)
    return tuple(dict.fromkeys((DEFAULT, *there)))


def note_roots(home: Home) -> None:
    """Write what other distributions' sources declare, if what is installed has changed. Raises OSError."""
    if _is_noted(home):
        return
    from core.files import write_atomic

    plugins = [each for each in _plugins().values() if not each.on_request]
    # A source that overrides ``places`` is asked each time.
    tables = [[each.name, each.roots if type(each).places is Source.places else None] for each in plugins]
    resumes = [[name, *each.resume] for name, each in _plugins().items()]
    kept = {"version": VERSION, "installed": _installed(), "tables": tables, "resumes": resumes}
    write_atomic(join(home.state, roots.FILE), jsonb.pack(kept), sync=False)


def _is_noted(home: Home) -> bool:
    """Return True if what the last run noted is of the distributions that are installed now."""
    held = roots.noted(home)
    return held is not None and held.get("installed") == _installed()


def _installed() -> list[list[Any]]:
    """Return when distributions were last added to or removed from each folder of the import path."""
    folders = [folder for folder in sys.path if folder.endswith("-packages") and os.path.isdir(folder)]
    return [[folder, os.stat(folder).st_mtime_ns] for folder in folders]


def settings(home: Home) -> Settings:
    """Return collections.yml as plain data, empty if it is not valid: the commands that need it report that."""
    config = settled(home)
    return {} if config is None else config.data


def settled(home: Home) -> Config | None:
    """Return the configuration, None if it is not valid: the commands that need it report that."""
    from core.config import load
    from core.errors import BadInput

    try:
        return load(home)
    except BadInput:
        return None
