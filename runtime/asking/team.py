"""Questions over the user's own index and over what other members of a team share: one ranking of both.

Documents of the team take part as another store of the ranking (``qmd.search.search.Store``), so that no score of one
list is compared with a score of another. If the server does not answer in its share of the time, the user's own
documents answer alone, and ``freshness.team`` says what is missing.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from core import clock
from core.errors import BrainError, EngineMissing, EngineTimeout
from core.processes.within import Begun
from qmd.index.catalogue import Filters
from qmd.index.terms import Analyzer
from qmd.search.search import Searcher
from qmd.team import overlay
from qmd.team.connection import open_reader
from qmd.team.failures import LATE
from qmd.team.reading import Away, TeamStore
from runtime.asking import own_index
from runtime.asking.ask import Asker
from runtime.asking.envelope import DOCID_DIGITS, TEAM

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import apsw

    from core.config import Config
    from core.engine import Engine
    from core.home import Home
    from qmd.search.search import Hit
    from qmd.team.bounded import BoundedConnection
    from qmd.vectors.static_query import Encoder
    from runtime.asking.request import Request

_Answer = TypeVar("_Answer")

# What the server may take of a question's time: a share, and at most so many seconds.
_SHARE, _PATIENCE_S = 0.5, 2.0
# A server that failed is not asked again for so many seconds by a process that stays.
_REST_S = 15.0
_LEAST_S = 0.05
# Documents with one docid that are looked at. The owner of each says what its docid is.
_SAME_DOCID = 6
# Documents of others, and bytes of their texts, that are read for one question about the work.
_MOST_READ, _MOST_BYTES = 20, 4 << 20
_MOST_STATED = 300
_STRICT = "--strict asks your own documents alone"


def patience(timeout_s: float) -> float:
    """Return how many of a question's seconds the team's server may take."""
    return min(_PATIENCE_S, timeout_s * _SHARE)


def asker(
    home: Home,
    config: Config,
    timeout_s: float | None = None,
    encoder: Encoder | None = None,
    *,
    staying: bool = False,
) -> Asker:
    """Return what answers questions in this configuration: with the team's documents, if it names an engine."""
    kind = Asker if config.engine is None else TeamAsker
    return kind(home, config, timeout_s, encoder, staying=staying)


class Team:
    """The connection to a team's store: opened in a thread, kept for the next question, dropped once it fails."""

    def __init__(self, engine: Engine, known: Collection[str]) -> None:
        """``known`` are the collections of the configuration."""
        self.engine, self._known = engine, known
        self._opening: Begun[tuple[BoundedConnection, str]] | None = None
        self._store: TeamStore | None = None
        self._failed: tuple[float, BrainError] = (float("-inf"), EngineTimeout(LATE))

    @property
    def is_open(self) -> bool:
        """Return True if there is a connection from an earlier question."""
        return self._store is not None

    def begin(self, seconds: float) -> None:
        """Begin to connect, unless there is a connection or was a failure a moment ago."""
        if self._store is None and self._opening is None and time.monotonic() - self._failed[0] > _REST_S:
            self._opening = Begun(lambda: self._open(seconds))

    def store(self, analyzer: Analyzer, until: float) -> TeamStore:
        """Return the store for a question that may ask it until ``until`` (monotonic seconds). Raises Away."""
        left = until - time.monotonic()
        self.begin(left)
        if self._store is None:
            if self._opening is None:
                raise Away(self._failed[1])
            try:
                connection, member = self._opening.wait(left, LATE)
            except BrainError as error:
                self.drop(error)
                raise Away(error) from None
            self._opening = None
            self._store = TeamStore(
                connection, analyzer, without=member, evidence=self.engine.evidence, known=self._known
            )
        self._store.analyzer = analyzer
        self._store.ask_until(until)
        return self._store

    def drop(self, why: BrainError | None = None) -> None:
        """Close the connection; ``why`` it failed."""
        if why is not None:
            self._failed = (time.monotonic(), why)
        store, self._store = self._store, None
        opening, self._opening = self._opening, None
        if store is not None:
            store.close()
        if opening is not None:
            opening.abandon(lambda made: made[0].close())

    def _open(self, seconds: float) -> tuple[BoundedConnection, str]:
        connection = open_reader(self.engine, seconds)
        return connection, self.engine.member or connection.member


