"""Configuration: ``collections.yml``, validated once and cached in a form that loads at once.

The file is read from the home, else from the installation (the shipped default). The cache lies in ``state/`` and is
keyed by the file's path, size, mtime and inode, so that the interactive path parses no YAML.
"""

from __future__ import annotations

import os
from os.path import abspath, expanduser, isabs, join

from core import jsonio
from core.errors import BadInput
from core.home import Home, shipped
from core.version import VERSION

FILE = "collections.yml"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The providers of vectors, and the model of each where none is named.
EMBEDDERS = {
    "local": "all-MiniLM-L6-v2",
    "openai": "text-embedding-3-small",
    "gemini": "gemini-embedding-001",
    "llm": "",
}


class Collection:
    """A folder of markdown that competes as one class of artifact.

    ``path`` is absolute; ``trust`` is what hits are labelled with; ``quota`` is the share (0–1] of a ``recent``
    listing that the collection may fill while others have something to show.
    """

    __slots__ = ("context", "ignore", "include_by_default", "name", "path", "pattern", "quota", "trust", "update")

    def __init__(self, name: str, data: dict[str, Any], home: Home) -> None:
        self.name = name
        path = expanduser(str(data.get("path") or name))
        if name == "inbox" and path == name:
            self.path = home.inbox
        else:
            self.path = path if isabs(path) else abspath(join(home.root, path))
        self.pattern: str = data.get("pattern") or "**/*.md"
        self.ignore: tuple[str, ...] = tuple(data.get("ignore") or ())
        self.context: dict[str, str] = dict(data.get("context") or {})
        self.include_by_default: bool = data.get("includeByDefault") is not False
        self.update: str = data.get("update") or ""
        self.trust: str = data.get("trust") or "note"
        self.quota: float = float(data.get("quota") or 0.5)


class Config:
    """The validated configuration. ``path`` is the file it came from; ``own``, in words, the one that a user edits."""

    __slots__ = ("collections", "data", "own", "path")

    def __init__(self, path: str, data: dict[str, Any], home: Home) -> None:
        self.path = path
        # What was shipped is everybody's, and the next version's.
        own = home.path(FILE)
        self.own = path if path == own else f"{own} (brain init --config --no-index writes it)"
        self.data = data
        self.collections: dict[str, Collection] = {
            name: Collection(name, entry or {}, home) for name, entry in data["collections"].items()
        }

    def section(self, name: str) -> dict[str, Any]:
        """A top-level mapping such as ``sources`` or ``ask``; empty where the file has none."""
        section: dict[str, Any] = self.data.get(name) or {}
        return section


def embedder(section: dict[str, Any], provider: str = "", model: str = "") -> tuple[str, str]:
    """(provider, model) that the section ``embedding`` names, or the ones given instead; neither is checked."""
    configured = str(section.get("provider") or "local")
    name = provider or configured
    if not model and name == configured:
        folder = str(section.get("path") or "").rstrip("/") if name == "local" else ""
        model = str(section.get("model") or folder.rpartition("/")[2])
    return name, model or EMBEDDERS.get(name, "")


def locate(home: Home) -> str:
    """The path of the configuration file in force."""
    own = home.path(FILE)
    return own if os.path.exists(own) else shipped(FILE)


# (key, data) of what was parsed last: a home that is not made yet has no place for the cache.
_parsed: tuple[list[str | int], dict[str, Any]] | None = None


def load(home: Home) -> Config:
    """The configuration in force. Raises BadInput, naming file and line, where it is not valid."""
    path = locate(home)
    key = _key(path)
    cache = join(home.state, "config.cache")
    try:
        with open(cache, "rb") as stream:
            stored = jsonio.loads(stream.read().decode())
        if isinstance(stored, dict) and stored.get("key") == key:
            return Config(path, stored["data"], home)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        stored = None  # no cache, or one of another version: made anew below
    global _parsed
    if _parsed is None or _parsed[0] != key:
        from core.config_yaml import parse

        _parsed = key, parse(path)
    data = dict(_parsed[1])
    if os.path.isdir(home.state):
        import contextlib

        from core.files import write_atomic

        with contextlib.suppress(OSError, ValueError):  # a read-only home still answers, as does one of odd bytes
            write_atomic(cache, jsonio.dumps({"key": key, "data": data}).encode())
    return Config(path, data, home)


def _key(path: str) -> list[str | int]:
    try:
        status = os.stat(path)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", f"check its permissions: ls -l {path}") from None
    return [VERSION, path, status.st_size, status.st_mtime_ns, status.st_ino]
