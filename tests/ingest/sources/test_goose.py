"""Goose: one document a session, from the database or from the files before it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from core.home import Home
from ingest.pipeline.run import run
from ingest.sources.goose.source import SOURCE
from tests.ingest.sources.cases import Case, cases, check, document, ingest, odd_values, parsed
from tests.ingest.sources.databases import database
from tests.ingest.transcripts import corpus

Record = dict[str, Any]
HEAD: Record = {"id": "20260428_1", "name": "The lock", "user_set_name": 1, "working_dir": "/home/me/api",
    "session_type": "user", "created_at": "2026-04-28 09:00:00", "accumulated_output_tokens": 12}  # fmt: skip


def rows(messages: list[Record], unit: str = "20260428_1") -> list[Record]:
    return [
        {"id": number, "session_id": unit, "role": message["role"], "content_json": message["content"],
         "created_timestamp": 1_777_367_643 + number, "metadata_json": message.get("metadata")}
        for number, message in enumerate(messages, 1)
    ]  # fmt: skip


def history(path: Path, head: Record, messages: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in (head, *messages)), encoding="utf-8")
    return path


@pytest.mark.parametrize("case", cases("goose"))
def test_a_session_says(tmp_path: Path, case: Case) -> None:
    messages = case["messages"]
    held = [{"created": 1_777_367_643 + number, **message} for number, message in enumerate(messages, 1)]
    head = {"working_dir": "/home/me/api", "description": "The lock", **case.get("head", {})}
    check(case, parsed(SOURCE, history(tmp_path / "20260428_1.jsonl", head, held)))
    if "unknown" not in case:
        path = database(tmp_path / "sessions.db", sessions=[HEAD | case.get("head", {})], messages=rows(messages))
        check(case, parsed(SOURCE, path))


def test_a_session_that_the_database_took_over_is_one_document(home: Home, tmp_path: Path) -> None:
    said = [{"role": "user", "content": [{"type": "text", "text": "Mend the lock"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Mended."}]}]  # fmt: skip
    held = [{"created": 1_777_367_643 + number, **message} for number, message in enumerate(said, 1)]
    history(tmp_path / "20260428_1.jsonl", {"working_dir": "/home/me/api", "description": "x"}, held)
    database(tmp_path / "sessions.db", sessions=[HEAD], messages=rows(said))
    ingest(home, "goose", tmp_path)
    assert list(corpus(home)) == ["goose__20260428_1.md"]
    meta, body = document(home, "goose__20260428_1")
    assert (meta["title"], meta["project"], meta["output_tokens"]) == ("The lock", "/home/me/api", 12)
    assert body.count("Mend the lock") == 1


def test_a_database_is_made_again_from_the_archive(home: Home, tmp_path: Path) -> None:
    said = [{"role": "user", "content": [{"type": "text", "text": "Mend the lock"}]}]
    path = database(tmp_path / "sessions.db", sessions=[HEAD], messages=rows(said))
    ingest(home, "goose", tmp_path)
    made = corpus(home)
    path.unlink()
    assert run(home, "goose", from_archive=True, trust_stat=False).failed_files == 0
    assert corpus(home) == made != {}


@given(odd_values("type text id toolCall toolResult value status name arguments isError content thinking"))
def test_no_shape_of_a_value_stops_the_session(tmp_path_factory: pytest.TempPathFactory, odd: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "20260428_1.jsonl"
    said = {"role": "user", "content": [odd, {"type": "text", "text": "Still here"}]}
    found = parsed(SOURCE, history(path, {"working_dir": "/x"}, [{"role": "assistant", "content": odd}, odd, said]))
    assert "Still here" in found.documents["20260428_1"][1]
