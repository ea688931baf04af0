"""``brain completion``: what a shell needs to complete brain's commands and options; and the answer when it asks.

The shell's code is argcomplete's. It calls ``brain`` again with ``_ARGCOMPLETE`` set; ``answer`` builds argparse's
parsers from the tables that help is made from, and imports the one command that is being typed.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from cli.context import Context, write
from cli.spec import Args, Command
from core.errors import OK, BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

SHELLS = ("bash", "zsh", "fish")

COMMAND = Command(
    "completion",
    "let the shell complete commands and options",
    description=(
        'Print the code for a shell. bash: in ~/.bashrc  eval "$(brain completion bash)"; zsh: in ~/.zshrc, after\n'
        "compinit, the same with zsh; fish: brain completion fish > ~/.config/fish/completions/brain.fish"
    ),
    words="SHELL",
    words_help="bash, zsh or fish",
    examples=("brain completion bash", "brain completion fish > ~/.config/fish/completions/brain.fish"),
)


def run(args: Args, context: Context) -> int:
    """Print the code of one shell."""
    if len(args.words) != 1 or args.words[0] not in SHELLS:
        raise BadInput("`brain completion` takes one shell", f"one of: {', '.join(SHELLS)}")
    from argcomplete.shell_integration import shellcode

    code = shellcode(["brain"], shell=args.words[0])
    if args.json:
        context.emit({"schema": 1, "ok": True, "shell": args.words[0], "code": code})
    else:
        write(code.strip("\n") + "\n")
    return OK


def answer(commands: Mapping[str, str]) -> None:
    """Answer a shell's question, and end the process; does nothing where no shell asked."""
    import argcomplete

    argcomplete.autocomplete(parser(commands, os.environ.get("COMP_LINE", "")), always_complete_options=True)


def parser(commands: Mapping[str, str], line: str) -> argparse.ArgumentParser:
    """A parser of every command's name, and of the options of the one that ``line`` names."""
    from cli.help import fill

    words = line.split()
    top = argparse.ArgumentParser(prog="brain", add_help=False)
    top.add_argument("-h", "--help", action="store_true", help="show this help")
    top.add_argument("-V", "--version", action="store_true", help="show the version")
    below = top.add_subparsers()
    for name, summary in commands.items():
        each = below.add_parser(name, help=summary, add_help=False)
        if name in words[1:2]:
            fill(each, getattr(__import__(f"cli.{name}"), name).COMMAND)
    return top
