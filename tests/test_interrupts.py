"""Deadlines that hold, locks that are waited for and then given up, and an index that is no index any more."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from core.files import FileLock
from core.home import Home
from qmd.index import store
from tests.conftest import Brain
from tests.ingest.transcripts import Script, save, text

ROOT = Path(__file__).resolve().parent.parent
_PASSAGES = 700_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three transcripts."""
    place = tmp_path / "transcripts"
    for number, word in enumerate(("walrus", "ocelot", "heron")):
        session = f"{number:08x}-0000-4000-8000-000000000000"
        script = Script(session)
        save(
            place / f"{session}.jsonl",
            script.user(f"Where is the {word}?"),
            script.assistant(text(f"The {word} swam.")),
        )
    return place


@pytest.fixture
def indexed(home: Home, folder: Path, brain: Brain) -> Home:
    done = brain("index", "--from", str(folder), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return home


Impatient = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def impatient() -> Impatient:
    """The real program, with every wait for another process cut to a fifth of a second."""
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "from ingest.pipeline import run\n"
        "from runtime.capture import indexing\n"
        "assert min(indexing._BUSY_MS, indexing._LOCK_WAIT_S, run.LOCK_WAIT_S) > 1\n"
        "indexing._BUSY_MS = 200; indexing._LOCK_WAIT_S = run.LOCK_WAIT_S = 0.2\n"
        "import brain; brain.entry()\n"
    )

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-c", code, str(ROOT), *words]
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)

    return run


@pytest.fixture
def writer(indexed: Home) -> Iterator[apsw.Connection]:
    """Another writer of the index, in the middle of a transaction."""
    connection = apsw.Connection(indexed.index)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


def failure(done: subprocess.CompletedProcess[str], code: int, error: str) -> dict[str, Any]:
    """The error envelope of a run that failed as expected; every failure says what to do."""
    assert done.returncode == code, done.stdout + done.stderr
    envelope: dict[str, Any] = json.loads(done.stdout)
    assert envelope["ok"] is False
    assert (envelope["error"], envelope["exit_code"]) == (error, code)
    assert envelope["message"]
    assert envelope["fix"]
    return envelope


def found(brain: Brain, word: str) -> bool:
    done = brain("ask", word, "--json")
    assert done.returncode in (0, 67), done.stdout + done.stderr
    return done.returncode == 0


def test_the_deadline_interrupts_a_running_statement(indexed: Home, brain: Brain) -> None:
    connection = store.open_index(indexed.index, write=True)
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
        " INSERT INTO brain_passages(rowid, body, words) SELECT i, 'common rope', '' FROM n",
        (_PASSAGES,),
    )
    connection.close()

    def seconds(*words: str) -> tuple[float, subprocess.CompletedProcess[str]]:
        started = time.monotonic()
        done = brain("ask", "--json", *words)
        return time.monotonic() - started, done

    quick, done = seconds("walrus")
    assert done.returncode == 0
    slow, done = seconds("common rope", "--timeout", "60")
    assert done.returncode in (0, 67)
    work = slow - quick
    assert work > 5 * quick, "the index is too small to tell an interrupt from a quick answer"
    limit = work / 8
    taken, done = seconds("common rope", "--timeout", f"{limit:.3f}")
    envelope = failure(done, 66, "qmd_timeout")
    assert "--timeout" in envelope["fix"]
    # An eighth of the work was permitted; with the start of the process and room for a busy machine, under half is.
    assert taken < quick + 4 * limit
    assert found(brain, "heron")

    # In a batch the line that takes too long fails alone.
    done = brain("ask", "--batch", "-", "--timeout", f"{limit:.3f}", stdin="walrus\ncommon rope\nheron\n")
    assert done.returncode == 0
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [outcome.get("error") for outcome in outcomes] == [None, "qmd_timeout", None]
    row = json.loads(Path(indexed.usage).read_text().splitlines()[-3])
    assert (row["event"], row["exit_code"]) == ("ask", 66)
    connection = store.open_index(indexed.index, write=True)
    try:
        connection.execute("INSERT INTO brain_passages(brain_passages) VALUES('integrity-check')")
        assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    finally:
        connection.close()


