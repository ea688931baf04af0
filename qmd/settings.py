"""The location of a qmd's configuration and index, and the configuration itself.

Locations: ``$QMD_CONFIG_DIR``, else ``$XDG_CONFIG_HOME/qmd``, else ``~/.config/qmd``; ``$INDEX_PATH``, else
``${XDG_CACHE_HOME:-~/.cache}/qmd/NAME.sqlite``; and before either a ``.qmd/`` folder at or above the working directory.
"""

from __future__ import annotations

import os
from os.path import abspath, dirname, exists, expanduser, isdir, islink, join, normpath, realpath, split

from core.errors import BadInput, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from core.home import Home

    # Called with the home and a JSON-like value of document text; returns the value that may be shown. It may raise
    # BrainError to withhold the value. It is a module's function, so that a background server can import it.
    Egress = Callable[[Home, Any], Any]
    # Called with an MCP result as JSON; returns the result for a model. It is a module's function, like Egress.
    Fence = Callable[[Any], Any]

DEFAULT_INDEX = "index"
DEFAULT_GLOB = "**/*.md"
LOCAL_FOLDER = ".qmd"
EDITOR_URI = "vscode://file/{path}:{line}:{col}"
# Variables that approve every project's configuration, and their values that do not.
_OVERRIDES = ("QMD_TRUST_LOCAL_CONFIG", "QMD_TRUST_UPDATE_HOOKS")
_NO = ("0", "false", "off", "no", "none")
_EDITOR_KEYS = ("editor_uri", "editor_uri_template", "editorUri", "editor-uri")


class Settings:
    """``config_path`` and ``database`` are absolute; ``index`` is the index's name; ``brain`` the home it belongs to.

    ``local`` is True if the configuration belongs to a project, in its ``.qmd/``. ``egress`` filters the text of a
    brain's documents before it is shown; ``fence`` quotes an MCP result before a model reads it.
    """

    __slots__ = ("brain", "cache_dir", "config_dir", "config_path", "database", "egress", "fence", "index")

    def __init__(
        self,
        config_path: str,
        database: str,
        index: str,
        config_dir: str,
        cache_dir: str,
        brain: Home | None = None,
        egress: Egress | None = None,
        fence: Fence | None = None,
    ) -> None:
        self.config_path = config_path
        self.database = database
        self.index = index
        self.config_dir = config_dir
        self.cache_dir = cache_dir
        self.brain = brain
        self.egress = egress
        self.fence = fence

    def outgoing(self, value: Any) -> Any:
        """Return ``value``, JSON-like text of documents, after the egress filter. Raises BrainError
        if it is withheld.
        """
        return value if self.egress is None or self.brain is None else self.egress(self.brain, value)

    @property
    def local(self) -> bool:
        return is_local(self.config_path)


class Collection:
    """A collection of the configuration; it has the attributes of ``qmd.index.update.Folder``."""

    __slots__ = ("context", "ignore", "include_by_default", "name", "path", "pattern", "update")

    def __init__(self, name: str, data: Mapping[str, Any]) -> None:
        self.name = name
        self.path = str(data.get("path") or "")
        self.pattern = str(data.get("pattern") or DEFAULT_GLOB)
        self.ignore = tuple(str(rule) for rule in data.get("ignore") or ())
        self.context = {str(prefix): str(text) for prefix, text in (data.get("context") or {}).items()}
        self.update = str(data.get("update") or "")
        self.include_by_default = data.get("includeByDefault") is not False


class Config:
    """The configuration of ``index.yml``, without keys that are not qmd's."""

    __slots__ = (
        "collections",
        "data",
        "editor_uri",
        "embedding",
        "generation",
        "global_context",
        "mcp_aliases",
        "models",
        "reranking",
    )

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        entries = data.get("collections") or {}
        self.collections = {
            str(name): Collection(str(name), entry if isinstance(entry, dict) else {})
            for name, entry in (entries.items() if isinstance(entries, dict) else ())
        }
        self.global_context = str(data.get("global_context") or "")
        self.mcp_aliases = data.get("mcp_aliases") is True
        given = data.get("models")
        models = given if isinstance(given, dict) else {}
        self.models = {slot: str(models[slot]) for slot in ("embed", "rerank", "generate") if models.get(slot)}
        self.embedding = _section(data, "embedding")
        self.generation = _section(data, "generation")
        self.reranking = _section(data, "rerank")
        editor = next((data[key] for key in _EDITOR_KEYS if isinstance(data.get(key), str) and data[key].strip()), "")
        self.editor_uri = str(editor).strip()

    @property
    def default_names(self) -> list[str]:
        """The collections of a search without ``-c``."""
        return [collection.name for collection in self.collections.values() if collection.include_by_default]


