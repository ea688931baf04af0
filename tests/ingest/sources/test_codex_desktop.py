"""Codex's desktop app: what it puts around a person's words, goals, reviews of approvals, sessions taken over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.home import Home
from ingest.sources.codex.user_text import extract_user_text
from ingest.sources.codex.user_text import imported_parts as parts
from tests.ingest.sources.test_codex import NAME, OTHER, SESSION, Rollout, document, ingest, save
from tests.ingest.transcripts import corpus

BROWSER = (
    "<in-app-browser-context source='ambient-ui-state'>\n# In app browser:\n## My request:\n</in-app-browser-context>"
)
PASTED = '# Files pasted by the user:\n\n## "A \\"long\\" text: its begin…": C:\\x/pasted.txt\n\n'
DELTA = "  <transcript_delta>user: is a less\nassistant: I ask</transcript_delta>\n"
TAIL = "<source>transcript_tail_flush</source>"
NOTES = json.dumps([{"text": "Two  readers\nrace.", "annotation": "Which?"}, {"text": "Only marked."}])
INIT = (
    "Generate a file named AGENTS.md that serves as a contributor guide for this repository.\nYour goal is to produce "
    "a clear document.\n\n(Optional) Add other sections if relevant, such as Architecture Overview, or Agent-Specific "
    "Instructions."
)
PLACES = (
    "\n## User Comment 1\nFile: src/a.py\nLines: 3\nDiff hunk:\n+x\nComment:\nWhy\nthis?\n\n"
    "## User Comment 2\nComment: So?\n"
)


def typed(text: str, *, is_event: bool = False) -> str:
    """Return a person's words in a text."""
    return extract_user_text(text, is_event=is_event).typed