def test_a_deadline_that_passed_raises_interrupt_and_leaves_the_connection_usable(home: Home) -> None:
    connection = store.open_index(home.index, write=True)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with pytest.raises(apsw.InterruptError), store.Deadline(connection, 0.05):
        connection.execute(endless).fetchall()
    assert connection.execute("SELECT 1").get == 1
    connection.close()


def test_a_note_is_kept_though_the_index_is_locked(writer: apsw.Connection, brain: Brain, impatient: Impatient) -> None:
    done = impatient("inbox", "the pelican landed", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    entry = json.loads(done.stdout)
    assert entry["indexed"] is False
    assert "brain index" in entry["warning"]
    assert "the pelican landed" in Path(entry["path"]).read_text()
    assert not found(brain, "pelican")
    writer.execute("ROLLBACK")
    assert brain("index", "--json").returncode == 0
    assert found(brain, "pelican")


def test_an_answer_does_not_wait_for_a_writer(writer: apsw.Connection, brain: Brain) -> None:
    assert found(brain, "walrus")


def test_index_waits_for_a_writer_and_goes_on(writer: apsw.Connection, brain: Brain, folder: Path) -> None:
    script = Script("00000009-0000-4000-8000-000000000000")
    save(folder / "late.jsonl", script.user("Where is the pelican?"))
    timer = threading.Timer(0.8, writer.execute, ("ROLLBACK",))
    timer.start()
    started = time.monotonic()
    done = brain("index", "--from", str(folder), "--json")
    timer.join()
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - started > 0.7
    assert found(brain, "pelican")


def test_index_gives_up_on_a_writer_that_does_not_end(
    writer: apsw.Connection, impatient: Impatient, folder: Path, brain: Brain
) -> None:
    save(folder / "late.jsonl", Script("00000009-0000-4000-8000-000000000000").user("Where is the pelican?"))
    failure(impatient("index", "--from", str(folder), "--json"), 70, "lock_contention")
    failure(impatient("index", "--from", str(folder), "--json", "--rebuild"), 70, "lock_contention")
    assert found(brain, "walrus")
    writer.execute("ROLLBACK")
    assert impatient("index", "--from", str(folder), "--json").returncode == 0
    assert found(brain, "pelican")


@pytest.mark.parametrize("name", ["index.lock", "ingest-claude.lock"])
def test_index_gives_up_on_another_index_run(indexed: Home, impatient: Impatient, folder: Path, name: str) -> None:
    path = os.path.join(indexed.state, name)
    assert os.path.exists(path)
    with FileLock(path, 1):
        failure(impatient("index", "--from", str(folder), "--json"), 70, "lock_contention")
    assert impatient("index", "--from", str(folder), "--json").returncode == 0


def test_a_reader_shut_out_of_the_index_ends_with_70_in_its_own_time(indexed: Home, brain: Brain) -> None:
    tyrant = apsw.Connection(indexed.index)
    tyrant.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()
    tyrant.execute("BEGIN IMMEDIATE; UPDATE documents SET active = active; COMMIT")
    started = time.monotonic()
    done = brain("ask", "walrus", "--json", "--timeout", "0.3")
    taken = time.monotonic() - started
    tyrant.close()
    failure(done, 70, "lock_contention")
    assert taken < 1.5
    assert found(brain, "walrus")


def test_asking_before_the_first_index_says_to_make_one(home: Home, brain: Brain) -> None:
    for words in (("walrus",), ("--batch", "-"), ("--strict", "walrus")):
        envelope = failure(brain("ask", "--json", *words, stdin="walrus\n"), 65, "qmd_missing")
        assert envelope["fix"].startswith("brain index")
    done = brain("ask", "walrus")
    assert done.returncode == 65
    assert done.stdout == ""
    assert "\nfix: brain index" in done.stderr
    assert not Path(home.index).exists()


def _noise(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(200_000))


def _noise_after_the_header(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:100] + random.Random(2).randbytes(len(data) - 100))


def _noise_in_the_tables(path: Path) -> None:
    data = path.read_bytes()
    page = int.from_bytes(data[16:18], "big")
    path.write_bytes(data[: 2 * page] + random.Random(3).randbytes(len(data) - 2 * page))


