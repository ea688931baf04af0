from __future__ import annotations

import contextlib
import io
import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.help import parser
from cli.reference import block
from cli.spec import Command, Option, file_path, parse, seconds, text_path, whole
from core.errors import BadInput
from tests.examples import examples

COMMAND = Command(
    "find",
    "find things",
    words="THING",
    prose=True,
    options=(
        Option("-n", "--limit", metavar="N", help="how many", convert=whole),
        Option("-c", "--collection", metavar="NAME", many=True, help="where"),
        Option("--since-days", metavar="N", help="how old", convert=whole, default=7),
        Option("--type", metavar="TYPE", help="what", choices=("note", "idea")),
        Option("--timeout", metavar="S", help="how long", convert=seconds),
        Option("-v", "--verbose", help="more, 100% of it"),
    ),
)
SILENT = Command("list", "list things", options=(Option("--all", help="everything"),))


def _refused(*argv: str, command: Command = COMMAND) -> BadInput:
    with pytest.raises(BadInput) as failure:
        parse(command, argv)
    assert failure.value.fix
    return failure.value


_WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8).filter(
    lambda text: not text.startswith("-")
) | st.just("-")
_VALUE = {
    "--limit": st.integers(1, 10**9 - 1).map(str),
    "--collection": _WORD.filter(str.strip),
    "--since-days": st.integers(1, 10**6).map(str),
    "--type": st.sampled_from(["note", "idea"]),
    "--timeout": st.floats(0.01, 1e6).map(str),
}
_SHORT = {"--limit": "-n", "--collection": "-c"}


@st.composite
def _tokens(draw: Any) -> list[str]:
    kind = draw(st.sampled_from(["word", "switch", "apart", "equals", "short", "glued"]))
    if kind == "word":
        return [draw(_WORD)]
    if kind == "switch":
        return [draw(st.sampled_from(["-v", "--verbose", "--json"]))]
    flag = draw(st.sampled_from(sorted(_SHORT if kind in ("short", "glued") else _VALUE)))
    value = draw(_VALUE[flag])
    if kind == "apart":
        return [flag, value]
    if kind == "equals":
        return [f"{flag}={value}"]
    if kind == "short" or not value or value[0] in "=-":
        return [_SHORT[flag], value]
    return [_SHORT[flag] + value]


@settings(max_examples=examples(400))
@given(st.lists(_tokens(), max_size=6))
def test_valid_arguments_mean_what_argparse_says_they_mean(groups: list[list[str]]) -> None:
    argv = [token for group in groups for token in group]
    ours = parse(COMMAND, argv)
    with contextlib.redirect_stderr(io.StringIO()):
        theirs = parser(COMMAND).parse_intermixed_args(argv)
    assert ours.words == theirs.words
    assert ours.limit == (int(theirs.limit) if theirs.limit else None)
    assert ours.collection == (theirs.collection or [])
    assert ours.since_days == (int(theirs.since_days) if theirs.since_days else 7)
    assert ours.type == theirs.type
    assert ours.timeout == (float(theirs.timeout) if theirs.timeout else None)
    assert (ours.verbose, ours.json, ours.help) == (theirs.verbose, theirs.json, theirs.help)


@given(
    st.lists(
        st.text(max_size=6) | st.sampled_from(["-n", "--limit", "--", "-", "--json", "-c", "--type=x", "-v5"]),
        max_size=6,
    )
)
def test_any_arguments_are_parsed_or_refused(argv: list[str]) -> None:
    with contextlib.suppress(BadInput):
        args = parse(COMMAND, argv)
        assert set(args.words) <= set(argv)
        assert 0 <= args.dashes <= len(args.words)


@pytest.mark.parametrize(
    "argv", [["-n5"], ["-n", "5"], ["-n=5"], ["--limit=5"], ["--limit", "5"], ["-n", "9", "--limit=5"]]
)
def test_a_value_may_be_written_in_every_usual_way(argv: list[str]) -> None:
    assert parse(COMMAND, argv).limit == 5


