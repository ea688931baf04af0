"""A backup is whole or none, holds what the home holds, and gives it back; what is forgotten leaves it too."""

from __future__ import annotations

import hashlib
import io
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
from core.tombstones import Tombstones
from ingest import archive
from ingest._chrome_archive import Archive
from ingest.withheld import FILE, UNITS, Withheld
from ops import backup, packing, questions, rebuild, restore, snapshot
from runtime import forget, inbox, leftovers
from runtime.export import Selection
from runtime.indexing import index
from tests.ingest.history import MORNING, History
from tests.ingest.test_chrome import configure, days
from tests.ingest.test_git import Repository
from tests.ingest.transcripts import Script, save, text

ROOT = Path(__file__).resolve().parent.parent.parent
WORDS = "harvest ledger valley engineer argument queue token refresh tenant migration index vector heron ocelot".split()


def session(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def transcript(root: Path, number: int, *, turns: int = 3) -> None:
    script = Script(session(number))
    records = []
    for turn in range(turns):
        words = " ".join(WORDS[(number * 5 + turn * 3 + each) % len(WORDS)] for each in range(6))
        records += [
            script.user(f"Where is secret{number} of turn {turn}: {words}?"),
            script.assistant(text(f"The {words} lies in drawer{number}.")),
        ]
    save(root / "projects" / "-home-me" / f"{session(number)}.jsonl", *records)


@pytest.fixture
def filled(home: Home, claude_root: Path) -> Home:
    """Twenty-two sessions and a note, indexed and archived."""
    for number in range(22):
        transcript(claude_root, number)
    index(home, config.load(home), enqueue=True)
    inbox.write(home, "the pelican landed at the quiet harbour")
    return home


def make(home: Home, **options: Any) -> dict[str, Any]:
    return backup.make(home, config.load(home), **options)


def corpus(home: Home) -> dict[str, bytes]:
    return {
        str(path.relative_to(home.root)): path.read_bytes()
        for name in ("brain", "inbox", "raw")
        for path in sorted(Path(home.path(name)).rglob("*"))
        if path.is_file() and path.suffix != ".sqlite" and "sqlite-" not in path.name
    }


def test_the_visits_of_browsers_are_in_a_backup_as_they_are_while_they_are_written(home: Home, tmp_path: Path) -> None:
    configure(home, "    {mode: all}\n")
    history = History(tmp_path / "browser" / "History")
    history.visit("https://walrus.test/", "On walruses")
    index(home, config.load(home), source="chrome", roots=[history.save()])
    before = days(home)
    visits = Archive(home)
    try:
        visits.soil_all()  # stands in the log alone
        path = make(home)["path"]
    finally:
        visits.close()
    other = Home(str(tmp_path / "other"))
    restore.restore(path, other)
    assert days(other) == before
    shutil.rmtree(other.path("chrome-history"))
    index(other, config.load(other), from_archive=True)
    assert days(other) == before


def ask(home: Home, asked: list[str]) -> list[Any]:
    return questions.answers(home, config.load(home), asked)


def unpacked(path: str, place: Path) -> bytes:
    """All bytes of a backup, what is packed within it unpacked too."""
    packing.unpack(path, str(place))
    held = []
    for each in sorted(place.rglob("*")):
        if each.is_file():
            data = each.read_bytes()
            held.append(zstandard.ZstdDecompressor().decompress(data) if each.suffix == ".zst" else data)
    return b"\0".join(held)


def test_an_index_made_from_markdown_alone_answers_twenty_questions_as_before(filled: Home, claude_root: Path) -> None:
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
def test_what_was_backed_up_is_what_is_restored(filled: Home, tmp_path: Path, with_index: bool) -> None:
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
    for round_ in range(3):
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


def _forged(path: Path, *members: tuple[tarfile.TarInfo, bytes], files: list[Any] | None = None) -> str:
    listed = [[info.name, len(data), hashlib.sha256(data).hexdigest()] for info, data in members]
    manifest = json.dumps(
        {
            "schema": 1,
            "kind": "brain-backup",
            "made_at": "x",
            "index": False,
            "files": listed if files is None else files,
        }
    ).encode()
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for info, data in members:
            info.size = len(data) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(data))
        info = tarfile.TarInfo("manifest.json")
        info.size = len(manifest)
        tar.addfile(info, io.BytesIO(manifest))
    path.write_bytes(zstandard.compress(plain.getvalue()))
    return str(path)


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    return info


