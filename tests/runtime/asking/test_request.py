from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import redaction
from core.errors import BadQuery
from runtime.asking.request import MAX_CHARACTERS, echoed, validate
from tests.core.redaction.labelled import positives


@pytest.mark.parametrize(
    "query", ["", "  ", "\t", "x" * (MAX_CHARACTERS + 1), "a\x00b", "a\nb", "a\x1b[31mb", "a\x85b", "\ud800"]
)
@pytest.mark.parametrize("literal", [False, True])
def test_what_no_question_may_hold_is_refused_with_a_repair(query: str, literal: bool) -> None:
    with pytest.raises(BadQuery) as caught:
        validate(query, literal=literal)
    assert caught.value.code == 64
    assert caught.value.fix


@pytest.mark.parametrize("query", ["ls; rm -rf /", "run `id`", "echo $(id)"])
def test_shell_shaped_questions_are_refused_unless_meant_literally(query: str) -> None:
    with pytest.raises(BadQuery) as caught:
        validate(query)
    assert "--literal" in caught.value.fix
    assert validate(query, literal=True) == query


@pytest.mark.parametrize(
    "query", ["what's up?", "a | b && c > d", "$HOME and 100%", "--no-verify", "検索 é 🎉", "x" * MAX_CHARACTERS]
)
def test_all_else_is_a_question(query: str) -> None:
    assert validate(f" {query} ") == query


@given(st.text(max_size=50))
def test_whatever_passes_is_one_printable_line(query: str) -> None:
    try:
        passed = validate(query, literal=True)
    except BadQuery:
        return
    assert passed
    assert passed.encode()
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in passed)


def _key() -> str:
    return "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    "question",
    [
        f"why does {_key()} fail",
        f"curl -H 'x: {_key()}'",
        "my pin is 4711",
        "postgres://u:hunter9x@host/db",
        "a <private>b</private>",
    ],
)
def test_a_secret_in_a_question_is_not_repeated(question: str) -> None:
    assert echoed(question) == redaction.shown(question) != question


@pytest.mark.parametrize(
    "question",
    [
        "why did test_worker_drains fail?",
        "ECONNREFUSED on port 8025",
        "what's in runtime/asking/ask.py",
        "token refresh race",
        "git commit --no-verify in src/auth/token.py",
        "why is getDescriptionForCheckpoint exported",
        "which files were removed from ~/.claude",
        "PR 91 token usage, which review comments did we fix",
        "CLAUDE.md から消したコマンドは？",
    ],
)
def test_a_plain_question_is_repeated_without_the_rules(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "shown", lambda _: "the rules were asked")
    assert echoed(question) == question


@pytest.mark.parametrize(
    "question",
    [
        "what is dQwXvKzRbNmTpLsHjGfYcAeUiOpQwErT",  # letters that are drawn are no name in camel case
        "the user's PIN was 4711",
        "which option is -z of that tool",
    ],
)
def test_a_question_that_may_hold_a_secret_is_looked_at_by_the_rules(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "shown", lambda _: "the rules were asked")
    assert echoed(question) == "the rules were asked"


@pytest.mark.long
def test_no_line_that_the_rules_change_is_taken_for_plain() -> None:
    lines = {line.strip() for case in positives(5) for line in case.text.split("\n")}
    assert len(lines) > 1000
    assert {line: echoed(line) for line in lines if echoed(line) != redaction.shown(line)} == {}


@given(st.text(max_size=60))
def test_whatever_is_asked_is_repeated_as_the_rules_show_it(question: str) -> None:
    assert echoed(question) == redaction.shown(question)
