"""``brain forget``, the program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from core.config import load
from core.home import Home
from core.tombstones import Tombstones
from ops import forgetting
from ops.backup import backup, packing
from ops.sync import sync
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    shelf.put("brain", "s1.md", "The amaranth cipher lies here.", session_id="s1", source="claude", date=1_777_000_000)
    shelf.put("brain", "s2.md", "Something else.", session_id="s2", source="claude", date=1_777_000_000)
    return shelf


def test_a_phrase_is_found_nowhere_below_the_home_afterwards(shelf: Shelf, brain: Brain) -> None:
    done = brain("forget", "--match", "amaranth cipher", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    found = subprocess.run(["grep", "-r", "amaranth cipher", shelf.home.root], capture_output=True, check=False)
    assert found.returncode == 1
    assert "backups moved elsewhere" in done.stdout


def test_what_ones_own_configuration_says_is_named_and_the_rest_is_done(shelf: Shelf, brain: Brain) -> None:
    shipped = Path(load(shelf.home).path).read_text(encoding="utf-8")
    Path(shelf.home.path("collections.yml")).write_text(f"# the amaranth cipher\n{shipped}", encoding="utf-8")
    done = brain("forget", "--match", "amaranth cipher", "--yes")
    said = "brain: it is also in your own collections.yml:1, which forget does not touch\n"
    assert (done.returncode, done.stderr) == (0, said)
    again = brain("forget", "--match", "amaranth cipher", "--yes", "--json")
    told = json.loads(again.stdout)
    assert (again.returncode, told["left"], told["own"]) == (67, [], ["collections.yml:1"])
    assert brain("forget", "--match", "amaranth cipher", "--yes").stderr == f"brain: nothing was selected\n{said}"
    for number in range(25):
        Path(shelf.home.path(f"own{number}.txt")).write_text("the amaranth cipher", encoding="utf-8")
    lines = brain("forget", "--match", "amaranth cipher", "--yes").stderr.splitlines()
    assert (len(lines), lines[-1]) == (22, "brain: and in 6 more of your own: --json lists all")


def test_what_is_not_indexed_yet_is_forgotten_as_well(shelf: Shelf, brain: Brain) -> None:
    stray = Path(shelf.home.path("brain", "s9.md"))
    stray.write_text("---\nsession_id: s9\nsource: claude\n---\n\nThe green kangaroo hops.\n")
    shown = brain("forget", "--match", "green kangaroo", "--dry-run")
    assert "qmd://brain/s9.md" in shown.stdout
    assert brain("forget", "--match", "green kangaroo", "--yes").returncode == 0
    assert not stray.exists()


def test_nothing_is_removed_without_a_report(shelf: Shelf, brain: Brain) -> None:
    done = brain("forget", "s1")
    assert done.returncode == 71
    assert "qmd://brain/s1.md" in done.stdout
    assert "there is no terminal to ask at" in done.stderr
    assert "--yes" in done.stderr
    shown = brain("forget", "s1", "--dry-run")
    assert shown.returncode == 0
    assert "qmd://brain/s1.md" in shown.stdout
    assert Path(shelf.home.path("brain", "s1.md")).exists()


def test_json_is_one_object(shelf: Shelf, brain: Brain) -> None:
    dry = json.loads(brain("forget", "--match", "amaranth", "--dry-run", "--json").stdout)
    assert [each["uri"] for each in dry["documents"]] == ["qmd://brain/s1.md"]
    done = json.loads(brain("forget", "--match", "amaranth", "--yes", "--json").stdout)
    assert (done["ok"], done["forgotten"], done["left"]) == (True, 1, [])
    held = json.loads(brain("forget", "--unforget", "--json").stdout)
    assert held["forgotten"] == [{"source": "claude", "unit": "s1"}]
    lifted = json.loads(brain("forget", "--unforget", "s1", "--json").stdout)
    assert lifted["lifted"] == [{"source": "claude", "unit": "s1"}]
    assert lifted["read_by"] == ["brain index"]


def test_later_commands_of_a_history_without_times_are_excluded_and_come_back(
    home: Home, tmp_path: Path, brain: Brain
) -> None:
    history = tmp_path / ".bash_history"
    history.write_text("make amaranth\nls heliotrope\n")
    ran = ("index", "--source", "shell", "--from", str(history))
    assert brain(*ran).returncode == 0
    words = ("forget", "--match", "make amaranth")
    told = "left out from now on as well: what comes later of shell undated-bash"
    command = "brain forget --unforget undated-bash"
    for shown in (brain(*words, "--dry-run"), brain(*words)):
        assert f"{told}; to let it in: {command}\n" in shown.stdout
    done = json.loads(brain(*words, "--yes", "--json").stdout)
    assert done["left_out_later"] == [{"source": "shell", "unit": "undated-bash", "unforget": command}]
    history.write_text("ls heliotrope\necho marigold\n")
    assert "skipped: 1 × forgotten" in brain(*ran).stdout
    document = Path(home.path("brain", "shell__undated-bash.md"))
    assert not document.exists()
    assert brain(*command.split()[1:]).returncode == 0
    assert brain(*ran).returncode == 0
    assert "marigold" in document.read_text()
    done = brain("forget", "--match", "echo marigold", "--yes")
    assert told in done.stdout
    assert brain("forget", "--unforget", "qmd://brain/shell__undated-bash.md").stdout.startswith("1 lifted")


@pytest.mark.parametrize(
    ("mark", "command"),
    [
        (("chrome", "2026-05-01"), "brain index --source chrome"),
        (("git", "project:2026-05-01"), "brain index --source git --from REPOSITORY"),
        (("code", "code-0123"), "brain index --source code"),
        (("article", "article-0123"), "brain add FILE"),
        (("note", "2026-note"), "brain restore --to ELSEWHERE FILE"),
    ],
)
def test_lifting_a_tombstone_prints_the_command_that_brings_the_document_back(
    home: Home, brain: Brain, mark: tuple[str, str], command: str
) -> None:
    Tombstones(home).add([mark])
    assert brain("forget", "--unforget", mark[1]).stdout == f"1 lifted; {command} to have what is still there\n"


def test_what_comes_later_is_no_matter_of_a_session(shelf: Shelf, brain: Brain) -> None:
    assert "left out from now on" not in brain("forget", "s1", "--yes").stdout


def test_nothing_selected_is_an_answer(shelf: Shelf, brain: Brain) -> None:
    done = brain("forget", "--match", "no such words", "--yes", "--json")
    assert done.returncode == 67
    assert json.loads(done.stdout)["error"] == "no_results"
    assert brain("forget", "--project", "*/nowhere", "--yes").returncode == 67


@pytest.mark.parametrize("words", [(), ("s1", "--match", "amaranth"), ("--match", "x")])
def test_a_selection_is_one_thing(shelf: Shelf, brain: Brain, words: tuple[str, ...]) -> None:
    assert brain("forget", *words, "--yes").returncode == 64


def test_which_ways_of_selecting_cannot_be_combined_is_said(shelf: Shelf, brain: Brain) -> None:
    done = brain("forget", "--match", "amaranth", "--project", "*/api", "--yes")
    assert done.returncode == 64
    assert "--project and --match cannot be combined" in done.stderr


def test_the_text_is_in_no_log(shelf: Shelf, brain: Brain) -> None:
    brain("forget", "--match", "amaranth cipher", "--dry-run")
    brain("forget", "--match", "amaranth cipher", "--yes")
    assert "amaranth" not in Path(shelf.home.usage).read_text(encoding="utf-8")


def test_what_a_sweep_leaves_is_refused_in_the_envelope_too(shelf: Shelf, brain: Brain) -> None:
    Path(shelf.home.state, "installed.json").write_text('{"name": "sepia lantern"}', encoding="utf-8")
    done = brain("forget", "--match", "sepia lantern", "--yes", "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, said["exit_code"], said["error"], said["ok"]) == (71, 71, "refused", False)
    assert said["left"] == ["state/installed.json"]


def test_a_text_that_only_a_log_holds_leaves_the_backups_and_the_history_of_it_too(
    shelf: Shelf, brain: Brain, tmp_path: Path
) -> None:
    row = {"schema": 1, "event": "ask", "query": "the sepia lantern"}
    Path(shelf.home.usage).write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert brain("backup", "--no-verify").returncode == 0
    synced = shutil.which("git") is not None
    if synced:
        assert brain("sync", "--dir", str(tmp_path / "there.git"), "--as", "laptop").returncode == 0
    looked = json.loads(brain("forget", "--match", "sepia lantern", "--json").stdout)
    assert [each.split("/")[0] for each in looked["left"]] == ["backups"]
    done = brain("forget", "--match", "Sepia Lantern", "--yes", "--json")
    assert (done.returncode, json.loads(done.stdout)["left"]) == (0 if synced else 67, [])
    (path,) = backup.listed(shelf.home.path(backup.FOLDER))
    packing.unpack(path, str(tmp_path / "held"))
    found = subprocess.run(["grep", "-r", "sepia", str(tmp_path / "held")], capture_output=True, check=False)
    assert found.returncode == 1
    assert not sync.holds(shelf.home, os.environ, [b"sepia lantern"])
    assert brain("forget", "--match", "sepia lantern", "--yes").returncode == 67


def test_what_is_synchronised_forgets_where_the_backups_cannot(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []

    def fails(*_: object, **__: object) -> list[str]:
        raise OSError("the disk is full")

    def works(*what: object) -> list[str]:
        told.append(what)
        return []

    monkeypatch.setattr(backup, "forget", fails)
    monkeypatch.setattr(sync, "forget", works)
    config = load(home)
    with pytest.raises(OSError, match="full"):
        forgetting.elsewhere(home, config, {})([("brain", "a.md")], [], [])
    assert told == [(home, config, {}, [("brain", "a.md")])]


def cut_short(home: Home, session: str) -> None:
    """Forget here, and be killed before the backups are reached."""
    from runtime.asking.documents import Selection
    from runtime.forgetting import forget

    def dies(*_: object) -> tuple[list[str], list[str]]:
        raise KeyboardInterrupt

    found = forget.plan(home, load(home), Selection(references=[session]))
    with pytest.raises(KeyboardInterrupt):
        forget.carry_out(home, found, dies)
    assert forget.unfinished(home)


def holds(path: str, text: str, tmp_path: Path) -> bool:
    place = tmp_path / "unpacked"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    packing.unpack(path, str(place))
    return any(text.encode() in file.read_bytes() for file in place.rglob("*.md"))


def copies(brain: Brain, command: str, made: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run one of the commands that look into copies; ``made`` is the backup to restore."""
    words = {
        "backup": ("backup", "--no-verify"),
        "sync": ("sync", "--dir", str(tmp_path / "remote.git")),
        "restore": ("restore", made, "--force"),
        "doctor": ("doctor", "--no-wedge", "--fix"),
    }[command]
    return brain(*words, "--json", env={"BRAIN_NOTIFY": "off"})


