"""``qmd collection``, ``context``, ``init`` and ``trust``: changes to what people wrote themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from qmd import config_file
from tests.qmd.app.world import Qmd, stand, write

BY_HAND = """\
# what I keep
global_context: "all mine"   # said everywhere
editor_uri: vim://{path}:{line}
mine: [1, 2]
collections:
  notes:        # the good ones
    path: PLACE
    pattern: '**/*.md'
    future_key: kept
"""


def test_a_change_keeps_comments_order_and_foreign_keys(place: Path, qmd: Qmd, tmp_path: Path) -> None:
    write(place / "n", {"a.md": "# A\n"})
    write(tmp_path / "config" / "qmd", {"index.yml": BY_HAND.replace("PLACE", str(place / "n"))})
    path = tmp_path / "config" / "qmd" / "index.yml"
    for words in (
        ["context", "add", "qmd://notes/", "about: notes"],
        ["collection", "update-cmd", "notes", "git", "pull"],
        ["collection", "exclude", "notes"],
    ):
        assert qmd(*words).code == 0
    text = path.read_text()
    for line in BY_HAND.replace("PLACE", str(place / "n")).splitlines():
        assert line in text
    assert "update: git pull" in text
    assert "includeByDefault: false" in text
    for words in (
        ["context", "rm", "qmd://notes/"],
        ["collection", "update-cmd", "notes"],
        ["collection", "include", "notes"],
    ):
        assert qmd(*words).code == 0
    assert path.read_text() == BY_HAND.replace("PLACE", str(place / "n"))


def test_keys_are_text_as_yaml_1_2_has_them(place: Path, qmd: Qmd, tmp_path: Path) -> None:
    write(place / "n", {"on/a.md": "# A\n\ntokens\n"})
    text = f"collections:\n  2024:\n    path: {place}/n\n    context: {{on: yes, 2024-01-01: a day}}\n"
    write(tmp_path / "config" / "qmd", {"index.yml": text})
    assert qmd("update").code == 0
    assert '"context": "yes"' in qmd("search", "tokens", "--json").out
    assert "  2024-01-01\n    a day" in qmd("context", "list").out


def test_a_configuration_behind_a_symlink_stays_behind_it(place: Path, qmd: Qmd, tmp_path: Path) -> None:
    write(place / "n", {"a.md": "# A\n"})
    write(tmp_path / "dotfiles", {"index.yml": "collections: {}\n"})
    (tmp_path / "config" / "qmd").mkdir(parents=True)
    (tmp_path / "config" / "qmd" / "index.yml").symlink_to(tmp_path / "dotfiles" / "index.yml")
    assert qmd("collection", "add", "n").code == 0
    assert (tmp_path / "config" / "qmd" / "index.yml").is_symlink()
    assert "path:" in (tmp_path / "dotfiles" / "index.yml").read_text()


def test_a_mask_that_cannot_be_read_adds_nothing(place: Path, qmd: Qmd, tmp_path: Path) -> None:
    write(place / "n", {"a.md": "# A\n"})
    done = qmd("collection", "add", "n", "--mask", "[z-a]")
    if done.code:
        assert not (tmp_path / "config" / "qmd" / "index.yml").exists()


def test_a_renamed_collection_is_found_in_every_script(place: Path, qmd: Qmd) -> None:
    write(place / "n", {"検索.md": "# 検索\n\n全文検索\n"})
    qmd("collection", "add", "n")
    qmd("collection", "rename", "n", "m")
    assert "qmd://m/検索.md" in qmd("search", "検索", "--files").out
    assert "0 new, 0 updated, 1 unchanged" in qmd("update").out


def test_a_project_below_is_found_from_its_folders(qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    write(project, {"doc/a.md": "# A\n\ntokens\n"})
    stand(monkeypatch, project)
    assert qmd("init").out == "ready to go with new local index\n"
    config = project / ".qmd" / "index.yml"
    assert config.read_text().startswith("collections: {}\n# ")
    # Named as a comment: models that are written down count more than the environment's, for ever.
    assert "\n# models:\n" in config.read_text()
    assert config_file.load(str(config)) == {"collections": {}}
    qmd("collection", "add", "doc")
    stand(monkeypatch, project / "doc")
    assert "qmd://doc/a.md" in qmd("search", "tokens", "--files").out
    assert qmd("--index", "other", "ls").out.startswith("No collections found.")
    stand(monkeypatch, tmp_path)
    assert qmd("ls").out.startswith("No collections found.")


def test_a_home_is_no_project(qmd: Qmd, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    stand(monkeypatch, Path(os.environ["HOME"]))
    done = qmd("init")
    assert done.code == 1
    assert "Refusing to initialize a local index in $HOME." in done.err


def test_the_shells_idea_of_the_folder_comes_first(
    place: Path, qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "real", {"a.md": "# A\n"})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path / "link")
    monkeypatch.setenv("PWD", str(tmp_path / "link"))
    assert f"Collection: {tmp_path}/link (**/*.md)" in qmd("collection", "add", ".").out
