"""Losses and damage of the archive: the doctor finds them, repairs the repairable and names the rest."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import brain
from core.config import load
from core.errors import EngineMissing
from core.home import Home
from ingest.archive import archive, verifier
from ops.backup import backup
from runtime.asking.documents import Selection
from runtime.capture import indexing
from runtime.forgetting import forget
from tests.ingest.history import MORNING, History
from tests.ingest.transcripts import Script, save
from tests.ops.patients import examine, ids, repairs

pytestmark = pytest.mark.usefixtures("here")


def _archived(home: Home, folder: Path, *sessions: str) -> list[str]:
    """The objects of transcripts that lie in a folder which is none of the tool's own."""
    folder.mkdir(exist_ok=True)
    for session in sessions:
        save(folder / f"{session}.jsonl", Script(session).user(f"the heron of {session}"))
    indexing.index(home, load(home), source="claude", roots=[str(folder)])
    return list(archive.objects(home.path("raw")))


def test_lost_objects_are_noticed_at_once_and_stored_again(well: Home, tmp_path: Path) -> None:
    objects = _archived(well, tmp_path / "elsewhere", "s1", "s2")
    before = {path: Path(path).read_bytes() for path in objects}
    for path in objects:
        os.unlink(path)
    repairs(well, "archive-broken:claude")
    assert {path: Path(path).read_bytes() for path in objects} == before


def test_damaged_objects_are_found_by_the_deep_check_and_stored_again(well: Home, tmp_path: Path) -> None:
    (path,) = _archived(well, tmp_path / "elsewhere", "s1")
    before = Path(path).read_bytes()
    Path(path).write_bytes(before[:-9] + bytes(9))
    assert examine(well)["healthy"]
    found = examine(well, deep=True)
    assert ids(found) == ["archive-broken:claude"]
    assert found["findings"][0]["fix"] == "brain doctor --deep --fix"
    assert examine(well, deep=True, fix=True)["healthy"]
    assert Path(path).read_bytes() == before


def test_what_the_archive_has_lost_for_good_is_named(well: Home, tmp_path: Path) -> None:
    (path,) = _archived(well, tmp_path / "elsewhere", "s1")
    os.unlink(path)
    os.unlink(tmp_path / "elsewhere" / "s1.jsonl")
    found = examine(well, fix=True)
    assert ids(found) == ["archive-lost:claude"]
    assert os.path.relpath(path, well.root) in found["findings"][0]["fix"]


