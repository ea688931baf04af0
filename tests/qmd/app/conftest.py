"""qmd's own places below a temporary folder, and a way to run it there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from qmd.app.main import main
from tests.qmd.app.world import Done, Qmd, collection, stand, write

_UNSET = (
    *("QMD_CONFIG_DIR", "INDEX_PATH", "QMD_SKILLS_DIR", "QMD_EDITOR_URI", "QMD_EMBED_MODEL"),
    *("QMD_TRUST_LOCAL_CONFIG", "QMD_TRUST_UPDATE_HOOKS", "QMD_SQLITE_BUSY_TIMEOUT"),
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory; configuration and cache are elsewhere."""
    return _place(tmp_path, monkeypatch)


def _place(root: Path, patch: pytest.MonkeyPatch) -> Path:
    here = root / "here"
    here.mkdir()
    for name in _UNSET:
        patch.delenv(name, raising=False)
    patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
    patch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    stand(patch, here)
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


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of three embedded notes, of which some are near in meaning: embedding loads a model, so do it once."""
    root = tmp_path_factory.mktemp("embedded")
    with pytest.MonkeyPatch.context() as patch:
        write(
            _place(root, patch) / "pets",
            {
                "invoice.md": "# Invoice\n\nThe invoice was paid late.\n",
                "dog.md": "# Dog\n\nOur dog sleeps on the sofa.\n",
                "rain.md": "# Rain\n\nRain fell all day.\n",
            },
        )
        assert main(["collection", "add", "pets"]) == main(["embed"]) == 0
    return root


@pytest.fixture
def pets(embedded: Path, place: Path) -> None:
    """The embedded notes' configuration and index, copied for this test."""
    for name in ("config", "cache"):
        shutil.copytree(embedded / name, place.parent / name)


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
