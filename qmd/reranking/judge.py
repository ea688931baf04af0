"""A reranker within its time: what it says of texts, or why nothing is said and the order stays.

However it fails (slow, out of order, answering nonsense), a question is answered all the same.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from typing import TYPE_CHECKING, Any

import apsw

from core.errors import BrainError, EngineTimeout
from core.processes.within import within
from qmd.reranking.reranker import TIMEOUT_S, configured, make
from qmd.search import llm_cache
from qmd.vectors.models import cache_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.redaction.outgoing import Outgoing
    from qmd.reranking.reranker import Reranker

    # Texts pass it before they leave this machine; it may raise BrainError to withhold them.
    Egress = Callable[[list[str]], list[str]]

    import apsw

# Characters of a text: about what the largest windows (8,192 tokens) hold.
LONGEST = 32_000
# Scores that are held before they are written down.
_MOST_FRESH = 1000


class Judge:
    """A judge of any number of questions; ``close`` it in the end.

    ``timeout_s`` is how long a question waits at most. ``reason`` says why the last question was not judged, "" if it
    was; ``took_ms`` is its time. ``connection`` is to the index that keeps scores.
    """

    def __init__(
        self,
        reranker: Reranker,
        timeout_s: float = TIMEOUT_S,
        connection: apsw.Connection | None = None,
        outgoing: Egress | None = None,
    ) -> None:
        self._reranker = reranker
        self.timeout_s = timeout_s
        self._connection = connection
        self._outgoing = outgoing
        self._fresh: dict[str, float] = {}
        # True if the scores are logits, and the key of that note among the scores.
        self._logits = False
        self._scale = scale_key(reranker.identity)
        self.reason = ""
        self.took_ms = 0.0

    @property
    def name(self) -> str:
        """Return the reranker's name."""
        return self._reranker.name

    def scores(self, query: str, texts: Sequence[str], within_s: float | None = None) -> list[float] | None:
        """Return how well each text answers (0-1), None if there is no judgement in time, or at all; ``reason`` says
        why.

        ``within_s`` shortens the configured time.
        """
        started = time.monotonic()
        seconds = self.timeout_s if within_s is None else min(self.timeout_s, within_s)
        self.reason = ""
        if len(self._fresh) > _MOST_FRESH:
            self.keep()
        try:
            found = self._known_and_new(query, texts, started + seconds)
        except BrainError as error:
            self.reason = error.message
            if isinstance(error, EngineTimeout):
                self.reason = f"no judgement within {seconds:.2g} s ({error.message})"
            return None
        finally:
            self.took_ms = round((time.monotonic() - started) * 1000, 1)
        return found

    def sendable(self, body: str) -> Outgoing | None:
        """Return a whole text of which only cleaned pieces may be sent, None if the text stays on this machine.

        Raises BrainError where none of it may be sent.
        """
        if self._outgoing is None or not self._reranker.remote:
            return None
        from core.redaction.outgoing import Outgoing

        return Outgoing(body, self._outgoing([body])[0])

    def keep(self) -> None:
        """Write down what was learned, for the next time that it is asked."""
        fresh, self._fresh = self._fresh, {}
        if self._connection is not None and fresh:
            write_scores(self._connection, fresh)

    def close(self) -> None:
        """Keep what was learned, and let the reranker go."""
        self.keep()
        self._reranker.close()

    def _known_and_new(self, query: str, texts: Sequence[str], until: float) -> list[float]:
        # A command line may hold bytes that are no UTF-8.
        query, *texts = (text[:LONGEST].encode("utf-8", "replace").decode() for text in (query, *texts))
        keys = score_keys(query, self._reranker.identity, texts)
        known = dict(self._fresh)
        if self._connection is not None:
            try:
                known.update(read_scores(self._connection, [*keys, self._scale]))
            except apsw.InterruptError:
                raise EngineTimeout("the question's time was up") from None
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            asked, places = list(new.values()), list(new)
            done: dict[int, float] = {}
            if self._reranker.remote and self._outgoing is not None:
                query, *asked = self._outgoing([query, *asked])
            try:
                self._bounded(lambda: self._reranker.score(query, asked, until, done), until)
            finally:
                # Also of what was cut short: the same question goes on from there.
                self._fresh.update({places[place]: score for place, score in done.copy().items()})
            known.update(self._fresh)
        return self._probabilities([known[key] for key in keys], known)

    def _probabilities(self, scores: list[float], known: Mapping[str, float]) -> list[float]:
        """Scores as 0–1. A reranker that once gave a score outside that gives logits (llama.cpp's server does), and all
        of its are read as such from then on: one question's scores and the next one's are then of one scale.
        """
        if not self._logits and (self._scale in known or any(map(is_logit, scores))):
            self._logits = True
            if self._scale not in known:
                self._fresh[self._scale] = 1.0
        return [probability(score) for score in scores] if self._logits else scores

    def _bounded(self, work: Callable[[], list[float]], until: float) -> list[float]:
        """Run ``work`` within its time.

        A name that does not resolve, a model that loads for long and an answer that drips look at no clock.
        """
        left = until - time.monotonic()
        if left <= 0:
            raise EngineTimeout("there was no time left for it")
        return within(left, work, f"{self.name} did not get through in time", self._reranker.cancel)


def is_logit(score: float) -> bool:
    """Return True if a score cannot be a probability."""
    return not 0.0 <= score <= 1.0


def probability(logit: float) -> float:
    """Return the sigmoid of a logit."""
    return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, logit))))


def opened(
    section: Mapping[str, Any],
    models: Mapping[str, str] | None = None,
    environ: Mapping[str, str] = os.environ,
    *,
    connection: apsw.Connection | None = None,
    outgoing: Egress | None = None,
    where: str = "",
    timeout_s: float = TIMEOUT_S,
    most_s: float = math.inf,
) -> Judge | None:
    """Return the judge by the configured reranker, None if none is configured. Nothing is loaded yet.

    ``where`` is the configuration's file, for errors; ``timeout_s`` is how long a question waits if the section does
    not say, ``most_s`` the longest that it may. Raises BadInput if the section is invalid, EngineMissing if what it
    names is not there.
    """
    from core.config_yaml import check

    check(where or "rerank", "rerank", section)
    chosen = configured(section, environ, models)
    if not chosen:
        return None
    seconds = min(float(chosen.get("timeout_s") or timeout_s), most_s)
    return Judge(make(chosen, environ), seconds, connection, outgoing)


def score_keys(query: str, model: str, texts: Sequence[str]) -> list[str]:
    """Return the key of each text's score."""
    return [cache_key("rerank", {"query": query, "model": model, "chunk": text}) for text in texts]


def scale_key(model: str) -> str:
    """Return the key of the note that a model's scores are logits."""
    return cache_key("rerankLogits", {"model": model})


def read_scores(connection: apsw.Connection, wanted: Sequence[str]) -> dict[str, float]:
    """Return the scores that are known, by key. Raises apsw.Error."""
    found: dict[str, float] = {}
    for key in wanted:
        with contextlib.suppress(ValueError):  # another program's answer to the same question, in its own form
            score = float(llm_cache.get(connection, key) or "nan")
            if math.isfinite(score):
                found[key] = score
    return found


def write_scores(connection: apsw.Connection, scores: Mapping[str, float]) -> bool:
    """Keep scores by key, as far as that can be done at once; returns whether they are kept."""
    return bool(scores) and llm_cache.put(connection, {key: repr(score) for key, score in scores.items()})
