"""Cursor's agent: conversations that were compacted, what lies beside its database, and words nobody typed."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import apsw
import pytest

from core.document import split
from core.home import Home
from core.tombstones import Tombstones
from ingest import forgetting
from ingest.archive import archive
from ingest.pipeline.run import run
from ingest.sources.cursor.parser import extract_user_text, shell_error
from ingest.sources.gemini.parser import shell_exit_code
from tests.ingest.archive.test_rows import again
from tests.ingest.transcripts import corpus

AT = 1_777_367_643_000
Record = dict[str, Any]
FOLLOW_UP = "Briefly inform the user about the task result and perform any follow-up actions (if needed)."


def asked(text: str, **more: Any) -> Record:
    return {"role": "user", "content": [{"type": "text", "text": f"<user_query>\n{text}\n</user_query>"}], **more}


def answered(text: str) -> Record:
    return {"role": "assistant", "id": "1", "content": [{"type": "text", "text": text}]}


def field(number: int, data: bytes) -> bytes:
    return bytes((number << 3 | 2, len(data))) + data


class Store:
    """A database of the agent's; ``names`` are of blobs that were put."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.path = folder / "store.db"
        self._connection = apsw.Connection(str(self.path))
        self._connection.execute("create table blobs(id text primary key, data blob)")
        self._connection.execute("create table meta(key text primary key, value text)")

    def put(self, data: bytes | Record) -> bytes:
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        name = hashlib.sha256(raw).digest()
        self._connection.execute("insert or replace into blobs values(?, ?)", (name.hex(), raw))
        return name

    def list(self, *messages: Record) -> bytes:
        return b"".join(field(1, self.put(message)) for message in messages)

    def close(self, root: bytes, **about: Any) -> None:
        value = {"agentId": "a1", "latestRootBlobId": self.put(root).hex(), "createdAt": AT, **about}
        self._connection.execute("insert into meta values('0', ?)", (json.dumps(value).encode().hex(),))
        self._connection.close()


def document(home: Home) -> tuple[Record, str]:
    return split(corpus(home)["cursor__a1.md"].decode())


def test_what_a_summary_replaced_is_kept_and_the_summary_is_nobodys_words(home: Home, tmp_path: Path) -> None:
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
    ledger = run(home, "cursor", [str(tmp_path / "there")], trust_stat=False)
    assert (ledger.failed_records, ledger.unknown) == (0, {})
    meta, body = document(home)
    assert (meta["project"], meta["turns"], meta["date"]) == ("/home/me/my api", 8, "2026-04-28T09:14:03Z")
    places = [body.index(text) for text in ("First?", "One.", "Second?", "Two.", "Third?", "Three.")]
    assert places == sorted(places)
    assert "user\n\nThey had met" not in body
    assert "[Previous conversation" not in body
    assert body.index("Two.") < body.index("They talked.") < body.index("Third?")
    before = corpus(home)
    assert again(home, tmp_path / "there", "cursor") == before, "the archive keeps what the root and its windows name"


def test_a_root_that_is_no_protobuf_leaves_the_messages_as_they_lie(home: Home, tmp_path: Path) -> None:
    for number, root in enumerate(
        (b"", b"\x0a", b"\x0a\xff\xff\xff", b"\xff" * 40, b"\n a text that begins with a blank")
    ):
        store = Store(tmp_path / f"{number}/a1")
        store.list(asked("First?"), answered("One."))
        store.close(root, agentId=f"a{number}")
    assert run(home, "cursor", [str(tmp_path)], trust_stat=False).documents == 5
    for text in corpus(home).values():
        assert b"First?" in text
        assert b"One." in text


def test_a_command_that_failed_says_so_though_nothing_else_does(home: Home, tmp_path: Path) -> None:
    store = Store(tmp_path / "chats/h/a1")

    def ran(call: str, tool: str, result: str) -> tuple[Record, Record]:
        part = {"type": "tool-call", "toolCallId": call, "toolName": tool, "args": {"command": "make"}}
        told = {"type": "tool-result", "toolCallId": call, "toolName": tool, "result": result}
        return {"role": "assistant", "content": [part]}, {"role": "tool", "content": [told]}

    text = "Exit code: {}\n\nCommand output:\n\n```\nboom\n```\n\nCommand completed in 9 ms."
    root = store.list(asked("Build it", createdAt=AT), *ran("c1", "Shell", text.format(2)),
        *ran("c2", "Shell", text.format(0)), *ran("c3", "Read", text.format(3)))  # fmt: skip
    store.close(root, name="Builds", lastUsedModel="default")
    run(home, "cursor", [str(tmp_path)], trust_stat=False)
    assert [line for line in document(home)[1].split("\n") if line.startswith("  !")] == ["  ! Exit code 2", "  ! boom"]


