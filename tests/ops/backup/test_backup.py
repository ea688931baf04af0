"""A backup is whole or none, holds what the home holds, and gives it back."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import brain
from core import config
from core.errors import BadInput, Internal, Refused
from core.home import Home
from ingest.archive import archive
from ingest.policy import FILE, UNITS
from ingest.policy.withheld import Withheld
from ingest.sources.chrome.archive import Archive
from ops import snapshot
from ops.backup import backup, packing, questions, rebuild, restore
from runtime.capture import inbox
from runtime.capture.indexing import index
from tests.ingest.history import History, configure, days
from tests.ops.backups import ask, corpus, forged, make, member, transcript

COUNT = questions.COUNT
ROOT = Path(__file__).resolve().parents[3]


def test_the_visits_of_browsers_are_in_a_backup_as_they_are_while_they_are_written(home: Home, tmp_path: Path) -> None:
    configure(home, "{mode: all}")
    history = History(tmp_path / "browser" / "History")
    history.visit("https://walrus.test/", "On walruses")
    index(home, config.load(home), source="chrome", roots=[history.save()])
    before = days(home)
    visits = Archive(home)
    try:
        visits.outdate_all()  # the write-ahead log alone holds it
        path = make(home)["path"]
    finally:
        visits.close()
    other = Home(str(tmp_path / "other"))
    restore.restore(path, other)
    assert days(other) == before
    shutil.rmtree(other.path("chrome-history"))
    index(other, config.load(other), from_archive=True)
    assert days(other) == before


@pytest.fixture
def twenty(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many questions as a backup asks; other tests ask fewer."""
    monkeypatch.setattr(questions, "COUNT", COUNT)


def test_an_index_made_from_markdown_alone_answers_twenty_questions_as_before(
    filled: Home, claude_root: Path, twenty: None
) -> None:
    asked = questions.draw(filled)
    assert len(asked) == 20
    before = ask(filled, asked)
    assert all(isinstance(answer, list) and answer for answer in before)
    shutil.rmtree(claude_root / "projects")
    os.unlink(os.path.join(filled.state, "sources.sqlite"))
    os.unlink(filled.index)
    report = rebuild.rebuild(filled, config.load(filled))
    assert (report["documents"], report["questions"]) == (23, 0)
    assert report["before"]
    assert ask(filled, asked) == before
    again = rebuild.rebuild(filled, config.load(filled))
    assert (again["questions"], again["alike"]) == (20, 20)


def test_a_damaged_index_is_rebuilt(filled: Home) -> None:
    Path(filled.index).write_bytes(b"\x01" * 50_000)
    assert rebuild.rebuild(filled, config.load(filled))["documents"] == 23


@pytest.mark.parametrize("with_index", [True, False])
def test_what_was_backed_up_is_what_is_restored(filled: Home, tmp_path: Path, twenty: None, with_index: bool) -> None:
    asked = questions.draw(filled)
    report = make(filled, to=str(tmp_path / "disk"), with_index=with_index)
    assert (report["documents"], report["questions"], report["alike"]) == (23, 20, 20)
    assert stat.S_IMODE(os.stat(report["path"]).st_mode) == 0o600
    copy = Home(str(tmp_path / "copy"))
    restored = restore.restore(report["path"], copy)
    assert (restored["documents"], restored["aside"]) == (23, "")
    assert corpus(copy) == corpus(filled)
    if not with_index:
        assert not questions.there(copy)
        rebuild.rebuild(copy, config.load(copy))
    assert ask(copy, asked) == ask(filled, asked)
    assert {stat.S_IMODE(path.stat().st_mode) for path in Path(copy.root).rglob("*") if path.is_file()} == {0o600}
    changes = index(copy, config.load(copy))["collections"]["brain"]
    assert (changes["added"], changes["updated"], changes["removed"]) == (0, 0, 0)
    assert not os.listdir(os.path.join(filled.state)).count("work")


def test_a_backup_made_while_others_write_is_whole(filled: Home, claude_root: Path, tmp_path: Path) -> None:
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
    for round_ in range(2):
        for number in range(30):
            transcript(claude_root, number, turns=6 + 4 * round_)
        with subprocess.Popen(
            [sys.executable, "-c", code, str(ROOT), "index", "--json"], stdout=subprocess.PIPE
        ) as run:
            report = make(filled)
            run.communicate()
        assert run.returncode == 0
        copy = Home(str(tmp_path / f"copy{round_}"))
        restore.restore(report["path"], copy)
        named = {name for entry in archive.versions(copy, "claude") for name, _ in entry.segments}
        held = {os.path.basename(path).removesuffix(".zst") for path in archive.objects(copy.path("raw"))}
        assert named <= held
        # Whatever moment it was, one run brings the copy to where the original is.
        index(copy, config.load(copy))
        assert {name: data for name, data in corpus(copy).items() if name.startswith("brain")} == {
            name: data for name, data in corpus(filled).items() if name.startswith("brain")
        }