@pytest.mark.parametrize(
    "member",
    [
        _member("../outside.md"),
        _member("brain/../../outside.md"),
        _member("/tmp/outside.md"),
        _member("brain//x.md"),
        _member("brain/link.md", tarfile.SYMTYPE, "/etc/passwd"),
        _member("brain/hard.md", tarfile.LNKTYPE, "state/x"),
        _member("brain/pipe.md", tarfile.FIFOTYPE),
        _member("brain/folder", tarfile.DIRTYPE),
    ],
    ids=lambda member: member.name,
)
def test_a_forged_backup_writes_nowhere(tmp_path: Path, member: tarfile.TarInfo) -> None:
    path = _forged(tmp_path / "forged.tar.zst", (member, b"owned"))
    copy = tmp_path / "deep" / "copy"
    with pytest.raises(BadInput):
        restore.restore(path, Home(str(copy)))
    assert not [each for each in tmp_path.rglob("*") if each.is_file() and "owned" in each.read_text("latin-1")[:5]]


def test_a_file_that_the_manifest_does_not_know_or_that_is_missing_is_refused(tmp_path: Path) -> None:
    for files in ([], [["brain/a.md", 1, "x"], ["brain/b.md", 1, "x"]]):
        path = _forged(tmp_path / "forged.tar.zst", (_member("brain/a.md"), b"a"), files=files)
        with pytest.raises(BadInput):
            restore.restore(path, Home(str(tmp_path / "copy")))


def test_a_backup_that_does_not_stand_its_trial_is_not_kept(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "same", lambda before, after: 0)
    with pytest.raises(Internal):
        make(filled)
    assert backup.listed(filled.path("backups")) == []
    assert backup.last(filled) is None


def test_what_is_forgotten_leaves_every_backup_and_what_was_kept_aside(filled: Home, tmp_path: Path) -> None:
    inside = make(filled)["path"]
    restore.restore(inside, filled, force=True)
    beside = make(filled, to=str(tmp_path / "disk"))["path"]
    found = forget.plan(filled, config.load(filled), Selection(references=[session(3)]), "")
    outcome = forget.carry_out(
        filled, found, lambda documents, marks, probes: (backup.forget(filled, documents, marks, probes), [])
    )
    assert outcome.left == []
    for number, path in enumerate((inside, beside)):
        held = unpacked(path, tmp_path / f"held{number}")
        assert b"drawer3." not in held
        assert b"drawer4." in held
    for each in Path(filled.path("backups")).rglob("*"):
        if each.is_file():
            assert b"drawer3." not in each.read_bytes()
    copy = Home(str(tmp_path / "copy"))
    assert restore.restore(inside, copy)["documents"] == 22
    assert Tombstones(copy).covers("claude", session(3))


@pytest.mark.parametrize("former", [False, True])
def test_a_day_of_browsing_leaves_a_backup_wherever_its_visits_lie_in_that(
    home: Home, tmp_path: Path, former: bool
) -> None:
    configure(home, "    {mode: all}\n")
    history = History(tmp_path / "browser" / "History")
    history.visit("https://walrus.test/", "On walruses")
    history.visit("https://heron.test/", "On herons", MORNING + 86_400)
    index(home, config.load(home), source="chrome", roots=[history.save()])
    if former:
        shutil.move(home.path("raw", "chrome.sqlite"), home.path("state", "chrome.sqlite"))
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
    # A session whose document leaves out what its raw file says, in the backup alone, too.
    before = Path(path).read_bytes()
    assert backup.forget(filled, [], [], leftovers.spellings("an ochre lamp"), anywhere=True) == []
    assert Path(path).read_bytes() == before
    assert backup.forget(filled, [], [], leftovers.spellings("Vermilion  Gate"), anywhere=True) == []
    held = unpacked(path, tmp_path / "held")
    assert b"vermilion gate" not in held
    assert b"drawer3." in held
    assert backup.forget(filled, [], [], leftovers.spellings("in drawer3."), anywhere=True) == []
    held = unpacked(path, tmp_path / "again")
    assert b"drawer3." not in held
    assert b"drawer4." in held


def test_a_backup_that_was_out_of_reach_does_not_bring_back_what_was_forgotten(filled: Home, tmp_path: Path) -> None:
    path = make(filled)["path"]
    away = tmp_path / "away.tar.zst"
    shutil.move(path, away)
    forget.carry_out(filled, forget.plan(filled, config.load(filled), Selection(references=[session(3)]), ""))
    report = restore.restore(str(away), filled, force=True)
    assert report["forgotten_again"] == 1
    assert not Path(filled.path("brain", f"{session(3)}.md")).exists()
    index(filled, config.load(filled))
    assert not any("drawer3." in hit[3] for hit in ask(filled, ["drawer3"])[0])


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


def test_nor_does_it_in_another_home_beside_the_one_that_forgot(filled: Home, tmp_path: Path) -> None:
    path = make(filled)["path"]
    away = tmp_path / "away.tar.zst"
    shutil.move(path, away)
    forget.carry_out(filled, forget.plan(filled, config.load(filled), Selection(references=[session(3)]), ""))
    copy = Home(str(tmp_path / "copy"))
    report = restore.restore(str(away), copy, beside=filled)
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
