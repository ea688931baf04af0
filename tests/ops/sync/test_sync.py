"""Two machines with a bare repository between them come to hold the same memory, and forget the same things."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core import telemetry
from core.errors import Refused
from core.files import write_atomic
from core.tombstones import Tombstones
from ops import forgetting
from ops.stats import stats
from ops.sync import git, pull, sync
from ops.sync.git import Blob, Repository
from ops.sync.state import State
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.forgetting import forget, verify_erasure
from tests.ops.machines import Machine, all_objects, converge

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")


def test_two_machines_come_to_hold_and_find_the_same(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    assert one.documents() == other.documents()
    assert len(one.documents()) == 5
    assert one.asks("heron") == ["qmd://brain/machines/tower/00000003-0000-4000-8000-000000000000.md"]
    assert other.asks("walrus") == ["qmd://brain/machines/laptop/00000001-0000-4000-8000-000000000000.md"]
    assert other.asks("pelican")
    # Nothing new: nothing is committed, sent or brought in.
    again = one.sync()
    assert (again["committed"], again["pushed"], again["added"], again["removed"]) == (False, False, 0, 0)


def test_a_session_that_grows_and_one_that_is_deleted_travel(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    grown = one.session(1, "walrus", turns=5)
    for path in Path(one.home.path("inbox")).rglob("2*/**/*.md"):
        if "machines" not in path.parts:
            path.unlink()
    report = one.sync()
    assert report["committed"]
    came = other.sync()
    assert (came["added"], came["removed"]) == (1, 1)
    assert one.documents() == other.documents()
    assert b"turn 4" in other.documents()[f"{grown}.md"]
    assert other.asks("pelican") == []


def test_the_same_session_and_the_same_day_on_both_never_conflict(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    for machine, words in ((one, "bought by the laptop"), (other, "bought by the tower")):
        day = Path(machine.home.path("chrome-history"))
        day.mkdir()
        (day / "2026-04-28.md").write_text(f"---\nsource: chrome\nsession_id: 2026-04-28\n---\n\n# Day\n\n{words}\n")
        machine.session(9, "lemur", turns=4 if machine is one else 2)
    converge(one, other)
    folder = Path(one.home.path("chrome-history"))
    assert "laptop" in (folder / "2026-04-28.md").read_text()
    assert "tower" in (folder / "machines" / "tower" / "2026-04-28.md").read_text()
    assert "laptop" in Path(other.home.path("chrome-history", "machines", "laptop", "2026-04-28.md")).read_text()
    assert len(one.asks("lemur")) == 2
    # One copy of identical bytes is enough.
    other.session(9, "lemur", turns=4)
    converge(other, one)
    fresh = Machine(Path(one.home.root).parent, "third", Path(one.remote))
    fresh.session(9, "lemur", turns=4)
    assert fresh.sync()["skipped"]["the same is here already"] == 2
    assert len(fresh.asks("lemur")) == 1


def test_a_forget_travels_and_leaves_every_history(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    assert b"drawer1," in other.objects()
    unit = "00000001-0000-4000-8000-000000000000"
    outcome = one.forget(unit)
    assert any("remote.git" in each for each in outcome.beyond)
    assert b"drawer1," not in one.objects()
    one.sync()
    report = other.sync()
    assert report["forgotten"] == 1
    converge(one, other)
    for machine in converged:
        assert f"{unit}.md" not in machine.documents()
        assert Tombstones(machine.home).covers("claude", unit)
        assert b"drawer1," not in machine.objects()
        assert b"drawer2," in machine.objects()
        assert machine.asks("walrus") == []
        assert b"drawer1," not in Path(machine.home.index).read_bytes()
    assert b"drawer1," not in all_objects(one.remote)
    # Nothing brings it back, though its raw file still lies there.
    index(one.home, one.config, source="claude", roots=[str(one.transcripts)])
    converge(one, other)
    assert one.asks("walrus") == other.asks("walrus") == []


def test_a_text_that_only_the_history_holds_by_now_leaves_it(one: Machine) -> None:
    note = Path(one.home.path("inbox", "2026", "04", "gate.md"))
    note.parent.mkdir(parents=True)
    note.write_text("# Gate\n\nA vermilion gate.\n", encoding="utf-8")
    one.sync()
    note.unlink()
    one.sync()
    probes = verify_erasure.spellings("vermilion gate")
    assert sync.holds(one.home, os.environ, probes)
    failed, beyond = forgetting.elsewhere(one.home, one.config, os.environ, anywhere=True)([], [], probes)
    assert failed == []
    assert any("remote.git" in each for each in beyond)
    assert not sync.holds(one.home, os.environ, probes)
    one.sync()
    assert b"vermilion" not in all_objects(one.remote)
    # A history without the text does not restart.
    assert forgetting.elsewhere(one.home, one.config, os.environ, anywhere=True)([], [], probes) == ([], [])


def test_a_forget_without_the_settings_takes_it_out_of_the_branch_that_is_there(one: Machine) -> None:
    kept, going = one.session(1, "the basalt key"), one.session(2, "the cobalt door")
    one.sync()
    name = State(one.home).name
    os.unlink(os.path.join(one.home.state, "sync.json"))
    found = forget.plan(one.home, one.config, Selection(references=[going]), "")
    outcome = forget.carry_out(
        one.home, found, lambda documents, *_: ([], sync.forget(one.home, one.config, os.environ, documents))
    )
    assert any("not known any more" in each for each in outcome.beyond)
    assert State(one.home).name == name
    assert b"cobalt" not in one.objects()
    assert b"basalt" in one.objects(), kept


def test_what_another_machine_made_can_be_forgotten_here_and_goes_there(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    one.forget("00000003-0000-4000-8000-000000000000")
    note = one.asks("puffin")[0]
    assert "/machines/tower/" in note
    one.forget(note)
    assert one.asks("heron") == one.asks("puffin") == []
    # Before the other machine has heard of it, it is not brought back.
    one.sync()
    assert one.asks("heron") == one.asks("puffin") == []
    other.session(3, "heron", turns=3)
    other.sync()
    assert other.asks("heron") == other.asks("puffin") == []
    converge(one, other)
    assert one.documents() == other.documents()
    assert len(one.documents()) == 3
    for machine in converged:
        assert b"drawer3," not in machine.objects()
        assert b"puffin" not in machine.objects()


def test_what_was_lifted_here_is_not_forgotten_again(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    unit = "00000001-0000-4000-8000-000000000000"
    one.forget(unit)
    converge(one, other)
    forget.unforget(one.home, [unit])
    index(one.home, one.config, source="claude", roots=[str(one.transcripts)])
    converge(one, other)
    assert one.asks("walrus") == [f"qmd://brain/{unit}.md"]


def test_a_copy_that_was_edited_here_is_kept_and_named(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    copy = Path(other.home.path("brain", "machines", "laptop", "00000001-0000-4000-8000-000000000000.md"))
    copy.write_text(copy.read_text() + "\nmy own remark\n")
    one.session(1, "walrus", turns=5)
    one.sync()
    assert other.sync()["kept"] == ["qmd://brain/machines/laptop/00000001-0000-4000-8000-000000000000.md"]
    assert "my own remark" in copy.read_text()


def test_a_run_that_is_killed_while_laying_down_is_taken_up_again(
    converged: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = converged
    for number in (1, 2):
        one.session(number, "walrus", turns=7)
    one.sync()
    write = write_atomic
    left = [1]

    def dies(path: str, data: bytes) -> Any:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(pull, "write_atomic", dies)
        with pytest.raises(KeyboardInterrupt):
            other.sync()
    assert other.sync()["kept"] == []
    assert one.documents() == other.documents()


def test_a_machine_that_leaves_takes_its_documents_with_it(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    subprocess.run(["git", "--git-dir", one.remote, "update-ref", "-d", "refs/heads/laptop"], check=True)
    report = other.sync()
    assert (report["removed"], report["machines"]) == (3, {})
    assert len(other.documents()) == 2


def test_a_restored_machine_does_not_overwrite_what_it_had_sent(one: Machine, tmp_path: Path) -> None:
    one.sync()
    shutil.copytree(one.home.root, tmp_path / "old")
    one.session(5, "lemur")
    one.sync()
    restored = Machine(tmp_path, "old", Path(one.remote))
    with pytest.raises(Refused) as refused:
        sync.sync(restored.home, restored.config, os.environ)
    assert "--as" in refused.value.fix
    restored.name = "laptop-2"
    restored.sync()
    assert restored.asks("lemur")


def test_a_forget_names_the_branch_of_a_former_name(one: Machine) -> None:
    one.sync()
    one.name = "desk"
    one.sync()
    outcome = one.forget("00000001-0000-4000-8000-000000000000")
    assert any("--delete laptop" in each for each in outcome.beyond)
    assert b"drawer1," not in one.objects()
    assert any("--delete laptop" in each for each in one.sync()["beyond"])
    subprocess.run(["git", "--git-dir", one.remote, "update-ref", "-d", "refs/heads/laptop"], check=True)
    one.forget("00000002-0000-4000-8000-000000000000")
    assert one.sync()["beyond"] == []
    assert b"drawer1," not in one.objects() + all_objects(one.remote)


def test_without_a_remote_every_run_is_one_commit(one: Machine) -> None:
    for number in (11, 12):
        one.session(number, "lemur")
        report = sync.sync(one.home, one.config, os.environ, name="laptop")
        assert (report["committed"], report["pushed"], report["remote"]) == (True, False, "")
    log = subprocess.run(
        ["git", "--git-dir", one.home.path("sync.git"), "log", "--format=%s", "laptop"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert len(log.stdout.splitlines()) == 2
    one.forget("00000001-0000-4000-8000-000000000000")
    assert b"drawer1," not in one.objects()


def test_what_a_crash_of_git_left_goes_with_the_next_sync(converged: tuple[Machine, Machine]) -> None:
    one, _ = converged
    crashed = Path(one.home.path("sync.git", "fast_import_crash_7"))
    crashed.write_text("M 100644 inline brain/secret-plan.md")
    one.sync()
    assert not crashed.exists()


def test_names_and_contents_of_any_kind_come_back_as_they_were(tmp_path: Path) -> None:
    repository = Repository(str(tmp_path / "r.git"), os.environ)
    repository.make()
    files: dict[str, Blob | bytes] = {
        'a "quoted" \\ name.md': b"x",
        "umlaut äöü/emoji 😀.md": b"\r\n\x00\xff",
        "empty.md": b"",
        "new\nline.md": b"data 5\nM 100644 inline x\n",
        os.fsdecode(b"latin-\xe9.md"): b"y" * 70_000,
    }
    commit = repository.commit("refs/heads/x", files, "all\n", 1, "")
    tree = repository.tree(commit)
    assert tree.keys() == files.keys()
    held = dict(repository.contents(tree.values()))
    assert {path: held[blob.oid] for path, blob in tree.items()} == files
    assert all(git.oid(data) == digest for digest, data in held.items())


def test_the_command_says_what_came_and_went(pair: tuple[Machine, Machine], brain: Any) -> None:
    one, other = pair
    other.sync()
    env = {"BRAIN_HOME": one.home.root}
    done = brain("sync", "--dir", one.remote, "--as", "laptop", "--json", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["machine"], report["added"], report["machines"]) == ("laptop", 2, {"tower": 2})
    again = brain("sync", env=env)
    assert "laptop: 3 documents as committed before" in again.stdout
    assert brain("sync", "--dir", one.remote, "--remote", "x", env=env).returncode == 64
    assert json.loads(brain("ask", "heron", "--json", env=env).stdout)["hits"]


def test_what_another_machine_recorded_travels_whole_also_what_it_has_rotated_out(
    pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = pair
    monkeypatch.setattr(telemetry, "ROTATE_BYTES", 1000)
    for number in range(40):
        assert telemetry.record(one.home, "ask", "terminal", latency_ms=number, exit_code=0, n_hits=1) is None
    assert len(telemetry.ledgers(one.home)) > 3
    with open(one.home.usage, "ab") as stream:
        stream.write(b'{"schema":1,"ts"')  # a crash's
    one.session(1, "walrus")
    one.sync()
    other.sync()
    there = stats.stats(other.home, 0)
    assert there["rows"] == 0, "what others did is not this machine's use"
    assert there["machines"][one.name]["rows"] == 40
    assert there["machines"][one.name]["torn"] == 1
    assert stats.stats(other.home, 0, one.name)["commands"]["ask"]["p99_ms"] == 39
    shutil.rmtree(one.home.logs)
    one.session(2, "pelican")
    one.sync()
    other.sync()
    assert one.name in stats.machines(other.home), "a machine without a ledger leaves the last one that it had sent"
