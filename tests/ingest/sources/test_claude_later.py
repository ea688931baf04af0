"""Claude Code of 2.1.238 and later: whose words a record holds, and bookkeeping that is no finding."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from ingest.session.events import COMMAND, INTERRUPT, PROMPT, SUMMARY, TEAMMATE
from ingest.sources.claude.user_text import extract_user_text
from tests.ingest.transcripts import SESSION, Record, Script, body, document, ingest, save, text, thinking, tool

PEER = "Another Claude session sent a message:\n{}\n\nThis came from another Claude session — not typed by your user."
REPORT = (
    "[Subagent hand-back] The text below is a subagent's report. It is model output, NOT a message from the user. "
    "The report follows:\n  All green:\n    two runs"
)
CROSS = '<cross-session-message from="uds:/tmp/x.sock" from-name="reviewer">Please rebase</cross-session-message>'

NOTHING = ""


def classify(text: str) -> tuple[str, str]:
    """Return (kind, words) of a user text of one piece."""
    return next(iter(extract_user_text(text).pieces), (NOTHING, ""))


def heads(shown: str) -> list[str]:
    return [line.split(" · ")[0].partition("] ")[2] for line in shown.split("\n") if line.startswith("## [")]


def test_the_bookkeeping_of_later_versions_is_no_finding(home: Home, tmp_path: Path) -> None:
    make = Script()
    kinds = """
        tag agent-color agent-setting worktree-state content-replacement attribution-snapshot speculation-accept
        task-summary marble-origami-commit marble-origami-snapshot marble-origami-reset continued-in frame-link
        artifact-comment-monitor artifact-autoreact-ledger ended-by-model relocated history-suppression isolation-latch
        cost-state observer-ref
    """.split()
    records: list[Record] = [{"type": kind, "sessionId": SESSION} for kind in kinds]
    systems = ("permission_retry", "memory_saved", "agents_killed", "model_refusal_fallback")
    records += [make.record("system", subtype=name, content="x") for name in systems]
    attached = ("prompt_snapshot", "budget_usd", "goal_status", "context_tip", "ultra_effort_enter")
    records += [make.record("attachment", attachment={"type": name, "content": "x"}) for name in attached]
    records += [make.assistant({"type": "advisor_tool_result", "content": []}, text("So."))]
    save(tmp_path / f"{SESSION}.jsonl", make.user("Why?"), *records)
    assert ingest(home, tmp_path).unknown == {}
    assert heads(document(home)[1]) == ["user", "assistant"]


def test_a_clock_that_counts_since_1970_is_read(home: Home, tmp_path: Path) -> None:
    make = Script()
    said, answer = make.user("Why?"), make.assistant(text("So."))
    said["timestamp"], answer["timestamp"] = 1_777_367_643_000, 1_777_367_703
    save(tmp_path / f"{SESSION}.jsonl", said, answer)
    ingest(home, tmp_path)
    meta = document(home)[0]
    assert (meta["date"], meta["ended"]) == ("2026-04-28T09:14:03Z", "2026-04-28T09:15:03Z")


def test_a_kind_that_no_version_had_is_still_a_finding(home: Home, tmp_path: Path) -> None:
    make = Script()
    dream = make.record("attachment", attachment={"type": "dream"})
    save(tmp_path / f"{SESSION}.jsonl", make.user("Why?"), {"type": "dream-state", "sessionId": SESSION}, dream)
    assert set(ingest(home, tmp_path).unknown) == {"dream-state", "attachment dream"}


@pytest.mark.parametrize(("said", "origin", "shown"), [
    (PEER.format("Run the tests"), {"kind": "peer"}, "Run the tests"),
    (PEER.format(CROSS), {"kind": "peer", "name": "reviewer", "body": "Please rebase"}, "reviewer: Please rebase"),
    (PEER.format(CROSS), None, "reviewer: Please rebase"),
    ('<agent-message from="tester">All green</agent-message>', None, "tester: All green"),
    ('<agent-message from="tester">\n' + REPORT + '\n</agent-message>', None, "tester: All green:\n  two runs"),
    (PEER.format('<agent-message from="tester">\n' + REPORT + '\n</agent-message>'), {"kind": "peer"},
     "tester: All green:\n  two runs"),
    ("<coordinator-relay>Stop now</coordinator-relay>", None, "Stop now"),
    (REPORT, None, "All green:\n  two runs"),
    ("The coordinator sent a message while you were working:\nStop the sleeps\n\nAddress this before completing your"
     " current task.", {"kind": "coordinator"}, "Stop the sleeps"),
])  # fmt: skip
@pytest.mark.parametrize("queued", [False, True])
def test_what_another_agent_wrote_is_kept_as_its_words(
    home: Home, tmp_path: Path, said: str, origin: dict[str, Any] | None, shown: str, queued: bool
) -> None:
    make = Script()
    fields: dict[str, Any] = {} if origin is None else {"origin": origin, "isMeta": True}
    if queued and origin is not None:
        attachment = {"type": "queued_command", "commandMode": "prompt", "prompt": said, **fields}
        record = make.record("attachment", attachment=attachment)
    else:
        record = make.user(said, **fields)
    found = body(home, tmp_path, make.user("Mend the parser"), make.assistant(text("So.")), record)
    assert heads(found) == ["user", "assistant", "teammate"]
    assert found.endswith(f"\n\n{shown}\n")


def test_a_mailbox_holds_what_teammates_wrote_and_not_their_protocol(home: Home, tmp_path: Path) -> None:
    make = Script()
    messages = [{"from": "scout", "text": "Found it"}, {"from": "scout", "text": '{"type":"idle_notification"}'}]
    mail = make.record("attachment", attachment={"type": "teammate_mailbox", "messages": messages})
    found = body(home, tmp_path, make.user("Search"), mail)
    assert heads(found) == ["user", "teammate"]
    assert "scout: Found it" in found
    assert "idle_notification" not in found


@pytest.mark.parametrize("queued", [False, True])
def test_what_a_person_wrote_in_a_channel_is_a_prompt(home: Home, tmp_path: Path, queued: bool) -> None:
    make = Script()
    said, origin = '<channel source="phone" chat_id="1">\nare you there?\n</channel>', {"kind": "channel"}
    if queued:
        prompt = {"type": "queued_command", "commandMode": "prompt", "prompt": said, "origin": origin, "isMeta": True}
        record = make.record("attachment", attachment=prompt)
    else:
        record = make.user(said, isMeta=True, origin=origin)
    found = body(home, tmp_path, make.user("Hello"), make.assistant(text("Hi.")), record)
    assert heads(found) == ["user", "assistant", "user"]
    assert found.endswith("\n\nare you there?\n")


@pytest.mark.parametrize("fields", [
    {"origin": {"kind": "auto-continuation"}, "promptSource": "system"},
    {"origin": {"kind": "observer-activity"}},
    {"isMeta": True, "origin": {"kind": "of a later version"}},
])  # fmt: skip
def test_what_the_harness_goes_on_with_is_nobodys_prompt(home: Home, tmp_path: Path, fields: dict[str, Any]) -> None:
    make = Script()
    found = body(home, tmp_path, make.user("Hello"), make.user("Continue the task.", **fields))
    assert "Continue the task." not in found


def test_a_scheduled_prompt_is_not_the_persons(home: Home, tmp_path: Path) -> None:
    make = Script()
    records = [make.user("Hello", promptSource="typed"), make.assistant(text("Hi.")),
               make.record("system", subtype="scheduled_task_fire", content="Running scheduled task"),
               make.user("Look at the build", promptSource="system")]  # fmt: skip
    assert heads(body(home, tmp_path, *records)) == ["user", "assistant", "teammate"]


def test_a_fork_names_the_session_that_it_came_from(home: Home, tmp_path: Path) -> None:
    make = Script()
    reference = {"type": "fork-context-ref", "sessionId": SESSION, "parentSessionId": "the-first-one"}
    save(tmp_path / f"{SESSION}.jsonl", reference, make.user("Go on"))
    ingest(home, tmp_path)
    assert document(home)[0]["forked_from"] == "the-first-one"


@pytest.mark.parametrize(("said", "shown"), [
    ('\n\n<pasted_content id="9b65">\n<task-notification>\nIt ran.\n</pasted_content id="9b65">\n\n Why?',
     "<task-notification>\nIt ran.\n\n Why?"),
    ("Style the <pasted_content id=x> tag", "Style the <pasted_content id=x> tag"),
    ("<!-- attach -->\n> 20k, 30k\n\nWhich?", "> 20k, 30k\n\nWhich?"),
    ("<launch-selected-element>\n<selector>.a</selector>\n</launch-selected-element>\nMake it red", "Make it red"),
])  # fmt: skip
def test_what_stands_around_a_persons_words_is_cut_off(home: Home, tmp_path: Path, said: str, shown: str) -> None:
    made = body(home, tmp_path, Script().user(said))
    assert made.endswith(f"## [1] user · 2026-04-28 09:00\n\n{shown}\n")


@pytest.mark.parametrize(("said", "kind", "shown"), [
    ("<command-name>/fix</command-name>\n<command-args>this\n{}\n</command-args>", COMMAND, "/fix this\nlog"),
    ("This session is being continued from a previous conversation that ran out of context.\n{}", SUMMARY, None),
    ("<local-command-stdout>\n{}\n</local-command-stdout>", NOTHING, None),
    ("Stop hook feedback:\n- [lint]: {}", NOTHING, None),
    ('<teammate-message teammate_id="a">\n{}\n</teammate-message>', TEAMMATE, "a: log")])  # fmt: skip
def test_a_paste_inside_what_the_harness_writes_makes_no_prompt_of_it(said: str, kind: str, shown: str | None) -> None:
    found, kept = classify(said.format('<pasted_content id="1">\nlog\n</pasted_content id="1">'))
    assert found == kind
    assert "pasted_content" not in kept
    assert shown in (None, kept)


@pytest.mark.parametrize("said", [
    "<ci-monitor-event>\nA check failed.\n</ci-monitor-event>",
    "<github-webhook-activity>\n{}\n</github-webhook-activity>", "[SYSTEM NOTIFICATION - NOT USER INPUT]\nIt ended.",
    "I hit my usage limit while you were working, but it has reset now. Please continue from where you left off.",
    "My computer went to sleep while you were working. Please continue from where you left off.",
    "[Request cancelled by user]", 'Background agent "scout" was stopped by the user.',
    "2 background agents were stopped by the user: scout, tester.", "<tick>09:00</tick>",
    "<bash-stdout>a</bash-stdout><bash-stderr>b</bash-stderr>", "Base directory for this skill: /x/y\n\n# A skill",
    "<mcp-resource-update server=\"s\" uri=\"u\">\n<reason>new</reason>\n</mcp-resource-update>",
    "<task-notification>\n<task-id>1</task-id>\n</task-notification>\nFull transcript available at: /tmp/x",
    "Your previous response had no visible output. Please continue.",
    "[Your previous response had no visible output. Please continue and produce a user-visible response.]",
    "The previous response failed to produce a valid tool call. Please retry the tool call now.",
    'A session-scoped Stop hook is now active with condition: "green". Briefly acknowledge the goal'])  # fmt: skip
def test_what_the_apps_say_in_a_persons_place_is_nobodys_prompt(home: Home, tmp_path: Path, said: str) -> None:
    make = Script()
    made = body(home, tmp_path, make.user("Why?"), make.assistant(text("So.")), make.user(said))
    assert heads(made) == ["user", "assistant"]


@pytest.mark.parametrize(
    "said",
    [
        "Your previous response had no visible output. Please continue with the second test.",
        "Your previous response had no visible output here: say it once more",
        "The previous response failed to produce a valid tool call. Which tool was it?",
        "A session-scoped Stop hook is now active and nags me. Take it out.",
        "A session-scoped Stop hook is now active with condition: green. How do I end it?",
        "[Request interrupted by user] is what I see, but it was not me.",
        "[Request interrupted by user for tool use]\n\nThat was me. Take the other file.",
        "Caveat: The messages below were generated by the user, says the log. Which messages?",
        "<command-name> and <command-args> are tags: where are they made?",
        "<command-name>/clear</command-name> is what my log says. Why?",
        "<bash-input>ls</bash-input> is what it sends: why?",
        '<bash-input name="x">ls</bash-input>',
        "<bash-input> is never closed. Why?",
        "<local-command-stdout>a</local-command-stdout> is how it comes. Parse that.",
        "<tick> is a tag: of what?",
        "<heartbeat>\nis how my file begins",
        "<task-notification> comes each minute. Stop that.",
        "Stop hook feedback: how do I read it?",
        "Base directory for this skill: which one is it?",
        'Background agent "scout" hangs. Why?',
        "[SYSTEM NOTIFICATION - NOT USER INPUT] is what I read. Why?",
        "I hit my usage limit. First mend the test! Please continue from where you left off.",
        "This session is being continued from a previous conversation, as I want it: go on with step two.",
        "<teammate-message> is a tag, what for?",
        "<!-- reply is what the app puts there, without an end",
        "Another Claude session sent a message: does it say who?",
        "[Subagent hand-back] stands there. What is it?",
        "<agent-message> is never closed. Mend it.",
        "3 background agents are at work. Which?",
    ],
)
def test_a_person_who_begins_as_the_harness_does_is_heard_out(home: Home, tmp_path: Path, said: str) -> None:
    make = Script()
    made = body(home, tmp_path, make.user("Why?"), make.assistant(text("So.")), make.user(said))
    assert heads(made) == ["user", "assistant", "user"]
    assert made.endswith(f"\n{said}\n")


@pytest.mark.parametrize(("said", "kind", "words"), [
    ("<command-name>/fix</command-name>\n<command-args>it</command-args>\nAnd why.", PROMPT, "/fix it\n\nAnd why."),
    ("<bash-input>ls</bash-input>\n\nWhose are these?", PROMPT, "! ls\n\nWhose are these?"),
    ("<local-command-stdout>a</local-command-stdout>\n\nWhy?", PROMPT, "Why?"),
    ("<task-notification>\nIt ended.\n</task-notification>\nRead the output file to retrieve the result: /tmp/x\nWhy?",
     PROMPT, "Why?"),
    ("<fork-boilerplate>\nYou are a fork.\n</fork-boilerplate>\n\nYour directive: Count them.", PROMPT, "Count them."),
    ('<teammate-message teammate_id="a">Hi</teammate-message>\nTell them no.', TEAMMATE, "a: Hi\n\nTell them no."),
    ('<channel source="phone">Hi</channel>\nFrom my phone.', PROMPT, "Hi\n\nFrom my phone."),
    ('<agent-message from="b">Hi</agent-message>\nTell them no.', TEAMMATE, "b: Hi\n\nTell them no."),
    ("[Request interrupted by user]\n[Request interrupted by user for tool use]", INTERRUPT, "")])  # fmt: skip
def test_what_stands_below_the_harness_own_words_is_kept(said: str, kind: str, words: str) -> None:
    assert classify(said) == (kind, words)


@pytest.mark.parametrize("said", [
    "<task-notification>\n<result>It ends at `</task-notification>`.\nAll of it.</result>\n</task-notification>",
    "<task-notification>\nIt ends at </task-notification>, so.\n</task-notification>\nFull transcript available at: /x",
    "<task-notification>\n<result><task-notification>\nx\n</task-notification>\nis it.</result>\n</task-notification>",
    "<bash-stdout>a </bash-stdout> b</bash-stdout><bash-stderr>c</bash-stderr>",
    "<bash-stdout>a\n</bash-stdout>\nb</bash-stdout><bash-stderr></bash-stderr>",
    "<bash-stdout>a</bash-stdout><bash-stderr>b </bash-stderr> c</bash-stderr>",
    "<local-command-stdout>a\n</local-command-stdout>\nb</local-command-stdout>"])  # fmt: skip
def test_a_block_that_quotes_its_own_closing_tag_is_nobodys_prompt(said: str) -> None:
    assert classify(said) == (NOTHING, "")
    assert classify(f"{said}\n\nWhy?")[0] == PROMPT


@pytest.mark.parametrize("said", [
    "<local-command-stdout>a</local-command-stdout>\n{}\n<local-command-stdout>b</local-command-stdout>",
    "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>\n{}\n<bash-stdout>b</bash-stdout><bash-stderr></bash-stderr>",
    "<fork-boilerplate>\nYou are a fork.\n</fork-boilerplate>\n\nYour directive: {} </fork-boilerplate>",
    "<tick>a</tick> is each minute. {} Is it <tick> alone, or </tick>", "<tick>a</tick>\n{} Not </tick>"])  # fmt: skip
def test_words_between_blocks_of_the_harness_are_a_persons(said: str) -> None:
    kind, words = classify(said.format("Which is the later one?"))
    assert kind == PROMPT
    assert "Which is the later one?" in words


@pytest.mark.parametrize("said", ["<tick>", "<tick>a</tick>\n", "<command-name>/x</command-name>\n", "<heartbeat/>",
    "[Request interrupted by user]\n", "<teammate-message a>b</teammate-message>", "Stop hook feedback:"])  # fmt: skip
def test_a_long_text_of_the_harness_takes_time_in_proportion(said: str) -> None:
    began = time.perf_counter()
    classify(said * (1_000_000 // len(said)))
    assert time.perf_counter() - began < 3


def test_what_was_typed_meanwhile_is_kept_whatever_it_begins_like(home: Home, tmp_path: Path) -> None:
    make = Script()
    said = "This session is being continued from a previous conversation that ran out of context. Is that so?"
    queued = make.record("attachment", attachment={"type": "queued_command", "commandMode": "prompt", "prompt": said})
    assert body(home, tmp_path, make.user("Why?"), make.assistant(text("So.")), queued).endswith(f"\n\n{said}\n")


def test_a_task_that_runs_at_set_times_is_no_persons_prompt(home: Home, tmp_path: Path) -> None:
    task = '<scheduled-task name="daily" file="/x/SKILL.md">\nThis is an automated run.\nReport.\n</scheduled-task>'
    made = body(home, tmp_path, Script().user(task))
    assert heads(made) == ["teammate"]
    assert "daily: This is an automated run.\nReport.\n" in made


@pytest.mark.parametrize(("fields", "who"), [
    ({"turnOrigin": "human", "promptSource": "typed", "turnPosition": {"promptIndex": 1}}, ["user"]),
    ({"turnOrigin": "sdk"}, ["user"]), ({"turnOrigin": "scheduled", "scheduledTaskId": "t1"}, ["teammate"]),
    ({"turnOrigin": "peer"}, ["teammate"]), ({"turnOrigin": "task_notification", "promptSource": "typed"}, ["user"]),
    ({"turnOrigin": "human", "turnCompanion": True}, [])])  # fmt: skip
def test_who_began_a_turn_is_read(home: Home, tmp_path: Path, fields: dict[str, Any], who: list[str]) -> None:
    make = Script()
    save(tmp_path / f"{SESSION}.jsonl", make.user("Why?"), make.assistant(text("So.")), make.user("And so?", **fields))
    assert ingest(home, tmp_path).unknown == {}
    assert heads(document(home)[1]) == ["user", "assistant", *who]


@pytest.mark.parametrize(("said", "shown"), [
    ("""The user wants to clarify these questions.
    This means they may have additional information.

    Questions asked:
