"""``brain install`` wires what it finds, and taking it back gives every file its former bytes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from ops.install import agents, forms, hooks, installed, installing, parts, program, wired_files
from ops.install.agents import AGENTS, BY_NAME
from tests.conftest import Brain

FILES = {
    ".claude/settings.json": '{\n  "model": "opus"\n}\n',
    ".claude.json": '{"projects": {"/p": {"n": 1.0}}, "mcpServers": {}}',
    ".codex/config.toml": '# mine\nmodel = "gpt-5"   # keep\n\n[mcp_servers.other]\ncommand = "x"\n',
    ".gemini/settings.json": '{"theme": "x"}\n',
    ".qwen/settings.json": '{\r\n  "a": 1\r\n}\r\n',
    ".cursor/mcp.json": '{\n\t"mcpServers": {\n\t\t"other": {"url": "https://x"}\n\t}\n}',
    ".config/opencode/opencode.jsonc": '{\n  // mine\n  "$schema": "https://opencode.ai/config.json",\n}\n',
    ".pi/agent/settings.json": "{}",
    ".openclaw/openclaw.json": "{\n  // JSON5\n  agents: { list: ['a',], },\n}\n",
    ".copilot/config.json": "{}",
    ".config/Code/User/globalStorage/github.copilot-chat/x": "",
    ".config/Code/User/mcp.json": '{"servers": {"a": {"command": "a"}}, "inputs": []}',
    ".config/amp/settings.json": '{"amp.mcpServers": {"other": {"command": "x"}}}',
    ".config/goose/config.yaml": "GOOSE_MODEL: x # why\nextensions:\n  developer:\n    enabled: true\n",
    ".config/zed/settings.json": '// Zed\n{\n  "theme": "One", // dark\n  "context_servers": {},\n}\n',
    ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json": '{"mcpServers": {}}',
    ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/x": "",
    ".config/kilo/kilo.json": "{}\n",
    ".codeium/windsurf/mcp_config.json": "",
    ".config/crush/crush.json": '{"$schema": "https://charm.land/crush.json"}',
    ".grok/config.toml": '[models]\ndefault = "grok-5" # mine\n',
    ".factory/settings.json": "{\n}\n",
    ".continue/config.yaml": "name: mine\nversion: 1.0.0\nschema: v1\n",
    ".kimi/config.toml": 'default_model = ""\n\n[loop_control]\nmax = 1',
    ".kimi-code/config.toml": 'default_model = "x"\n',
    ".hermes/config.yaml": "mcp_servers:\n    a:\n        command: x\n",
}


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user who has every agent, and no program on the PATH."""
    folder = tmp_path / "user"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
    for variable in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "CODEX_HOME", "COPILOT_HOME", "APPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return folder


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Each file and folder below ``folder``, with its bytes and its mode."""
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else b"", path.stat().st_mode)
        for path in folder.rglob("*")
    }


def outcomes(report: list[dict[str, Any]]) -> set[str]:
    return {row["outcome"] for agent in report for row in agent["wired"]}


def test_every_agent_is_wired_and_every_byte_comes_back(home: Home, user: Path) -> None:
    (user / ".codeium/windsurf/mcp_config.json").write_text("{}")
    before = tree(user)
    which = installing.chosen([], os.environ)
    assert [agent.name for agent in which] == [agent.name for agent in AGENTS]
    dry = installing.install(home, which, os.environ, dry_run=True)
    assert outcomes(dry["agents"]) == {"wired"}
    assert tree(user) == before
    done = installing.install(home, which, os.environ)
    assert outcomes(done["agents"]) <= {"wired", "unchanged"}
    assert {row["kind"] for agent in done["agents"] for row in agent["wired"]} == {
        "mcp",
        "skills",
        "recall",
        "guidance",
    }
    states = installing.status(home, which, os.environ)
    assert not [(each["name"], row) for each in states for row in each["wired"] if row["outcome"] != "current"]
    middle = tree(user)
    assert outcomes(installing.install(home, which, os.environ)["agents"]) == {"unchanged"}
    assert tree(user) == middle
    installing.uninstall(home, [], os.environ)
    assert tree(user) == before
    assert not any(installed.read(home)[kind] for kind in ("files", "skills", "hooks"))


def test_droids_own_file_of_hooks_is_wired_where_it_exists(home: Home, user: Path) -> None:
    droid, hooks = [BY_NAME["droid"]], user / ".factory/hooks.json"
    installing.install(home, droid, os.environ)
    assert not hooks.exists()
    hooks.write_text('{"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}')
    before = hooks.read_bytes()
    installing.install(home, droid, os.environ)
    found = json.loads(hooks.read_text())
    assert set(found) == {"SessionStart", "UserPromptSubmit", "Stop"}
    assert found["Stop"][0]["hooks"][0]["command"] == "mine"
    assert outcomes(installing.status(home, droid, os.environ)) == {"current"}
    installing.uninstall(home, [], os.environ)
    assert hooks.read_bytes() == before


def test_the_others_stay_when_one_agent_leaves(home: Home, user: Path) -> None:
    which = [BY_NAME[name] for name in ("codex", "gemini", "zed")]
    before = tree(user)
    installing.install(home, which, os.environ)
    installing.uninstall(home, ["gemini"], os.environ)
    assert (user / ".gemini/settings.json").read_bytes() == before[".gemini/settings.json"][0]
    assert (user / ".agents/skills/brain-ask/SKILL.md").exists(), "Codex and Zed read the same folder"
    assert outcomes(installing.status(home, [BY_NAME["codex"], BY_NAME["zed"]], os.environ)) == {"current"}
    installing.uninstall(home, ["codex", "zed"], os.environ)
    assert not (user / ".agents").exists()


def test_what_the_agent_wrote_meanwhile_stays(home: Home, user: Path) -> None:
    which = [BY_NAME[name] for name in ("claude", "codex", "goose", "kimi")]
    installing.install(home, which, os.environ)
    claude = user / ".claude.json"
    claude.write_text(json.dumps({**json.loads(claude.read_text()), "new": 1}, indent=2))
    codex = user / ".codex/config.toml"
    codex.write_text(codex.read_text() + "\n[new]\na = 1\n")
    goose = user / ".config/goose/config.yaml"
    lines = goose.read_text().splitlines(keepends=True)
    goose.write_text("".join(line for line in lines if "# brain:" not in line) + "new: 1\n")
    installing.uninstall(home, [], os.environ)
    assert json.loads(claude.read_text()) == {"projects": {"/p": {"n": 1.0}}, "new": 1}
    assert codex.read_text() == FILES[".codex/config.toml"] + "\n[new]\na = 1\n"
    assert "brain" not in goose.read_text()
    assert "developer" in goose.read_text()
    assert goose.read_text().endswith("new: 1\n")


def test_an_entry_of_the_same_name_is_left_alone_until_it_is_forced(home: Home, user: Path) -> None:
    path = user / ".cursor/mcp.json"
    foreign = '{"mcpServers": {"brain": {"command": "npx", "args": ["other-brain"]}}}'
    path.write_text(foreign)
    which = [BY_NAME["cursor"]]
    rows = {row["path"]: row["outcome"] for row in installing.install(home, which, os.environ)["agents"][0]["wired"]}
    assert rows[str(path)] == "foreign"
    assert path.read_text() == foreign
    assert "foreign" in outcomes(installing.status(home, which, os.environ))
    installing.install(home, which, os.environ, force=True)
    assert json.loads(path.read_text())["mcpServers"]["brain"]["args"][-1] == "mcp"
    installing.uninstall(home, [], os.environ)
    assert path.read_text() == foreign


def test_a_file_that_cannot_be_read_stops_nothing_else(home: Home, user: Path) -> None:
    path = user / ".config/zed/settings.json"
    path.write_text("{ not json")
    report = installing.install(home, [BY_NAME["zed"], BY_NAME["codex"]], os.environ)["agents"]
    assert [row["outcome"] for row in report[0]["wired"]] == ["failed", "wired"]
    assert "settings.json cannot be edited" in report[0]["wired"][0]["why"]
    assert outcomes(report[1:]) == {"wired", "unchanged"}, "the skills are there since Zed"
    assert path.read_text() == "{ not json"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (".qwen/settings.json", b""),
        (".qwen/settings.json", b'\xef\xbb\xbf{"a": 1}\n'),
        (".codex/config.toml", b'\xef\xbb\xbfmodel = "x"\r\n[a]\r\nb = 1\r\n'),
        (".codex/config.toml", b"a = '''\n[mcp_servers.brain]\n'''\n"),
        (".hermes/config.yaml", b"mcp_servers:\r\n  a:\r\n    command: x\r\nz: 1\r\n"),
    ],
)
def test_odd_files_are_wired_and_get_their_bytes_back(home: Home, user: Path, name: str, data: bytes) -> None:
    (user / name).write_bytes(data)
    agent = BY_NAME[name.partition("/")[0].removeprefix(".")]
    report = installing.install(home, [agent], os.environ)["agents"]
    assert outcomes(report) == {"wired"}
    assert (user / name).read_bytes() != data
    installing.uninstall(home, [], os.environ)
    assert (user / name).read_bytes() == data


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (".qwen/settings.json", b"null"),
        (".qwen/settings.json", b'{"mcpServers": {"x": 1}, "mcpServers": {"y": 2}}'),
        (".qwen/settings.json", b'{"a":' * 5000 + b"1" + b"}" * 5000),
        (".qwen/settings.json", b'{"mcpServers": [1], "hooks": "x"}'),
        (".qwen/settings.json", '{"a": 1}'.encode("utf-16")),
        (".codex/config.toml", b'mcp_servers = { x = { command = "y" } }\n'),
        (".hermes/config.yaml", b"mcp_servers: {a: {command: x}}\n"),
        (".hermes/config.yaml", b"mcp_servers:\n  a: 1\n---\nb: 1\n"),
        (".kimi-code/config.toml", b"hooks = []"),
    ],
)
def test_files_of_an_unknown_form_are_left_as_they_are(home: Home, user: Path, name: str, data: bytes) -> None:
    (user / name).write_bytes(data)
    agent = BY_NAME[name.partition("/")[0].removeprefix(".")]
    rows = installing.install(home, [agent], os.environ)["agents"][0]["wired"]
    assert {row["outcome"] for row in rows if row["path"].endswith(name)} == {"failed"}
    assert (user / name).read_bytes() == data


def test_a_file_that_is_no_file_or_read_only_is_left_alone(home: Home, user: Path) -> None:
    path = user / ".qwen/settings.json"
    path.chmod(0o444)
    assert outcomes(installing.install(home, [BY_NAME["qwen"]], os.environ)["agents"]) == {"failed", "wired"}
    path.unlink()
    os.mkfifo(path)
    assert outcomes(installing.install(home, [BY_NAME["qwen"]], os.environ)["agents"]) == {"failed", "unchanged"}
    path.unlink()
    path.symlink_to(path)
    assert outcomes(installing.install(home, [BY_NAME["qwen"]], os.environ)["agents"]) == {"failed", "unchanged"}


def test_each_profile_is_wired_and_all_are_taken_back(home: Home, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(user)
    for name in (".codex", ".codex-work"):
        monkeypatch.setenv("CODEX_HOME", str(user / name))
        assert outcomes(installing.install(home, [BY_NAME["codex"]], os.environ)["agents"]) <= {"wired", "unchanged"}
    monkeypatch.delenv("CODEX_HOME")
    installing.uninstall(home, [], os.environ)
    after = tree(user)
    after.pop(".local", None), after.pop(".local/bin", None), after.pop(".local/bin/brain", None)
    assert after == before


def test_links_are_followed_and_modes_kept(home: Home, user: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "codex.toml"
    target.parent.mkdir()
    target.write_text("a = 1\n")
    target.chmod(0o640)
    path = user / ".codex/config.toml"
    path.unlink()
    path.symlink_to(target)
    installing.install(home, [BY_NAME["codex"]], os.environ)
    assert path.is_symlink()
    assert "mcp_servers.brain" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o640
    installing.uninstall(home, [], os.environ)
    assert path.is_symlink()
    assert target.read_text() == "a = 1\n"


def test_the_status_shows_what_was_edited_lost_or_moved(
    home: Home, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    which = [BY_NAME[name] for name in ("codex", "opencode", "cursor", "zed")]
    installing.install(home, which, os.environ)
    (user / ".cursor/mcp.json").write_text("{}")
    plugin = user / ".config/opencode/plugins/brain.js"
    plugin.write_text(plugin.read_text() + "// mine\n")

    def states() -> dict[tuple[str, str], str]:
        report = installing.status(home, which, os.environ)
        return {(agent["name"], row["kind"]): row["outcome"] for agent in report for row in agent["wired"]}

    found = states()
    assert found["cursor", "mcp"] == "missing"
    assert found["opencode", "recall"] == "edited"
    assert found["codex", "mcp"] == "current"
    kept = {row["kind"]: row for row in installing.uninstall(home, ["opencode"], os.environ)}
    assert kept["recall"]["outcome"] == "edited"
    assert plugin.read_text().endswith("// mine\n"), "a file that was edited stays"
    monkeypatch.setattr(program, "command", lambda: ["/elsewhere/.venv/bin/brain"])
    assert states()["zed", "mcp"] == "outdated"


def test_an_entry_whose_program_moved_is_found(home: Home, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "command", lambda: ["/gone/bin/brain"])
    installing.install(home, [BY_NAME["zed"]], os.environ)
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(user))
    rows = installing.status(home, [BY_NAME["zed"]], os.environ)[0]["wired"]
    assert rows[0]["outcome"] == "gone"
    installing.install(home, [BY_NAME["zed"]], os.environ)
    assert installing.status(home, [BY_NAME["zed"]], os.environ)[0]["wired"][0]["outcome"] == "current"


def test_the_launcher_runs_the_brain_of_this_home_without_a_path(home: Home, user: Path) -> None:
    report = installing.launcher(home, os.environ)
    path = user / ".local/bin/brain"
    assert report == {"path": str(path), "outcome": "wired", "on_path": False}
    done = subprocess.run([path, "--version"], env={}, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("brain "), done.stderr
    assert f"BRAIN_HOME={home.root}" in path.read_text()
    installing.uninstall(home, [], os.environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\necho another\n")
    assert installing.launcher(home, os.environ)["outcome"] == "foreign"


def test_a_file_that_was_edited_stays_however_often_it_is_installed(home: Home, user: Path) -> None:
    which = [BY_NAME["opencode"]]
    installing.install(home, which, os.environ)
    plugin = user / ".config/opencode/plugins/brain.js"
    mine = plugin.read_text() + "// mine\n"
    plugin.write_text(mine)
    for _ in range(2):
        assert "edited" in outcomes(installing.install(home, which, os.environ)["agents"])
        assert plugin.read_text() == mine
    assert "edited" in outcomes(installing.status(home, which, os.environ))
    installing.uninstall(home, [], os.environ)
    assert plugin.read_text() == mine


@pytest.mark.parametrize("command", [None, ["/elsewhere/.venv/bin/brain"]])
@pytest.mark.parametrize("name", ["gemini", "qwen"])
def test_two_parts_of_one_file_without_a_record_leave_it_together(
    home: Home, user: Path, monkeypatch: pytest.MonkeyPatch, name: str, command: list[str] | None
) -> None:
    path = user / f".{name}/settings.json"
    before = path.read_bytes()
    with monkeypatch.context() as patched:
        if command:
            patched.setattr(program, "command", lambda: command)
        installing.install(home, [BY_NAME[name]], os.environ)
    (Path(home.state) / "installed.json").unlink()
    installing.install(home, [BY_NAME[name]], os.environ)
    assert "brain" in path.read_text()
    installing.uninstall(home, [], os.environ)
    assert path.read_bytes() == before


def test_a_dry_run_reports_what_the_installation_then_does(home: Home, user: Path) -> None:
    which = [BY_NAME["claude"]]
    installing.install(home, which, os.environ)
    settings, skill = user / ".claude/settings.json", user / ".claude/skills/brain-ask/SKILL.md"
    settings.write_text(settings.read_text().replace("hook stop", "hook stop --old"))
    skill.write_text("mine\n")
    assert outcomes(installing.status(home, which, os.environ)) == {"current", "edited", "outdated"}
    before = tree(user)
    dry = installing.install(home, which, os.environ, dry_run=True)
    assert tree(user) == before
    done = installing.install(home, which, os.environ)
    assert dry["agents"] == done["agents"]
    assert outcomes(done["agents"]) == {"unchanged", "kept", "wired"}
    assert outcomes(installing.status(home, which, os.environ)) == {"current", "edited"}


def test_hooks_that_were_chosen_one_by_one_are_current(home: Home, user: Path) -> None:
    hooks.install(home, str(user / ".claude/settings.json"), ["stop"])
    (report,) = installing.status(home, [BY_NAME["claude"]], os.environ)
    assert {row["kind"]: row["outcome"] for row in report["wired"]}["recall"] == "current"


def test_hooks_whose_program_is_gone_are_gone_whatever_else_is_wrong(home: Home, user: Path) -> None:
    command = {"type": "command", "command": "/nowhere/bin/brain hook stop"}
    settings = {"disableAllHooks": True, "hooks": {"Stop": [{"hooks": [command]}]}}
    (user / ".claude/settings.json").write_text(json.dumps(settings))
    (report,) = installing.status(home, [BY_NAME["claude"]], os.environ)
    assert {row["kind"]: row["outcome"] for row in report["wired"]}["recall"] == "gone"


def test_a_launcher_that_cannot_be_written_fails_the_command(brain: Brain, home: Home, user: Path) -> None:
    (user / ".local").write_text("no folder")
    done = brain("install", "codex", env={**os.environ})
    assert (done.returncode, "Launcher" in done.stdout, "failed" in done.stdout) == (1, True, True)
    assert json.loads(brain("install", "codex", "--json", env={**os.environ}).stdout)["ok"] is False


def test_no_launcher_is_written_where_another_program_has_its_name(home: Home, user: Path, tmp_path: Path) -> None:
    other = tmp_path / "bin" / "brain"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho another\n")
    other.chmod(0o755)
    environ = {**os.environ, "PATH": f"{other.parent}:/usr/bin:/bin"}
    foreign = {"path": str(other), "outcome": "foreign", "on_path": True}
    assert installing.launcher(home, environ) == foreign
    assert installing.launcher_status(home, environ) == foreign
    assert not (user / ".local").exists()
    assert installing.launcher(home, environ, force=True)["outcome"] == "wired"
    assert (user / ".local/bin/brain").exists()


def test_a_launcher_without_a_record_is_known_by_its_text(home: Home, user: Path) -> None:
    environ = {**os.environ, "PATH": f"{user}/.local/bin:/usr/bin:/bin"}
    path = str(user / ".local/bin/brain")
    installing.launcher(home, environ)
    (Path(home.state) / "installed.json").unlink()
    assert installing.launcher_status(home, environ) == {"path": path, "outcome": "current", "on_path": True}
    assert installing.launcher(home, environ) == {"path": path, "outcome": "unchanged", "on_path": True}
    assert path in installed.read(home)["files"]


def test_the_status_of_the_launcher_is_shown(home: Home, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = user / ".local/bin/brain"

    def state() -> str:
        return str(installing.launcher_status(home, os.environ)["outcome"])

    assert state() == "absent"
    installing.launcher(home, os.environ)
    assert state() == "current"
    text = path.read_text()
    path.write_text(text + "# mine\n")
    assert state() == "edited"
    path.unlink()
    assert state() == "missing"
    monkeypatch.setattr(program, "command", lambda: ["/gone/bin/brain"])
    installing.launcher(home, os.environ)
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert state() == "gone"


def test_every_command_that_is_written_is_absolute_and_names_this_home(home: Home, user: Path) -> None:
    installing.install(home, AGENTS, os.environ)
    lines = installing.commands(home)
    assert lines
    for line in lines:
        words = [word for word in line.replace("BRAIN_INBOX_DIR", "").split() if "=" not in word]
        assert words[0].startswith("/"), line
    for agent in AGENTS:
        for wiring in agent.wirings:
            if wiring.form in forms.FORMS:
                text = json.dumps(parts.part(home, agent, wiring).value)
                assert home.root in text or "brain_ask" in text, (agent.name, wiring.kind)


def test_a_plugin_of_goose_and_the_hooks_of_grok_are_whole_files_in_their_documented_form(
    home: Home, user: Path
) -> None:
    installing.install(home, [BY_NAME["goose"], BY_NAME["grok"]], os.environ)
    plugin = user / ".agents/plugins/brain"
    manifest = json.loads((plugin / "plugin.json").read_text())
    assert manifest["name"] == "brain"
    assert "version" not in manifest  # each release would make the file outdated
    for path, events in (
        (plugin / "hooks/hooks.json", {"Stop": "hook stop --source goose"}),
        (
            user / ".grok/hooks/brain.json",
            {"PreToolUse": "hook guard", "PostToolUseFailure": "hook guard", "Stop": "hook stop --source grok"},
        ),
    ):
        hooks_of = json.loads(path.read_text())["hooks"]
        found = {event: group["hooks"][0]["command"] for event, (group,) in hooks_of.items()}
        assert {event: command.split("brain ")[-1] for event, command in found.items()} == events
    installing.uninstall(home, [], os.environ)
    assert not plugin.exists()
    assert not (user / ".grok/hooks").exists()


@pytest.mark.parametrize(("name", "path"), [
    ("opencode", ".config/opencode/plugins/brain.js"), ("kilo", ".config/kilo/plugins/brain.js"),
    ("pi", ".pi/agent/extensions/brain.js")])  # fmt: skip
def test_a_plugin_names_the_source_of_its_agents_sessions(home: Home, user: Path, name: str, path: str) -> None:
    installing.install(home, [BY_NAME[name]], os.environ)
    text = (user / path).read_text()
    assert f'const SOURCE = "{name}";' in text
    assert '["--source", SOURCE]' in text
    assert "/* " not in text


def test_the_table_of_agents_is_whole() -> None:
    assert len({agent.name for agent in AGENTS}) == len(AGENTS) >= 20
    for agent in AGENTS:
        assert agent.docs.startswith("https://"), agent.name
        assert agent.folders, agent.name
        for wiring in agent.wirings:
            assert wiring.kind in (agents.MCP, agents.SKILLS, agents.GUIDANCE, agents.RECALL)
            assert wiring.form in (*forms.FORMS, "skills", "claude"), agent.name
            assert not wiring.shape or wiring.shape in parts.SHAPES


def test_an_edit_leads_back_to_the_bytes_before_it() -> None:
    for before, after in (("", "x"), ("aba", "abba"), ("{}", "{1}"), ("same", "same"), ("long", "")):
        at, put, was = wired_files.difference(before, after)
        assert after[:at] + was + after[at + len(put) :] == before


def test_the_page_of_agents_has_a_row_and_the_sources_of_each() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "wiring.md").read_text("utf-8")
    for agent in AGENTS:
        assert f"\n| {agent.title} |" in page
        assert f"- {agent.title}: {agent.docs}" in page
