"""Copilot CLI: a journal of events."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.document import Document, split
from core.home import Home
from core.tombstones import Tombstones
from ingest import forgetting
from ingest.archive import archive
from ingest.pipeline import pulse
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.sources.amp import source as amp
from ingest.sources.copilot import source as copilot
from ingest.sources.copilot.user_text import extract_user_text
from tests.ingest.sources.test_amp import thread
from tests.ingest.transcripts import corpus, documents

Record = dict[str, Any]
START: Record = {"sessionId": "s1", "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.11",
    "startTime": "2026-04-28T09:00:00.000Z", "context": {"cwd": "/home/me/api", "branch": "main"}}  # fmt: skip


def events(path: Path, *pairs: tuple[str, Any] | tuple[str, Any, Record]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        for number, (kind, data, *more) in enumerate((("session.start", START), *pairs)):
            record = {"type": kind, "data": data, "id": f"e{number}", "parentId": f"e{number - 1}" if number else None}
            extra = more[0] if more else {}
            stream.write(json.dumps({**record, "timestamp": f"2026-04-28T09:00:{number:02}.000Z", **extra}) + "\n")
    return path


def ingest(home: Home, folder: Path) -> Ledger:
    return run(home, "copilot", [str(folder)], trust_stat=False)


def document(home: Home, name: str = "copilot__s1") -> tuple[Record, str]:
    return split(corpus(home)[f"{name}.md"].decode())


def test_a_journal_becomes_a_document_and_each_call_stands_once(home: Home, tmp_path: Path) -> None:
    asked = {"toolCallId": "c1", "name": "bash", "arguments": {"command": "npm test"}, "type": "function"}
    message = {"content": "I look.", "toolRequests": [asked], "model": "g", "outputTokens": 5, "reasoningText": "Hm."}
    begun = {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "npm test"}}
    ended = {"toolCallId": "c1", "success": True, "result": {"content": "FAIL\n<exited with exit code 1>"}}
    path = tmp_path / "session-state/s1/events.jsonl"
    events(
        path,
        ("user.message", {"content": "<current_datetime>now</current_datetime>\n\nWhy?", "transformedContent": "x"}),
        ("assistant.turn_start", {"turnId": "0"}),
        ("assistant.message", message),
        ("tool.execution_start", begun),
        ("tool.execution_complete", ended),
        ("assistant.message", {"content": "So.", "toolRequests": []}),
        ("session.omen", {"x": 1}),
    )
    (path.parent / "workspace.yaml").write_text("summary: The race\ncwd: /elsewhere\n")
    ledger = ingest(home, tmp_path)
    assert set(ledger.unknown) == {"event session.omen"}
    meta, body = document(home)
    assert (meta["title"], meta["project"], meta["git_branch"]) == ("The race", "/home/me/api", "main")
    assert (meta["version"], meta["models"], meta["output_tokens"]) == ("1.0.11", ["g"], 5)
    assert "· 2026-04-28 09:00\n\nWhy?\n" in body
    assert "I look.\n\n- bash: npm test\n  ! Exit code 1\n  ! FAIL\n\nSo.\n\n### reasoning\n\nHm.\n" in body
    assert ingest(home, tmp_path).written == 0


def test_refusals_failures_and_subagents_are_told_apart(home: Home, tmp_path: Path) -> None:
    def call(name: str) -> tuple[str, Any]:
        return ("tool.execution_start", {"toolCallId": name, "toolName": name, "arguments": {"x": 1}})

    def ended(name: str, **fields: Any) -> tuple[str, Any]:
        return ("tool.execution_complete", {"toolCallId": name, "success": False, **fields})

    events(
        tmp_path / "s1.jsonl",
        ("user.message", {"content": "Go", "parentAgentTaskId": "t", "messageId": "m1"}),
        call("a"),
        ended("a", error={"message": "The user said no", "code": "denied"}),
        call("b"),
        ended("b", error={"message": "no such file", "code": "failure"}),
        call("task"),
        ("subagent.started", {"toolCallId": "task", "agentName": "explore"}),
        ("user.message", {"content": "A task", "parentAgentTaskId": "t"}, {"agentId": "task"}),
        ("user.message", {"content": "An older task", "parentToolCallId": "task"}),
    )
    ingest(home, tmp_path)
    body = document(home)[1]
    assert "- a: x=1\n  rejected by the user\n- b: x=1\n  ! no such file\n" in body
    assert "→ agent explore" in body
    assert "user · 2026-04-28 09:00\n\nGo\n" in body
    assert "A task" not in body
    assert "An older task" not in body


def test_what_a_subagent_is_told_is_no_prompt_where_nothing_marks_it(home: Home, tmp_path: Path) -> None:
    def task(name: str) -> tuple[str, Any]:
        given = {"prompt": "Count the\nlines", "agent_type": "explore", "mode": "background"}
        return ("tool.execution_start", {"toolCallId": name, "toolName": "task", "arguments": given})

    events(
        tmp_path / "s1.jsonl",
        ("user.message", {"content": "Count the lines"}),
        task("c1"),
        ("subagent.started", {"toolCallId": "c1", "agentName": "explore"}),
        ("user.message", {"content": "Count the\nlines", "parentAgentTaskId": "t"}),
        ("user.message", {"content": "Meanwhile, why?", "parentAgentTaskId": "t"}),
        ("user.message", {"content": "Count the lines"}),
    )
    ingest(home, tmp_path)
    body = document(home)[1]
    said = [part.partition("\n\n")[2].strip() for part in body.split("\n## [") if "] user" in part]
    assert said == ["Count the lines", "Meanwhile, why?", "Count the lines"]


@pytest.mark.parametrize("ended", ["subagent.completed", "subagent.failed", "custom_agent.completed"])
def test_a_person_may_ask_for_what_a_subagent_did_once_it_has_ended(home: Home, tmp_path: Path, ended: str) -> None:
    given = {"prompt": "Run the tests", "agent_type": "explore"}
    events(
        tmp_path / "s1.jsonl",
        ("user.message", {"content": "Look around"}),
        ("tool.execution_start", {"toolCallId": "c1", "toolName": "task", "arguments": given}),
        ("subagent.started", {"toolCallId": "c1", "agentName": "explore"}),
        (ended, {"toolCallId": "c1", "agentName": "explore"}),
        ("user.message", {"content": "Run the tests"}),
    )
    assert ingest(home, tmp_path).unknown == {}
    assert document(home)[1].count("] user") == 2


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["content", "toolRequests", "result", "error", "run", "status", "type", "text", "meta", "usage",
                         "name", "arguments", "state", "context", "role"]), inner, max_size=5), max_leaves=20),
    st.sampled_from(["user.message", "assistant.message", "tool.execution_complete", "session.resume"]))  # fmt: skip
def test_no_shape_stops_a_file(tmp_path_factory: pytest.TempPathFactory, odd: Any, kind: str) -> None:
    base = tmp_path_factory.getbasetemp()
    last = ("user.message", {"content": "Still here"})
    found = list(documents(copilot.SOURCE, str(events(base / "x/events.jsonl", (kind, odd), last))))
    assert any(isinstance(entry, Document) and "Still here" in entry.body for entry in found)
    said = {"role": "user", "content": [{"type": "text", "text": "Still here"}, odd]}
    found = list(
        documents(amp.SOURCE, str(thread(base / "T-1.json", {"role": "assistant", "content": odd}, said, odd)))
    )
    assert any(isinstance(entry, Document) and "Still here" in entry.body for entry in found)


def test_a_subagents_words_are_told_from_the_assistants_by_the_events_own_field(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "session-state/s1/events.jsonl"
    events(path, ("user.message", {"content": "Search"}))
    theirs: list[tuple[str, Record]] = [
        ("user.message", {"content": "Look in src"}),
        ("assistant.reasoning", {"content": "Hm, src"}),
        ("assistant.message", {"content": "sub-agent chatter", "reasoningText": "I guess", "messageId": "m2"}),
        ("abort", {"reason": "x"}),
    ]
    with path.open("a", encoding="utf-8") as stream:
        for number, (kind, data) in enumerate(theirs):
            stream.write(json.dumps({"type": kind, "data": data, "id": f"s{number}", "agentId": "sub"}) + "\n")
        stream.write(json.dumps({"type": "assistant.message", "data": {"content": "Found it."}, "id": "last"}) + "\n")
    assert ingest(home, tmp_path).unknown == {}
    body = document(home)[1]
    assert "Found it." in body
    for text in ("Look in src", "Hm, src", "chatter", "I guess", "interrupted"):
        assert text not in body


def test_what_a_person_answered_stands_under_the_question(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "session-state/s1/events.jsonl"
    asked = {"toolCallId": "q1", "toolName": "ask_user", "arguments": {"question": "Which?", "choices": ["a", "b"]}}
    answered = {"toolCallId": "q1", "success": True, "result": {"content": "User selected: b"}}
    refused = {"approved": False, "feedback": "Not yet."}
    events(path, ("user.message", {"content": "Go"}), ("tool.execution_start", asked),
        ("tool.execution_complete", answered), ("exit_plan_mode.completed", refused))  # fmt: skip
    assert ingest(home, tmp_path).unknown == {}
    body = document(home)[1]
    assert "  answer: b" in body
    assert "\n\nNot yet.\n" in body


def test_what_a_person_said_to_a_call_that_they_refused_is_theirs_and_stands_once(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "session-state/s1/events.jsonl"
    said = "The user rejected this tool call."
    nobody = "Permission denied and could not request permission from user"
    plan = "Plan not approved. User feedback:\n\n{}\n\nPlease update the plan based on this feedback and try again."

    def ended(name: str, **fields: Any) -> list[tuple[str, Any]]:
        begun = ("tool.execution_start", {"toolCallId": name, "toolName": name, "arguments": {}})
        return [begun, ("tool.execution_complete", {"toolCallId": name, **fields})]

    events(
        path, ("user.message", {"content": "Go"}),
        *ended("a", success=False, error={"code": "denied", "message": f"{said} User feedback: Keep the file."}),
        *ended("b", success=False, error={"code": "rejected", "message": said}),
        *ended("c", success=False, error={"code": "denied", "message": nobody}),
        *ended("d", success=True, result={"content": plan.format("Use Azure.")}),
        ("exit_plan_mode.completed", {"approved": False, "feedback": "Smaller steps."}),
        *ended("e", success=True, result={"content": plan.format("Smaller steps.")}),
        ("session.fusion_handoff", {}), ("session.fusion_commit_started", {}),
    )  # fmt: skip
    path.write_text(path.read_text() * 2)  # the same events again are the same events
    assert ingest(home, tmp_path).unknown == {}
    body = document(home)[1]
    for text in ("\n\nKeep the file.\n", "\n\nUse Azure.\n", "\n\nSmaller steps.\n", f"- c\n  ! {nobody}\n"):
        assert body.count(text) == 1, text
    assert body.count("rejected by the user") == 2
    assert body.count(" user · ") == 4


def test_events_of_later_versions_are_no_finding_and_unheard_of_ones_are(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "session-state/s1/events.jsonl"
    kinds = (
        "session.todos_changed",
        "model.call_finished",
        "session.canvas.opened",
        "skill.invoked_ref",
        "assistant.idle",
        "model.turn_started",
        "session.permission_mode_changed",
    )
    said = {"content": "Continue", "source": "of a later version"}
    events(path, *((kind, {}) for kind in kinds), ("user.message", said), ("dream.started", {}))
    assert set(ingest(home, tmp_path).unknown) == {"event dream.started", "user.message: source of a later version"}


def test_what_a_run_without_a_terminal_prints_is_its_sessions(home: Home, tmp_path: Path) -> None:
    said = ("user.message", {"content": "Why?"}), ("assistant.message", {"content": "So.", "toolRequests": []})
    journal = events(tmp_path / "session-state/s1/events.jsonl", *said)
    ingest(home, tmp_path)
    before = corpus(home)
    usage = {"premiumRequests": 1, "codeChanges": {"linesAdded": 0, "linesRemoved": 0, "filesModified": []}}
    at = "2026-04-28T09:00:09.000Z"
    result: Record = {"type": "result", "timestamp": at, "sessionId": "s1", "exitCode": 0, "usage": usage}
    stream = [*journal.read_text().splitlines()[1:], json.dumps(result)]
    (tmp_path / "run.jsonl").write_text("\n".join(stream) + "\n")
    assert ingest(home, tmp_path).unknown == {}
    assert corpus(home) == before
    result = {**result, "sessionId": "s2", "exitCode": 1, "omen": 1}
    (tmp_path / "run.jsonl").write_text("\n".join([*stream[:-1], json.dumps(result)]) + "\n")
    assert set(ingest(home, tmp_path).unknown) == {"result: field omen"}
    assert "- the run ended with exit code 1\n" in document(home, "copilot__s2")[1]


@pytest.mark.parametrize(
    "odd", [{"sessionId": 7, "exitCode": "1"}, {"exitCode": None}, {"sessionId": "", "exitCode": []}]
)
def test_no_shape_of_a_result_stops_the_file(tmp_path: Path, odd: Record) -> None:
    path = events(tmp_path / "x.jsonl", ("user.message", {"content": "Why?"}))
    with path.open("a") as stream:
        stream.write(json.dumps({"type": "result", **odd}) + "\n")
    (found,) = documents(copilot.SOURCE, str(path))
    assert isinstance(found, Document)


def test_every_sample_is_accounted_for(home: Home, shared: Path) -> None:
    place = shared / "samples/other-synthetic/jazzyalex+agent-sessions/Resources/Fixtures/stage0/agents/copilot"
    first = ingest(home, place)
    assert first.seen == first.ingested == len(list(place.rglob("*.jsonl")))
    assert (first.failed_records, ingest(home, place).written) == (0, 0)


def test_what_its_folder_says_of_a_session_is_forgotten_with_it(home: Home, tmp_path: Path) -> None:
    for name in ("s1", "s2"):
        path = tmp_path / f"session-state/{name}/events.jsonl"
        events(path, ("session.start", {**START, "sessionId": name}), ("user.message", {"content": f"Why {name}?"}))
        (path.parent / "workspace.yaml").write_text(f"summary: About {name}\ncwd: /home/me/api\n")
    ingest(home, tmp_path)
    forgetting.erase(home, "copilot", forgetting.look(home, "copilot", {"s1"}))
    folder = tmp_path / "session-state/s2"
    left = {str(folder / "events.jsonl"): 0, str(folder / "workspace.yaml"): archive.BESIDE}
    assert {entry.path: entry.version for entry in archive.versions(home, "copilot")} == left
    Tombstones(home).add([("copilot", "s1")])
    run(home, "copilot", [str(tmp_path)], trust_stat=False, rebuild=True)
    assert {entry.path: entry.version for entry in archive.versions(home, "copilot")} == left


def legacy(session: str = "s0") -> Record:
    """A session as Copilot CLI wrote it in 2025."""
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
def test_a_session_of_the_first_versions_is_one_document(home: Home, tmp_path: Path, lacks: str) -> None:
    path = tmp_path / "history-session-state/session_s0_1759957816398.json"
    path.parent.mkdir()
    path.write_text(json.dumps({key: value for key, value in legacy().items() if key != lacks}, indent=2))
    (tmp_path / "config.json").write_text("{}")
    ledger = ingest(home, tmp_path)
    assert (ledger.seen, ledger.ingested, ledger.unknown) == (1, 1, {})
    meta, body = document(home, "copilot__s0")
    assert (meta["title"], meta["date"], meta["models"]) == (
        "Why does it fail?",
        "2025-10-08T21:10:00Z",
        ["claude-sonnet-4"],
    )
    assert "I run it.\n\n- bash: npm test\n  ! Exit code 1\n  ! FAIL\n" in body
    assert ("rejected by the user" in body) == (lacks != "timeline")
    assert body.count("A rule is missing.") == 1
    assert ingest(home, tmp_path).written == 0


@pytest.mark.parametrize("replayed", [False, True])
def test_a_session_that_was_taken_over_says_each_thing_once(home: Home, tmp_path: Path, replayed: bool) -> None:
    again = [
        ("user.message", {"content": "Why does it fail?"}), ("assistant.message", {"content": "I run it."}),
        ("tool.execution_start", {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "npm test"}}),
        ("assistant.message", {"content": "A rule is missing."}),
    ]  # fmt: skip
    later = [("user.message", {"content": "And now?"}), ("assistant.message", {"content": "Mended."})]
    taken = ("session.import_legacy", {"legacySession": legacy("s1"), "importTime": "x", "sourceFile": "y"})
    events(tmp_path / "session-state/s1/events.jsonl", taken, *(again if replayed else []), *later)
    old = tmp_path / "history-session-state/session_s1_1759957816398.json"
    old.parent.mkdir()
    old.write_text(json.dumps(legacy("s1")))
    ledger = ingest(home, tmp_path)
    assert ledger.skipped == {"session that a later version took over": 1}
    assert ledger.unknown == {}
    body = document(home)[1]
    body = body[body.index("## [1]") :]
    said = ("Why does it fail?", "I run it.", "  ! Exit code 1", "A rule is missing.", "And now?", "Mended.")
    assert [body.count(words) for words in said] == [1] * len(said)
    assert [body.index(words) for words in said] == sorted(body.index(words) for words in said)


def test_the_end_of_a_command_is_told_in_each_of_its_forms_and_autopilots_turns_are_no_prompts(
    home: Home, tmp_path: Path
) -> None:
    def ended(call: str, text: str, **more: Any) -> tuple[str, Any]:
        return "tool.execution_complete", {"toolCallId": call, "success": True, "result": {"content": text}, **more}

    requests = [{"toolCallId": c, "name": "bash", "arguments": {"command": f"run {c}"}} for c in ("c1", "c2", "c3")]
    path = events(
        tmp_path / "session-state/s1/events.jsonl",
        ("user.message", {"content": "Test it.", "isAutopilotContinuation": False, "turnId": "0"}),
        ("assistant.message", {"content": "", "toolRequests": requests, "originatingMessageId": "m"}),
        ended("c1", "no such\n<shellId: 4 completed with exit code 7>", mcpMeta={}, fusion={}),
        ended("c2", "odd", shellExecution={"exitCode": 5}),
        ended("c3", "fine\n<shellId: 4 completed with exit code 0>", shellExecution={"exitCode": 0}),
        ("user.message", {"content": "Go on until done.", "isAutopilotContinuation": True}),
        ("custom_agent.started", {"toolCallId": "c3", "agentName": "finder"}),
        ("agent.interrupted", {"activity": "model_call"}),
    )
    ledger = ingest(home, path.parent.parent)
    _, body = document(home)
    assert (body.count("Go on until done."), body.count("→ agent finder")) == (0, 1)
    assert [body.count(f"Exit code {code}") for code in (7, 5, 0)] == [1, 1, 0]
    assert not ledger.unknown


def test_a_renamed_session_gets_its_title_though_nothing_was_said(home: Home, tmp_path: Path) -> None:
    path = events(tmp_path / "session-state/s1/events.jsonl", ("user.message", {"content": "Why?"}))
    ingest(home, tmp_path)
    assert document(home)[0]["title"] == "Why?"
    about = path.parent / "workspace.yaml"
    for second, name in enumerate(("First", "Second")):
        about.write_text(f"name: {name}\n")
        at = path.stat().st_mtime_ns + (second + 1) * 10**9
        os.utime(about, ns=(at, at))
        again = ingest(home, tmp_path)
        assert (document(home)[0]["title"], again.written) == (name, 1)
        assert ingest(home, tmp_path).ingested == 0
        assert run(home, "copilot", [str(tmp_path)], trust_stat=True).ingested == 0


def test_what_an_editor_calls_a_session_is_its_title_where_it_has_no_name(home: Home, tmp_path: Path) -> None:
    path = events(tmp_path / "session-state/s1/events.jsonl", ("user.message", {"content": "Why?"}))
    about = path.parent / "workspace.yaml"
    about.write_text("summary: Why?\n")
    beside = path.parent / "vscode.metadata.json"
    for second, name in enumerate(("First", "Second")):
        beside.write_text(json.dumps({"writtenToDisc": True, "customTitle": name}))
        at = path.stat().st_mtime_ns + (second + 1) * 10**9
        os.utime(beside, ns=(at, at))
        again = ingest(home, tmp_path)
        assert (document(home)[0]["title"], again.written) == (name, 1)
        assert ingest(home, tmp_path).ingested == 0
    about.write_text("name: Named\nsummary: Why?\n")
    beside.write_text("{")
    os.utime(about, ns=(at + 10**9, at + 10**9))
    ingest(home, tmp_path)
    assert document(home)[0]["title"] == "Named"


def test_of_a_prompt_that_an_editor_repeats_below_what_it_attached_the_words_stand_once(
    home: Home, tmp_path: Path
) -> None:
    typed = "Why does it fail?\n\nSee `<userRequest>`."
    attached = '<attachments>\n<attachment id="me/api">\nCurrent branch: main\n</attachment>\n\n</attachments>'
    said = f"{typed}\n <reminder>\nIMPORTANT: may not be relevant\n</reminder>\n{attached}"
    events(
        tmp_path / "session-state/s1/events.jsonl",
        ("user.message", {"content": f"{said}\n<userRequest>\n{typed}\n</userRequest>\n"}),
        ("user.message", {"content": f"And now?\n{attached}\n"}),
    )
    ingest(home, tmp_path)
    meta, body = document(home)
    assert meta["title"] == "Why does it fail? See `<userRequest>`."
    assert [part.partition("\n\n")[2].strip() for part in body.split("\n## ")[1:]] == [typed, "And now?"]


AGAIN = "Template:\n<userRequest>\nfoo\n</userRequest>"
PASTED = "Why is\n<attachments>\n{thing}\n</attachments>\nempty?"


@pytest.mark.parametrize(("said", "words"), [
    ("<current_datetime>x</current_datetime>\n\nWhy?\n\n<reminder>\nx\n</reminder>", "Why?"),
    ("My note:\n<reminder>\nmilk\n</reminder>\nBuy it",) * 2,
    (AGAIN, AGAIN), (PASTED, PASTED), ("Fill in:\n<attachments>\nmine\n</attachments>",) * 2,
    (f"{AGAIN}\n<reminder>\nx\n</reminder>\n<userRequest>\n{AGAIN}\n</userRequest>", AGAIN),
    (f"{PASTED}\n<attachments>\nx\n</attachments>\n<userRequest>\n{PASTED}\n</userRequest>", PASTED),
])  # fmt: skip
def test_blocks_that_a_person_wrote_are_no_editors(said: str, words: str) -> None:
    assert extract_user_text(said).typed == words


def test_what_stands_for_more_than_itself_is_no_news(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path))
    path = events(tmp_path / "session-state/s1/events.jsonl", ("user.message", {"content": "Why?"}))
    (path.parent / "workspace.yaml").write_text("name: First\n")
    for each, age in ((path, 100), (path.parent / "workspace.yaml", 50), (path.parent, 20), (path.parent.parent, 20)):
        at = time.time_ns() - age * 10**9
        os.utime(each, ns=(at, at))
    run(home, "copilot", trust_stat=True)
    assert pulse.news(home, None) == set()
    with path.open("a") as stream:
        stream.write("\n")
    assert pulse.news(home, None) == {str(path)}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner,
    max_size=3) | st.dictionaries(st.sampled_from(["role", "type", "content", "text", "result", "arguments", "function",
    "tool_calls", "callId", "timestamp", "id"]), inner, max_size=4), max_leaves=15),
    st.sampled_from(["chatMessages", "timeline", "selectedModel", "startTime"]))  # fmt: skip
def test_no_shape_of_a_first_versions_session_stops_it(
    tmp_path_factory: pytest.TempPathFactory, odd: Any, where: str
) -> None:
    path = tmp_path_factory.mktemp("legacy") / "session_s0_1.json"
    path.write_text(json.dumps({**legacy(), where: [odd, {"type": "user", "text": "Why?", "role": "user"}]}))
    assert [type(each) for each in documents(copilot.SOURCE, str(path))]
