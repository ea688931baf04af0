"""What edits replaced and wrote: each tool's form, and the results that have a file from before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.tool_kinds import CHANGES
from ingest import registry
from ingest.raw.store import DISK
from ingest.session.edits import LONGEST, MOST_SPANS, Log, Span, logged, spans

CASES = [json.loads(line) for line in (Path(__file__).parent / "data/edits.jsonl").read_text().splitlines()]
VALUES = st.recursive(
    st.none()
    | st.integers()
    | st.text()
    | st.sampled_from(["*** Begin Patch\n*** Update File: a\n", "@@ -1 +1 @@\n-"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)
NAMES = st.sampled_from("file_path path diff edits content input old_string new_string insert_line changes".split())


@pytest.mark.parametrize("case", CASES, ids=[f"{case['tool']}-{case['name']}" for case in CASES])
def test_a_call_gives_the_text_that_it_replaced_and_wrote(case: dict[str, Any]) -> None:
    assert [list(each) for each in spans(case["name"], case["given"])] == case["spans"]


@given(st.sampled_from(sorted(CHANGES)), st.dictionaries(NAMES, VALUES) | VALUES)
def test_no_input_breaks_the_reading_of_an_edit(name: str, given: Any) -> None:
    for span in spans(name, given):
        assert span.path
        assert span.before != span.after


def test_a_huge_edit_is_left_out_and_a_long_list_is_cut() -> None:
    assert spans("Write", {"file_path": "/a", "content": "x" * (LONGEST + 1)}) == []
    many = [{"old_string": f"a{number}", "new_string": "b"} for number in range(MOST_SPANS + 5)]
    assert len(spans("MultiEdit", {"file_path": "/a", "edits": many})) == MOST_SPANS


def test_crlf_stays_in_a_span() -> None:
    found = spans("Edit", {"file_path": "/a", "old_string": "a\r\nb\r\n", "new_string": "c\r\n"})
    assert found == [Span("/a", "a\r\nb\r\n", "c\r\n")]


def parsed(source: str, path: Path) -> Log:
    found = registry.find(source)
    assert found is not None
    with logged() as log:
        for _ in found.parse(str(path), DISK):
            pass
    return log


def test_nothing_is_kept_unless_a_log_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(claude_call("c1", "Edit", {"file_path": "/a", "old_string": "1", "new_string": "2"})))
    assert len(parsed("claude", path).edits) == 1
    with logged() as log:
        pass
    assert log.edits == []


def claude_call(call: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call, "name": name, "input": given}
    return {
        "type": "assistant", "uuid": f"u{call}", "sessionId": "s", "timestamp": "2026-05-02T08:00:00.000Z",
        "message": {"role": "assistant", "id": f"m{call}", "content": [block]},
    }  # fmt: skip


def test_claudes_result_has_the_file_that_a_write_replaced(tmp_path: Path) -> None:
    result = {
        "type": "user", "uuid": "r1", "sessionId": "s", "timestamp": "2026-05-02T08:00:01.000Z",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]},
        "toolUseResult": {"type": "update", "filePath": "/a", "content": "new", "originalFile": "old"},
    }  # fmt: skip
    path = tmp_path / "s.jsonl"
    path.write_text(
        "\n".join(map(json.dumps, [claude_call("c1", "Write", {"file_path": "/a", "content": "new"}), result]))
    )
    log = parsed("claude", path)
    assert log.before == {"c1": {"/a": "old"}}


def test_codex_tells_the_content_of_a_deleted_file(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Delete File: c.py\n*** End Patch"
    changes = {"/r/c.py": {"type": "delete", "content": "old\n"}, "/r/d.py": {"type": "update", "unified_diff": ""}}
    at = "2026-05-02T08:00:00.000Z"
    payloads = [
        ("session_meta", {"id": "s", "timestamp": at, "cwd": "/r"}),
        ("response_item", {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": patch}),
        ("event_msg", {"type": "patch_apply_end", "call_id": "c1", "success": True, "changes": changes}),
    ]
    path = tmp_path / "rollout-2026-05-02T08-00-00-s.jsonl"
    path.write_text(
        "\n".join(json.dumps({"timestamp": at, "type": kind, "payload": given}) for kind, given in payloads)
    )
    log = parsed("codex", path)
    assert [each.spans for each in log.edits] == [[Span("c.py", None, "", is_whole=True)]]
    assert log.before == {"c1": {"/r/c.py": "old\n"}}


def test_aiders_blocks_belong_to_the_files_that_it_applied_them_to(tmp_path: Path) -> None:
    block = "<<<<<<< SEARCH\n{0} old\n=======\n{0} new\n>>>>>>> REPLACE\n```\n"
    reply = (
        f"I change both.\n\na.py\n```python\n{block.format('a1')}\n```python\n{block.format('a2')}"
        f"\n**`b/b.py`**\n```\n{block.format('b')}"
    )
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(
        f"# aider chat started at 2026-05-02 08:00:00\n\n#### do it\n\n{reply}\n"
        "> Tokens: 1k sent, 20 received.\n> Applied edit to b/b.py\n> Applied edit to a.py\n"
    )
    found = [(span.path, span.before, span.after) for edit in parsed("aider", path).edits for span in edit.spans]
    assert found == [
        ("b/b.py", "b old\n", "b new\n"),
        ("a.py", "a1 old\n", "a1 new\n"),
        ("a.py", "a2 old\n", "a2 new\n"),
    ]
