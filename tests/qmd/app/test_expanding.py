"""``qmd query`` with a generator: what it adds, what it costs nothing to leave out, and whom it never speaks to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.qmd.app.world import Done, Qmd, collection, stand, write
from tests.qmd.embedding.endpoint import Endpoint, hangs, says
from tests.qmd.generation.test_of_openai import chat

KEY = "sk-very-secret-1234567890"
EXPANDED = "lex: bread\nlex: dough\nvec: what is baked\nhyde: The loaf was in the oven.\n"


@pytest.fixture
def endpoint(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    monkeypatch.setenv("QMD_GENERATE_API_KEY", KEY)
    endpoint.always = says(chat(EXPANDED))
    return endpoint


@pytest.fixture
def kitchen(place: Path, qmd: Qmd) -> Path:
    """Notes that a question about food has few words in common with."""
    return collection(
        place,
        qmd,
        "kitchen",
        {
            "food.md": "# Food\n\nSomething about food.\n",
            "bread.md": "# Bread\n\nDough and an oven.\n",
            "rain.md": "# Rain\n\nRain fell all day.\n",
        },
    )


def configure(tmp_path: Path, endpoint: Endpoint, **more: Any) -> Path:
    file = tmp_path / "config" / "qmd" / "index.yml"
    section = {"model": "small", "base_url": endpoint.url, **more}
    file.write_text(file.read_text() + f"generation: {json.dumps(section)}\n")
    return file


def files(done: Done) -> list[str]:
    assert done.code == 0, done.err
    return [row["file"].rpartition("/")[2] for row in json.loads(done.out)]


def test_a_question_is_expanded_once_and_found_by_other_words(
    kitchen: Path, qmd: Qmd, tmp_path: Path, endpoint: Endpoint
) -> None:
    assert files(qmd("query", "food", "--json")) == ["food.md"]
    assert endpoint.requests == []
    configure(tmp_path, endpoint)
    done = qmd("query", "food", "--json", "--explain")
    assert files(done) == ["food.md", "bread.md"]
    tree = done.err[done.err.index("Expanding query by openai/small") :]
    assert tree.startswith(
        "Expanding query by openai/small...\n├─ food\n├─ lex: bread\n├─ lex: dough\n├─ vec: what is baked\n└─ hyde: The"
    )
    assert "answered by keywords alone, not by meaning" in done.err
    assert "ot expanded" not in done.err
    traces = [row["explain"]["rrf"]["contributions"] for row in json.loads(done.out)]
    assert [[(each["queryType"], each["query"], each["weight"]) for each in trace] for trace in traces] == [
        [("original", "food", 2)],
        [("lex", "bread", 1), ("lex", "dough", 1)],
    ]
    # Twice the weight of one first rank, and two first ranks of half of it: equal, and the question's own hit is first.
    totals = [row["explain"]["rrf"]["totalScore"] for row in json.loads(done.out)]
    assert totals == [pytest.approx(2 / 61 + 0.05), pytest.approx(1 / 61 + 1 / 61 + 0.05)]
    assert files(qmd("query", "food", "--json")) == ["food.md", "bread.md"]
    assert len(endpoint.requests) == 1, "the second answer came out of the index"
    assert KEY not in json.dumps([body for _, _, body in endpoint.requests])
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in kept
    assert qmd("cleanup").code == 0
    qmd("query", "food")
    assert len(endpoint.requests) == 2


def test_expansions_are_searched_by_meaning_after_the_question_itself(
    kitchen: Path, qmd: Qmd, tmp_path: Path, endpoint: Endpoint
) -> None:
    assert qmd("embed").code == 0
    configure(tmp_path, endpoint)
    done = qmd("query", "food", "--json", "--explain", "--no-rerank")
    lists = {
        each["listIndex"]: (each["source"], each["queryType"], each["weight"])
        for row in json.loads(done.out)
        for each in row["explain"]["rrf"]["contributions"]
    }
    assert [lists[index] for index in sorted(lists)] == [
        ("fts", "original", 2),
        ("fts", "lex", 1),
        ("fts", "lex", 1),
        ("vec", "original", 2),
        ("vec", "vec", 1),
        ("vec", "hyde", 1),
    ]
    assert "not by meaning" not in done.err
    assert "ot expanded" not in done.err


def test_a_strong_hit_needs_no_expansion_unless_there_is_an_intent(
    kitchen: Path, qmd: Qmd, tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:

    from qmd.search import hybrid

    monkeypatch.setattr(hybrid, "STRONG_SCORE", 0.1)
    monkeypatch.setattr(hybrid, "STRONG_GAP", 0.1)
    configure(tmp_path, endpoint)
    done = qmd("query", "food", "--json")
    assert files(done) == ["food.md"]
    assert "skipping expansion" in done.err
    assert endpoint.requests == []
    done = qmd("query", "food", "--json", "--intent", "baking")
    assert files(done) == ["food.md", "bread.md"]
    assert "<intent>\nbaking\n" in endpoint.requests[0][2]["messages"][1]["content"]


@pytest.mark.parametrize(
    ("value", "status", "said"),
    [
        (chat("I'm sorry, I cannot do that."), 200, "no lex:, vec: or hyde: line"),
        (chat("intent: all\nexpand: food\nvec:\n"), 200, "nothing to search for besides the question"),
        (b"{", 200, "something else than JSON"),
        (chat("lex: bread " * 9999), 200, "has 109,989 characters"),
        ({"error": {"message": f"bad key {KEY}"}}, 401, "does not take the key"),
        ({"error": {"message": f"no model {KEY}"}}, 404, "no model ***"),
    ],
)
def test_a_generator_that_fails_costs_nothing_but_the_expansion(
    kitchen: Path, qmd: Qmd, tmp_path: Path, endpoint: Endpoint,
    value: Any, status: int, said: str,
) -> None:  # fmt: skip
    endpoint.always = says(value, status)
    configure(tmp_path, endpoint)
    done = qmd("query", "food", "--json")
    assert files(done) == ["food.md"]
    assert "Not expanded: openai/small: " in done.err
    assert said in done.err
    assert KEY not in done.err


def test_a_generator_that_is_slow_is_left_behind(kitchen: Path, qmd: Qmd, tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.always = hangs(endpoint.stopped)
    configure(tmp_path, endpoint, timeout_s=0.2)
    done = qmd("query", "food", "--json")
    assert files(done) == ["food.md"]
    assert "Not expanded: openai/small: " in done.err
    assert "in time" in done.err or "too long" in done.err


def test_an_explicit_expand_line_is_its_words(kitchen: Path, qmd: Qmd, tmp_path: Path, endpoint: Endpoint) -> None:
    assert files(qmd("query", "expand: food", "--json")) == ["food.md"]
    configure(tmp_path, endpoint)
    assert files(qmd("query", "expand: food", "--json")) == ["food.md", "bread.md"]
    assert "<question>\nfood\n</question>" in endpoint.requests[0][2]["messages"][1]["content"]


def test_typed_lines_are_nobodys_to_rewrite(kitchen: Path, qmd: Qmd, tmp_path: Path, endpoint: Endpoint) -> None:
    configure(tmp_path, endpoint)
    assert files(qmd("query", "lex: food", "--json")) == ["food.md"]
    assert endpoint.requests == []


def test_the_environment_may_name_the_model(
    kitchen: Path, qmd: Qmd, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("QMD_GENERATE_MODEL", "openai:tiny")
    assert files(qmd("query", "food", "--json")) == ["food.md", "bread.md"]
    assert endpoint.requests[0][2]["model"] == "tiny"
    monkeypatch.setenv("QMD_GENERATE_MODEL", "hf:someone/some.gguf")
    done = qmd("query", "other food", "--json")
    assert "unexpanded" in done.err
    assert "hf:someone/some.gguf is none that this program runs" in done.err


def test_an_invalid_section_is_reported_and_the_question_answered(
    kitchen: Path, qmd: Qmd, tmp_path: Path, endpoint: Endpoint
) -> None:
    configure(tmp_path, endpoint, api_key="sk-1")
    done = qmd("query", "food", "--json")
    assert files(done) == ["food.md"]
    assert "unknown key 'api_key'" in done.err
    assert "⚠ query expansion" in qmd("doctor").out
    assert qmd("status").code == 0


def test_status_and_doctor_name_the_generator(kitchen: Path, qmd: Qmd, tmp_path: Path, endpoint: Endpoint) -> None:
    assert "Generation:  none" in qmd("status").out
    assert "query expansion: plain queries are not expanded: there is no generator" in qmd("doctor").out
    configure(tmp_path, endpoint, timeout_s=3)
    assert "Generation:  openai/small" in qmd("status").out
    assert "✓ query expansion: by openai/small, in 3 s at most" in qmd("doctor").out
    assert endpoint.requests == []


@pytest.mark.parametrize(
    "section", ["generation: {{model: small, base_url: '{url}'}}", "models: {{generate: 'openai:small'}}"]
)
def test_a_projects_configuration_sends_no_question_anywhere_before_it_is_approved(
    place: Path, qmd: Qmd, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, section: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    project = place / "project"
    write(project, {"doc/food.md": "# Food\n\nSomething about food.\n", "doc/bread.md": "# Bread\n\nDough.\n"})
    write(project, {".qmd/index.yml": f"collections: {{doc: {{path: doc}}}}\n{section.format(url=endpoint.url)}\n"})
    stand(monkeypatch, project)
    assert qmd("update").code == 0
    done = qmd("query", "food", "--format", "files")
    assert (done.code, endpoint.requests) == (0, [])
    assert "unexpanded" in done.err
    monkeypatch.setenv("QMD_TRUST_LOCAL_CONFIG", "1")
    assert "bread.md" in qmd("query", "food", "--format", "files").out
    assert len(endpoint.requests) == 1
