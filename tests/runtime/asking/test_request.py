from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadQuery
from runtime.asking.request import MAX_CHARACTERS, validate


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
