"""Reranking for ``brain ask``: the configured reranker reads the best candidates together with the question.

Reranking is off by default. The question is answered within its time in any case, and the envelope reports whether it
was reranked, and why not.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from core import redaction
from core.errors import BrainError, EngineMissing
from qmd.reranking.judge import LONGEST, Judge, opened
from qmd.search import search
from qmd.search.hybrid import best_chunk

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

    from core.config import Config
    from qmd.search.search import Hit
    from runtime.asking.ask import Asker, Inquiry

# Half of what qmd's query looks at: this is the interactive clock. Twenty passages take a small model three seconds of
# cpu.
CANDIDATES = 20
# The weight of the reranker's score against the fused one. More than half, so that its sure hits come first; less than
# all, so that one misjudgement does not lose a hit that words and meaning agree on.
WEIGHT = 0.6
# The share of a question's remaining time that reranking may take.
_SHARE = 0.8
_FIX = "collections.yml: rerank: {path: ~/models/…} or {base_url: http://…}; docs/configuration.md"


class Reranking:
    """The configured reranker over an open index, for any number of questions; ``close`` it in the end.

    ``remember``: whether scores are kept in the index, and those that are count.
    Raises EngineMissing where none is configured or its files are not there, BadInput where its section does not hold.
    """

    __slots__ = ("_connection", "_judge", "_weight", "width")

    def __init__(
        self,
        connection: apsw.Connection,
        config: Config,
        environ: Mapping[str, str] = os.environ,
        *,
        remember: bool = True,
    ) -> None:
        section = config.section("rerank")
        judge = opened(
            section,
            {slot: str(uri) for slot, uri in config.section("models").items() if uri},
            environ,
            connection=connection if remember else None,
            outgoing=_outgoing,
            where=config.path,
        )
        if judge is None:
            raise EngineMissing("no reranker is configured", _FIX)
        self._judge: Judge = judge
        self._connection = connection
        # How many hits it reads.
        self.width = int(section.get("candidates") or CANDIDATES)
        weight = section.get("weight")
        self._weight = WEIGHT if weight is None else float(weight)

    def apply(self, question: str, hits: list[Hit], left_s: float) -> tuple[list[Hit], dict[str, Any]]:
        """Return (the hits, best first, the report for the envelope). ``left_s`` is the question's remaining time.

        A hit's score becomes a share (0–1) of both scores. Raises apsw.Error.
        """
        judged = hits[: self.width]
        texts = [self._text(question, hit) for hit in judged]
        scores = self._judge.scores(question, texts, left_s * _SHARE) if judged else []
        report = {
            "applied": scores is not None,
            "model": self._judge.name,
            "candidates": len(judged),
            "took_ms": self._judge.took_ms,
            "reason": self._judge.reason or None,
        }
        if not scores:
            return hits, report
        top = max(hit.score for hit in hits) or 1.0
        for place, hit in enumerate(hits):
            score = scores[place] if place < len(scores) else 0.0
            hit.parts = {**hit.parts, "fused": round(hit.score, 4), "rerank": round(score, 4)}
            hit.score = (1.0 - self._weight) * hit.score / top + self._weight * score
        return sorted(hits, key=lambda hit: -hit.score), report

    def fault(self) -> str:
        """Return why the reranker cannot judge so much as one short text, "" if it can."""
        return "" if self._judge.scores("which colour is the sky", ["The sky is blue."]) else self._judge.reason

    def close(self) -> None:
        """Let the reranker go."""
        self._judge.close()

    def _text(self, question: str, hit: Hit) -> str:
        """Return the text of a hit for the reranker: its title and the passage that was found, else the best chunk."""
        body = search.read(self._connection, hit)
        whole = self._judge.sendable(body)
        start, end = hit.piece
        if end:
            piece = whole.piece(start, end) if whole else body[start:end]
        else:
            # Choosing looks at no clock: of a body no more than could be judged.
            piece = best_chunk((whole.piece(0, len(body)) if whole else body)[:LONGEST], question).text
        piece = piece.strip()
        return piece if piece.lstrip("# ").startswith(hit.title) else f"{hit.title}\n{piece}"


def _outgoing(texts: list[str]) -> list[str]:
    return [redaction.shown(text) for text in texts]


def absent(why: str) -> dict[str, Any]:
    """Return the report of an answer that was not reranked because of ``why``."""
    return {"applied": False, "model": None, "candidates": 0, "took_ms": 0.0, "reason": why}


def open_for(asker: Asker, inquiry: Inquiry) -> None:
    """Open the reranker, or report why there is none. Raises BrainError if the request itself asks for one."""
    if inquiry.mode == "time":
        inquiry.reranked = absent("the documents of some days stand in the order of time")
        return
    try:
        inquiry.reranking = asker.open_reranking()
    except BrainError as error:
        if inquiry.request.rerank:
            raise
        inquiry.reranked = absent(error.message)
