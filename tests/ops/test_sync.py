"""Two machines with a bare repository between them come to hold the same memory, and forget the same things."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core import config, telemetry
from core.errors import BadInput, Refused
from core.files import write_atomic
from core.home import Home
from core.tombstones import Tombstones
from ops import git, stats, sync, sync_pull
from ops.git import Blob, Repository
from runtime import forget, inbox
from runtime.export import Selection
from runtime.indexing import index
from tests.ingest.transcripts import Script, save, text

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")


class Machine:
    """A home with sessions of its own, and the folder they come from."""

    def __init__(self, place: Path, name: str, remote: Path) -> None:
        self.home = Home(str(place / name))
        self.transcripts = place / f"{name}-transcripts"
        self.name = name
        self.remote = str(remote)
        self.home.make()

    @property
    def config(self) -> config.Config:
        return config.load(self.home)

    def session(self, number: int, words: str, turns: int = 1) -> str:
        unit = f"{number:08x}-0000-4000-8000-000000000000"
        script = Script(unit)
        records = [script.user(f"Where is the {words}?")]
        records += [
            script.assistant(text(f"The {words} lies in drawer{number}, turn {turn}.")) for turn in range(turns)
        ]
        save(self.transcripts / f"{unit}.jsonl", *records)
        index(self.home, self.config, source="claude", roots=[str(self.transcripts)])
        return unit

    def sync(self) -> dict[str, Any]:
        return sync.sync(self.home, self.config, os.environ, folder=self.remote, name=self.name)

    def forget(self, reference: str) -> forget.Outcome:
        found = forget.plan(self.home, self.config, Selection(references=[reference]), "")
        return forget.carry_out(
            self.home, found, lambda what, *_: ([], sync.forget(self.home, self.config, os.environ, what))
        )

    def documents(self) -> dict[str, bytes]:
        """Name of a document, whosever it is → its bytes."""
        return {
            path.name: path.read_bytes()
            for name in ("brain", "inbox")
            for path in Path(self.home.path(name)).rglob("*.md")
        }

    def asks(self, question: str) -> list[str]:
        from runtime.ask import Asker, Request

        with Asker(self.home, self.config) as asker:
            return [hit["uri"] for hit in asker.ask(question, Request())["hits"]]

    def objects(self) -> bytes:
        """All that git holds here, unpacked."""
        return all_objects(self.home.path("sync.git"))


def all_objects(path: str) -> bytes:
    return subprocess.run(
        ["git", "--git-dir", path, "cat-file", "--batch-all-objects", "--batch", "--unordered"],
        capture_output=True, check=True,
    ).stdout  # fmt: skip


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Machine, Machine]:
    remote = tmp_path / "remote.git"
    one, other = Machine(tmp_path, "laptop", remote), Machine(tmp_path, "tower", remote)
    one.session(1, "walrus")
    one.session(2, "ocelot")
    inbox.write(one.home, "the pelican landed on the laptop")
    other.session(3, "heron")
    inbox.write(other.home, "the puffin landed on the tower")
    return one, other


def converge(*machines: Machine) -> None:
    for _ in range(2):
        for machine in machines:
            machine.sync()


def test_two_machines_come_to_hold_and_find_the_same(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    converge(one, other)
    assert one.documents() == other.documents()
    assert len(one.documents()) == 5
    assert one.asks("heron") == ["qmd://brain/machines/tower/00000003-0000-4000-8000-000000000000.md"]
    assert other.asks("walrus") == ["qmd://brain/machines/laptop/00000001-0000-4000-8000-000000000000.md"]
    assert other.asks("pelican")
    # Nothing new: nothing is committed, sent or brought in.
    again = one.sync()
    assert (again["committed"], again["pushed"], again["added"], again["removed"]) == (False, False, 0, 0)


def test_a_session_that_grows_and_one_that_is_deleted_travel(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    converge(one, other)
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
    # Of what is the same to the byte, one is enough.
    other.session(9, "lemur", turns=4)
    converge(other, one)
    fresh = Machine(Path(one.home.root).parent, "third", Path(one.remote))
    fresh.session(9, "lemur", turns=4)
    assert fresh.sync()["skipped"]["the same is here already"] == 2
    assert len(fresh.asks("lemur")) == 1


def test_a_forget_travels_and_leaves_every_history(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    converge(one, other)
    assert b"drawer1," in other.objects()
    unit = "00000001-0000-4000-8000-000000000000"
    outcome = one.forget(unit)
    assert any("remote.git" in each for each in outcome.beyond)
    assert b"drawer1," not in one.objects()
    one.sync()
    report = other.sync()
    assert report["forgotten"] == 1
    converge(one, other)
    for machine in pair:
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


def test_a_forget_without_the_settings_takes_it_out_of_the_branch_that_is_there(pair: tuple[Machine, Machine]) -> None:
    one, _ = pair
    kept, going = one.session(1, "the basalt key"), one.session(2, "the cobalt door")
    one.sync()
    name = sync.State(one.home).name
    os.unlink(os.path.join(one.home.state, "sync.json"))
    found = forget.plan(one.home, one.config, Selection(references=[going]), "")
    outcome = forget.carry_out(
        one.home, found, lambda documents, *_: ([], sync.forget(one.home, one.config, os.environ, documents))
    )
    assert any("not known any more" in each for each in outcome.beyond)
    assert sync.State(one.home).name == name
    assert b"cobalt" not in one.objects()
    assert b"basalt" in one.objects(), kept


def test_what_another_machine_made_can_be_forgotten_here_and_goes_there(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    converge(one, other)
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
    for machine in pair:
        assert b"drawer3," not in machine.objects()
        assert b"puffin" not in machine.objects()


def test_what_was_lifted_here_is_not_forgotten_again(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    converge(one, other)
    unit = "00000001-0000-4000-8000-000000000000"
    one.forget(unit)
    converge(one, other)
    forget.unforget(one.home, [unit])
    index(one.home, one.config, source="claude", roots=[str(one.transcripts)])
    converge(one, other)
    assert one.asks("walrus") == [f"qmd://brain/{unit}.md"]


def test_a_copy_that_was_edited_here_is_kept_and_named(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    converge(one, other)
    copy = Path(other.home.path("brain", "machines", "laptop", "00000001-0000-4000-8000-000000000000.md"))
    copy.write_text(copy.read_text() + "\nmy own remark\n")
    one.session(1, "walrus", turns=5)
    one.sync()
    assert other.sync()["kept"] == ["qmd://brain/machines/laptop/00000001-0000-4000-8000-000000000000.md"]
    assert "my own remark" in copy.read_text()


def test_a_run_that_is_killed_while_laying_down_is_taken_up_again(
    pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = pair
    converge(one, other)
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
        patch.setattr(sync_pull, "write_atomic", dies)
        with pytest.raises(KeyboardInterrupt):
            other.sync()
    assert other.sync()["kept"] == []
    assert one.documents() == other.documents()


def test_a_machine_that_leaves_takes_its_documents_with_it(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    converge(one, other)
    subprocess.run(["git", "--git-dir", one.remote, "update-ref", "-d", "refs/heads/laptop"], check=True)
    report = other.sync()
    assert (report["removed"], report["machines"]) == (3, {})
    assert len(other.documents()) == 2


def test_a_restored_machine_does_not_overwrite_what_it_had_sent(pair: tuple[Machine, Machine], tmp_path: Path) -> None:
    one, _ = pair
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


def test_a_former_name_is_told_of_when_something_is_forgotten(pair: tuple[Machine, Machine]) -> None:
    one, _ = pair
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


def test_without_a_remote_every_run_is_one_commit(pair: tuple[Machine, Machine]) -> None:
    one, _ = pair
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


def _evil(remote: Path, files: dict[str, bytes], environ: Any = os.environ) -> None:
    """A machine called evil, with whatever names and contents."""
    work = remote.parent / "evil.git"
    repository = Repository(str(work), environ)
    repository.make()
    repository.commit("refs/heads/evil", dict(files), "x\n", 1, "")
    subprocess.run(["git", "--git-dir", str(work), "push", "-q", str(remote), "refs/heads/evil"], check=True)


def test_a_hostile_tree_writes_only_below_its_own_folder(pair: tuple[Machine, Machine], tmp_path: Path) -> None:
    one, _ = pair
    one.sync()
    _evil(
        Path(one.remote),
        {
            "brain/ok.md": b"# fine\n",
            "brain/machines/tower/x.md": b"owned",
            "brain/.hidden.md": b"owned",
            "brain/.git/config": b"owned",
            "state/tombstones.json": b"owned",
            "collections.yml": b"owned",
            "logs/x.md": b"owned",
            "brain/a\x1b[2J.md": b"owned",
            "brain/back\\slash.md": b"owned",
            "brain/OK.md": b"owned",
            ".brain/tombstones.json": b'{"forgotten": [["claude", 3], 7, [], ["claude"], {"a": 1}]}',
            ".brain/removed.json": b'[["laptop", "brain", "../../state/sources.sqlite"], ["a", "state", "x"], [1]]',
        },
    )
    before = {path for path in tmp_path.rglob("*") if path.is_file() and "sync.git" not in path.parts}
    report = one.sync()
    assert report["added"] == 1
    after = {path for path in tmp_path.rglob("*") if path.is_file() and "sync.git" not in path.parts}
    came = {path.name for path in after - before if path.suffix == ".md"}
    assert came in ({"OK.md"}, {"ok.md"})
    assert os.path.exists(os.path.join(one.home.state, "sources.sqlite"))
    assert len(Tombstones(one.home)) <= 1


def test_what_another_machine_says_it_removed_can_only_be_a_known_machines_document(
    pair: tuple[Machine, Machine], tmp_path: Path
) -> None:
    one, other = pair
    converge(one, other)
    precious = [
        Path(one.home.path("precious.txt")),
        Path(one.home.path("state", "precious.md")),
        Path(one.home.path("inbox", "precious.txt")),
        Path(one.home.path("logs", "precious.md")),
    ]
    for path in precious:
        path.write_text("mine")
    Path(one.home.path("inbox", "way")).symlink_to(one.home.path("state"))
    rows = [
        ["../../state", "inbox", "precious.md"],
        ["..", "inbox", "precious.txt"],
        ["../../inbox", "inbox", "precious.txt"],
        ["../..", "inbox", "precious.txt"],
        ["", "inbox", "precious.txt"],
        ["nobody", "inbox", "precious.txt"],
        ["laptop", "inbox", "../precious.txt"],
        ["laptop", "inbox", "way/precious.md"],
    ]
    marks = [["chrome", "../state/precious", ""], ["chrome", "../logs/precious", ""], ["code", "../logs/precious", ""]]
    _evil(
        Path(one.remote),
        {
            ".brain/removed.json": json.dumps(rows).encode(),
            ".brain/tombstones.json": json.dumps({"schema": 1, "forgotten": marks}).encode(),
        },
    )
    held = len(one.documents())
    report = one.sync()
    assert [path.read_text() for path in precious] == ["mine"] * 4
    assert (report["forgotten"], len(one.documents())) == (0, held)


def test_a_tombstone_of_a_source_that_is_unknown_here_is_kept_and_stops_nothing(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    one.sync()
    marks = [["telepathy", "u1", ""], ["claude", "\ud800", ""], ["claude", "00000001-0000-4000-8000-000000000000", ""]]
    _evil(Path(one.remote), {".brain/tombstones.json": json.dumps({"schema": 1, "forgotten": marks}).encode()})
    assert one.sync()["forgotten"] == 1
    assert Tombstones(one.home).covers("telepathy", "u1")
    assert one.asks("walrus") == []
    assert one.sync()["ok"]
    assert other.sync()["ok"]


def test_no_hook_of_any_side_is_run(pair: tuple[Machine, Machine], tmp_path: Path) -> None:
    one, _ = pair
    one.sync()
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    for folder in (Path(one.remote) / "hooks", Path(one.home.path("sync.git")) / "hooks", template):
        folder.mkdir(exist_ok=True)
        for name in ("pre-push", "pre-receive", "post-receive", "update", "reference-transaction", "post-update"):
            (folder / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\n")
            (folder / name).chmod(0o755)
    one.session(21, "lemur")
    assert one.sync()["pushed"]
    assert not list(tmp_path.glob("ran-*"))


@pytest.mark.parametrize("address", ["--upload-pack=touch x", "ext::sh -c touch% x", "a b", "http://x\ny"])
def test_an_address_that_is_an_option_or_a_command_is_refused(pair: tuple[Machine, Machine], address: str) -> None:
    one, _ = pair
    with pytest.raises(BadInput):
        sync.sync(one.home, one.config, os.environ, remote=address)


def test_a_remote_that_cannot_be_reached_is_said_without_its_password(
    pair: tuple[Machine, Machine], tmp_path: Path
) -> None:
    one, _ = pair
    with pytest.raises(BadInput) as failed:
        sync.sync(one.home, one.config, os.environ, remote="https://me:hunter2@127.0.0.1:9/x.git")
    assert "hunter2" not in failed.value.message + failed.value.fix
    assert "127.0.0.1" in failed.value.message


@pytest.mark.parametrize("login", ["me:hun/ter2", "me:hun@ter2/", "hun'ter2", "me:hun://ter2"])
def test_no_part_of_a_password_is_shown_whatever_is_in_it(login: str) -> None:
    address = f"https://{login}@example.org/x.git"
    assert git.masked(address) == "https://…@example.org/x.git"
    assert git.masked(f"fatal: unable to access '{address}/': no") == (
        "fatal: unable to access 'https://…@example.org/x.git/': no"
    )


def test_what_git_keeps_is_nobody_elses(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    before = os.umask(0o022)
    try:
        converge(one, other)
    finally:
        os.umask(before)
    crashed = Path(one.home.path("sync.git", "fast_import_crash_7"))
    crashed.write_text("M 100644 inline brain/secret-plan.md")
    one.sync()
    assert not crashed.exists()
    for place in (one.home.path("sync.git"), one.remote):
        assert [str(path) for path in Path(place).rglob("*") if path.stat().st_mode & 0o077] == []


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
