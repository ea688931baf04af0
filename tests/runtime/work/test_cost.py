from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.config_yaml import parse as parse_config
from core.errors import BadInput
from runtime.work.cost import cost, lines, parse, price
from tests.runtime.index_fixture import Shelf
from tests.runtime.work.sessions import did


def ask(shelf: Shelf, by: str = "project", **within: Any) -> dict[str, Any]:
    return cost(shelf.home, shelf.config, by, **within)


def names(envelope: dict[str, Any]) -> list[str]:
    return [each["name"] for each in envelope["groups"]]


def spent(shelf: Shelf, name: str, tokens: list[str], *models: str, **more: Any) -> None:
    did(shelf, name, "- Bash: pytest\n", tokens=tokens, models=list(models), **more)


def test_tokens_add_up_by_project_the_most_output_first(shelf: Shelf) -> None:
    spent(shelf, "a", ["1/20/3/40"], "sonnet")
    spent(shelf, "b", ["100/0/0/5"], "sonnet")
    spent(shelf, "c", ["7/0/0/900"], "sonnet", project="/u/x/web")
    envelope = ask(shelf)
    assert names(envelope) == ["/u/x/web", "/u/x/api"]
    assert envelope["groups"][1] == {
        "name": "/u/x/api", "title": "", "sessions": 2, "input": 101, "cached": 20, "stored": 3, "output": 45,
        "price": None,
    }  # fmt: skip
    assert (envelope["total"]["output"], envelope["sessions"]) == (945, 3)


def test_a_subagent_counts_for_its_session(shelf: Shelf) -> None:
    spent(shelf, "a", ["1/0/0/2"], "sonnet", title="The work")
    spent(shelf, "agent-1", ["10/0/0/20"], "haiku", parent="a", title="A part")
    (group,) = ask(shelf, "session")["groups"]
    assert (group["name"], group["title"], group["sessions"], group["output"]) == ("a", "The work", 1, 22)


def test_a_session_with_several_models_is_split_by_model(shelf: Shelf) -> None:
    spent(shelf, "a", ["1/0/0/2 haiku", "3/0/0/4 sonnet"], "haiku", "sonnet")
    assert {each["name"]: each["output"] for each in ask(shelf, "model")["groups"]} == {"haiku": 2, "sonnet": 4}


def test_days_come_newest_first(shelf: Shelf) -> None:
    spent(shelf, "a", ["1/0/0/900"], "sonnet", ago=9)
    spent(shelf, "b", ["1/0/0/2"], "sonnet", ago=1)
    assert [each["output"] for each in ask(shelf, "day")["groups"]] == [2, 900]
    assert ask(shelf, "day", limit=1)["total"]["output"] == 902


def test_sessions_without_tokens_are_counted_and_alone_they_are_nothing(shelf: Shelf) -> None:
    did(shelf, "a", "- Bash: pytest\n")
    envelope = ask(shelf)
    assert (envelope["error"], envelope["without"]) == ("no_results", 1)
    assert lines(envelope) == ["No session has its tokens in the log.", "1 session without tokens in the log"]


def test_only_the_project_that_was_asked_for_counts(shelf: Shelf) -> None:
    spent(shelf, "a", ["1/0/0/2"], "sonnet")
    spent(shelf, "b", ["1/0/0/3"], "sonnet", project="/u/x/web")
    assert names(ask(shelf, project="web")) == ["/u/x/web"]


@pytest.mark.parametrize("tokens", ["1/2/3", "a/b/c/d", "1/2/3/-4", "1/2/3/4/5", "٣/1/1/1", f"1/1/1/{'9' * 5000}"])
def test_an_item_of_another_form_is_left_out(tokens: str) -> None:
    assert list(parse(f'["{tokens}"]', '["sonnet"]')) == []


def test_a_price_is_the_first_pattern_that_matches_and_none_is_invented() -> None:
    prices = {"claude-sonnet-4*": {"input": 3, "output": 15}, "claude*": {"input": 100}}
    assert price("claude-sonnet-4-5", (1_000_000, 5, 5, 200_000), prices) == 6
    assert price("gpt-5", (1, 1, 1, 1), prices) is None


def test_money_is_shown_where_every_model_has_a_price(shelf: Shelf) -> None:
    spent(shelf, "a", ["1000000/0/0/1000000"], "claude-sonnet-4-5")
    spent(shelf, "b", ["1/0/0/2"], "gpt-5", project="/u/x/web")
    shelf.config.data["prices"] = {"claude*": {"input": 3, "output": 15}}
    envelope = ask(shelf)
    assert [each["price"] for each in envelope["groups"]] == [18.0, None]
    assert envelope["total"]["price"] is None
    shown = "\n".join(lines(envelope))
    assert "18.00  /u/x/api" in shown
    assert "?  /u/x/web" in shown


@pytest.mark.parametrize("prices", ["{4: {input: 1}}", "{a: 3}", "{a: {inputs: 3}}", "{a: {input: -1}}", "[a]"])
def test_a_price_table_of_another_form_is_refused(tmp_path: Path, prices: str) -> None:
    file = tmp_path / "collections.yml"
    file.write_text(f"collections: {{brain: {{path: brain}}}}\nprices: {prices}\n")
    with pytest.raises(BadInput):
        parse_config(str(file))
