"""Cursor: both generations of its editor's database, its agent's database, and agents' transcripts."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings

from core.home import Home
from core.tombstones import Tombstones
from ingest import forgetting
from ingest.archive import archive
from ingest.pipeline.run import run
from ingest.sources.cursor.parser import shell_error
from ingest.sources.cursor.source import SOURCE
from tests.examples import examples
from tests.ingest.archive.test_rows import again
from tests.ingest.sources.cases import Case, cases, check, document, ingest, odd_values, parsed
from tests.ingest.transcripts import corpus

AT = 1_777_367_643_000
Record = dict[str, Any]


def database(path: Path, table: str, rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    with connection:
        connection.execute(f"create table if not exists {table}(key text unique, value blob)")
        for key, value in rows.items():
            held = value if value is None or isinstance(value, str) else json.dumps(value).encode()
            connection.execute(f"insert or replace into {table} values(?, ?)", (key, held))
    connection.close()
    return path


def transcript(folder: Path, name: str, *records: Record) -> Path:
    path = folder / f"projects/home-me-api/agent-transcripts/{name}/{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def spoke(role: str, *content: Any) -> Record:
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return {"role": role, "message": {"content": parts}}


def asked(text: str, **more: Any) -> Record:
    return {"role": "user", "content": [{"type": "text", "text": f"<user_query>\n{text}\n</user_query>"}], **more}


def answered(text: str) -> Record:
    return {"role": "assistant", "id": "1", "content": [{"type": "text", "text": text}]}


def field(number: int, data: bytes) -> bytes:
    """Return a length-delimited field of a protobuf."""
    return bytes((number << 3 | 2, len(data))) + data


class Store:
    """A database of the agent's; blobs are named by their hash."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.path = folder / "store.db"
        self._connection = apsw.Connection(str(self.path))
        self._connection.execute("pragma synchronous = off")
        self._connection.execute("create table blobs(id text primary key, data blob)")
        self._connection.execute("create table meta(key text primary key, value text)")

    def put(self, data: bytes | Record) -> bytes:
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        name = hashlib.sha256(raw).digest()
        self._connection.execute("insert or replace into blobs values(?, ?)", (name.hex(), raw))
        return name

    def list(self, *messages: Record) -> bytes:
        return b"".join(field(1, self.put(message)) for message in messages)

    def close(self, root: bytes, **about: Any) -> Path:
        value = {"agentId": "a1", "latestRootBlobId": self.put(root).hex(), "createdAt": AT, **about}
        self._connection.execute("insert into meta values('0', ?)", (json.dumps(value).encode().hex(),))
        self._connection.close()
        return self.path


def written(folder: Path, case: Case) -> Path:
    """Write the file of a case: rows of the editor's database, the agent's messages, or a transcript.

    In a transcript a text is a user's message, and null the assistant's "So.".
    """
    if "rows" in case:
        path = database(folder / "globalStorage/state.vscdb", "cursorDiskKV", case["rows"])
        if "headers" in case:
            connection = apsw.Connection(str(path))
            connection.execute("create table composerHeaders(composerId text primary key, value text)")
            rows = [(name, head and json.dumps(head)) for name, head in case["headers"].items()]
            connection.executemany("insert into composerHeaders values(?, ?)", rows)
            connection.close()
        return path
    if "messages" in case:
        store = Store(folder / "chats/h/a1")
        return store.close(store.list(*case["messages"]), name="Builds", lastUsedModel="default")
    path = folder / str(case.get("path", "projects/home-me-my-api/agent-transcripts/a1/a1.jsonl"))
    path.parent.mkdir(parents=True)
    speakers = ((spoke("user", each) if each else spoke("assistant", "So.")) if not isinstance(each, dict) else each
        for each in case["records"])  # fmt: skip
    path.write_text("".join(json.dumps(record) + "\n" for record in speakers))
    return path


