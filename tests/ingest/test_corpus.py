"""Documents are whole or not there, at whatever moment the writer is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.document import split
from core.home import Home
from ingest.corpus import Corpus
from tests.ingest.transcripts import Record, Script, corpus, ingest, save, text

ROOT = str(Path(__file__).parents[2])
RUN = (
    "import sys; sys.path.insert(0, sys.argv[1]); from core.home import Home; from ingest.run import run;"
    "run(Home(sys.argv[2]), 'claude', [sys.argv[3]], trust_stat=False, rebuild=True)"
)


def test_equal_bytes_are_not_written(home: Home) -> None:
    place = Corpus(home, "brain")
    assert place.put("a.md", b"x").status is not None
    assert place.put("a.md", b"x").status is None
    assert place.put("a.md", b"y").status is not None


def test_what_a_killed_writer_left_is_swept(home: Home) -> None:
    place = Path(Corpus(home, "brain").folder)
    old, fresh = place / ".1-aa.tmp", place / ".2-bb.tmp"
    old.write_text("half")
    fresh.write_text("half")
    os.utime(old, (1, 1))
    Corpus(home, "brain")
    assert not old.exists()
    assert fresh.exists()  # its writer may be alive


def test_documents_are_private(home: Home, tmp_path: Path) -> None:
    save(tmp_path / "in/a.jsonl", Script().user("x"))
    ingest(home, tmp_path / "in")
    assert os.stat(home.path("brain")).st_mode & 0o777 == 0o700
    for path in [*Path(home.path("brain")).iterdir(), Path(home.state, "sources.sqlite")]:
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("seed", range(3))
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
