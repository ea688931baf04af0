"""Cursor: both generations of its database, its agent's database, and agents' transcripts."""

from __future__ import annotations

import json
import os
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
from ingest.sources.cursor import source as cursor
from tests.ingest.transcripts import corpus, documents

AT = 1_777_367_643_000
Record = dict[str, Any]


def database(path: Path, table: str, rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute(f"create table if not exists {table}(key text unique, value blob)")
    for key, value in rows.items():
        held = value if value is None or isinstance(value, str) else json.dumps(value).encode()
        connection.execute(f"insert or replace into {table} values(?, ?)", (key, held))
    connection.close()
    return path


def ingest(home: Home, folder: Path) -> Ledger:
    return run(home, "cursor", [str(folder)], trust_stat=False)


def document(home: Home, name: str) -> tuple[Record, str]:
    return split(corpus(home)[f"cursor__{name}.md"].decode())


def test_the_second_generation_is_put_together_from_its_rows(home: Home, tmp_path: Path) -> None:
    tool = {"name": "run_terminal_cmd", "params": '{"command": "npm test"}', "status": "error", "error": "Exit code 1"}
    rows = {
        "composerData:c1": {
            "name": "The race",
            "createdAt": AT,
            "workspaceIdentifier": {"uri": {"fsPath": "/home/me/api"}},
            "fullConversationHeadersOnly": [{"bubbleId": "b2"}, {"bubbleId": "b1"}, {"bubbleId": "gone"}],
        },
        "composerData:empty": {"name": "Nothing said"},
        "composerData:null": None,
        "bubbleId:c1:b1": {"type": 2, "text": "Both read it.", "thinking": {"text": "Two readers."}, "createdAt": AT},
        "bubbleId:c1:b2": {"type": 1, "text": "Why does it fail?", "createdAt": "2026-04-28T09:14:05.000Z"},
        "bubbleId:c1:b3": {"type": 2, "text": "", "toolFormerData": tool, "createdAt": AT + 9000},
        "bubbleId:c1:b4": None,
        "bubbleId:c1:b5": "{torn",
    }
    database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    ledger = ingest(home, tmp_path)
    assert (ledger.documents, ledger.failed_records, ledger.unknown) == (1, 1, {})
    meta, body = document(home, "c1")
    assert (meta["title"], meta["project"], meta["date"]) == ("The race", "/home/me/api", "2026-04-28T09:14:03Z")
    assert body.index("Why does it fail?") < body.index("Both read it.")
    assert "- run_terminal_cmd: npm test\n  ! Exit code 1\n" in body
    assert "### reasoning\n\nTwo readers.\n" in body
    assert ingest(home, tmp_path).unchanged == 1


@pytest.mark.parametrize("head", ["absent", None, "{torn"])
def test_bubbles_that_have_lost_their_conversations_head_are_one_all_the_same(
    home: Home, tmp_path: Path, head: str | None
) -> None:
    rows: dict[str, Any] = {
        "composerData:c0": {"name": "Another", "fullConversationHeadersOnly": [{"bubbleId": "b1"}]},
        "bubbleId:c0:b1": {"type": 1, "text": "Of another"},
        "bubbleId:c1:b1": {"type": 2, "text": "Both read it.", "createdAt": "2026-04-28T09:14:09.000Z"},
        "bubbleId:c1:b2": {"type": 1, "text": "Why does it fail?", "createdAt": "2026-04-28T09:14:05.000Z"},
        "bubbleId:": {"type": 1, "text": "Of none"},
    }
    if head != "absent":
        rows["composerData:c1"] = head
    path = database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    assert ingest(home, tmp_path).documents == 2
    meta, body = document(home, "c1")
    assert meta["date"] == "2026-04-28T09:14:05Z"
    assert body.index("Why does it fail?") < body.index("Both read it.")
    assert "Of another" not in body
    before = corpus(home)
    path.unlink()
    run(home, "cursor", trust_stat=False, from_archive=True)
    assert corpus(home) == before


def test_a_conversation_whose_head_is_lost_keeps_what_was_known_of_it(home: Home, tmp_path: Path) -> None:
    rows: dict[str, Any] = {
        "composerData:c1": {
            "name": "The race",
            "createdAt": AT,
            "fullConversationHeadersOnly": [{"bubbleId": "b2"}, {"bubbleId": "b1"}],
        },
        "bubbleId:c1:b1": {"type": 2, "text": "Both read it."},
        "bubbleId:c1:b2": {"type": 1, "text": "Why does it fail?"},
    }
    path = database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    os.utime(path, ns=(AT * 10**6, AT * 10**6))
    ingest(home, tmp_path)
    before = corpus(home)
    database(path, "cursorDiskKV", {"composerData:c1": None})
    os.utime(path, ns=(AT * 10**6, AT * 10**6 + 1000))  # a change within the second that documents tell
    for _ in range(2):
        ingest(home, tmp_path)
        assert corpus(home) == before
    database(path, "cursorDiskKV", {"bubbleId:c1:b3": {"type": 1, "text": "And now?", "createdAt": AT}})
    ingest(home, tmp_path)
    assert "And now?" in document(home, "c1")[1]


def test_a_bubble_whose_key_names_no_conversation_costs_no_other(home: Home, tmp_path: Path) -> None:
    heads = [{"bubbleId": "b1", "type": 1}]
    rows: dict[str, Any] = {
        "composerData:c1": {"createdAt": AT, "fullConversationHeadersOnly": heads},
        "bubbleId:c1:b1": {"type": 1, "text": "Why does it fail?"},
        **{key: {} for key in ("bubbleId:x", "bubbleId:", "bubbleId::b", "composerData:")},
    }
    database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    assert ingest(home, tmp_path).failed_files == 0
    assert "Why does it fail?" in document(home, "c1")[1]


def test_what_several_models_were_asked_at_once_is_a_persons_and_leads_to_where_it_was_asked(
    home: Home, tmp_path: Path
) -> None:
    rows: dict[str, Any] = {}
    sub = {"isBestOfNSubcomposer": True, "subagentInfo": {"parentComposerId": "c1"}}
    for name, fields in (("c1", {"isBestOfNParent": True}), ("c2", sub), ("c3", {**sub, "bestOfNJudgeWinner": True})):
        heads = [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b2", "type": 2}]
        rows[f"composerData:{name}"] = {"createdAt": AT, "fullConversationHeadersOnly": heads, **fields}
        rows[f"bubbleId:{name}:b1"] = {"type": 1, "text": "Mend the lock"}
        rows[f"bubbleId:{name}:b2"] = {"type": 2, "text": f"As {name} would."}
    database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    ingest(home, tmp_path)
    found = {name: document(home, name) for name in ("c1", "c2", "c3")}
    assert [meta.get("forked_from") for meta, _ in found.values()] == [None, "c1", "c1"]
    assert [meta.get("judged_best") for meta, _ in found.values()] == [None, None, True]
    assert [meta.get("best_of_n") for meta, _ in found.values()] == [None, True, True]
    assert all("## [1] user" in body and f"As {name} would." in body for name, (_, body) in found.items())


def test_since_3_16_a_table_of_headers_says_what_a_conversation_is_called_and_where_it_was(
    home: Home, tmp_path: Path
) -> None:
    asked = {"name": "ask_question", "toolCallId": "q", "params": "{}", "status": "completed",
        "result": '{"answers": {"zero": {"answers": ["Return None"]}}}'}  # fmt: skip
    rows = {
        "composerData:c1": {"composerId": "c1", "_v": 17, "fullConversationHeadersOnly": [{"bubbleId": "b1"}]},
        "bubbleId:c1:b1": {"type": 1, "text": "Why does it fail?", "createdAt": "2026-08-17T18:55:41.627Z"},
        "bubbleId:c1:b2": {"type": 2, "text": "I ask.", "toolFormerData": asked},
    }
    path = database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    head = {"type": "head", "name": "The race", "trackedGitRepos": [{"repoPath": "/home/me/api"}], "createdAt": AT}
    connection = apsw.Connection(str(path))
    connection.execute("create table composerHeaders(composerId text primary key, workspaceId text, value text)")
    connection.execute("insert into composerHeaders values('c1', 'w', ?)", (json.dumps(head),))
    connection.execute("insert into composerHeaders values('c2', 'w', null)")
    connection.close()
    assert ingest(home, tmp_path).failed_records == 0
    meta, body = document(home, "c1")
    assert (meta["title"], meta["project"], meta["date"]) == ("The race", "/home/me/api", "2026-04-28T09:14:03Z")
    assert "  answer: Return None" in body


def test_the_first_generation_is_inline_in_the_workspaces_database(home: Home, tmp_path: Path) -> None:
    talk = [{"type": 1, "bubbleId": "b1", "text": "Why?"}, {"type": 2, "bubbleId": "b2", "text": "So."}]
    tab = {"tabId": "t1", "chatTitle": "A chat", "lastSendTime": AT, "bubbles": [
        {"type": "user", "text": "How?"}, {"type": "ai", "rawText": "Thus.", "modelType": "gpt-4"}]}  # fmt: skip
    rows = {
        "composer.composerData": {"allComposers": [{"composerId": "c1", "createdAt": AT, "conversation": talk}]},
        "workbench.panel.aichat.view.aichat.chatdata": {"tabs": [tab]},
        "aiService.prompts": [{"text": "Why?"}, {"text": "Only a prompt"}, {"text": None}],
    }
    path = database(tmp_path / "workspaceStorage/abc/state.vscdb", "ItemTable", rows)
    (path.parent / "workspace.json").write_text('{"folder": "file:///home/me/my%20api"}')
    ledger = ingest(home, tmp_path)
    assert (ledger.documents, ledger.failed_records) == (3, 0)
    meta, body = document(home, "c1")
    assert (meta["project"], "Why?\n\n## [2] assistant\n\nSo.\n" in body) == ("/home/me/my api", True)
    meta, body = document(home, "t1")
    assert (meta["title"], meta["models"], "Thus." in body) == ("A chat", ["gpt-4"], True)
    assert "Only a prompt" in document(home, "prompts-abc")[1]
    assert "Why?" not in document(home, "prompts-abc")[1]


def test_a_workspace_of_the_second_generation_adds_nothing(home: Home, tmp_path: Path) -> None:
    rows = {"composer.composerData": {"allComposers": [{"composerId": "c1"}]}, "aiService.prompts": [{"text": "Why?"}]}
    database(tmp_path / "workspaceStorage/abc/state.vscdb", "ItemTable", rows)
    assert ingest(home, tmp_path).skipped == {"no conversation in this database": 1}


def test_the_agents_database_is_read_in_the_order_of_its_root(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "chats/h/a1/store.db"
    path.parent.mkdir(parents=True)
    connection = apsw.Connection(str(path))
    connection.execute("create table blobs(id text, data blob); create table meta(key text, value text)").fetchall()
    query = "<user_info>\nWorkspace Path: /home/me/api\n</user_info>\n<user_query>\nWhy?\n</user_query>"
    said = [
        {"role": "assistant", "content": [{"type": "text", "text": "So."}]},
        {"role": "user", "content": [{"type": "text", "text": query}]},
    ]
    names = ["aa" * 32, "bb" * 32]
    for name, message in zip(names, said, strict=True):
        connection.execute("insert into blobs values(?, ?)", (name, json.dumps(message).encode()))
    root = b"".join(b"\x0a\x20" + bytes.fromhex(name) for name in reversed(names))
    connection.execute("insert into blobs values('root', ?)", (root,))
    about = {"agentId": "a1", "latestRootBlobId": "root", "name": "The race", "createdAt": AT}
    connection.execute("insert into meta values('0', ?)", (json.dumps(about).encode().hex(),))
    connection.close()
    ingest(home, tmp_path)
    meta, body = document(home, "a1")
    assert (meta["title"], meta["project"], meta["surface"]) == ("The race", "/home/me/api", "agent")
    assert "Why?\n\n## [2] assistant\n\nSo.\n" in body


def test_a_transcript_shows_what_was_typed_and_when(home: Home, tmp_path: Path) -> None:
    query = "<timestamp>Monday, Apr 27, 2026, 9:14 AM (UTC+2)</timestamp>\n<user_query>\nWhy?\n</user_query>"
    call = {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}
    lines = [
        {"role": "user", "message": {"content": [{"type": "text", "text": query}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "[REDACTED]"}, call]}},
        {"type": "turn_ended", "status": "success"},
    ]
    path = tmp_path / "projects/home-me-api/agent-transcripts/a1/a1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert ingest(home, tmp_path).unknown == {}
    meta, body = document(home, "a1")
    assert (meta["date"], meta["project_slug"]) == ("2026-04-27T07:14:00Z", "home-me-api")
    assert body == "# Why?\n\n## [1] user · 2026-04-27 07:14\n\nWhy?\n\n## [2] assistant\n\n- Shell: ls\n"


def test_a_text_transcript_is_read(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "projects/p/agent-transcripts/a1.txt"
    path.parent.mkdir(parents=True)
    path.write_text(
        "user:\n<user_query>\nWhy?\n</user_query>\n\nassistant:\n[Thinking] Two readers.\nI look.\n"
        "[Tool call] Shell\n  command: npm test\n  description: Test\n[Tool result] Shell\nsecret output\n\n"
        "assistant:\nBoth read it.\n"
    )
    (tmp_path / "projects/p/notes.txt").write_text("user:\nnothing to do with it\n")
    ledger = ingest(home, tmp_path)
    assert (ledger.seen, ledger.ingested) == (1, 1)
    body = document(home, "a1")[1]
    assert "- Shell: npm test  # Test\n\nBoth read it.\n" in body
    assert "secret output" not in body
    assert "## [1] user\n\nWhy?\n" in body


def test_a_subagents_transcript_names_its_parent(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "agent-transcripts/a1/subagents/b2.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"role": "user", "message": {"content": "Find it"}}) + "\n")
    ingest(home, tmp_path)
    assert document(home, "b2")[0]["parent"] == "a1"


@settings(max_examples=15)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "text", "thinking", "toolFormerData", "params", "name", "createdAt", "richText",
                         "conversation", "bubbleId", "fullConversationHeadersOnly", "tokenCount", "error"]),
        inner, max_size=5), max_leaves=20))  # fmt: skip
