"""The documents keep up with the program: commands, exit codes, options, links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import brain as program
from cli import reference
from core import errors
from qmd.app import help as help_of_qmd
from tests.conftest import Brain
from tests.tables import every

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    path.relative_to(ROOT): path.read_text(encoding="utf-8")
    for pattern in (
        "*.md",
        "docs/*.md",
        "docs/commands/*.md",
        "demo/*.md",
        "logs/*.md",
        "launchd/*.md",
        "skills/README.md",
    )
    for path in sorted(ROOT.glob(pattern))
}
EVERYTHING = "\n".join(PAGES.values())


def codes() -> dict[int, set[str]]:
    """What ``core.errors`` defines: exit code → its ``error`` keys."""
    found: dict[int, set[str]] = {errors.OK: set(), errors.NO_RESULTS: {"no_results"}}
    kinds: list[type[errors.BrainError]] = [errors.BrainError, *_below(errors.BrainError)]
    for kind in kinds:
        found.setdefault(kind.code, set()).add(kind.error)
    return found


def _below(kind: type[errors.BrainError]) -> list[type[errors.BrainError]]:
    own = [direct for direct in kind.__subclasses__() if direct.__module__ == errors.__name__]
    return [deep for direct in own for deep in (direct, *_below(direct))]


@every(program.COMMANDS)
def test_a_command_is_in_the_readme(name: str) -> None:
    assert f"| [`brain {name}`](docs/commands/{name}.md) | {program.COMMANDS[name]} |" in README


@every(program.COMMANDS)
def test_a_commands_page_is_what_the_command_is(name: str) -> None:
    written = PAGES.get(Path(f"docs/commands/{name}.md"), "")
    assert written == reference.page(name, written), f"python -m cli.reference {name}"


@pytest.mark.parametrize("name", program.COMMANDS)
def test_a_commands_help_works_and_has_an_example(brain: Brain, name: str) -> None:
    shown = brain(name, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    usage, _, rest = shown.stdout.partition("examples:")
    assert usage.startswith(f"usage: brain {name} ")
    assert f"  brain {name}" in rest or f"| brain {name}" in rest
    assert "--json" in usage


@every(program.COMMANDS)
def test_a_page_names_no_option_that_a_command_lacks(name: str) -> None:
    command = program.module(name).COMMAND
    known = {flag for option in command.all_options() for flag in option.flags}
    if command.raw:  # what follows are qmd's own options
        known |= set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", help_of_qmd.TEXT))
    used = set()
    for page in PAGES.values():
        for line in re.findall(rf"(?<![\w/.-])brain {name}(?![\w-])([^`\n]*)", page):
            before_literal = re.split(r"\s--(?:\s|$)|\s\|\s|#", re.sub(r"\"[^\"]*\"|'[^']*'", "", line))[0]
            used |= set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", before_literal))
    assert used - known == set()


def test_the_exit_codes_page_equals_the_program() -> None:
    page = PAGES[Path("docs/exit-codes.md")]
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]*)\|$", page, re.MULTILINE)
    documented = {int(code): set(re.findall(r"`(\w+)`", keys)) for code, keys in rows}
    assert documented == codes()


def test_the_readme_names_every_exit_code() -> None:
    section = README.partition("## Exit codes")[2].partition("\n## ")[0]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)} == set(codes())


@every(PAGES)
def test_relative_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", PAGES[page]):
        assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"


@every(PAGES)
def test_a_page_that_is_named_exists(page: Path) -> None:
    for named in re.findall(r"(?<![\w/.-])docs/[\w-]+\.md", PAGES[page]):
        assert (ROOT / named).is_file(), f"{page} names {named}"


def test_a_page_that_the_code_names_exists() -> None:
    rooms = ("core", "ingest", "qmd", "runtime", "web", "tui", "cli", "ops", "evals")
    sources = [
        ROOT / "brain.py",
        ROOT / "collections.yml",
        *(path for room in rooms for path in (ROOT / room).rglob("*.py")),
    ]
    named = {(name, path) for path in sources for name in re.findall(r"docs/[\w-]+\.md", path.read_text("utf-8"))}
    assert {f"{path.relative_to(ROOT)} names {name}" for name, path in named if not (ROOT / name).is_file()} == set()


def test_the_targets_the_readme_names_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"(?:`|^)make ([a-z-]+)", EVERYTHING, re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"


def _prose(page: Path) -> list[str]:
    """Return the parts of a page outside of code blocks."""
    return PAGES[page].split("```")[::2]


@every(PAGES)
def test_a_cell_of_a_table_has_at_most_200_characters(page: Path) -> None:
    rows = re.findall(r"^\|(.*)\|$", "\n".join(_prose(page)), re.MULTILINE)
    cells = [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row)]
    assert [cell for cell in cells if len(cell) > 200] == []


@every(PAGES)
def test_no_sentence_begins_with_of(page: Path) -> None:
    assert re.findall(r"(?:^|[.:;!?]\s)Of .{0,60}", "\n".join(_prose(page)), re.MULTILINE) == []
