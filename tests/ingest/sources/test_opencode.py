"""OpenCode: the same sessions from a database, a tree of JSON files and an export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.document import Document, split
from core.home import Home
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.sources.opencode import source as opencode
from tests.ingest.transcripts import corpus, documents

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


def database(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute(
        "create table session(id text, slug text, directory text, title text, version text, parent_id text,"
        " time_created int); create table message(id text, session_id text, time_created int, data text);"
        " create table part(id text, message_id text, session_id text, time_created int, data text);"
        " create table session_message(id text, session_id text, type text, seq int, time_created int, data text)"
    ).fetchall()
    connection.execute(
        "insert into session values('ses_1','calm-otter','/home/me/api','The race','1.18.4',null,?)", (AT,)
    )
    for message, parts in ((USER, SAID), (ASSISTANT, DONE)):
        data = json.dumps({key: value for key, value in message.items() if key != "id"})
        row = (message["id"], message["time"]["created"], data)
        connection.execute("insert into message values(?1,'ses_1',?2,?3)", row)
        for part in parts:
            data = json.dumps({key: value for key, value in part.items() if key != "id"})
            connection.execute("insert into part values(?,?,'ses_1',?,?)", (part["id"], message["id"], AT, data))
    connection.close()
    return path


def ingest(home: Home, folder: Path) -> Ledger:
    return run(home, "opencode", [str(folder)], trust_stat=False)


def document(home: Home, name: str = "opencode__ses_1.md") -> tuple[Record, str]:
    return split(corpus(home)[name].decode())


@pytest.mark.parametrize("form", ["export", "tree", "database"])
def test_each_form_gives_the_same_conversation(home: Home, tmp_path: Path, form: str) -> None:
    place = tmp_path / "place"
    if form == "export":
        export(place / "full.jsonl")
    elif form == "tree":
        tree(place)
    else:
        database(place / "opencode.db")
    ledger = ingest(home, place)
    assert (ledger.ingested, ledger.unknown, ledger.failed_files) == (1, {}, 0)
    meta, body = document(home)
    assert (meta["title"], meta["slug"], meta["project"]) == ("The race", "calm-otter", "/home/me/api")
    assert (meta["date"], meta["models"], meta["output_tokens"]) == ("2026-04-28T09:14:03Z", ["m-1"], 9)
    assert "user · 2026-04-28 09:14\n\nWhy does it fail?\n" in body
    assert "- bash: npm test\n  ! Exit code 1\n  ! FAIL\n- read: /x\n  ! File not found: /x\n\nBoth tabs" in body
    assert "### reasoning\n\nTwo readers.\n" in body
    assert "Called the Read tool" not in body
    assert (ingest(home, place).unchanged, ingest(home, place).written) == (1, 0)


@pytest.mark.parametrize("wrapped", [False, True])
def test_what_a_person_said_to_a_call_that_they_refused_is_theirs(home: Home, tmp_path: Path, wrapped: bool) -> None:
    text = "The user rejected permission to use this specific tool call with the following feedback: Use the API.\nNow."
    state = {"status": "error", "input": {}, "error": {"type": "tool", "message": text} if wrapped else text}
    done = [{"id": "prt_3", "type": "tool", "tool": "webfetch", "callID": "c1", "state": state}]
    export(tmp_path / "full.json", assistant=done)
    ingest(home, tmp_path)
    body = document(home)[1]
    assert "- webfetch\n  rejected by the user\n\n## [3] user · 2026-04-28 09:14\n\nUse the API.\nNow.\n" in body


def test_a_new_part_of_a_tree_is_noticed(home: Home, tmp_path: Path) -> None:
    tree(tmp_path)
    ingest(home, tmp_path)
    late = {"id": "prt_9", "type": "text", "text": "One thing more."}
    (tmp_path / "storage/part/msg_2/prt_9.json").write_text(json.dumps(late))
    assert ingest(home, tmp_path).written == 1
    assert "One thing more." in document(home)[1]


def test_messages_and_parts_of_no_session_are_accounted_for(home: Home, tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / "storage/session/p/ses_1.json").unlink()
    skipped = ingest(home, tmp_path).skipped
    assert skipped == {"message of no session": 2, "part of no session": 7, "project's description": 1}


def test_a_torn_part_is_a_failure_and_no_end(home: Home, tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / "storage/part/msg_2/prt_4.json").write_text('{"id": "prt_4", "ty')
    ledger = ingest(home, tmp_path)
    assert (ledger.ingested, ledger.failed_records) == (1, 1)
    assert "Both tabs read it." in document(home)[1]


def test_null_and_broken_cells_of_a_database_are_counted(home: Home, tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    connection = apsw.Connection(str(path))
    connection.execute("update part set data = null where id = 'prt_4'")
    connection.execute("update part set data = '{' where id = 'prt_5'")
    connection.close()
    ledger = ingest(home, tmp_path)
    assert (ledger.ingested, ledger.failed_records) == (1, 2)
    assert "Both tabs read it." in document(home)[1]


def test_a_session_that_has_only_the_second_projection_is_read(home: Home, tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    connection = apsw.Connection(str(path))
    connection.execute("delete from message; delete from part").fetchall()
    tool = {"type": "tool", "id": "c", "name": "bash", "state": {"status": "completed", "input": {"command": "ls"}}}
    rows = [("user", {"text": "Why?"}), ("assistant", {"content": [tool, {"type": "text", "text": "So."}]})]
    for seq, (kind, data) in enumerate(rows):
        row = (f"m{seq}", kind, seq, AT + seq, json.dumps(data))
        connection.execute("insert into session_message values(?1,'ses_1',?2,?3,?4,?5)", row)
    connection.close()
    ingest(home, tmp_path)
    assert "Why?\n\n## [2] assistant · 2026-04-28 09:14\n\n- bash: ls\n\nSo.\n" in document(home)[1]


def second(path: Path, *rows: tuple[str, int, Record]) -> Path:
    """Put rows into the second projection of a database; without it there is made one that has no other."""
    connection = apsw.Connection(str(path))
    if not connection.execute("select 1 from sqlite_master where name = 'session'").fetchall():
        connection.execute(
            "create table session(id text, slug text, directory text, title text, version text, parent_id text,"
            " fork_session_id text, time_created int);"
            " create table session_message(id text, session_id text, type text, seq int, time_created int, data text)"
        ).fetchall()
        head = ("ses_1", "calm-otter", "/home/me/api", "The race", "2.0.1", "ses_0", AT)
        connection.execute("insert into session values(?1,?2,?3,?4,?5,null,?6,?7)", head)
    for number, (kind, at, data) in enumerate(rows):
        row = (f"msg_s{number}", kind, number, at, json.dumps(data))
        connection.execute("insert into session_message values(?1,'ses_1',?2,?3,?4,?5)", row)
    connection.close()
    return path


def test_a_database_of_only_the_second_projection_is_read(home: Home, tmp_path: Path) -> None:
    failed: Record = {"status": "completed", "input": {"command": "npm test"}, "metadata": {"exit": 1},
        "content": [{"type": "text", "text": "FAIL"}]}  # fmt: skip
    answer: Record = {"model": {"id": "m-2"}, "tokens": {"output": 7}, "content": [
        {"type": "reasoning", "text": "Two readers."}, {"type": "text", "text": "I look."},
        {"type": "tool", "id": "c1", "name": "bash", "state": failed}]}  # fmt: skip
    second(
        tmp_path / "opencode.db",
        ("location-switched", AT, {"location": {"directory": "/home/me/api"}}),
        ("user", AT + 1, {"text": "Why does it fail?"}),
        ("skill", AT + 2, {"skill": "debug", "name": "debug", "text": "Base directory"}),
        ("assistant", AT + 3, answer),
        ("idle", AT + 4, {"outcome": "interrupted"}),
    )
    ledger = ingest(home, tmp_path)
    assert (ledger.ingested, ledger.unknown) == (1, {})
    meta, body = document(home)
    assert (meta["models"], meta["output_tokens"], meta["forked_from"]) == (["m-2"], 7, "ses_0")
    assert "  ! Exit code 1\n  ! FAIL" in body
    assert "interrupted" in body
    assert "Base directory" not in body


def test_what_the_first_projection_lacks_is_taken_from_the_second(home: Home, tmp_path: Path) -> None:
    path = second(
        database(tmp_path / "opencode.db"),
        ("user", AT, {"text": "Why does it fail?"}),
        ("assistant", AT + 1000, {"content": [{"type": "text", "text": "Both tabs read it."}]}),
        ("user", AT + 60_000, {"text": "And on Sundays?"}),
    )
    assert ingest(home, path.parent).unknown == {}
    body = document(home)[1]
    for text in ("Why does it fail?", "Both tabs read it.", "And on Sundays?"):
        assert body.count(text) == 1, text


V2 = """
create table session_v2(id text primary key, project_id text not null, workspace_id text, parent_id text,
  fork_session_id text, fork_boundary text, slug text not null, directory text not null, path text, title text,
  version text not null, agent text, model text, time_created int not null, time_updated int not null);
