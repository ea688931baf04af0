from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import jsonio

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_TEXT, inner, max_size=5),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_printed_is_json_of_the_value_on_one_line(value: Any) -> None:
    text = jsonio.dumps(value)
    assert "\n" not in text
    assert json.loads(text) == value


@given(VALUES)
def test_what_was_printed_is_read_as_it_was(value: Any) -> None:
    assert jsonio.loads(f" \n{jsonio.dumps(value)}\t") == value


@given(st.text(max_size=20) | st.text('[]{}",:0123456789.-+eE\\/bfnrtuNaIinyl \t', max_size=20))
def test_what_is_read_is_what_any_reader_would_read(text: str) -> None:
    try:
        value = jsonio.loads(text)
    except ValueError:
        with pytest.raises(ValueError, match=r".*"):
            json.loads(text, parse_constant=float.fromhex)
        return
    assert json.dumps(value) == json.dumps(json.loads(text))


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", '{"a": 1} {', "1 2", "nul", "NaN", "[Infinity]", "-Infinity", '"a\nb"', "[" * 200_000, "é"],
    ids=["none", "space", "open", "more", "two", "nul", "nan", "infinity", "negative", "line", "deep", "letter"],
)
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        jsonio.loads(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [{"a": float("-inf")}]], ids=str)
def test_numbers_that_json_has_not_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        jsonio.dumps(value)


def test_a_lone_surrogate_is_refused_not_garbled() -> None:
    with pytest.raises(UnicodeEncodeError):
        jsonio.dumps({"a": "\ud800"})


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object()])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(TypeError):
        jsonio.dumps([value])
