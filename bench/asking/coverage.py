"""What an agent is given about earlier sessions, at how many tokens: by a question, by the hook of a prompt, by grep.

A fact is a question of the development set of answers, about real sessions. It is covered if the text that answers it
is in what is given. A chain is the questions about one session, asked in one new session. All is by words alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from bench.measure import DATA, ROOT, SHARED, relative
from bench.report import Report, Row
from core import config
from core.home import Home
from evals.runs.corpora import build
from evals.sets import spans
from evals.sets.dataset import Corpus, Question
from evals.sets.loading import load
from qmd.search.quoting import Question as Words
from runtime.asking.ask import Asker, Request
from runtime.asking.request import AGENT
from runtime.hooks import recall
from runtime.injections.ledger import tokens
from runtime.mcp import words as wording

SAMPLES = SHARED / "samples"
_SET = ROOT / "tests" / "data" / "answers" / "answers.json"
# An agent asks for so many hits.
_HITS = 3
# Nobody waits for the hook here, and other programs may be at work.
_PATIENCE_S = "10"

Given = Callable[[Question], str]


def measure(report: Report, *, quick: bool) -> None:  # noqa: ARG001  # it takes seconds
    """Index the samples, then give what each way gives for each question."""
    if not SAMPLES.is_dir():
        report.skip("coverage", f"no {relative(SAMPLES)}")
        return
    (dataset,) = load([str(_SET)], Home(str(DATA / "home-coverage")))
    (corpus,) = dataset.corpora
    built = build(Home(str(DATA / "home-coverage")), corpus)
    home = Home(built.root, built.inbox)
    facts = [question for question in dataset.questions if question.spans]
    others = [question for question in dataset.questions if question.kind == "other topic"]
    whole = {question.id: _whole(built.root, built.resolve(question)) for question in facts}
    os.environ["BRAIN_RECALL_S"] = _PATIENCE_S
    with Asker(home, config.load(home), remember=False) as asker:
        ways: dict[str, Given] = {
            "ask": lambda question: _asked(asker, question),
            "prompt hook": lambda question: _recalled(home, question),
            "grep": _Grep(corpus),
        }
        for name, given in ways.items():
            _compare(report, name, given, facts, others, whole)


def _compare(
    report: Report,
    name: str,
    given: Given,
    facts: list[Question],
    others: list[Question],
    whole: dict[str, str],
) -> None:
    chains: dict[str, int] = {}
    sessions: dict[str, int] = {}
    covered = 0
    for question in facts:
        text = given(question)
        chain = _chain(question)
        chains[chain] = chains.get(chain, 0) + tokens(len(text))
        sessions[chain] = tokens(len(whole[question.id]))
        covered += spans.first(question.spans, [text], len(text)) > 0
    size = median(chains.values())
    said = f"the whole right sessions: {median(sessions.values()):,.0f} tokens"
    report.add(
        Row(
            f"coverage: {name}, {size:,.0f} tokens a chain (median)",
            f"{covered / len(facts):.0%} of {len(facts)} facts",
            said,
        )
    )
    unasked = sum(bool(given(question)) for question in others)
    report.add(
        Row(f"coverage: {name}, questions on other topics that are given something", f"{unasked} of {len(others)}")
    )


def _chain(question: Question) -> str:
    return min(question.relevant)


def _asked(asker: Asker, question: Question) -> str:
    envelope = asker.ask(question.text, Request(limit=_HITS, literal=True, mode="lex", budget=AGENT))
    return wording.hits(envelope) if envelope["hits"] else ""


def _recalled(home: Home, question: Question) -> str:
    # A session of this run: what one was given is never given again, and the home stays for the next run.
    session = f"bench-{os.getpid()}-{_chain(question) if question.relevant else question.id}".replace("/", "-")
    return recall.speak(home, "prompt", {"session_id": session, "prompt": question.text}, misses_only=False).text


class _Grep:
    """All lines of the raw files with the rarest word of a question, as `grep -ri` prints them."""

    def __init__(self, corpus: Corpus) -> None:
        self._lines = [(line.lower(), line) for line in _lines(corpus)]

    def __call__(self, question: Question) -> str:
        found = [[line for lower, line in self._lines if stem in lower] for stem in Words(question.text).stems]
        rarest = min((lines for lines in found if lines), key=lambda lines: len(lines), default=[])
        # What JSON escapes is read as it is meant.
        return "\n".join(rarest).replace('\\"', '"').replace("\\n", "\n")


def _lines(corpus: Corpus) -> Iterator[str]:
    for folders in corpus.sources.values():
        for folder in folders:
            for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
                yield from path.read_text("utf-8", "replace").splitlines()


def _whole(root: str, question: Question) -> str:
    return "\n".join(path.read_text("utf-8") for name in question.relevant if (path := Path(root, name)).is_file())
