"""Hooks go into a settings file and out of it again; nothing else in it changes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from core.home import Home
from ops.install import hooks, installed

OTHERS = """{
    "permissions": { "allow": ["Bash(git:*)"],   "deny": [] },
    "n": 1.50, "caf\\u00e9": "\\/",
    "hooks": {
        "Stop": [
            {"matcher": "*", "hooks": [{"type": "command", "command": "say done"}]}
        ]
    }
}
"""


def _events(path: Path) -> dict[str, list[str]]:
    settings = json.loads(path.read_text("utf-8-sig"))
    return {
        event: [entry["command"] for group in groups for entry in group["hooks"]]
        for event, groups in settings.get("hooks", {}).items()
    }


def test_stop_brings_a_session_start_that_speaks_of_misses(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    report = hooks.install(home, str(path), ["stop"])
    assert report["changed"] is True
    events = _events(path)
    assert set(events) == {"Stop", "SubagentStop", "SessionEnd", "PreCompact", "SessionStart"}
    assert events["Stop"][0].endswith("hook stop")
    assert events["SessionStart"][0].endswith("hook session-start --misses")
    assert path.stat().st_mode & 0o777 == 0o600
    assert installed.read(home)["hooks"][str(path)]["hooks"] == ["stop"]


def test_a_recalling_session_start_takes_the_place_of_the_other(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    hooks.install(home, str(path), ["stop"])
    hooks.install(home, str(path), ["stop", "session-start", "prompt"])
    events = _events(path)
    assert [command.partition("hook ")[2] for command in events["SessionStart"]] == ["session-start"]
    assert "UserPromptSubmit" in events


def test_installing_again_changes_nothing(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(OTHERS)
    hooks.install(home, str(path), ["stop"])
    once = path.read_bytes()
    assert hooks.install(home, str(path), ["stop"])["changed"] is False
    assert path.read_bytes() == once


def test_all_else_is_kept_byte_for_byte(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(OTHERS)
    path.chmod(0o644)
    report = hooks.install(home, str(path), ["stop"])
    changed = path.read_text()
    assert OTHERS.split('"hooks"')[0] == changed.split('"hooks"')[0]
    assert "say done" in _events(path)["Stop"]
    assert path.stat().st_mode & 0o777 == 0o644
    assert Path(report["backup"]).read_text() == OTHERS
    hooks.uninstall(home, str(path))
    assert path.read_text() == OTHERS
    assert installed.read(home)["hooks"] == {}


def test_hooks_of_another_installation_are_replaced_and_not_doubled(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    old = {"type": "command", "command": "BRAIN_HOME=/old /gone/bin/brain hook stop", "timeout": 10}
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [old]}]}}))
    hooks.install(home, str(path), ["stop"])
    assert [command.startswith("BRAIN_HOME=/old") for command in _events(path)["Stop"]] == [False]


@pytest.mark.parametrize(
    "text",
    ["{", '{"hooks": []}', '{"hooks": {"Stop": 1}}', "// settings\n{}", "[]", '{"hooks": {}, "hooks": {}}', "\xff"],
)
def test_a_file_that_cannot_be_edited_is_refused_and_left(home: Home, tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadInput) as failure:
        hooks.install(home, str(path), ["stop"])
    assert failure.value.fix
    assert path.read_bytes() == text.encode("latin-1")
    assert installed.read(home)["hooks"] == {}


def test_a_link_into_dotfiles_stays_a_link(home: Home, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    path = tmp_path / "settings.json"
    path.symlink_to(real)
    hooks.install(home, str(path), ["stop"])
    assert path.is_symlink()
    assert "Stop" in _events(real)


def test_status_says_what_is_wrong(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    hooks.install(home, str(path), ["stop"])
    (found,) = hooks.status(home, [], os.environ)["files"]
    assert (found["installed"], found["problems"]) == (True, [])
    path.write_text(path.read_text().replace("hook stop", "hook_stop"))
    (found,) = hooks.status(home, [], os.environ)["files"]
    assert found["problems"] == ["installed once, gone now: PreCompact, SessionEnd, Stop, SubagentStop"]
    command = {"type": "command", "command": "/nowhere/bin/brain hook stop"}
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [command]}]}}))
    (found,) = hooks.status(home, [], os.environ)["files"]
    assert "/nowhere/bin/brain is not there any more" in found["problems"]


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_groups = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=10)}))}
    ),
    max_size=3,
)
_settings = st.builds(
    lambda rest, events: {**{f"x{key}": value for key, value in rest.items()}, **({"hooks": events} if events else {})},
    st.dictionaries(st.text(max_size=5), _json, max_size=4),
    st.none() | st.dictionaries(st.sampled_from(["Stop", "SessionStart", "PreToolUse"]), _groups, max_size=3),
)


@given(_settings, st.sampled_from([None, 2, 4, "\t"]), st.booleans())
def test_whatever_else_the_settings_hold_is_there_afterwards(
    tmp_path_factory: pytest.TempPathFactory, settings: dict[str, Any], indent: int | str | None, ascii_only: bool
) -> None:
    folder = tmp_path_factory.mktemp("settings")
    place = Home(str(folder / "home"))
    path = folder / "settings.json"
    text = json.dumps(settings, indent=indent, ensure_ascii=ascii_only)
    path.write_text(text, encoding="utf-8", errors="surrogatepass" if ascii_only else "replace")
    before = json.loads(path.read_text("utf-8"))
    hooks.install(place, str(path), ["stop", "prompt"])
    after = json.loads(path.read_text("utf-8"))
    assert {key: value for key, value in after.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }
    for event, groups in before.get("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    hooks.uninstall(place, str(path))
    emptied = {event: groups for event, groups in before.get("hooks", {}).items() if groups}
    left = json.loads(path.read_text("utf-8"))
    assert {event: groups for event, groups in left.get("hooks", {}).items() if groups} == emptied


def test_a_folder_is_no_settings_file(home: Home, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        hooks.install(home, str(tmp_path), ["stop"])


def test_status_says_that_all_hooks_are_off(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"disableAllHooks": true}')
    hooks.install(home, str(path), ["stop"])
    (found,) = hooks.status(home, [], os.environ)["files"]
    assert found["problems"] == ["disableAllHooks is set: Claude Code runs none of them"]
