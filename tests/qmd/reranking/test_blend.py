"""qmd's blend by place: what a fused rank is worth against what the reranker says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qmd.reranking.judge import Judge
from qmd.search import hybrid
from qmd.search.structured import Search
from tests.examples import examples
from tests.qmd.corpus import indexed

COUNT = 16


class Says:
    """A reranker whose scores are given by the number in a text."""

    name = identity = "says"
    remote = False

    def __init__(self, scores: Sequence[float]) -> None:
        self.given = scores
        self.asked: list[str] = []

    def score(
        self, query: str, texts: Sequence[str], until: float, found: dict[int, float] | None = None
    ) -> list[float]:
        self.asked = list(texts)
        scores = [self.given[int(text.split()[2])] for text in texts]
        (found if found is not None else {}).update(enumerate(scores))
        return scores

    def cancel(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    """Sixteen notes, the first of them the best match for "tide", and so on."""
    files: dict[str, str | bytes] = {
        f"n{number:02}.md": f"# note {number} \n\n" + "tide " * (COUNT - number) + "filler " * 20
        for number in range(COUNT)
    }
    connection, _ = indexed(tmp_path_factory.mktemp("blend"), files)
    yield connection
    connection.close()


def ask(index: apsw.Connection, judge: Judge | None, limits: hybrid.Limits | None = None) -> list[hybrid.FusedHit]:
    return hybrid.documents(index, [Search("lex", "tide", 1)], [], limits or hybrid.Limits(COUNT), judge=judge)


def numbers(hits: list[hybrid.FusedHit]) -> list[int]:
    return [int(Path(hit.found.path).stem[1:]) for hit in hits]


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(0, 1), min_size=COUNT, max_size=COUNT))
def test_each_place_has_its_weight(index: apsw.Connection, scores: list[float]) -> None:
    fused = numbers(ask(index, None))
    assert len(fused) == COUNT
    hits = ask(index, Judge(Says(scores)))
    assert sorted(numbers(hits)) == sorted(fused)
    for hit, number in zip(hits, numbers(hits), strict=True):
        rank = fused.index(number) + 1
        weight = 0.75 if rank <= 3 else 0.6 if rank <= 10 else 0.4
        assert hit.score == pytest.approx(weight / rank + (1 - weight) * scores[number])
        assert hit.trace["rrf"]["rank"] == rank
        assert hit.trace["rrf"]["weight"] == weight
        assert hit.trace["rerankScore"] == scores[number]
        assert hit.trace["blendedScore"] == hit.score
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_where_nothing_is_judged_the_order_and_scores_are_those_without(index: apsw.Connection) -> None:
    plain = ask(index, None)
    judge = Judge(Says([0.0] * COUNT), timeout_s=0)
    late = ask(index, judge)
    assert judge.reason
    assert [(hit.found.uri, hit.score, hit.trace) for hit in late] == [
        (hit.found.uri, hit.score, hit.trace) for hit in plain
    ]


def test_only_candidates_are_read_and_limits_hold_after_blending(index: apsw.Connection) -> None:
    says = Says([0.0] * 4 + [1.0] + [0.0] * 11)
    hits = ask(index, Judge(says), hybrid.Limits(2, 0.0, 5))
    assert len(says.asked) == 5
    # 0.75; 0.6 / 5 + 0.4 = 0.52; 0.75 / 2 is less.
    assert [round(hit.score, 3) for hit in hits] == [0.75, 0.52]
    assert numbers(hits)[1] == 4
    assert len(ask(index, Judge(says), hybrid.Limits(16, 0.5, 5))) == 2
