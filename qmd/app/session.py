"""One run of a command: its arguments, its output, its configuration and the index it opens when it needs it."""

from __future__ import annotations

import os
import time
from os.path import dirname

import apsw

from core import jsonb
from core.errors import BrainError, EngineMissing
from qmd import settings as places
from qmd.app.output import Exit, Output
from qmd.index import virtual
from qmd.index.store import damaged, open_index, translate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from qmd.app.arguments import Arguments
    from qmd.settings import Config, Settings

_BUSY_MS = 120_000
# Where the index keeps the configuration as it was last read, so that a search parses no YAML.
_CACHE = "config"


class Session:
    """The context of one command. ``index`` opens the database on first use; ``use_index`` may replace ``settings``."""

    __slots__ = ("_config", "_connection", "_writable", "arguments", "out", "settings")

    def __init__(self, arguments: Arguments, out: Output, settings: Settings) -> None:
        self.arguments = arguments
        self.out = out
        self.settings = settings
        if settings.brain is not None:
            out.guard()
        self._config: Config | None = None
        self._connection: apsw.Connection | None = None
        self._writable = False

    @property
    def config(self) -> Config:
        """The configuration, read from its file unless the index has it as it is. Raises BadInput."""
        if self._config is None:
            self._config = places.read(self.settings)
        return self._config

    @property
    def index(self) -> apsw.Connection:
        """The index, for reading at least; its collections are those of the configuration. Raises BrainError."""
        if self._connection is None:
            self._connection = self._open()
            self._bring_config()
        return self._connection

    @property
    def index_to_write(self) -> apsw.Connection:
        """The index, for writing. Raises BrainError."""
        if self._connection is None or not self._writable:
            self.close()
            self._connection = self._open(write=True)
            self._bring_config()
        return self._connection

    def close(self) -> None:
        """Close the index; the next use opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._writable = False

    def use_index(self, name: str) -> None:
        """Switch to a named index."""
        self.close()
        self._config = None
        self.settings = places.locate(name)

    def address(self, collection: str, path: str) -> str:
        """Return the ``qmd://`` address of a document; it names the index unless that is the default one."""
        index = self.settings.index
        return virtual.build(collection, path, "" if index == places.DEFAULT_INDEX else index)

    def changed(self) -> None:
        """Read the configuration again after its file was rewritten, and update the index's collections."""
        self._config = None
        if self._connection is not None:
            self._bring_config()

    def fail(self, *lines: str) -> Exit:
        """Print the lines on stderr and return an Exit with code 1: ``raise session.fail(…)``."""
        for line in lines:
            self.out.error(line)
        return Exit(1)

    def explain(self, error: apsw.Error) -> BrainError:
        """Return SQLite's failure as a BrainError."""
        return translate(error, self.settings.database)

    def damaged(self, error: Exception) -> BrainError | None:
        """Return an unexpected failure as damage of the index, None if the index is sound."""
        return damaged(error, self.settings.database)

    def _open(self, write: bool = False) -> apsw.Connection:
        path = self.settings.database
        wait = os.environ.get("QMD_SQLITE_BUSY_TIMEOUT", "")
        busy = int(wait) if wait.isascii() and wait.isdigit() else _BUSY_MS
        exists = os.path.exists(path)
        if exists and not write:
            try:
                return open_index(path, busy_ms=busy)
            except EngineMissing:
                # Another program or version wrote the index: our tables must be added first.
                write = True
        if not exists and dirname(path):
            os.makedirs(dirname(path), exist_ok=True)
        self._writable = True
        return open_index(path, write=True, busy_ms=busy)

    def _bring_config(self) -> None:
        connection = self._connection
        assert connection is not None
        stamp = places.stamp(self.settings.config_path)
        cached = self._cached(connection, stamp)
        if cached is not None:
            self._config = places.Config(cached)
            return
        checked = time.time_ns()
        self._config = places.read(self.settings)
        from qmd.index import collections

        portable = collections.portable(self._config)
        try:
            if not self._writable:
                connection.close()
                self._connection = connection = self._open(write=True)
            collections.sync(connection, self._config, self.settings)
            packed = jsonb.pack({"stamp": stamp, "checked": checked, "data": portable})
            connection.execute("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", (_CACHE, packed))
        except EngineMissing:
            # An index that cannot be written to still answers.
            self._connection = open_index(self.settings.database)
            self._writable = False

    def _cached(self, connection: apsw.Connection, stamp: list[str | int] | None) -> dict[str, Any] | None:
        """Return the configuration as the index has it, where that is surely the file's."""
        row = connection.execute("SELECT value FROM brain_state WHERE key = ?", (_CACHE,)).fetchone()
        if row is None or not isinstance(row[0], bytes):
            return None
        try:
            stored: Any = jsonb.unpack(row[0])
            if stored["stamp"] != stamp:
                return None
            # Two edits within one clock tick leave one stamp, so do not trust a stamp of the current tick.
            if stamp is not None and stored["checked"] - stamp[2] < _tick(stamp[2]):
                return None
            data: dict[str, Any] = stored["data"]
        except (ValueError, KeyError, TypeError, IndexError):
            return None
        return data


def _tick(mtime_ns: str | int) -> int:
    from qmd.index.schema import COARSE_TICK_NS, TICK_NS

    return COARSE_TICK_NS if int(mtime_ns) % 1_000_000_000 == 0 else TICK_NS
