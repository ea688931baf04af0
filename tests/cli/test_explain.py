from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from core.home import Home
from core.version import VERSION

Brain = Callable[..., subprocess.CompletedProcess[str]]

SECTIONS = ["Collections", "Sources", "Telemetry", "Schedule", "Hooks", "Skills", "Doctor", "Disk"]


def test_people_get_every_section_and_no_escape_codes(brain: Brain) -> None:
    done = brain("explain")
    assert done.returncode == 0
    assert done.stdout.startswith(f"brain {VERSION}\n")
    assert [line for line in done.stdout.splitlines() if line in SECTIONS] == SECTIONS
    assert "\x1b" not in done.stdout


def test_programs_get_one_object(brain: Brain, home: Home) -> None:
    done = brain("explain", "--json", env={"BRAIN_SURFACE": "mcp"})
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert (found["schema"], found["ok"], found["surface"]) == (1, True, "mcp")
    assert found["home"]["path"] == home.root


@pytest.mark.parametrize("config", ["collections: [", "", "\x00", "collections:\n  inbox:\n    trust: blind\n"])
def test_a_broken_config_is_shown_and_exits_0(brain: Brain, home: Home, config: str) -> None:
    Path(home.root, "collections.yml").write_text(config)
    done = brain("explain")
    assert done.returncode == 0, done.stderr
    assert "error: config: " in done.stdout
    assert "collections.yml" in done.stdout.split("error: config: ")[1]


def test_a_corrupt_index_is_shown_and_exits_0(brain: Brain, home: Home) -> None:
    Path(home.index).write_bytes(b"\x00garbage" * 900)
    done = brain("explain")
    assert done.returncode == 0, done.stderr
    assert "error: index: " in done.stdout
    assert "unknown" in done.stdout


def test_text_from_the_log_cannot_drive_the_terminal(brain: Brain, home: Home) -> None:
    Path(home.logs, "doctor.log").write_text("2026-11-21 \x1b]0;owned\x07 failed\n")
    done = brain("explain")
    assert "failed" in done.stdout
    assert "\x1b" not in done.stdout
    assert "owned" not in done.stdout


def test_the_last_event_is_shown(brain: Brain) -> None:
    brain("inbox", "hello")
    shown = brain("explain").stdout.split("\nTelemetry\n")[1].split("\nSchedule\n")[0]
    assert "inbox" in shown
    assert "exit_code=0" in shown


@pytest.mark.parametrize("words", [["--hit", "qmd://inbox/x.md"], ["a question alone"]])
def test_a_hit_and_its_question_belong_together(brain: Brain, words: list[str]) -> None:
    done = brain("explain", "--json", *words)
    assert done.returncode == 64
    assert "--hit" in json.loads(done.stdout)["fix"]