def test_no_shape_of_a_row_stops_the_database(tmp_path_factory: pytest.TempPathFactory, odd: Any) -> None:
    rows = {
        "composerData:c0": odd,
        "composerData:c1": {"fullConversationHeadersOnly": [{"bubbleId": "b1"}, odd]},
        "bubbleId:c1:b1": {"type": 1, "text": "Still here"},
        "bubbleId:c1:b2": odd,
    }
    path = database(tmp_path_factory.getbasetemp() / "state.vscdb", "cursorDiskKV", rows)
    found = list(documents(cursor.SOURCE, str(path)))
    assert any(isinstance(entry, Document) and "Still here" in entry.body for entry in found)


def test_every_sample_is_accounted_for(home: Home, shared: Path) -> None:
    place = shared / "samples/cursor-synthetic"
    first = ingest(home, place)
    names = ("*.vscdb", "store.db", "*.jsonl", "*/agent-transcripts/*.txt")
    assert first.seen == len({path for name in names for path in place.rglob(name)} | set(place.rglob("*store.db")))
    assert first.ingested + sum(first.skipped.values()) == first.seen
    assert (first.failed_files, first.failed_records) == (0, 0)
    assert ingest(home, place).written == 0


def transcript(folder: Path, name: str, *records: Record) -> Path:
    path = folder / f"projects/home-me-api/agent-transcripts/{name}/{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def spoke(role: str, *content: Any) -> Record:
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return {"role": role, "message": {"content": parts}}