@pytest.mark.parametrize(("text", "said"), [
    ("\n# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n## My request:\nFix it.", "Fix it."),
    ("# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n## My request for Codex:\n", ""),
    (f"{PASTED}## My request:\nUse it.", "Use it."),
    (f"{PASTED}Pasted text contains the user's request.\n\n## My request:\n", 'A "long" text: its begin…'),
    ('## Referenced chats with Codex:\nLive references.\n[{"hostId":"local"}]\n\n## My request:\nGo on.', "Go on."),
    ("# MCP app context:\n\n{}\n\n## My request for Codex:\nFix it.", "Fix it."),
    (f"<realtime_delegation>\n  <input>a &lt; b?</input>\n{DELTA}</realtime_delegation>", "a < b?"),
    (f"<realtime_delegation>\n{TAIL}\n<input>So.</input>\n{DELTA}</realtime_delegation>", ""),
    ("# Plan\n\n## My request:\nwas never answered", "# Plan\n\n## My request:\nwas never answered"),
    (f"{BROWSER}\n\n## My request:\nWhat?\n## My request:\nis a headline.", "What?\n## My request:\nis a headline."),
    ("## My request:\nFix it.", "Fix it."),
    (f"# Response annotations:\nEach\n<response-annotations>\n{NOTES}\n</response-annotations>\n\n## My request:\nGo.",
     "> Two readers race.\nWhich?\n\nGo."),
    (f"# Response annotations:\nEach item …\n<response-annotations>\n{NOTES}\n</response-annotations>\n\nGo on.",
     "> Two readers race.\nWhich?\n\nGo on."),
    ("# Response annotations:\n<response-annotations>\n[{\"te\n</response-annotations>\n\n## My request:\nGo.", "Go."),
    (f"# Diff comments:\n{PLACES}\n## My request:\nAnd that.\nThe next image shows a.py at the time of Comment 1.",
     "> src/a.py\nWhy\nthis?\n\nSo?\n\nAnd that."),
    ("# Browser comments:\n\n## Comment 1\nFile: browser:home\nUntrusted page evidence (from the webpage):\nFrame: x\n"
     "Comment:\nWider\n\n## My request for Codex:\nThe next image shows what I mean.\nThe next image shows the browser "
     "page at the time of Comment 1. The element is outlined.", "> browser:home\nWider\n\nThe next image shows what I "
     "mean."),
    (f"# Browser comments:\n{PLACES}", "> src/a.py\nWhy\nthis?\n\nSo?"),
    ('<send_user_message_question_reply>\n[{"question": "Which?", "answer": "The first."}, {"answer": 3}, "x"]\n'
     "</send_user_message_question_reply>", "The first.\n\nx"),
    ("<image name=[Image #1] path='/tmp/x.png'>\n</image>\nFix the header.\n<image></image>", "Fix the header."),
    ("<image name=[Image #1]>", ""), ("</image>", ""), ("<image>", ""),
    ("<image>my svg</image>\nExplain.", "<image>my svg</image>\nExplain."),
    ("<send_user_message_question_reply>\nThe first, I said.\n</send_user_message_question_reply>",
     "The first, I said."),
    ('<send_user_message_question_reply>"The first."</send_user_message_question_reply>', "The first."),
    ("<error>\nboom in pay.py\n</error>\nSince Monday.\n## My request:\nMend it.",
     "<error>\nboom in pay.py\n</error>\nSince Monday.\n## My request:\nMend it."),
    ("<context>\nopen: a.py\n</context>\n## My request for Codex:\nMend it.", "Mend it."),
    ("<heartbeat>\nGo on.\n</heartbeat>", ""),
    ("The following is the Codex agent history added since your last approval assessment.", ""),
    ("[$docs:edit](/Users/me/.codex/skills/edit/SKILL.md) this and [that](b.md)", "$docs:edit this and [that](b.md)"),
    (INIT, "/init"), (f"{INIT}\n\nIn German, please.", "/init\n\nIn German, please."),
    ("# Diff comments:\n\n## Comment 1\nFile: a.py\nSide: R\nComment:\nWhy?\n# Not so\n\n"
     "# Failing PR checks:\n\n## Check 1: lint\n\n## My request for Codex:\nMend it.",
     "> a.py\nWhy?\n# Not so\n\nMend it."),
    ("# Diff comments:\nMind the second.\n\n## Comment 1\nComment:\nWhy?\n\n## My request for Codex:\n",
     "Mind the second.\n\nWhy?"),
    ("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe terse.\n</INSTRUCTIONS>\n<environment_context>\n"
     "</environment_context>", ""),
    ("# AGENTS.md instructions\n\n<INSTRUCTIONS>\nBe terse.\n</INSTRUCTIONS>\n\nMend it.", "Mend it."),
    ("<hook_prompt hook_run_id=\"h\">Go on.</hook_prompt>\n<turn_aborted>\nx\n</turn_aborted>\nMend it.", "Mend it."),
    ("<app-context>\nx\n</app-context>\n\n# Context from my IDE setup:\n\n## Open tabs:\n- a.py: a.py\n\n"
     "## My request for Codex:\nMend it.", "Mend it."),
    ("An MCP app initiated this message. Read the untrusted_input tool output.", ""),
    ("Warning: apply_patch was requested via shell. Use the apply_patch tool instead of exec_command.", ""),
    ("# Diff comments: how do they work?", "# Diff comments: how do they work?"),
    ("My notes\n## My request:\nboth", "My notes\n## My request:\nboth")])  # fmt: skip
def test_of_what_the_app_sends_a_persons_words_are_kept_and_they_alone(text: str, said: str) -> None:
    assert typed(text) == said


@pytest.mark.parametrize("text", [
    "<realtime_delegation> opens what our voice model sends: write that down",
    "<realtime_delegation>\n<input>\nHere the sample that I saved ends. Complete it.",
    "<send_user_message_question_reply> comes up in the log. Whose is it?",
    "This block is slow, unroll it.\n## My request:\nis how my template begins",
    "This block is automatically removed. Why?\n## My request:\nstays",
    "# Diff comments: how do they work?\n\n## User Comment 1\nFile: a.py\nComment: so",
    "Generate a file named AGENTS.md that serves as a contributor guide for this repository. In German.",
    "Generate a file named AGENTS.md that serves as a contributor guide for this repository.\nYour goal is brevity.",
    "# AGENTS.md instructions are not followed. Why?", "<environment_context> comes first: what is it for?",
    "<turn_aborted>\nis how my log ends", "<skill> and </skills> do not match", "<heartbeat/> is missing",
    "<error>\nboom\n</error>\nSince Monday.\n## My request for Codex:\nis what I read above it.",
    "An MCP app initiated this message. Which?", "Warning: apply_patch was requested via shell. Where is that said?",
    "Warning: Your account was flagged for potentially high-risk cyber activity. So they wrote to me. What now?",
    "The following is the Codex agent history of last week: sum it up.",
    "Another language model started to solve this problem and produced a summary. Read it."])  # fmt: skip
