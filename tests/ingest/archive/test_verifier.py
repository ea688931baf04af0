"""What the archive has lost of a file that is still there is stored anew; what it has lost for good is known."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from core import config
from core.errors import EngineMissing
from core.home import Home
from ingest import forgetting
from ingest.archive import archive, recording, rewriting, verifier
from ingest.archive.rows import LOST
from ingest.pipeline.run import run
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.forgetting import forget
from tests.ingest.archive.test_rows import cursor
from tests.ingest.sources import test_opencode as opencode
from tests.ingest.transcripts import OTHER, SESSION, Script, corpus, ingest, lines, save, text

Harm = Callable[[str], None]


def remove(path: str) -> None:
    os.unlink(path)


def empty(path: str) -> None:
    Path(path).write_bytes(b"")


def flip(path: str) -> None:
    data = bytearray(Path(path).read_bytes())
    data[len(data) // 2] ^= 1
    Path(path).write_bytes(data)


def stored(home: Home) -> dict[str, bytes]:
    return {os.path.basename(path): Path(path).read_bytes() for path in archive.objects(home.path("raw"))}


def harm_all(home: Home, harm: Harm) -> None:
    for path in list(archive.objects(home.path("raw"))):
        harm(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "transcripts"
    place.mkdir()
    return place


@pytest.fixture
def grown(home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A transcript that the archive has in several objects."""
    monkeypatch.setattr(recording, "SMALL", 10)
    script = Script()
    path = save(folder / "a.jsonl", script.user("one"), script.assistant(text("an answer")))
    for number in range(3):
        ingest(home, folder)
        with path.open("ab") as stream:
            stream.write(lines(script.user(f"turn {number} " + "word " * 40)))
    save(folder / "b.jsonl", Script(OTHER).user("another session"))
    ingest(home, folder)
    assert len(stored(home)) == 5
    return path


@pytest.mark.parametrize("harm", [remove, empty])
def test_what_the_archive_has_lost_is_stored_anew_by_a_run_that_reads_the_files(
    home: Home, folder: Path, grown: Path, harm: Harm
) -> None:
    before, documents = stored(home), corpus(home)
    harm_all(home, harm)
    assert {(each.reason, each.version) for each in verifier.broken(home)} == {("missing", 0)}
    ingest(home, folder)
    assert (stored(home), corpus(home)) == (before, documents)
    assert verifier.broken(home, contents=True) == []


@pytest.mark.parametrize("rebuild", [True, False])
def test_what_is_damaged_in_the_archive_is_stored_anew_by_a_run_that_reads_it(
    home: Home, folder: Path, grown: Path, rebuild: bool
) -> None:
    before, documents = stored(home), corpus(home)
    harm_all(home, flip)
    assert verifier.broken(home) == []
    assert len({each.name for each in verifier.broken(home, contents=True)}) == 5
    run(home, "claude", [str(folder)], trust_stat=True, rebuild=rebuild, check_archive=not rebuild)
    assert (stored(home), corpus(home)) == (before, documents)


@pytest.mark.parametrize("harm", [remove, flip])
def test_a_transcript_grows_on_whatever_became_of_what_the_archive_had_of_it(
    home: Home, folder: Path, harm: Harm
) -> None:
    script = Script()
    path = save(folder / "a.jsonl", script.user("one"))
    ingest(home, folder)
    harm_all(home, harm)
    with path.open("ab") as stream:
        stream.write(lines(script.user("two")))
    ledger = run(home, "claude", [str(folder)], trust_stat=True)
    assert ledger.failed_files == 0
    assert b"two" in next(iter(corpus(home).values()))
    assert verifier.broken(home, contents=True) == []
    (entry,) = archive.read(home, "claude").values()
    assert b"".join(archive.lines(home.path("raw"), entry.segments)) == path.read_bytes()


def test_what_is_lost_of_a_file_that_is_gone_stays_known_as_that(home: Home, folder: Path, grown: Path) -> None:
    documents = corpus(home)
    harm_all(home, remove)
    grown.unlink()
    ingest(home, folder)
    left = verifier.broken(home)
    assert {(each.path, each.reason) for each in left} == {(str(grown), "missing")}
    assert corpus(home) == documents


@pytest.mark.parametrize("harm", [remove, flip])
def test_sessions_of_a_database_are_stored_anew_and_one_that_is_lost_keeps_no_other_from_being_read(
    home: Home, tmp_path: Path, harm: Harm
) -> None:
    path = cursor(tmp_path / "User")
    roots = [str(tmp_path / "User")]
    run(home, "cursor", roots, trust_stat=True)
    before, documents = stored(home), corpus(home)
    harm_all(home, harm)
    ledger = run(home, "cursor", roots, trust_stat=True, check_archive=True)
    assert ledger.failed_files == 0
    assert (stored(home), corpus(home)) == (before, documents)
    harm_all(home, harm)
    cursor(tmp_path / "User", "Why now?")
    connection = apsw.Connection(str(path))
    connection.execute("delete from cursorDiskKV where key like '%c1%'")
    connection.close()
    ledger = run(home, "cursor", roots, trust_stat=False)
    assert ledger.failed_files == 0
    assert ledger.recovered[LOST] == 2
    assert b"Why now?" in corpus(home)["cursor__c0.md"]
    assert corpus(home)["cursor__c1.md"] == documents["cursor__c1.md"]
    assert verifier.broken(home, contents=True) == []


def test_what_is_lost_of_a_file_beside_others_that_is_gone_has_them_read_once(home: Home, tmp_path: Path) -> None:
    root = opencode.tree(tmp_path / "opencode")
    run(home, "opencode", [str(root)], trust_stat=False)
    part = next(entry for entry in archive.versions(home, "opencode") if "/part/" in entry.path)
    os.unlink(part.path)
    run(home, "opencode", [str(root)], trust_stat=False)
    os.unlink(archive.object_path(home.path("raw"), part.segments[0][0]))
    assert [each.path for each in verifier.broken(home)] == [part.path]
    assert run(home, "opencode", [str(root)], trust_stat=False).ingested == 0


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