@pytest.mark.parametrize(
    ("of", "lines"),
    [
        ({"result": '{"output": "boom\\n", "exitCodeV2": 2}'}, "  ! Exit code 2\n  ! boom\n"),
        ({"result": {"output": "boom", "exitCode": 2}}, "  ! Exit code 2\n  ! boom\n"),
        ({"result": '{"output": "", "rejected": true, "exitCodeV2": 1}'}, "  rejected by the user\n"),
        ({"error": '{"clientVisibleErrorMessage": "", "modelVisibleErrorMessage": "no such"}'}, "  ! no such\n"),
        ({"result": '{"output": "fine", "exitCodeV2": 0}'}, "\n"),
    ],
)
def test_what_became_of_a_call_stands_under_it(home: Home, tmp_path: Path, of: Record, lines: str) -> None:
    tool = {"name": "run_terminal_command_v2", "params": '{"command": "make"}', "status": "completed", **of}
    rows = {
        "composerData:c1": {
            "createdAt": AT,
            "fullConversationHeadersOnly": [{"bubbleId": n} for n in ("b1", "b2", "b3")],
        },
        "bubbleId:c1:b1": {"type": 1, "text": "Go", "createdAt": AT + 1000},
        "bubbleId:c1:b2": {"type": 2, "text": "", "toolFormerData": tool, "createdAt": AT + 2000},
        "bubbleId:c1:b3": {"type": 2, "text": "So.", "toolFormerData": {"additionalData": {}}, "createdAt": AT + 3000},
    }
    database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    assert ingest(home, tmp_path).unknown == {}
    body = document(home, "c1")[1]
    assert f"- run_terminal_command_v2: make\n{lines}" in body
    assert body.count("\n- ") == 1


