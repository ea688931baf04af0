"""Values out of records that hold anything."""

from __future__ import annotations

import pytest

from ingest.session.values import moment


@pytest.mark.parametrize(("value", "found"), [("1777367643000", "2026-04-28T09:14:03.000"), ("²" * 13, ""),
    ("٣" * 13, ""), pytest.param("9" * 5000, "", id="many")])  # fmt: skip
def test_a_time_in_digits_is_read_and_other_signs_are_none(value: str, found: str) -> None:
    assert moment(value) == found
