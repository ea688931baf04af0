"""What the archive has lost of a file that is still there is stored anew; what it has lost for good is known."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from core.home import Home
from ingest.archive import archive, recording, verifier
from ingest.archive.rows import LOST
from ingest.pipeline.run import run
from tests.ingest.archive.test_rows import cursor
from tests.ingest.sources import test_opencode as opencode
from tests.ingest.transcripts import OTHER, Script, corpus, ingest, lines, save, text

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