def test_a_conversation_and_its_transcript_say_each_thing_once(home: Home, tmp_path: Path) -> None:
    heads = [{"bubbleId": name} for name in ("b1", "b2", "b3", "b4")]
    tool = {"name": "run_terminal_cmd", "params": '{"command": "npm test"}', "status": "completed"}
    rows = {
        "composerData:c1": {"name": "The race", "createdAt": AT, "fullConversationHeadersOnly": heads},
        "bubbleId:c1:b1": {"type": 1, "text": "continue", "createdAt": AT + 1000},
        "bubbleId:c1:b2": {"type": 2, "text": "", "toolFormerData": tool, "createdAt": AT + 2000},
        "bubbleId:c1:b3": {"type": 2, "text": "Both  read it.", "createdAt": AT + 3000},
        "bubbleId:c1:b4": {"type": 1, "text": "continue", "createdAt": AT + 4000},
    }
    database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    ran = {"type": "tool_use", "name": "Shell", "input": {"command": "npm test"}}
    late = {"type": "tool_use", "name": "Shell", "input": {"command": "npm run late"}}
    transcript(
        tmp_path, "c1", spoke("user", "<user_query>\ncontinue\n</user_query>"), spoke("assistant", ran),
        spoke("assistant", "Both read it.\n\n[REDACTED]"), spoke("user", "<user_query>continue</user_query>"),
        spoke("assistant", "Not in the database.", late), {"type": "turn_ended", "status": "success"},
    )  # fmt: skip
    ledger = ingest(home, tmp_path)
    assert (ledger.documents, ledger.unknown) == (1, {})
    meta, body = document(home, "c1")
    assert meta.get("surface") is None
    said = ("continue", "npm test", "Both read it.", "Not in the database.", "npm run late", "[REDACTED]")
    body = " ".join(body[body.index("## [1]") :].split())
    assert [body.count(text) for text in said] == [2, 1, 1, 1, 1, 0]
    assert ingest(home, tmp_path).written == 0
    before = corpus(home)
    run(home, "cursor", trust_stat=False, rebuild=True, from_archive=True)
    assert corpus(home) == before


