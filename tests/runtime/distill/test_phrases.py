"""Each kind of statement, on both sides: what is one, and what only reads like one."""

from __future__ import annotations

import pytest

from runtime.distill.extractive import distil
from tests.cases import cases
from tests.runtime.distill.session import Turns, body


def found(section: str, *turns: tuple[str, str]) -> list[str]:
    session: Turns = [("user", "Please fix the token refresh in the api."), *turns]
    return [each.text for each in distil(body(session)).sections.get(section, [])]


REJECTS = cases(__file__, "REJECTS")
NOT_REJECTED = cases(__file__, "NOT_REJECTED")
DECIDES = cases(__file__, "DECIDES")
NOT_DECIDED = cases(__file__, "NOT_DECIDED")
OPEN = [
    ("assistant", "Still to do: rotate the signing keys in production."),
    ("assistant", "TODO: cover the expired token in a test."),
    ("assistant", "The Windows path is not yet tested."),
    ("assistant", "Next steps: measure the refresh under load."),
    ("assistant", "Should the grace period be thirty seconds?"),
]
NOT_OPEN = [
    ("assistant", "Want me to commit these changes?"),
    ("assistant", "Should I proceed with bumping the version?"),
    ("assistant", "Would you like me to add documentation?"),
    ("assistant", "The todo-app folder holds the complete application."),
    ("assistant", "✅ Toggle todo completion status"),
    ("assistant", "The remaining milliseconds are the hash itself."),
    ("assistant", "Ready to implement?"),
]


@pytest.mark.parametrize(("role", "text"), REJECTS)
def test_what_turns_an_approach_down_is_a_rejection(role: str, text: str) -> None:
    assert found("rejected", (role, text))


@pytest.mark.parametrize(("role", "text"), NOT_REJECTED)
def test_what_only_reads_like_a_rejection_is_none(role: str, text: str) -> None:
    assert found("rejected", (role, text)) == []


@pytest.mark.parametrize(("role", "text"), DECIDES)
def test_what_was_decided_is_a_decision(role: str, text: str) -> None:
    assert found("decisions", (role, text))


@pytest.mark.parametrize(("role", "text"), NOT_DECIDED)
def test_what_is_asked_supposed_or_offered_is_no_decision(role: str, text: str) -> None:
    assert found("decisions", (role, text)) == []


@pytest.mark.parametrize(("role", "text"), OPEN)
def test_what_a_session_ends_without_is_open(role: str, text: str) -> None:
    assert found("questions", (role, text))


@pytest.mark.parametrize(("role", "text"), NOT_OPEN)
def test_an_offer_and_a_name_leave_nothing_open(role: str, text: str) -> None:
    assert found("questions", (role, text)) == []


def test_a_repeated_statement_is_listed_once() -> None:
    said = ["We decided to use an HttpOnly cookie for it.", "So we decided to use an HttpOnly cookie for it then."]
    assert len(found("decisions", ("user", said[0]), ("assistant", said[1]))) == 1


def test_a_first_prompt_corrects_nothing_it_says_what_is_wanted() -> None:
    text = "We don't need to check for the file, just open the page of the session."
    sections = distil(body([("user", text), ("assistant", "Done.")])).sections
    assert sections["rejected"] == []
    assert [each.text for each in sections["goals"]] == [text]


def test_a_reason_of_another_turn_is_nobodys_reason() -> None:
    turns = [
        ("user", "We decided to use a cookie for the token."),
        ("assistant", "Because the parser is slow, it fails."),
    ]
    assert all(" Why:" not in each.line() for each in distil(body(turns)).sections["decisions"])


def test_a_line_that_a_terminal_wrapped_is_one_sentence() -> None:
    text = "I want the form to load only the data of the one team that is\nopen, not of all."
    assert distil(body([("user", text)])).sections["goals"][0].text == text.replace("\n", " ")