@pytest.mark.parametrize("case", cases("cursor"))
def test_a_conversation_says(tmp_path: Path, case: Case) -> None:
    check(case, parsed(SOURCE, written(tmp_path, case)))


# The editor's database


@pytest.mark.parametrize("head", ["absent", None, "{torn"])
def test_bubbles_without_their_conversations_head_are_a_conversation(
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
    assert ingest(home, "cursor", tmp_path).documents == 2
    meta, body = document(home, "cursor__c1")
    assert meta["date"] == "2026-04-28T09:14:05Z"
    assert body.index("Why does it fail?") < body.index("Both read it.")
    assert "Of another" not in body
    before = corpus(home)
    path.unlink()
    run(home, "cursor", trust_stat=False, from_archive=True)
    assert corpus(home) == before


def test_a_conversation_that_loses_its_head_keeps_what_was_known_of_it(home: Home, tmp_path: Path) -> None:
    heads = [{"bubbleId": "b2"}, {"bubbleId": "b1"}]
    rows: dict[str, Any] = {
        "composerData:c1": {"name": "The race", "createdAt": AT, "fullConversationHeadersOnly": heads},
        "bubbleId:c1:b1": {"type": 2, "text": "Both read it."},
        "bubbleId:c1:b2": {"type": 1, "text": "Why does it fail?"},
    }
    path = database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    os.utime(path, ns=(AT * 10**6, AT * 10**6))
    ingest(home, "cursor", tmp_path)
    before = corpus(home)
    database(path, "cursorDiskKV", {"composerData:c1": None})
    os.utime(path, ns=(AT * 10**6, AT * 10**6 + 1000))  # a change within the second that documents show
    for _ in range(2):
        ingest(home, "cursor", tmp_path)
        assert corpus(home) == before
    database(path, "cursorDiskKV", {"bubbleId:c1:b3": {"type": 1, "text": "And now?", "createdAt": AT}})
    ingest(home, "cursor", tmp_path)
    assert "And now?" in document(home, "cursor__c1")[1]


def test_answers_of_several_models_are_a_persons_conversations_and_lead_to_the_first(tmp_path: Path) -> None:
    rows: dict[str, Any] = {}
    sub = {"isBestOfNSubcomposer": True, "subagentInfo": {"parentComposerId": "c1"}}
    for name, fields in (("c1", {"isBestOfNParent": True}), ("c2", sub), ("c3", {**sub, "bestOfNJudgeWinner": True})):
        heads = [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b2", "type": 2}]
        rows[f"composerData:{name}"] = {"createdAt": AT, "fullConversationHeadersOnly": heads, **fields}
        rows[f"bubbleId:{name}:b1"] = {"type": 1, "text": "Mend the lock"}
        rows[f"bubbleId:{name}:b2"] = {"type": 2, "text": f"As {name} would."}
    found = parsed(SOURCE, database(tmp_path / "state.vscdb", "cursorDiskKV", rows)).documents
    fields_of = [[meta.get(key) for key in ("forked_from", "judged_best", "best_of_n")] for meta, _ in found.values()]
    assert fields_of == [[None, None, None], ["c1", None, True], ["c1", True, True]]
    assert all("## [1] user" in body and f"As {name} would." in body for name, (_, body) in found.items())


def test_the_first_generation_is_inline_in_the_workspaces_database(tmp_path: Path) -> None:
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
    found = parsed(SOURCE, path)
    assert (set(found.documents), found.reading.failures) == ({"c1", "t1", "prompts-abc"}, [])
    meta, body = found.documents["c1"]
    assert (meta["project"], "Why?\n\n## [2] assistant\n\nSo.\n" in body) == ("/home/me/my api", True)
    meta, body = found.documents["t1"]
    assert (meta["title"], meta["models"], "Thus." in body) == ("A chat", ["gpt-4"], True)
    body = found.documents["prompts-abc"][1]
    assert ("Only a prompt" in body, "Why?" in body) == (True, False)


def test_a_workspace_of_the_second_generation_adds_nothing(tmp_path: Path) -> None:
    rows = {"composer.composerData": {"allComposers": [{"composerId": "c1"}]}, "aiService.prompts": [{"text": "Why?"}]}
    path = database(tmp_path / "workspaceStorage/abc/state.vscdb", "ItemTable", rows)
    assert parsed(SOURCE, path).reading.skipped == "no conversation in this database"


@settings(max_examples=examples(15))
@given(
    odd_values(
        "type text thinking toolFormerData params name createdAt richText conversation bubbleId"
        " fullConversationHeadersOnly tokenCount error"
    )
)
def test_no_shape_of_a_row_stops_the_database(tmp_path_factory: pytest.TempPathFactory, odd: Any) -> None:
    rows = {
        "composerData:c0": odd,
        "composerData:c1": {"fullConversationHeadersOnly": [{"bubbleId": "b1"}, odd]},
        "bubbleId:c1:b1": {"type": 1, "text": "Still here"},
        "bubbleId:c1:b2": odd,
    }
    path = database(tmp_path_factory.getbasetemp() / "state.vscdb", "cursorDiskKV", rows)
    assert "Still here" in parsed(SOURCE, path).documents["c1"][1]


# A conversation in the editor's database and in a transcript


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
    ledger = ingest(home, "cursor", tmp_path)
    assert (ledger.documents, ledger.unknown) == (1, {})
    meta, body = document(home, "cursor__c1")
    assert meta.get("surface") is None
    texts = ("continue", "npm test", "Both read it.", "Not in the database.", "npm run late", "[REDACTED]")
    body = " ".join(body[body.index("## [1]") :].split())
    assert [body.count(text) for text in texts] == [2, 1, 1, 1, 1, 0]
    assert ingest(home, "cursor", tmp_path).written == 0
    before = corpus(home)
    run(home, "cursor", trust_stat=False, rebuild=True, from_archive=True)
    assert corpus(home) == before


def test_prompts_that_the_editor_made_up_are_nobodys_words(home: Home, tmp_path: Path) -> None:
    heads = [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b2", "type": 1, "grouping": {"isSimulatedMsg": True}}]
    rows = {
        "composerData:c1": {"createdAt": AT, "fullConversationHeadersOnly": [*heads, {"bubbleId": "b3", "type": 1}]},
        "bubbleId:c1:b1": {"type": 1, "text": "Why does it fail?", "isSimulatedMsg": False, "createdAt": AT + 1000},
        "bubbleId:c1:b2": {"type": 1, "text": "Implement the plan.", "createdAt": AT + 2000},
        "bubbleId:c1:b3": {"type": 1, "text": "Go on with it.", "isSimulatedMsg": True, "simulatedMsgReason": 31},
        "bubbleId:c1:b4": {"type": 2, "text": "So.", "createdAt": AT + 4000},
    }
    database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    texts = ("Why does it fail?", "Implement the plan.", "Go on with it.")
    transcript(tmp_path, "c1", *(spoke("user", f"<user_query>\n{text}\n</user_query>") for text in texts))
    assert ingest(home, "cursor", tmp_path).unknown == {}
    body = document(home, "cursor__c1")[1]
    assert [body.count(text) for text in texts] == [2, 0, 0]  # the prompt is also the title


# Transcripts for people to read


def test_a_text_transcript_is_read(tmp_path: Path) -> None:
    path = tmp_path / "projects/p/agent-transcripts/a1.txt"
    path.parent.mkdir(parents=True)
    path.write_text(
        "user:\n<user_query>\nWhy?\n</user_query>\n\nassistant:\n[Thinking] Two readers.\nI look.\n"
        "[Tool call] Shell\n  command: npm test\n  description: Test\n[Tool result] Shell\nsecret output\n\n"
        "assistant:\nBoth read it.\n[Tool call] Shell\n  command: npm test\n    -- auth\n[Tool result] Shell\n"
    )
    (tmp_path / "projects/p/notes.txt").write_text("user:\nnothing to do with it\n")
    assert [file.path for file in SOURCE.discover([str(tmp_path)])] == [str(path)]
    body = parsed(SOURCE, path).documents["a1"][1]
    assert "- Shell: npm test  # Test\n\nBoth read it.\n" in body
    assert "  npm test\n  -- auth\n" in body
    assert "secret output" not in body
    assert "## [1] user\n\nWhy?\n" in body


# The agent's database


def test_messages_that_a_summary_replaced_are_kept_and_the_summary_is_nobodys_words(home: Home, tmp_path: Path) -> None:
    store = Store(tmp_path / "there/chats/h/a1")
    handed = {
        "role": "user",
        "content": [{"type": "text", "text": "[Previous conversation summary]: They talked."}],
        "providerOptions": {"cursor": {"isSummary": True}},
    }
    older = {"role": "user", "content": [{"type": "text", "text": " <summary>They had met.</summary>"}]}
    one = store.put(store.list(asked("First?"), answered("One.")) + field(2, b"They had met."))
    two = store.put(store.list(older, asked("Second?"), answered("Two.")))
    live = store.list({"role": "system", "content": "Be good."}, handed, asked("Third?"), answered("Three."))
    size = field(5, b"\x08\x9b\x60\x10\xc0\x9a\x0c")
    windows = field(13, one) + field(13, two)
    store.close(live + size + field(9, b"file:///home/me/my%20api") + b"\x50\x01" + windows, name="The race")
    ledger = ingest(home, "cursor", tmp_path / "there")
    assert (ledger.failed_records, ledger.unknown) == (0, {})
    meta, body = document(home, "cursor__a1")
    assert (meta["title"], meta["project"], meta["turns"]) == ("The race", "/home/me/my api", 8)
    assert (meta["date"], meta["surface"]) == ("2026-04-28T09:14:03Z", "agent")
    texts = ("First?", "One.", "Second?", "Two.", "They talked.", "Third?", "Three.")
    assert [body.index(text) for text in texts] == sorted(body.index(text) for text in texts)
    assert [text for text in ("user\n\nThey had met", "[Previous conversation") if text in body] == []
    before = corpus(home)
    assert again(home, tmp_path / "there", "cursor") == before, "the archive keeps what the root and its windows name"


@pytest.mark.parametrize("root", [b"", b"\x0a", b"\x0a\xff\xff\xff", b"\xff" * 40, b"\n a text after a blank"])
def test_a_root_that_is_no_protobuf_leaves_the_messages_in_the_order_of_the_table(tmp_path: Path, root: bytes) -> None:
    store = Store(tmp_path / "a1")
    store.list(asked("First?"), answered("One."))
    body = parsed(SOURCE, store.close(root)).documents["a1"][1]
    assert body.index("First?") < body.index("One.")


@pytest.mark.parametrize(("text", "code"), [("2", 2), ("-1", -1), ("0", 0),
    ("3221225477", 3221225477), ("--5", 0), ("²", 0), ("٣", 0), ("", 0),
    pytest.param("9" * 5000, 0, id="many")])  # fmt: skip
def test_an_exit_code_is_a_number(text: str, code: int) -> None:
    assert shell_error("Shell", f"Exit code: {text}\nx") == (f"Exit code {code}\nx" if code else "")


def test_the_file_beside_the_database_names_the_conversation_and_is_forgotten_with_it(
    home: Home, tmp_path: Path
) -> None:
    store = Store(tmp_path / "chats/h/a1")
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "Shell", "args": {"command": "make"}}
    model = {"cursor": {"modelName": "composer-2.5"}}
    parts = [{"type": "redacted-reasoning", "data": "x", "providerOptions": model}, call]
    failed = {
        "role": "tool",
        "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "Shell", "result": "Exit code: 2"}],
        "providerOptions": {"cursor": {"highLevelToolCallResult": {"isError": True, "output": {}}}},
    }
    nudge = {**asked("Do not loop"), "providerOptions": {"cursor": {"loopReminder": True}}}
    prompt = asked("Build it", createdAt=AT + 60_000)
    root = store.list(prompt, {"role": "assistant", "content": parts}, failed, nudge)
    store.close(root, name="New Agent", lastUsedModel="default")
    beside = {"schemaVersion": 1, "title": "A build", "cwd": "/home/me/api", "updatedAtMs": AT + 120_000}
    (tmp_path / "chats/h/a1/meta.json").write_text(json.dumps(beside))
    ingest(home, "cursor", tmp_path)
    assert {entry.version for entry in archive.versions(home, "cursor")} == {0, archive.COMPANION}
    meta, body = document(home, "cursor__a1")
    assert (meta["title"], meta["project"], meta["models"]) == ("A build", "/home/me/api", ["composer-2.5"])
    assert (meta["turns"], meta["ended"]) == (2, "2026-04-28T09:16:03Z")
    for text in ("user · 2026-04-28 09:15\n\nBuild it", "- Shell: make\n", "  ! Exit code 2\n"):
        assert text in body
    forgetting.erase(home, "cursor", forgetting.look(home, "cursor", {"a1"}))
    assert archive.versions(home, "cursor") == []
    Tombstones(home).add([("cursor", "a1")])
    run(home, "cursor", [str(tmp_path)], trust_stat=False, rebuild=True)
    assert archive.versions(home, "cursor") == []


def test_chats_that_an_editor_starts_have_a_folder_of_their_own(home: Home) -> None:
    folder = Path(os.environ["HOME"]) / ".cursor/acp-sessions/a1"
    store = Store(folder)
    turns = field(8, store.put(field(1, field(1, store.put(field(1, b"Where is the walrus?"))))))
    store.close(store.list(asked("Where is the walrus?"), answered("On the ice.")) + turns, name="New Agent")
    (folder / "meta.json").write_text(json.dumps({"schemaVersion": 1, "cwd": "/home/me/shop", "title": "The walrus"}))
    (folder.parent / "probe").mkdir()
    (folder.parent / "probe/meta.json").write_text(json.dumps({"schemaVersion": 1, "cwd": "/home/me/shop"}))
    ledger = run(home, "cursor", trust_stat=True)
    assert (ledger.ingested, ledger.documents, ledger.failed_files, ledger.unknown) == (1, 1, 0, {})
    meta, body = document(home, "cursor__a1")
    assert (meta["title"], meta["project"], meta["turns"]) == ("The walrus", "/home/me/shop", 2)
    assert "On the ice." in body


# Files


def test_chats_of_the_agent_are_looked_for_where_its_settings_are(home: Home, tmp_path: Path) -> None:
    places = (tmp_path / "config" / "chats", tmp_path / "xdg" / "cursor" / "chats")
    for place in places:
        place.mkdir(parents=True)
    moved = {"CURSOR_CONFIG_DIR": str(tmp_path / "config"), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    found = SOURCE.default_roots(home, moved)
    assert set(map(str, places)) <= set(found)


def test_every_sample_is_accounted_for(home: Home, shared: Path) -> None:
    place = shared / "samples/cursor-synthetic"
    first = ingest(home, "cursor", place)
    names = ("*.vscdb", "store.db", "*.jsonl", "*/agent-transcripts/*.txt")
    assert first.seen == len({path for name in names for path in place.rglob(name)} | set(place.rglob("*store.db")))
    assert first.ingested + sum(first.skipped.values()) == first.seen
    assert (first.failed_files, first.failed_records) == (0, 0)
    assert ingest(home, "cursor", place).written == 0
