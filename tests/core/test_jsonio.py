from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import jsonio

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_TEXT, inner, max_size=5),
    max_leaves=20,
)


@given(_VALUES)
def test_what_is_printed_is_json_of_the_value_on_one_line(value: Any) -> None:
    text = jsonio.dumps(value)
    assert "\n" not in text
    assert json.loads(text) == value


@given(_VALUES)
def test_packing_loses_nothing(value: Any) -> None:
    unpacked = jsonio.unpack(jsonio.pack(value))
    assert unpacked == value
    assert json.dumps(unpacked) == json.dumps(value)


@given(st.binary(max_size=60))
def test_bytes_that_are_no_jsonb_are_a_value_error(blob: bytes) -> None:
    try:
        value = jsonio.unpack(blob)
    except ValueError:
        return
    json.dumps(value)


def test_a_lone_surrogate_is_refused_not_garbled() -> None:
    with pytest.raises(UnicodeEncodeError):
        jsonio.dumps({"a": "\ud800"})


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object()])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(TypeError):
        jsonio.dumps([value])
