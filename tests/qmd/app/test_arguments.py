"""The command line, read as Node's ``util.parseArgs`` reads it where nothing is strict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from qmd.app.arguments import Arguments


def test_options_stand_anywhere_and_the_last_one_counts() -> None:
    given = Arguments(["-n", "3", "search", "--json", "a b", "-n=4", "c", "-c", "x", "-cy", "--collection=z"])
    assert (given.verb, given.query, given.format) == ("search", "a b c", "json")
    assert given.collections == ["x", "y", "z"]
    assert given.text["n"] == "=4"


def test_a_value_is_taken_whatever_it_looks_like() -> None:
    given = Arguments(["search", "-n", "--json", "x"])
    assert given.text["n"] == "--json"
    assert (given.format, given.limit) == ("cli", 5)


def test_an_unknown_option_takes_no_value() -> None:
    given = Arguments(["search", "--nope", "word", "--also=this"])
    assert given.words == ["word"]
    assert {"nope", "also"} <= given.flags


def test_letters_stand_together_and_the_last_may_take_a_value() -> None:
    given = Arguments(["-fhn7", "get", "-hf"])
    assert {"force", "help"} <= given.flags
    assert given.text["n"] == "7"


def test_what_follows_two_dashes_is_words() -> None:
    assert Arguments(["search", "--", "--json", "-n"]).words == ["--json", "-n"]


def test_a_text_option_at_the_end_counts_as_given() -> None:
    given = Arguments(["update", "--pull", "-c"])
    assert given.collections == ["true"]
    with pytest.raises(BadInput, match="--index"):
        _ = Arguments(["ls", "--index"]).index


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ([], 5),
        (["--json"], 20),
        (["--files"], 20),
        (["--csv"], 5),
        (["-n", "0"], 5),
        (["-n", "7x"], 7),
        (["-n", "-2"], -2),
    ],
)
def test_the_limit_depends_on_the_format(words: list[str], limit: int) -> None:
    assert Arguments(["search", *words]).limit == limit


def test_an_unknown_format_is_refused() -> None:
    assert Arguments(["--format", " CSV "]).format == "csv"
    with pytest.raises(BadInput, match="Unknown --format value: yaml\nValid: cli, json"):
        _ = Arguments(["--format", "yaml"]).format


@given(st.lists(st.text(max_size=8), max_size=8))
def test_no_command_line_is_too_odd_to_read(argv: list[str]) -> None:
    read = Arguments(argv)
    assert isinstance(read.query, str)
    assert read.number("n") is None or isinstance(read.number("n"), int)
