"""JetBrains AI Assistant: chats in the file of a workspace, and tasks of agents."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given

from core.home import Home
from ingest import registry
from ingest.pipeline.run import run
from tests.ingest.sources.cases import document, ingest, odd_values, parsed, roles
from tests.ingest.transcripts import corpus
from tests.unpacked import everything

Record = dict[str, Any]
_PACKAGE = "com.intellij.ml.llm.chat.shared."


def _option(name: str, value: str) -> str:
    return f"<option name={quoteattr(name)} value={quoteattr(value)}/>"


def chat(uid: str, *messages: tuple[str, str], model: str = "openai-gpt-5", title: str = "The lock") -> str:
    said = "".join(
        f"<SerializedChatMessage>{_option('author', author) if author else ''}{_option('displayContent', text)}"
        "</SerializedChatMessage>"
        for author, text in messages
    )
    start = f"<ChatStatisticInformation>{_option('timestamp', '1777367643000')}</ChatStatisticInformation>"
    return (
        f"<SerializedChat>{_option('uid', uid)}{_option('chatModelId', model)}{_option('modifiedAt', '1777367703000')}"
        f'<option name="title"><SerializedChatTitle>{_option("text", title)}</SerializedChatTitle></option>'
        f'<option name="statisticInformation">{start}</option>'
        f'<option name="messages"><list>{said}</list></option></SerializedChat>'
    )


def workspace(path: Path, *chats: str, before: str = '<component name="Windows"><x y="secret"/></component>') -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    held = f'<component name="ChatSessionStateTemp"><option name="chats"><list>{"".join(chats)}</list></option>'
    path.write_text(f'<?xml version="1.0"?>\n<project version="4">{before}{held}</component></project>\n')
    return path


def task(path: Path, *events: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [b"AUI_EVENTS_V1", *(base64.b64encode(json.dumps(event).encode()) for event in events)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def asked(text: str) -> Record:
    return {"type": f"{_PACKAGE}ChatSessionUserPromptEvent", "prompt": text}


def block(kind: str, step: str = "1", **fields: Any) -> Record:
    event = {"kind": f"com.intellij.ml.llm.aui.events.api.{kind}", "stepId": step, **fields}
    return {"type": f"{_PACKAGE}ChatSessionMessageBlockEvent", "event": event}


SAID = (("", "Mend the lock"), ("Assistant", "I look.\n<llm-snippet-file>a.py</llm-snippet-file>\nMended."))


def test_a_chat_shows_words_and_the_folder_of_its_project(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    product = tmp_path / "JetBrains/PyCharm2026.2"
    workspace(product / "workspace/w1.xml", chat("c1", *SAID))
    (product / "options").mkdir()
    entry = '<entry key="$USER_HOME$/api"><value><RecentProjectMetaInfo projectWorkspaceId="w1"/></value></entry>'
    (product / "options/recentProjects.xml").write_text(
        f'<application><component name="RecentProjectsManager"><map>{entry}</map></component></application>'
    )
    ingest(home, "jetbrains", tmp_path)
    meta, body = document(home, "jetbrains__c1")
    assert (meta["title"], meta["project"], meta["models"]) == ("The lock", "/home/me/api", ["openai-gpt-5"])
    assert (meta["date"], meta["ended"]) == ("2026-04-28T09:14:03Z", "2026-04-28T09:15:03Z")
    assert (roles(body), "Mended." in body, "a.py" in body) == (["user", "assistant"], True, False)
    assert b"secret" not in everything(home), "the rest of the workspace is the editor's"


def test_a_workspace_without_chats_says_so(home: Home, tmp_path: Path) -> None:
    (tmp_path / "w1.xml").write_text('<project version="4"><component name="Windows"/></project>')
    assert ingest(home, "jetbrains", tmp_path).skipped == {"no chats of AI Assistant in this workspace": 1}


def test_a_chat_that_its_workspace_has_lost_stays(home: Home, tmp_path: Path) -> None:
    path = workspace(tmp_path / "w1.xml", chat("c1", *SAID), chat("c2", ("", "Oil the hinge"), ("Assistant", "Oiled.")))
    ingest(home, "jetbrains", tmp_path)
    workspace(path, chat("c2", ("", "Oil the hinge"), ("Assistant", "Oiled."), ("", "Again")))
    ingest(home, "jetbrains", tmp_path)
    assert sorted(corpus(home)) == ["jetbrains__c1.md", "jetbrains__c2.md"]
    made = corpus(home)
    path.unlink()
    assert run(home, "jetbrains", from_archive=True, trust_stat=False).failed_files == 0
    assert corpus(home) == made


def test_a_task_shows_each_block_as_it_was_in_the_end(home: Home, tmp_path: Path) -> None:
    task(
        tmp_path / "aia-task-history/t1.events",
        asked("Mend the lock"),
        block("AgentThoughtBlockUpdatedEvent", text="Hm."),
        block("MarkdownBlockUpdatedEvent", "2", textChunk="I run "),
        block("TerminalBlockUpdatedEvent", "3", command="npm test", status="IN_PROGRESS"),
        block("MarkdownBlockUpdatedEvent", "2", textChunk="it."),
        block("TerminalBlockUpdatedEvent", "3", command="npm test", status="FAILED", output="1 failed"),
        asked("Again"),
        block("FileChangesBlockUpdatedEvent", "4", changes=[{"afterRelativePath": "lock.py"}]),
        {"type": f"{_PACKAGE}SongEvent"},
    )
    ledger = ingest(home, "jetbrains", tmp_path)
    assert list(ledger.unknown) == ["event SongEvent"]
    _, body = document(home, "jetbrains__t1")
    assert roles(body) == ["user", "assistant", "user", "assistant"]
    assert body.index("I run it.") < body.index("- terminal: npm test\n  ! 1 failed") < body.index("lock.py")


def test_a_text_in_many_pieces_takes_no_more_time_than_its_length(home: Home, tmp_path: Path) -> None:
    piece = block("MarkdownBlockUpdatedEvent", "1", textChunk="walrus " * 500)
    task(tmp_path / "t.events", *[piece] * 6_000)
    began = time.process_time()
    assert ingest(home, "jetbrains", tmp_path).ingested == 1
    assert time.process_time() - began < 5


def test_a_task_is_left_to_the_source_that_reads_its_agents_own_session(home: Home, tmp_path: Path) -> None:
    history = tmp_path / "PyCharm2026.2/aia-task-history"
    for name, agent in (("t1", "claude-acp"), ("t2", "unheard-of")):
        task(history / f"{name}.events", asked("Mend the lock"))
        (history / f"{name}.agentsession").write_text(f"acp.registry.{agent}:5f0c\n")
    workspace(tmp_path / "PyCharm2026.2/workspace/w1.xml", chat("t2", SAID[0], model="agent_unheard-of"))
    ledger = ingest(home, "jetbrains", tmp_path)
    assert "a session of an agent's own: --source claude reads it" in ledger.skipped
    assert list(corpus(home)) == ["jetbrains__t2.md"]


def test_a_pipe_in_place_of_a_companion_holds_nothing_up(home: Home, tmp_path: Path) -> None:
    task(tmp_path / "PyCharm/aia-task-history/t1.events", asked("Mend the lock"))
    os.mkfifo(tmp_path / "PyCharm/aia-task-history/t1.agentsession")
    workspace(tmp_path / "PyCharm/workspace/w1.xml", chat("c1", *SAID))
    (tmp_path / "PyCharm/options").mkdir()
    os.mkfifo(tmp_path / "PyCharm/options/recentProjects.xml")
    assert ingest(home, "jetbrains", tmp_path).ingested == 2


def test_an_editor_that_writes_its_workspace_is_no_news() -> None:
    source = registry.source("jetbrains")
    assert (source.is_restless("/x/w1.xml"), source.is_restless("/x/t1.events")) == (True, False)


@pytest.mark.parametrize(
    "held",
    [
        f'<!DOCTYPE p [<!ENTITY a "{"x" * 100}"><!ENTITY b "{"&a;" * 100}">]><project>&b;',
        "<project>" + "<a>" * 2000,
    ],
)
def test_declarations_and_depth_outside_the_chats_cost_nothing(home: Home, tmp_path: Path, held: str) -> None:
    workspace(tmp_path / "w1.xml", chat("c1", *SAID), before=held)
    assert ingest(home, "jetbrains", tmp_path).ingested == 1


@pytest.mark.parametrize("inner", [
    '<!DOCTYPE p [<!ENTITY a "x">]>&a;', '&a;',
    "<SerializedChat><option name='a'>" + "<x><option name='a'>" * 3000 + "</option></x>" * 3000
    + "</option></SerializedChat>"])  # fmt: skip
def test_declarations_and_depth_within_them_end_in_a_count(home: Home, tmp_path: Path, inner: str) -> None:
    workspace(tmp_path / "w1.xml", inner)
    workspace(tmp_path / "w2.xml", chat("c1", *SAID))
    ledger = ingest(home, "jetbrains", tmp_path)
    assert len(ledger.skipped) + len(ledger.unknown) + ledger.failed_files == 1
    assert list(corpus(home)) == ["jetbrains__c1.md"]


@given(odd_values("type prompt event kind stepId text textChunk changes files status command"))
def test_no_shape_of_an_event_stops_the_task(tmp_path_factory: pytest.TempPathFactory, odd: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "jetbrains/t1.events"
    task(path, odd, block("ToolBlockUpdatedEvent", "1", text=odd, files=odd), {"type": odd}, asked("Still here"))
    found = parsed(registry.source("jetbrains"), path)
    assert any("Still here" in body for _, body in found.documents.values())
