"""A private span goes over the parts of one message of OpenCode's, each of which is a row or a file of its own."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from tests.ingest.sources.test_opencode_archive import AT, LAYOUTS, Tree, held, ingest
from tests.ingest.transcripts import corpus, from_the_archive_alone

PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "walrus <private>its name"},
    {"type": "text", "text": "its diagnosis"},
    {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aGlkZGVu"},
    {"type": "text", "text": "its age</private> otter"},
    {"type": "text", "text": "heron"},
]
HIDDEN = (b"its name", b"its diagnosis", b"its age", b"aGlkZGVu")


def database(path: Path, parts: list[dict[str, Any]]) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.executescript(
            """
            create table session(id text primary key, directory text, title text, version text, time_created int);
            create table message(id text primary key, session_id text, time_created int, data text);
            create table part(id text primary key, message_id text, session_id text, time_created int, data text);
            """
        )
        connection.execute("insert into session values('ses_1', '/home/me/api', 'About', '1.2.0', ?)", (AT,))
        said = {"role": "user", "time": {"created": AT}}
        connection.execute("insert into message values('msg_1', 'ses_1', ?, ?)", (AT, json.dumps(said)))
        answer = {"role": "assistant", "time": {"created": AT + 9}}
        connection.execute("insert into message values('msg_2', 'ses_1', ?, ?)", (AT + 9, json.dumps(answer)))
        for number, part in enumerate(parts):
            row = (f"prt_{number}", "msg_1", "ses_1", AT, json.dumps(part))
            connection.execute("insert into part values(?, ?, ?, ?, ?)", row)
        row = ("prt_9", "msg_2", "ses_1", AT, json.dumps({"type": "text", "text": "an answer"}))
        connection.execute("insert into part values(?, ?, ?, ?, ?)", row)
    connection.close()


def told(home: Home) -> bytes:
    return b"\n".join(corpus(home).values())


def shown_of_the_span(home: Home) -> list[bytes]:
    kept = b"\n".join([told(home), *held(home).values()])
    return [hidden for hidden in HIDDEN if hidden in kept]


def test_in_the_database_nothing_of_the_span_is_kept(home: Home, tmp_path: Path) -> None:
    place = tmp_path / "opencode"
    place.mkdir()
    database(place / "opencode.db", PARTS)
    ledger = ingest(home, place)
    assert shown_of_the_span(home) == []
    assert all(word in told(home) for word in (b"walrus", b"otter", b"heron", b"an answer"))
    assert ledger.unknown == {}
    before = corpus(home)
    assert from_the_archive_alone(home, "opencode", tmp_path / "opencode") == before


def test_a_span_that_nothing_ends_hides_the_rest_of_its_message_and_no_other(home: Home, tmp_path: Path) -> None:
    place = tmp_path / "opencode"
    place.mkdir()
    database(place / "opencode.db", PARTS[:3])
    ingest(home, place)
    assert shown_of_the_span(home) == []
    assert b"an answer" in told(home)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_in_a_tree_nothing_of_the_span_is_kept(home: Home, tmp_path: Path, layout: str) -> None:
    tree = Tree(tmp_path / "opencode", layout)
    tree.session("ses_1", 2)
    for path in sorted(tree.root.rglob("prt_*1.json")):
        first = json.loads(path.read_text("utf-8"))
        path.unlink()
        for number, part in enumerate(PARTS):
            file = path.with_name(f"{path.stem}_{number}.json")
            file.write_text(json.dumps({**first, "id": f"prt_1_{number}", "text": "", **part}), "utf-8")
    ledger = ingest(home, tmp_path / "opencode")
    assert shown_of_the_span(home) == []
    assert all(word in told(home) for word in (b"walrus", b"otter", b"heron", b"ses_1 said 2"))
    assert ledger.unknown == {}
    before = corpus(home)
    assert from_the_archive_alone(home, "opencode", tmp_path / "opencode") == before