create table session_message(id text primary key, session_id text not null, type text not null, seq int not null,
  time_created int not null, time_updated int not null, data text not null);
create table session_pending(id text primary key, session_id text not null, type text not null, data text not null,
  delivery text, admitted_seq int not null, time_created int not null)
"""


def later(path: Path, session: str = "ses_2", title: str | None = "The lock") -> Path:
    """Put a session of 2.0 into a database: new, or that of an older version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    for statement in V2.split(";"):
        name = statement.split("(")[0].rpartition(" ")[2]
        if not connection.execute("select 1 from sqlite_master where name = ?", (name,)).fetchall():
            connection.execute(statement)
    head = (session, "p1", "calm-seal", "/home/me/lock", title, "2.0.12", AT + 10**6, AT + 10**6)
    connection.execute(
        "insert into session_v2(id, project_id, slug, directory, title, version, time_created, time_updated)"
        " values(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        head,
    )
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
    for seq, (kind, data) in enumerate(rows):
        at = AT + 10**6 + seq
        row = (f"msg_{session}_{seq}", session, kind, seq, at, at, json.dumps({**data, "time": {"created": at}}))
        connection.execute("insert into session_message values(?1, ?2, ?3, ?4, ?5, ?6, ?7)", row)
    wait = json.dumps({"text": "And then release it", "files": []})
    waiting = (f"msg_{session}_w", session, "user", wait, "queue", 9, AT + 10**6 + 9)
    connection.execute("insert into session_pending values(?1, ?2, ?3, ?4, ?5, ?6, ?7)", waiting)
    connection.close()
    return path