@pytest.mark.parametrize("is_event", [False, True])
def test_a_person_who_writes_of_the_apps_marks_loses_no_word(text: str, is_event: bool) -> None:
    assert typed(text, is_event=is_event) == text


@pytest.mark.parametrize("text", [
    "<environment_context>\n<cwd>/x</cwd>\n</environment_context>\nis what it sends. Shorten it.",
    "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe terse.\n</INSTRUCTIONS>\nWho wrote that?",
    "<my_parts>\n<part/>\n</my_parts>"])  # fmt: skip
def test_what_a_person_pasted_of_the_harness_is_theirs_where_the_harness_says_so(
    home: Home, tmp_path: Path, text: str
) -> None:
    assert typed(text, is_event=True) == text
    make = Rollout()
    save(tmp_path / NAME, make.meta(), *make.asked("Why?"), *make.said("So."), *make.asked(text))
    assert ingest(home, tmp_path).unknown == {}
    body = document(home)[1]
    assert all(line in body for line in text.split("\n"))


@pytest.mark.parametrize(("given", "said"), [
    ('["in March", "on a Friday"]', "in March\n\non a Friday"), ('[{"answer": ["tea", "milk"]}]', "tea\n\nmilk"),
    ('{"answers": [{"answer": "both of them"}]}', "both of them"), ('{"reply": "neither"}', '{"reply": "neither"}'),
    ("[" * 100_000, "[" * 100_000)])  # fmt: skip
def test_an_answer_of_any_form_is_kept_and_what_follows_it(given: str, said: str) -> None:
    reply = f"<send_user_message_question_reply>{given}</send_user_message_question_reply>"
    assert typed(reply) == said
    assert typed(f"{reply}\nThen tidy up.") == f"{said}\n\nThen tidy up."


def test_what_is_written_after_a_request_by_voice_is_kept() -> None:
    asked = f"<realtime_delegation>\n<input>Count them.</input>\n{DELTA}</realtime_delegation>"
    assert typed(f"{asked}\nTwice, please.") == "Count them.\n\nTwice, please."


