from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.distill import shell
from tests.cases import cases


@pytest.mark.parametrize("command", cases(__file__, "test_a_success_that_proves_what_ran"))
def test_a_success_that_proves_what_ran(command: str) -> None:
    assert shell.acts(command)
    assert shell.is_proved(command)


@pytest.mark.parametrize("command", cases(__file__, "test_a_success_that_something_else_hides"))
def test_a_success_that_something_else_hides(command: str) -> None:
    assert not shell.is_proved(command)


@pytest.mark.parametrize("command", cases(__file__, "test_looking_is_no_deed"))
def test_looking_is_no_deed(command: str) -> None:
    assert not shell.acts(command)


@pytest.mark.parametrize("command", cases(__file__, "test_an_action_is_distinguished_from_looking"))
def test_an_action_is_distinguished_from_looking(command: str) -> None:
    assert shell.acts(command)


@pytest.mark.parametrize(("command", "head"), cases(__file__, "test_what_a_command_is_a_case_of"))
def test_what_a_command_is_a_case_of(command: str, head: str) -> None:
    assert shell.head(command) == head


@pytest.mark.parametrize(("failed", "other"), cases(__file__, "test_the_same_thing_tried_again"))
def test_the_same_thing_tried_again(failed: str, other: str) -> None:
    assert shell.is_like(failed, other)


@pytest.mark.parametrize(("failed", "other"), cases(__file__, "test_another_thing_is_no_cure"))
def test_another_thing_is_no_cure(failed: str, other: str) -> None:
    assert not shell.is_like(failed, other)


@pytest.mark.parametrize(("command", "line"), cases(__file__, "test_a_command_is_shown_by_what_it_does"))
def test_a_command_is_shown_by_what_it_does(command: str, line: str) -> None:
    assert shell.short(command) == line


@given(st.text(alphabet="ab|&;<>()$'\"`\\ \n#=-E", max_size=60))
def test_no_command_breaks_the_reading(command: str) -> None:
    shell.simples.cache_clear()
    shell.acts(command)
    shell.is_proved(command)
    shell.head(command)
    shell.deed(command)
    assert "\n" not in shell.short(command)