class TeamAsker(Asker):
    """An Asker that also asks what other members of the team share."""

    if TYPE_CHECKING:
        _team: Team
        _stores: list[TeamStore]

    def __enter__(self) -> Asker:
        assert self.config.engine is not None
        own_index.ensure(self.home, self.config)
        self._team, self._stores = Team(self.config.engine, self.config.collections), []
        self._team.begin(patience(self._timeout_s))
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        self._team.drop()
        super().__exit__()

    def open_searcher(self) -> Searcher:
        """Return the searcher, with the team's store while there is one."""
        searcher = super().open_searcher()
        searcher.others = self._stores
        return searcher

    def knows(self, collection: str) -> bool:
        """Return True if there is a collection of this name, here or among what others share."""
        return super().knows(collection) or any(
            unit.collection == collection for store in self._stores for unit in store.units()
        )

    def ask(self, question: str, request: Request) -> dict[str, Any]:
        """Return the envelope of one question, as ``Asker.ask``; ``freshness.team`` says if the team took part."""
        if request.own:
            self._stores = []
            return super().ask(question, request)
        started, timeout_s = time.monotonic(), request.timeout_s or self._timeout_s
        until, missing = started + patience(timeout_s), _STRICT if request.strict else ""
        # A connection that was kept may have broken since: then another one is tried.
        attempts = 0 if missing else 1 + self._team.is_open
        while attempts:
            attempts -= 1
            try:
                self._stores = []
                analyzer = super().open_searcher().analyzer
                self._stores = [self._team.store(analyzer, until)]
                return self._stated(super().ask(question, request))
            except Exception as error:  # noqa: BLE001  # whatever the server sent, the user's own documents answer
                away = as_away(error)
                missing = away.message
                self._team.drop(None if attempts else away)
        self._stores = []
        given, request.timeout_s = request.timeout_s, max(_LEAST_S, timeout_s - (time.monotonic() - started))
        try:
            return self._stated(super().ask(question, request), missing)
        except EngineMissing as error:
            error.message += f"; without what the team shares: {missing}"
            raise
        finally:
            request.timeout_s = given

    def _stated(self, envelope: dict[str, Any], missing: str = "") -> dict[str, Any]:
        envelope["freshness"]["team"] = stated(self._team.engine, self._stores, missing)
        return envelope


def stated(engine: Engine, stores: list[TeamStore], missing: str = "") -> dict[str, Any]:
    """Return the part of ``freshness`` about the team: who took part, as of when, or what is ``missing`` and why."""
    units = [unit for store in stores for unit in store.units()]
    pushed = [unit.pushed_at for unit in units if unit.pushed_at]
    found: dict[str, Any] = {
        "fresh": not missing,
        "pending": None if missing else 0,
        "as_of": clock.iso(max(pushed)) if pushed else None,
        "space": engine.space,
        "members": sorted({unit.owner for unit in units}),
    }
    return {**found, "missing": missing} if missing else found


def as_away(error: Exception) -> Away:
    """Return an error of a question to the team as Away: also one of reading what no server of ours would send.

    A failure of the user's own index is not hidden: the question is asked once more, without the team. Raises any other
    error that a user is told of.
    """
    if isinstance(error, Away):
        return error
    if isinstance(error, BrainError):
        raise error
    return Away(EngineMissing(f"the team's server sent what cannot be read: {type(error).__name__}", "brain doctor"))


@contextmanager
def opened(connection: apsw.Connection, config: Config) -> Iterator[TeamStore]:
    """Give the team's store for one look-up that belongs to the index ``connection``. Raises Away."""
    assert config.engine is not None
    team = Team(config.engine, config.collections)
    try:
        yield team.store(Analyzer(connection), time.monotonic() + patience(config.timeout_s))
    except Exception as error:
        raise as_away(error) from error
    finally:
        team.drop()