def test_what_was_noted_in_the_app_is_a_prompt_once(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    reply = '<send_user_message_question_reply>\n[{"answer": "The first."}]\n</send_user_message_question_reply>'
    notes = f"<response-annotations>\n{NOTES}\n</response-annotations>"
    asked = f"# Response annotations:\nEach.\n{notes}\n\n## My request:\nGo."
    save(tmp_path / NAME, make.meta(), *make.asked(asked), *make.said("So."), *make.asked(reply))
    assert ingest(home, tmp_path).unknown == {}
    meta, body = document(home)
    assert (meta["turns"], body.count("Which?"), body.count("The first.")) == (3, 1 + body.startswith("# "), 1)
    assert "Each." not in body


def test_a_goal_that_a_person_set_stands_once_and_one_that_the_assistant_set_as_its_call(
    home: Home, tmp_path: Path
) -> None:
    make = Rollout()

    def goal(text: str, status: str = "active") -> dict[str, object]:
        return make.event("thread_goal_updated", threadId=SESSION, goal={"objective": text, "status": status})

    save(
        tmp_path / NAME, make.meta(), goal("Make it green."), goal("Make it green.", "paused"), *make.said("I begin."),
        *make.ran("c1", "ok", "create_goal", objective="Mend the lint."), goal("Mend the lint."), *make.said("Done."),
        goal("Make it fast."),
    )  # fmt: skip
    assert ingest(home, tmp_path).unknown == {}
    meta, body = document(home)
    assert meta["title"] == "/goal Make it green."
    assert [body.count(f"- /goal {text}") for text in ("Make it green.", "Mend the lint.", "Make it fast.")] == [
        1,
        0,
        1,
    ]


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


def test_a_session_taken_over_from_another_agent_has_its_calls_as_calls(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    given = "description: Run them\ncommand: npm test \\\n  -- race"
    call = f"[external_agent_tool_call: Bash]\n{given}\n[/external_agent_tool_call]"
    result = "[external_agent_tool_result]\nFAIL: a long log\n[/external_agent_tool_result]"
    save(
        tmp_path / NAME, make.meta(), *make.asked("Why?"), *make.said(f"I look.\n\n{call}"), *make.said(result),
        *make.said("So."), *make.said("<EXTERNAL SESSION IMPORTED>"),
    )  # fmt: skip
    ingest(home, tmp_path)
    body = document(home)[1]
    assert "I look.\n\n- Bash:  # Run them\n  ```sh\n  npm test \\\n    -- race\n  ```\n" in body
    assert "So." in body
    assert "external_agent" not in body
    assert "a long log" not in body
    assert "IMPORTED" not in body


@pytest.mark.parametrize("text", [
    "See `[external_agent_tool_call: x]`.", "The form:\n[external_agent_tool_result]\nand I say: it is in a.py.",
    "[external_agent_tool_call: Bash] begins a call.\n[/external_agent_tool_call] ends it.", "", "\n"])  # fmt: skip
def test_marks_that_are_spoken_of_or_torn_take_no_words(text: str) -> None:
    assert list(parts(text)) == ([("", text)] if text.strip() else [])


def test_calls_are_found_after_a_mark_that_is_spoken_of_and_results_of_errors_are_left_out() -> None:
    call = "[external_agent_tool_call: Bash]\ncommand: ls\n[/external_agent_tool_call]"
    result = "[external_agent_tool_result: error]\nno\n[/external_agent_tool_result]"
    found = list(parts(f"As `[external_agent_tool_call: x]`.\n{call}\n{result}\nSo."))
    assert found == [("", "As `[external_agent_tool_call: x]`.\n"), ("Bash", "command: ls"), ("", "\nSo.")]


def test_many_marks_are_read_in_one_go_closed_or_not() -> None:
    class Counted(str):
        __slots__ = ("looked",)

        def find(self, *given: object) -> int:
            self.looked = getattr(self, "looked", 0) + 1
            return str.find(self, *given)  # type: ignore[arg-type]

    torn = Counted("[external_agent_tool_result]\nx\n[external_agent_tool_call: Bash]\n" * 500)
    assert list(parts(torn)) == [("", torn)]
    assert torn.looked == 2
    called = "[external_agent_tool_call: Bash]\ncommand: ls\n[/external_agent_tool_call]\n" * 500
    assert list(parts(called)) == [("Bash", "command: ls")] * 500


@pytest.mark.parametrize("form", ["message", "output"])
def test_what_another_thread_asks_for_is_its_agents_words_and_stands_once(
    home: Home, tmp_path: Path, form: str
) -> None:
    make = Rollout()
    asked = f"<codex_delegation>\n  <source_thread_id>{OTHER}</source_thread_id>\n  <input>Race &amp; why?</input>\n"
    asked += "</codex_delegation>"
    told = [make.item("function_call_output", name="send_message_to_thread", namespace="codex_app", output=asked)]
    save(tmp_path / NAME, make.meta(), *(make.asked(asked) if form == "message" else told), *make.said("So."))
    assert ingest(home, tmp_path).unknown == {}
    meta, body = document(home)
    assert meta["title"] == "Race & why?"
    assert body.count("Race & why?") == 2
    assert "## [1] teammate" in body


@pytest.mark.parametrize("tag", ["skill", "agent-message", "app-context", "exec-command-completed"])
def test_a_block_that_quotes_its_own_closing_tag_is_nobodys_prompt(tag: str) -> None:
    said = f"<{tag}>\nIt ends at `</{tag}>`.\nAll of it.\n</{tag}>"
    assert typed(said) == ""
    assert typed(said, is_event=True) == said
    assert "Why?" in typed(f"{said}\n\nWhy?")
    assert "Why?" in typed(f"<{tag}>x</{tag}>\nWhy?\n<{tag}>y</{tag}>")
