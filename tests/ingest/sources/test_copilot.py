"""Copilot CLI: journals of events, the documents before them, and the files that describe a session."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.home import Home
from core.tombstones import Tombstones
from ingest import forgetting
from ingest.archive import archive
from ingest.pipeline import pulse
from ingest.pipeline.run import run
from ingest.sources.copilot.source import SOURCE
from tests.ingest.sources.cases import Case, cases, check, document, ingest, odd_values, parsed
from tests.ingest.transcripts import corpus

Record = dict[str, Any]
START: Record = {"sessionId": "s1", "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.11",
    "startTime": "2026-04-28T09:00:00.000Z", "context": {"cwd": "/home/me/api", "branch": "main"}}  # fmt: skip


def events(path: Path, *given: Any) -> Path:
    """Write a journal; an event is (type, data), or (type, data, more fields), or a whole record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        for number, event in enumerate((("session.start", START), *given)):
            if not isinstance(event, dict):
                kind, data, *more = event
                record = {"type": kind, "data": data, "id": f"e{number}"}
                record |= {"parentId": f"e{number - 1}" if number else None}
                record |= {"timestamp": f"2026-04-28T09:00:{number:02}.000Z"}
                event = {**record, **(more[0] if more else {})}
            stream.write(json.dumps(event) + "\n")
    return path


@pytest.mark.parametrize("case", cases("copilot"))
def test_a_journal_says(tmp_path: Path, case: Case) -> None:
    path = events(tmp_path / "session-state/s1/events.jsonl", *case["events"])
    path.write_text(path.read_text() * case.get("times", 1))  # the same events again are the same events
    if "about" in case:
        (path.parent / "workspace.yaml").write_text(case["about"])
    check(case, parsed(SOURCE, path))


@given(
    odd_values("content toolRequests result error status type text usage name arguments state context role"),
    st.sampled_from(["user.message", "assistant.message", "tool.execution_complete", "session.resume"]),
)
def test_no_shape_of_an_event_stops_the_journal(tmp_path_factory: pytest.TempPathFactory, odd: Any, kind: str) -> None:
    path = tmp_path_factory.getbasetemp() / "x/events.jsonl"
    found = parsed(SOURCE, events(path, (kind, odd), ("user.message", {"content": "Still here"})))
    assert "Still here" in found.documents["s1"][1]


def test_the_output_of_a_run_without_a_terminal_is_a_journal(home: Home, tmp_path: Path) -> None:
    said = ("user.message", {"content": "Why?"}), ("assistant.message", {"content": "So.", "toolRequests": []})
    journal = events(tmp_path / "session-state/s1/events.jsonl", *said)
    ingest(home, "copilot", tmp_path)
    before = corpus(home)
    usage = {"premiumRequests": 1, "codeChanges": {"linesAdded": 0, "linesRemoved": 0, "filesModified": []}}
    at = "2026-04-28T09:00:09.000Z"
    result: Record = {"type": "result", "timestamp": at, "sessionId": "s1", "exitCode": 0, "usage": usage}
    stream = [*journal.read_text().splitlines()[1:], json.dumps(result)]
    (tmp_path / "run.jsonl").write_text("\n".join(stream) + "\n")
    assert ingest(home, "copilot", tmp_path).unknown == {}
    assert corpus(home) == before
    result = {**result, "sessionId": "s2", "exitCode": 1, "omen": 1}
    (tmp_path / "run.jsonl").write_text("\n".join([*stream[:-1], json.dumps(result)]) + "\n")
    found = parsed(SOURCE, tmp_path / "run.jsonl")
    assert set(found.reading.unknown) == {"result: field omen"}
    assert "- the run ended with exit code 1\n" in found.documents["s2"][1]


def test_every_sample_is_accounted_for(home: Home, shared: Path) -> None:
    place = shared / "samples/other-synthetic/jazzyalex+agent-sessions/Resources/Fixtures/stage0/agents/copilot"
    first = ingest(home, "copilot", place)
    assert first.seen == first.ingested == len(list(place.rglob("*.jsonl")))
    assert (first.failed_records, ingest(home, "copilot", place).written) == (0, 0)


# Documents of 2025