def test_options_and_words_come_in_any_order() -> None:
    args = parse(COMMAND, ["one", "-v", "two", "-c", "a", "three", "-cb", "--collection=c=d"])
    assert (args.words, args.collection, args.verbose) == (["one", "two", "three"], ["a", "b", "c=d"], True)


def test_nothing_after_two_dashes_is_an_option() -> None:
    args = parse(COMMAND, ["one", "--", "--no-verify", "--", "-n"])
    assert args.words == ["one", "--no-verify", "--", "-n"]
    assert (args.literal, args.dashes) == (True, 1)


def test_without_two_dashes_all_words_count_as_before_them() -> None:
    args = parse(COMMAND, ["one", "two"])
    assert (args.literal, args.dashes) == (False, 2)


def test_a_single_dash_and_an_empty_word_are_words() -> None:
    assert parse(COMMAND, ["-", "", "a"]).words == ["-", "", "a"]


@pytest.mark.parametrize("given", ["", " \t", "\ud800", "x" * 10_001])
def test_a_value_is_text_that_is_not_empty_unless_its_option_says_otherwise(given: str) -> None:
    assert _refused("--collection", given).message.startswith("--collection: expected")
    anything = Command("keep", "keep things", options=(Option("--why", metavar="TEXT", help="why", convert=str),))
    assert parse(anything, ["--why", given]).why == given


@pytest.mark.parametrize("given", ["", " ", "x" * 256, "x/" * 2100, "é" * 128])
def test_a_path_is_one_that_a_system_may_have(given: str) -> None:
    with pytest.raises(ValueError, match="path"):
        file_path(given)


def test_a_path_may_have_any_bytes_unless_it_is_recorded() -> None:
    odd = os.fsdecode(b"/a/caf\xe9")
    assert file_path(odd) == odd
    with pytest.raises(ValueError, match="UTF-8"):
        text_path(odd)


def test_a_word_that_names_a_thing_is_not_empty() -> None:
    command = Command("show", "show a thing", words="HIT")
    assert "HIT" in _refused("a", " ", command=command).message
    assert parse(command, ["-"]).words == ["-"]


def test_no_argument_has_a_nul_byte() -> None:
    for argv in (["a\0b"], ["-c", "a\0b"], ["--", "a\0"]):
        assert "NUL" in _refused(*argv).message


def test_two_commands_of_one_table_share_nothing() -> None:
    parse(COMMAND, ["-c", "a"])
    assert parse(COMMAND, []).collection == []


@pytest.mark.parametrize(
    ("argv", "near"), [(["--limt", "5"], "--limit"), (["--verbos"], "--verbose"), (["--jsn"], "--json")]
)
def test_a_misspelt_option_names_the_one_that_was_meant(argv: list[str], near: str) -> None:
    failure = _refused(*argv)
    assert failure.message == f"unknown option {argv[0]}"
    assert failure.fix.startswith(f"did you mean {near}?")


def test_a_question_that_begins_with_a_dash_gets_the_fix() -> None:
    assert "after --" in _refused("--no-verify").fix
    assert _refused("-x").message == "unknown option -x"


@pytest.mark.parametrize(
    "argv", [["--limit"], ["-n"], ["-n", "--json"], ["--type", "--", "x"], ["-c", "--limit=5"], ["-c", "-v"]]
)
def test_a_forgotten_value_does_not_swallow_the_next_option(argv: list[str]) -> None:
    assert "needs a value" in _refused(*argv).message


def test_a_value_may_begin_with_a_dash_where_it_is_no_option() -> None:
    assert parse(COMMAND, ["-c", "-old"]).collection == ["-old"]
    assert parse(COMMAND, ["--collection=--json"]).collection == ["--json"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--json=1"], "--json takes no value"),
        (["-v5"], "-v takes no value"),
        (["-n", "x"], "expected a whole number above 0, got 'x'"),
        (["-n", "0"], "expected a whole number"),
        (["-n", "-5"], "expected a whole number"),
        (["-n", "٣"], "expected a whole number"),
        (["-n", "9" * 5000], "expected a whole number"),
        (["--limit="], "expected a whole number"),
        (["--timeout", "nan"], "expected a number of seconds"),
        (["--timeout", "inf"], "expected a number of seconds"),
        (["--timeout", "0"], "expected a number of seconds"),
        (["--type", "plan"], "'plan' is not one of note, idea"),
    ],
)
def test_the_error_of_a_wrong_value_names_what_was_expected(argv: list[str], said: str) -> None:
    failure = _refused(*argv)
    assert said in failure.message
    assert failure.fix == "brain find --help"


