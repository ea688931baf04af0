from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

from core.errors import EngineTimeout, Internal, Refused
from qmd.index.store import open_index
from qmd.reranking import judge
from qmd.reranking.judge import Judge, is_logit, opened, probability
from qmd.vectors.models import cache_key


class Fake:
    """Scores by length; ``asked`` keeps what was asked."""

    name = "fake/m"
    identity = "fake"
    remote = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self.failure: BaseException | None = None
        self.wait: threading.Event | None = None
        self.cancelled = False
        self.at_once = 0

    def score(
        self, query: str, texts: Sequence[str], until: float, found: dict[int, float] | None = None
    ) -> list[float]:
        self.asked.append((query, list(texts)))
        scores = [len(text) / 100 for text in texts]
        kept: dict[int, float] = {} if found is None else found
        kept.update(list(enumerate(scores))[: self.at_once])
        if self.wait is not None:
            self.wait.wait(30)
        if self.failure is not None:
            raise self.failure
        kept.update(enumerate(scores))
        return scores

    def cancel(self) -> None:
        self.cancelled = True

    def close(self) -> None:
        pass


@pytest.fixture
def index(tmp_path: Path) -> str:
    path = str(tmp_path / "index.sqlite")
    open_index(path, write=True).close()
    return path


def test_scores_come_in_the_order_of_the_texts_and_a_text_is_judged_once() -> None:
    fake = Fake()
    judge = Judge(fake)
    assert judge.scores("q", ["bb", "a", "bb"]) == [0.02, 0.01, 0.02]
    assert fake.asked == [("q", ["bb", "a"])]
    assert judge.reason == ""
    assert judge.scores("q", ["a"]) == [0.01]
    assert len(fake.asked) == 1


def test_a_failure_is_a_reason_and_no_error() -> None:
    fake = Fake()
    fake.failure = Internal("it answered nonsense")
    judge = Judge(fake)
    assert judge.scores("q", ["a"]) is None
    assert judge.reason == "it answered nonsense"
    fake.failure = None
    assert judge.scores("q", ["a"]) == [0.01]
    assert judge.reason == ""


def test_a_fault_of_ours_is_not_hidden() -> None:
    fake = Fake()
    fake.failure = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        Judge(fake).scores("q", ["a"])


def test_work_that_takes_too_long_is_left_behind_and_cancelled() -> None:
    fake = Fake()
    fake.wait = threading.Event()
    judge = Judge(fake, timeout_s=60)
    started = time.monotonic()
    try:
        assert judge.scores("q", ["a"], within_s=0.05) is None
        assert time.monotonic() - started < 20
        assert "no judgement within 0.05 s" in judge.reason
        assert fake.cancelled
    finally:
        fake.wait.set()


def test_what_was_judged_before_the_time_was_up_is_not_judged_again(index: str) -> None:
    fake = Fake()
    fake.at_once = 2
    fake.failure = EngineTimeout("too late")
    with contextlib.closing(open_index(index)) as connection:
        judge = Judge(fake, connection=connection)
        assert judge.scores("q", ["a", "bb", "ccc"]) is None
        judge.close()
        fake.failure = None
        assert Judge(fake, connection=connection).scores("q", ["a", "bb", "ccc"]) == [0.01, 0.02, 0.03]
    assert [texts for _, texts in fake.asked] == [["a", "bb", "ccc"], ["ccc"]]


def test_scores_are_kept_in_qmds_cache_and_found_again(index: str) -> None:
    fake = Fake()
    with contextlib.closing(open_index(index)) as connection:
        judge = Judge(fake, connection=connection)
        assert judge.scores("q", ["a", "bb"]) == [0.01, 0.02]
        judge.close()
        key = cache_key("rerank", {"query": "q", "model": "fake", "chunk": "a"})
        assert connection.execute("SELECT result FROM llm_cache WHERE hash = ?", (key,)).get == "0.01"
        again = Judge(fake, connection=connection)
        assert again.scores("q", ["bb", "ccc", "a"]) == [0.02, 0.03, 0.01]
        assert fake.asked[1:] == [("q", ["ccc"])]
        assert again.scores("other", ["a"]) == [0.01]
        assert fake.asked[2:] == [("other", ["a"])]


def test_a_cache_that_cannot_be_used_is_no_failure(index: str, tmp_path: Path) -> None:
    with contextlib.closing(open_index(index, write=True)) as connection:
        connection.execute("INSERT INTO llm_cache VALUES('k', '{\"score\": 1}', '2020-01-01')")
        connection.execute("INSERT INTO llm_cache VALUES('n', 'nan', '2020-01-01')")
        assert judge.read_scores(connection, ["k", "n"]) == {}
        connection.execute("BEGIN IMMEDIATE")
        judging = Judge(Fake(), connection=connection)
        assert judging.scores("q", ["a"]) == [0.01]
        judging.close()  # somebody else is writing
        connection.execute("ROLLBACK")
        assert connection.execute("SELECT count(*) FROM llm_cache").get == 2
    with contextlib.closing(apsw.Connection(":memory:")) as foreign:
        assert Judge(Fake(), connection=foreign).scores("q", ["a"]) == [0.01]


def test_what_leaves_the_machine_passes_the_filter() -> None:
    fake = Fake()
    assert Judge(fake, outgoing=lambda texts: [text.upper() for text in texts]).scores("q", ["a"]) == [0.01]
    assert fake.asked == [("Q", ["A"])]
    fake.remote = False
    Judge(fake, outgoing=lambda texts: [text.upper() for text in texts]).scores("q", ["a"])
    assert fake.asked[1:] == [("q", ["a"])]

    def withheld(texts: list[str]) -> list[str]:
        raise Refused("nothing leaves before it is redacted")

    fake.remote = True
    judge = Judge(fake, outgoing=withheld)
    assert judge.scores("q", ["a"]) is None
    assert judge.reason == "nothing leaves before it is redacted"
    assert len(fake.asked) == 2


def test_logits_become_probabilities_in_their_order() -> None:
    found = [probability(logit) for logit in (-1e9, -11.5, 0.0, 3.0, 1e9)]
    assert found == sorted(set(found))
    assert (found[2], min(found) >= 0, max(found) <= 1) == (0.5, True, True)
    assert [is_logit(score) for score in (0.0, 1.0, 0.5, -0.01, 1.01)] == [False, False, False, True, True]


def test_a_reranker_of_logits_is_one_for_every_question(index: str) -> None:
    fake = Fake()
    with contextlib.closing(open_index(index)) as connection:
        judge = Judge(fake, connection=connection)
        assert judge.scores("q", ["a" * 50]) == [0.5]
        assert judge.scores("q", ["a" * 300, "b" * 50]) == [probability(3), probability(0.5)]
        assert judge.scores("q", ["a" * 50]) == [probability(0.5)]
        judge.close()
        later = Judge(fake, connection=connection)
        assert later.scores("another", ["c" * 50]) == [probability(0.5)]
        fake.identity = "another"
        assert Judge(fake, connection=connection).scores("another", ["c" * 50]) == [0.5]
    alone = Judge(Fake())
    assert alone.scores("q", ["a" * 300]) == [probability(3)]
    alone.keep()
    assert alone.scores("q", ["a" * 50]) == [probability(0.5)]


def test_without_configuration_there_is_no_judge() -> None:
    assert opened({}, {}, {}) is None


def test_it_waits_no_longer_than_it_may(tmp_path: Path) -> None:
    judge = opened({"base_url": "http://127.0.0.1:9/v1", "timeout_s": 60}, {}, {}, most_s=2)
    assert judge is not None
    assert judge.timeout_s == 2