def legacy(session: str = "s0") -> Record:
    """Return a session as Copilot CLI wrote it in 2025."""
    done = {"type": "success", "log": "FAIL\n<exited with exit code 1>"}
    call: Record = {"callId": "c1", "name": "bash", "toolTitle": "bash", "arguments": {"command": "npm test"}}
    shown: list[Record] = [
        {"type": "info", "text": "Logged in"}, {"type": "user", "text": "Why does it fail?"},
        {"type": "copilot", "text": "I run it."}, {"type": "tool_call_requested", **call},
        {"type": "tool_call_completed", **call, "result": done},
        {"type": "tool_call_completed", **call, "callId": "c2", "result": {"type": "rejected"}},
        {"type": "copilot", "text": "A rule is missing."},
    ]  # fmt: skip
    timed = [{"id": f"t{n}", "timestamp": f"2025-10-08T21:10:{n:02}.000Z", **each} for n, each in enumerate(shown)]
    asked = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "npm test"}'}}
    sent: list[Record] = [
        {"role": "system", "content": "You are"},
        {"role": "user", "content": "<current_datetime>now</current_datetime>\n\nWhy does it fail?"},
        {"role": "assistant", "content": "I run it.", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c1", "content": "FAIL\n<exited with exit code 1>"},
        {"role": "assistant", "content": [{"type": "text", "text": "A rule is missing."}]},
    ]
    head = {"sessionId": session, "startTime": "2025-10-08T21:10:00.000Z", "selectedModel": "claude-sonnet-4"}
    return {**head, "chatMessages": sent, "timeline": timed}


@pytest.mark.parametrize("lacks", ["", "timeline", "chatMessages"])
def test_a_session_of_2025_is_one_document(tmp_path: Path, lacks: str) -> None:
    path = tmp_path / "history-session-state/session_s0_1759957816398.json"
    path.parent.mkdir()
    path.write_text(json.dumps({key: value for key, value in legacy().items() if key != lacks}, indent=2))
    (tmp_path / "config.json").write_text("{}")
    assert [file.path for file in SOURCE.discover([str(tmp_path)])] == [str(path)]
    found = parsed(SOURCE, path)
    assert found.reading.unknown == {}
    meta, body = found.documents["s0"]
    assert (meta["title"], meta["date"]) == ("Why does it fail?", "2025-10-08T21:10:00Z")
    assert meta["models"] == ["claude-sonnet-4"]
    assert "I run it.\n\n- bash: npm test\n  ! Exit code 1\n  ! FAIL\n" in body
    assert ("rejected by the user" in body) == (lacks != "timeline")
    assert body.count("A rule is missing.") == 1


@pytest.mark.parametrize("replayed", [False, True])
def test_an_imported_session_says_each_thing_once(home: Home, tmp_path: Path, replayed: bool) -> None:
    again = [
        ("user.message", {"content": "Why does it fail?"}), ("assistant.message", {"content": "I run it."}),
        ("tool.execution_start", {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "npm test"}}),
        ("assistant.message", {"content": "A rule is missing."}),
    ]  # fmt: skip
    later = [("user.message", {"content": "And now?"}), ("assistant.message", {"content": "Mended."})]
    imported = ("session.import_legacy", {"legacySession": legacy("s1"), "importTime": "x", "sourceFile": "y"})
    events(tmp_path / "session-state/s1/events.jsonl", imported, *(again if replayed else []), *later)
    old = tmp_path / "history-session-state/session_s1_1759957816398.json"
    old.parent.mkdir()
    old.write_text(json.dumps(legacy("s1")))
    ledger = ingest(home, "copilot", tmp_path)
    assert (ledger.skipped, ledger.unknown) == ({"session that a later version took over": 1}, {})
    body = document(home, "copilot__s1")[1]
    body = body[body.index("## [1]") :]
    said = ("Why does it fail?", "I run it.", "  ! Exit code 1", "A rule is missing.", "And now?", "Mended.")
    assert [body.count(words) for words in said] == [1] * len(said)
    assert [body.index(words) for words in said] == sorted(body.index(words) for words in said)


