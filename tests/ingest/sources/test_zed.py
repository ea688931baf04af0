"""Zed: one document a thread of its agent panel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given

from core.home import Home
from ingest.sources.zed.source import SOURCE
from tests.ingest.sources.cases import Case, cases, check, document, ingest, odd_values, parsed
from tests.ingest.sources.databases import database
from tests.ingest.transcripts import corpus

Record = dict[str, Any]


def row(thread: Any, **more: Any) -> Record:
    packed = zstandard.ZstdCompressor().compress(json.dumps(thread).encode())
    made = {
        "id": "t1",
        "summary": "The lock",
        "updated_at": "2026-04-28T09:00:00Z",
        "data_type": "zstd",
        "data": packed,
    }
    return made | {"parent_id": None, "folder_paths": "/home/me/api\n/home/me/web"} | more


def thread(*messages: Any, **more: Any) -> Record:
    return {"version": "0.3.0", "title": "The lock", "messages": list(messages), "updated_at": "", **more}


@pytest.mark.parametrize("case", cases("zed"))
def test_a_thread_says(tmp_path: Path, case: Case) -> None:
    held = row(thread(*case["messages"], **case.get("thread", {})), **case.get("row", {}))
    check(case, parsed(SOURCE, database(tmp_path / "threads.db", threads=[held])))


def test_a_damaged_thread_costs_no_other_its_document(home: Home, tmp_path: Path) -> None:
    said = {"User": {"id": "u", "content": [{"Text": "Mend the lock"}]}}
    torn = row(thread(said))["data"][:20]
    rows = [row(thread(said)), row(thread(said), id="t2", data=torn), row([1], id="t3")]
    database(tmp_path / "threads.db", threads=rows)
    ledger = ingest(home, "zed", tmp_path)
    assert (ledger.failed_records, list(corpus(home))) == (1, ["zed__t1.md"])


def test_a_subagents_thread_has_its_parent(home: Home, tmp_path: Path) -> None:
    said = {"User": {"id": "u", "content": [{"Text": "Find the lock"}]}}
    database(tmp_path / "threads.db", threads=[row(thread(said), id="a1", parent_id="t1"), row(thread(said))])
    ingest(home, "zed", tmp_path)
    assert document(home, "zed__a1")[0]["parent"] == "t1"


@given(odd_values("User Agent content Text Thinking ToolUse tool_results id name input role segments text tool_uses"))
def test_no_shape_of_a_value_stops_the_thread(tmp_path_factory: pytest.TempPathFactory, odd: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "threads.db"
    said = {"User": {"id": "u", "content": [odd, {"Text": "Still here"}]}}
    held = thread({"Agent": odd}, {"Agent": {"content": odd, "tool_results": odd}}, odd, said, model=odd)
    found = parsed(SOURCE, database(path, threads=[row(held)]))
    assert "Still here" in found.documents["t1"][1]