- "Which colour?"
  Answer: Green
  User notes: like the leaves
- "How many?"
  (No answer provided)
- "Which size?"
  (No answer provided)
  User notes: it depends""",
     ["  the user wants to talk about the questions first", "  answer to “Which colour?”: Green (like the leaves)",
      "  answer to “Which size?”: (it depends)"]),
    ("""The user has indicated they have provided enough answers for the plan interview.
Stop asking clarifying questions.

Questions asked and answers provided:
- "Which colour?"
  Answer: Green""", ["  enough answered, the user says", "  answer to “Which colour?”: Green"])])  # fmt: skip
def test_what_the_harness_says_of_questions_put_off_is_not_the_persons(
    home: Home, tmp_path: Path, said: str, shown: list[str]
) -> None:
    make = Script()
    refused = f"The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n{said}"
    asked = make.assistant(tool("AskUserQuestion", "t1", questions=[{"question": "Which colour?"}]))
    answer = make.result("t1", refused, error=True, outcome="User rejected tool use")
    answer |= {"userFeedback": said, "toolDenialKind": "user-rejected"}
    made = body(home, tmp_path, make.user("Paint it"), asked, answer)
    assert heads(made) == ["user", "assistant"]
    assert made.rstrip("\n").endswith("\n".join(shown))


def test_an_answer_that_took_anothers_place_stands_alone(home: Home, tmp_path: Path) -> None:
    script = Script(version="2.1.268")
    ran, never = tool("Bash", "t1", command="make"), tool("Bash", "t2", command="make all")
    records = [
        script.user("Why?"), script.assistant(thinking("Hm."), model="m-1"), script.assistant(ran, model="m-1"),
        script.result("t1"), script.assistant(text("A lock"), model="m-1"), script.assistant(never, model="m-1"),
        script.assistant(text("A lock is missing."), model="m-2", supersedesUuids=["u5", "u6", "u1"]),
        script.record("system", subtype="model_refusal_fallback", retractedMessageUuids=["u2", "u5"]),
        script.assistant(text("And so."), model="m-2", supersedesUuids=["u9"]),
    ]  # fmt: skip
    made = body(home, tmp_path, *records)
    assert "Why?" in made
    assert made.count("A lock") == 1
    assert made.endswith("- Bash: make\n\nA lock is missing.\n\nAnd so.\n")
    assert "Hm." not in made


@pytest.mark.parametrize(
    "fields", [{"supersedesUuids": 3}, {"supersedesUuids": [None, {}, "u0"]}, {"supersedesUuids": ""}]
)
def test_no_shape_of_what_is_replaced_loses_an_answer(home: Home, tmp_path: Path, fields: dict[str, Any]) -> None:
    script = Script()
    made = body(
        home, tmp_path, script.user("Why?"), script.assistant(text("First.")), script.assistant(text("So."), **fields)
    )
    assert made.endswith("First.\n\nSo.\n")


def test_what_was_said_before_may_be_said_again_while_the_assistant_works(home: Home, tmp_path: Path) -> None:
    make = Script()
    stamp = "2026-04-28T09:00:02.500Z"
    again = {"type": "queue-operation", "operation": "enqueue", "timestamp": stamp, "content": "go on"}
    again["sessionId"] = SESSION
    queued = [make.record("attachment", attachment={"type": "queued_command", "prompt": "go on"}) for _ in range(2)]
    made = body(
        home, tmp_path, make.user("go on"), make.assistant(text("One.")), again, again, queued[0],
        make.assistant(text("Two.")), queued[1], make.assistant(text("Three.")),
    )  # fmt: skip
    said = [line for line in made.split("\n") if line and line[0] != "#"]
    assert said == ["go on", "One.", "go on", "Two.", "go on", "Three."]