@pytest.mark.parametrize(("text", "code"), [("2", 2), ("-1", -1), ("0", 0),
    ("3221225477", 3221225477), ("--5", 0), ("²", 0), ("٣", 0), ("", 0),
    pytest.param("9" * 5000, 0, id="many")])  # fmt: skip
def test_an_exit_code_is_a_number_and_nothing_else_loses_the_result(text: str, code: int) -> None:
    assert shell_error("Shell", f"Exit code: {text}\nx") == (f"Exit code {code}\nx" if code else "")
    assert shell_exit_code(f"Output: x\nExit Code: {text}") == code


def test_what_lies_beside_the_database_names_the_conversation(home: Home, tmp_path: Path) -> None:
    store = Store(tmp_path / "chats/h/a1")
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "Shell", "args": {"command": "make"}}
    model = {"cursor": {"modelName": "composer-2.5"}}
    parts = [{"type": "redacted-reasoning", "data": "x", "providerOptions": model}, call]
    failed = {
        "role": "tool",
        "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "Shell", "result": "Exit code: 2"}],
        "providerOptions": {"cursor": {"highLevelToolCallResult": {"isError": True, "output": {}}}},
    }
    said = asked("Build it", createdAt=AT + 60_000)
    nudge = {**asked("Do not loop"), "providerOptions": {"cursor": {"loopReminder": True}}}
    root = store.list(said, {"role": "assistant", "content": parts}, failed, nudge)
    store.close(root, name="New Agent", lastUsedModel="default")
    beside = {"schemaVersion": 1, "title": "A build", "cwd": "/home/me/api", "updatedAtMs": AT + 120_000}
    (tmp_path / "chats/h/a1/meta.json").write_text(json.dumps(beside))
    run(home, "cursor", [str(tmp_path)], trust_stat=False)
    assert {entry.version for entry in archive.versions(home, "cursor")} == {0, archive.BESIDE}
    meta, body = document(home)
    assert (meta["title"], meta["project"], meta["models"]) == ("A build", "/home/me/api", ["composer-2.5"])
    assert (meta["turns"], meta["ended"]) == (2, "2026-04-28T09:16:03Z")
    assert "user · 2026-04-28 09:15\n\nBuild it" in body
    assert "- Shell: make\n" in body
    assert "  ! Exit code 2\n" in body
    forgetting.erase(home, "cursor", forgetting.look(home, "cursor", {"a1"}))
    assert archive.versions(home, "cursor") == []
    Tombstones(home).add([("cursor", "a1")])
    run(home, "cursor", [str(tmp_path)], trust_stat=False, rebuild=True)
    assert archive.versions(home, "cursor") == []


