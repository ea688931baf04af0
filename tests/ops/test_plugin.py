"""The plugin: what Claude Code reads of it, and that it says the same as what the commands install."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from core.home import Home
from core.version import VERSION
from ops.install import hooks, skills

ROOT = Path(__file__).resolve().parents[2]


def read(name: str) -> dict[str, object]:
    found = json.loads((ROOT / name).read_text())
    assert isinstance(found, dict)
    return found


def test_the_manifests_name_what_is_here() -> None:
    plugin = read(".claude-plugin/plugin.json")
    assert (plugin["name"], plugin["version"]) == ("brain", VERSION)
    market = read(".claude-plugin/marketplace.json")
    assert isinstance(market["plugins"], list)
    (only,) = market["plugins"]
    assert (ROOT / only["source"] / ".claude-plugin" / "plugin.json").is_file()
    assert all((ROOT / "skills" / name / "SKILL.md").is_file() for name in skills.names())


def test_the_plugins_hooks_are_those_that_install_installs(home: Home) -> None:
    events = read("hooks/hooks.json")["hooks"]
    assert isinstance(events, dict)
    wanted = hooks.wanted(home, ["stop"])
    assert set(events) == set(wanted)
    for event, (group,) in events.items():
        (entry,) = group["hooks"]
        assert entry["command"].partition(" hook ")[2] == wanted[event]["command"].partition(" hook ")[2]
        assert entry["command"].startswith('"${CLAUDE_PLUGIN_ROOT}/bin/plugin-brain" ')


def test_the_plugins_server_is_started_by_the_same_program() -> None:
    servers = read(".mcp.json")["mcpServers"]
    assert servers == {"brain": {"command": "${CLAUDE_PLUGIN_ROOT}/bin/plugin-brain", "args": ["mcp"]}}


@pytest.mark.parametrize(("words", "code"), [(("hook", "stop"), 0), (("ask", "x"), 65)])
def test_without_a_brain_it_says_how_to_get_one(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    copy = tmp_path / "plugin" / "bin" / "plugin-brain"
    copy.parent.mkdir(parents=True)
    copy.write_bytes((ROOT / "bin" / "plugin-brain").read_bytes())
    copy.chmod(0o755)
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run([copy, *words], env=environ, capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stdout) == (code, "")
    assert "make venv" in done.stderr


def test_a_brain_kept_in_the_plugins_data_comes_first(tmp_path: Path) -> None:
    brain = tmp_path / "venv" / "bin" / "brain"
    brain.parent.mkdir(parents=True)
    brain.write_text('#!/bin/sh\necho "$@"\n')
    brain.chmod(0o755)
    environ = {**os.environ, "CLAUDE_PLUGIN_DATA": str(tmp_path)}
    done = subprocess.run(
        [ROOT / "bin" / "plugin-brain", "hook", "stop"],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert done.stdout == "hook stop\n"


def test_a_brain_without_its_interpreter_fails_no_hook(tmp_path: Path) -> None:
    """The next one gets what the hook was given; without one it ends with 0 all the same, as after a failure."""
    broken = tmp_path / "data" / "venv" / "bin" / "brain"
    copy = tmp_path / "plugin" / "bin" / "plugin-brain"
    whole = tmp_path / ".local" / "bin" / "brain"
    for path, text in (
        (broken, "#!/nonexistent/python\n"),
        (copy, (ROOT / "bin" / "plugin-brain").read_text("utf-8")),
    ):
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CLAUDE_PLUGIN_DATA": str(tmp_path / "data")}

    def run() -> tuple[int, str]:
        done = subprocess.run(
            [copy, "hook", "stop"], env=environ, input="{}", capture_output=True, text=True, check=False, timeout=20
        )
        return done.returncode, done.stdout

    assert run() == (0, "")
    whole.parent.mkdir(parents=True)
    whole.write_text("#!/bin/sh\ncat\nexit 3\n")
    whole.chmod(0o755)
    assert run() == (0, "{}")
