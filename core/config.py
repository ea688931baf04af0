"""Configuration: ``collections.yml``, validated once and cached in a form that loads at once.

The file is read from the home, else from the installation (the shipped default). The cache lies in ``state/`` and is
keyed by the file's path, size, mtime and inode, so that the interactive path parses no YAML.
"""

from __future__ import annotations

import os
from os.path import abspath, expanduser, isabs, join

from core import jsonio
from core.engine import NONE, POSTGRES, PRIVATE, VARIABLE, Engine, is_dsn, is_space
from core.errors import BadInput
from core.home import Home, shipped
from core.version import VERSION

FILE = "collections.yml"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Seconds that a question may take if neither the request nor the configuration names a limit.
TIMEOUT_S = 10.0
# The providers of vectors, and the default model of each.
EMBEDDERS = {
    "local": "all-MiniLM-L6-v2",
    "openai": "text-embedding-3-small",
    "gemini": "gemini-embedding-001",
    "llm": "",
}


# Keys of a collection, with the value of one that is not given.
_OF_COLLECTION: dict[str, Any] = {
    "pattern": "**/*.md", "ignore": (), "context": {}, "update": "", "trust": "note", "quota": 0.5, "share": ()
}  # fmt: skip


# Documents of other machines lie below this folder of a collection, each machine's in a folder of its name.
MACHINES = "machines"
# A machine of which nothing was heard for so many seconds is silent.
SILENT_S = 7 * 86_400
# The trust of a machine whose documents are shown, and never advise.
EVIDENCE = "evidence"


class Collection:
    """A folder of markdown that competes as one class of artifact.

    ``path`` is absolute; ``trust`` is what hits are labelled with; ``quota`` is the share (0–1] of a ``recent``
    listing that the collection may fill while others have something to show. ``share`` is who sees it besides its
    owner: nobody if it is empty, else ``team`` or names of members and groups.
    """

    __slots__ = ("include_by_default", "name", "path", *_OF_COLLECTION)

    if TYPE_CHECKING:
        pattern: str
        ignore: tuple[str, ...]
        context: Mapping[str, str]
        update: str
        trust: str
        quota: float
        share: tuple[str, ...]

    def __init__(self, name: str, data: dict[str, Any], home: Home) -> None:
        self.name = name
        path = expanduser(str(data.get("path") or name))
        if name == path == "inbox":
            path = home.inbox
        self.path = path if isabs(path) else abspath(join(home.root, path))
        for key, default in _OF_COLLECTION.items():
            setattr(self, key, data.get(key) or default)
        self.ignore = tuple(self.ignore)
        shared = (self.share,) if isinstance(self.share, str) else tuple(self.share)
        self.share = () if shared == (PRIVATE,) else shared
        self.include_by_default = data.get("includeByDefault") is not False


class Config:
    """The validated configuration.

    ``path`` is the file it was read from, for ``home``. The other attributes are what each question needs: ``asked``,
    the collections that are asked without being named; ``timeout_s``; ``serve`` (``auto``, ``on-demand`` or ``off``);
    ``reranks``; ``keeps_questions`` (in telemetry); ``sources``, the section of that name; ``space``, the
    ``provider/model`` of the vectors; ``limited``, the machines whose documents are evidence only; ``engine``, the
    team's store, None without one.
    """

    def __init__(self, path: str, data: dict[str, Any], home: Home) -> None:
        self.path, self.data, self.home = path, data, home
        self.collections = {name: Collection(name, entry or {}, home) for name, entry in data["collections"].items()}
        self.asked = [name for name, each in self.collections.items() if each.include_by_default]
        ask = self.section("ask")
        self.timeout_s = float(ask.get("timeout_s") or TIMEOUT_S)
        self.serve, self.reranks = str(ask.get("serve") or "auto"), ask.get("rerank") is True
        self.keeps_questions = self.section("telemetry").get("query_text") is True
        self.sources = self.section("sources")
        self.space = "/".join(embedder(self.section("embedding")))
        self.engine = engine(self.section("engine"))
        trust = self.section("sync").get("trust") or {}
        self.limited = [name for name, kind in trust.items() if kind == EVIDENCE]

    @property
    def own(self) -> str:
        """The file that a user edits, in words. The shipped one is none: the next version replaces it."""
        own = self.home.path(FILE)
        return own if self.path == own else f"{own} (brain init --config --no-index writes it)"

    def trust_of(self, collection: str, path: str) -> str:
        """Return what a document is labelled with: its collection's trust, or ``evidence`` if its machine's is that."""
        if self.limited and machine_of(path) in self.limited:
            return EVIDENCE
        folder = self.collections.get(collection)
        return folder.trust if folder else "note"

    def trusting(self, trust: str) -> tuple[str, ...]:
        """Return the names of the collections whose documents are labelled ``trust``."""
        return tuple(name for name, folder in self.collections.items() if folder.trust == trust)

    def section(self, name: str) -> dict[str, Any]:
        """Return a top-level mapping such as ``sources``; empty if the file has none."""
        return self.data.get(name) or {}