def test_what_the_editor_asks_after_a_task_is_nobodys_words(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "projects/p/agent-transcripts/a1/a1.jsonl"
    path.parent.mkdir(parents=True)
    note = "<system_notification>\nA task has finished.\n<task>\nkind: shell\n</task>\n</system_notification>\n"
    later = "The beginning of the above subagent result is already visible to the user. Perform any follow-up actions"
    texts = [
        "<user_query>\nWhy?\n</user_query>",
        f"{note}<user_query>{FOLLOW_UP} If there's no follow-ups needed, don't explicitly say that.</user_query>",
        f"{note}<user_query>{later} (if needed).</user_query>",
        f"{note}<user_query>Perform any necessary follow-up actions in response to the subagent completion above. If"
        " no follow-up work is needed, no further action is required.</user_query>",
        FOLLOW_UP,
    ]
    lines: list[Record] = [{"role": "user", "message": {"content": [{"type": "text", "text": text}]}} for text in texts]
    lines.append({"role": "assistant", "message": {"content": [{"type": "text", "text": "So."}]}, "timestamp": AT})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run(home, "cursor", [str(tmp_path)], trust_stat=False)
    meta, body = document(home)
    assert (meta["turns"], meta["title"]) == (2, "Why?")
    assert body == "# Why?\n\n## [1] user\n\nWhy?\n\n## [2] assistant · 2026-04-28 09:14\n\nSo.\n"


LISTS = "<available_subagent_types>\n- one\n</available_subagent_types>\n<dynamic_tools>\nlook\n</dynamic_tools>"
HOOKS = '<hooks_context description="x">\nTracked.\n</hooks_context>'
NOTED = "<timestamp>Tuesday, Apr 28, 2026, 9:14 AM (UTC)</timestamp>\n<user_query>\nPaint it\n</user_query>"
ENDED: Record = {"type": "turn_ended", "status": "success"}


@pytest.mark.parametrize(("lines", "prompts"), [
    ([NOTED, None, NOTED, LISTS, NOTED, None], 1),
    (["<user_query>Paint it</user_query>", None, HOOKS, "Paint it", None], 1),
    (["Paint it", None, "<summary>\nThey paint.\n</summary>", "Paint it"], 1),
    (["<user_query>Paint it</user_query>", None, "<user_query>Paint it</user_query>"], 2),
    ([NOTED, None, ENDED, NOTED, None, ENDED], 2),
    ([NOTED, None, LISTS, NOTED.replace("Paint it", "Stop")], 2),
    (["Paint it", None, "<system_reminder>\nBe brief.\n</system_reminder>", None, "Paint it"], 2),
    (["Paint it", None, "<system_reminder>\nBe brief.\n</system_reminder>", "Paint it"], 2),
    (["Paint it", None, LISTS, None, "Paint it"], 2),
    ([NOTED, None, NOTED, None], 2),
    ([NOTED, None, NOTED], 2),
    ([NOTED, None, NOTED, LISTS, NOTED.replace("Paint it", "Stop")], 3),
    ([NOTED, None, LISTS, NOTED.replace("9:14", "9:15")], 2),
    ([NOTED, NOTED], 1)])  # fmt: skip
def test_a_prompt_that_compacting_wrote_anew_stands_once(
    home: Home, tmp_path: Path, lines: list[Any], prompts: int
) -> None:
    said: list[Record] = [
        line
        if isinstance(line, dict)
        else {
            "role": "user" if line else "assistant",
            "message": {"content": [{"type": "text", "text": line or "So."}]},
        }
        for line in lines
    ]
    path = tmp_path / "projects/p/agent-transcripts/a1/a1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in said))
    assert run(home, "cursor", [str(tmp_path)], trust_stat=False).unknown == {}
    meta, body = document(home)
    assert body.count("] user") == prompts
    assert meta["title"] == "Paint it"
    assert "dynamic_tools" not in body
    assert "hooks_context" not in body


NAMESPACES = (
    "You have access to tools through dynamic namespaces, e.g. MCP servers, using `GetDynamicTools` and"
    " `CallDynamicTool`.\n\n## Dynamic Tool Discovery and Invocation\n\nLook first."
)


@pytest.mark.parametrize(("said", "words"), [
    (NAMESPACES, ""), (f"<dynamic_tools>\n{NAMESPACES}\n</dynamic_tools>", ""), (f"<dynamic_tools>\n{NAMESPACES}", ""),
    ('<hooks_context description="x">\nTracked.', ""),
    *((said, said) for said in (
        "You have access to tools through dynamic namespaces, how do they work?",
        "<dynamic_tools> is what I find in my log: why?",
        "<hooks_context is never closed, mend it"))])  # fmt: skip
def test_a_sentence_that_begins_like_the_editors_lists_is_a_persons(said: str, words: str) -> None:
    assert extract_user_text(said).typed == words


def test_what_an_editor_asks_of_the_agent_lies_in_a_folder_of_its_own(home: Home) -> None:
    folder = Path(os.environ["HOME"]) / ".cursor/acp-sessions/a1"
    store = Store(folder)
    turns = field(8, store.put(field(1, field(1, store.put(field(1, b"Where is the walrus?"))))))
    store.close(store.list(asked("Where is the walrus?"), answered("On the ice.")) + turns, name="New Agent")
    (folder / "meta.json").write_text(json.dumps({"schemaVersion": 1, "cwd": "/home/me/shop", "title": "The walrus"}))
    (folder.parent / "probe").mkdir()
    (folder.parent / "probe/meta.json").write_text(json.dumps({"schemaVersion": 1, "cwd": "/home/me/shop"}))
    ledger = run(home, "cursor", trust_stat=True)
    assert (ledger.ingested, ledger.documents, ledger.failed_files, ledger.unknown) == (1, 1, 0, {})
    meta, body = document(home)
    assert (meta["title"], meta["project"], meta["turns"]) == ("The walrus", "/home/me/shop", 2)
    assert "On the ice." in body
