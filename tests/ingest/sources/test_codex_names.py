"""Codex CLI: a session's last name is its title, also if only the index of sessions has it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import apsw
import pytest

from core.home import Home
from core.tombstones import Tombstones
from ingest import forgetting
from ingest.archive import archive
from ingest.pipeline import pulse
from ingest.pipeline.pulse import waiting
from ingest.pipeline.run import run
from ingest.sources.codex import source as codex
from tests.ingest.sources.test_codex import NAME, OTHER, SESSION, Rollout, document, ingest, save
from tests.ingest.transcripts import corpus

AT = "2026-04-28T10:{:02}:00.123456789Z"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A home of Codex's with two sessions, of which one is archived."""
    folder = tmp_path / "codex"
    for session, name in ((SESSION, "sessions/2026/04/28"), (OTHER, "archived_sessions")):
        make = Rollout()
        records = [make.meta(session), *make.asked(f"Why {session[-1]}?"), *make.said("Because.")]
        save(folder / name / NAME.replace(SESSION, session), *records)
    return folder


def named(folder: Path, session: str, name: str, minute: int = 0) -> None:
    line = json.dumps({"id": session, "thread_name": name, "updated_at": AT.format(minute)})
    with (folder / "session_index.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")


def title(home: Home, session: str = SESSION) -> str:
    return str(document(home, session)[0]["title"])


def test_the_name_that_was_given_last_is_the_title(home: Home, place: Path) -> None:
    named(place, SESSION, "First name")
    named(place, SESSION, "The refresh race", 1)
    named(place, OTHER, "  ", 2)
    ledger = ingest(home, place)
    assert (title(home), title(home, OTHER)) == ("The refresh race", "Why b?")
    assert (ledger.seen, ledger.ingested, ledger.skipped) == (3, 2, {"index of sessions": 1})
    assert ledger.unknown == {}


def test_a_rename_reaches_the_title_though_the_transcript_is_the_same(home: Home, place: Path) -> None:
    taken_back = next(place.rglob(f"*{OTHER}.jsonl"))
    taken_back.rename(taken_back.with_name(f"{taken_back.stem}_0199abc9-0000-7000-8000-000000000009.jsonl"))
    ingest(home, place)
    assert title(home) == "Why a?"
    named(place, SESSION, "The refresh race")
    again = ingest(home, place)
    assert (title(home), again.written) == ("The refresh race", 1)
    named(place, OTHER, "Another one", 1)
    again = ingest(home, place)
    assert (title(home, OTHER), again.ingested, again.unchanged, again.written) == ("Another one", 1, 1, 1)
    again = ingest(home, place)
    assert (again.ingested, again.written) == (0, 0)


def test_a_rewritten_index_is_read_from_its_beginning(home: Home, place: Path) -> None:
    named(place, SESSION, "Old")
    ingest(home, place)
    (place / "session_index.jsonl").unlink()
    named(place, OTHER, "Of the other", 1)
    named(place, SESSION, "New", 2)
    ingest(home, place)
    assert (title(home), title(home, OTHER)) == ("New", "Of the other")


def test_the_later_of_two_names_counts(home: Home, place: Path) -> None:
    rollout = place / "sessions/2026/04/28" / NAME
    with rollout.open("a", encoding="utf-8") as stream:
        for minute, name in ((1, "By the transcript"), (3, "Later by the transcript")):
            event = {"type": "thread_name_updated", "thread_id": SESSION, "thread_name": name}
            stream.write(json.dumps({"timestamp": AT.format(minute), "type": "event_msg", "payload": event}) + "\n")
    named(place, SESSION, "By the index", 2)
    ingest(home, place)
    assert title(home) == "Later by the transcript"
    named(place, SESSION, "Last by the index", 4)
    ingest(home, place)
    assert title(home) == "Last by the index"


@pytest.mark.parametrize("root", ["", "sessions", "sessions/2026/04/28"])
def test_the_index_is_found_above_what_is_looked_at(home: Home, place: Path, root: str) -> None:
    named(place, SESSION, "The refresh race")
    ingest(home, place / root)
    assert title(home) == "The refresh race"
    named(place, SESSION, "Renamed", 1)
    ingest(home, place / root)
    assert title(home) == "Renamed"


def test_the_index_of_the_users_own_sessions_is_looked_at_where_they_are(
    home: Home, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(place))
    run(home, "codex", trust_stat=True)
    assert waiting(home, "codex") == {"codex": 0}
    named(place, SESSION, "The refresh race")
    assert waiting(home, "codex") == {"codex": 2}  # the index, and the session that it names
    run(home, "codex", trust_stat=True)
    assert (title(home), waiting(home, "codex")) == ("The refresh race", {"codex": 0})


def test_a_damaged_or_hostile_index_takes_no_document_along(home: Home, place: Path) -> None:
    index = place / "session_index.jsonl"
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    index.write_bytes(
        b'\xff\xfe\n[1,2]\n{"id":7}\nnull\n{"id":"x","thread_name":{}}\n'
        + json.dumps({"id": SESSION, "thread_name": f"# use {secret}\n---\x1b[31m", "updated_at": "unknown"}).encode()
        + b'\n{"id": "' + SESSION.encode() + b'", "thread_na'
    )  # fmt: skip
    ledger = ingest(home, place)
    assert (ledger.failed_files, ledger.documents) == (0, 2)
    text = corpus(home)[f"codex__{SESSION}.md"].decode()
    assert "[redacted:" in title(home)
    assert secret not in text
    assert "\x1b" not in text
    index.unlink()
    index.mkdir()
    assert ingest(home, place).documents == 2
    index.rmdir()
    os.mkfifo(index)
    assert run(home, "codex", [str(place)], trust_stat=False, rebuild=True).documents == 2


