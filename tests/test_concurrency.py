"""Processes that index, ask and die at the same time never see, or leave, half of anything."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from qmd.index.store import open_index
from tests.conftest import Brain
from tests.ingest.transcripts import Script, corpus, save, text, tool

ROOT = Path(__file__).resolve().parent.parent
_ENTRY = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
_ASKERS = 4
_FILLER = "the harvest ledger moved through quiet valleys while engineers argued about queues".split()


Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start the real program and go on: ``spawn("index", "--json")``; none of them outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", _ENTRY, str(ROOT), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with process:
            process.kill()


def session(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def transcript(folder: Path, number: int, *, turns: int = 4, word: str = "harvest") -> None:
    """One session that alone says ``topic<number>``; more turns make the same file longer."""
    script = Script(session(number), cwd=f"/home/me/project{number % 3}")
    draw = random.Random(number)
    records = [script.user(f"Where is topic{number} of the {word}?")]
    for turn in range(turns):
        words = " ".join(draw.choices(_FILLER, k=80))
        records.append(
            script.assistant(text(f"{word} turn{turn} {words}"), tool("Bash", f"t{turn}", command=f"ls {turn}"))
        )
        records.append(script.result(f"t{turn}"))
        records.append(script.user(f"And then? {word} {draw.choice(_FILLER)}"))
    save(folder / "projects" / "-home-me" / f"{session(number)}.jsonl", *records)


def transcripts(folder: Path, numbers: Sequence[int], **options: Any) -> Path:
    for number in numbers:
        transcript(folder, number, **options)
    return folder


def whole(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The envelope of an answer, which is whole and of a permitted kind."""
    assert done.returncode in (0, 67), done.stdout + done.stderr
    assert done.stdout.endswith("\n")
    assert done.stdout.count("\n") == 1
    envelope: dict[str, Any] = json.loads(done.stdout)
    assert envelope["ok"] is True
    assert bool(envelope["hits"]) == (done.returncode == 0)
    for hit in envelope["hits"]:
        assert hit["uri"]
        assert hit["snippet"]
        assert Path(hit["path"]).is_file()
    return envelope


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    report: dict[str, Any] = json.loads(out)
    return report


def check_integrity(home: Home) -> None:
    connection = open_index(home.index, write=True)
    try:
        for table in ("documents_fts", "brain_passages"):
            connection.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    finally:
        connection.close()


def contents(home: Home) -> dict[str, Any]:
    """What an index says, apart from the ids and the times at which it learnt it."""
    connection = open_index(home.index, write=True)

    def rows(sql: str) -> list[tuple[Any, ...]]:
        return sorted(connection.execute(sql).fetchall())

    try:
        connection.execute("CREATE VIRTUAL TABLE temp.document_terms USING fts5vocab(main, documents_fts, row)")
        return {
            "documents": rows("SELECT collection, path, title, hash FROM documents WHERE active = 1"),
            "content": rows("SELECT hash, doc FROM content"),
            "facts": rows(
                "SELECT d.path, f.hash, f.date, f.ended, f.dated, json(f.fields)"
                " FROM brain_facts f JOIN documents d ON d.id = f.document_id"
            ),
            "passages": rows("SELECT hash, starts FROM brain_contents"),
            "passage terms": rows("SELECT term, doc, cnt FROM brain_terms"),
            "document terms": rows("SELECT term, doc, cnt FROM temp.document_terms"),
            "texts": rows("SELECT filepath, title, body FROM documents_fts"),
            "counted": rows("SELECT value FROM brain_state WHERE key = 'documents'"),
            "files": rows("SELECT d.path, f.size FROM brain_files f JOIN documents d ON d.id = f.document_id"),
        }
    finally:
        connection.close()


def temporaries(home: Home) -> list[Path]:
    return sorted(Path(home.root).rglob(".*.tmp"))


