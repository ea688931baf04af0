"""OpenCode: the same sessions from a database, a tree of JSON files and an export."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.home import Home
from ingest.pipeline.run import run
from ingest.sources.opencode.source import SOURCE
from tests.examples import examples
from tests.ingest.sources.cases import Case, cases, check, document, ingest, odd_values, parsed
from tests.ingest.transcripts import corpus

AT = 1_777_367_643_000
Record = dict[str, Any]

INFO: Record = {"id": "ses_1", "slug": "calm-otter", "directory": "/home/me/api", "title": "The race",
    "version": "1.18.4", "projectID": "p", "time": {"created": AT, "updated": AT + 9000}}  # fmt: skip
USER: Record = {"id": "msg_1", "role": "user", "time": {"created": AT}, "agent": "build"}
ASSISTANT: Record = {"id": "msg_2", "role": "assistant", "time": {"created": AT + 1000, "completed": AT + 5000},
    "modelID": "m-1", "providerID": "p", "tokens": {"output": 9}, "path": {"cwd": "/home/me/api"}}  # fmt: skip
SAID: list[Record] = [
    {"id": "prt_1", "type": "text", "text": "Why does it fail?"},
    {"id": "prt_2", "type": "text", "synthetic": True, "text": "Called the Read tool"},
]
DONE: list[Record] = [
    {"id": "prt_3", "type": "step-start"},
    {"id": "prt_4", "type": "reasoning", "text": "Two readers."},
    {"id": "prt_5", "type": "tool", "tool": "bash", "callID": "c1",
     "state": {"status": "completed", "input": {"command": "npm test"}, "output": "FAIL", "metadata": {"exit": 1}}},
    {"id": "prt_6", "type": "tool", "tool": "read", "callID": "c2",
     "state": {"status": "error", "input": {"filePath": "/x"}, "error": "File not found: /x"}},
    {"id": "prt_7", "type": "text", "text": "Both tabs read it."},
]  # fmt: skip

OLDER = """
create table session(id text, slug text, directory text, title text, version text, parent_id text, time_created int);
create table message(id text, session_id text, time_created int, data text);
create table part(id text, message_id text, session_id text, time_created int, data text)
"""
LATER = "create table session_message(id text, session_id text, type text, seq int, time_created int, data text)"
V2 = """
create table session_v2(id text primary key, project_id text, workspace_id text, parent_id text, fork_session_id text,
  slug text not null, directory text not null, title text, version text not null, agent text, time_created int);
create table session_pending(id text primary key, session_id text, type text, data text, delivery text,
  admitted_seq int, time_created int)
