from __future__ import annotations

import brain
from cli.help import parser, text
from cli.spec import Command, Option, parse
from tests.tables import every


def _command(name: str) -> Command:
    command: Command = brain.module(name).COMMAND
    return command


@every(brain.COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    command = _command(name)
    shown = text(command)
    assert shown.startswith(f"usage: brain {name} ")
    assert (command.name, command.summary) == (name, brain.COMMANDS[name])
    assert command.examples
    assert all(example in shown and f"brain {name}" in example for example in command.examples)
    for option in command.options:
        assert option.help
        assert all(flag in shown for flag in option.flags)
    assert "--json" in shown
    assert parse(command, ["--help"]).help


@every(brain.COMMANDS)
def test_no_two_options_of_a_command_share_a_flag(name: str) -> None:
    flags = [flag for option in _command(name).options for flag in option.flags]
    assert len(flags) == len(set(flags))
    assert len({option.dest for option in _command(name).options}) == len(_command(name).options)


def test_per_cent_signs_in_help_are_text() -> None:
    assert "100% of it" in text(Command("x", "x", options=(Option("--all", help="100% of it"),)))
    assert parser(Command("x", "x", words="W", words_help="w")).parse_args(["a"]).words == ["a"]
