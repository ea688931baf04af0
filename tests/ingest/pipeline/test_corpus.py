"""Documents are whole or not there, at whatever moment the writer is killed."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.document import split
from core.files import write_temporary
from core.home import Home
from core.syncs import Syncs
from ingest.pipeline import corpus as corpus_module
from ingest.pipeline.corpus import Corpus
from tests.ingest.transcripts import Record, Script, corpus, ingest, save, text

ROOT = str(Path(__file__).parents[3])
RUN = (
    "import sys; sys.path.insert(0, sys.argv[1]); from core.home import Home; from ingest.pipeline.run import run;"
    "run(Home(sys.argv[2]), 'claude', [sys.argv[3]], trust_stat=False, rebuild=True)"
)


Landed = list[tuple[str, bytes]]


@pytest.fixture
def landed() -> Landed:
    return []


@pytest.fixture
def place(home: Home, landed: Landed) -> Iterator[Corpus]:
    with Corpus(home, "brain", lambda name, data, status: landed.append((name, data))) as opened:
        yield opened


def test_equal_bytes_are_not_written(place: Corpus, landed: Landed) -> None:
    for data in (b"x", b"x", b"y", b"y", b"x"):
        assert place.put("a.md", data) == hashlib.sha256(data).hexdigest()
        assert place.digest("a.md") == hashlib.sha256(data).hexdigest()
    place.flush()
    place.put("a.md", b"x")
    place.flush()
    assert landed == [("a.md", b"x"), ("a.md", b"y"), ("a.md", b"x")]


def test_documents_land_synced_whole_and_in_order(
    place: Corpus, landed: Landed, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[int] = set()
    sync, rename = os.fsync, os.rename

    def slow_sync(descriptor: int) -> None:
        time.sleep(0.002)
        sync(descriptor)
        synced.add(os.fstat(descriptor).st_ino)

    def checked_rename(old: str, new: str) -> None:
        assert os.stat(old).st_ino in synced
        rename(old, new)

    monkeypatch.setattr(os, "fsync", slow_sync)
    monkeypatch.setattr(os, "rename", checked_rename)
    names = [f"{number}.md" for number in range(150)]
    for name in names:
        place.put(name, name.encode())
    assert 0 < len(landed) < len(names)
    place.flush()
    assert landed == [(name, name.encode()) for name in names]
    assert {path.name: path.read_bytes() for path in Path(place.folder).iterdir()} == dict(landed)


def test_syncs_overlap(place: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four syncs that each wait for the other three would never end one after another."""
    together = threading.Barrier(4)

    def wait(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            together.wait(timeout=30)

    monkeypatch.setattr(os, "fsync", wait)
    for number in range(4):
        place.put(f"{number}.md", b"x")
    place.flush()
    assert len(list(Path(place.folder).iterdir())) == 4


def test_one_document_alone_is_synced_and_needs_no_thread(
    place: Corpus, landed: Landed, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(threading, "Thread", None)
    for data in (b"x", b"y"):
        place.put("a.md", data)
        place.flush()
        assert landed[-1] == ("a.md", data)
        assert synced[-2:] == [os.stat(path).st_ino for path in (Path(place.folder, "a.md"), place.folder)]
    assert len(synced) == 4


def test_a_document_that_is_not_flushed_leaves_nothing_open(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    closed: list[int] = []

    def noted(folder: str, data: bytes) -> tuple[str, int]:
        temporary, descriptor = write_temporary(folder, data)
        opened.append(descriptor)
        return temporary, descriptor

    def close(descriptor: int) -> None:
        closed.append(descriptor)
        was_closed(descriptor)

    was_closed = os.close
    monkeypatch.setattr(corpus_module, "write_temporary", noted)
    with Corpus(home, "brain", lambda *landed: None) as place:
        place.put("a.md", b"x")
        monkeypatch.setattr(os, "close", close)
    assert [descriptor for descriptor in closed if descriptor in opened] == opened
    assert list(Path(place.folder).iterdir()) == []


def test_files_are_found_alike_one_by_one_and_all_at_once(place: Corpus) -> None:
    for number in range(3):
        place.put(f"{number}.md", b"x")
    place.flush()
    for names in (["1.md", "none.md"], ["1.md", *(f"none-{number}.md" for number in range(300))]):
        there = place.there(names)
        assert [name for name in names if name in there] == ["1.md"]


def test_what_waits_is_bounded_in_number_and_bytes(
    place: Corpus, landed: Landed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_module, "_GROUP", 3)
    monkeypatch.setattr(corpus_module, "_GROUP_BYTES", 100)
    for number in range(20):
        place.put(f"{number}.md", b"x")
        assert number + 1 - len(landed) < 3
    place.put("large.md", b"x" * 100)
    assert len(landed) == 21


def test_a_document_lands_once_it_is_synced_and_waits_for_no_others(
    place: Corpus, landed: Landed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_module, "_GROUP", 10_000)
    for number in range(1_000):  # of which a disk in haste needs two
        place.put(f"{number}.md", b"x")
        if landed:
            break
        time.sleep(0.05)
    assert landed[0] == ("0.md", b"x")
    assert Path(place.folder, "0.md").read_bytes() == b"x"


def test_a_document_that_was_synced_first_lands_behind_those_that_were_put_before(
    place: Corpus, landed: Landed, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = threading.Event()
    held: list[int] = []
    add, sync = Syncs.add, os.fsync

    def noted(syncs: Syncs, name: str, descriptor: int) -> None:
        if not held:
            held.append(descriptor)
        add(syncs, name, descriptor)

    def fsync(descriptor: int) -> None:
        if descriptor == held[0]:
            assert first.wait(timeout=60)
        sync(descriptor)

    monkeypatch.setattr(Syncs, "add", noted)
    monkeypatch.setattr(os, "fsync", fsync)
    names = [f"{number}.md" for number in range(20)]
    for name in names:
        place.put(name, b"x")
    assert landed == []
    first.set()
    place.flush()
    assert [name for name, _ in landed] == names


@pytest.mark.parametrize("other", [False, True])
def test_a_group_that_cannot_be_synced_leaves_the_old_documents(
    home: Home, monkeypatch: pytest.MonkeyPatch, other: bool
) -> None:
    landed: Landed = []
    with Corpus(home, "brain", lambda name, data, status: landed.append((name, data))) as place:
        place.put("a.md", b"old")
        place.flush()

        def fail(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        place.put("a.md", b"new")
        if other:
            place.put("b.md", b"new")
        with pytest.raises(OSError, match="No space"):
            place.flush()
    assert {path.name: path.read_bytes() for path in Path(place.folder).iterdir()} == {"a.md": b"old"}
    assert landed == [("a.md", b"old")]


def test_a_run_that_stops_in_the_middle_of_a_group_remembers_nothing_of_it(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    for number in range(5):
        save(folder / f"{number}.jsonl", Script(f"session-{number}").user("x"))
    rename = os.rename

    def stop(old: str, new: str) -> None:
        if new.endswith("session-3.md"):
            raise OSError(5, "Input/output error")
        rename(old, new)

    monkeypatch.setattr(os, "rename", stop)
    with pytest.raises(OSError, match="Input/output"):
        ingest(home, folder)
    monkeypatch.undo()
    assert sorted(os.listdir(home.path("brain"))) == [f"session-{number}.md" for number in range(3)]
    ledger = ingest(home, folder, trust_stat=True)
    assert (ledger.ingested, ledger.written, ledger.documents) == (5, 2, 5)


def test_what_a_killed_writer_left_is_swept(home: Home) -> None:
    folder = Path(home.path("brain"))
    folder.mkdir()
    old, fresh = folder / ".1-aa.tmp", folder / ".2-bb.tmp"
    old.write_text("half")
    fresh.write_text("half")
    os.utime(old, (1, 1))
    with Corpus(home, "brain", lambda *landed: None):
        pass
    assert not old.exists()
    assert fresh.exists()  # its writer may be alive


def test_documents_are_private(home: Home, tmp_path: Path) -> None:
    save(tmp_path / "in/a.jsonl", Script().user("x"))
    ingest(home, tmp_path / "in")
    assert os.stat(home.path("brain")).st_mode & 0o777 == 0o700
    for path in [*Path(home.path("brain")).iterdir(), Path(home.state, "sources.sqlite")]:
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_a_kill_at_any_moment_leaves_old_or_new_documents_never_half(home: Home, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder = tmp_path / "in"
    wholes: list[dict[str, bytes]] = []
    versions: list[list[tuple[Path, list[Record]]]] = []
    for word in ("old", "new"):
        versions.append([])
        for number in range(60):
            s = Script(f"session-{number}")
            records = [s.user(f"{word} {number}"), s.assistant(text(f"{word} " * 20_000))]
            versions[-1].append((folder / f"{number}.jsonl", records))
        reference = Home(str(tmp_path / word))
        reference.make()
        for path, records in versions[-1]:
            save(path, *records)
        ingest(reference, folder)
        wholes.append(corpus(reference))
    for path, records in versions[0]:
        save(path, *records)
    ingest(home, folder)
    for path, records in versions[1]:
        save(path, *records)
    whole_run = 0.0
    for attempt in range(6):
        started = time.monotonic()
        process = subprocess.Popen([sys.executable, "-c", RUN, ROOT, home.root, str(folder)])
        if attempt == 0:
            whole_run = 0.25
        time.sleep(chance.uniform(0.02, max(whole_run, 0.05) * 1.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        whole_run = max(whole_run, time.monotonic() - started)
        found = corpus(home)
        assert found.keys() == wholes[0].keys()
        for name, data in found.items():
            assert data in (wholes[0][name], wholes[1][name])
            assert split(data.decode())[0]["source"] == "claude"
    ingest(home, folder)
    assert corpus(home) == wholes[1]


def test_two_runs_at_once_leave_one_whole_corpus(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for number in range(40):
        save(folder / f"{number}.jsonl", Script(f"session-{number}").user(f"question {number}"))
    runs = [subprocess.Popen([sys.executable, "-c", RUN, ROOT, home.root, str(folder)]) for _ in range(2)]
    assert [process.wait(timeout=60) for process in runs] == [0, 0]
    assert len(corpus(home)) == 40
    assert ingest(home, folder).unchanged == 40
