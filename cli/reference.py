"""The generated half of ``docs/commands/NAME.md``: ``python -m cli.reference`` writes it, a test finds it stale.

A page is a block made from the command's own table, between two markers, and below it what a person has to say.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cli.spec import HELP, JSON, Command

PAGES = Path(__file__).resolve().parent.parent / "docs" / "commands"
_BEGIN = "<!-- generated from the command: python -m cli.reference -->"
_END = "<!-- end of the generated part -->"


def block(command: Command) -> str:
    """Return the generated part of a command's page, markers included; of a group, a section for each subcommand."""
    lines = _body(command)
    for each in command.commands:
        lines += [f"## brain {each.name}", "", *_body(each)]
    return "\n".join([_BEGIN, "", *lines, _END])


def _body(command: Command) -> list[str]:
    words = f" {command.words}" if command.words else " SUBCOMMAND" if command.commands else ""
    options = [option for option in command.options if option not in (JSON, HELP)]
    lines = [f"`brain {command.name}{' [options]' if options else ''}{words}`", ""]
    lines += [command.description or f"{command.summary[0].upper()}{command.summary[1:]}.", ""]
    if command.words:
        lines += [f"`{command.words}`: {_cell(command.words_help)}.", ""]
    if options:
        lines += ["| option | |", "|---|---|"]
        for option in options:
            value = f" {option.metavar}" if option.metavar else ""
            often = "; may be repeated" if option.many and "repeated" not in option.help else ""
            lines.append(f"| `{', '.join(option.flags)}{_cell(value)}` | {_cell(option.help)}{often} |")
        lines.append("")
    if command.examples and (command.words or not command.commands):
        lines += ["```sh", *command.examples, "```", ""]
    if command.page is not None:
        lines += [*command.page(), ""]
    return lines


def page(name: str, before: str) -> str:
    """Return a command's page as it should be, given the page as it is ("" for none)."""
    from brain import module

    command: Command = module(name).COMMAND
    _, found, after = before.partition(_END)
    head = f"# brain {name}\n\n{block(command)}"
    return head + (after if found else "\n")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main(names: list[str]) -> int:
    """Write the pages of ``names``, or of every command."""
    from brain import COMMANDS

    PAGES.mkdir(parents=True, exist_ok=True)
    for name in names or COMMANDS:
        path = PAGES / f"{name}.md"
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(page(name, before), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
