"""One question, at most one request; a generator's failure is a reason and never an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from core.errors import EngineTimeout
from qmd.generation import expansion
from qmd.generation.expansion import Expander
from qmd.index.store import open_index
from qmd.search import llm_cache
from qmd.vectors import models


class Says:
    """A generator that says these texts in turn, or raises; ``asked`` keeps what it was asked."""

    identity = "openai:small@http://localhost/v1"

    def __init__(self, *texts: str | Exception) -> None:
        self.texts = list(texts)
        self.asked: list[tuple[str, float]] = []

    def ask(self, system: str, prompt: str, timeout_s: float) -> str:
        self.asked.append((prompt, timeout_s))
        text = self.texts.pop(0)
        if isinstance(text, Exception):
            raise text
        return text


@pytest.fixture
def index(tmp_path: Path) -> Iterator[apsw.Connection]:
    path = str(tmp_path / "index.sqlite")
    open_index(path, write=True).close()
    connection = open_index(path)
    yield connection
    connection.close()


def found(source: Expander, query: str = "how is it cached", intent: str = "") -> list[tuple[str, str]]:
    return [(search.kind, search.query) for search in source.expand(query, intent)]


def test_a_second_same_question_asks_nobody(index: apsw.Connection) -> None:
    says = Says("lex: a\nhyde: b\n", "lex: other\n")
    source = Expander(index, says, "openai/small", 10)
    assert found(source) == [("lex", "a"), ("hyde", "b")]
    assert found(source) == [("lex", "a"), ("hyde", "b")]
    assert found(Expander(index, says, "openai/small", 10)) == [("lex", "a"), ("hyde", "b")]
    assert len(says.asked) == 1
    assert says.asked[0][1] == 10
    assert found(source, intent="speed") == [("lex", "other")], "another intent is another question"


def test_answers_lie_where_qmd_keeps_them_under_keys_that_are_none_of_its(index: apsw.Connection) -> None:
    Expander(index, Says("lex: a\nvec: ä\n"), "openai/small", 10).expand("q")
    ((key, result),) = index.execute("SELECT hash, result FROM llm_cache").fetchall()
    model = f"{Says.identity}#{expansion.VERSION}"
    assert key == models.cache_key("expandQuery", {"query": "q", "model": model})
    assert key not in [
        models.cache_key("expandQuery", {"query": "q", "model": name}) for name in ("small", models.GENERATE)
    ]
    assert json.loads(str(result)) == [{"type": "lex", "query": "a"}, {"type": "vec", "query": "ä"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (EngineTimeout("localhost did not answer in time"), "openai/small: localhost did not answer in time"),
        ("I cannot help", "openai/small: the answer has no lex:, vec: or hyde: line"),
    ],
)
def test_a_failure_is_a_reason_and_is_not_kept(index: apsw.Connection, text: str | Exception, said: str) -> None:
    source = Expander(index, Says(text, "lex: a"), "openai/small", 10)
    assert found(source) == []
    assert source.why == said
    assert found(source) == [("lex", "a")], "asked again"
    assert source.why == ""


@pytest.mark.parametrize(
    "stored",
    ["", "nonsense", "{}", "[1]", '[{"type": "lex"}]', '[{"type": "rm", "query": "x"}]', "[" * 100_000, "null"],
)
def test_what_is_no_expansion_in_the_cache_is_not_believed(index: apsw.Connection, stored: str) -> None:
    key = models.cache_key("expandQuery", {"query": "q", "model": f"{Says.identity}#{expansion.VERSION}"})
    assert llm_cache.put(index, {key: stored})
    assert found(Expander(index, Says("lex: a"), "openai/small", 10), "q") == [("lex", "a")]


def test_lines_in_the_cache_are_bounded_as_a_models_are(index: apsw.Connection) -> None:
    key = models.cache_key("expandQuery", {"query": "q", "model": f"{Says.identity}#{expansion.VERSION}"})
    flood = [{"type": "lex", "query": f"\x1b[2Jw{number}"} for number in range(99)]
    assert llm_cache.put(index, {key: json.dumps(flood)})
    assert found(Expander(index, Says(), "openai/small", 10), "q") == [("lex", "w0"), ("lex", "w1"), ("lex", "w2")]


def test_nothing_is_opened_that_is_not_configured_or_cannot_be_used(index: apsw.Connection) -> None:
    assert expansion.opened(index, {}, {}, {"OPENAI_API_KEY": "k"}) == "there is no generator"
    assert expansion.opened(index, {"provider": "openai"}, {}, {}) == "OpenAI wants a key"
    assert "provider must be one of" in str(expansion.opened(index, {"provider": "x"}, {}, {}))
    source = expansion.opened(index, {"base_url": "http://localhost:1/v1", "timeout_s": 30}, {}, {}, 15)
    assert isinstance(source, Expander)
    assert (source.name, source._timeout_s) == ("openai/gpt-4.1-mini", 15)


def test_an_index_of_another_program_that_keeps_no_answers_costs_no_question() -> None:
    foreign = apsw.Connection(":memory:")
    assert found(Expander(foreign, Says("lex: a"), "openai/small", 10), "q") == [("lex", "a")]
    foreign.close()
