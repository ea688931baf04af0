"""``brain completion``: what a shell needs to complete brain's commands and options; and the answer when it asks.

The shell's code is argcomplete's. It calls ``brain`` again with ``_ARGCOMPLETE`` set; ``answer`` builds argparse's
parsers from the tables that help is made from, and imports the one command that is being typed.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from cli.context import Context, write, write_styled
from cli.spec import Args, Command
from core.errors import OK, BadInput
from ops.install.completions import SHELLS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


INSTALL = Command(
    "completion install",
    "write it where the shell looks for it",
    description=(
        "Write one file where the shell looks for completions, and nothing else: no configuration is edited. For\n"
        "a shell that needs a line in its configuration (zsh), the command prints that line."
    ),
    words="SHELL",
    words_help="bash, zsh or fish ($SHELL)",
    examples=("brain completion install", "brain completion install zsh"),
)
UNINSTALL = Command(
    "completion uninstall",
    "take it out again",
    description="Remove what `brain completion install` has written; a file that you have edited since stays.",
    examples=("brain completion uninstall",),
)
COMMAND = Command(
    "completion",
    "complete commands and options in the shell",
    description=(
        "Print the code for a shell, or put it where that looks for it (install). By hand, bash: in ~/.bashrc\n"
        'eval "$(brain completion bash)"; zsh: in ~/.zshrc, after compinit, the same with zsh; fish:\n'
        "brain completion fish > ~/.config/fish/completions/brain.fish"
    ),
    words="SHELL",
    words_help="bash, zsh or fish",
    commands=(INSTALL, UNINSTALL),
    examples=(
        "brain completion install",
        "brain completion bash",
        "brain completion fish > ~/.config/fish/completions/brain.fish",
    ),
)


def run(args: Args, context: Context) -> int:
    """Print the code of one shell, or install it."""
    from core.text import printable
    from ops.install import completions

    if args.command is UNINSTALL:
        done = completions.uninstall(context.home)
        lines = [f"removed {path}" for path in done["removed"]] or ["nothing was installed"]
        lines += [f"edited by you, and left: {path}" for path in done["kept"]]
        report: dict[str, Any] = {"schema": 1, "ok": True, **done}
    else:
        shell = _shell(args, context)
        if args.command is INSTALL:
            written = completions.install(context.home, shell, context.environ)
            lines = [written["path"], written["next"]]
            report = {"schema": 1, "ok": True, **written}
        else:
            code = completions.code(shell)
            if not args.json:
                write_styled(code)
                return OK
            report = {"schema": 1, "ok": True, "shell": shell, "code": code}
    if args.json:
        context.emit(report)
    else:
        write("".join(f"{printable(line)}\n" for line in lines))
    return OK


def _shell(args: Args, context: Context) -> str:
    from ops.install import completions

    if args.command is INSTALL and not args.words:
        return completions.own_shell(context.environ)
    if len(args.words) != 1 or args.words[0] not in SHELLS:
        raise BadInput(f"`brain {args.command.name}` takes one shell", f"one of: {', '.join(SHELLS)}")
    return args.words[0]


def answer(commands: Mapping[str, str], command: Callable[[str], Command]) -> None:
    """Answer a shell's question, and end the process; does nothing where no shell asked."""
    import argcomplete

    argcomplete.autocomplete(parser(commands, command, os.environ.get("COMP_LINE", "")), always_complete_options=True)


def parser(commands: Mapping[str, str], command: Callable[[str], Command], line: str) -> argparse.ArgumentParser:
    """Return a parser of every command's name, and of the options of the one that ``line`` names."""
    from cli.help import fill

    words = line.split()
    top = argparse.ArgumentParser(prog="brain", add_help=False)
    top.add_argument("-h", "--help", action="store_true", help="show this help")
    top.add_argument("-V", "--version", action="store_true", help="show the version")
    below = top.add_subparsers()
    for name, summary in commands.items():
        each = below.add_parser(name, help=summary, add_help=False)
        if name in words[1:2]:
            fill(each, command(name))
    return top
