"""A table that is one test names each case that fails, and checks the others."""

from __future__ import annotations

import pytest

from tests.tables import every

seen: list[tuple[int, str]] = []


def test_each_case_that_fails_is_named_and_none_is_left_out() -> None:
    @every([1, 2, 3], [("a",), ("b",)])
    def check(number: int, letter: str) -> None:
        seen.append((number, letter))
        assert number != 2, f"{number} is even"
        if (number, letter) == (3, "a"):
            raise KeyError(letter)

    with pytest.raises(pytest.fail.Exception) as failure:
        check()
    assert seen == [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "a"), (3, "b")]
    said = str(failure.value)
    assert [line for line in said.split("\n") if line.startswith(("1", "2", "3"))] == ["2, 'a'", "2, 'b'", "3, 'a'"]
    assert "2 is even" in said
    assert "KeyError: 'a'" in said


@every([(1, 1), (2, 4), (3, 9)])
def test_a_case_is_a_tuple_of_arguments(number: int, square: int) -> None:
    assert number * number == square
