"""Help and completion, by argparse, from the same tables that ``cli.spec`` parses."""

from __future__ import annotations

import argparse
from typing import Any

from cli.spec import Command


def parser(command: Command) -> argparse.ArgumentParser:
    """Return an argparse parser that describes ``command``, and its subcommands."""
    result = argparse.ArgumentParser(**_described(command))
    fill(result, command)
    return result


def _described(command: Command) -> dict[str, Any]:
    examples = "".join(f"\n  {line}" for line in command.examples)
    return {
        "prog": f"brain {command.name}",
        "description": command.description or command.summary,
        "epilog": f"examples:{examples}" if examples else None,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "add_help": False,
    }


def fill(result: argparse.ArgumentParser, command: Command) -> None:
    """Give ``result`` the options, words and subcommands of ``command``."""
    if command.words:
        result.add_argument("words", metavar=command.words, nargs="*", help=command.words_help)
    for option in command.options:
        if option.metavar:
            result.add_argument(
                *option.flags,
                dest=option.dest,
                metavar=option.metavar,
                action="append" if option.many else "store",
                choices=option.choices or None,
                help=option.help.replace("%", "%%"),
            )
        else:
            result.add_argument(
                *option.flags, dest=option.dest, action="store_true", help=option.help.replace("%", "%%")
            )
    if command.commands:
        below = result.add_subparsers(title="subcommands", metavar="SUBCOMMAND")
        for each in command.commands:
            fill(below.add_parser(each.verb, help=each.summary.replace("%", "%%"), **_described(each)), each)


def text(command: Command) -> str:
    """Return the text of ``brain COMMAND --help``."""
    return parser(command).format_help()
