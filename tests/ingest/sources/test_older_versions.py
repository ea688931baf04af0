"""A file that shrinks keeps its earlier content: a rebuild gives what a live run gives, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.home import Home
from core.tombstones import Tombstones
from ingest import forgetting
from ingest.archive import archive, recording
from ingest.pipeline import state
from ingest.pipeline.run import run
from tests.examples import examples
from tests.ingest.archive import test_rows as databases
from tests.ingest.sources import test_gemini as gemini
from tests.ingest.transcripts import SESSION, Script, corpus, from_the_archive_alone, ingest, lines, text

NOISE = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}
SECONDS = 1_777_360_440


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "transcripts"
    place.mkdir()
    return place


def rebuilt(home: Home, source: str = "claude") -> dict[str, bytes]:
    """Return the corpus that another home makes of this one's archive."""
    with tempfile.TemporaryDirectory() as place:
        other = Home(place)
        other.make()
        shutil.copytree(home.path("raw"), other.path("raw"))
        assert run(other, source, trust_stat=False, from_archive=True).failed_files == 0
        return corpus(other)


def versions(home: Home, source: str = "claude") -> list[int]:
    return [entry.version for entry in archive.versions(home, source)]


def records() -> list[dict[str, Any]]:
    script = Script()
    return [script.user(f"prompt {n}") if n % 2 else script.assistant(text(f"answer {n}")) for n in range(8)]


def write(home: Home, folder: Path, *versions: list[dict[str, Any]]) -> None:
    """Write one transcript after the other to the same path, and ingest each."""
    for version in versions:
        (folder / "a.jsonl").write_bytes(lines(*version))
        ingest(home, folder)


@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 7), min_size=1), st.integers(0, 9), st.booleans()), min_size=2, max_size=6
    )
)
@settings(max_examples=examples(10), deadline=None)
def test_a_rebuild_gives_what_a_live_run_gives_however_a_file_was_rewritten(
    steps: list[tuple[set[int], int, bool]],
) -> None:
    """Each step writes some records, and lines that are none, and may come with another version of the parser."""
    made = records()
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        home, path = Home(f"{place}/home"), Path(place, "originals", "a.jsonl")
        home.make()
        path.parent.mkdir()
        ever: set[int] = set()
        for number, (kept, noise, bump) in enumerate(steps):
            path.write_bytes(lines(*[made[each] for each in sorted(kept)], *[NOISE] * noise))
            os.utime(path, (SECONDS + number, SECONDS + number))
            if bump:
                patch.setattr(state, "PARSER", 1000 + number)
            ingest(home, path.parent)
            ever |= kept
            (document,) = corpus(home).values() or [b""]
            said = {n for n in range(8) if f"prompt {n}\n" in document.decode() or f"answer {n}\n" in document.decode()}
            if any(n % 2 for n in ever):  # a session without a prompt of a person's makes no document
                assert said == ever
        assert rebuilt(home) == corpus(home)


def cut_short(home: Home, folder: Path) -> dict[str, bytes]:
    """Ingest a transcript, then its first three records; return the corpus in between."""
    write(home, folder, records())
    before = corpus(home)
    write(home, folder, records()[:3])
    return before


