"""No argument ends a command with an internal error: the code is a documented one, and a failure names its fix."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import brain as program
from cli.spec import Command
from core.home import Home
from evals.guard import invented
from tests.runtime.index_fixture import Shelf

# As Python hands them over: a byte that is no UTF-8 is a lone surrogate.
VALUES = {
    "empty": "",
    "blank": " \t\n",
    "a mark of byte order": "\ufeff",
    "long": "x" * 100_000,
    "long path": "x/" * 50_000,
    "nul": "a\0b",
    "not utf-8": os.fsdecode(b"caf\xe9 \xff"),
}
DOCUMENTED = {0, 64, 65, 66, 67, 70, 71}
# A command's other words, so that the hostile one is what it fails for.
VALID = {"ENTRY": "20260502T080000Z-0a0a0a0a", "HIT": "qmd://inbox/2026/05/a.md", "RUN": "last"}


class Slot(NamedTuple):
    """One place of a command line that takes a value: an option's, or (without a flag) a positional argument's."""

    command: Command
    flag: str
    number: int = 0

    def line(self, given: str) -> list[str]:
        """The command line with ``given`` in this place."""
        words = [VALID.get(name.rstrip("…"), "sqlite") for name in self.command.words.split()]
        if self.flag:
            # What an option selects and a word names cannot be combined everywhere: the option goes alone.
            named = words if self.command.prose or self.command.words == "ENTRY TEXT" else []
            return [*self.command.name.split(), f"{self.flag}={given}", *named]
        words[self.number] = given
        return [*self.command.name.split(), *words]

    def __str__(self) -> str:
        return f"{self.command.name} {self.flag or self.command.words.split()[self.number]}"


def _slots(command: Command) -> Iterator[Slot]:
    for below in command.commands:
        yield from _slots(below)
    if command.words or not command.commands:
        yield from (Slot(command, option.flags[-1]) for option in command.options if option.metavar)
        yield from (Slot(command, "", number) for number in range(len(command.words.split())))


COMMANDS: list[Command] = [program.module(name).COMMAND for name in program.COMMANDS]
SLOTS = [slot for command in COMMANDS for slot in _slots(command)]
# Nothing can be said to them with an empty value, except to have none.
MAY_BE_EMPTY = {f"inbox {flag}" for flag in ("--title", "--project", "--tags", "--why", "--alternatives")} | {
    f"inbox supersede {flag}" for flag in ("--title", "--why", "--alternatives")
}
# A hook ends with 0 whatever happens: a wrong call is reported on stderr only.
MAY_BE_EMPTY |= {f"hook {verb} --form" for verb in ("session-start", "prompt", "guard")} | {"hook stop --source"}
MOMENTS = invented.cases()[:1]

Ended = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ended(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Ended:
    """Run a command line as the program does; returns its exit code and what it printed."""
    # `eval guard` would ask every invented moment, whatever its argument.
    monkeypatch.setattr(invented, "cases", lambda: MOMENTS)
    Shelf(home).put("inbox", "2026/05/a.md", "we chose sqlite", type="decision", entry_id=VALID["ENTRY"])
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(*words: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setattr("sys.argv", ["brain", *words])
        code = program.main()
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


@pytest.mark.parametrize("slot", SLOTS, ids=str)
def test_a_hostile_argument_ends_with_a_documented_code_and_a_fix(ended: Ended, slot: Slot) -> None:
    wrong = {}
    for kind, given in VALUES.items():
        code, out, err = ended(*slot.line(given))
        if slot.command.name == "qmd":
            good = code in DOCUMENTED | {1}  # its codes are its own
        elif code:
            good = code in DOCUMENTED and (code == 67 or "fix: " in err) and len(err) < 10_000
        else:
            good = kind not in ("empty", "blank", "nul") or slot.command.raw or str(slot) in MAY_BE_EMPTY
        if not good:
            wrong[kind] = (code, err[-300:] or out[-300:])
    assert wrong == {}


_NOT_UTF8 = VALUES["not utf-8"]


@pytest.mark.parametrize(
    "words",
    [
        ["get", _NOT_UTF8],
        ["multi-get", _NOT_UTF8],
        ["ls", _NOT_UTF8],
        ["search", _NOT_UTF8],
        ["search", "sqlite", "-c", _NOT_UTF8],
        ["query", _NOT_UTF8],
        ["collection", "show", _NOT_UTF8],
        ["context", "add", _NOT_UTF8, "text"],
        ["--index", _NOT_UTF8, "status"],
    ],
    ids=lambda words: " ".join(words[:2]).encode("ascii", "replace").decode(),
)
def test_no_command_of_qmd_fails_on_bytes_that_are_no_utf8(ended: Ended, words: list[str]) -> None:
    code, _, err = ended("qmd", *words)
    assert code in (0, 1), err


@pytest.mark.parametrize("words", [["inbox", "supersede", "", "text"], ["index", "--from", " "], ["show", "a\0"]])
def test_a_hostile_argument_is_one_json_object(ended: Ended, words: list[str]) -> None:
    code, out, err = ended(*words, "--json")
    assert (code, err) == (64, "")
    envelope = json.loads(out)
    assert (envelope["error"], envelope["exit_code"]) == ("bad_input", 64)
    assert envelope["fix"]


@pytest.mark.parametrize(
    "words", [["inbox", "-"], ["inbox", "supersede", VALID["ENTRY"], "-"], ["ask", "--batch", "-"], ["hook", "stop"]]
)
@pytest.mark.parametrize("stdin", [b"", b" \n\n", b"a\0b", b"caf\xe9 \xff", b"x" * 2_000_000, b"[" * 100_000])
def test_hostile_standard_input_ends_with_a_documented_code(ended: Ended, words: list[str], stdin: bytes) -> None:
    code, out, err = ended(*words, stdin=stdin)
    assert code in DOCUMENTED
    if code:
        assert "fix: " in err + out
