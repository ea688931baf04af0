"""Every test of the server has an index of five documents in two collections."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.qmd.mcp.world import NOTES, World


@pytest.fixture
def empty_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A qmd that was never configured."""
    for name in ("INDEX_PATH", "QMD_CONFIG_DIR", "QMD_HOST", "QMD_HTTP_TOKEN", "QMD_ALLOWED_ORIGINS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("QMD_ALLOWED_HOSTS", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


@pytest.fixture
def world(empty_world: World) -> World:
    """A qmd with an index."""
    for name, text in NOTES.items():
        empty_world.write(name, text)
    empty_world.configure()
    empty_world.index()
    return empty_world
