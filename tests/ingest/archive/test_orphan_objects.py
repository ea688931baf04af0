"""Objects that no row of the archive names: forgetting takes those of what is forgotten, and no others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from core import config
from core.errors import EngineMissing
from core.home import Home
from ingest import forgetting
from ingest.archive import archive, rewriting, verifier
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.forgetting import forget
from tests.ingest.transcripts import OTHER, SESSION, Script, save


@pytest.fixture
def archived(home: Home, claude_root: Path) -> set[str]:
    """A home with two sessions in its archive alone; the paths of its objects."""
    folder = claude_root / "projects" / "-work-demo"
    for session in (SESSION, OTHER):
        save(folder / f"{session}.jsonl", Script(session).user(f"the heron of {session}"))
    index(home, config.load(home))
    for session in (SESSION, OTHER):
        (folder / f"{session}.jsonl").unlink()
    return there(home)


def there(home: Home) -> set[str]:
    return set(archive.objects(home.path("raw")))


def gone(home: Home, match: str = "", **chosen: Any) -> forget.Outcome:
    return forget.carry_out(home, forget.plan(home, config.load(home), Selection(**chosen), match))


def _without_catalogue(home: Home) -> None:
    os.unlink(home.path("raw", archive.CATALOGUE))


def test_a_lost_catalogue_does_not_take_all_objects_along(home: Home, archived: set[str]) -> None:
    _without_catalogue(home)
    assert len(archived) == 2
    assert set(verifier.orphan_objects(home)) == archived
    outcome = gone(home, references=[SESSION])
    (left,) = there(home)
    assert OTHER.encode() in archive.content(home.path("raw"), (Path(left).stem, 1 << 20))
    assert not outcome.left
    assert any("no catalogue names" in each for each in outcome.beyond)


def test_what_holds_a_forgotten_text_goes_though_nothing_names_it(home: Home, archived: set[str]) -> None:
    _without_catalogue(home)
    gone(home, f"the heron of {OTHER}")
    (left,) = there(home)
    assert SESSION.encode() in archive.content(home.path("raw"), (Path(left).stem, 1 << 20))


def test_a_text_that_no_document_has_is_looked_for_in_them_too(home: Home, archived: set[str]) -> None:
    _without_catalogue(home)
    for path in Path(home.path("brain")).iterdir():
        path.unlink()
    index(home, config.load(home), markdown_only=True)
    forget.sweep(home, f"the heron of {OTHER}")
    assert there(home) == archived
    forget.sweep(home, f"the heron of {OTHER}", for_good=True)
    assert len(there(home)) == 1


def test_what_a_killed_run_left_of_a_session_goes_by_its_lines(
    home: Home, claude_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = claude_root / "projects" / "-work-demo" / f"{SESSION}.jsonl"
    script = Script()
    first = script.user("the first heron, " + "which stands in the water " * 20)
    save(claude_root / "projects" / "-work-demo" / f"{OTHER}.jsonl", Script(OTHER).user("an egret"))
    save(path, first)
    index(home, config.load(home))
    before = there(home)
    with monkeypatch.context() as patch:
        patch.setattr("ingest.archive.recording.unlink_unnamed", lambda *_: 0)
        save(path, first, script.user("the second heron"))
        index(home, config.load(home))
    monkeypatch.setattr(forgetting, "_LONG", 1000)  # not by its id
    (stray,) = verifier.orphan_objects(home)
    assert stray in before
    (others,) = before - {stray}
    gone(home, references=[SESSION])
    assert there(home) == {others}


def test_a_removal_that_was_killed_is_finished_by_the_next(
    home: Home, archived: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> int:
        raise KeyboardInterrupt

    # What it is told by otherwise is not what this is about.
    monkeypatch.setattr(verifier, "remove_orphans", lambda *_: 0)
    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "unlink_unnamed", dies)
        with pytest.raises(KeyboardInterrupt):
            gone(home, references=[SESSION])
    assert there(home) == archived
    index(home, config.load(home))
    assert len(there(home)) == 1
    assert not verifier.orphan_objects(home)


def test_an_empty_catalogue_is_a_damaged_one(home: Home, archived: set[str]) -> None:
    catalogue = Path(home.path("raw", archive.CATALOGUE))
    catalogue.write_bytes(b"")
    for ask in (
        lambda: archive.sources(home),
        lambda: gone(home, references=[SESSION]),
        lambda: verifier.summarize(home, {}),
    ):
        with pytest.raises(EngineMissing, match="is damaged: it is empty"):
            ask()
    assert there(home) == archived
    assert not catalogue.stat().st_size


def test_an_empty_catalogue_of_nothing_is_made(home: Home, claude_root: Path) -> None:
    os.makedirs(home.path("raw"), mode=0o700)
    Path(home.path("raw", archive.CATALOGUE)).write_bytes(b"")
    save(claude_root / "projects" / "-work-demo" / f"{SESSION}.jsonl", Script(SESSION).user("one"))
    index(home, config.load(home))
    assert archive.sources(home) == ["claude"]


def test_an_archive_that_nothing_names_is_not_taken_for_read_back(home: Home, archived: set[str]) -> None:
    _without_catalogue(home)
    with pytest.raises(EngineMissing, match="2 objects of the archive that no catalogue names"):
        index(home, config.load(home), from_archive=True)


def test_what_is_not_read_back_is_counted(home: Home, archived: set[str], claude_root: Path) -> None:
    _without_catalogue(home)
    save(claude_root / "projects" / "-work-demo" / "new.jsonl", Script("new").user("an egret"))
    index(home, config.load(home))
    assert index(home, config.load(home), from_archive=True)["unnamed"] == 2
    assert verifier.summarize(home, {})["unnamed"] == 2
