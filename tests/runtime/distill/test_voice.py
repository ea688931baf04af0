from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.distill.extractive import distil
from runtime.distill.transcript import DOCUMENT, OWN, QUOTED, voices
from tests.cases import cases
from tests.runtime.distill.session import body


@pytest.mark.parametrize("line", cases(__file__, "test_what_was_pasted_is_quoted"))
def test_what_was_pasted_is_quoted(line: str) -> None:
    assert voices("user", ["Why does this happen?", "", line, "", "Please look."]) == [OWN, OWN, QUOTED, OWN, OWN]


@pytest.mark.parametrize("line", cases(__file__, "test_what_was_typed_is_the_speakers_own"))
def test_what_was_typed_is_the_speakers_own(line: str) -> None:
    assert voices("user", [line]) == [OWN]


def test_the_paragraph_after_a_log_belongs_to_it_but_the_last_word_is_the_users() -> None:
    lines = ["It fails:", "", "fatal: no access", "", "Please make sure you have the rights.", "", "Use https instead."]
    assert voices("user", lines) == [OWN, OWN, QUOTED, OWN, QUOTED, OWN, OWN]


def test_what_introduces_a_log_is_the_users() -> None:
    lines = ["I get this error when I start it:", "RangeError: Invalid Date", "and so on"]
    assert voices("user", lines) == [OWN, QUOTED, QUOTED]


def test_a_document_that_is_handed_over_is_one() -> None:
    lines = ["Implement this plan:", "", "# Plan", "", "Never use sessions."]
    assert voices("user", lines) == [OWN, OWN, DOCUMENT, OWN, DOCUMENT]
    assert voices("assistant", lines)[-1] == OWN


def test_quoted_text_decides_and_rejects_nothing() -> None:
    pasted = (
        "Look at this review:\n\n> We decided to use Redis because it is fast.\n> No, don't keep the cache.\n\n"
        "Agent: I will always ask first.\n\n<note>Never use tabs.</note>\n\nWhat do you make of it?"
    )
    found = distil(body([("user", pasted), ("assistant", "I read it.")]))
    assert not found.sections["decisions"]
    assert not found.sections["rejected"]


def test_the_users_own_words_around_a_quotation_count() -> None:
    text = "> We decided to use Redis.\n\nNo, don't use Redis, because we have no server for it."
    found = distil(body([("user", "Which cache do we take?"), ("assistant", "Redis."), ("user", text)]))
    assert [each.text for each in found.sections["rejected"]] == [
        "No, don't use Redis, because we have no server for it."
    ]


@given(st.sampled_from(["user", "assistant", "task"]), st.lists(st.text(max_size=80), max_size=12))
def test_every_line_has_a_voice(role: str, lines: list[str]) -> None:
    assert len(voices(role, lines)) == len(lines)
