"""The record of installations: a damaged one is named with its own exit code by every command that reads it."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from core.errors import EngineMissing
from core.home import Home
from ops.install import installed, installing, skills
from ops.install.agents import BY_NAME
from tests.conftest import Brain

PART = {"agent": "zed", "kind": "mcp", "form": "json", "key": ["a", "brain"], "value": {}}
FILE: dict[str, Any] = {"sha256": "0", "parts": [PART], "undo": [0, "", ""], "made": True, "folders": []}
CHANGES: list[dict[str, Any]] = [
    {"undo": ["0", "", ""]},
    {"undo": []},
    {"parts": []},
    {"parts": [1]},
    {"parts": [PART | {"form": "hologram"}]},
    {"folders": [None]},
]
DAMAGED: list[bytes] = [
    b"",
    b"{",
    b"\xff\x00",
    b"[" * 100_000,
    b"[1]",
    b'{"files": [1]}',
    b'{"files": {"/x": null}}',
    b'{"hooks": {"/x": {"events": "Stop"}}}',
    b'{"skills": {"/x": {"sha256": "0", "users": [1]}}}',
    *(
        json.dumps({"files": {"/x": {name: value for name, value in FILE.items() if name != lost}}}).encode()
        for lost in FILE
    ),
    *(json.dumps({"files": {"/x": FILE | changes}}).encode() for changes in CHANGES),
]
COMMANDS: list[list[str]] = [
    ["install", "--auto"],
    ["install", "--status"],
    ["uninstall"],
    ["teardown", "--yes"],
    ["hooks", "uninstall"],
    ["hooks", "status"],
    ["skills", "uninstall"],
    ["completion", "uninstall"],
]


def damage(home: Home, data: bytes) -> Path:
    path = Path(home.state, "installed.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: repr(data[:40]))
def test_a_damaged_record_is_named_and_does_not_count_as_empty(home: Home, data: bytes) -> None:
    path = damage(home, data)
    with pytest.raises(EngineMissing, match=f"^{path} is damaged") as caught:
        installed.read(home)
    assert caught.value.code == 65
    assert caught.value.fix.startswith("mv ")
    assert path.read_bytes() == data


def test_a_folder_in_the_place_of_the_record_is_named(home: Home) -> None:
    Path(home.state, "installed.json").mkdir(parents=True)
    with pytest.raises(EngineMissing, match="is damaged"):
        installed.read(home)


def test_any_change_to_a_record_is_read_or_named(home: Home, user_with_agents: Path) -> None:
    installing.install(home, [BY_NAME["zed"], BY_NAME["codex"], BY_NAME["opencode"]], os.environ)
    record = Path(home.state, "installed.json")
    whole = record.read_bytes()
    chance = random.Random(22)
    for _ in range(200):
        at = chance.randrange(len(whole))
        record.write_bytes(whole[:at] + bytes([chance.randrange(32, 127)]) + whole[at + chance.randrange(3) :])
        try:
            installing.status(home, [BY_NAME["zed"], BY_NAME["codex"]], os.environ)
            installing.commands(home)
        except EngineMissing:
            continue
    record.write_bytes(whole)
    assert installing.uninstall(home, [], os.environ)


@pytest.fixture
def user_with_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "user"
    for name in (".codex/config.toml", ".config/zed/settings.json"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("")
    for variable in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return folder


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_that_reads_a_damaged_record_ends_with_65_and_a_fix(
    brain: Brain, home: Home, user_with_agents: Path, words: list[str]
) -> None:
    path = damage(home, b"{")
    before = {each: each.read_bytes() for each in user_with_agents.rglob("*") if each.is_file()}
    done = brain(*words, "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["error"]) == (65, "qmd_missing"), answer
    assert str(path) in answer["message"]
    assert answer["fix"].startswith("mv ")
    for part in ("brain completion install", "brain schedule install", "former bytes are lost"):
        assert part in answer["fix"]
    assert path.read_bytes() == b"{"
    assert {each: each.read_bytes() for each in user_with_agents.rglob("*") if each.is_file()} == before


def test_the_fix_of_a_damaged_record_takes_over_what_is_there(home: Home, user_with_agents: Path) -> None:
    which = [BY_NAME["zed"], BY_NAME["codex"]]
    zed, codex = user_with_agents / ".config/zed/settings.json", user_with_agents / ".codex/config.toml"
    installing.install(home, which, os.environ)
    path = damage(home, b"{")
    path.rename(f"{path}.damaged")
    installing.install(home, which, os.environ)
    states = {row["outcome"] for agent in installing.status(home, which, os.environ) for row in agent["wired"]}
    assert states == {"current"}
    installing.uninstall(home, [], os.environ)
    assert "brain" not in zed.read_text() + codex.read_text()
    assert not skills.status(home, str(user_with_agents / ".agents/skills")) or not any(
        user_with_agents.rglob("SKILL.md")
    )
