"""The index of the server, opened for each call, so that changes of other processes are visible.

Calls run in worker threads, a few at a time, each with a deadline; ``interrupt`` ends those that run.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from os.path import dirname
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
import apsw

from core.errors import BrainError, EngineMissing
from core.home import make_private
from core.sqlite import connect
from qmd import settings, trust
from qmd.index import collections, schema, store
from qmd.mcp.server import Workers
from qmd.vectors import models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qmd.generation.expansion import Expander
    from qmd.reranking.judge import Judge
    from qmd.settings import Settings

_Answer = TypeVar("_Answer")

SECONDS = 30.0


class NoIndex(BrainError):
    """There is no index yet. Clients see an index without documents."""

    code = EngineMissing.code
    error = EngineMissing.error


class Library:
    """The documents of one index. A call may take ``seconds``.

    ``aliases`` is True if the fork's tool names are served, too; the configuration may ask for that.
    """

    def __init__(self, places: Settings, *, seconds: float = SECONDS, aliases: bool = False) -> None:
        self.settings = places
        self.seconds = seconds
        self._asked_aliases = self.aliases = aliases
        self._models = models.resolve({}, os.environ)
        # Sections of the configuration; empty while a project's configuration is not approved, as it would choose where
        # questions are sent.
        self.embedding: dict[str, Any] = {}
        self._generation: tuple[dict[str, Any], dict[str, str]] = ({}, {})
        self._reranking: tuple[dict[str, Any], dict[str, str]] = ({}, {})
        self._stamp: list[str | int] | None = None
        self._running: set[apsw.Connection] = set()
        self._lock = threading.Lock()
        self._config_lock = threading.Lock()
        self.closed = False
        self._workers = Workers()

    @property
    def embedding_model(self) -> str:
        """The URI of the embedding model in force."""
        return self._models["embed"]

    async def ask(self, question: Callable[[apsw.Connection], _Answer]) -> _Answer:
        """Call ``question`` with an open index in a worker thread and return its result.

        Raises NoIndex if there is none yet, EngineTimeout past the deadline, other BrainErrors for its state.
        """
        return await self._workers.run(self.answer, question)

    def judge(self, connection: apsw.Connection) -> Judge | None:
        """Return the reranker, None if none is configured; the caller closes it. Raises BrainError for bad settings."""
        from qmd.reranking.judge import opened
        from qmd.reranking.reranker import QMD_TIMEOUT_S

        return opened(
            *self._reranking,
            os.environ,
            connection=connection,
            outgoing=self.settings.outgoing,
            where=self.settings.config_path,
            timeout_s=QMD_TIMEOUT_S,
            most_s=self.seconds / 2,
        )

    def answer(self, question: Callable[[apsw.Connection], _Answer]) -> _Answer:
        """``ask`` in this thread."""
        with self._config_lock:
            self._bring_config()
        try:
            with self._opened() as connection, _Until(connection, self):
                return question(connection)
        except apsw.Error as error:
            raise store.translate(error, self.settings.database) from error
        except UnicodeDecodeError as error:  # bytes of a text that are no UTF-8
            raise store.damaged(error, self.settings.database) or error from error

    def expander(self, connection: apsw.Connection) -> Expander | str:
        """Return the query expander, or why there is none. It may take a third of a call's time."""
        from qmd.generation import expansion

        return expansion.opened(
            connection, *self._generation, os.environ, self.seconds / 3, outgoing=self.settings.outgoing
        )

    async def refresh(self) -> None:
        """Read the configuration if its file has changed since the last call."""

        def bring() -> None:
            with self._config_lock:
                self._bring_config()

        await anyio.to_thread.run_sync(bring)

    async def outgoing(self, value: _Answer) -> _Answer:
        """Return ``value``, JSON-like text out of documents, as it may leave (``Settings.outgoing``). Raises
        BrainError.
        """
        if self.settings.egress is None:
            return value
        shown: _Answer = await anyio.to_thread.run_sync(self.settings.outgoing, value)
        return shown

    def fenced(self, value: _Answer) -> _Answer:
        """Return an MCP result as JSON, as a model may read it (``Settings.fence``)."""
        if self.settings.fence is None:
            return value
        result: _Answer = self.settings.fence(value)
        return result

    def interrupt(self) -> None:
        """End the calls that run and refuse later ones: the server shuts down."""
        with self._lock:
            self.closed = True
            for connection in self._running:
                connection.interrupt()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[apsw.Connection]:
        path = self.settings.database
        if not os.path.exists(path):
            raise NoIndex(f"there is no index yet at {path}", "qmd collection add PATH --name NAME")
        connection = _open(path)
        try:
            with self._lock:
                if self.closed:
                    raise apsw.InterruptError
                self._running.add(connection)
            yield connection
        finally:
            with self._lock:
                self._running.discard(connection)
                connection.close()

    def _bring_config(self) -> None:
        """Bring the index's collections up to date if the configuration's file has changed since the last call.

        A failure is printed on stderr once; the index still answers with the collections that it knows.
        """
        stamp = settings.stamp(self.settings.config_path)
        if stamp is None or stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            config = settings.read(self.settings)
            self._models = models.resolve(config.models, os.environ)
            self.aliases = self._asked_aliases or config.mcp_aliases
            approved = trust.is_approved(self.settings, config)
            self.embedding = config.embedding if approved else {}
            self._generation = (config.generation, config.models) if approved else ({}, {})
            self._reranking = (config.reranking, config.models) if approved else ({}, {})
            make_private(dirname(self.settings.database))
            with contextlib.closing(store.open_index(self.settings.database, write=True)) as connection:
                collections.sync(connection, config, self.settings)
        except (BrainError, apsw.Error) as error:
            print(f"Warning: {error}", file=sys.stderr, flush=True)


class _Until(store.Deadline):
    """A deadline that passes at once when the server ends, also between two statements, where ``interrupt`` is lost."""

    __slots__ = ("_library",)

    def __init__(self, connection: apsw.Connection, library: Library) -> None:
        super().__init__(connection, library.seconds)
        self._library = library

    def passed(self) -> bool:
        return self._library.closed or super().passed()


def _open(path: str) -> apsw.Connection:
    try:
        return store.open_index(path)
    except EngineMissing:
        # An index that only the real qmd has written has all tables that these tools read.
        connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(2000)
            connection.execute("PRAGMA query_only=1").fetchall()
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'store_collections'").fetchone()
        except BaseException:
            connection.close()
            raise
        if known is None:
            connection.close()
            raise
        try:
            schema.require_current(connection)
        except EngineMissing:
            connection.close()
            raise
        return connection
