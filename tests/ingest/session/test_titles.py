"""A session's title is what a person recognises it by, never how every session begins."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.session.document import Turn
from ingest.session.titles import MAX_TITLE, UNTITLED, headline, says_something, shorten, title
from tests.cases import cases
from tests.tables import every

ROLES = (
    (1, ("user", "command")),
    (1, ("compaction", "recap")),
    (1, ("teammate",)),
    (2, ("assistant",)),
    (1, ("task",)),
    (2, ("subagent",)),
)


def _turns(spoken: list[list[str]]) -> list[Turn]:
    """Turns of [role, text, …]; a text that begins with "- " is a list line."""
    found = []
    for role, *texts in spoken:
        turn = Turn(role, "")
        for text in texts:
            turn.message((text.startswith("- "), text))
        found.append(turn)
    return found


@pytest.mark.parametrize("case", cases(__file__, "test_a_prompt_is_named_by_its_request"), ids=lambda case: case[1])
def test_a_prompt_is_named_by_its_request(case: list[str]) -> None:
    text, expected = case
    assert headline(text) == expected


@every(cases(__file__, "test_what_any_session_begins_with_says_nothing"))
def test_what_any_session_begins_with_says_nothing(text: str) -> None:
    assert not says_something(headline(text))
    turns = _turns([["user", text], ["user", "add a dark mode"], ["assistant", "I added it to the settings page."]])
    assert title((), turns, ROLES) == "add a dark mode"


@pytest.mark.parametrize("case", cases(__file__, "test_a_session_is_named_by_the_first_that_says_something"))
def test_a_session_is_named_by_the_first_that_says_something(case: dict[str, Any]) -> None:
    assert title(case.get("given", ()), _turns(case["turns"]), ROLES) == case["title"]


def test_a_title_is_cut_at_a_word() -> None:
    assert shorten("word " * 30) == ("word " * 23 + "word…")
    assert shorten("x" * 200) == "x" * 119 + "…"
    assert shorten("fix the parser") == "fix the parser"


@given(
    st.lists(st.tuples(st.sampled_from(["user", "command", "assistant", "task", "teammate"]), st.text(max_size=300))),
    st.lists(st.text(max_size=200), max_size=3),
)
def test_every_session_has_one_line_as_its_title(spoken: list[tuple[str, str]], names: list[str]) -> None:
    found = title(names, _turns([list(each) for each in spoken]), ROLES)
    assert 0 < len(found) <= MAX_TITLE
    assert found == " ".join(found.split())
    assert found.isprintable() or "\n" not in found


def test_a_session_of_nothing_is_untitled() -> None:
    assert title((), _turns([["user", " "], ["command", "- /init"]]), ROLES) == UNTITLED


@pytest.mark.parametrize("text", ["<a>" * 3000, "```\n" * 2000, "at " * 3000, "a: " * 3000, "[" * 8000, "\n" * 8000])
def test_a_hostile_prompt_takes_no_time(text: str) -> None:
    began = time.process_time()
    headline(text)
    assert time.process_time() - began < 0.5
