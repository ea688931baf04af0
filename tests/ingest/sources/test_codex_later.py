"""Codex CLI of 0.146 and later: paginated histories, speech, classed texts, answers, a subagent's borrowed past."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.home import Home
from ingest.sources.codex.user_text import answer_pieces as pieces
from tests.ingest.sources.test_codex import NAME, OTHER, SESSION, Record, Rollout, document, ingest, save
from tests.scanned import Scanned


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


def heads(body: str) -> list[str]:
    return [line.split(" · ")[0].partition("] ")[2] for line in body.split("\n") if line.startswith("## [")]


def test_a_paginated_history_says_each_thing_once_and_knows_its_own_records(home: Home, tmp_path: Path) -> None:
    make = Paginated()
    command = {"command": ["/bin/zsh", "-lc", "make"], "cwd": "file:///home/me/api", "parsed_cmd": [], "exit_code": 2}
    save(
        tmp_path / NAME,
        make.meta(history_mode="paginated", forked_from_ordinal_exclusive=3, runtime_workspace_roots=["/home/me/api"]),
        make.asked("Why does it fail?"),
        make.completed("Reasoning", summary_text=["Look at the log"], raw_content=[]),
        make.item("reasoning", summary=[{"type": "summary_text", "text": "Look at the log"}], encrypted_content=None),
        make.said("I look.", "commentary"),
        make.completed("CommandExecution", source="agent", status="failed", **command),
        make.ran("c1", "Exit code: 2\nOutput:\nno rule", cmd="make"),
        make.said("A rule is missing.", "partial_answer"),
        make.completed("FileChange", changes={}), make.completed("Extension", kind="clock.sleep", durationMs=5),
        make.said("It is mended.", "final_answer"),
        make.record("token_usage_record", usage={}), make.record("security_risk_score", scores={"x": 0.1}),
        make.record("retained_context", type="user_message"), make.record("world_state", full=False, state={}),
        make.item("configuration_update", reasoning={"effort": "high"}),
        {**make.user("And now?"), "metadata": {"user_input_order": 4}},
        make.completed("UserMessage", content=[{"type": "text", "text": "And now?"}, {"type": "image", "url": "x"}]),
    )  # fmt: skip
    assert ingest(home, tmp_path).unknown == {}
    body = document(home)[1]
    assert heads(body) == ["user", "assistant", "commentary", "assistant", "user"]
    for text in ("I look.", "A rule is missing.", "It is mended.", "And now?", "Look at the log"):
        assert body.count(text) == 1, text
    assert body.count("exec_command: make") == 1
    assert "Exit code 2" in body


def test_a_type_that_no_version_had_is_still_a_finding(home: Home, tmp_path: Path) -> None:
    make = Paginated()
    save(
        tmp_path / NAME, make.meta(), *make.asked("Why?"), make.completed("Dream", text="x"),
        make.record("realtime_item", type="hum"), make.record("dream"),
    )  # fmt: skip
    assert set(ingest(home, tmp_path).unknown) == {"item_completed Dream", "realtime_item hum", "record dream"}


def test_what_was_said_by_voice_stands_as_what_was_typed_does(home: Home, tmp_path: Path) -> None:
    make = Paginated()
    voice = {"realtime_session_id": "voice", "id": "v"}
    save(
        tmp_path / NAME,
        make.meta(),
        make.record("realtime_item", type="realtime_session_started", **voice),
        make.record("realtime_item", type="transcript_segment", role="user", text="Inspect the parser", **voice),
        make.record("realtime_item", type="transcript_segment", data={"role": "assistant", "text": "I do."}, **voice),
        make.user("<realtime_delegation>\n<input>Inspect that parser.</input>\n</realtime_delegation>"),
        make.record("realtime_item", type="realtime_session_closed", outcome="ended", **voice),
    )
    assert ingest(home, tmp_path).unknown == {}
    meta, body = document(home)
    assert heads(body) == ["user", "assistant"]
    assert meta["title"] == "Inspect the parser"
    assert "I do." in body


@pytest.mark.parametrize(("kind", "kept"), [("user.text", True), ("unknown", True), ("user.heartbeat", False),
    ("agents_md.instructions", False), ("plugins.recommendations", False)])  # fmt: skip
def test_the_harness_own_class_of_a_text_tells_whose_it_is(home: Home, tmp_path: Path, kind: str, kept: bool) -> None:
    make = Paginated()
    classed = make.user("Some words.")
    classed["payload"]["internal_chat_message_metadata_passthrough"] = {"turn_id": "t", "content_item_kinds": [kind]}
    save(tmp_path / NAME, make.meta(), classed, make.said("So."))
    assert ingest(home, tmp_path).unknown == {}
    assert ("Some words." in document(home)[1]) is kept


def test_what_a_person_answered_to_a_question_stands_under_it(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    given = '{"answers":{"zero":{"answers":["Return None","user_note: and log it"]}}}'
    save(
        tmp_path / NAME, make.meta(), make.asked("Divide."), make.said("I ask."),
        make.ran("q1", given, "request_user_input", questions=[{"id": "zero", "question": "By zero?"}]),
    )  # fmt: skip
    ingest(home, tmp_path)
    assert "  answer: Return None, and log it" in document(home)[1]


@pytest.mark.parametrize(
    "printed", ['so: {"answers":{"q":{"answers":["Yes"]}}}', r'"{\"answers\":{\"q\":{\"answers\":[\"Yes\"]}}}"']
)
def test_scripts_that_call_tools_say_how_they_failed_and_what_a_person_answered(
    home: Home, tmp_path: Path, printed: str
) -> None:
    make = Paginated()

    def script(call: str, code: str, head: str, *texts: str) -> list[Record]:
        output = [{"type": "input_text", "text": t} for t in (f"{head}\nWall time 0.1 seconds\nOutput:\n", *texts)]
        asked = make.item("custom_tool_call", call_id=call, name="exec", input=code)
        return [asked, make.item("custom_tool_call_output", call_id=call, output=output)]

    quoted = '{"answers":{"q":{"answers":["Of a file"]}}}'
    save(
        tmp_path / NAME, make.meta(), make.asked("Go"), make.said("I do."),
        *script("c1", "text(await tools.exec_command({cmd: 'cat'}))", "Script completed", quoted),
        *script("c2", "await tools.exec_command({cmd: 'make'})", "Script failed", "so", "Script error:\nboom: no rule"),
        *script("c3", "await tools.exec_command({cmd: 'rm x'})", "Script failed", "Script error:\nrejected by user"),
        *script("c4", "text(await tools.request_user_input({}))", "Script running with cell ID 3"),
        *script("c5", "wait", "Script completed", printed),
    )  # fmt: skip
    assert ingest(home, tmp_path).unknown == {}
    body = document(home)[1]
    assert [line for line in body.split("\n") if line.startswith(("  !", "  answer", "  rejected"))] == [
        "  ! boom: no rule",
        "  rejected by the user",
        "  answer: Yes",
    ]


def test_a_subagent_does_not_repeat_its_parents_words(home: Home, tmp_path: Path) -> None:
    make = Paginated()
    source = {"subagent": {"thread_spawn": {"parent_thread_id": OTHER, "agent_role": "explorer"}}}
    save(
        tmp_path / NAME,
        make.meta(source=source, subagent_history_start_ordinal=5),
        make.asked("The parent's prompt"),
        make.said("The parent's answer"),
        make.item("agent_message", author="/root", recipient="/root/look", content="Look"),
        make.said("I found it."),
    )  # fmt: skip
    assert ingest(home, tmp_path).unknown == {}
    meta, body = document(home)
    assert meta["parent"] == OTHER
    assert "parent's" not in body
    assert "/root to /root/look: Look" in body
    assert "I found it." in body


def test_the_call_that_started_a_subagent_names_it_in_a_paginated_history_too(home: Home, tmp_path: Path) -> None:
    make = Paginated()
    save(
        tmp_path / NAME, make.meta(), make.asked("Look"),
        make.completed("SubAgentActivity", kind="started", agent_thread_id=OTHER, agent_path="/root/look", id="s1"),
        make.ran("s1", '{"task_name":"/root/look"}', "spawn_agent", message="Look around"),
        make.record("event_msg", type="sub_agent_activity", event_id="s1", kind="started", agent_thread_id=OTHER),
    )  # fmt: skip
    assert ingest(home, tmp_path).unknown == {}
    assert document(home)[1].count(f"→ codex__{OTHER}") == 1


def test_a_plan_and_the_words_around_it_and_memory_citations_stand_once(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    cited = "Done.\n<oai-mem-citation>\n<citation_entries>\nMEMORY.md:1-2\n</citation_entries>\n</oai-mem-citation>"
    plan = "Here it is.\n<proposed_plan>\n1. Mend it\n</proposed_plan>"
    save(
        tmp_path / NAME,
        make.meta(),
        make.asked("Plan it"),
        make.event("item_completed", item={"type": "Plan", "id": "p", "text": "1. Mend it\n"}),
        make.event("agent_message", message="Here it is."),
        make.item("message", role="assistant", content=[{"type": "output_text", "text": plan}]),
        make.event("agent_message", message="Done."),
        make.item("message", role="assistant", content=[{"type": "output_text", "text": cited}]),
    )
    ingest(home, tmp_path)
    body = document(home)[1]
    for text in ("Here it is.", "1. Mend it", "Done."):
        assert body.count(text) == 1, body
    assert "MEMORY.md" not in body
    assert pieces("a<proposed_plan>b") == ["a", "b"]


@pytest.mark.parametrize("stamp", [1777366801000, 1777366801, 1777366801.5, "2026-04-28T11:00:01+02:00", "1777366801"])
def test_a_time_in_any_usual_form_is_read(home: Home, tmp_path: Path, stamp: object) -> None:
    make = Rollout()
    records = [{**record, "timestamp": stamp} for record in make.asked("Why?")]
    meta = make.meta(timestamp=stamp)
    save(tmp_path / NAME, {**meta, "timestamp": stamp}, *records)
    ingest(home, tmp_path)
    assert document(home)[0]["date"] == "2026-04-28T09:00:01Z"


@pytest.mark.parametrize("unit", ["<proposed_plan>p</proposed_plan>", "<oai-mem-citation>c</oai-mem-citation>x"])
def test_blocks_are_found_by_looking_at_a_text_a_few_times_however_many_there_are(unit: str) -> None:
    text = Scanned(unit * 2000)
    found = pieces(text)
    assert len("".join(found)) == 2000
    assert 0 < text.looked[0] < 6 * len(text)


@given(st.lists(st.sampled_from(["<proposed_plan>", "</proposed_plan>", "a", "<", ">"])).map("".join))
def test_plans_are_what_stands_between_their_tags(text: str) -> None:
    said, *plans = pieces(text)
    first, *blocks = text.split("<proposed_plan>")
    assert "<proposed_plan>" not in said
    assert said.startswith(first)
    assert bool(plans) == bool(blocks)
    assert all("</proposed_plan>" not in plan and plan in text for plan in plans)
