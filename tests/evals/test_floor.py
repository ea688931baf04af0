"""The ranking's constants stand on question sets that are not shipped; a small invented one guards them here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import qmd.index.terms
import qmd.search.scoring
import qmd.search.search
import runtime.asking.chronology
from core import config
from core.home import Home
from evals.arms import asking
from evals.arms.registry import Place
from evals.runs import corpora, metrics
from evals.sets import loading
from evals.sets.dataset import Dataset
from tests.evals import invented

# As measured: hit@1 75.0, hit@5 98.6, nDCG@10 87.7; one question that falls from first to second costs 0.5 of nDCG.
HIT_1, HIT_5, NDCG = 0.73, 0.97, 0.870

# Nothing of which those friends and bakers ever spoke.
ELSEWHERE = """how to parse a csv file in python
convert a datetime to a unix timestamp
regular expression for an email address
connect to a postgres database with a pool
sort a list of dictionaries by key
difference between a process and a thread
python read environment variable with default
how do I undo the last git commit
calculate the cosine similarity of two vectors
write bytes to a socket without blocking
what is the time complexity of a hash table
load yaml configuration and validate it
decorator that retries a function with backoff
remove duplicate rows from a data frame
check whether a string is a palindrome
how to mock a method in unit tests
upload a file to object storage
render a template with variables
compress a folder into a zip archive
print a progress bar in the terminal""".splitlines()

Patch = pytest.MonkeyPatch
Places = list[tuple[str, Place]]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Places]:
    folder = tmp_path_factory.mktemp("invented")
    (folder / "invented.json").write_text(json.dumps(invented.dialogs()), encoding="utf-8")
    home = Home(str(folder / "home"))
    home.make()
    (dataset,) = loading.load([str(folder / "invented.json")], home)
    places = []
    for corpus in dataset.corpora:
        built = corpora.build(home, corpus)
        scratch = Home(built.root)
        places.append((corpus.name, Place(scratch, config.load(scratch), "", json.loads(Path(built.ids).read_text()))))
    return dataset, places


@pytest.fixture(autouse=True)
def _utc() -> Iterator[None]:
    time.tzset()  # TZ is set by the test's own world
    yield
    time.tzset()


def _measure(dataset: Dataset, places: Places) -> dict[str, float]:
    rows = []
    for name, place in places:
        with asking.ask(place, min_score="0") as answer:
            for question in dataset.questions:
                if question.corpus == name:
                    ranked = [place.identify(found) for found in answer(question.text, metrics.DEPTH)]
                    rows.append(metrics.measures(ranked, question.relevant))
    return metrics.mean(rows)


def test_the_invented_conversations_are_answered_as_well_as_they_were(asked: tuple[Dataset, Places]) -> None:
    found = _measure(*asked)
    assert len(asked[0].questions) == 72
    assert (found["hit@1"] >= HIT_1, found["hit@5"] >= HIT_5, found["ndcg@10"] >= NDCG) == (True, True, True), found


def _scoring(name: str, value: float) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(qmd.search.scoring, name, value)


def _no_stop_words(patch: Patch) -> None:
    patch.setattr(qmd.index.terms, "STOP", frozenset())


def _no_dates(patch: Patch) -> None:
    patch.setattr(runtime.asking.chronology, "date_boost", lambda question, now: (None, None))


def _no_irregular_forms(patch: Patch) -> None:
    patch.setattr(qmd.index.terms, "_FORMS", "")


SPOILT = {
    "length hardly counts": _scoring("B", 0.1),
    "length counts too much": _scoring("B", 3.0),
    "only neighbours are a span": _scoring("SPAN_MAX", 1),
    "wide spans are as good": _scoring("SPAN_AVERAGE", 160),
    "every word is a term": _no_stop_words,
    "no date is read": _no_dates,
    "no irregular form is known": _no_irregular_forms,
}


# One constant, one table and one step; the others take as long and run with the long tests.
SHORT = ("length counts too much", "every word is a term", "no date is read")


@pytest.mark.parametrize(
    "spoil",
    [pytest.param(spoil, id=name, marks=() if name in SHORT else pytest.mark.long) for name, spoil in SPOILT.items()],
)
def test_the_floor_notices_a_constant_that_was_spoilt(
    asked: tuple[Dataset, Places], spoil: Callable[[Patch], None], monkeypatch: Patch
) -> None:
    spoil(monkeypatch)
    found = _measure(*asked)
    assert found["hit@1"] < HIT_1 or found["hit@5"] < HIT_5 or found["ndcg@10"] < NDCG, found


def test_words_alone_tell_what_was_never_spoken_of(asked: tuple[Dataset, Places]) -> None:
    dataset, places = asked
    lost = answered = 0
    for name, place in places:
        with asking.ask(place) as answer:
            own = [question for question in dataset.questions if question.corpus == name]
            lost += sum(not answer(question.text, 5) for question in own)
            answered += sum(bool(answer(question, 5)) for question in ELSEWHERE)
    assert lost <= 0.05 * len(dataset.questions), lost
    assert answered <= 0.15 * len(ELSEWHERE) * len(places), answered
