"""On a real file system with only kilobytes left, no command is ended by a signal, and no hook fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from core.home import Home
from tests.conftest import Brain
from tests.forking import WITHOUT_MODEL
from tests.test_concurrency import check_integrity, session, transcripts

# SQLite writes a byte of each 4096 of its -shm file. So blocks of this size leave the rest of a page without one.
_BLOCK = "1024"
_SESSIONS = 6
ROOT = Path(__file__).resolve().parent.parent
Fill = Callable[[int], None]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """An ext4 file system of 24 MB and blocks of 1 KB, for root on Linux."""
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("only root can mount a file system, and mkfs.ext4 (e2fsprogs) makes it")
    image, disk = tmp_path / "disk.img", tmp_path / "disk"
    disk.mkdir()
    with image.open("wb") as stream:
        stream.truncate(24 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-b", _BLOCK, str(image)], check=True)
    mounted = subprocess.run(["mount", "-o", "loop", str(image), str(disk)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


# A database that was opened while there was room, and that another process's files left without any.
_WRITER = """
import os, sys
import apsw
from core.sqlite import connect, write_ahead

database, ballast, free = sys.argv[1], sys.argv[2], int(sys.argv[3])
connection = connect(database)
write_ahead(connection)
room = os.statvfs(os.path.dirname(ballast))
with open(ballast, "wb") as stream:
    os.posix_fallocate(stream.fileno(), 0, room.f_bavail * room.f_frsize - free)
try:
    for _ in range(100):
        connection.execute("INSERT INTO texts VALUES (randomblob(2500))")
except apsw.FullError:
    print("full")
"""


def test_a_writer_outlives_a_disk_that_others_fill_after_it_was_opened(disk: Path) -> None:
    database, ballast = disk / "texts.sqlite", disk / "ballast"
    made = apsw.Connection(str(database))
    made.execute("PRAGMA journal_mode=WAL; CREATE TABLE texts (text)").fetchall()
    made.close()
    for free in range(20_000, 60_000, 4_000):
        done = subprocess.run(
            [sys.executable, "-c", _WRITER, str(database), str(ballast), str(free)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "full\n"), (free, done.stderr)
        ballast.unlink()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of six transcripts."""
    return transcripts(tmp_path / "transcripts", range(_SESSIONS))


@pytest.fixture
def filled(disk: Path, folder: Path, brain: Brain, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home of six indexed sessions on the small disk; each has grown since."""
    monkeypatch.setenv("BRAIN_HOME", str(disk / "home"))
    assert brain("index", "--from", str(folder), "--queue", "--json").returncode == 0
    transcripts(folder, range(_SESSIONS), turns=9)
    return Home(str(disk / "home"))


@pytest.fixture
def fill(disk: Path) -> Fill:
    """Leave ``free`` bytes of the disk."""

    def fill(free: int) -> None:
        with (disk / "ballast").open("wb") as stream:
            room = os.statvfs(disk)
            size = room.f_bavail * room.f_frsize - free
            os.posix_fallocate(stream.fileno(), 0, size)
            while (room := os.statvfs(disk)).f_bavail * room.f_frsize < free:  # the file's own blocks
                size -= int(_BLOCK)
                stream.truncate(size)

    return fill


FREE = [4_000, 34_000, 400_000]
COMMANDS = {
    "index": ["index", "--from", "{folder}"],
    "forget": ["forget", "--match", "topic3", "--yes"],
    "inbox": ["inbox", "the puffin landed", "--force"],
    "distill": ["distill"],
    "backup": ["backup"],
    "embed": ["embed"],
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name == "embed" else ()) for name in COMMANDS]
)
def test_a_command_says_that_the_disk_is_almost_full_and_loses_nothing(
    filled: Home, folder: Path, fill: Fill, disk: Path, brain: Brain, name: str
) -> None:
    words = [word.format(folder=folder) for word in COMMANDS[name]]
    before = sorted(Path(filled.path("brain")).glob("*.md"))
    for free in FREE:
        fill(free)
        done = brain(*words, code=WITHOUT_MODEL if name == "distill" else "")
        assert done.returncode in (0, 99), (free, done.returncode, done.stderr)
        assert "the disk is full" in done.stderr
        assert "free some space" in done.stderr or done.returncode == 0
        assert sorted(Path(filled.path("brain")).glob("*.md")) == before
        (disk / "ballast").unlink()
    assert brain(*words).returncode == 0
    assert brain("index", "--from", str(folder)).returncode == 0
    check_integrity(filled)


@pytest.mark.parametrize("words", [["ask", "topic3 harvest"], ["why", "topic3"], ["recent", "--since", "2000-01-01"]])
def test_one_can_ask_with_a_disk_that_is_almost_full(filled: Home, fill: Fill, brain: Brain, words: list[str]) -> None:
    for free in FREE:
        fill(free)
        done = brain(*words, "--json")
        assert done.returncode == 0, (free, done.stderr)
        assert json.loads(done.stdout)["ok"], free


@pytest.mark.parametrize("event", ["stop", "session-start", "prompt", "drain"])
def test_a_hook_ends_with_0_on_a_disk_that_is_almost_full(
    filled: Home, folder: Path, fill: Fill, brain: Brain, event: str
) -> None:
    (path,) = folder.rglob(f"{session(2)}.jsonl")
    told = {"session_id": session(2), "transcript_path": str(path), "cwd": "/", "prompt": "where is topic3?"}
    for free in FREE:
        fill(free)
        assert brain("hook", event, stdin=json.dumps(told)).returncode == 0, free