@pytest.mark.parametrize("older", [False, True])
def test_a_session_of_the_later_tables_is_read_beside_older_ones(home: Home, tmp_path: Path, older: bool) -> None:
    path = database(tmp_path / "place/opencode.db") if older else tmp_path / "place/opencode.db"
    if older:
        apsw.Connection(str(path)).execute("drop table session_message").fetchall()
    later(path)
    ledger = ingest(home, path.parent)
    assert (ledger.ingested, ledger.documents, ledger.unknown) == (1, 1 + older, {})
    meta, body = document(home, "opencode__ses_2.md")
    assert (meta["title"], meta["project"], meta["version"]) == ("The lock", "/home/me/lock", "2.0.12")
    in_order = (
        "Who holds the lock?",
        "- bash: ls",
        "Nobody does.",
        "make",
        "It was about the lock",
        "And then release",
    )
    assert [body.index(text) for text in in_order] == sorted(body.index(text) for text in in_order)
    assert "You are on a branch" not in body
    assert "The file was read" not in body
    before = corpus(home)
    path.unlink()
    run(home, "opencode", trust_stat=False, rebuild=True, from_archive=True)
    assert corpus(home) == before


def test_what_waited_stands_once_when_it_was_taken(home: Home, tmp_path: Path) -> None:
    path = later(tmp_path / "opencode.db")
    ingest(home, tmp_path)
    connection = apsw.Connection(str(path))
    connection.execute("delete from session_pending").fetchall()
    at = AT + 10**6 + 10
    row = ("msg_ses_2_w", "ses_2", "user", 10, at, at, json.dumps({"text": "And then release it"}))
    connection.execute("insert into session_message values(?1, ?2, ?3, ?4, ?5, ?6, ?7)", row)
    connection.close()
    ingest(home, tmp_path)
    assert document(home, "opencode__ses_2.md")[1].count("And then release it") == 1


