"""Cline, Roo Code and Kilo Code: one document a task, from what its window shows or what its model was sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from core.home import Home
from ingest.pipeline.run import run
from ingest.sources.cline.source import SOURCE
from ingest.sources.kilo.source import SOURCE as KILO
from ingest.sources.roo.source import SOURCE as ROO
from tests.ingest.sources.cases import Case, cases, check, document, ingest, odd_values, parsed, roles

Record = dict[str, Any]
SOURCES = {"cline": SOURCE, "roo": ROO, "kilo": KILO}


def save(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def window(folder: Path, *messages: Any) -> Path:
    """Write what a window shows; a message is (kind, text), (kind, text, more fields), or a whole record."""
    made: list[Any] = []
    for number, message in enumerate(messages):
        if isinstance(message, list) and len(message) in (2, 3) and isinstance(message[0], str) and message[0]:
            kind, text, *more = message
            form, _, kind = kind.rpartition(" ")
            form = form or "say"
            made.append({"ts": 1_777_367_643_000 + number * 1000, "type": form, form: kind, "text": text})
            made[-1] |= more[0] if more and isinstance(more[0], dict) else {}
        else:
            made.append(message)
    return save(folder / "ui_messages.json", made)


@pytest.mark.parametrize("case", cases("cline"))
def test_a_task_says(tmp_path: Path, case: Case) -> None:
    folder = tmp_path / "sessions" / "t1"
    for name, value in case.get("files", {}).items():
        save(folder / name, value)
    path = folder / case["path"] if "path" in case else window(folder, *case["window"])
    check(case, parsed(SOURCES[case.get("tool", "cline")], path))


def test_a_task_is_read_once_and_again_when_it_is_named(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "t1"
    window(folder, ["task", "Mend the lock"])
    save(folder / "api_conversation_history.json", [{"role": "user", "content": "<task>\nMend the lock\n</task>"}])
    ledger = ingest(home, "roo", tmp_path)
    assert (ledger.ingested, ledger.skipped) == (1, {"the same task as in ui_messages.json": 1})
    save(folder / "history_item.json", {"id": "t1", "title": "The lock", "workspace": "/home/me/api", "task": "Mend"})
    assert ingest(home, "roo", tmp_path).ingested == 1
    meta, _ = document(home, "roo__t1")
    assert (meta["title"], meta["project"]) == ("The lock", "/home/me/api")
    assert ingest(home, "roo", tmp_path).ingested == 0


def test_a_session_of_the_sdk_has_its_folder_and_its_subagents(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "s1"
    said = {"id": "m1", "role": "user", "content": [{"type": "text", "text": "Mend the lock"}]}
    save(folder / "s1.messages.json", {"version": 1, "agent": "lead", "sessionId": "s1", "messages": [said]})
    about = {
        "version": 1,
        "session_id": "s1",
        "cwd": "/home/me/api",
        "model": "opus",
        "metadata": {"title": "The lock"},
    }
    save(folder / "s1.json", {**about, "started_at": "2026-04-28T09:00:00Z"})
    asked = {"id": "m2", "role": "user", "content": [{"type": "text", "text": "Find the lock"}]}
    save(folder / "scout/s2.messages.json", {"version": 1, "agent": "subagent", "sessionId": "s2", "messages": [asked]})
    ledger = run(home, "cline", [str(tmp_path)], trust_stat=False)
    assert (ledger.failed_files, ledger.unknown) == (0, {})
    meta, _ = document(home, "cline__s1")
    assert (meta["title"], meta["project"], meta["models"], meta["surface"]) == (
        "The lock",
        "/home/me/api",
        ["opus"],
        "cli",
    )
    meta, body = document(home, "cline__s2")
    assert (meta["parent"], meta["agent_type"]) == ("s1", "subagent")
    assert roles(body) == ["task"]


def test_kilo_reads_the_database_that_its_later_versions_write(home: Home, tmp_path: Path) -> None:
    import apsw

    connection = apsw.Connection(str(tmp_path / "kilo.db"))
    connection.execute(
        "create table session (id, directory, title, version, slug, parent_id, time_created);"
        "create table message (id, session_id, data, time_created);"
        "create table part (id, message_id, session_id, data, time_created)"
    )
    connection.execute(
        "insert into session values ('ses_1', '/home/me/api', 'The lock', '7.0.1', 's', null, 1777367643001)"
    )
    said = json.dumps({"role": "user", "time": {"created": 1777367643001}})
    connection.execute("insert into message values ('msg_1', 'ses_1', ?, 1777367643001)", (said,))
    part = json.dumps({"type": "text", "text": "Mend the lock"})
    connection.execute("insert into part values ('prt_1', 'msg_1', 'ses_1', ?, 1777367643001)", (part,))
    connection.close()
    assert ingest(home, "kilo", tmp_path).ingested == 1
    meta, body = document(home, "kilo__ses_1")
    assert (meta["source"], meta["title"], meta["surface"]) == ("kilo", "The lock", "cli")
    assert "Mend the lock" in body


@pytest.mark.parametrize(("name", "text", "skipped", "failed"), [
    ("ui_messages.json", '{"messages": []}', "not a task of cline's", None),
    ("ui_messages.json", '[{"ts": 1, "ty', "", "malformed document"),
    ("s1.messages.json", "[1]", "not a task of cline's", None),
    ("api_conversation_history.json", "[{}]", "not a task of cline's", None),
])  # fmt: skip
def test_a_file_that_holds_no_task_has_a_reason(
    tmp_path: Path, name: str, text: str, skipped: str, failed: str | None
) -> None:
    (tmp_path / name).write_text(text)
    found = parsed(SOURCE, tmp_path / name)
    assert found.documents == {}
    assert (found.reading.skipped, found.reading.failed and found.reading.failed.reason) == (skipped, failed)


@given(odd_values("ts type say ask text modelInfo role content tool_use_id is_error id name input metrics tool path"))
def test_no_shape_of_a_value_stops_the_task(tmp_path_factory: pytest.TempPathFactory, odd: Any) -> None:
    folder = tmp_path_factory.getbasetemp() / "t1"
    found = parsed(SOURCE, window(folder, ["tool", json.dumps(odd)], odd, ["user_feedback", "Still here"]))
    assert "Still here" in found.documents["t1"][1]
    said = [{"role": "assistant", "content": odd}, odd, {"role": "user", "content": [odd, "Still here"]}]
    path = save(folder / "x.messages.json", {"version": 1, "sessionId": "x", "messages": said, "agent": odd})
    assert "Still here" in parsed(SOURCE, path).documents["x"][1]
