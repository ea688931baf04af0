"""Amp: one document a thread."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.sources.amp.source import SOURCE
from tests.ingest.sources.cases import Case, cases, check, odd_values, parsed

Record = dict[str, Any]


def thread(path: Path, *messages: Record, **fields: Any) -> Path:
    tree = {"uri": "file:///home/me/my%20api", "repository": {"ref": "refs/heads/main"}}
    made: Record = {"v": 9, "id": "T-1", "created": 1_777_367_643_000, "title": "The race", "messages": list(messages)}
    made["env"] = {"initial": {"trees": [tree], "platform": {"clientVersion": "0.1"}}}
    path.write_text(json.dumps({**made, **fields}), encoding="utf-8")
    return path


@pytest.mark.parametrize("case", cases("amp"))
def test_a_thread_says(tmp_path: Path, case: Case) -> None:
    check(case, parsed(SOURCE, thread(tmp_path / "T-1.json", *case["messages"], **case.get("thread", {}))))


@pytest.mark.parametrize(("text", "skipped", "failed"), [
    ('{"sessionId": "x", "messages": []}', "not an Amp thread", None),
    ('{"id": "T-2", "mess', "", "malformed document"),
])  # fmt: skip
def test_a_file_that_holds_no_thread_has_a_reason(tmp_path: Path, text: str, skipped: str, failed: str | None) -> None:
    (tmp_path / "session.json").write_text(text)
    found = parsed(SOURCE, tmp_path / "session.json")
    assert found.documents == {}
    assert (found.reading.skipped, found.reading.failed and found.reading.failed.reason) == (skipped, failed)


@given(
    odd_values("content text type run status result error meta usage name state role input"),
    st.sampled_from(["v", "title", "env", "meta", "agentMode", "mainThreadID", "relationships", "queuedMessages"]),
)
def test_no_shape_of_a_value_stops_the_thread(tmp_path_factory: pytest.TempPathFactory, odd: Any, field: str) -> None:
    said = {"role": "user", "content": [{"type": "text", "text": "Still here"}, odd]}
    path = tmp_path_factory.getbasetemp() / "T-1.json"
    found = parsed(SOURCE, thread(path, {"role": "assistant", "content": odd}, said, odd, **{field: odd}))
    assert "Still here" in found.documents["T-1"][1]