def test_the_archive_has_each_name_with_its_own_session_alone(home: Home, place: Path) -> None:
    named(place, SESSION, "The refresh race")
    named(place, OTHER, "Of the other", 1)
    ingest(home, place)
    before = corpus(home)
    for path in sorted(place.rglob("*.jsonl")):
        path.unlink()
    run(home, "codex", trust_stat=False, rebuild=True, from_archive=True)
    assert corpus(home) == before
    forgetting.erase(home, "codex", forgetting.look(home, "codex", {SESSION}))
    left = archive.versions(home, "codex")
    assert len(left) == 2
    assert all(OTHER in entry.path for entry in left)
    kept = b"".join(line for entry in left for line in archive.lines(home.path("raw"), entry.segments))
    assert b"refresh race" not in kept
    assert b"Of the other" in kept


def test_the_name_of_a_forgotten_session_is_archived_by_no_later_run(home: Home, place: Path) -> None:
    named(place, SESSION, "The refresh race")
    Tombstones(home).add([("codex", SESSION)])
    ingest(home, place)
    named(place, SESSION, "The refresh race again", 1)
    ingest(home, place)
    assert list(corpus(home)) == [f"codex__{OTHER}.md"]
    assert all(SESSION not in entry.path for entry in archive.versions(home, "codex"))


def test_a_file_that_is_only_called_so_elsewhere_is_no_index(tmp_path: Path) -> None:
    assert codex.is_index("/a/session_index.jsonl")
    assert not codex.is_index("/a/my_session_index.jsonl")


def stored(folder: Path, *rows: tuple[str, str | None, str, str], number: int = 5) -> Path:
    """Codex's own database; rows of (id, name, title, first prompt)."""
    path = folder / f"state_{number}.sqlite"
    connection = apsw.Connection(str(path))
    connection.execute(
        "create table if not exists threads(id text primary key, rollout_path text, title text not null,"
        " first_user_message text not null default '', name text)"
    )
    for unit, name, title, first in rows:
        values = (unit, title, first, name)
        connection.execute(
            "insert or replace into threads(id, title, first_user_message, name) values(?, ?, ?, ?)", values
        )
    connection.close()
    return path


def test_a_name_in_the_database_wins_over_the_index_and_the_first_prompt(home: Home, place: Path) -> None:
    named(place, SESSION, "By the index")
    stored(place, (SESSION, "Old", "Why a?", "Why a?"), number=4)
    stored(place, (SESSION, "By the database", "Why a?", "Why a?"), (OTHER, None, "Why b?", "Why b?"))
    ledger = ingest(home, place)
    assert (title(home), title(home, OTHER)) == ("By the database", "Why b?")
    assert (ledger.ingested, ledger.skipped, ledger.failed_files) == (2, {"index of sessions": 2}, 0)
    stored(place, (SESSION, "By the database", "Why a?", "Why a?"), (OTHER, " Renamed ", "Why b?", "Why b?"))
    again = ingest(home, place)
    assert (title(home, OTHER), again.ingested, again.written) == ("Renamed", 1, 1)
    again = ingest(home, place)
    assert (again.ingested, again.written) == (0, 0)
    before = corpus(home)
    for path in place.rglob("*.jsonl"):
        path.unlink()
    run(home, "codex", trust_stat=False, rebuild=True, from_archive=True)
    assert corpus(home) == before


@pytest.mark.parametrize(
    ("given", "first", "is_name"),
    [
        ("The refresh race", "Why a?", True), ("Why a?", "Why a?", False), ("Why is it…", "Why is it so slow?", False),
        ("Seeded before the column was", "", False), ("long " * 100, "Why a?", False),
    ],
)  # fmt: skip
def test_a_title_that_codex_made_of_the_prompt_is_none(
    home: Home, place: Path, given: str, first: str, is_name: bool
) -> None:
    stored(place, (SESSION, None, given, first))
    ingest(home, place)
    assert title(home) == (given if is_name else "Why a?")


def test_a_write_of_codex_to_its_database_is_no_news(home: Home, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(place))
    stored(place, (SESSION, "A name", "", ""))
    for path in place.rglob("*"):
        os.utime(path, ns=(10**18, 10**18))
    run(home, "codex", trust_stat=True)
    assert pulse.news(home, None) == set()
    stored(place, (OTHER, None, "x", "x"))
    assert pulse.news(home, None) == set()


def test_a_database_that_cannot_be_read_takes_no_document_along(home: Home, place: Path) -> None:
    (place / "state_5.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    assert ingest(home, place).documents == 2
    (place / "state_5.sqlite").write_bytes(b"")
    (place / "state_x.sqlite").write_bytes(b"")
    (place / "state_6.sqlite").mkdir()
    assert ingest(home, place).documents == 2
    other = apsw.Connection(str(place / "state_7.sqlite"))
    other.execute("create table threads(id int, name blob)").fetchall()
    other.execute("insert into threads values(7, x'ff'), (null, null)").fetchall()
    other.close()
    assert (ingest(home, place).documents, title(home)) == (2, "Why a?")
