"""Every command line of the manual is one that the program takes: each is run, on a scratch home with the demo set."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from brain import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# They serve until they are ended, or speak to somebody else's machine.
_LASTING = re.compile(r"^brain (mcp|serve|watch|web|sync|qmd mcp|schedule (install|run)|teardown|eval|distill --llm)\b")
_NOT_TAKEN = re.compile(
    r"unknown option|has no subcommand|takes no arguments|needs a value|unknown command|needs a sub"
)


def commands() -> list[str]:
    """The lines of the pages' shell blocks that begin with ``brain``, each once, comments taken off."""
    found: dict[str, None] = {}
    for page in PAGES:
        for block in re.findall(r"^```(?:sh|console)?\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
            for line in re.sub(r"\\\n\s*", " ", block).splitlines():
                text = line.strip().removeprefix("$ ").removeprefix(".venv/bin/")
                if re.match(r"brain [a-z]", text):
                    found.setdefault(shlex.join(words(text)))
    return sorted(found)


def words(text: str) -> list[str]:
    """The words of a line's first command, up to whatever operator of the shell ends it."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(itertools.takewhile(lambda word: not set(word) <= set("|&;<>()"), lexer))


def test_the_manual_shows_every_command() -> None:
    shown = {line.split()[1] for line in commands()}
    assert set(COMMANDS) - shown == set()


@pytest.mark.long
def test_every_command_of_the_manual_is_taken(tmp_path: Path) -> None:
    environ = {**os.environ, "EDITOR": "true", "VISUAL": "true", "BRAIN_NOTIFY": "off"}
    folder = tmp_path / "somewhere"
    folder.mkdir()

    def brain(given: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", RUN, str(ROOT), *given],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=folder,
            env=environ,
            timeout=900,
            check=False,
        )

    assert brain(["init", "--demo"]).returncode == 0
    refused = []
    for line in commands():
        if _LASTING.match(line) or "…" in line or "ENTRY" in line:
            continue
        done = brain(shlex.split(line)[1:])
        if done.returncode in (99, 2) or _NOT_TAKEN.search(done.stderr) or "Traceback" in done.stderr:
            refused.append(f"{line}: {done.returncode} {done.stderr.strip().splitlines()[:1]}")
    assert refused == []
