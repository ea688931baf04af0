"""qmd's own places below a temporary folder, and a way to run it there."""

from __future__ import annotations

from pathlib import Path

import pytest

from qmd.app.main import main
from tests.qmd.app.world import Done, Qmd, collection, stand


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user stands; configuration and cache lie elsewhere."""
    here = tmp_path / "here"
    here.mkdir()
    for name in ("QMD_CONFIG_DIR", "INDEX_PATH", "QMD_SKILLS_DIR", "QMD_EDITOR_URI", "QMD_EMBED_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("QMD_TRUST_LOCAL_CONFIG", "QMD_TRUST_UPDATE_HOOKS", "QMD_SQLITE_BUSY_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    stand(monkeypatch, here)
    return here


@pytest.fixture
def qmd(place: Path, capfd: pytest.CaptureFixture[str]) -> Qmd:
    """Run one command in this process."""

    def run(*words: str) -> Done:
        capfd.readouterr()
        code = main(list(words))
        shown = capfd.readouterr()
        return Done(code, shown.out, shown.err)

    return run


@pytest.fixture
def notes(place: Path, qmd: Qmd) -> Path:
    """A collection of three notes, indexed."""
    return collection(
        place,
        qmd,
        "notes",
        {
            "plan.md": "---\nstatus: open\ndate: 2026-04-02\n---\n# Plan\n\nRefresh the tokens hourly.\n",
            "done.md": "---\nstatus: done\ndate: 2026-02-01\n---\n# Done\n\nThe tokens were refreshed.\n",
            "sub/deep.md": "# Deep\n\nNothing but \x1b[31mred\x1b[0m words.\n",
        },
    )