def with_team(searcher: Searcher, config: Config, answer: Callable[[], _Answer]) -> tuple[_Answer, dict[str, Any]]:
    """Return what ``answer`` finds by ``searcher`` over both stores, and ``freshness.team``.

    If the server fails, ``answer`` is called once more, over the user's own documents alone.
    """
    assert config.engine is not None
    try:
        with opened(searcher.connection, config) as store:
            searcher.others = [store]
            return answer(), stated(config.engine, [store])
    except Away as error:
        searcher.others = []
        return answer(), stated(config.engine, [], error.message)


def find(connection: apsw.Connection, config: Config, name: str) -> list[tuple[Hit, str]]:
    """Return the document of another member that ``name`` names, ``team://owner/collection/path`` or ``#docid``.

    Its text comes with it. A docid may name several documents: copies of one text are one. Raises Away.
    """
    with opened(connection, config) as store:
        if name.startswith(TEAM):
            owner, _, rest = name.removeprefix(TEAM).partition("/")
            collection, _, path = rest.partition("/")
            found = store.find("u.owner = %s AND u.collection = %s AND d.path = %s", owner, collection, path)
        else:
            digits = name.removeprefix("#").lower()
            if len(digits) < DOCID_DIGITS:
                return []
            condition = "u.owner <> %s AND d.hash >= %s AND d.hash < %s ORDER BY d.id LIMIT %s"
            found = store.find(condition, store.without, digits, f"{digits}g", _SAME_DOCID)
        texts: dict[str, Hit] = {}
        for hit in found:
            texts.setdefault(store.read(hit), hit)
        return [(hit, text) for text, hit in texts.items()]


class Shared(NamedTuple):
    """What other members share: the newest documents, how many each of their collections has, ``freshness.team``."""

    hits: list[Hit]
    counts: dict[str, int]
    stated: dict[str, Any]


def recent(connection: apsw.Connection, config: Config, filters: Filters, limit: int) -> Shared:
    """Return the newest documents of others that people worked on, and how many there are of each collection.

    If the server fails, ``stated`` says what is missing.
    """
    assert config.engine is not None
    try:
        with opened(connection, config) as store:
            found = store.newest(filters, limit, worked_on=True)
            return Shared(found, store.count(filters), stated(config.engine, [store]))
    except Away as error:
        return Shared([], {}, stated(config.engine, [], error.message))


class Laid(NamedTuple):
    """What was laid over an index: ``documents`` of others by the id that they have there, and ``freshness.team``."""

    documents: dict[int, Hit]
    stated: dict[str, Any]


def about(connection: apsw.Connection, words: str) -> Callable[[TeamStore], Sequence[Hit]]:
    """Return what chooses the documents of others about ``words``: at most 20, the best as ``brain ask`` ranks."""

    def choose(store: TeamStore) -> Sequence[Hit]:
        searcher = Searcher(connection, others=[store])
        return searcher.elsewhere(words, limit=_MOST_READ, filters=Filters())

    return choose


def statements(store: TeamStore) -> Sequence[Hit]:
    """Return the documents of others that may say what was decided: at most 300."""
    return store.statements(_MOST_STATED)


def lay_over(connection: apsw.Connection, config: Config, choose: Callable[[TeamStore], Sequence[Hit]]) -> Laid:
    """Lay what others share over an index (``qmd.team.overlay``): the documents that ``choose`` returns.

    Whatever ``connection`` is asked afterwards, it answers over both stores. If the server fails, nothing is laid over,
    and ``stated`` says what is missing. It counts the documents that were ``read``, and those ``left_out`` because they
    are more than 4 MB of text together.
    """
    assert config.engine is not None
    try:
        with opened(connection, config) as store:
            chosen = choose(store)
            read = store.texts(chosen, _MOST_BYTES)
            overlay.lay(connection, read)
            counts = {"read": len(read), "left_out": len(chosen) - len(read)}
            return Laid({hit.id: hit for hit, _ in read}, {**stated(config.engine, [store]), **counts})
    except Away as error:
        return Laid({}, stated(config.engine, [], error.message))
