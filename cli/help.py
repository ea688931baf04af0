"""Help and completion, by argparse, from the same tables that ``cli.spec`` parses."""

from __future__ import annotations

import argparse

from cli.spec import Command


def parser(command: Command) -> argparse.ArgumentParser:
    """An argparse parser that describes ``command``."""
    examples = "".join(f"\n  {line}" for line in command.examples)
    result = argparse.ArgumentParser(
        prog=f"brain {command.name}",
        description=command.description or command.summary,
        epilog=f"examples:{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    if command.words:
        result.add_argument("words", metavar=command.words, nargs="*", help=command.words_help)
    for option in command.options:
        if option.metavar:
            result.add_argument(
                *option.flags,
                dest=option.dest,
                metavar=option.metavar,
                action="append" if option.many else "store",
                help=option.help.replace("%", "%%"),
            )
        else:
            result.add_argument(
                *option.flags, dest=option.dest, action="store_true", help=option.help.replace("%", "%%")
            )
    return result


def text(command: Command) -> str:
    """What ``brain COMMAND --help`` prints."""
    return parser(command).format_help()
