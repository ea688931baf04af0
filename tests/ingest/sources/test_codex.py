"""Codex CLI: three generations of one format, each message once, a person's words told from the harness's."""

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
from ingest.pipeline import owners
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.sources.codex import source as codex
from tests.ingest.transcripts import corpus, documents

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


def save(path: Path, *records: Any) -> Path:
    flat = [record for entry in records for record in (entry if isinstance(entry, list) else [entry])]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in flat), encoding="utf-8")
    return path


def ingest(home: Home, folder: Path, **options: Any) -> Ledger:
    return run(home, "codex", [str(folder)], trust_stat=False, **options)


def document(home: Home, session: str = SESSION) -> tuple[dict[str, Any], str]:
    return split(corpus(home)[f"codex__{session}.md"].decode())


def test_a_message_recorded_twice_stands_once_and_one_said_twice_stands_twice(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    records = [make.meta(), *make.asked("continue"), *make.said("Done."), *make.asked("continue"), *make.said("Done.")]
    save(tmp_path / NAME, *records)
    assert ingest(home, tmp_path).unknown == {}
    meta, body = document(home)
    assert body.count("continue") == 2 + body.startswith("# continue")
    assert body.count("Done.") == 2
    assert meta["turns"] == 4
    assert (meta["session_id"], meta["source"], meta["project"]) == (SESSION, "codex", "/home/me/api")
    assert (meta["date"], meta["git_branch"], meta["version"]) == ("2026-04-28T08:59:00Z", "main", "0.121.0")


@pytest.mark.parametrize("injected", ["<environment_context>\n<cwd>/x</cwd>\n</environment_context>",
    "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe terse.\n</INSTRUCTIONS>",
    "<skill>\n<name>x</name>\n</skill>", "<turn_aborted>\nOn purpose.\n</turn_aborted>",
    "<some_new_context>\nof a later version\n</some_new_context>", "Words of the harness."])  # fmt: skip
def test_what_the_harness_wrote_is_nobodys_prompt(home: Home, tmp_path: Path, injected: str) -> None:
    make = Rollout()
    save(tmp_path / NAME, make.meta(), *make.asked("Why?"), *make.said("So."), make.user(injected), *make.asked("And?"))
    ingest(home, tmp_path)
    body = document(home)[1]
    assert [line.split(" · ")[0] for line in body.split("\n") if line.startswith("## [")] == [
        "## [1] user",
        "## [2] assistant",
        "## [3] user",
    ]
    assert injected.split("\n")[0] not in body


@pytest.mark.parametrize("injected", [
    "Warning: Your account was flagged for potentially high-risk cyber activity and this request was routed elsewhere.",
    '<exec-command-completed call-id="c" exit-code="0">\n<command>make</command>\n</exec-command-completed>',
])  # fmt: skip
def test_what_the_harness_wrote_is_known_where_no_event_tells_it(home: Home, tmp_path: Path, injected: str) -> None:
    make = Rollout()
    save(tmp_path / NAME, make.meta(), make.user("Why?"), make.user(injected))
    ingest(home, tmp_path)
    assert document(home)[1].endswith("\n\nWhy?\n")


def test_the_editors_surroundings_are_cut_from_what_was_typed(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    around = "# Context from my IDE setup:\n\n## Open tabs:\n- .env: .env\n\n## My request for Codex:\nFix the race.\n"
    save(tmp_path / NAME, make.meta(), *make.asked(around))
    ingest(home, tmp_path)
    meta, body = document(home)
    assert meta["title"] == "Fix the race."
    assert "Open tabs" not in body


def test_commentary_is_told_from_the_final_answer(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    save(
        tmp_path / NAME,
        make.meta(),
        *make.asked("Why?"),
        *make.said("I look first.", "commentary"),
        *make.ran("c1", "Chunk ID: 1\nProcess exited with code 0\nOutput:\nok\n", cmd="ls"),
        *make.said("Because.", "final_answer"),
    )
    ingest(home, tmp_path)
    body = document(home)[1]
    assert "commentary · 2026-04-28 09:00\n\nI look first.\n\n- exec_command: ls\n" in body
    assert "## [3] assistant · 2026-04-28 09:00\n\nBecause.\n" in body


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("shell", {"command": ["bash", "-lc", "npm test"]}, "- shell: npm test"),
        ("shell", {"command": ["git", "log", "--format=%h %s"]}, "- shell: git log '--format=%h %s'"),
        ("exec_command", {"cmd": "rg -n race", "workdir": "/x"}, "- exec_command: rg -n race"),
        ("update_plan", {"plan": [{"step": "Look", "status": "pending"}]}, "- update_plan: Look"),
        ("view_image", {"path": "/x/shot.png"}, "- view_image: /x/shot.png"),
        ("write_stdin", {"session_id": 7, "chars": "q"}, "- write_stdin: session_id=7, chars=q"),
        ("spawn_agent", {"agent_type": "explorer", "message": "Find it"}, "- spawn_agent (explorer): Find it"),
    ],
)
def test_a_tool_call_is_one_line(home: Home, tmp_path: Path, name: str, arguments: Record, line: str) -> None:
    make = Rollout()
    save(tmp_path / NAME, make.meta(), *make.asked("Go"), *make.ran("c1", "ok", name=name, **arguments))
    ingest(home, tmp_path)
    assert line in document(home)[1].split("\n")


def test_a_patch_is_shown_by_the_files_it_touches(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: src/b.py\n+z\n*** End Patch"
    save(
        tmp_path / NAME,
        make.meta(),
        *make.asked("Go"),
        make.item("custom_tool_call", name="apply_patch", input=patch, call_id="c1", status="completed"),
        make.item("custom_tool_call_output", call_id="c1", output="patch rejected by user"),
    )
    ingest(home, tmp_path)
    assert "- apply_patch: src/a.py, src/b.py (new)\n  rejected by the user\n" in document(home)[1]


@pytest.mark.parametrize(
    "output",
    [
        json.dumps({"output": "boom: no such file", "metadata": {"exit_code": 2, "duration_seconds": 0.1}}),
        "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nboom: no such file",
        "Exit code: 2\nWall time: 0.1 seconds\nOutput:\nboom: no such file",
        [{"type": "input_text", "text": "Exit code: 2\nWall time: 0 seconds\nOutput:\nboom: no such file"}],
    ],
)
def test_a_failed_command_keeps_its_errors_first_lines(home: Home, tmp_path: Path, output: Any) -> None:
    make = Rollout()
    save(tmp_path / NAME, make.meta(), *make.asked("Go"), *make.ran("c1", output, cmd="cat x"))
    ingest(home, tmp_path)
    assert "- exec_command: cat x\n  ! Exit code 2\n  ! boom: no such file\n" in document(home)[1]


def test_an_exit_code_that_a_command_printed_itself_is_no_failure(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    output = "Process exited with code 0\nOutput:\nProcess exited with code 3\nExit code: 3\n"
    save(tmp_path / NAME, make.meta(), *make.asked("Go"), *make.ran("c1", output, cmd="cat log"))
    ingest(home, tmp_path)
    assert "  !" not in document(home)[1]


def test_reasoning_stands_apart_and_once(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    save(
        tmp_path / NAME,
        make.meta(),
        *make.asked("Why?"),
        make.event("agent_reasoning", text="**Two readers**"),
        make.item("reasoning", summary=[{"type": "summary_text", "text": "**Two readers**"}], encrypted_content="x"),
        *make.said("So."),
    )
    ingest(home, tmp_path)
    body = document(home)[1]
    assert body.count("**Two readers**") == 1
    assert "### reasoning\n\n**Two readers**" in body


def test_a_fork_and_a_subagent_name_their_origins(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    forked = f"rollout-2026-04-28T10-00-00-{OTHER}.jsonl"
    save(
        tmp_path / forked,
        make.meta(OTHER, forked_from_id=SESSION),
        make.meta(SESSION, cwd="/elsewhere"),
        *make.asked("Again"),
    )
    spawn = {"parent_thread_id": SESSION, "depth": 1, "agent_nickname": "Ada", "agent_role": "explorer"}
    child = "019a0000-0000-7000-8000-00000000000c"
    save(
        tmp_path / f"rollout-2026-04-28T11-00-00-{child}.jsonl",
        make.meta(child, source={"subagent": {"thread_spawn": spawn}}),
        *make.asked("Find the lock"),
        *make.said("Here."),
    )
    ingest(home, tmp_path)
    fork = document(home, OTHER)[0]
    assert (fork["forked_from"], fork["project"]) == (SESSION, "/home/me/api")
    meta, body = document(home, child)
    assert (meta["parent"], meta["agent_type"], meta["agent_id"]) == (SESSION, "explorer", "Ada")
    assert "## [1] task · " in body


def test_a_call_that_started_an_agent_names_its_document(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    started = json.dumps({"agent_id": OTHER, "nickname": "Ada"})
    save(tmp_path / NAME, make.meta(), *make.asked("Go"), *make.ran("c1", started, name="spawn_agent", message="Look"))
    ingest(home, tmp_path)
    assert f"- spawn_agent: Look\n  → codex__{OTHER}\n" in document(home)[1]


def test_the_format_before_envelopes_is_read(home: Home, tmp_path: Path) -> None:
    environment = "<environment_context>\nCurrent working directory: /home/me/old\n</environment_context>"
    save(
        tmp_path / NAME,
        {"id": SESSION, "timestamp": "2025-08-01T10:00:00.000Z", "instructions": None, "git": {"branch": "dev"}},
        {"record_type": "state"},
        {"type": "message", "id": None, "role": "user", "content": [{"type": "input_text", "text": environment}]},
        {"type": "message", "id": None, "role": "user", "content": [{"type": "input_text", "text": "Hello?"}]},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "id": "f", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": '{"output": "a", "metadata": {"exit_code": 0}}'},
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
    )
    ledger = ingest(home, tmp_path)
    assert ledger.unknown == {}
    meta, body = document(home)
    assert (meta["date"], meta["project"], meta["git_branch"]) == ("2025-08-01T10:00:00Z", "/home/me/old", "dev")
    assert "## [1] user\n\nHello?\n\n## [2] assistant\n\n- shell: ls\n\nHi.\n" in body


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


def test_a_compressed_rollout_that_ends_between_two_lines_and_within_a_frame_says_so(
    home: Home, tmp_path: Path
) -> None:
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


def test_a_compressed_rollout_that_is_cut_short_says_so(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    lines = "".join(json.dumps(record) + "\n" for record in [make.meta(), *make.asked("Why?")])
    (tmp_path / f"{NAME}.zst").write_bytes(zstandard.compress((lines + '{"timestamp": "20').encode()))
    ledger = ingest(home, tmp_path)
    assert (ledger.ingested, ledger.failed_reasons) == (1, {"cut short": 1})


def test_what_is_not_known_is_counted_with_its_place(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    save(
        tmp_path / NAME,
        make.meta(surprise=1),
        *make.asked("Why?"),
        make.record("hologram", x=1),
        make.item("telepathy", text="hm"),
        make.event("omen", text="hm"),
        make.item("message", role="user", content=[{"type": "input_text", "text": "Why?", "aura": "words"}]),
        make.item("message", role="user", content=[{"type": "input_aura", "text": "words"}]),
        make.item("reasoning", summary=[{"type": "summary_text", "text": "So.", "aura": 1}, {"type": "gist"}]),
        make.item("message", role="assistant", content=[{"type": "output_text", "text": "So.", "annotations": []}]),
    )
    unknown = ingest(home, tmp_path).unknown
    assert set(unknown) == {
        "session_meta: field surprise",
        "record hologram",
        "response_item telepathy",
        "event_msg omen",
        "message content input_text: field aura",
        "message content input_aura",
        "reasoning content summary_text: field aura",
        "reasoning content gist",
    }
    assert unknown["message content input_aura"]["shape"] == "an object of text, type"
    assert str(unknown["record hologram"]["example"]).endswith(f"{NAME}:4")


def test_other_tools_files_are_left_out_whatever_they_hold(home: Home, tmp_path: Path) -> None:
    save(tmp_path / "claude.jsonl", {"type": "user", "sessionId": "x", "message": {"role": "user", "content": "Hi"}})
    save(tmp_path / "pi.jsonl", {"type": "session", "version": 3, "id": "x", "timestamp": "2026-01-01T00:00:00Z"})
    ledger = ingest(home, tmp_path)
    assert ledger.skipped == {"not a Codex transcript": 1, owners.PI: 1}
    assert corpus(home) == {}


def test_taken_back_turns_and_interruptions_are_said(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    save(
        tmp_path / NAME,
        make.meta(),
        *make.asked("Why?"),
        *make.said("So."),
        make.event("turn_aborted", reason="interrupted"),
        make.event("thread_rolled_back", num_turns=2),
    )
    ingest(home, tmp_path)
    assert "So.\n\n- interrupted by the user\n- the last 2 turns taken back by the user\n" in document(home)[1]


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
