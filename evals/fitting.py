"""Fit the weights of ``runtime.asking.deciding``: the chance that a question has an answer.

``python -m evals.fitting SET…`` asks the half ``choose`` of each set by words, by meaning and by the model itself. It
prints the constant and the weights of a logistic regression over those answers, then what they do on each half.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core import config
from core.home import Home, resolve
from evals.runs.corpora import build
from evals.sets.dataset import UNANSWERABLE
from evals.sets.loading import load
from qmd.embedding.provider import make, quantise
from qmd.vectors.static_query import MODEL_LEVEL, QueryVector
from runtime.asking import deciding, route
from runtime.asking.ask import Asker, Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evals.sets.dataset import Dataset
    from qmd.embedding.provider import Provider
    from qmd.vectors.knn import Look

_NAMES = ("evidence", "covered", "lacking", "words")
_WAYS = ("words", "cold", "serve")
# How strongly the weights are drawn to 0, and the steps of Newton's method.
_RIDGE, _STEPS = 0.1, 50


class Asked(NamedTuple):
    """A question as it was asked one way: its numbers are None if nothing matches it."""

    way: str
    half: str
    answerable: bool
    values: tuple[float, ...] | None


class _Encoder:
    """Questions' vectors by the model, in this process, with its level."""

    def __init__(self, source: Provider) -> None:
        self._source = source
        self.kind, self.fingerprint = "model", source.fingerprint
        self.level: float | None = MODEL_LEVEL

    def begin(self, question: str, look: Look | None = None) -> QueryVector:  # noqa: ARG002  # the index finds what is near
        (vector,) = quantise(self._source.embed([question], question=True))
        return QueryVector(vector)


def asked(home: Home, dataset: Dataset) -> Iterator[Asked]:
    """Ask every question each way; near misses and questions that are meant to the letter are left out."""
    built = build(home, dataset.corpora[0], vectors=True)
    place = Home(built.root, built.inbox)
    settings = config.load(place)
    model = _Encoder(make(settings.section("embedding"), os.environ))
    for way in _WAYS:
        request = Request(limit=5, literal=True, explain=True, mode="lex" if way == "words" else "auto")
        with Asker(place, settings, encoder=model if way == "serve" else None, remember=False) as asker:
            for question in dataset.questions:
                if question.kind == UNANSWERABLE[1] or route.kind(question.text)[0] == route.LITERAL:
                    continue
                found: dict[str, Any] | None = asker.ask(question.text, request).get("chance")
                values = tuple(float(found[name]) for name in _NAMES) if found else None
                yield Asked(way, question.half, question.kind not in UNANSWERABLE, values)


def fit(rows: Sequence[Asked]) -> np.ndarray:
    """Return the constant and the weights, by Newton's method for logistic regression with a ridge."""
    values = np.array([(1.0, *row.values) for row in rows if row.values is not None])
    wanted = np.array([row.answerable for row in rows if row.values is not None], dtype=float)
    ridge = _RIDGE * np.diag([0.0, *(1.0 for _ in _NAMES)])
    weights = np.zeros(values.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-values @ weights))
        slope = values.T @ (chance - wanted) + ridge @ weights
        curve = (values * (chance * (1 - chance))[:, None]).T @ values + ridge
        weights -= np.linalg.solve(curve, slope)
    return weights


def judge(rows: Sequence[Asked], weights: np.ndarray) -> tuple[int, int, int, int]:
    """Return how many answerable questions get no answer, of how many, and how many others get one, of how many."""
    least = np.log(deciding.LEAST_CHANCE / (1 - deciding.LEAST_CHANCE))
    answered = []
    for row in rows:
        sure = deciding.ENOUGH_BY_MODEL if row.way == "serve" else deciding.ENOUGH
        values = row.values
        answered.append(values is not None and (values[0] >= sure or np.dot(weights, (1.0, *values)) >= least))
    lost = sum(row.answerable and not each for row, each in zip(rows, answered, strict=True))
    wrong = sum(each and not row.answerable for row, each in zip(rows, answered, strict=True))
    count = sum(row.answerable for row in rows)
    return lost, count, wrong, len(rows) - count


def main(paths: Sequence[str]) -> None:
    """Print the weights and their effect."""
    home = resolve()
    rows = [row for dataset in load(paths, home) for row in asked(home, dataset)]
    weights = fit([row for row in rows if row.half == "choose"])
    print("constant", *_NAMES)
    print(*(f"{weight:.2f}" for weight in weights))
    for way in _WAYS:
        for half in ("choose", "exam"):
            lost, count, wrong, others = judge([row for row in rows if (row.way, row.half) == (way, half)], weights)
            print(f"{way}, {half}: {lost} of {count} without an answer, {wrong} of {others} on other topics answered")


if __name__ == "__main__":
    main(sys.argv[1:])
