"""Questions by meaning, whole processes: cold by the fitted table, and over the socket of ``brain serve``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bench import corpora
from bench.measure import Failed, environment, floor, median, percentile, program, relative, run
from bench.report import Report, Row, ms

_COLD_BAR = 4.0
_MEMORY_MB = 250
_WARM_BAR = 3.0
_PASSAGES = 13_000
_LOADING = 600


def measure(report: Report, *, quick: bool) -> None:
    """Each question in turn, the floor before it."""
    rounds = 2 if quick else 5
    corpus = corpora.published(corpora.LARGE)
    if corpus is None:
        report.skip("warm ask on the published corpus", f"no {relative(corpora.GENERATOR)}")
        corpus = corpora.own()
    environ = environment(corpora.brain(corpus))
    with serving(environ):
        _judge(report, f"warm ask, {corpus.files:,} documents", _rounds(corpus.questions, rounds, environ), _WARM_BAR)

    cards = corpora.cards(1_500 if quick else _PASSAGES)
    environ = environment(corpora.brain(cards, keep=True))
    _embed(environ)
    name = f"by meaning, {cards.files:,} passages"
    cold = _rounds(cards.questions, rounds, environ, "encoded by a fitted table")
    _judge(report, f"cold ask {name}", cold, _COLD_BAR)
    with serving(environ) as memory:
        warm = _rounds(cards.questions, rounds, environ, "encoded by the model")
        taken = memory() / 1e6
    report.add(
        Row(f"brain serve, {name}: memory", f"{taken:.0f} MB", bar=f"≤ {_MEMORY_MB} MB", met=taken <= _MEMORY_MB)
    )
    _judge(report, f"warm ask {name}", warm, _WARM_BAR)


def _embed(environ: dict[str, str]) -> None:
    """Vectors for what has none: minutes in a first run."""
    report = run([*program(), "embed", "--json"], environ).answer()
    if report["pending"]:
        raise Failed(f"{report['pending']} documents have no vectors")


@contextmanager
def serving(environ: dict[str, str]) -> Iterator[Callable[[], int]]:
    """One resident process, its model loaded, answers every question asked meanwhile; yields what tells its memory."""
    _serve(environ, "--stop")
    _serve(environ, "--start", "--idle", "1h")
    try:
        for _ in range(_LOADING):
            state = _serve(environ, "--status")["roles"]["model"]["state"]
            if state != "loading":
                break
        if state != "ready":
            raise Failed(f"the model of brain serve is {state!r}")
        yield lambda: int(_serve(environ, "--status")["memory_bytes"])
    finally:
        _serve(environ, "--stop")


def _serve(environ: dict[str, str], *options: str) -> dict[str, Any]:
    answer: dict[str, Any] = run([*program(), "serve", *options, "--json"], environ).answer()
    return answer


def _answered(environ: dict[str, str]) -> int:
    """How many questions the resident process has answered; 0 where there is none."""
    status = _serve(environ, "--status")
    return int(status["roles"]["ask"]["answered"]) if status["running"] else 0


def _rounds(
    questions: Sequence[str], rounds: int, environ: dict[str, str], how: str = ""
) -> tuple[list[float], list[float]]:
    """Seconds of the floor, and of each question; the first round only fills caches.

    Raises Failed where a question was not asked ``how`` the route's reason is to say, or not by the resident process.
    """
    floors: list[float] = []
    taken: list[float] = []
    running = _serve(environ, "--status")["running"]
    before = _answered(environ)
    for number in range(-1, rounds):
        for question in questions:
            least = floor(environ)
            done = run([*program(), "ask", "--json", "--", question], environ, ok=(0, 67))
            route = done.answer()["route"]
            if number >= 0 and how not in route["reason"]:
                raise Failed(f"{question!r} was not {how}: {route}")
            if number >= 0:
                floors.append(least)
                taken.append(done.wall_s)
    asked = len(questions) * (rounds + 1) if running else 0
    if _answered(environ) - before != asked:
        raise Failed(f"brain serve answered {_answered(environ) - before} of {asked} questions")
    return floors, taken


def _judge(report: Report, name: str, found: tuple[list[float], list[float]], bar: float) -> None:
    floors, taken = found
    least, p50, p95 = median(floors), median(taken), percentile(taken, 0.95)
    report.add(Row(f"{name}: p50", ms(p50), f"floor {ms(least)}", p50 / least, f"≤ {bar:g}×", p50 / least <= bar))
    report.add(Row(f"{name}: p95", ms(p95), f"its p50 {ms(p50)}", p95 / p50))
