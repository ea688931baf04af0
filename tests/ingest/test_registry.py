"""Where the sources' files are looked for on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest import registry, roots
from ingest.raw.store import DISK


def test_each_profile_of_openclaw_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (".openclaw", ".openclaw-work", ".openclaw-dev", ".moltbot", "elsewhere/.openclaw", "elsewhere/state"):
        (tmp_path / name / "agents").mkdir(parents=True)
    (tmp_path / ".openclaw-empty").mkdir()
    (tmp_path / ".openclaw-file").write_text("")
    found = [f"{tmp_path}/{name}/agents" for name in (".openclaw", ".openclaw-dev", ".openclaw-work", ".moltbot")]
    assert registry.source("openclaw").default_roots(environ={}) == found
    moved = registry.source("openclaw").default_roots(environ={"OPENCLAW_HOME": f"{tmp_path}/elsewhere"})
    assert f"{tmp_path}/elsewhere/.openclaw/agents" in moved
    given = registry.source("openclaw").default_roots(environ={"OPENCLAW_STATE_DIR": f"{tmp_path}/elsewhere/state"})
    assert f"{tmp_path}/elsewhere/state/agents" in given


def test_a_database_of_any_channel_of_opencode_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    for name in ("opencode.db", "opencode-dev.db", "opencode-some-branch.db", "opencode-dev.db-wal", "other.db"):
        (folder / name).write_text("")
    names = ["opencode.db", "opencode-dev.db", "opencode-some-branch.db"]
    assert registry.source("opencode").default_roots(environ={}) == [f"{folder}/{name}" for name in names]


def test_a_star_in_a_folders_real_name_is_that_folder(tmp_path: Path) -> None:
    (tmp_path / "a*b/sessions").mkdir(parents=True)
    (tmp_path / "axb/sessions").mkdir(parents=True)
    assert registry.source("codex").default_roots(environ={"CODEX_HOME": f"{tmp_path}/a*b"}) == [
        f"{tmp_path}/a*b/sessions"
    ]


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ('{"sessionDir": "kept"}', [".pi/agent/kept"]),
        ('{"sessionDir": "~/talks"}', ["talks"]),
        ('{"sessionDir": "~"}', []),
        ('{"sessionDir": "/"}', []),
        ('{"sessionDir": ["talks"]}', []),
        ('{"sessionDir": "a\\u0000b"}', []),
        ("[]", []),
        ("{", []),
    ],
)
def test_pis_settings_may_name_the_folder_of_its_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, found: list[str]
) -> None:
    """earendil-works/pi, pull request 2552."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (".pi/agent/sessions", ".pi/agent/kept", "talks"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".pi/agent/settings.json").write_text(settings)
    assert registry.source("pi").default_roots(environ={}) == [
        str(tmp_path / name) for name in (".pi/agent/sessions", *found)
    ]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("codex", ["one.jsonl.name"]),
        ("copilot", ["workspace.yaml", "vscode.metadata.json"]),
        ("cursor", ["meta.json"]),
        ("claude", []),
        ("opencode", []),
    ],
)
def test_a_source_names_the_files_that_describe_one_session(tmp_path: Path, source: str, names: list[str]) -> None:
    """A tree of OpenCode's has some: see tests/ingest/sources/test_opencode_archive.py."""
    found = registry.source(source).companions(str(tmp_path / "one.jsonl"), DISK)
    assert found == [str(tmp_path / name) for name in names]


def test_folders_that_are_not_there_cost_one_look_for_all_tables(tmp_path: Path) -> None:
    rows = (("", str(tmp_path), ("Code/User/a", "Code/User/b", "Other/User/a", "*/x", "first|second")),)
    (tmp_path / "Code/User").mkdir(parents=True)
    known = roots.Folders()
    held = roots.expand(rows, {}, known)
    assert held == [path for path in roots.expand(rows, {}) if "/Other/User" not in path]
    assert known.there == {f"{tmp_path}/Code": True, f"{tmp_path}/Other": False}