@pytest.mark.parametrize("odd", [5, 0.5, True, {"text": "x"}, [None, 5], [{"type": "tool", "state": {"content": 5}}]])
def test_a_row_of_an_odd_shape_costs_nothing_else(home: Home, tmp_path: Path, odd: Any) -> None:
    path = later(tmp_path / "opencode.db")
    connection = apsw.Connection(str(path))
    row = ("msg_odd", "ses_2", "assistant", 3, AT, AT, json.dumps({"content": odd, "model": odd, "time": odd}))
    connection.execute("insert into session_message values(?1, ?2, ?3, ?4, ?5, ?6, ?7)", row)
    connection.close()
    assert ingest(home, tmp_path).ingested == 1
    body = document(home, "opencode__ses_2.md")[1]
    assert "Who holds the lock?" in body
    assert "Nobody does." in body


def test_a_session_that_goes_on_in_the_later_tables_is_one(home: Home, tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    apsw.Connection(str(path)).execute("drop table session_message").fetchall()
    later(path, "ses_1", title=None)
    assert ingest(home, tmp_path).documents == 1
    meta, body = document(home)
    assert (meta["title"], meta["version"]) == ("The race", "2.0.12")
    for text in ("Why does it fail?", "Both tabs read it.", "Who holds the lock?", "Nobody does."):
        assert body.count(text) == 1, text


def test_a_subagent_names_its_parent_and_its_task(home: Home, tmp_path: Path) -> None:
    info = {**INFO, "parentID": "ses_0", "title": "Find the lock (@explore subagent)", "agent": "explore"}
    export(tmp_path / "x.json", info)
    ingest(home, tmp_path)
    meta, body = document(home)
    assert (meta["parent"], meta["agent_type"], meta["task"]) == ("ses_0", "explore", "Find the lock")
    assert "## [1] task · " in body


def test_a_title_that_nobody_gave_is_none(home: Home, tmp_path: Path) -> None:
    export(tmp_path / "x.json", {**INFO, "title": "New session - 2026-07-28T16:22:15.451Z"})
    ingest(home, tmp_path)
    assert document(home)[0]["title"] == "Why does it fail?"


@settings(max_examples=50)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "text", "state", "input", "status", "error", "metadata", "exit", "time", "start"]),
        inner, max_size=5), max_leaves=20), st.sampled_from(["text", "tool", "reasoning", "subtask"]))  # fmt: skip
def test_no_shape_of_a_part_stops_the_session(tmp_path_factory: pytest.TempPathFactory, part: Any, kind: str) -> None:
    odd = {**part, "type": kind} if isinstance(part, dict) else part
    path = export(tmp_path_factory.getbasetemp() / "x.json", user=[*SAID, odd], assistant=[odd, *DONE])
    assert any(isinstance(entry, Document) for entry in documents(opencode.SOURCE, str(path)))


def test_every_sample_is_accounted_for(home: Home, shared: Path) -> None:
    other = shared / "samples/other-synthetic/jazzyalex+agent-sessions/Resources/Fixtures/stage0/agents/opencode"
    first = ingest(home, shared / "samples/opencode")
    assert (first.seen, first.ingested, first.unknown) == (3, 3, {})
    second = ingest(home, other)
    assert (second.seen, second.ingested, second.failed_records) == (3, 3, 0)
    assert (ingest(home, other).unchanged, ingest(home, other).written) == (3, 0)
    assert len(corpus(home)) == 6
