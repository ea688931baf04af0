"""Forgotten text leaves every backup, and no backup brings it back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core import config
from core.home import Home
from core.tombstones import Tombstones
from ops.backup import backup, packing, restore
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.forgetting import forget, verify_erasure
from tests.ingest.history import MORNING, History, configure
from tests.ingest.sources.test_git import Repository
from tests.ops.backups import ask, corpus, make, session, unpacked


def test_what_is_forgotten_leaves_every_backup_and_what_was_kept_aside(filled: Home, tmp_path: Path) -> None:
    inside = make(filled)["path"]
    restore.restore(inside, filled, force=True)
    other = make(filled, to=str(tmp_path / "disk"))["path"]
    found = forget.plan(filled, config.load(filled), Selection(references=[session(3)]), "")
    outcome = forget.carry_out(
        filled, found, lambda documents, marks, probes: (backup.forget(filled, documents, marks, probes), [])
    )
    assert outcome.left == []
    for number, path in enumerate((inside, other)):
        held = unpacked(path, tmp_path / f"held{number}")
        assert b"drawer3." not in held
        assert b"drawer4." in held
    for each in Path(filled.path("backups")).rglob("*"):
        if each.is_file():
            assert b"drawer3." not in each.read_bytes()
    copy = Home(str(tmp_path / "copy"))
    assert restore.restore(inside, copy)["documents"] == 22
    assert Tombstones(copy).covers("claude", session(3))


def test_a_day_of_browsing_leaves_a_backup(home: Home, tmp_path: Path) -> None:
    configure(home, "{mode: all}")
    history = History(tmp_path / "browser" / "History")
    history.visit("https://walrus.test/", "On walruses")
    history.visit("https://heron.test/", "On herons", MORNING + 86_400)
    index(home, config.load(home), source="chrome", roots=[history.save()])
    path = make(home)["path"]
    assert b"walrus" in unpacked(path, tmp_path / "before")
    found = forget.plan(home, config.load(home), Selection(), "on walruses")
    outcome = forget.carry_out(
        home, found, lambda documents, marks, probes: (backup.forget(home, documents, marks, probes), [])
    )
    assert (outcome.documents, outcome.left) == (1, [])
    held = unpacked(path, tmp_path / "after")
    assert b"walrus" not in held
    assert b"On herons" in held


def test_a_text_that_only_a_backup_holds_by_now_leaves_it(filled: Home, tmp_path: Path) -> None:
    page = Path(filled.path("kb-wiki", "bird.md"))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("# Birds\n\nA vermilion gate.\n", encoding="utf-8")
    Path(filled.usage).write_text('{"event":"ask","query":"the vermilion gate"}\n', encoding="utf-8")
    index(filled, config.load(filled))
    path = make(filled)["path"]
    page.unlink()
    Path(filled.usage).unlink()
    index(filled, config.load(filled))
    # A session with a text that only its raw file holds, also in the backup.
    before = Path(path).read_bytes()
    assert backup.forget(filled, [], [], verify_erasure.spellings("an ochre lamp"), anywhere=True) == []
    assert Path(path).read_bytes() == before
    assert backup.forget(filled, [], [], verify_erasure.spellings("Vermilion  Gate"), anywhere=True) == []
    held = unpacked(path, tmp_path / "held")
    assert b"vermilion gate" not in held
    assert b"drawer3." in held
    assert backup.forget(filled, [], [], verify_erasure.spellings("in drawer3."), anywhere=True) == []
    held = unpacked(path, tmp_path / "again")
    assert b"drawer3." not in held
    assert b"drawer4." in held


def back_up_and_forget(home: Home, folder: Path) -> Path:
    """Forget a session while the backup that holds it is out of reach; return the path of the backup."""
    away = folder / "away.tar.zst"
    shutil.move(make(home)["path"], away)
    forget.carry_out(home, forget.plan(home, config.load(home), Selection(references=[session(3)]), ""))
    return away


def test_a_backup_that_was_out_of_reach_does_not_bring_back_what_was_forgotten(filled: Home, tmp_path: Path) -> None:
    away = back_up_and_forget(filled, tmp_path)
    report = restore.restore(str(away), filled, force=True)
    assert report["forgotten_again"] == 1
    assert not Path(filled.path("brain", f"{session(3)}.md")).exists()
    index(filled, config.load(filled))
    assert not any("drawer3." in hit[3] for hit in ask(filled, ["drawer3"])[0])


def test_a_restore_next_to_the_home_that_forgot_brings_nothing_back(filled: Home, tmp_path: Path) -> None:
    away = back_up_and_forget(filled, tmp_path)
    copy = Home(str(tmp_path / "copy"))
    report = restore.restore(str(away), copy, current=filled)
    assert (report["forgotten_again"], report["aside"]) == (1, "")
    assert not Path(copy.path("brain", f"{session(3)}.md")).exists()
    assert Tombstones(copy).covers("claude", session(3))


def test_notes_and_files_of_ones_own_do_not_come_back_either(filled: Home, tmp_path: Path) -> None:
    page = Path(filled.path("kb-wiki", "bird.md"))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("# Birds\n\nA pelican is a bird.\n", encoding="utf-8")
    page.with_name("fish.md").write_text("# Fish\n\nNo bird.\n", encoding="utf-8")
    index(filled, config.load(filled))
    path = make(filled)["path"]
    away = tmp_path / "away.tar.zst"
    shutil.move(path, away)
    forget.carry_out(filled, forget.plan(filled, config.load(filled), Selection(), "pelican"))
    report = restore.restore(str(away), filled, force=True)
    assert report["forgotten_again"] == 2
    assert b"pelican" not in b"".join(corpus(filled).values())
    assert sorted(each.name for each in page.parent.iterdir()) == ["fish.md"]
    index(filled, config.load(filled))
    assert not any("pelican" in hit[3] for hit in ask(filled, ["pelican"])[0])


def test_days_of_commits_and_symbols_of_code_do_not_come_back_either(filled: Home, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    repository.commit("The pelican landed", name="bird.py")
    (repository.root / "bird.py").write_text("def pelican():\n    return 1\n\n\ndef otter():\n    return 2\n")
    repository.commit("Nothing of note", at="2026-04-29T09:00:00+00:00", name="fish.py")
    for source in ("git", "code"):
        index(filled, config.load(filled), source=source, roots=[str(repository.root)])
    path = make(filled)["path"]
    away = tmp_path / "away.tar.zst"
    shutil.move(path, away)
    forget.carry_out(filled, forget.plan(filled, config.load(filled), Selection(), "pelican"))
    report = restore.restore(str(away), filled, force=True)
    assert report["forgotten_again"] == 3, "a note, a day and a symbol"
    held = [path.read_bytes() for name in ("git", "code") for path in Path(filled.path(name)).rglob("*.md")]
    assert len(held) == 2
    assert b"pelican" not in b"".join(held).lower()
    index(filled, config.load(filled))
    assert not any("pelican" in hit[3] for hit in ask(filled, ["pelican"])[0])


def test_forgetting_in_backups_that_was_killed_is_finished_by_the_next_backup(
    filled: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(filled)["path"]
    found = forget.plan(filled, config.load(filled), Selection(references=[session(3)]), "")

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(packing, "pack", dies)
        with pytest.raises(KeyboardInterrupt):
            forget.carry_out(filled, found, lambda *what: (backup.forget(filled, *what), []))
    assert b"drawer3." in unpacked(path, tmp_path / "before")
    make(filled)
    assert b"drawer3." not in unpacked(path, tmp_path / "after")


def test_a_backup_that_still_holds_it_is_named_by_every_backup_until_it_does_not(filled: Home, tmp_path: Path) -> None:
    first = Path(make(filled)["path"])
    torn = first.with_name("brain-20200101T000000Z.tar.zst")
    torn.write_bytes(first.read_bytes()[:100])
    found = forget.plan(filled, config.load(filled), Selection(references=[session(3)]), "")
    forget.carry_out(filled, found, lambda *what: (backup.forget(filled, *what), []))
    (left,) = make(filled)["left"]
    assert str(torn) in left
    torn.unlink()
    assert make(filled)["left"] == []
    assert not backup.forgetting(filled)