def _section(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    section = data.get(name)
    return section if isinstance(section, dict) else {}


def locate(index: str = "", environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings that the environment, the working directory and ``--index`` lead to.

    Raises Refused if a project's own index is a symlink.
    """
    env = os.environ if environ is None else environ
    config_dir = env.get("QMD_CONFIG_DIR") or (
        join(env["XDG_CONFIG_HOME"], "qmd") if env.get("XDG_CONFIG_HOME") else join(home(), ".config", "qmd")
    )
    cache_dir = join(env.get("XDG_CACHE_HOME") or join(home(), ".cache"), "qmd")
    name = index_name(index)
    if not index:
        local = find_local(os.getcwd())
        if local:
            database = join(dirname(local), "index.sqlite")
            if not opted_in():
                require_no_symlink(database, "remove it, or set QMD_TRUST_LOCAL_CONFIG=1 to follow it")
            return Settings(local, database, DEFAULT_INDEX, config_dir, cache_dir)
    database = env.get("INDEX_PATH") or join(cache_dir, f"{name}.sqlite")
    return Settings(join(config_dir, f"{name}.yml"), database, name, config_dir, cache_dir)


def of_brain(brain: Home, egress: Egress | None = None, fence: Fence | None = None) -> Settings:
    """Return the settings by which ``brain qmd --brain`` reads and writes a brain's own collections and index."""
    from core.config import locate as configuration

    return Settings(configuration(brain), brain.index, DEFAULT_INDEX, brain.root, brain.state, brain, egress, fence)


def index_name(given: str) -> str:
    """Return the name of an index: a path becomes its absolute form with ``_`` for each ``/``."""
    if "/" in given:
        return abspath(given).replace("/", "_").removeprefix("_")
    return given or DEFAULT_INDEX


def find_local(folder: str) -> str | None:
    """Return the nearest ``.qmd/index.yaml`` or ``.qmd/index.yml`` at or above ``folder``."""
    folder = abspath(folder)
    while True:
        for name in ("index.yaml", "index.yml"):
            path = join(folder, LOCAL_FOLDER, name)
            if exists(path):
                return path
        if dirname(folder) == folder:
            return None
        folder = dirname(folder)


def is_local(config_path: str) -> bool:
    """Return True if a configuration file lies in a ``.qmd`` folder."""
    return os.path.basename(dirname(abspath(config_path))) == LOCAL_FOLDER


def working_directory() -> str:
    """Return the working directory: ``$PWD``, which keeps the user's symlinks, else the resolved one."""
    return os.environ.get("PWD") or os.getcwd()


def read(settings: Settings) -> Config:
    """Return the configuration; an empty one where there is no file. Raises BadInput if it cannot be read."""
    if settings.brain is not None:
        return _of_brain(settings.brain)
    from qmd.config_file import load

    return Config(load(settings.config_path))


def folder(settings: Settings, path: str) -> str:
    """Return a collection's folder as an absolute path: ``~`` is the user's; else relative to the
    project, or to here.
    """
    if path == "~" or path.startswith("~/"):
        return normpath(join(home(), path[2:]))
    base = dirname(dirname(abspath(settings.config_path))) if settings.local else working_directory()
    return normpath(join(base, path))


def stamp(path: str) -> list[str | int] | None:
    """Return a file's path, size, mtime (ns) and inode, one of which changes with every edit; None if it is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [path, status.st_size, status.st_mtime_ns, status.st_ino]


def _of_brain(brain: Home) -> Config:
    from core import config

    loaded = config.load(brain)
    result = Config(loaded.data)
    for name, collection in loaded.collections.items():
        # The brain resolves paths against its home; qmd wants them absolute.
        result.collections[name].path = collection.path
    if not result.collections:
        raise BadInput(f"{loaded.path} names no collection", f"edit {loaded.path}")
    return result


def home() -> str:
    """Return the user's folder, $HOME first."""
    return os.environ.get("HOME") or expanduser("~")


def opted_in() -> bool:
    """Return True if the environment approves every project's configuration."""
    return any(
        value and value.strip().lower() not in _NO for value in (os.environ.get(name, "") for name in _OVERRIDES)
    )


def require_no_symlink(database: str, fix: str) -> None:
    """Raise Refused if a project's index, its folder or one of its companion files is a symlink.

    A checkout may hold a symlink to another index of the user, or to a file that SQLite would write to.
    """
    folder, name = split(database)
    found = [folder] if islink(folder) else []
    if not found and isdir(folder):
        found = [each.path for each in os.scandir(folder) if each.name.startswith(name) and each.is_symlink()]
    if found:
        raise Refused(f"{found[0]} is a symlink to {realpath(found[0])}, outside what a project's index may be", fix)