@pytest.mark.parametrize("command", ["backup", "sync", "restore", "doctor"])
def test_whatever_writes_copies_goes_on_with_what_was_cut_short(
    shelf: Shelf, brain: Brain, tmp_path: Path, command: str
) -> None:
    made = json.loads(brain("backup", "--json", "--no-verify").stdout)["path"]
    assert holds(made, "amaranth", tmp_path)
    cut_short(shelf.home, "s1")
    assert holds(made, "amaranth", tmp_path)
    done = copies(brain, command, made, tmp_path)
    assert done.returncode in ((0, 1) if command == "doctor" else (0,)), done.stdout + done.stderr
    assert not holds(made, "amaranth", tmp_path)
    assert not os.path.exists(os.path.join(shelf.home.state, "forgetting.json"))
    assert brain("ask", "amaranth cipher").returncode == 67


@pytest.mark.parametrize("command", ["backup", "sync", "restore", "doctor"])
def test_what_is_still_held_is_no_success(shelf: Shelf, brain: Brain, tmp_path: Path, command: str) -> None:
    made = json.loads(brain("backup", "--json", "--no-verify").stdout)["path"]
    damaged = made.replace("brain-2", "brain-1")
    Path(damaged).write_bytes(Path(made).read_bytes()[:100])
    cut_short(shelf.home, "s1")
    done = copies(brain, command, made, tmp_path)
    report = json.loads(done.stdout)
    if command == "doctor":
        (outcome,) = [each["outcome"] for each in report["mended"] if each["id"] == "forget-unfinished"]
        assert outcome.startswith("failed: still held by ")
        assert damaged in outcome
        return
    assert (done.returncode, report["exit_code"], report["ok"]) == (71, 71, False)
    assert damaged in " ".join(report["left"])
    if command != "backup":
        return
    again = brain("backup", "--json", "--no-verify")
    assert (again.returncode, damaged in " ".join(json.loads(again.stdout)["left"])) == (71, True), "not once alone"