def test_a_transcript_that_was_cut_short_keeps_its_records_also_with_a_new_parser(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cut_short(home, folder)
    assert corpus(home) == before
    monkeypatch.setattr(state, "PARSER", 1000)
    ingest(home, folder)
    assert corpus(home) == before
    assert from_the_archive_alone(home, "claude", folder) == before


def test_a_deleted_document_is_restored_in_full_from_a_shorter_file(home: Home, folder: Path) -> None:
    before = cut_short(home, folder)
    Path(home.path("brain", f"{SESSION}.md")).unlink()
    ingest(home, folder)
    assert corpus(home) == before


def test_records_that_a_rewritten_file_adds_are_archived_although_it_has_fewer_lines(home: Home, folder: Path) -> None:
    made = records()
    write(home, folder, [*made[:2], *[NOISE] * 20], made[2:])
    (document,) = corpus(home).values()
    assert [document.count(b"\n\nprompt %d\n" % n) for n in (1, 3, 5, 7)] == [1, 1, 1, 1]
    assert [document.count(b"answer %d\n" % n) for n in (0, 2, 4, 6)] == [1, 1, 1, 1]
    assert document.index(b"prompt 1\n") < document.index(b"answer 2\n") < document.index(b"prompt 7\n")
    before = corpus(home)
    assert from_the_archive_alone(home, "claude", folder) == before


@pytest.mark.parametrize("count", [1, 5])
def test_the_records_of_a_replaced_transcript_come_before_the_new_ones(home: Home, folder: Path, count: int) -> None:
    script = Script()
    made = [script.user(f"first {n}") for n in range(3)]
    later = [script.user(f"second {n}") for n in range(count)]
    write(home, folder, made, later, made)
    (document,) = corpus(home).values()
    said = [word for word in document.split(b"\n") if word.startswith((b"first ", b"second "))]
    assert said == [*(b"first %d" % n for n in range(3)), *(b"second %d" % n for n in range(count))]
    before = corpus(home)
    assert from_the_archive_alone(home, "claude", folder) == before


def test_a_json_file_that_is_replaced_at_each_write_keeps_its_longest_version(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "gemini/tmp/h/chats/session-2026-04-28.json"

    def save(count: int) -> dict[str, bytes]:
        gemini.whole(path, *(gemini.user(f"m{n}", f"prompt {n}") for n in range(count)))
        run(home, "gemini", [str(tmp_path / "gemini")], trust_stat=False)
        return corpus(home)

    save(2)
    before = save(5)
    assert versions(home, "gemini") == [0]
    assert save(3) == before
    assert versions(home, "gemini") == [0, 1]
    assert rebuilt(home, "gemini") == before
    after = save(6)
    assert b"prompt 5" in next(iter(after.values()))
    assert rebuilt(home, "gemini") == after


COMMANDS = {
    ".zsh_history": lambda at, said: f": {at}:0;{said}\n",
    ".bash_history": lambda at, said: f"#{at}\n{said}\n",
    "fish_history": lambda at, said: f"- cmd: {said}\n  when: {at}\n",
    ".plain_bash_history": lambda at, said: f"{said}\n",
}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_commands_that_a_shells_history_drops_stay(home: Home, folder: Path, name: str) -> None:
    """Each run finds only the newest commands, as a shell with a small history leaves them."""
    told = [COMMANDS[name](SECONDS + n * 9000, f"echo number{n}") for n in range(60)]
    for start in (0, 3, 4, 25, 31):
        (folder / name).write_text("".join(told[start : start + 20]), encoding="utf-8")
        run(home, "shell", [str(folder)], trust_stat=False)
        assert rebuilt(home, "shell") == corpus(home)
    said = b"".join(corpus(home).values())
    assert [n for n in range(60) if f"$ echo number{n}\n".encode() not in said + b"\n"] == [24, *range(51, 60)]
    assert len(said.split(b"$ echo ")) == 51
    assert versions(home, "shell") == [0, 1]
    before = corpus(home)
    assert from_the_archive_alone(home, "shell", folder) == before


@given(
    st.sampled_from(sorted(COMMANDS)),
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["ls", "cd x", "make", "git st"])), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.integers(1, 6)), min_size=1, max_size=5),
)
@settings(max_examples=examples(10), deadline=None)
def test_no_command_is_lost_whatever_a_history_drops_or_takes_back(
    name: str, commands: list[tuple[int, str]], windows: list[tuple[int, int]]
) -> None:
    told: list[tuple[int, str]] = []
    for later, said in commands:
        told.append(((told[-1][0] if told else SECONDS) + later * 20_000, said))
    with tempfile.TemporaryDirectory() as place:
        home, path = Home(f"{place}/home"), Path(place, "originals", name)
        home.make()
        path.parent.mkdir()
        seen: set[tuple[int, str]] = set()
        for start, count in windows:
            window = told[start % len(told) :][:count]
            seen.update(window)
            path.write_text("".join(COMMANDS[name](at, said) for at, said in window), encoding="utf-8")
            os.utime(path, (SECONDS + len(seen), SECONDS + len(seen)))
            run(home, "shell", [str(path.parent)], trust_stat=False)
        assert rebuilt(home, "shell") == corpus(home)
        stamps = "%H:%M:%S " if name != ".plain_bash_history" else ""
        lines_ = b"\n".join(corpus(home).values()).decode().splitlines()
        for at, said in seen:
            assert f"- {time.strftime(stamps, time.gmtime(at))}$ {said}" in lines_


