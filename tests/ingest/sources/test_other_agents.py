"""Tools whose sessions are messages of a model's API, or steps: each case is the files that a tool writes."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from core import config
from core.document import split
from core.home import Home
from ingest import registry
from ingest.pipeline.run import run
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.forgetting import forget
from tests.ingest.sources.cases import Case, cases, check, document, ingest, odd_values, parsed
from tests.ingest.sources.databases import database
from tests.ingest.sources.journals import write, written
from tests.ingest.transcripts import corpus
from tests.unpacked import everything

Record = dict[str, Any]
START = 1_777_367_643
# Tool → a record around an odd value, and the record with words that must stay.
ODD: dict[str, tuple[str, Any]] = {
    "droid": ("s1.jsonl", lambda odd: [
        {"type": "session_start", "id": "s1", "cwd": odd},
        {"type": "message", "id": "m1", "message": {"role": "assistant", "content": odd}},
        {"type": "tool_result", "session_id": "s1", "value": odd}, odd,
        {"type": "message", "id": "m2", "message": {"role": "user", "content": "Still here"}}]),
    "grok": ("s1/chat_history.jsonl", lambda odd: [
        {"type": "assistant", "content": odd, "tool_calls": odd}, {"type": "reasoning", "summary": odd},
        {"type": "backend_tool_call", "kind": odd}, odd,
        {"type": "user", "content": "Still here", "prompt_index": 0}]),
    "antigravity": ("s1.jsonl", lambda odd: [
        {"step_index": 0, "type": "PLANNER_RESPONSE", "tool_calls": odd, "thinking": odd},
        {"step_index": 1, "type": "RUN_COMMAND", "status": odd, "content": odd}, odd,
        {"step_index": 2, "type": "USER_INPUT", "content": "<USER_REQUEST>\nStill here\n</USER_REQUEST>"}]),
    "hermes": ("s1.json", lambda odd: {"session_id": "s1", "model": odd, "messages": [
        {"role": "assistant", "content": odd, "tool_calls": odd}, odd, {"role": "tool", "content": odd},
        {"role": "user", "content": "Still here"}]}),
    "continuedev": ("s1.json", lambda odd: {"sessionId": "s1", "title": odd, "history": [
        {"message": {"role": "assistant", "content": odd, "toolCalls": odd}, "toolCallStates": [odd]}, odd,
        {"message": {"role": "user", "content": "Still here"}}]}),
    "kimi": ("s1/context.jsonl", lambda odd: [
        {"role": "assistant", "content": odd, "tool_calls": odd}, {"role": "tool", "content": odd}, odd,
        {"role": "user", "content": "Still here"}]),
    "junie": ("s1/events.jsonl", lambda odd: [
        {"kind": "SessionA2uxEvent", "event": {"agentEvent": odd}}, odd,
        {"kind": "SessionA2uxEvent", "event": {"agentEvent": {
            "kind": "FileChangesBlockUpdatedEvent", "stepId": odd, "changes": odd, "status": odd}}},
        {"kind": "UserAsyncResponseEvent", "entries": odd, "timestampMs": odd},
        {"kind": "UserPromptEvent", "prompt": "Still here"}]),
    "windsurf": ("s1.jsonl", lambda odd: [
        {"type": "planner_response", "planner_response": odd},
        {"type": "code_action", "code_action": {"path": odd}}, odd,
        {"type": "user_input", "user_input": {"user_response": "Still here"}}]),
    "vscode": ("chatSessions/s1.jsonl", lambda odd: [
        {"kind": 0, "v": {"sessionId": "s1", "customTitle": odd, "requests": [{"message": odd, "response": [odd]}]}},
        {"kind": 1, "k": odd, "v": odd}, {"kind": 2, "k": ["requests", odd], "v": odd, "i": odd}, odd,
        {"kind": 1, "k": ["requests"], "v": [{"response": odd, "result": odd}, {"message": {"text": "Still here"}}]}]),
    "omp": ("s1.jsonl", lambda odd: [
        {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-04-28T09:00:00.000Z", "cwd": "/x"},
        {"type": "message", "id": "e0", "message": {"role": "assistant", "content": odd}}, odd,
        {"type": "message", "id": "e1", "message": {"role": "user", "content": "Still here"}}]),
    "dsh": ("s1/session.v3.jsonl", lambda odd: [
        {"type": "session", "id": "s1", "createdAt": odd, "cwd": odd, "parentSession": odd},
        {"type": "assistant/message", "seq": odd, "data": {"message": {"content": odd, "source": odd}, "usage": odd}},
        {"type": "tool/result", "seq": 1, "data": {"message": odd}}, odd,
        {"type": "turn/end", "seq": 2, "data": {"reason": odd}}, {"type": "session/title", "seq": 3, "data": odd},
        {"type": "user/message", "seq": 4, "data": {"content": [{"type": "text", "text": "Still here"}]}}]),
    "chatgpt": ("conversations.json", lambda odd: [odd, {"id": "s1", "title": odd, "current_node": "b", "mapping": {
        "a": {"message": {"author": odd, "content": odd, "metadata": odd}, "children": odd},
        "b": {"parent": "a", "message": {
            "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Still here", odd]}}}}}]),
    "claudeai": ("conversations.json", lambda odd: [odd, {"uuid": "s1", "name": odd, "chat_messages": [
        {"sender": "assistant", "content": odd}, odd, {"sender": "human", "content": [odd, "Still here"]}]}]),
}  # fmt: skip


def _case(tool: str) -> list[Any]:
    return [pytest.param(tool, param.values[0], id=f"{tool}: {param.id}") for param in cases(tool)]


@pytest.mark.parametrize(("tool", "case"), [each for tool in ODD for each in _case(tool)])
def test_a_session_says(tmp_path: Path, tool: str, case: Case) -> None:
    check(case, parsed(registry.source(tool), written(tmp_path, case)))


@given(
    st.sampled_from(sorted(ODD)), odd_values("type role content text name id args function arguments action summary")
)
def test_no_shape_of_a_value_stops_the_session(tmp_path_factory: pytest.TempPathFactory, tool: str, odd: Any) -> None:
    name, make = ODD[tool]
    found = parsed(registry.source(tool), write(tmp_path_factory.getbasetemp() / tool / name, make(odd)))
    assert any("Still here" in body for _, body in found.documents.values())


@pytest.mark.parametrize("tool", sorted(ODD))
def test_another_tools_document_is_skipped_with_a_reason(tmp_path: Path, tool: str) -> None:
    name, _ = ODD[tool]
    path = write(tmp_path / name, [{"song": 1}] if name.endswith("l") else {"song": 1})
    found = parsed(registry.source(tool), path)
    assert found.documents == {}
    assert found.reading.skipped.startswith(("not a", "no conversations of "))


def test_a_droid_is_read_again_when_its_settings_change(home: Home, tmp_path: Path) -> None:
    said = {"type": "message", "id": "m1", "message": {"role": "user", "content": "Mend the lock"}}
    write(tmp_path / "s1.jsonl", [{"type": "session_start", "id": "s1", "cwd": "/x"}, said])
    ingest(home, "droid", tmp_path)
    write(tmp_path / "s1.settings.json", {"model": "opus", "tokenUsage": {"outputTokens": 9}})
    assert ingest(home, "droid", tmp_path).ingested == 1
    meta, _ = document(home, "droid__s1")
    assert (meta["models"], meta["output_tokens"]) == (["opus"], 9)


def test_a_grok_subagent_has_the_parent_that_links_it(home: Home, tmp_path: Path) -> None:
    project = tmp_path / "%2Fhome%2Fme%2Fapi"
    said = {"type": "user", "content": "Count files", "prompt_index": 0}
    write(project / "child-1/chat_history.jsonl", [said])
    write(
        project / "child-1/summary.json",
        {"info": {"id": "child-1"}, "session_kind": "subagent", "agent_name": "explore"},
    )
    write(project / "parent-1/chat_history.jsonl", [{**said, "content": "Mend the lock"}])
    link = {"parent_session_id": "parent-1", "child_session_id": "child-1", "description": "Count"}
    write(project / "parent-1/subagents/child-1/meta.json", link)
    ingest(home, "grok", tmp_path)
    meta, _ = document(home, "grok__child-1")
    assert (meta["parent"], meta["agent_type"], meta["task"]) == ("parent-1", "explore", "Count")
    assert meta["project"] == document(home, "grok__parent-1")[0]["project"] == "/home/me/api"
    made = corpus(home)
    assert run(home, "grok", from_archive=True, trust_stat=False).failed_files == 0
    assert corpus(home) == made


def test_a_conversation_of_antigravity_is_read_once_and_closed_ones_say_why(home: Home, tmp_path: Path) -> None:
    logs = tmp_path / "antigravity/brain/c1/.system_generated/logs"
    step = {"step_index": 0, "type": "USER_INPUT", "content": "<USER_REQUEST>\nMend the lock\n</USER_REQUEST>"}
    write(logs / "transcript.jsonl", [step])
    write(logs / "transcript_full.jsonl", [step])
    write(tmp_path / "antigravity/brain/c1/notes.jsonl", [{"song": 1}])
    (tmp_path / "antigravity/conversations").mkdir()
    (tmp_path / "antigravity/conversations/c1.pb").write_bytes(b"\0\1")
    ledger = ingest(home, "antigravity", tmp_path)
    assert (list(corpus(home)), ledger.ingested) == (["antigravity__c1.md"], 1)
    assert sorted(reason.partition(",")[0] for reason in ledger.skipped) == [
        "encrypted", "the same conversation as in transcript_full.jsonl"
    ]  # fmt: skip


def test_hermes_database_has_the_conversation_that_is_left(home: Home, tmp_path: Path) -> None:
    call = [{"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "npm test"}'}}]
    rows = [
        {"role": "user", "content": "Mend the lock", "active": 1},
        {"role": "assistant", "content": "", "tool_calls": call, "active": 1},
        {"role": "tool", "content": '{"exit_code": 1, "output": "1 failed"}', "tool_call_id": "c1", "active": 1},
        {"role": "user", "content": "Sing", "active": 0},
    ]
    head = {"id": "h1", "source": "cli", "model": "opus", "started_at": 1_777_367_643.5, "title": "The lock",
        "model_config": {"cwd": "/home/me/api"}, "output_tokens": 7}  # fmt: skip
    held = [{"id": n, "session_id": "h1", "timestamp": 1_777_367_644.0 + n, **row} for n, row in enumerate(rows)]
    database(tmp_path / "state.db", sessions=[head], messages=held)
    assert ingest(home, "hermes", tmp_path).unknown == {}
    meta, body = document(home, "hermes__h1")
    assert (meta["title"], meta["project"], meta["surface"], meta["output_tokens"]) == (
        "The lock",
        "/home/me/api",
        "cli",
        7,
    )
    assert "- terminal: npm test\n  ! Exit code 1\n  ! 1 failed" in body
    assert "Sing" not in body


def test_a_kimi_session_has_the_folder_whose_digest_its_own_has(home: Home, tmp_path: Path) -> None:
    digest = hashlib.md5(b"/home/me/api", usedforsecurity=False).hexdigest()
    write(tmp_path / "kimi.json", {"work_dirs": [{"path": "/home/me/web"}, {"path": "/home/me/api"}]})
    said = [{"role": "user", "content": "Mend the lock"}]
    write(tmp_path / "sessions" / digest / "s1/context.jsonl", said)
    write(tmp_path / "sessions" / digest / "s1/wire.jsonl", [{"song": 1}])
    write(tmp_path / "sessions" / digest / "s0.jsonl", said)
    assert ingest(home, "kimi", tmp_path / "sessions").ingested == 2
    assert [document(home, f"kimi__{unit}")[0]["project"] for unit in ("s0", "s1")] == ["/home/me/api"] * 2
    made = corpus(home)
    (tmp_path / "kimi.json").unlink()
    assert run(home, "kimi", from_archive=True, trust_stat=False).failed_files == 0
    assert corpus(home) == made


def test_crush_keeps_its_sessions_in_the_project(home: Home, tmp_path: Path) -> None:
    parts = [
        ("user", [{"type": "text", "data": {"text": "Mend the lock"}}]),
        ("user", [{"type": "text", "data": {"text": "Go on from there", "hidden": True}},
                  {"type": "shell_command", "data": {"command": "git status", "output": "", "exit_code": 0}}]),
        ("assistant", [
            {"type": "reasoning", "data": {"thinking": "Hm."}}, {"type": "text", "data": {"text": "I run it."}},
            {"type": "tool_call", "data": {"id": "c1", "name": "bash", "input": '{"command": "npm test"}'}},
            {"type": "song", "data": {}}]),
        ("tool", [{"type": "tool_result", "data": {"tool_call_id": "c1", "content": "1 failed", "is_error": True}}]),
        ("assistant", [{"type": "finish", "data": {"reason": "canceled"}}]),
    ]  # fmt: skip
    rows = [
        {
            "id": f"m{n}",
            "session_id": "s1",
            "role": role,
            "parts": held,
            "model": "opus",
            "created_at": START + n,
        }
        for n, (role, held) in enumerate(parts)
    ]
    child = {"id": "s1$$c1", "parent_session_id": "s1", "title": "Look", "created_at": START}
    head = {"id": "s1", "title": "The lock", "completion_tokens": 7, "created_at": START}
    asked = {**rows[0], "id": "m9", "session_id": "s1$$c1"}
    database(tmp_path / "api/.crush/crush.db", sessions=[head, child], messages=[*rows, asked])
    ledger = ingest(home, "crush", tmp_path)
    assert list(ledger.unknown) == ["part song"]
    meta, body = document(home, "crush__s1")
    assert (meta["title"], meta["project"], meta["models"]) == ("The lock", str(tmp_path / "api"), ["opus"])
    assert "- bash: npm test\n  ! 1 failed" in body
    assert "interrupted by the user" in body
    assert ("- ! git status" in body, "Go on from there" in body) == (True, False)
    assert sorted(each[0]["parent"] for each in map(_split, corpus(home).values()) if "parent" in each[0]) == ["s1"]


def _split(data: bytes) -> tuple[dict[str, Any], str]:
    return split(data.decode())


@pytest.mark.parametrize("tool", ["chatgpt", "claudeai"])
def test_an_export_is_read_as_it_was_downloaded_and_one_conversation_can_go(
    home: Home, tmp_path: Path, tool: str
) -> None:
    (case, *_) = (param.values[0] for param in cases(tool))
    (conversation,) = case["files"]["conversations.json"]
    other = {**conversation, "conversation_id": "c2", "uuid": "c2"}
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data/conversations.json", json.dumps([conversation, other, 7]))
        file.writestr("data/users.json", "[]")
    assert ingest(home, tool, packed).ingested == 1
    made = corpus(home)
    assert sorted(made) == [f"{tool}__c1.md", f"{tool}__c2.md"]
    packed.unlink()
    assert run(home, tool, from_archive=True, trust_stat=False).failed_files == 0
    assert corpus(home) == made


@pytest.mark.parametrize("data", [b"PK\x03\x04torn", b"PK" + bytes(range(256))])
def test_a_damaged_zip_is_counted(home: Home, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "export.zip").write_bytes(data)
    ledger = ingest(home, "chatgpt", tmp_path)
    assert (ledger.failed_files, corpus(home)) == (1, {})


def test_a_zip_that_grows_beyond_measure_is_refused(home: Home, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("conversations.json", b" " * (300 << 20))
    ledger = ingest(home, "claudeai", tmp_path)
    assert ledger.failed_files == 1


def test_a_zip_within_a_zip_is_not_unpacked(home: Home, tmp_path: Path) -> None:
    (case, *_) = (param.values[0] for param in cases("chatgpt"))
    inner = tmp_path / "inner"
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations.json", json.dumps(case["files"]["conversations.json"]))
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as file:
        file.write(inner, "conversations.json")
    inner.unlink()
    ledger = ingest(home, "chatgpt", tmp_path / "export.zip")
    assert (ledger.failed_files, corpus(home)) == (1, {})


def test_a_line_separator_in_a_text_ends_no_conversation(home: Home, tmp_path: Path) -> None:
    (case, *_) = (param.values[0] for param in cases("chatgpt"))
    (conversation,) = case["files"]["conversations.json"]
    line = json.dumps({**conversation, "title": "tide\u2028table"}, ensure_ascii=False)
    (tmp_path / "conversations.json").write_text(f"{line}\n\n")
    ledger = ingest(home, "chatgpt", tmp_path / "conversations.json")
    assert (ledger.failed_files, list(corpus(home))) == (0, ["chatgpt__c1.md"])


def test_what_windsurf_encrypts_is_listed_with_that_reason(home: Home, tmp_path: Path) -> None:
    (tmp_path / "cascade").mkdir()
    (tmp_path / "cascade/c1.pb").write_bytes(b"\0\1")
    ledger = ingest(home, "windsurf", tmp_path)
    assert [reason.partition(":")[0] for reason in ledger.skipped] == ["encrypted by Windsurf"]


def test_frames_and_generations_of_a_journal_are_one_session(home: Home, tmp_path: Path) -> None:
    (case, *_) = (param.values[0] for param in cases("dsh"))
    (events,) = case["files"].values()
    folder = tmp_path / "--home-me-api--/h1"
    folder.mkdir(parents=True)
    frames = [zstandard.compress(f"{json.dumps(event)}\n".encode()) for event in events]
    (folder / "session.jsonl.zstd").write_bytes(b"".join(frames[:5]))
    (folder / "session.v3.jsonl.zstd").write_bytes(b"".join(frames))
    ledger = ingest(home, "dsh", tmp_path)
    assert ledger.skipped == {"an older generation of session.v3.jsonl.zstd": 1}
    made = corpus(home)
    assert "- bash: npm test" in document(home, "dsh__h1")[1]
    for path in folder.iterdir():
        path.unlink()
    assert run(home, "dsh", from_archive=True, trust_stat=False).failed_files == 0
    assert corpus(home) == made


def test_what_is_no_file_hides_no_older_generation(home: Home, tmp_path: Path) -> None:
    (case, *_) = (param.values[0] for param in cases("dsh"))
    (events,) = case["files"].values()
    write(tmp_path / "h1/session.jsonl", events)
    os.mkfifo(tmp_path / "h1/session.v9.jsonl.zstd")
    assert ingest(home, "dsh", tmp_path).ingested == 1


def test_a_journal_that_ends_within_a_frame_keeps_what_is_whole(home: Home, tmp_path: Path) -> None:
    (case, *_) = (param.values[0] for param in cases("dsh"))
    (events,) = case["files"].values()
    frames = [zstandard.compress(f"{json.dumps(event)}\n".encode()) for event in events]
    (tmp_path / "session.v3.jsonl.zstd").write_bytes(b"".join(frames[:5]) + frames[5][:-3])
    ledger = ingest(home, "dsh", tmp_path)
    assert (ledger.failed_records, ledger.ingested) == (1, 1)
    assert "Mend the lock" in document(home, "dsh__h1")[1]


def _forget(home: Home, tool: str, root: Path) -> None:
    index(home, config.load(home), source=tool, roots=[str(root)])
    plan = forget.plan(home, config.load(home), Selection(), "walrus")
    assert forget.carry_out(home, plan).left == []


@pytest.mark.parametrize(("tool", "files"), [
    ("cline", {"tasks/t1/ui_messages.json": [{"ts": 1, "type": "say", "say": "task", "text": "A walrus"}],
               "tasks/t1/history_item.json": {"id": "t1", "title": "Seen by Nanook", "workspace": "/home/Nanook"}}),
    ("droid", {"s1.jsonl": [{"type": "session_start", "id": "s1", "cwd": "/x"}, {
        "type": "message", "id": "m", "message": {"role": "user", "content": "A walrus"}}],
               "s1.settings.json": {"model": "Nanook"}}),
    ("grok", {"c1/chat_history.jsonl": [{"type": "user", "content": "A walrus", "prompt_index": 0}],
              "c1/summary.json": {"info": {"id": "c1"}, "session_kind": "subagent", "agent_name": "Nanook"},
              "p1/subagents/c1/meta.json": {"parent_session_id": "p1", "description": "Find Nanook"}}),
    ("kimi", {"sessions/f0de25a3aee32aafc1c2d10f1c1b1af0/s1/context.jsonl": [{"role": "user", "content": "A walrus"}],
              "sessions/f0de25a3aee32aafc1c2d10f1c1b1af0/s1/state.json": {"custom_title": "Seen by Nanook"}}),
])  # fmt: skip
def test_what_describes_a_forgotten_session_goes_with_it(
    home: Home, tmp_path: Path, tool: str, files: dict[str, Any]
) -> None:
    root = tmp_path / "given"
    for name, value in files.items():
        write(root / name, value)
    index(home, config.load(home), source=tool, roots=[str(root)])
    assert b"Nanook" in everything(home)
    _forget(home, tool, root)
    assert b"Nanook" not in everything(home)


@pytest.mark.parametrize("tool", ["chatgpt", "claudeai"])
def test_a_forgotten_conversation_of_an_export_leaves_the_others(home: Home, tmp_path: Path, tool: str) -> None:
    def said(unit: str, text: str) -> Record:
        if tool == "claudeai":
            return {"uuid": unit, "chat_messages": [{"sender": "human", "text": text}]}
        message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}
        return {"conversation_id": unit, "current_node": "a", "mapping": {"a": {"message": message}}}

    held = [said("c1", "A walrus"), said("c2", "A penguin")]
    root = write(tmp_path / "given/conversations.json", held).parent
    _forget(home, tool, root)
    index(home, config.load(home), source=tool, roots=[str(root)])
    assert (b"walrus" in everything(home), b"penguin" in everything(home)) == (False, True)
    assert list(corpus(home)) == [f"{tool}__c2.md"]