@given(
    odd_values("role type content text result arguments function tool_calls callId timestamp id", leaves=15),
    st.sampled_from(["chatMessages", "timeline", "selectedModel", "startTime"]),
)
def test_no_shape_of_an_entry_stops_a_session_of_2025(
    tmp_path_factory: pytest.TempPathFactory, odd: Any, where: str
) -> None:
    path = tmp_path_factory.mktemp("legacy") / "session_s0_1.json"
    path.write_text(json.dumps({**legacy(), where: [odd, {"type": "user", "text": "Why?", "role": "user"}]}))
    assert parsed(SOURCE, path).reading.failed is None


# Files that describe a session


def touch(path: Path, at_ns: int) -> None:
    os.utime(path, ns=(at_ns, at_ns))


@pytest.mark.parametrize(("name", "form"), [("workspace.yaml", "name: {}\n"),
    ("vscode.metadata.json", '{{"writtenToDisc": true, "customTitle": "{}"}}')])  # fmt: skip
def test_a_renamed_session_gets_its_title_without_new_events(home: Home, tmp_path: Path, name: str, form: str) -> None:
    path = events(tmp_path / "session-state/s1/events.jsonl", ("user.message", {"content": "Why?"}))
    ingest(home, "copilot", tmp_path)
    assert document(home, "copilot__s1")[0]["title"] == "Why?"
    for second, title in enumerate(("First", "Second"), 1):
        (path.parent / name).write_text(form.format(title))
        touch(path.parent / name, path.stat().st_mtime_ns + second * 10**9)
        assert ingest(home, "copilot", tmp_path).written == 1
        assert document(home, "copilot__s1")[0]["title"] == title
        for trust_stat in (False, True):
            assert run(home, "copilot", [str(tmp_path)], trust_stat=trust_stat).ingested == 0


@pytest.mark.parametrize(("workspace", "editor", "title"), [
    ("name: Named\nsummary: Why?\n", '{"customTitle": "Custom"}', "Named"), ("summary: Short\n", "{", "Short"),
    ("summary: Short\n", '{"customTitle": "Custom"}', "Custom")])  # fmt: skip
def test_a_sessions_own_name_is_its_title_then_an_editors_then_a_summary(
    tmp_path: Path, workspace: str, editor: str, title: str
) -> None:
    path = events(tmp_path / "session-state/s1/events.jsonl", ("user.message", {"content": "Why?"}))
    (path.parent / "workspace.yaml").write_text(workspace)
    (path.parent / "vscode.metadata.json").write_text(editor)
    assert parsed(SOURCE, path).documents["s1"][0]["title"] == title


def test_a_file_that_describes_a_session_is_forgotten_with_it(home: Home, tmp_path: Path) -> None:
    for name in ("s1", "s2"):
        path = tmp_path / f"session-state/{name}/events.jsonl"
        events(path, ("session.start", {**START, "sessionId": name}), ("user.message", {"content": f"Why {name}?"}))
        (path.parent / "workspace.yaml").write_text(f"summary: About {name}\ncwd: /home/me/api\n")
    ingest(home, "copilot", tmp_path)
    forgetting.erase(home, "copilot", forgetting.look(home, "copilot", {"s1"}))
    folder = tmp_path / "session-state/s2"
    left = {str(folder / "events.jsonl"): 0, str(folder / "workspace.yaml"): archive.COMPANION}
    assert {entry.path: entry.version for entry in archive.versions(home, "copilot")} == left
    Tombstones(home).add([("copilot", "s1")])
    run(home, "copilot", [str(tmp_path)], trust_stat=False, rebuild=True)
    assert {entry.path: entry.version for entry in archive.versions(home, "copilot")} == left


def test_only_a_change_of_the_journal_is_news(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path))
    path = events(tmp_path / "session-state/s1/events.jsonl", ("user.message", {"content": "Why?"}))
    about = path.parent / "workspace.yaml"
    about.write_text("name: First\n")
    for each, age in ((path, 100), (about, 50), (path.parent, 20), (path.parent.parent, 20)):
        touch(each, time.time_ns() - age * 10**9)
    run(home, "copilot", trust_stat=True)
    assert pulse.news(home, None) == set()
    with path.open("a") as stream:
        stream.write("\n")
    assert pulse.news(home, None) == {str(path)}
