"""A full disk, a home nobody may write to, files nobody may read: one line, the right code, nothing lost."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from brain import main
from core import sqlite
from core.home import Home
from ops.backup import backup
from tests import homes
from tests.conftest import Brain
from tests.forking import WITHOUT_MODEL
from tests.ingest.archive.test_rows import cursor
from tests.test_concurrency import check_integrity, session, transcripts

_SESSIONS = 6
_LIMITS = (0, 20_000, 120_000)

Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> homes.Stage:
    """Six sessions and a note, indexed."""

    def build(folder: Path) -> None:
        homes.run("index", "--from", str(transcripts(folder / "transcripts", range(_SESSIONS))), "--queue")
        homes.run("inbox", "the pelican landed")

    return homes.Stage(tmp_path_factory.mktemp("faults"), build)


@pytest.fixture
def filled(stage: homes.Stage) -> Iterator[Home]:
    """The home of the stage, which is ``BRAIN_HOME``."""
    folder = stage.reset()
    with homes.environment(folder):
        yield Home(str(folder / "home"))


@pytest.fixture
def folder(filled: Home, stage: homes.Stage) -> Path:
    """The transcripts that the home has read."""
    return stage.folder / "transcripts"


def documents(home: Home) -> dict[str, bytes]:
    return {
        str(path.relative_to(home.root)): path.read_bytes()
        for name in ("brain", "inbox")
        for path in Path(home.path(name)).rglob("*.md")
    }


@pytest.fixture
def brain(brain: Brain) -> Brain:
    """The command without a model: nothing here depends on how a distillate is chosen."""

    def run(*words: str, code: str = "", timeout: float = 60) -> Done:
        return brain(*words, code=f"{WITHOUT_MODEL}\n{code}", timeout=timeout)

    return run


@pytest.fixture
def with_room(brain: Brain) -> Brain:
    """``with_room(20_000, "index")`` runs a command in which no file may grow beyond so many bytes."""

    def run(limit: int, *words: str) -> Done:
        return brain(*words, code=f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))")

    return run


def said(done: Done, *codes: int) -> str:
    """The one line of a failure of one of these codes; no trace, and a fix."""
    assert done.returncode in codes, (done.args, done.returncode, done.stdout, done.stderr)
    lines = done.stderr.strip().splitlines()
    assert "Traceback" not in done.stderr, done.stderr
    assert lines
    assert lines[0].startswith("brain: ")
    assert len(lines) == 2, lines
    assert lines[1].startswith("fix: "), lines
    return lines[0]


def _index(folder: Path) -> tuple[str, ...]:
    return ("index", "--from", str(folder))


COMMANDS: dict[str, Callable[[Path], tuple[str, ...]]] = {
    "index": _index,
    "rebuild": lambda _: ("rebuild",),
    "update": lambda _: ("qmd", "--brain", "update"),
    "backup": lambda _: ("backup",),
    "distill": lambda _: ("distill",),
    "sync": lambda _: ("sync",),
    "inbox": lambda _: ("inbox", "the puffin landed", "--force"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_loses_nothing(filled: Home, folder: Path, brain: Brain, with_room: Brain, name: str) -> None:
    words = COMMANDS[name](folder)
    before = documents(filled)
    transcripts(folder, range(_SESSIONS), turns=9)
    for limit in _LIMITS:
        done = with_room(limit, *words)
        if done.returncode:
            if name == "update":  # qmd's own contract of codes and lines
                assert "Traceback" not in done.stderr
            else:
                said(done, 99, 65)
        now = documents(filled)
        assert now.keys() >= before.keys()
        for path, data in before.items():
            assert now[path] == data or (name == "index" and len(now[path]) > len(data)), f"{path} is torn"
        assert backup.listed(filled.path("backups")) == [] or not done.returncode
        shutil.rmtree(filled.path("backups"), ignore_errors=True)
        assert json.loads(brain("ask", "topic3 harvest", "--json").stdout)["hits"]
    done = brain(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert brain("index", "--from", str(folder), "--json").returncode == 0
    assert documents(filled).keys() >= before.keys()
    check_integrity(filled)


@pytest.mark.parametrize("limit", [20_000, 60_000, 100_000, 200_000])
def test_a_limit_of_file_sizes_is_named_with_the_command_that_lifts_it(
    tmp_path: Path, with_room: Brain, limit: int
) -> None:
    done = with_room(limit, "index", "--from", str(transcripts(tmp_path / "transcripts", range(_SESSIONS))))
    assert "SQLite:" not in done.stderr, done.stderr
    if done.returncode:
        assert "ulimit -f" in said(done, 99)
        assert "fix: ulimit -f unlimited" in done.stderr


def _without_log(home: Home) -> None:
    assert not Path(f"{home.index}-wal").exists()


def _with_empty_log(home: Home) -> None:
    Path(f"{home.index}-wal").touch()
    Path(f"{home.index}-shm").write_bytes(b"\0" * 3)


def _with_log(home: Home) -> None:
    """The log holds the last change, as a hook leaves it; the shared file is gone, as after a copy."""
    connection = apsw.Connection(home.index)
    sqlite.leave_log(connection)
    connection.execute("UPDATE documents SET active = 0 WHERE collection = 'inbox'").fetchall()
    connection.close()
    Path(f"{home.index}-shm").unlink()
    assert Path(f"{home.index}-wal").stat().st_size


@pytest.mark.parametrize("command", ["ask", "recent", "why", "show"])
@pytest.mark.parametrize("leave", [_without_log, _with_empty_log, _with_log])
def test_one_can_still_ask_on_a_full_disk(
    filled: Home, with_room: Brain, command: str, leave: Callable[[Home], None]
) -> None:
    leave(filled)
    name = Path(next(iter(documents(filled)))).name
    words = {"ask": ["topic3 harvest"], "why": ["topic3"], "show": [name], "recent": ["--since", "2000-01-01"]}[command]
    for _ in range(2):  # an attempt may leave files behind
        done = with_room(0, command, *words, "--json")
        found = json.loads(done.stdout)
        assert (done.returncode, found["ok"]) in ((0, True), (67, True)), found
        if leave is _with_log and command == "recent":
            assert found["collections"] == {"brain": _SESSIONS}, found
    connection = apsw.Connection(filled.index)
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    connection.close()


def _close(home: Home) -> None:
    for path in sorted([Path(home.root), *Path(home.root).rglob("*")], key=lambda each: -len(each.parts)):
        path.chmod(0o500 if path.is_dir() else 0o400)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_home_that_may_not_be_written_to_is_said_to_be_one(
    filled: Home, folder: Path, brain: Brain, bound: Brain, name: str
) -> None:
    before = {path: path.read_bytes() for path in Path(filled.root).rglob("*") if path.is_file()}
    transcripts(folder, range(_SESSIONS), turns=9)
    _close(filled)
    done = bound(*COMMANDS[name](folder))
    if name == "update":
        assert done.returncode != 0
        assert "Traceback" not in done.stderr
    else:
        assert filled.root in said(done, 64, 65, 99)
    # One can still ask.
    answer = bound("ask", "topic3 harvest", "--json")
    assert json.loads(answer.stdout)["hits"], answer.stderr
    assert {path: path.read_bytes() for path in Path(filled.root).rglob("*") if path.is_file()} == before
    for path in [Path(filled.root), *sorted(Path(filled.root).rglob("*"))]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    assert brain(*COMMANDS[name](folder)).returncode == 0


def test_a_document_that_may_not_be_read_is_named_and_not_left_out_of_a_backup(filled: Home, bound: Brain) -> None:
    closed = Path(filled.path("brain", f"{session(2)}.md"))
    closed.chmod(0)
    assert f"brain/{session(2)}.md" in said(bound("backup"), 64)
    assert backup.listed(filled.path("backups")) == []
    closed.chmod(0o600)
    assert bound("backup", "--json").returncode == 0


def test_a_folder_of_backups_that_may_not_be_written_to_is_named(filled: Home, tmp_path: Path, bound: Brain) -> None:
    disk = tmp_path / "disk"
    disk.mkdir(mode=0o500)
    assert str(disk) in said(bound("backup", "--to", str(disk)), 64)
    assert str(disk) in said(bound("backup", "--to", str(disk / "deeper")), 64)
    disk.chmod(0o700)


def test_restoring_onto_a_full_disk_leaves_the_home_as_it_was(filled: Home, brain: Brain, with_room: Brain) -> None:
    path = json.loads(brain("backup", "--json").stdout)["path"]
    before = documents(filled)
    for limit in (0, 3_000, 30_000):
        said(with_room(limit, "restore", path, "--force"), 99, 65)
        assert documents(filled) == before
    assert brain("restore", path, "--force").returncode == 0
    assert documents(filled) == before


@pytest.mark.parametrize("form", [(), ("--json",), ("--dry-run",)])
def test_a_full_disk_is_said_to_be_full_by_every_run_and_nothing_is_to_be_moved_away(
    filled: Home,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    form: tuple[str, ...],
) -> None:
    def fails(*_: object) -> None:
        raise apsw.IOError("disk I/O error")

    monkeypatch.setattr("ingest.pipeline.state._opened", fails)
    monkeypatch.setattr("ingest.pipeline.rehearsal.known", fails)
    monkeypatch.setattr("core.sqlite.is_full", lambda _: True)
    assert main(["index", "--from", str(folder), *form]) == 99
    told = "".join(capsys.readouterr())
    assert "the disk is full" in told
    assert "damaged" not in told
    assert "mv " not in told
    monkeypatch.setattr("core.sqlite.is_full", lambda _: False)
    assert main(["index", "--from", str(folder), *form]) == 99
    assert "disk is full" not in "".join(capsys.readouterr())


def test_a_copy_of_a_database_that_finds_no_room_ends_the_run_and_blames_no_database(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    cursor(tmp_path / "User")
    monkeypatch.setattr("ingest.raw.sqlite_copy._copy_file", full)
    assert main(["index", "--source", "cursor", "--from", str(tmp_path / "User"), "--json"]) == 99
    assert json.loads(capsys.readouterr().out)["message"] == "the disk is full"
    monkeypatch.undo()
    monkeypatch.setenv("BRAIN_HOME", home.root)
    assert main(["index", "--source", "cursor", "--from", str(tmp_path / "User")]) == 0