def test_words_are_refused_if_none_are_taken_except_with_help() -> None:
    assert "takes no arguments: 'x'" in _refused("x", command=SILENT).message
    assert parse(SILENT, ["x", "--help"]).help
    assert parse(SILENT, ["--all"]).all


GROUP = Command(
    "thing",
    "things",
    commands=(
        Command(
            "thing list", "list them", options=(Option("--all", help="everything"),), examples=("brain thing list",)
        ),
        Command("thing add", "add some", words="NAME", examples=("brain thing add one",)),
    ),
)


def test_a_groups_first_argument_chooses_the_subcommand_and_the_rest_is_its_own() -> None:
    args = parse(GROUP, ["list", "--all", "--json"])
    assert (args.command.verb, args.command.name, args.all, args.json) == ("list", "thing list", True, True)
    args = parse(GROUP, ["add", "list", "--", "--all"])
    assert (args.command.verb, args.words) == ("add", ["list", "--all"])


def test_an_option_of_one_subcommand_is_none_of_another() -> None:
    failure = _refused("add", "--all", command=GROUP)
    assert (failure.message, "brain thing add --help" in failure.fix) == ("unknown option --all", True)


@pytest.mark.parametrize("argv", [[], ["--json"], ["--all", "list"], ["--", "list"]])
def test_a_group_without_its_subcommand_says_which_there_are(argv: list[str]) -> None:
    failure = _refused(*argv, command=GROUP)
    assert failure.message.endswith("needs a subcommand first: list, add")


def test_a_misspelt_subcommand_names_the_one_that_was_meant() -> None:
    assert _refused("lst", command=GROUP).fix == "did you mean `brain thing list`?"
    assert _refused("qqq", command=GROUP).fix == "brain thing --help"


def test_a_group_has_help_of_its_own_and_one_for_each_subcommand() -> None:
    assert parse(GROUP, ["--help"]).help
    assert parse(GROUP, ["-h"]).command is GROUP
    args = parse(GROUP, ["list", "--help"])
    assert (args.help, args.command.name) == (True, "thing list")
    whole_help = parser(GROUP).format_help()
    assert whole_help.startswith("usage: brain thing [--json] [-h] SUBCOMMAND ...")
    for said in ("list them", "add some", "  brain thing list\n", "  brain thing add one"):
        assert said in whole_help
    assert parser(args.command).format_help().startswith("usage: brain thing list [--all]")


def test_a_groups_page_has_a_section_for_each_subcommand() -> None:
    page = block(GROUP)
    assert "`brain thing SUBCOMMAND`" in page
    assert page.count("\nbrain thing list\n") == 1
    of_list, _, of_add = page.partition("## brain thing list")[2].partition("## brain thing add")
    assert ("`--all`" in of_list, "`--all`" in of_add, "`brain thing add NAME`" in of_add) == (True, False, True)


def test_a_groups_options_are_those_of_its_subcommands_too() -> None:
    assert {"--all", "--json", "--help"} == {flag for o in GROUP.all_options() for flag in o.flags if len(flag) > 2}


def test_a_group_with_a_default_does_that_where_no_subcommand_is_named() -> None:
    group = Command("g", "x", commands=(Command("g list", "x", options=(Option("--all", help="x"),)),), default="list")
    assert parse(group, []).command.name == "g list"
    assert parse(group, ["--all"]).all is True
    assert parse(group, ["--help"]).help is True
    with pytest.raises(BadInput):
        parse(group, ["bogus"])