def test_every_answer_is_whole_while_two_processes_index(
    home: Home, tmp_path: Path, brain: Brain, spawn: Spawn
) -> None:
    one, other, both = (tmp_path / name for name in ("one", "other", "both"))
    transcripts(both, range(5))
    assert brain("index", "--from", str(both), "--json").returncode == 0
    runs = 1
    asked = 0
    for stage in range(3):
        transcripts(one, range(100, 106), turns=3 + 3 * stage)
        transcripts(other, range(200, 206), turns=3 + 3 * stage)
        # The last time the two are after the same files.
        places = (one, one) if stage == 2 else (one, other)
        extra = ("--rebuild",) if stage == 1 else ()
        indexers = [spawn("index", "--from", str(place), "--json", *extra) for place in places]
        answered: list[dict[str, Any]] = []

        def ask_on(number: int, indexers: list[subprocess.Popen[str]] = indexers) -> list[dict[str, Any]]:
            envelopes: list[dict[str, Any]] = []
            while not envelopes or any(process.poll() is None for process in indexers):
                question = f"topic{number % 5} harvest" if number % 2 else f"unheardof{number}"
                envelopes.append(whole(brain("ask", "--json", question)))
            return envelopes

        with ThreadPoolExecutor(_ASKERS) as pool:
            for envelopes in pool.map(ask_on, range(_ASKERS)):
                answered += envelopes
        for process in indexers:
            finish(process)
        asked += len(answered)
        runs += len(indexers)
        # What was there before the two began is found by every answer.
        for envelope in answered:
            if envelope["query"].startswith("topic"):
                assert envelope["hits"][0]["path"].endswith(f"{session(int(envelope['query'][5]))}.md")
            else:
                assert envelope["hits"] == []
    assert finish(spawn("index", "--from", str(other), "--json"))["sources"]["claude"]["failed_files"] == 0

    check_integrity(home)
    numbers = [*range(5), *range(100, 106), *range(200, 206)]
    assert set(corpus(home)) == {f"{session(number)}.md" for number in numbers}
    batch = brain("ask", "--batch", "-", "-n", "1", stdin="".join(f"topic{number}\n" for number in numbers))
    first = [json.loads(line)["hits"][0]["path"] for line in batch.stdout.splitlines()]
    assert first == [home.path("brain", f"{session(number)}.md") for number in numbers]
    rows = [json.loads(line) for line in Path(home.usage).read_text().splitlines()]
    assert [row["event"] for row in rows].count("index") == runs + 1
    # A batch leaves a row for each of its questions, and one of its own under another name.
    assert [row["event"] for row in rows].count("ask") == asked + len(numbers)
    assert [row["event"] for row in rows].count("ask_batch") == 1
    assert {row["exit_code"] for row in rows} <= {0, 67}


def test_a_reader_during_a_rebuild_sees_the_old_index_or_the_new_one(
    home: Home, tmp_path: Path, brain: Brain, spawn: Spawn
) -> None:
    folder = transcripts(tmp_path / "t", range(40), word="oldword")
    assert brain("index", "--from", str(folder), "--json").returncode == 0
    transcripts(folder, range(40), word="newword", turns=12)
    process = spawn("index", "--rebuild", "--from", str(folder), "--json")
    seen: list[tuple[int, int]] = []
    while process.poll() is None or not seen or seen[-1] != (0, 40):
        assert len(seen) < 500
        batch = brain("ask", "--batch", "-", "-n", "100", stdin="oldword\nnewword\n")
        old, new = (json.loads(line)["hits"] for line in batch.stdout.splitlines())
        seen.append((len(old), len(new)))
    finish(process)
    # The two questions are two moments, so the change may fall between them.
    stages = [(40, 0), (40, 40), (0, 40)]
    assert seen[0] == stages[0]
    assert [stages.index(state) for state in seen] == sorted(stages.index(state) for state in seen)
    check_integrity(home)


def test_killed_at_any_moment_and_healed_by_the_next_run(
    home: Home, tmp_path: Path, brain: Brain, spawn: Spawn
) -> None:
    _kill_and_heal(home, tmp_path, brain, spawn, kills=5, seed=1)


@pytest.mark.long
def test_killed_sixty_times_and_healed_by_the_next_run(home: Home, tmp_path: Path, brain: Brain, spawn: Spawn) -> None:
    _kill_and_heal(home, tmp_path, brain, spawn, kills=60, seed=2)