def test_the_doctor_names_a_forget_that_was_cut_short(shelf: Shelf, brain: Brain) -> None:
    cut_short(shelf.home, "s1")
    found = json.loads(brain("doctor", "--no-wedge", "--json", env={"BRAIN_NOTIFY": "off"}).stdout)
    (finding,) = [each for each in found["findings"] if each["id"] == "forget-unfinished"]
    assert (finding["severity"], finding["fixable"]) == ("warning", True)
    assert finding["fix"] == "brain doctor --fix"


def test_the_personal_questions_are_named_before_they_go(shelf: Shelf, brain: Brain) -> None:
    kept = Path(shelf.home.state, "eval", "personal.json")
    kept.parent.mkdir()
    other = {"text": "another's", "relevant": ["secondbrain/s2.md", "brain/s2.md.md"]}
    kept.write_text(json.dumps({"questions": [{"text": "the cipher of amaranth", "relevant": ["brain/s1.md"]}, other]}))
    told = "state/eval/personal.json, whole: the questions of `brain eval run` name some of it"
    assert told in brain("forget", "s1", "--dry-run").stdout
    assert told not in brain("forget", "s2", "--dry-run").stdout
    assert json.loads(brain("forget", "s2", "--yes", "--json").stdout)["questions"] is None
    assert kept.exists()
    assert "state/eval/personal.json went along" in brain("forget", "s1", "--yes").stdout
    assert not kept.exists(), "the question has no word for word copy of the document: its document's name tells"