def test_an_accepted_loss_is_no_finding_and_the_next_one_is(
    well: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = sorted(_archived(well, tmp_path / "elsewhere", "s1", "s2"))
    kept = Path(first).read_bytes()
    shutil.rmtree(tmp_path / "elsewhere")
    os.unlink(first)
    found = examine(well, accept_loss=True)
    assert found["mended"] == [{"id": "archive-lost", "outcome": "accepted the loss of 1 object"}]
    assert found["findings"] == []
    report = backup.make(well, load(well))
    assert [(each["object"], each["accepted"]) for each in report["broken"]] == [
        (os.path.relpath(first, well.root), True)
    ]
    assert brain.main(["backup"]) == 0
    assert "not in it, as you know: 1 object of the archive" in capsys.readouterr().out
    assert brain.main(["explain"]) == 0
    assert "1 lost, as you know" in capsys.readouterr().out
    Path(second).write_bytes(b"")
    assert ids(examine(well)) == ["archive-lost:claude"]
    assert brain.main(["backup"]) == 65
    Path(first).write_bytes(kept)
    examine(well, accept_loss=True)
    assert list(verifier.accepted_losses(well)) == [Path(second).stem]
    os.unlink(first)
    assert ids(examine(well)) == ["archive-lost:claude"], "what had come back is lost once more"


def test_an_object_that_can_be_stored_again_is_no_loss_to_accept(well: Home, tmp_path: Path) -> None:
    (path,) = _archived(well, tmp_path / "elsewhere", "s1")
    os.unlink(path)
    assert ids(examine(well, accept_loss=True)) == ["archive-broken:claude"]
    assert verifier.accepted_losses(well) == {}
    assert ids(examine(well, accept_loss=True, fix=True)) == []


def test_nothing_is_known_any_more_of_a_loss_that_was_forgotten(well: Home, tmp_path: Path) -> None:
    (path,) = _archived(well, tmp_path / "elsewhere", "s1")
    shutil.rmtree(tmp_path / "elsewhere")
    os.unlink(path)
    examine(well, accept_loss=True)
    forget.carry_out(well, forget.plan(well, load(well), Selection(references=["s1"])))
    assert Path(path).stem not in Path(well.state, archive.LOSSES_FILE).read_text(encoding="utf-8")
    assert examine(well)["findings"] == []


@pytest.mark.parametrize("damage", ["", "[]", '{"objects": 3}', "\0" * 20])
def test_damage_to_what_was_accepted_is_an_alarm_again(well: Home, tmp_path: Path, damage: str) -> None:
    (path,) = _archived(well, tmp_path / "elsewhere", "s1")
    shutil.rmtree(tmp_path / "elsewhere")
    os.unlink(path)
    examine(well, accept_loss=True)
    Path(well.state, archive.LOSSES_FILE).write_text(damage, encoding="utf-8")
    assert ids(examine(well)) == ["archive-lost:claude"]
    assert ids(examine(well, accept_loss=True)) == []


def test_what_the_archive_has_lost_of_a_file_that_says_something_else_stays_known_and_can_come_back(
    well: Home, tmp_path: Path
) -> None:
    (path,) = _archived(well, tmp_path / "elsewhere", "s1")
    transcript = tmp_path / "elsewhere" / "s1.jsonl"
    transcript.write_text(transcript.read_text().replace("heron", "puffin"))
    aside = Path(path).rename(tmp_path / "object")
    found = examine(well, fix=True)
    assert [each["outcome"].partition(":")[0] for each in found["mended"]] == ["failed"]
    assert ids(found) == ["archive-lost:claude"]
    assert {entry.version for entry in archive.versions(well, "claude")} == {0, 1}
    aside.rename(path)
    assert examine(well)["healthy"]
    indexing.index(well, load(well), source="claude", from_archive=True)
    (entry,) = [each for each in archive.versions(well, "claude") if each.version == 1]
    assert b"the heron of s1" in b"".join(archive.lines(well.path("raw"), entry.segments))


@pytest.mark.parametrize("offset", [0, 4096])
def test_a_damaged_catalogue_is_named_by_whatever_needs_it_and_the_way_out_leads_out(
    well: Home, tmp_path: Path, offset: int
) -> None:
    folder = tmp_path / "elsewhere"
    _archived(well, folder, "s1")
    kept = backup.make(well, load(well), verify=False)["path"]
    catalogue = Path(well.path("raw", "catalogue.sqlite"))
    with catalogue.open("r+b") as stream:
        stream.seek(offset)
        stream.write(b"\xff" * 4096)

    def run() -> None:
        indexing.index(well, load(well), source="claude", roots=[str(folder)])

    run()  # there is nothing new that would have to be stored
    found = examine(well)
    assert "archive.whole" in ids(found)
    save(folder / "s2.jsonl", Script("s2").user("the puffin of s2"))
    with pytest.raises(EngineMissing) as failed:
        run()
    with pytest.raises(EngineMissing) as not_backed_up:
        backup.make(well, load(well), verify=False)
    (finding,) = [each for each in found["findings"] if each["id"] == "archive.whole"]
    seen = [(each.value.message, each.value.fix) for each in (failed, not_backed_up)]
    for said, fix in [(finding["evidence"], finding["fix"]), *seen]:
        assert f"{catalogue} is damaged" in said
        assert fix == finding["fix"]
        assert fix.startswith("brain doctor --fix")
    # A log that a hook has left belongs to the catalogue that goes.
    Path(f"{catalogue}-wal").write_bytes(b"frames of the damaged one")
    mended = examine(well, fix=True)["mended"]
    assert [each["id"] for each in mended] == ["archive.whole"]
    assert f"took it out of {kept}" in mended[0]["outcome"]
    assert Path(f"{catalogue}.damaged").exists()
    run()
    assert examine(well)["healthy"]
    assert {os.path.basename(path) for path in archive.read(well, "claude")} == {"s1.jsonl", "s2.jsonl"}


def test_a_damaged_catalogue_that_no_backup_has_is_made_again(well: Home, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    _archived(well, folder, "s1")
    catalogue = Path(well.path("raw", "catalogue.sqlite"))
    catalogue.write_bytes(b"no database " * 999)
    assert "no backup has one" in examine(well, fix=True)["mended"][0]["outcome"]
    indexing.index(well, load(well), source="claude", roots=[str(folder)])
    assert examine(well)["healthy"]


def test_objects_that_no_catalogue_names_are_an_alarm_until_their_loss_is_accepted(
    well: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _archived(well, tmp_path / "elsewhere", "s1", "s2")
    kept = tmp_path / "catalogue.sqlite"
    os.rename(well.path("raw", archive.CATALOGUE), kept)
    found = examine(well)
    assert ids(found) == ["archive-unnamed"]
    assert "raw/catalogue.sqlite" in found["findings"][0]["fix"]
    assert brain.main(["backup"]) == 65
    assert "2 objects of the archive that no catalogue names" in capsys.readouterr().err
    found = examine(well, accept_loss=True)
    assert found["findings"] == []
    assert brain.main(["backup"]) == 0
    os.rename(kept, well.path("raw", archive.CATALOGUE))
    assert not ids(examine(well), "notice")


def test_an_accepted_loss_is_reported_again_after_recovery(well: Home, tmp_path: Path) -> None:
    (path,) = _archived(well, tmp_path / "elsewhere", "s1")
    os.unlink(well.path("raw", archive.CATALOGUE))
    examine(well, accept_loss=True)
    assert list(verifier.accepted_losses(well)) == [Path(path).stem]
    assert _archived(well, tmp_path / "elsewhere", "s1") == [path]
    assert verifier.accepted_losses(well) == {}
    os.unlink(path)
    shutil.rmtree(tmp_path / "elsewhere")
    assert ids(examine(well)) == ["archive-lost:claude"]


@pytest.mark.parametrize("deep", [False, True])
def test_a_restored_object_ends_its_acceptance_once_all_objects_are_read(
    well: Home, tmp_path: Path, deep: bool
) -> None:
    (path,) = _archived(well, tmp_path / "elsewhere", "s1")
    shutil.rmtree(tmp_path / "elsewhere")
    aside = Path(path).rename(tmp_path / "object")
    examine(well, accept_loss=True)
    aside.rename(path)
    examine(well, deep=deep)
    assert (verifier.accepted_losses(well) == {}) is deep


def test_a_few_objects_that_a_killed_run_left_are_no_alarm(well: Home, tmp_path: Path) -> None:
    (path,) = _archived(well, tmp_path / "elsewhere", "s1")
    stray = Path(archive.object_path(well.path("raw"), "0" * 64))
    stray.parent.mkdir(0o700)
    shutil.copy(path, stray)
    found = examine(well)
    assert (ids(found), ids(found, "notice")) == ([], ["archive-unnamed"])


def test_a_backup_of_an_emptied_catalogue_names_it(well: Home, tmp_path: Path) -> None:
    _archived(well, tmp_path / "elsewhere", "s1")
    catalogue = Path(well.path("raw", archive.CATALOGUE))
    catalogue.write_bytes(b"")
    with pytest.raises(EngineMissing, match=f"{catalogue} is damaged"):
        backup.make(well, load(well))


def _browsed(home: Home, folder: Path) -> Path:
    history = History(folder / "Default" / "History")
    history.visit("https://github.com/a", "Page", MORNING)
    indexing.index(home, load(home), source="chrome", roots=[str(history.save())])
    return Path(home.path("raw", "chrome.sqlite"))


@pytest.mark.parametrize("data", [b"", b"no database " * 999])
def test_a_damaged_archive_of_visits_is_found_and_nothing_else_is_blamed(
    well: Home, tmp_path: Path, data: bytes
) -> None:
    path = _browsed(well, tmp_path / "browser")
    assert examine(well)["healthy"]
    path.write_bytes(data)
    found = [each for each in examine(well)["findings"] if each["severity"] == "error"]
    assert [each["id"] for each in found] == ["visits-damaged"]
    assert "raw/chrome.sqlite" in found[0]["fix"]


def test_an_archive_of_visits_that_is_gone_is_missed(well: Home, tmp_path: Path) -> None:
    path = _browsed(well, tmp_path / "browser")
    kept = path.read_bytes()
    path.unlink()
    assert ids(examine(well)) == ["visits-lost"]
    other = History(tmp_path / "other" / "Default" / "History")
    other.visit("https://github.com/b", "Page", MORNING + 60)
    indexing.index(well, load(well), source="chrome", roots=[str(other.save())])
    found = examine(well)
    assert (ids(found), ids(found, "notice")) == ([], ["visits-lost"])
    path.write_bytes(kept)
    assert "visits-lost" not in ids(examine(well), "notice", "warning", "error")
