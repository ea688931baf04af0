"""The doctor's findings on installations outside the home."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from brain import main
from core import clock, telemetry
from core.config import load
from core.home import Home
from ops.checks import surfaces
from ops.checks.finding import CheckContext
from ops.install import hooks, installed, installing, program, skills
from ops.install.agents import BY_NAME
from runtime.capture import indexing
from tests.ops.patients import ROOT, examine, ids

NOW = clock.parse_iso("2026-06-30T12:00:00Z") or 0


@pytest.fixture(autouse=True)
def _checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have hooks run this checkout, which need not have an environment of its own."""
    monkeypatch.setattr(program, "command", lambda: [sys.executable, str(ROOT / "brain.py")])


def _session(home: Home, ended: str, *, folder: str = "", project: str = "/p") -> None:
    path = Path(home.path("brain", folder, f"{ended[:10]}.md"))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    head = f"---\nsession_id: s{ended[:10]}\nsource: claude\ndate: {ended}\nended: {ended}\nproject: {project}\n---\n\n"
    path.write_text(f"{head}# Session\n\n## [1] user\n\nthe walrus of {ended}\n")
    path.chmod(0o600)
    indexing.index(home, load(home))


def _row(home: Home, event: str, ts: str) -> None:
    telemetry.append(home.usage, {"schema": 1, "ts": ts, "surface": "hook", "event": event})


def _silent(home: Home) -> list[str]:
    context = CheckContext(home, os.environ, NOW)
    try:
        return [found.evidence for found in surfaces.hooks_fire(context) if found.id == "hooks-silent"]
    finally:
        context.close()


def _installed(home: Home, path: Path, since: str | None) -> None:
    hooks.install(home, str(path), ["stop"])
    record = installed.read(home)["hooks"][str(path)]
    record.pop("since")
    installed.add(home, "hooks", str(path), record | ({"since": since} if since else {}))


def test_a_doctor_that_was_well_is_well_after_the_hooks_were_installed(well: Home, claude_root: Path) -> None:
    _session(well, clock.iso(clock.now() - clock.DAY))
    assert examine(well)["healthy"]
    hooks.install(well, str(claude_root / "settings.json"), ["stop"])
    assert ids(examine(well)) == []


@pytest.mark.parametrize(
    ("since", "ended", "fired", "silent"),
    [
        ("2026-06-20T00:00:00Z", "2026-06-19T00:00:00Z", None, False),
        ("2026-06-20T00:00:00Z", "2026-06-26T00:00:00Z", None, False),
        ("2026-06-20T00:00:00Z", "2026-06-28T00:00:00Z", None, True),
        ("2026-06-20T00:00:00Z", "2026-06-28T00:00:00Z", "2026-06-27T00:00:00Z", False),
        ("2026-01-20T00:00:00Z", "2026-06-28T00:00:00Z", "2026-05-01T00:00:00Z", True),
        # Installed again after the last time that a hook fired.
        ("2026-06-27T00:00:00Z", "2026-06-28T00:00:00Z", "2026-05-01T00:00:00Z", False),
        # A record of an earlier version has no date.
        (None, "2026-06-28T00:00:00Z", None, True),
        # A session with a wrong clock.
        ("2026-06-29T00:00:00Z", "2027-01-01T00:00:00Z", None, False),
    ],
)
def test_hooks_are_silent_if_a_session_ended_long_after_they_were_installed_and_last_fired(
    home: Home, claude_root: Path, since: str | None, ended: str, fired: str | None, silent: bool
) -> None:
    _session(home, ended)
    _installed(home, claude_root / "settings.json", since)
    if fired:
        _row(home, "hook", fired)
    found = _silent(home)
    assert bool(found) is silent
    assert all((fired or since or "they were installed") in evidence for evidence in found)


def test_sessions_of_another_machine_do_not_make_hooks_silent(home: Home, claude_root: Path) -> None:
    _session(home, "2026-06-28T00:00:00Z", folder="machines/tower")
    _installed(home, claude_root / "settings.json", "2026-06-01T00:00:00Z")
    assert _silent(home) == []


@pytest.mark.parametrize(("folder", "silent"), [("", True), ("sub/folder", True), ("../other", False)])
def test_hooks_of_a_project_answer_for_the_sessions_of_that_project(
    home: Home, tmp_path: Path, folder: str, silent: bool
) -> None:
    project = tmp_path / "project"
    _session(home, "2026-06-28T00:00:00Z", project=os.path.normpath(project / folder))
    (project / ".claude").mkdir(parents=True)
    _installed(home, project / ".claude" / "settings.json", "2026-06-01T00:00:00Z")
    assert bool(_silent(home)) is silent


