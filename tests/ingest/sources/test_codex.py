"""Codex CLI: the cases of ``data/codex.jsonl``, compressed files, sessions of the first client, linear time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from core.document import Document, split
from core.home import Home
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.sources import detection
from ingest.sources.codex import source as codex
from ingest.sources.codex.user_text import answer_pieces, extract_user_text, imported_parts
from tests.ingest.sources.cases import Case, cases, check, parsed
from tests.ingest.transcripts import corpus, documents
from tests.scanned import Scanned

SESSION = "019a0000-0000-7000-8000-00000000000a"
OTHER = "019a0000-0000-7000-8000-00000000000b"
NAME = f"rollout-2026-04-28T09-00-00-{SESSION}.jsonl"

Record = dict[str, Any]


class Rollout:
    """Makes records a second apart."""

    def __init__(self) -> None:
        self.count = 0

    def record(self, kind: str, /, **payload: Any) -> Record:
        self.count += 1
        return {"timestamp": f"2026-04-28T09:00:{self.count:02}.000Z", "type": kind, "payload": payload}

    def meta(self, session: str = SESSION, **fields: Any) -> Record:
        given = {
            "id": session,
            "timestamp": "2026-04-28T08:59:00.000Z",
            "cwd": "/home/me/api",
            "cli_version": "0.121.0",
        }
        return self.record("session_meta", **{**given, "git": {"branch": "main"}, "source": "cli", **fields})

    def item(self, kind: str, **fields: Any) -> Record:
        return self.record("response_item", type=kind, **fields)

    def event(self, kind: str, **fields: Any) -> Record:
        return self.record("event_msg", type=kind, **fields)

    def user(self, *texts: str) -> Record:
        return self.item("message", role="user", content=[{"type": "input_text", "text": text} for text in texts])

    def asked(self, text: str) -> list[Record]:
        """A prompt as both records have it."""
        return [self.user(text), self.event("user_message", message=text, images=[])]

    def said(self, text: str, phase: str | None = None) -> list[Record]:
        fields = {} if phase is None else {"phase": phase}
        return [
            self.event("agent_message", message=text, **fields),
            self.item("message", role="assistant", content=[{"type": "output_text", "text": text}], **fields),
        ]

    def ran(self, call: str, output: Any, name: str = "exec_command", **arguments: Any) -> list[Record]:
        return [
            self.item("function_call", name=name, arguments=json.dumps(arguments), call_id=call),
            self.item("function_call_output", call_id=call, output=output),
        ]


class Paginated(Rollout):
    """Makes records with their ordinals."""

    def record(self, type_: str, /, **payload: Any) -> Record:
        return {**super().record(type_, **payload), "ordinal": self.count - 1}

    def completed(self, type_: str, **item: Any) -> Record:
        fields = {"thread_id": SESSION, "turn_id": "turn", "started_at_ms": None, "completed_at_ms": 1786133879000}
        return self.event("item_completed", item={"type": type_, "id": f"{type_} {self.count}", **item}, **fields)

    def asked(self, text: str) -> list[Record]:
        return [self.user(text), self.completed("UserMessage", content=[{"type": "text", "text": text}])]

    def said(self, text: str, phase: str | None = None) -> list[Record]:
        shown = [{"type": "Text", "text": text}]
        written = [{"type": "output_text", "text": text}]
        return [
            self.completed("AgentMessage", content=shown, phase=phase),
            self.item("message", role="assistant", content=written, phase=phase),
        ]


def save(path: Path, *records: Any) -> Path:
    flat = [record for entry in records for record in (entry if isinstance(entry, list) else [entry])]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in flat), encoding="utf-8")
    return path


def ingest(home: Home, folder: Path, **options: Any) -> Ledger:
    return run(home, "codex", [str(folder)], trust_stat=False, **options)


def document(home: Home, session: str = SESSION) -> tuple[dict[str, Any], str]:
    return split(corpus(home)[f"codex__{session}.md"].decode())


def _record(make: Rollout, given: dict[str, Any]) -> Any:
    """Return the records that a case writes in short: the first key is the method, others are fields."""
    (kind, value), *others = given.items()
    fields = dict(others)
    envelope = fields.pop("envelope", {})
    if kind == "raw":
        return value
    if kind == "meta":
        made = make.meta(**{"session": SESSION, **value})
    elif kind == "user":
        made = make.user(*value)
    elif kind == "ran":
        return make.ran(value, fields["output"], fields["name"], **fields["arguments"])
    else:
        made = getattr(make, kind)(value, **fields)
    return [{**record, **envelope} for record in (made if isinstance(made, list) else [made])]


@pytest.mark.parametrize("case", cases("codex"))
def test_a_rollout_becomes_its_document(case: Case, tmp_path: Path) -> None:
    make = Paginated() if case.get("paginated") else Rollout()
    path = save(tmp_path / NAME, *(_record(make, record) for record in case["records"]))
    check(case, parsed(codex.SOURCE, path))


def test_a_compressed_rollout_is_read_and_not_twice(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    path = save(tmp_path / NAME, make.meta(), *make.asked("Why?"))
    plain = path.read_bytes()
    path.with_name(NAME + ".zst").write_bytes(zstandard.compress(plain))
    first = ingest(home, tmp_path)
    assert (first.ingested, first.skipped) == (1, {"compressed copy of a plain file": 1})
    before = corpus(home)
    path.unlink()
    second = ingest(home, tmp_path)
    assert (second.ingested, second.written, second.vanished) == (1, 0, 1)
    assert corpus(home) == before
    assert ingest(home, tmp_path).unchanged == 1


def test_a_compressed_rollout_that_ends_between_lines_within_a_frame_is_cut_short(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    lines = [json.dumps(record) + "\n" for record in [make.meta(), *make.asked("Why?"), *make.said("So.")]]
    packer = zstandard.ZstdCompressor().compressobj()
    begun = packer.compress("".join(lines[:-2]).encode()) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    (tmp_path / f"{NAME}.zst").write_bytes(begun)
    ledger = ingest(home, tmp_path)
    assert (ledger.ingested, ledger.failed_reasons) == (1, {"cut short": 1})
    (tmp_path / f"{NAME}.zst").write_bytes(begun + packer.compress("".join(lines[-2:]).encode()) + packer.flush())
    ledger = ingest(home, tmp_path)
    assert (ledger.ingested, ledger.failed_reasons) == (1, {})


@pytest.mark.parametrize("at", [3, 40, -1])
def test_a_compressed_rollout_of_which_nothing_is_left_has_failed_and_is_not_empty(
    home: Home, tmp_path: Path, at: int
) -> None:
    make = Rollout()
    save(tmp_path / NAME, make.meta(), *make.asked("Why? " * 99))
    packed = zstandard.compress((tmp_path / NAME).read_bytes())
    (tmp_path / NAME).unlink()
    (tmp_path / f"{NAME}.zst").write_bytes(packed[:at])
    ledger = ingest(home, tmp_path)
    assert (ledger.failed_files, ledger.skipped) == (1, {})
    assert set(ledger.failed_reasons) == {"cut short"}
    (tmp_path / f"{NAME}.zst").write_bytes(packed)
    assert ingest(home, tmp_path).failed_files == 0
    assert document(home)


def test_a_compressed_rollout_that_ends_within_a_line_is_cut_short(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    lines = "".join(json.dumps(record) + "\n" for record in [make.meta(), *make.asked("Why?")])
    (tmp_path / f"{NAME}.zst").write_bytes(zstandard.compress((lines + '{"timestamp": "20').encode()))
    ledger = ingest(home, tmp_path)
    assert (ledger.ingested, ledger.failed_reasons) == (1, {"cut short": 1})


def test_other_tools_files_are_left_out_whatever_they_hold(home: Home, tmp_path: Path) -> None:
    save(tmp_path / "claude.jsonl", {"type": "user", "sessionId": "x", "message": {"role": "user", "content": "Hi"}})
    save(tmp_path / "pi.jsonl", {"type": "session", "version": 3, "id": "x", "timestamp": "2026-01-01T00:00:00Z"})
    ledger = ingest(home, tmp_path)
    assert ledger.skipped == {"not a Codex transcript": 1, detection.PI: 1}
    assert corpus(home) == {}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "payload", "role", "content", "message", "text", "output", "id", "git", "source",
                         "summary", "arguments", "call_id", "action", "info", "timestamp", "item"]), inner, max_size=5),
    max_leaves=20), st.sampled_from(["session_meta", "response_item", "event_msg", "turn_context", "compacted"]),
    st.sampled_from(["message", "reasoning", "function_call", "function_call_output", "user_message", "agent_message",
                     "web_search_call", "item_completed", "token_count", "thread_rolled_back"]))  # fmt: skip
def test_no_shape_of_a_record_stops_the_file(
    tmp_path_factory: pytest.TempPathFactory, payload: Any, kind: str, item: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "shapes.jsonl"
    odd = {**payload, "type": item} if isinstance(payload, dict) else payload
    make = Rollout()
    save(
        path,
        make.meta(),
        {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": odd},
        *make.asked("Still here"),
    )
    found = list(documents(codex.SOURCE, str(path)))
    assert any(isinstance(entry, Document) and "Still here" in entry.body for entry in found)


def test_every_sample_is_accounted_for_and_its_prompts_are_human(home: Home, shared: Path) -> None:
    for folder in ("codex", "codex-synthetic"):
        place = shared / "samples" / folder
        first = ingest(home, place)
        assert first.seen == len([path for path in place.rglob("*.jsonl") if path.is_file()])
        assert first.failed_files == first.failed_records == 0
        assert first.unknown == {} or folder != "codex"
        assert ingest(home, place).written == 0
    made = corpus(home)
    assert len(made) >= 6
    for name, data in made.items():
        body = split(data.decode())[1]
        for section in body.split("\n## [")[1:]:
            role, _, text = section.partition("\n\n")
            if role.split("] ")[1].startswith("user"):
                assert not text.startswith(("<", "# AGENTS.md", "# Context from my IDE")), name


def test_a_session_of_the_first_client_is_one_document(home: Home, tmp_path: Path) -> None:
    output = json.dumps({"output": "FAIL\n", "metadata": {"exit_code": 1, "duration_seconds": 0.1}})
    items: list[Record] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Why does it fail?"}]},
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Look"}], "duration_ms": 3},
        {"type": "function_call", "id": "fc", "status": "completed", "name": "shell", "call_id": "c1",
            "arguments": json.dumps({"command": ["npm", "test"]})},
        {"type": "function_call_output", "call_id": "c1", "output": output},
        {"type": "message", "id": "msg", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "annotations": [], "text": "A rule is missing."}]},
    ]  # fmt: skip
    head = {"timestamp": "2025-04-18T09:00:00.000Z", "id": SESSION, "instructions": ""}
    path = tmp_path / f"sessions/rollout-2025-04-18-{SESSION}.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"session": head, "items": items}, indent=2))
    (path.parent / "rollout-broken.json").write_text('{"session": {"id": "x"}, "items": [7, {"type": "message"}, nu')
    (path.parent / "other.json").write_text("{}")
    ledger = ingest(home, tmp_path)
    assert (ledger.seen, ledger.ingested, ledger.failed_files, ledger.unknown) == (2, 1, 1, {})
    meta, body = document(home)
    assert (meta["title"], meta["date"]) == ("Why does it fail?", "2025-04-18T09:00:00Z")
    assert "- shell: npm test\n  ! Exit code 1\n  ! FAIL\n\nA rule is missing." in body
    assert ingest(home, tmp_path).written == 0


@pytest.mark.parametrize("fields", [{"source": {"subagent": {"other": "guardian"}}, "parent_thread_id": SESSION},
    {"source": "vscode", "thread_source": "guardian_review"}])  # fmt: skip
def test_a_review_of_approvals_repeats_its_parent_and_makes_no_document(
    home: Home, tmp_path: Path, fields: dict[str, object]
) -> None:
    make = Rollout()
    save(tmp_path / NAME, make.meta(), *make.asked("Why?"), *make.said("So."))
    told = "The following is the Codex agent history whose request action you are assessing.\n[1] user: Why?"
    save(tmp_path / NAME.replace(SESSION, OTHER), make.meta(OTHER, **fields), *make.asked(told), *make.said("allow"))
    ledger = ingest(home, tmp_path)
    assert (list(corpus(home)), ledger.skipped) == ([f"codex__{SESSION}.md"], {"reviewer of approvals": 1})


@pytest.mark.parametrize("text", [
    "See `[external_agent_tool_call: x]`.", "The form:\n[external_agent_tool_result]\nand I say: it is in a.py.",
    "[external_agent_tool_call: Bash] begins a call.\n[/external_agent_tool_call] ends it.", "", "\n"])  # fmt: skip
def test_marks_that_are_spoken_of_or_torn_take_no_words(text: str) -> None:
    assert list(imported_parts(text)) == ([("", text)] if text.strip() else [])


def test_calls_are_found_after_a_mark_that_is_spoken_of_and_results_of_errors_are_left_out() -> None:
    call = "[external_agent_tool_call: Bash]\ncommand: ls\n[/external_agent_tool_call]"
    result = "[external_agent_tool_result: error]\nno\n[/external_agent_tool_result]"
    found = list(imported_parts(f"As `[external_agent_tool_call: x]`.\n{call}\n{result}\nSo."))
    assert found == [("", "As `[external_agent_tool_call: x]`.\n"), ("Bash", "command: ls"), ("", "\nSo.")]


def test_many_marks_are_read_in_one_go_closed_or_not() -> None:
    class Counted(str):
        __slots__ = ("looked",)

        def find(self, *given: object) -> int:
            self.looked = getattr(self, "looked", 0) + 1
            return str.find(self, *given)  # type: ignore[arg-type]

    torn = Counted("[external_agent_tool_result]\nx\n[external_agent_tool_call: Bash]\n" * 500)
    assert list(imported_parts(torn)) == [("", torn)]
    assert torn.looked == 2
    called = "[external_agent_tool_call: Bash]\ncommand: ls\n[/external_agent_tool_call]\n" * 500
    assert list(imported_parts(called)) == [("Bash", "command: ls")] * 500


@pytest.mark.parametrize("unit", ["<proposed_plan>p</proposed_plan>", "<oai-mem-citation>c</oai-mem-citation>x"])
def test_blocks_are_found_by_looking_at_a_text_a_few_times_however_many_there_are(unit: str) -> None:
    text = Scanned(unit * 2000)
    found = answer_pieces(text)
    assert len("".join(found)) == 2000
    assert 0 < text.looked[0] < 6 * len(text)


@given(st.lists(st.sampled_from(["<proposed_plan>", "</proposed_plan>", "a", "<", ">"])).map("".join))
def test_plans_are_the_texts_between_their_tags(text: str) -> None:
    said, *plans = answer_pieces(text)
    first, *blocks = text.split("<proposed_plan>")
    assert "<proposed_plan>" not in said
    assert said.startswith(first)
    assert bool(plans) == bool(blocks)
    assert all("</proposed_plan>" not in plan and plan in text for plan in plans)


def test_an_answer_that_is_nested_too_deeply_is_kept_as_it_is() -> None:
    deep = "[" * 100_000
    block = f"<send_user_message_question_reply>{deep}</send_user_message_question_reply>"
    assert extract_user_text(f"{block}\nThen tidy up.").typed == f"{deep}\n\nThen tidy up."
