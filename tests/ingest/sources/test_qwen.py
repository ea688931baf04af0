"""Qwen Code: one document a session, from a journal of records, or from the files that it wrote as Gemini CLI does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from core.home import Home
from ingest.sources.qwen.source import SOURCE
from tests.ingest.sources.cases import Case, cases, check, document, ingest, odd_values, parsed

Record = dict[str, Any]


def journal(path: Path, *records: Any) -> Path:
    """Write a journal; a record is (type, parts), (type, parts, more fields), or a whole one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        for number, given_record in enumerate(records):
            record = given_record
            if isinstance(record, list) and len(record) > 1:
                kind, parts, *more = record
                record = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s1"}
                record |= {"timestamp": f"2026-04-28T09:00:{number:02}.000Z", "type": kind, "version": "0.9.0"}
                record |= {"cwd": "/home/me/api", "gitBranch": "main", "message": {"role": "user", "parts": parts}}
                record |= more[0] if more else {}
            stream.write(json.dumps(record) + "\n")
    return path


@pytest.mark.parametrize("case", cases("qwen"))
def test_a_journal_says(tmp_path: Path, case: Case) -> None:
    check(case, parsed(SOURCE, journal(tmp_path / "projects/-p/chats/s1.jsonl", *case["records"])))


def test_the_files_of_2025_are_read_as_gemini_wrote_them(home: Home, tmp_path: Path) -> None:
    said = {"id": "m1", "timestamp": "2025-09-01T09:00:00.000Z", "type": "user", "content": "Mend the lock"}
    held = {"sessionId": "s0", "projectHash": "0", "startTime": "2025-09-01T09:00:00.000Z", "messages": [said]}
    path = tmp_path / "tmp/0000/chats/session-2025-09-01T09-00-s0.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(held))
    assert ingest(home, "qwen", tmp_path).ingested == 1
    meta, body = document(home, "qwen__s0")
    assert meta["source"] == "qwen"
    assert "Mend the lock" in body


@given(odd_values("parts text functionCall functionResponse response output status callId systemPayload displayText"))
def test_no_shape_of_a_value_stops_the_journal(tmp_path_factory: pytest.TempPathFactory, odd: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "chats/s1.jsonl"
    records = [["assistant", odd], ["tool_result", odd], ["system", [], {"systemPayload": odd, "subtype": "rewind"}]]
    found = parsed(SOURCE, journal(path, *records, ["user", [{"text": "Still here"}]]))
    assert "Still here" in found.documents["s1"][1]
