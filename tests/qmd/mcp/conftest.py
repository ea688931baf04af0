"""Every test of the server has an index of five documents in two collections."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forking import Forks
from tests.qmd.mcp.world import NOTES, World

_UNSET = ("INDEX_PATH", "QMD_CONFIG_DIR", "QMD_HOST", "QMD_HTTP_TOKEN", "QMD_ALLOWED_ORIGINS", "QMD_ALLOWED_HOSTS")


def _empty(root: Path, patch: pytest.MonkeyPatch, forks: Forks) -> World:
    for name in _UNSET:
        patch.delenv(name, raising=False)
    patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
    patch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    patch.chdir(root)
    return World(root, forks)


def _indexed(world: World) -> World:
    for name, text in NOTES.items():
        world.write(name, text)
    world.configure()
    world.index()
    return world


@pytest.fixture
def empty_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mcp_forks: Forks) -> World:
    """A qmd that was never configured."""
    return _empty(tmp_path, monkeypatch, mcp_forks)


@pytest.fixture
def world(empty_world: World) -> World:
    """A qmd with an index, for tests that change it."""
    return _indexed(empty_world)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, mcp_forks: Forks) -> World:
    """A qmd with an index, for tests that only read it."""
    with pytest.MonkeyPatch.context() as patch:
        return _indexed(_empty(tmp_path_factory.mktemp("qmd"), patch, mcp_forks))
