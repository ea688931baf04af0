"""Values of an index or a cache come back unchanged."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core import jsonb
from tests.core.test_jsonio import VALUES


@given(VALUES)
def test_packing_loses_nothing(value: Any) -> None:
    unpacked = jsonb.unpack(jsonb.pack(value))
    assert unpacked == value
    assert json.dumps(unpacked) == json.dumps(value)


@given(st.binary(max_size=60))
def test_bytes_that_are_no_jsonb_are_a_value_error(blob: bytes) -> None:
    try:
        value = jsonb.unpack(blob)
    except ValueError:
        return
    json.dumps(value)