"""


def export(path: Path, info: Record = INFO, user: list[Record] = SAID, assistant: list[Record] = DONE) -> Path:
    messages = [{"info": USER, "parts": user}, {"info": ASSISTANT, "parts": assistant}]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"info": info, "messages": messages}, indent=1), encoding="utf-8")
    return path


def tree(root: Path) -> Path:
    def put(place: str, value: Record) -> None:
        path = root / "storage" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")

    put("session/p/ses_1.json", INFO)
    put("project/p.json", {"id": "p", "worktree": "/home/me/api"})
    for message, parts in ((USER, SAID), (ASSISTANT, DONE)):
        put(f"message/ses_1/{message['id']}.json", {**message, "sessionID": "ses_1"})
        for part in parts:
            inner = {**part, "messageID": message["id"], "sessionID": "ses_1"}
            put(f"part/{message['id']}/{part['id']}.json", inner)
    return root


def database(
    path: Path, *, tables: str = "full", rows: Iterable[tuple[str, int, Record]] = (), user: list[Record] = SAID
) -> Path:
    """Write a session into a database.

    ``tables``: the tables before 2.0 hold the session ("full"), hold nothing ("empty"), or are missing ("none").
    ``rows`` go into ``session_message``: (type, ms after the session's start, data). ``user``: the prompt's parts.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute(f"pragma synchronous = off; {OLDER}; {LATER}").fetchall()
    head = ("ses_1", "calm-otter", "/home/me/api", "The race", "1.18.4", AT)
    connection.execute("insert into session values(?1,?2,?3,?4,?5,null,?6)", head)
    if tables != "full":
        connection.execute("alter table session add fork_session_id; update session set fork_session_id = 'ses_0'")
    for message, parts in ((USER, user), (ASSISTANT, DONE)) if tables == "full" else ():
        data = json.dumps({key: value for key, value in message.items() if key != "id"})
        row = (message["id"], message["time"]["created"], data)
        connection.execute("insert into message values(?1,'ses_1',?2,?3)", row)
        for part in parts:
            data = json.dumps({key: value for key, value in part.items() if key != "id"})
            connection.execute("insert into part values(?,?,'ses_1',?,?)", (part["id"], message["id"], AT, data))
    for seq, (kind, at, row_data) in enumerate(rows):
        values = (f"msg_s{seq}", kind, seq, AT + at, json.dumps(row_data))
        connection.execute("insert into session_message values(?1,'ses_1',?2,?3,?4,?5)", values)
    if tables == "none":
        connection.execute("drop table message; drop table part").fetchall()
    connection.close()
    return path


def later(path: Path, session: str = "ses_2", title: str | None = "The lock") -> Path:
    """Put a session of 2.0 into a database: a new session, or one of an older version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    at = AT + 10**6
    done = {"status": "completed", "input": {"command": "ls"}, "content": [{"type": "text", "text": "a"}]}
    rows: list[tuple[str, Record]] = [
        ("system", {"text": "You are on a branch"}),
        ("user", {"text": "Who holds the lock?", "files": [], "agents": [], "skills": []}),
        ("synthetic", {"text": "The file was read", "description": "read"}),
        ("assistant", {"agent": "build", "model": {"id": "m-2"}, "content": [
            {"type": "reasoning", "text": "Look."}, {"type": "tool", "id": "c", "name": "bash", "state": done},
            {"type": "text", "text": "Nobody does."}]}),
        ("shell", {"shellID": "s", "command": "make", "status": "exited", "exit": 0}),
        ("compaction", {"status": "completed", "reason": "auto", "summary": "It was about the lock", "recent": ""}),
        ("idle", {"outcome": "succeeded"}),
    ]  # fmt: skip
    connection = apsw.Connection(str(path))
    with connection:
        connection.execute(f"{V2}; {LATER.replace('table ', 'table if not exists ')}").fetchall()
        head = (session, "/home/me/lock", title, at)
        fields = "(id, slug, directory, title, version, time_created)"
        connection.execute(f"insert into session_v2{fields} values(?1, 'calm-seal', ?2, ?3, '2.0.12', ?4)", head)
        for seq, (kind, data) in enumerate(rows):
            values = (f"msg_{session}_{seq}", session, kind, seq, at + seq, json.dumps(data))
            connection.execute("insert into session_message values(?1, ?2, ?3, ?4, ?5, ?6)", values)
        waiting = (f"msg_{session}_w", session, json.dumps({"text": "And then release it", "files": []}), at + 9)
        connection.execute("insert into session_pending values(?1, ?2, 'user', ?3, 'queue', 9, ?4)", waiting)
    connection.close()
    return path


def execute(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement, values or None).fetchall()
    connection.close()


@pytest.mark.parametrize("case", cases("opencode"))
def test_a_session_says(tmp_path: Path, case: Case) -> None:
    if "tables" in case:
        path = database(tmp_path / "opencode.db", tables=case["tables"], rows=case.get("rows", ()))
        execute(path, *case.get("sql", ()))
    else:
        info = {**INFO, **case.get("info", {})}
        path = export(tmp_path / "x.json", info, case.get("user", SAID), case.get("assistant", DONE))
    check(case, parsed(SOURCE, path))


@pytest.mark.parametrize("form", ["export", "tree", "database"])
def test_each_form_gives_the_same_conversation(home: Home, tmp_path: Path, form: str) -> None:
    place = tmp_path / "place"
    if form == "export":
        export(place / "full.jsonl")
    elif form == "tree":
        tree(place)
    else:
        database(place / "opencode.db")
    ledger = ingest(home, "opencode", place)
    assert (ledger.ingested, ledger.unknown, ledger.failed_files) == (1, {}, 0)
    meta, body = document(home, "opencode__ses_1")
    assert (meta["title"], meta["slug"], meta["project"]) == ("The race", "calm-otter", "/home/me/api")
    assert (meta["date"], meta["models"], meta["output_tokens"]) == ("2026-04-28T09:14:03Z", ["m-1"], 9)
    assert "user · 2026-04-28 09:14\n\nWhy does it fail?\n" in body
    assert "- bash: npm test\n  ! Exit code 1\n  ! FAIL\n- read: /x\n  ! File not found: /x\n\nBoth tabs" in body
    assert "### reasoning\n\nTwo readers.\n" in body
    assert "Called the Read tool" not in body
    again = ingest(home, "opencode", place)
    assert (again.unchanged, again.written) == (1, 0)


def test_a_new_part_of_a_tree_is_noticed(home: Home, tmp_path: Path) -> None:
    tree(tmp_path)
    ingest(home, "opencode", tmp_path)
    late = {"id": "prt_9", "type": "text", "text": "One thing more."}
    (tmp_path / "storage/part/msg_2/prt_9.json").write_text(json.dumps(late))
    assert ingest(home, "opencode", tmp_path).written == 1
    assert "One thing more." in document(home, "opencode__ses_1")[1]


def test_messages_and_parts_of_no_session_are_accounted_for(tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / "storage/session/p/ses_1.json").unlink()
    skipped = [file.skip for file in SOURCE.discover([str(tmp_path)])]
    assert sorted(skipped) == [*["message of no session"] * 2, *["part of no session"] * 7, "project's description"]


def test_a_torn_part_of_a_tree_is_counted_and_costs_nothing_else(tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / "storage/part/msg_2/prt_4.json").write_text('{"id": "prt_4", "ty')
    found = parsed(SOURCE, tmp_path / "storage/session/p/ses_1.json")
    assert len(found.reading.failures) == 1
    assert "Both tabs read it." in found.documents["ses_1"][1]


@pytest.mark.parametrize("older", [False, True])
def test_a_session_of_2_0_is_read_with_older_ones_in_the_database(home: Home, tmp_path: Path, older: bool) -> None:
    path = tmp_path / "place/opencode.db"
    if older:
        execute(database(path), "drop table session_message")
    later(path)
    ledger = ingest(home, "opencode", path.parent)
    assert (ledger.ingested, ledger.documents, ledger.unknown) == (1, 1 + older, {})
    meta, body = document(home, "opencode__ses_2")
    assert (meta["title"], meta["project"], meta["version"]) == ("The lock", "/home/me/lock", "2.0.12")
    texts = ("Who holds the lock?", "- bash: ls", "Nobody does.", "make", "It was about the lock", "And then release")
    assert [body.index(text) for text in texts] == sorted(body.index(text) for text in texts)
    assert [text for text in ("You are on a branch", "The file was read") if text in body] == []
    before = corpus(home)
    path.unlink()
    run(home, "opencode", trust_stat=False, rebuild=True, from_archive=True)
    assert corpus(home) == before


def test_a_prompt_that_waited_is_shown_once_when_it_was_taken(home: Home, tmp_path: Path) -> None:
    path = later(tmp_path / "opencode.db")
    ingest(home, "opencode", tmp_path)
    execute(path, "delete from session_pending")
    row = ("msg_ses_2_w", AT + 10**6 + 10, json.dumps({"text": "And then release it"}))
    execute(path, "insert into session_message values(?1, 'ses_2', 'user', 10, ?2, ?3)", values=row)
    ingest(home, "opencode", tmp_path)
    assert document(home, "opencode__ses_2")[1].count("And then release it") == 1


@pytest.mark.parametrize("odd", [5, 0.5, True, {"text": "x"}, [None, 5], [{"type": "tool", "state": {"content": 5}}]])
def test_a_row_of_an_odd_shape_costs_nothing_else(tmp_path: Path, odd: Any) -> None:
    path = later(tmp_path / "opencode.db")
    row = ("msg_odd", AT, json.dumps({"content": odd, "model": odd, "time": odd}))
    execute(path, "insert into session_message values(?1, 'ses_2', 'assistant', 3, ?2, ?3)", values=row)
    body = parsed(SOURCE, path).documents["ses_2"][1]
    assert "Who holds the lock?" in body
    assert "Nobody does." in body


def test_a_session_that_goes_on_in_2_0_is_one(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    execute(path, "drop table session_message")
    later(path, "ses_1", title=None)
    ((meta, body),) = parsed(SOURCE, path).documents.values()
    assert (meta["title"], meta["version"]) == ("The race", "2.0.12")
    for text in ("Why does it fail?", "Both tabs read it.", "Who holds the lock?", "Nobody does."):
        assert body.count(text) == 1, text


@settings(max_examples=examples(50))
@given(
    odd_values("type text state input status error metadata exit time start"),
    st.sampled_from(["text", "tool", "reasoning", "subtask"]),
)
def test_no_shape_of_a_part_stops_the_session(tmp_path_factory: pytest.TempPathFactory, part: Any, kind: str) -> None:
    odd = {**part, "type": kind} if isinstance(part, dict) else part
    path = export(tmp_path_factory.getbasetemp() / "x.json", user=[*SAID, odd], assistant=[odd, *DONE])
    assert parsed(SOURCE, path).documents


def test_every_sample_is_accounted_for(home: Home, shared: Path) -> None:
    other = shared / "samples/other-synthetic/jazzyalex+agent-sessions/Resources/Fixtures/stage0/agents/opencode"
    first = ingest(home, "opencode", shared / "samples/opencode")
    assert (first.seen, first.ingested, first.unknown) == (3, 3, {})
    second = ingest(home, "opencode", other)
    assert (second.seen, second.ingested, second.failed_records) == (3, 3, 0)
    assert len(corpus(home)) == 6