def machine_of(path: str) -> str:
    """Return the machine that a document came from, by its path below its collection; "" for this machine."""
    folder, found, below = path.partition("/")
    return below.partition("/")[0] if found and folder == MACHINES else ""


def engine(section: dict[str, Any]) -> Engine | None:
    """Return the team's store that ``BRAIN_ENGINE`` (``DSN#SPACE``) names, else the section ``engine``; None for none.

    Raises BadInput if the variable is not valid.
    """
    given, evidence = os.environ.get(VARIABLE), tuple(section.get("evidence") or ())
    if given is not None:
        if given in NONE:
            return None
        dsn, _, space = given.rpartition("#")
        if not is_dsn(dsn) or not is_space(space):
            raise BadInput(
                f"{VARIABLE} does not name an engine, or has a password in it",
                f"export {VARIABLE}=postgresql://NAME@HOST/DATABASE#SPACE; passwords: ~/.pgpass or the keyring",
            )
        return Engine(POSTGRES, dsn, space, evidence)
    if not section.get("dsn"):
        return None
    return Engine(str(section.get("kind") or POSTGRES), str(section["dsn"]), str(section["space"]), evidence)


def embedder(section: dict[str, Any], provider: str = "", model: str = "") -> tuple[str, str]:
    """Return (provider, model) of the section ``embedding``, or those that are given instead; neither is checked."""
    configured = str(section.get("provider") or "local")
    name = provider or configured
    if not model and name == configured:
        folder = str(section.get("path") or "").rstrip("/") if name == "local" else ""
        model = str(section.get("model") or folder.rpartition("/")[2])
    return name, model or EMBEDDERS.get(name, "")


def locate(home: Home) -> str:
    """Return the path of the configuration file in force."""
    own = home.path(FILE)
    return own if os.path.exists(own) else shipped(FILE)


# (key, data) of the last file that was parsed: before the home is made there is no place for the cache.
_parsed: tuple[list[str | int], dict[str, Any]] | None = None


def load(home: Home) -> Config:
    """Return the configuration in force. Raises BadInput, naming file and line, if it is not valid."""
    path = locate(home)
    key = _key(path)
    cache = join(home.state, "config.cache")
    try:
        with open(cache, "rb") as stream:
            stored = jsonio.loads(stream.read().decode())
        if isinstance(stored, dict) and stored.get("key") == key:
            return Config(path, stored["data"], home)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        stored = None  # no cache, or one of another version: the file is parsed below
    global _parsed
    if _parsed is None or _parsed[0] != key:
        from core.config_yaml import parse

        _parsed = key, parse(path)
    remember(home)
    return Config(path, dict(_parsed[1]), home)


def remember(home: Home) -> None:
    """Write the cache of the file that this process parsed, if any, once the home has a place for the cache."""
    if _parsed is None or _parsed[0] != _key(locate(home)) or not os.path.isdir(home.state):
        return
    import contextlib

    from core.files import write_atomic

    key, data = _parsed
    with contextlib.suppress(OSError, ValueError):  # a read-only home still answers, as does one of odd bytes
        write_atomic(join(home.state, "config.cache"), jsonio.dumps({"key": key, "data": data}).encode())


def _key(path: str) -> list[str | int]:
    try:
        status = os.stat(path)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", f"check its permissions: ls -l {path}") from None
    return [VERSION, path, status.st_size, status.st_mtime_ns, status.st_ino]
