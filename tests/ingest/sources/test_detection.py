"""A source skips the transcripts of other tools, and names the tool in the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from ingest.pipeline.run import run
from ingest.sources import detection
from tests.ingest.sources.test_codex import Rollout
from tests.ingest.sources.test_codex import save as rollout
from tests.ingest.sources.test_cursor import spoke, transcript
from tests.ingest.sources.test_pi import Tree
from tests.ingest.transcripts import Script, corpus, save, text

Record = dict[str, Any]
SAID = {"role": "user", "content": [{"type": "text", "text": "Mend the lock"}]}
DROID: list[Record] = [
    {"type": "session_start", "id": "d1", "title": "The lock", "owner": "me", "version": 2, "cwd": "/home/me"},
    {"type": "message", "id": "m1", "parentId": "d1", "timestamp": "2026-04-28T09:00:00.000Z", "message": SAID},
]
GROK: list[Record] = [
    {"type": "system", "content": "You are Grok."},
    {"type": "user", "content": [{"type": "text", "text": "Mend the lock"}], "prompt_index": 0},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}], "status": "completed"},
    {"type": "assistant", "content": "I look.", "model_id": "grok-4.5", "tool_calls": []},
    {"type": "tool_result", "tool_call_id": "c", "content": "ok"},
]


DSH: list[Record] = [
    {"type": "session", "version": 3, "id": "h1", "createdAt": 1777367643000, "cwd": "/home/me", "delegationDepth": 0},
    {"type": "user/message", "seq": 0, "time": 1777367643001, "surfaceOp": "append",
     "data": {"id": "m1", "source": {"kind": "user"}, **SAID}},
]  # fmt: skip


def lines(path: Path, records: list[Record]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def _claude(folder: Path) -> None:
    script = Script("s1")
    save(folder / "s1.jsonl", script.user("Mend the lock"), script.assistant(text("Mended.")))


def _pi(folder: Path) -> None:
    Tree().user("Mend the lock").save(folder / "s1.jsonl")


def _codex(folder: Path) -> None:
    make = Rollout()
    rollout(folder / "rollout-x.jsonl", make.meta(), *make.asked("Mend the lock"))


@pytest.mark.parametrize(
    ("source", "make", "reason"),
    [
        ("cursor", _claude, detection.CLAUDE),
        ("cursor", _pi, detection.PI),
        ("cursor", _codex, detection.CODEX),
        ("cursor", lambda folder: lines(folder / "d1.jsonl", DROID), detection.DROID),
        ("cursor", lambda folder: lines(folder / "chat_history.jsonl", GROK), detection.GROK),
        ("pi", lambda folder: lines(folder / "d1.jsonl", DROID), detection.DROID),
        ("openclaw", lambda folder: lines(folder / "d1.jsonl", DROID), detection.DROID),
        ("codex", lambda folder: lines(folder / "chat_history.jsonl", GROK), detection.GROK),
        ("codex", lambda folder: lines(folder / "d1.jsonl", DROID), detection.DROID),
        ("pi", lambda folder: lines(folder / "session.jsonl", DSH), detection.DSH),
        ("dsh", _pi, detection.PI),
        ("dsh", _claude, detection.CLAUDE),
    ],
)
def test_another_tools_transcript_is_skipped_with_its_name(
    home: Home, tmp_path: Path, source: str, make: Any, reason: str
) -> None:
    make(tmp_path)
    ledger = run(home, source, [str(tmp_path)], trust_stat=False)
    assert (ledger.skipped, ledger.unknown, ledger.failed_records) == ({reason: 1}, {}, 0)
    assert corpus(home) == {}


@pytest.mark.parametrize("odd", [{"type": "session", "id": "x", "cwd": "/"}, GROK[0], DROID[0]])
def test_another_tools_record_before_a_transcripts_own_takes_nothing_away(
    home: Home, tmp_path: Path, odd: Record
) -> None:
    lines(tmp_path / "c1.jsonl", [odd, spoke("user", "Mend the lock"), spoke("assistant", "Mended.")])
    ledger = run(home, "cursor", [str(tmp_path)], trust_stat=False)
    assert (list(corpus(home)), ledger.skipped) == (["cursor__c1.md"], {})
    assert b"Mend the lock" in corpus(home)["cursor__c1.md"]
    assert ledger.unknown, "the skipped record is counted"


def test_the_folder_of_cursors_transcripts_holds_only_transcripts(home: Home, tmp_path: Path) -> None:
    odd = {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "Why?"}}
    transcript(tmp_path, "c1", odd, spoke("assistant", "So."))
    run(home, "cursor", [str(tmp_path)], trust_stat=False)
    assert list(corpus(home)) == ["cursor__c1.md"]


@pytest.mark.parametrize("odd", [GROK[0], DROID[0]])
@pytest.mark.parametrize(("source", "make"), [("pi", _pi), ("codex", _codex)])
def test_a_header_of_its_own_counts_more_than_a_record_before_it(
    home: Home, tmp_path: Path, source: str, make: Any, odd: Record
) -> None:
    make(tmp_path)
    path = next(tmp_path.glob("*.jsonl"))
    path.write_text(json.dumps(odd) + "\n" + path.read_text())
    ledger = run(home, source, [str(tmp_path)], trust_stat=False)
    assert (ledger.ingested, ledger.skipped) == (1, {})
    assert b"Mend the lock" in next(iter(corpus(home).values()))
    assert ledger.unknown, "the skipped record is counted"


@pytest.mark.parametrize("record", [{}, {"type": None}, {"type": ["session"]}, {"type": "session"}, {"type": "user"}])
def test_a_record_without_a_tools_mark_is_nobodys(record: Record) -> None:
    assert detection.detect_tool(record) == ""