def test_what_the_editor_says_in_a_persons_place_is_nobodys_words(home: Home, tmp_path: Path) -> None:
    heads = [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b2", "type": 1, "grouping": {"isSimulatedMsg": True}}]
    rows = {
        "composerData:c1": {"createdAt": AT, "fullConversationHeadersOnly": [*heads, {"bubbleId": "b3", "type": 1}]},
        "bubbleId:c1:b1": {"type": 1, "text": "Why does it fail?", "isSimulatedMsg": False, "createdAt": AT + 1000},
        "bubbleId:c1:b2": {"type": 1, "text": "Implement the plan.", "createdAt": AT + 2000},
        "bubbleId:c1:b3": {"type": 1, "text": "Go on with it.", "isSimulatedMsg": True, "simulatedMsgReason": 31},
        "bubbleId:c1:b4": {"type": 2, "text": "So.", "createdAt": AT + 4000},
    }
    database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    made_up = [
        spoke("user", f"<user_query>\n{text}\n</user_query>") for text in ("Implement the plan.", "Go on with it.")
    ]
    transcript(tmp_path, "c1", spoke("user", "<user_query>Why does it fail?</user_query>"), *made_up)
    assert ingest(home, tmp_path).unknown == {}
    body = document(home, "c1")[1]
    assert body.count("Why does it fail?") == 2
    assert "Implement the plan." not in body
    assert "Go on with it." not in body


@pytest.mark.parametrize(("spoken", "project"), [("/home/me/my.api/src/a.py", "/home/me/my.api"),
    ("/home/me/my-api", "/home/me/my-api"), ("/home/me/my-apis/a.py", None)])  # fmt: skip
def test_a_path_that_a_project_is_named_after_is_the_project(
    home: Home, tmp_path: Path, spoken: str, project: str | None
) -> None:
    path = tmp_path / "projects/home-me-my-api/agent-transcripts/c4/c4.jsonl"
    path.parent.mkdir(parents=True)
    said = [{"type": "text", "text": "I look."}, {"type": "tool_use", "name": "Read", "input": {"path": spoken}}]
    path.write_text(json.dumps({"role": "assistant", "message": {"content": said}}) + "\n")
    ingest(home, tmp_path)
    meta = document(home, "c4")[0]
    assert (meta.get("project"), meta["project_slug"]) == (project, "home-me-my-api")


def test_a_transcript_of_other_forms_is_read(home: Home, tmp_path: Path) -> None:
    asked = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "Why nested?"}]}}
    transcript(tmp_path, "c2", asked, {"role": "assistant", "content": "Flat it is."})
    assert ingest(home, tmp_path).unknown == {}
    body = document(home, "c2")[1]
    assert "Why nested?" in body
    assert "Flat it is." in body


