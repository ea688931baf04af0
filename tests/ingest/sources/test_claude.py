"""Claude Code's format: the cases of ``data/claude.jsonl``, and what takes several files or a home."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.document import Document, Failure
from core.home import Home
from ingest.sources.claude import source as claude
from tests.examples import examples
from tests.ingest.sources.cases import Case, cases, check, parsed
from tests.ingest.transcripts import (
    SESSION,
    Script,
    corpus,
    document,
    documents,
    ingest,
    lines,
    save,
    text,
    thinking,
    tool,
)


def _blocks(given: Any) -> Any:
    """Return the blocks that a case writes in short."""
    if not isinstance(given, list):
        return given
    made = []
    for block in given:
        if isinstance(block, str):
            made.append(text(block))
        elif "think" in block:
            made.append(thinking(block["think"]))
        elif "tool" in block:
            made.append(tool(block["tool"], block["call"], **block["given"]))
        else:
            made.append(block["raw"] if "raw" in block else text(block["text"]))
    return made


def _record(script: Script, given: dict[str, Any]) -> dict[str, Any]:
    """Return the record that a case writes in short: the first key is its kind, others are fields."""
    (kind, value), *others = given.items()
    fields = dict(others)
    if kind == "raw":
        return {"sessionId": SESSION, **value}
    if kind == "user":
        return script.user(_blocks(value), **fields)
    if kind == "result":
        return script.result(value, **fields)
    if kind == "record":
        return script.record(value, **fields)
    inner = {"stop_reason": fields.pop("stop_reason")} if "stop_reason" in fields else fields.pop("message_fields", {})
    made = script.assistant(*_blocks(value), **fields)
    made["message"] |= inner
    return made


@pytest.mark.parametrize("case", cases("claude"))
def test_a_transcript_becomes_its_document(case: Case, tmp_path: Path) -> None:
    script = Script()
    path = save(tmp_path / f"{SESSION}.jsonl", *(_record(script, record) for record in case["records"]))
    check(case, parsed(claude.SOURCE, path))


def test_joined_and_malformed_lines_lose_nothing_else_and_are_counted(home: Home, tmp_path: Path) -> None:
    s = Script()
    one, two, three = s.user("one"), s.user("two"), s.user("three")
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(lines(one)[:-1] + lines(two) + b"{torn\n" + lines(three) + b'{"type":"user","mes')
    ledger = ingest(home, tmp_path)
    made = document(home)[1]
    assert all(word in made for word in ("one", "two", "three"))
    assert ledger.recovered == {"records joined on one line": 2}
    assert ledger.failed_records == 1
    assert ledger.failed == [
        {"path": str(path), "reason": "malformed line", "detail": ledger.failed[0]["detail"], "line": 2}
    ]


def test_without_timestamps_the_date_is_the_files_mtime(home: Home, tmp_path: Path) -> None:
    path = save(tmp_path / f"{SESSION}.jsonl", Script().user("undated", timestamp="yesterday"))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    ingest(home, tmp_path)
    meta, made = document(home)
    assert (meta["date"], meta["date_source"]) == ("2023-11-14T22:13:20Z", "mtime")
    assert "## [1] user\n" in made


def test_unknown_records_blocks_and_subtypes_are_counted_with_a_first_example(home: Home, tmp_path: Path) -> None:
    s = Script()
    path = save(
        tmp_path / f"{SESSION}.jsonl",
        s.user("go"),
        s.record("hologram", beams="a secret of mine"),
        s.record("hologram"),
        s.record("system", subtype="tea_time"),
        s.record("attachment", attachment={"type": "smell"}),
        s.assistant({"type": "song"}),
        s.user([{"type": "dance"}]),
        {"no": "type"},
    )
    found = ingest(home, tmp_path).unknown
    assert found["hologram"] == {
        "count": 2,
        "example": f"{path}:2",
        "shape": "an object of beams",
        "versions": ["2.1.100"],
    }
    assert set(found) == {
        "hologram",
        "system tea_time",
        "attachment smell",
        "assistant block song",
        "user block dance",
        "(no type)",
    }
    assert ingest(home, tmp_path).unknown == found  # remembered, though nothing was read again


def test_unknown_fields_are_counted_without_their_content(home: Home, tmp_path: Path) -> None:
    s = Script()
    path = save(
        tmp_path / f"{SESSION}.jsonl",
        {**s.user("go"), "mood": {"felt": "joy to the world", "/home/me/diary": 1, "id83729": 2}},
        {**s.assistant(text("Gone.")), "mood": [{"felt": "grief"}]},
        {**s.assistant({"type": "text", "text": "So.", "accent": "the Welsh one"})},
        {**s.record("summary", summary="x", leafUuid="y"), "taste": 3},
    )
    odd = s.assistant(text("Odd."))
    odd["message"]["weather"] = True
    save(tmp_path / "later.jsonl", s.user("again"), odd)
    found = ingest(home, tmp_path).unknown
    assert {what: (entry["count"], entry.get("shape")) for what, entry in found.items()} == {
        "user: field mood": (1, "an object of felt and 2 more"),
        "assistant: field mood": (1, "a list of 1, first an object of felt"),
        "block text: field accent": (1, "text of 13 characters"),
        "summary: field taste": (1, "a number"),
        "assistant message: field weather": (1, "true"),
    }
    assert found["user: field mood"]["example"] == f"{path}:1"
    assert ingest(home, tmp_path).unknown == found
    kept = (Path(home.state) / "ledger/claude.json").read_text(encoding="utf-8")
    assert not any(said in kept for said in ("joy", "grief", "Welsh", "diary", "83729"))


def test_a_jsonl_of_another_tool_is_skipped_as_such(home: Home, tmp_path: Path) -> None:
    save(tmp_path / "codex.jsonl", {"timestamp": "x", "type": "session_meta", "payload": {}})
    save(tmp_path / "pi.jsonl", {"type": "message", "id": "1", "message": {"role": "user", "content": "hi"}})
    save(tmp_path / "gemini.jsonl", {"type": "user", "id": "1", "content": "hi"})
    save(tmp_path / "history.jsonl", {"display": "x"})
    (tmp_path / "pretty.jsonl").write_text('{\n  "a": "b",\n  "c": [\n 1 ]\n}\n')
    (tmp_path / "notes.txt").write_text("ignored")
    ledger = ingest(home, tmp_path)
    assert ledger.skipped == {"not a Claude Code transcript": 4, "prompt history": 1}
    assert ledger.seen == 5
    assert ledger.failed_records == ledger.failed_files == 0


def test_a_transcript_without_conversation_is_skipped_with_the_reason(home: Home, tmp_path: Path) -> None:
    s = Script()
    save(tmp_path / "a.jsonl", {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}})
    save(
        tmp_path / "b.jsonl", s.user("<command-name>/exit</command-name>"), s.user("<command-name>/mcp</command-name>")
    )
    (tmp_path / "c.jsonl").write_bytes(b"")
    (tmp_path / "d.jsonl").write_bytes(b'{"type":"user","mess')
    ledger = ingest(home, tmp_path)
    assert ledger.skipped == {
        "no conversation": 1,
        "only local commands": 1,
        "empty": 1,
        "no complete record yet": 1,
    }


def test_sessions_without_any_session_id_still_have_one_identity(home: Home, tmp_path: Path) -> None:
    record = Script().user("from an old export", sessionId="<absent>")
    save(tmp_path / "a/export.jsonl", record)
    save(tmp_path / "b/export.jsonl", record)
    save(tmp_path / "c/export.jsonl", Script().user("another", sessionId="<absent>"))
    ingest(home, tmp_path)
    assert len(corpus(home)) == 2


def test_parse_yields_documents_and_failures_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(lines(Script().user("hello")) + b"{torn}\n")
    found = list(documents(claude.SOURCE, str(path)))
    assert isinstance(found[0], Document)
    assert found[0].name == f"{SESSION}.md"
    assert [item.reason for item in found if isinstance(item, Failure)] == ["malformed line"]
    assert [
        item.reason for item in documents(claude.SOURCE, str(tmp_path / "none.jsonl")) if isinstance(item, Failure)
    ] == ["unreadable"]


def test_default_roots_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "projects").mkdir(parents=True)
    assert claude.SOURCE.default_roots(environ={"CLAUDE_CONFIG_DIR": f"{tmp_path}/a,{tmp_path}/b"}) == [
        f"{tmp_path}/a/projects",
        f"{tmp_path}/b/projects",
    ]
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".claude/projects").mkdir(parents=True)
    assert claude.SOURCE.default_roots(environ={}) == [f"{tmp_path}/.claude/projects"]
    assert claude.SOURCE.default_roots(environ={"CLAUDE_CONFIG_DIR": str(tmp_path / "missing")}) == []


def test_prompts_are_found_where_the_folder_of_transcripts_is_gone(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    history.write_text('{"display": "Why?", "timestamp": 1770000200000, "sessionId": "a"}\n')
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    found = claude.SOURCE.default_roots(environ=environ)
    assert [file.path for file in claude.SOURCE.discover(found)] == found == [str(history)]
    (tmp_path / "projects").mkdir()
    found = claude.SOURCE.default_roots(environ=environ)
    assert found == [str(tmp_path / "projects")]
    assert [file.path for file in claude.SOURCE.discover(found)] == [str(history)]


FIELDS = st.sampled_from(
    "uuid parentUuid sessionId agentId isSidechain timestamp message content type text thinking id name input model"
    " usage output_tokens tool_use_id is_error toolUseResult answers annotations attachment prompt subtype operation"
    " summary leafUuid customTitle aiTitle prUrl origin kind isMeta isCompactSummary cwd slug version forkedFrom"
    " questions plan todos command description file_path subagent_type isApiErrorMessage".split()
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([SESSION, "t1", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)
TYPES = st.sampled_from(
    "user assistant system attachment queue-operation summary custom-title ai-title pr-link text tool_use tool_result"
    " thinking queued_command away_summary local_command".split()
)


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(TYPES, st.dictionaries(FIELDS, VALUES, max_size=8)), max_size=6))
def test_no_shape_of_record_raises(tmp_path: Path, shapes: list[tuple[str, dict[str, Any]]]) -> None:
    path = tmp_path / "x.jsonl"
    records = [{"sessionId": SESSION, "uuid": f"u{n}", **rest, "type": kind} for n, (kind, rest) in enumerate(shapes)]
    path.write_text("".join(json.dumps(record) + "\n" for record in [Script().user("hi"), *records]))
    for item in documents(claude.SOURCE, str(path)):
        if isinstance(item, Document):
            item.render()
