"""``brain ask``: an open index, and the steps that answer questions from it (``runtime.asking.steps``).

Every question imports this module, so it imports nothing that a plain question does not need.
"""

from __future__ import annotations

import apsw

from core.errors import BrainError, EngineTimeout, Internal
from qmd.index import store
from runtime.asking import steps
from runtime.asking.freshness import Freshness
from runtime.asking.request import Request as Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Protocol

    from core.config import Config
    from core.home import Home
    from qmd.search.parallel_read import SecondReader
    from qmd.search.search import Searcher
    from qmd.vectors.static_query import Encoder
    from runtime.asking.meaning import Semantics
    from runtime.asking.reranking import Reranking

    class Answering(Protocol):
        """Answers one question after another from the index at ``path``."""

        @property
        def path(self) -> str: ...
        def ask(self, question: str, request: Request) -> dict[str, Any]: ...


# From so many embedded documents on, comparing each vector takes longer than opening the index a second time.
_MANY_EMBEDDED = 3_000
_LONGEST_WAIT_MS = 2000


class Asker:
    """An open index: ``with Asker(home, config) as asker`` answers any number of questions.

    The searcher, the encoder of vectors and the reranker stay open for the next question.

    Args:
        home: the home to ask.
        config: its configuration.
        timeout_s: seconds for opening the index, and for each question without a time in its request.
        encoder: turns questions into vectors of the configured model. Without one, the fitted table does.
        remember: keep a reranker's scores in the index, and use those that are kept.
        staying: the process answers many questions, so the index is opened twice at once.
    """

    __slots__ = (
        "_deadline", "_encoder", "_freshness", "_remember", "_reranking", "_searcher", "_second", "_semantics",
        "_staying", "_timeout_s", "config", "connection", "home",
    )  # fmt: skip

    def __init__(
        self,
        home: Home,
        config: Config,
        timeout_s: float | None = None,
        encoder: Encoder | None = None,
        *,
        remember: bool = True,
        staying: bool = False,
    ) -> None:
        self.home = home
        self.config = config
        self.connection: apsw.Connection
        self._timeout_s = timeout_s or config.timeout_s
        self._encoder = encoder
        self._remember = remember
        self._staying = staying
        self._freshness: Freshness | None = None
        self._searcher: Searcher | None = None
        self._semantics: Semantics | str | None = None
        self._reranking: Reranking | None = None
        # A second connection, which reads in parallel.
        self._second: SecondReader | None = None
        self._deadline: store.Deadline | None = None

    def __enter__(self) -> Asker:
        self.connection = store.open_index(self.home.index, busy_ms=wait_ms(self._timeout_s))
        if self._staying:
            self._open_second()
        return self

    def __exit__(self, *_: object) -> None:
        for opened in (self._reranking, self._second, self.connection):
            if opened is not None:
                opened.close()

    @property
    def path(self) -> str:
        """The index that is asked."""
        return self.home.index

    def refresh(self, encoder: Encoder | None) -> None:
        """Forget what may have changed since the last question; ``encoder`` as for a new Asker."""
        self._freshness = None
        self._semantics = None
        self._encoder = encoder

    def ask(self, question: str, request: Request) -> dict[str, Any]:
        """Return the envelope of one question (docs/ask.md); ``error`` is ``no_results`` if nothing matches.

        Raises BadQuery, BadInput, EngineTimeout, LockContention, and EngineMissing if nothing matches but no index run
        has ended yet either, or if the request wants a reranker and none is there.
        """
        inquiry = steps.Inquiry(question, request, self._timeout_s)
        self._run(steps.PREPARE, inquiry)
        # Waiting for a lock counts against the deadline, too.
        self.connection.set_busy_timeout(wait_ms(inquiry.timeout_s))
        try:
            with self.connection, store.Deadline(self.connection, inquiry.left_s()) as deadline:
                self._deadline = inquiry.deadline = deadline
                if self._second is not None:
                    self._second.deadline = deadline
                self._run(steps.SEARCH, inquiry)
            self._run(steps.CONCLUDE, inquiry)
        except apsw.Error as error:
            failure = store.translate(error, self.home.index)
            if isinstance(failure, EngineTimeout):
                failure.message = f"no answer within {inquiry.timeout_s:g} s"
            raise failure from error
        return steps.write_envelope(self, inquiry)

    def _run(self, table: steps.Table, inquiry: steps.Inquiry) -> None:
        for applies, step in table:
            if applies is None or applies(inquiry):
                step(self, inquiry)

    def read_freshness(self) -> Freshness:
        """Return how far answers can be behind, as of the first question or the last ``refresh``."""
        if self._freshness is None:
            self._freshness = Freshness(self.home, self.config, self.connection)
        return self._freshness

    def open_searcher(self) -> Searcher:
        """Return the searcher; the second connection may be at work while its modules are imported."""
        if self._searcher is None:
            from core import telemetry  # noqa: F401  # the row about this answer needs it
            from qmd.search.search import Searcher

            self._searcher = Searcher(self.connection)
        self._searcher.second = self._second
        return self._searcher

    def open_semantics(self) -> Semantics | str:
        """Return the vectors and an encoder for them, or why there are none. Raises apsw.Error."""
        known = self._semantics
        if known is not None and (isinstance(known, str) or known.is_current()):
            return known
        from runtime.asking import meaning

        if self._second is None and self.read_freshness().embedded >= _MANY_EMBEDDED:
            self._open_second()
        self._semantics = known = meaning.open_space(self.connection, self.config, self._encoder, self._second)
        return known

    def open_reranking(self) -> Reranking:
        """Return the configured reranker. Raises BrainError if there is none."""
        if self._reranking is None:
            from runtime.asking.reranking import Reranking

            self._reranking = Reranking(self.connection, self.config, remember=self._remember)
        return self._reranking

    def _open_second(self) -> None:
        from qmd.search.parallel_read import SecondReader

        self._second = SecondReader(self.home.index)
        self._second.deadline = self._deadline


def wait_ms(timeout_s: float) -> int:
    """Return how long a statement waits for a lock."""
    return min(_LONGEST_WAIT_MS, int(timeout_s * 1000))


def batch(asker: Answering, questions: Iterable[str], request: Request) -> Iterator[dict[str, Any]]:
    """Yield one envelope a question, failures included: nothing that one question does ends the others."""
    for question in questions:
        try:
            yield asker.ask(question, request)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is this question's outcome
            from core.text import encodable

            failure = error if isinstance(error, BrainError) else store.damaged(error, asker.path)
            if failure is None:
                failure = Internal(f"{type(error).__name__}: {error}", "ask it alone: brain ask …")
            yield {**failure.envelope(), "query": encodable(question.strip()[:200])}