def test_a_home_that_holds_something_is_left_alone_without_force(filled: Home, tmp_path: Path) -> None:
    path = make(filled)["path"]
    inbox.write(filled, "written after the backup")
    before = corpus(filled)
    with pytest.raises(Refused):
        restore.restore(path, filled)
    assert corpus(filled) == before
    report = restore.restore(path, filled, force=True)
    assert len(corpus(filled)) == len(before) - 1
    aside = Home(report["aside"])
    assert corpus(aside) == before
    assert ask(aside, ["written after backup"])[0]
    assert Path(path).is_file()


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]


def _empty(data: bytes) -> bytes:
    return b""


def _noise(data: bytes) -> bytes:
    return hashlib.sha512(data).digest() * 100


def _plain_zstd(data: bytes) -> bytes:
    return zstandard.compress(b"not a tar")


@pytest.mark.parametrize("damage", [_cut, _flipped, _empty, _noise, _plain_zstd])
def test_a_damaged_backup_is_refused_and_changes_nothing(
    filled: Home, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = Path(make(filled, verify=False)["path"])
    path.write_bytes(damage(path.read_bytes()))
    before = corpus(filled)
    with pytest.raises(BadInput):
        restore.restore(str(path), filled, force=True)
    assert corpus(filled) == before
    copy = tmp_path / "copy"
    with pytest.raises(BadInput):
        restore.restore(str(path), Home(str(copy)))
    assert not list(copy.rglob("*"))


@pytest.mark.parametrize(
    "head",
    [
        member("../outside.md"),
        member("brain/../../outside.md"),
        member("/tmp/outside.md"),
        member("brain//x.md"),
        member("brain/link.md", tarfile.SYMTYPE, "/etc/passwd"),
        member("brain/hard.md", tarfile.LNKTYPE, "state/x"),
        member("brain/pipe.md", tarfile.FIFOTYPE),
        member("brain/folder", tarfile.DIRTYPE),
    ],
    ids=lambda head: head.name,
)
def test_a_forged_backup_writes_nowhere(tmp_path: Path, head: tarfile.TarInfo) -> None:
    path = forged(tmp_path / "forged.tar.zst", (head, b"owned"))
    copy = tmp_path / "deep" / "copy"
    with pytest.raises(BadInput):
        restore.restore(path, Home(str(copy)))
    assert not [each for each in tmp_path.rglob("*") if each.is_file() and "owned" in each.read_text("latin-1")[:5]]


def test_a_file_that_the_manifest_does_not_know_or_that_is_missing_is_refused(tmp_path: Path) -> None:
    for files in ([], [["brain/a.md", 1, "x"], ["brain/b.md", 1, "x"]]):
        path = forged(tmp_path / "forged.tar.zst", (member("brain/a.md"), b"a"), files=files)
        with pytest.raises(BadInput):
            restore.restore(path, Home(str(tmp_path / "copy")))


def test_a_backup_that_does_not_stand_its_trial_is_not_kept(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "same", lambda before, after: 0)
    with pytest.raises(Internal):
        make(filled)
    assert backup.listed(filled.path("backups")) == []
    assert backup.last(filled) is None


@pytest.mark.parametrize("name", [FILE, UNITS])
def test_a_home_that_cannot_read_what_it_excluded_is_restored(filled: Home, name: str) -> None:
    withheld = Withheld(filled)
    withheld.note_folder("/gone", marked=True)
    withheld.note_unit("claude", "x", "excluded: .brain-ignore", "/gone")
    withheld.save()
    path = make(filled)["path"]
    Path(filled.state, name).write_bytes(b"{")
    report = restore.restore(path, filled, force=True)
    assert Withheld(filled).unit("claude", "x") == ("excluded: .brain-ignore", True)
    assert Path(Home(report["aside"]).state, name).read_bytes() == b"{"


def test_a_restore_that_is_killed_at_any_step_is_finished_by_the_next(
    filled: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(filled, verify=False)["path"]
    before = corpus(filled)
    rename = os.rename
    for step in range(40):
        note = inbox.write(filled, f"a note of step {step}")
        left = step

        def counting(old: Any, new: Any) -> None:
            nonlocal left
            if str(new).endswith((".json", ".cache")) or ".sqlite" in str(new):
                return rename(old, new)
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            return rename(old, new)

        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", counting)
            try:
                restore.restore(path, filled, force=True)
                killed = False
            except KeyboardInterrupt:
                killed = True
        if killed:
            assert restore.finish(filled)
        assert corpus(filled) == before
        kept = list(Path(filled.path("backups")).rglob(os.path.basename(note.path)))
        assert len(kept) == 1
        if not killed:
            break
    assert step > 6
    assert not killed


def test_folders_of_notes_elsewhere_are_named_and_not_taken(filled: Home, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nmine\n")
    Path(filled.path("collections.yml")).write_text(
        f"collections: {{brain: {{path: brain}}, notes: {{path: {notes}}}}}\n"
    )
    report = make(filled)
    assert report["outside"] == [str(notes)]
    assert not any("a.md" in name for name, _, _ in packing.read_manifest(report["path"])["files"])


@pytest.mark.parametrize("folder", ["state", "raw", "logs", "backups", "sync.git", ".notes", ".ssh/keys"])
def test_a_folder_that_no_restore_takes_is_named_as_outside_the_backup(filled: Home, folder: str) -> None:
    place = Path(filled.path(folder))
    place.mkdir(parents=True, exist_ok=True)
    Path(filled.path("collections.yml")).write_text(f"collections: {{brain: {{path: brain}}, x: {{path: {folder}}}}}\n")
    assert make(filled, verify=False)["outside"] == [str(place)]


def test_the_folders_that_took_backups_are_known_after_an_older_one_was_restored(filled: Home, tmp_path: Path) -> None:
    first = make(filled, to=str(tmp_path / "drawer"), verify=False)["path"]
    later = make(filled, to=str(tmp_path / "disk"), verify=False)["path"]
    restore.restore(first, filled, force=True)
    assert set(backup.known(filled)) == {first, later}
    assert (backup.last(filled) or (0, ""))[1] == later
    copy = Home(str(tmp_path / "copy"))
    restore.restore(later, copy)
    assert backup.known(copy) == [first]


def test_an_inbox_elsewhere_is_part_of_the_memory(
    filled: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Home(filled.root, str(tmp_path / "inbox"))
    inbox.write(away, "kept on another disk")
    names = [name for name, _, _ in packing.read_manifest(make(away, verify=False)["path"])["files"]]
    assert sum(name.startswith("inbox/") for name in names) == 1
    (note,) = Path(away.inbox).rglob("*.md")
    held = note.read_bytes()
    note.unlink()
    restore.restore(backup.listed(away.path("backups"))[-1], away, force=True)
    assert note.read_bytes() == held
    assert not os.path.exists(away.path("inbox"))


def test_what_goes_while_it_is_copied_makes_it_begin_again(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    link = snapshot._link
    gone: list[str] = []

    def losing(path: str, target: str) -> None:
        if path.endswith(".zst") and not gone:
            gone.append(path)
            return
        link(path, target)

    monkeypatch.setattr(snapshot, "_link", losing)
    assert make(filled)["documents"] == 23
    assert gone


@pytest.mark.parametrize("verify", [True, False])
def test_what_the_archive_has_lost_is_named_and_the_rest_is_backed_up(
    filled: Home, tmp_path: Path, verify: bool
) -> None:
    path = next(archive.objects(filled.path("raw")))
    os.unlink(path)
    before = corpus(filled)
    report = make(filled, verify=verify)
    (lost,) = report["broken"]
    assert (lost["object"], lost["reason"], lost["source"]) == (os.path.relpath(path, filled.root), "missing", "claude")
    other = Home(str(tmp_path / "other"))
    restore.restore(report["path"], other)
    assert corpus(other) == before


def test_a_damaged_object_is_no_whole_backup_and_the_command_says_so(
    filled: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(next(archive.objects(filled.path("raw"))))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert brain.main(["backup", "--json"]) == 65
    said = json.loads(capsys.readouterr().out)
    assert (said["ok"], said["exit_code"], said["broken"][0]["reason"]) == (False, 65, "damaged")
    assert os.path.isfile(said["path"])
    assert brain.main(["backup"]) == 65
    told = capsys.readouterr()
    assert "every file is whole" not in told.out
    assert f"damaged: {os.path.relpath(path, filled.root)}" in told.err
    assert "fix: brain doctor --deep --fix" in told.err
    index(filled, config.load(filled), rebuild=True)
    assert brain.main(["backup"]) == 0
    assert "every file is whole" in capsys.readouterr().out