def test_a_hook_that_fired_is_found_behind_any_number_of_other_rows(home: Home, claude_root: Path) -> None:
    _session(home, "2026-06-28T00:00:00Z")
    _installed(home, claude_root / "settings.json", "2026-06-01T00:00:00Z")
    _row(home, "hook", "2026-06-27T00:00:00Z")
    row = b'{"schema":1,"ts":"2026-06-27T01:00:00Z","surface":"terminal","event":"ask"}\n'
    with open(home.usage, "ab") as stream:
        stream.write(row * 6000)
    assert _silent(home) == []


def test_skills_run_their_command_from_an_empty_environment(
    well: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "brain"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)
    monkeypatch.setattr(program, "command", lambda: [str(tool)])
    skills.install(well, str(tmp_path / "skills"), {})
    assert ids(examine(well), "error", "warning", "notice") == []
    tool.unlink()
    (found,) = [each for each in examine(well)["findings"] if each["id"] == "skills-run"]
    assert found["severity"] == "warning"
    assert str(tool) in found["evidence"]
    assert found["fix"] == f"brain skills install --dest {tmp_path / 'skills'}"


def test_a_skill_that_calls_a_brain_of_no_path_is_found(well: Home, tmp_path: Path) -> None:
    skills.install(well, str(tmp_path / "skills"), {})
    path = tmp_path / "skills" / "brain-ask" / "SKILL.md"
    path.write_bytes(skills.content("brain-ask"))  # as earlier versions wrote it
    (found,) = [each for each in examine(well)["findings"] if each["id"] == "skills-run"]
    assert str(path) in found["evidence"]
    assert found["fix"] == f"brain skills install --dest {tmp_path / 'skills'} --force"


@pytest.mark.parametrize("agents", [False, True])
@pytest.mark.parametrize("dest", ["", "other skills"])
def test_the_fix_of_a_skill_writes_the_folder_where_the_skill_is(
    well: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agents: bool, dest: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    where = skills.folder(os.environ, dest=str(tmp_path / dest) if dest else "", agents=agents)
    skills.install(well, where, {}, agents=agents)
    Path(where, "brain-ask", "SKILL.md").write_bytes(skills.content("brain-ask"))
    Path(where, "brain-why", "SKILL.md").unlink()
    found = [each for each in examine(well)["findings"] if each["id"] in ("skills-run", "skill:brain-why")]
    assert len(found) == 2
    for each in found:
        assert main(shlex.split(each["fix"])[1:]) == 0
    assert not [each for each in examine(well)["findings"] if each["id"].startswith("skill")]


@pytest.mark.parametrize(("before", "after", "kept"), [(["stop"], ["stop"], True), (["stop"], ["prompt"], False)])
def test_installing_again_keeps_the_date_unless_the_hooks_change(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: list[str], after: list[str], kept: bool
) -> None:
    path = str(tmp_path / "settings.json")

    def since() -> Any:
        return installed.read(home)["hooks"][path]["since"]

    hooks.install(home, path, before)
    first = since()
    monkeypatch.setattr(clock, "now", lambda: NOW)
    hooks.install(home, path, after)
    assert since() == (first if kept else clock.iso(NOW))


def test_an_agent_whose_entry_is_gone_or_whose_command_fails_is_reported(
    well: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "user" / ".codex").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    installing.install(well, [BY_NAME["codex"]], os.environ)

    def found() -> dict[str, str]:
        context = CheckContext(well, os.environ, NOW)
        evidence: dict[str, str] = {}
        try:
            for each in (*surfaces.agents_wired(context), *surfaces.agents_run(context)):
                evidence[each.id] = evidence.get(each.id, "") + each.evidence
        finally:
            context.close()
        return evidence

    assert found() == {}
    config = tmp_path / "user" / ".codex" / "config.toml"
    config.write_text("")
    assert "config.toml: missing" in found()["agent:codex"]
    monkeypatch.setattr(program, "command", lambda: ["/gone/brain"])
    installing.install(well, [BY_NAME["codex"]], os.environ)
    assert set(found()) == {"agent:codex", "agents-run"}
    assert "/gone/brain mcp" in found()["agents-run"]