def _kill_and_heal(home: Home, tmp_path: Path, brain: Brain, spawn: Spawn, *, kills: int, seed: int) -> None:
    draw = random.Random(seed)
    folder = tmp_path / "transcripts"
    undisturbed = Home(str(tmp_path / "undisturbed"))
    beside = {"BRAIN_HOME": undisturbed.root}
    numbers = range(24)
    turns = dict.fromkeys(numbers, 10)
    transcripts(folder, numbers, turns=10)
    assert brain("index", "--from", str(folder), "--json").returncode == 0
    assert brain("index", "--from", str(folder), "--json", env=beside).returncode == 0
    versions: dict[str, set[bytes]] = {name: {data} for name, data in corpus(undisturbed).items()}
    # The time a run takes, and the part of it before there is anything to disturb.
    started = time.monotonic()
    assert brain("index", "--rebuild", "--from", str(folder), "--json").returncode == 0
    usual = time.monotonic() - started
    died = 0
    for attempt in range(kills):
        if attempt % 2:
            extra: tuple[str, ...] = ("--rebuild",)
        else:
            extra = ("--new",) if attempt % 4 else ()
        for number in draw.sample(numbers, 12):
            turns[number] += 10
            transcript(folder, number, turns=turns[number])
        process = spawn("index", "--from", str(folder), "--json", *extra)
        time.sleep(draw.uniform(0.05, 0.8) * usual)
        died += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()

        answer = whole(brain("ask", "--json", f"topic{draw.choice(numbers)} harvest"))
        assert answer["hits"]
        assert brain("index", "--from", str(folder), "--json", env=beside).returncode == 0
        for name, data in corpus(undisturbed).items():
            versions[name].add(data)
        for name, data in corpus(home).items():
            assert data in versions[name], f"{name} is neither what it was nor what it is to be"
    assert died >= max(1, kills // 8), "the runs were over before they could be killed"

    left = temporaries(home)
    for path in left:
        os.utime(path, (0, 0))
    healed = brain("index", "--from", str(folder), "--json")
    assert healed.returncode == 0, healed.stdout + healed.stderr
    assert json.loads(healed.stdout)["sources"]["claude"]["failed_files"] == 0
    assert corpus(home) == corpus(undisturbed)
    assert contents(home) == contents(undisturbed)
    check_integrity(home)
    assert temporaries(home) == []


def test_what_a_killed_writer_left_is_swept_from_every_folder(home: Home, tmp_path: Path, brain: Brain) -> None:
    folder = transcripts(tmp_path / "t", range(2))
    assert brain("index", "--from", str(folder), "--json").returncode == 0
    assert brain("inbox", "a note that makes the inbox", "--json").returncode == 0
    places = {path.parent for path in Path(home.root).rglob("*") if path.is_file()} - {Path(home.logs)}
    assert len(places) >= 4
    for place in places:
        (place / ".123-0badcafe.tmp").write_bytes(b"half of")
        os.utime(place / ".123-0badcafe.tmp", (0, 0))
    transcripts(folder, range(2), turns=6)
    assert brain("index", "--from", str(folder), "--json").returncode == 0
    assert temporaries(home) == []


def test_a_fresh_temporary_of_a_living_writer_is_left_alone(home: Home, tmp_path: Path, brain: Brain) -> None:
    folder = transcripts(tmp_path / "t", range(1))
    Path(home.path("brain")).mkdir()
    living = Path(home.path("brain"), ".123-0badcafe.tmp")
    living.write_bytes(b"half of")
    assert brain("index", "--from", str(folder), "--json").returncode == 0
    assert living.read_bytes() == b"half of"


def test_a_killed_reader_leaves_the_index_as_it_was(home: Home, tmp_path: Path, brain: Brain, spawn: Spawn) -> None:
    folder = transcripts(tmp_path / "t", range(10))
    assert brain("index", "--from", str(folder), "--json").returncode == 0
    before = contents(home)
    draw = random.Random(3)
    for _ in range(6):
        process = spawn("ask", "--json", "harvest topic3")
        time.sleep(draw.uniform(0.0, 0.08))
        process.kill()
        process.communicate()
    assert whole(brain("ask", "--json", "harvest topic3"))["hits"]
    assert contents(home) == before
    check_integrity(home)


def test_two_first_runs_at_once_make_one_index(home: Home, tmp_path: Path, spawn: Spawn) -> None:
    places = [transcripts(tmp_path / str(place), range(place * 100, place * 100 + 5)) for place in (1, 2)]
    for process in [spawn("index", "--from", str(place), "--json") for place in places]:
        finish(process)
    check_integrity(home)
    connection = open_index(home.index)
    try:
        count = connection.execute("SELECT count(*) FROM documents WHERE active = 1").get
    finally:
        connection.close()
    assert count == 10


def test_concurrent_notes_are_all_kept_and_all_found(home: Home, tmp_path: Path, brain: Brain, spawn: Spawn) -> None:
    folder = transcripts(tmp_path / "t", range(3))
    assert brain("index", "--from", str(folder), "--json").returncode == 0
    transcripts(folder, range(20), turns=8)
    indexer = spawn("index", "--from", str(folder), "--json")
    with ThreadPoolExecutor(4) as pool:
        notes = list(pool.map(lambda number: brain("inbox", f"note zebra{number} kept", "--json"), range(12)))
    finish(indexer)
    assert [note.returncode for note in notes] == [0] * 12
    entries = [json.loads(note.stdout) for note in notes]
    assert len({entry["entry_id"] for entry in entries}) == 12
    assert all(entry["indexed"] for entry in entries), entries
    for number, entry in enumerate(entries):
        hits = whole(brain("ask", "--json", f"zebra{number}"))["hits"]
        assert hits[0]["path"] == entry["path"]