def _truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _a_few_bytes(path: Path) -> None:
    os.truncate(path, 700)


def _zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _of_something_else(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE recipes(name TEXT)")
    connection.close()


DAMAGE = [
    _noise,
    _truncated,
    _empty,
    _of_something_else,
    # tests/test_damage.py damages parts of an index in more ways.
    *(pytest.param(each, marks=pytest.mark.long) for each in (_noise_after_the_header, _noise_in_the_tables)),
    *(pytest.param(each, marks=pytest.mark.long) for each in (_a_few_bytes, _zeros)),
]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__.strip("_"))
def test_a_damaged_index_is_named_and_a_rebuild_cures_it(
    indexed: Home, brain: Brain, folder: Path, damage: Callable[[Path], None]
) -> None:
    noted = json.loads(brain("inbox", "the pelican landed", "--json").stdout)
    assert noted["indexed"] is True
    for suffix in ("-wal", "-shm"):
        assert not os.path.exists(indexed.index + suffix)
    damage(Path(indexed.index))
    envelope = failure(brain("ask", "walrus", "--json"), 65, "qmd_missing")
    assert "brain index" in envelope["fix"]
    assert brain("explain", "--json").returncode == 0

    # A note is kept whatever has become of the index.
    note = brain("inbox", "the puffin landed", "--json")
    assert note.returncode == 0, note.stdout + note.stderr
    assert Path(json.loads(note.stdout)["path"]).is_file()

    done = brain("index", "--rebuild", "--from", str(folder), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("walrus", "ocelot", "heron", "pelican", "puffin"):
        assert found(brain, word), word


def test_a_log_of_another_index_is_never_played_into_a_rebuilt_one(indexed: Home, brain: Brain, folder: Path) -> None:
    keeper = apsw.Connection(indexed.index)
    keeper.execute("UPDATE documents SET title = 'forged'")
    wal = Path(indexed.index + "-wal").read_bytes()
    keeper.close()
    assert wal
    _noise(Path(indexed.index))
    Path(indexed.index + "-wal").write_bytes(wal)
    assert brain("index", "--rebuild", "--from", str(folder), "--json").returncode == 0
    hits = json.loads(brain("ask", "walrus", "--json").stdout)["hits"]
    assert hits
    assert hits[0]["title"] != "forged"


def test_a_folder_in_the_place_of_the_index_is_said_to_be_one(indexed: Home, brain: Brain, folder: Path) -> None:
    Path(indexed.index).unlink()
    Path(indexed.index).mkdir()
    for words in (("ask", "walrus"), ("index", "--from", str(folder)), ("index", "--rebuild", "--from", str(folder))):
        envelope = failure(brain(*words, "--json"), 65, "qmd_missing")
        assert indexed.index in envelope["message"]
    note = brain("inbox", "the puffin landed", "--json")
    assert note.returncode == 0
    assert json.loads(note.stdout)["indexed"] is False
    shutil.rmtree(indexed.index)
    assert brain("index", "--from", str(folder), "--json").returncode == 0
    assert found(brain, "walrus")
    assert found(brain, "puffin")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_index_that_may_not_be_read_is_said_to_be_so(indexed: Home, brain: Brain) -> None:
    os.chmod(indexed.index, 0)
    envelope = failure(brain("ask", "walrus", "--json"), 65, "qmd_missing")
    assert "permission" in envelope["fix"]
    os.chmod(indexed.index, 0o600)
    assert found(brain, "walrus")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_an_index_that_may_only_be_read_still_answers(indexed: Home, brain: Brain) -> None:
    os.chmod(indexed.index, 0o400)
    assert found(brain, "walrus")


def test_an_index_of_another_version_is_not_guessed_at(indexed: Home, brain: Brain, folder: Path) -> None:
    connection = apsw.Connection(indexed.index)
    connection.execute("UPDATE brain_state SET value = 999 WHERE key = 'index_version'")
    connection.close()
    failure(brain("ask", "walrus", "--json"), 65, "qmd_missing")
    assert brain("index", "--from", str(folder), "--json").returncode == 0
    assert found(brain, "walrus")