def test_a_field_of_a_message_that_is_not_known_is_counted(home: Home, tmp_path: Path) -> None:
    said = {"content": [{"type": "text", "text": "Why?"}], "aura": "words"}
    transcript(tmp_path, "c2", {"role": "user", "message": said}, {"role": "assistant", "message": "So."})
    unknown = ingest(home, tmp_path).unknown
    assert [(what, found["count"], found["shape"]) for what, found in unknown.items()] == [
        ("message: field aura", 1, "text of 5 characters")
    ]


def test_records_whose_kind_is_no_text_cost_nothing_else(home: Home, tmp_path: Path) -> None:
    asked = {
        "role": "user",
        "message": {"content": [{"type": ["text"], "text": 5}, {"type": "text", "text": "Which?"}]},
    }
    transcript(tmp_path, "c3", {"type": {}}, {"type": ["x"]}, asked, {"role": [], "type": None})
    assert ingest(home, tmp_path).unknown["record without role"]["count"] == 3
    assert "Which?" in document(home, "c3")[1]


def test_chats_of_the_agent_are_looked_for_where_its_settings_are(home: Home, tmp_path: Path) -> None:
    places = (tmp_path / "config" / "chats", tmp_path / "xdg" / "cursor" / "chats")
    for place in places:
        place.mkdir(parents=True)
    moved = {"CURSOR_CONFIG_DIR": str(tmp_path / "config"), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    found = cursor.SOURCE.default_roots(home, moved)
    assert set(map(str, places)) <= set(found)
