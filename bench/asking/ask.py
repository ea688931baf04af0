"""``brain ask --json`` as a new process each time, paired with an idle interpreter."""

from __future__ import annotations

import json
from typing import NamedTuple

from bench import corpora
from bench.measure import Failed, environment, floor, median, percentile, program, relative, run
from bench.report import Report, Row, ms

_P50_BAR = 3.0
_P95_BAR = 2.0
# The real qmd 2.8.3, `search`, whole process: p50 and p95 in seconds.
_PEER = {6_751: (0.244, 0.322), 50_000: (0.296, 0.479)}


class _Brain(NamedTuple):
    corpus: corpora.Corpus
    environ: dict[str, str]
    seconds: dict[str, list[float]]


def measure(report: Report, *, quick: bool) -> None:
    """Ask every question in turn, the floor before each; the figures are over all runs of all questions."""
    shapes = [corpora.LARGE] if quick else [corpora.LARGE, corpora.MANY]
    found = [corpus for shape in shapes if (corpus := corpora.published(shape))]
    if not found:
        report.skip("ask on the published corpora", f"no {relative(corpora.GENERATOR)}")
        found = [corpora.own()]
    brains = [_open(corpus) for corpus in found]
    floors: list[float] = []
    rounds = 2 if quick else 5
    for number in range(-1, rounds):
        for index in range(max(len(brain.corpus.questions) for brain in brains)):
            floors.append(floor(brains[0].environ))
            for brain in brains:
                if index < len(brain.corpus.questions):
                    question = brain.corpus.questions[index]
                    taken = _ask(brain, question)
                    # The first round brings the files into the system's cache: processes are cold, the disk is not.
                    if number >= 0:
                        brain.seconds.setdefault(question, []).append(taken)
        if number < 0:
            floors.clear()
    for brain in brains:
        _judge(report, brain, median(floors))


def _open(corpus: corpora.Corpus) -> _Brain:
    return _Brain(corpus, environment(corpora.brain(corpus)), {})


def _ask(brain: _Brain, question: str) -> float:
    done = run([*program(), "ask", "--json", "--", question], brain.environ, ok=(0, 67))
    envelope = done.answer()
    if not envelope["ok"] or bool(envelope["hits"]) != (done.code == 0):
        raise Failed(f"{question!r}: {json.dumps(envelope)[:500]}")
    return done.wall_s


def _judge(report: Report, brain: _Brain, least: float) -> None:
    corpus = brain.corpus
    runs = [taken for repeated in brain.seconds.values() for taken in repeated]
    p50, p95 = median(runs), percentile(runs, 0.95)
    name = f"ask, {corpus.files:,} documents"
    judged = corpus.files != corpora.MANY[0]

    def add(what: str, taken: float, compared: str, to: float, most: float = 0.0) -> None:
        bar, met = (f"≤ {most:g}×", taken / to <= most) if most and judged else ("", None)
        report.add(Row(f"{name}: {what}", ms(taken), compared, taken / to, bar, met))

    add("p50", p50, f"floor {ms(least)}", least, _P50_BAR)
    add("p95", p95, f"its p50 {ms(p50)}", p50, _P95_BAR)
    if corpus.files in _PEER:
        for what, taken, peer in zip(("p50", "p95"), (p50, p95), _PEER[corpus.files], strict=True):
            add(f"{what} vs qmd", taken, f"qmd 2.8.3 {ms(peer)} †", peer)
    slowest = sorted(((median(taken), question) for question, taken in brain.seconds.items()), reverse=True)[:3]
    said = ", ".join(f"`{question}` {ms(taken)}" for taken, question in slowest)
    report.note(f"{name}: {len(brain.seconds)} questions, {len(runs)} runs; the slowest by median: {said}")
