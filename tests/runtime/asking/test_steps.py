"""Each step alone: what it reads from an inquiry and what it leaves there."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from core.home import Home
from core.jsonb import pack
from core.version import REDACTION
from qmd.index.catalogue import Filters
from qmd.index.store import Deadline
from qmd.search.search import Hit
from runtime.asking import arranging, ask
from runtime.asking.ask import Asker, Inquiry
from runtime.asking.request import Request
from tests.runtime.index_fixture import Shelf


def hit(number: int, path: str, score: float, collection: str = "brain", **fields: object) -> Hit:
    return Hit((number, collection, path, path, f"{number:064x}", 0, 0, 1, pack(fields), REDACTION), score, {})


def inquiry(*hits: Hit, question: str = "walrus", **given: Any) -> Inquiry:
    made = Inquiry(question, Request(**given), Deadline(apsw.Connection(":memory:"), 1.0), Filters())
    made.hits = list(hits)
    return made


@pytest.fixture
def asker(home: Home) -> Asker:
    return Asker(home, Shelf(home).config)


def paths(made: Inquiry) -> list[str]:
    return [each.path for each in made.hits]


@pytest.mark.parametrize(
    ("hits", "special"),
    [
        ([hit(1, "a", 0.9), hit(2, "b", 0.8)], False),
        ([hit(1, "a", 0.9), hit(2, "a", 0.8, "distilled")], True),
        ([hit(1, "a", 0.9), hit(2, "b", 0.8, synthetic=True)], True),
        ([hit(1, "a", 0.9, superseded_by="new")], True),
        ([], False),
    ],
)
def test_hits_are_arranged_only_where_one_is_special(hits: list[Hit], special: bool) -> None:
    assert ask.is_special(inquiry(*hits)) is special


def test_a_synthetic_hit_counts_half_and_equal_scores_stay_in_order() -> None:
    made = inquiry(hit(1, "m", 0.8, synthetic=True), hit(2, "h", 0.5), hit(3, "i", 0.4))
    arranging.demote_synthetic(made.hits)
    assert paths(made) == ["h", "m", "i"]


def test_a_session_and_its_distillate_are_united_and_the_limit_holds(asker: Asker) -> None:
    made = inquiry(
        hit(1, "a.md", 0.9, session_id="a"),
        hit(2, "a.md", 0.8, "distilled", session_id="a"),
        hit(3, "b.md", 0.7, "distilled", session_id="b"),
        hit(4, "b.md", 0.6, session_id="another"),
        limit=2,
    )
    made.wanted = 4
    arranging.arrange(asker, made)
    del made.hits[made.request.limit :]
    assert [each.id for each in made.hits] == [1, 3]
    assert {kept: twin.id for kept, twin in made.twins.items()} == {1: 2}


def test_a_superseded_entry_is_below_its_successor(home: Home) -> None:
    with Asker(home, Shelf(home).config) as asker:
        made = inquiry(hit(1, "2026/01/old.md", 0.9, superseded_by="new"), hit(2, "x.md", 0.8), hit(3, "new.md", 0.7))
        arranging.arrange(asker, made)
    assert paths(made) == ["new.md", "2026/01/old.md", "x.md"]
