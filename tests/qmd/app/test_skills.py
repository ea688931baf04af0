"""Instructions for agents, shown and installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.qmd.app.world import Qmd, write


def test_the_skill_is_listed_shown_and_found(qmd: Qmd) -> None:
    assert qmd("skills").out.startswith("  qmd  Search local markdown knowledge bases")
    assert qmd("skills", "get", "qmd").out.startswith("---\nname: qmd\n")
    assert qmd("skill", "show").out == qmd("--skill").out == "QMD Skill\n\n" + qmd("skills", "get", "qmd").out
    assert "--- references/mcp-setup.md ---" in qmd("skills", "get", "--all", "--full").out
    assert Path(qmd("skills", "path", "qmd").out.strip()).joinpath("SKILL.md").is_file()
    listed = json.loads(qmd("skills", "list", "--json").out)
    assert [row["name"] for row in listed["data"]] == ["qmd"]


def test_the_skill_has_the_headings_that_agents_of_qmd_look_for(qmd: Qmd) -> None:
    whole = qmd("skills", "get", "qmd", "--full").out
    for line in ("# QMD - Query Markdown Documents", "## MCP Tool: `query`", "# QMD MCP Server Setup"):
        assert f"\n{line}\n" in whole
    assert "\nallowed-tools: Bash(qmd:*), mcp__qmd__*\n" in qmd("--skill").out


def test_every_command_the_skill_names_is_one(qmd: Qmd) -> None:
    from qmd.app.main import _VERBS

    text = qmd("skills", "get", "qmd", "--full").out
    named = {line.split()[1] for line in text.split("\n") if line.startswith("    qmd ")}
    assert named
    assert named <= set(_VERBS)


def test_an_installed_skill_asks_the_program(place: Path, qmd: Qmd) -> None:
    assert f"✓ Installed QMD skill to {place}/.agents/skills/qmd" in qmd("skill", "install").out
    installed = (place / ".agents/skills/qmd/SKILL.md").read_text()
    assert "# QMD - Query Markdown Documents" in installed
    assert "!`qmd skill show`" in installed
    assert "## MCP Tool" not in installed
    again = qmd("skill", "install")
    assert again.code == 1
    assert "already exists" in again.err
    assert qmd("skill", "install", "--force", "--yes").code == 0
    assert (place / ".claude/skills/qmd/SKILL.md").is_file()


def test_hidden_and_unnamed_skills_are_not_listed(tmp_path: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "skills", {"a/SKILL.md": "---\nname: a\nhidden: true\n---\n", "b/SKILL.md": "no frontmatter\n"})
    monkeypatch.setenv("QMD_SKILLS_DIR", str(tmp_path / "skills"))
    assert qmd("skills", "list").out == "No skills found\n"
    assert qmd("skills", "get", "a").code == 0
    assert qmd("skill", "show").code == 1