def test_a_day_that_a_history_has_dropped_is_forgotten_too(home: Home, folder: Path) -> None:
    path = folder / ".zsh_history"
    for day in (0, 1):
        path.write_text(f": {SECONDS + day * 86_400}:0;echo zebra{day}\n", encoding="utf-8")
        run(home, "shell", [str(folder)], trust_stat=False)
    assert sorted(corpus(home)) == ["shell__2026-04-28.md", "shell__2026-04-29.md"]
    shutil.rmtree(home.state)
    home.make()
    Tombstones(home).add([("shell", "2026-04-28")])
    forgetting.erase(home, "shell", forgetting.look(home, "shell", {"2026-04-28"}))
    assert sorted(rebuilt(home, "shell")) == ["shell__2026-04-29.md"]
    held = [
        archive.content(home.path("raw"), each) for entry in archive.versions(home, "shell") for each in entry.segments
    ]
    assert b"zebra0" not in b"".join(held)
    assert b"zebra1" in b"".join(held)


def test_records_that_are_archived_as_found_outlive_a_new_policy(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = "collections: {brain: {path: brain}}\narchive: {redact: false}\n"
    Path(home.path("collections.yml")).write_text(configuration, encoding="utf-8")
    write(home, folder, records())
    before = corpus(home)
    for module in (recording, state):
        monkeypatch.setattr(module, "REDACTION", 1000)
    write(home, folder, records()[:3])
    assert corpus(home) == before
    assert from_the_archive_alone(home, "claude", folder) == before


def test_a_parser_that_counts_otherwise_makes_no_older_version(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in (1000, 1001):
        monkeypatch.setattr(state, "PARSER", version)
        write(home, folder, records())
    assert versions(home) == [0]


def test_records_without_a_name_are_kept_too(home: Home, folder: Path) -> None:
    script = Script(uuid="<absent>")
    made = [script.user(f"prompt {n}") for n in range(6)]
    write(home, folder, made)
    before = corpus(home)
    write(home, folder, made[2:4])
    assert corpus(home) == before
    assert from_the_archive_alone(home, "claude", folder) == before


def _atuin(folder: Path) -> Path:
    return databases.rows(
        folder / "history.db",
        "create table history(id text, timestamp int, exit int, command text, cwd text, deleted_at int)",
        "insert into history values(?, ?, 0, ?, '/', null)",
        [("a", SECONDS * 10**9, "make"), ("b", (SECONDS + 5) * 10**9, "make test")],
    )


@pytest.mark.parametrize(("source", "make", "shorten"), [
    ("cursor", databases.cursor, "delete from cursorDiskKV where key = 'bubbleId:c0:b1'"),
    ("opencode", databases.opencode, "delete from message where id = 'msg_2'"),
    ("shell", _atuin, "delete from history where id = 'b'")])  # fmt: skip
@pytest.mark.parametrize("how", ["as ever", "another parser", "rebuild", "no document"])
def test_a_database_that_loses_rows_keeps_its_documents_and_its_archive(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, make: Any, shorten: str, how: str
) -> None:
    path = make(folder / "there")
    run(home, source, [str(folder)], trust_stat=False)
    before, objects = corpus(home), sorted(archive.objects(home.path("raw")))
    assert before
    databases.rows(path, shorten, "select ?", [(1,)])
    if how == "another parser":
        monkeypatch.setattr(state, "PARSER", 1000)
    if how == "no document":
        shutil.rmtree(home.path("brain"))
    run(home, source, [str(folder)], trust_stat=False, rebuild=how == "rebuild")
    assert corpus(home) == before
    assert sorted(archive.objects(home.path("raw"))) == objects
    assert from_the_archive_alone(home, source, folder) == before
