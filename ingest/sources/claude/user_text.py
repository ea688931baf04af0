"""User records of Claude Code, divided by author: a person's words, and what the harness put into the same records.

The marks are those of Claude Code 1.0.24 to 2.1.295, and of the desktop app and the web around it. A mark counts only
where a text begins with it. The blocks called ``asides`` are cut out wherever a line begins with one, because the
harness puts them around and inside a person's words.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from core.text import clean, one_line
from ingest.session.session import SUMMARY, TEAMMATE
from ingest.session.user_text import (
    INTERRUPTION,
    NOTHING,
    UserText,
    between,
    command,
    cut_blocks,
    end_of_blocks,
    is_whole,
    paragraphs,
    piece,
    prompt,
)
from ingest.session.values import Vocabulary, mapping, moment, string

KNOWN = Vocabulary(__file__)

_ASIDES = KNOWN.texts("asides")
# Blocks of the harness; the text below them is a person's, except a pointer to a file and a fork's task.
_INJECTED = KNOWN.pattern("injected_blocks", r"<({})(?:\s[^>]{0,4096})?>")
# Blocks that quote nothing, and blocks that come as a pair.
_FIXED = ("tick", "fork-boilerplate")
_PAIR = ("bash-stdout", "bash-stderr")
_ANY_BLOCK = re.compile(r"<([a-z][a-z-]{0,60})(?:\s[^>]{0,4096})?>")
_TYPED = ("command-name", "command-message", "bash-input", "user-memory-input")
_POINTER = re.compile(r"(?:Read the output file to retrieve the result|Full transcript available at): [^\n]*(?:\n|\Z)")
_DIRECTIVE = "Your directive:"
# Sentences of the harness. A person may begin alike, so a sentence counts only if it is the whole text.
_SENTENCES = KNOWN.pattern("sentences")
_OTHER_ORIGINS = KNOWN.words("other_origins")
_GOAL = 'A session-scoped Stop hook is now active with condition: "'
_GOAL_GOES_ON = '". Briefly acknowledge the goal'
_CONTINUED = "This session is being continued from a previous conversation that ran out of context."
# An accepted plan becomes the first prompt of a fresh context, followed by a pointer to the old transcript.
_PLAN = "Implement the following plan:"
_PLAN_NOTE = "\n\nIf you need specific details from before exiting plan mode"
_INTERRUPTED = re.compile(r"(?:\[Request (?:interrupted|cancelled) by user[^\]\n]{0,100}\]\s*)+")
# The desktop app puts these before a quotation.
_QUOTES = ("<!-- attach -->", "<!-- reply")
# Lines around a paste, since 2.1.278 (https://code.claude.com/docs/en/terminal-config).
_PASTED = re.compile(r"^</?pasted_content(?: id=\"[^\"\n]{0,80}\")?>[ \t]*\n?", re.MULTILINE)
_SCHEDULED = "<scheduled-task"
# Lines before and after another agent's words, and the tags around them.
_BEFORE_AGENTS, _AFTER_AGENTS = KNOWN.texts("before_agents"), KNOWN.texts("after_agents")
_AGENT_LINES = tuple(f"{line}\n" for line in _BEFORE_AGENTS)
_AGENT_TAGS = ("cross-session-message", "agent-message", "coordinator-relay")
# The frame around a subagent's report, since 2.1.280: every line of the report is indented.
_REPORT, _REPORT_FOLLOWS = "[Subagent hand-back]", "The report follows:\n"


def extract_user_text(text: str) -> UserText:
    """Return one text of a user record by author."""
    text = cut_blocks(clean(text), _ASIDES).strip()
    while text.startswith(_QUOTES) and "-->" in text:
        text = text.partition("-->")[2].lstrip()
    if "<pasted_content" in text:
        is_paste = _PASTED.match(text)  # a paste is a person's, whatever it begins with
        text = _PASTED.sub("", text).strip()
        if is_paste and text:
            return prompt(text)
    if not text:
        return NOTHING
    if text[0] not in "<[ABCIMSTY" and not text[0].isdigit():
        return prompt(text)
    if text.startswith(_PLAN):
        return prompt(text.partition(_PLAN_NOTE)[0].rstrip())
    if _INTERRUPTED.fullmatch(text):
        return INTERRUPTION
    if text.startswith(_CONTINUED):
        return piece(SUMMARY, text)
    if _SENTENCES.fullmatch(text) or (text.startswith(_GOAL) and _GOAL_GOES_ON in text):
        return NOTHING
    if text[0] == "<":
        return _tagged(text)
    if text.startswith(_AGENT_LINES) or (text.startswith(_REPORT) and _REPORT_FOLLOWS in text):
        return piece(TEAMMATE, agent_words(text))
    return prompt(text)


def _tagged(text: str) -> UserText:
    """Return a text that begins with a tag by author. A tag that is not closed is a person's."""
    if own := _INJECTED.match(text):
        return NOTHING if _is_injected(text, own[1]) else _below_injected(text)
    if text.startswith(_SCHEDULED):
        return piece(TEAMMATE, _scheduled(text))
    name = next(iter(text[1:].partition(">")[0].split()[:1]), "")
    if not name or f"</{name}>" not in text or (name in _TYPED and not text.startswith(f"<{name}>")):
        return prompt(text)
    if name in _TYPED:
        return _typed_command(text, name)
    if name == "teammate-message":
        return _teammates(text)
    if name == "channel":
        return prompt(channel_words(text))
    return piece(TEAMMATE, agent_words(text)) if name in _AGENT_TAGS else prompt(text)


def _is_injected(text: str, name: str) -> bool:
    """Return True if a text ends with the block that it begins with, which may quote its own closing tag."""
    for _ in range(2):  # a pointer to a file, and one to a transcript
        above, _, last = text.rpartition("\n")
        if _POINTER.fullmatch(last):
            text = above.rstrip()
    return name not in _FIXED and is_whole(text, _PAIR if name in _PAIR else (name,))


def _below_injected(text: str) -> UserText:
    """Return the text below the harness's blocks; text in one line with them is a person's, who quotes them."""
    end = end_of_blocks(text, _INJECTED)
    if not end or text[end:].partition("\n")[0].strip():
        return prompt(text)
    rest = text[end:].strip()
    while pointer := _POINTER.match(rest):
        rest = rest[pointer.end() :].strip()
    return prompt(rest.removeprefix(_DIRECTIVE).strip())


def _typed_command(text: str, tag: str) -> UserText:
    """Return a command, and a person's words below it; text in one line with it is a person's, who quotes it."""
    end = end_of_blocks(text, _ANY_BLOCK)
    if text[end:].partition("\n")[0].strip():
        return prompt(text)
    if tag.startswith("command"):
        name = between(text, "command-name").strip() or between(text, "command-message").strip()
        given = f"{'' if name.startswith('/') else '/'}{name} {between(text, 'command-args').strip()}".rstrip()
        typed = given if name else ""
    else:
        said = between(text, tag).strip()
        typed = f"{'!' if tag == 'bash-input' else '#'} {said}" if said else ""
    rest = text[end:].strip()
    return prompt(paragraphs(typed, rest)) if rest else command(typed)


def channel_words(text: str) -> str:
    """Return a person's words in a channel (a messenger, a phone), without the tag around them."""
    text = clean(text).strip()
    if not text.startswith("<channel"):
        return text
    said, _, after = text.partition(">")[2].rpartition("</channel>")
    return paragraphs(said, after) or text


def agent_words(text: str, origin: dict[str, Any] | None = None) -> str:
    """Return another agent's words without the harness's, after the agent's name if ``origin`` or a tag has one."""
    said = clean(string(mapping(origin).get("body")) or text).strip()
    for mark in _BEFORE_AGENTS:
        said = said.removeprefix(mark).lstrip()
    for mark in _AFTER_AGENTS:
        said = said.partition(mark)[0].rstrip()
    name = string(mapping(origin).get("name"))
    for tag in _AGENT_TAGS:
        if said.startswith(f"<{tag}"):
            head, _, rest = said.partition(">")
            name = name or _attribute(head, "from" if tag == "agent-message" else "name")
            inner, _, after = rest.partition(f"</{tag}>")
            said = paragraphs(inner, after) or said
    if said.startswith(_REPORT) and _REPORT_FOLLOWS in said:
        from textwrap import dedent  # few messages need it, and its patterns take a millisecond

        said = dedent(said.partition(_REPORT_FOLLOWS)[2]).strip()
    return _named(one_line(name, 80), said)


def mailbox_words(messages: Any) -> str:
    """Return the messages of teammates in a mailbox, without their protocol's own messages (JSON)."""
    found: list[str] = []
    for message in messages if type(messages) is list else ():
        if type(message) is dict:
            said = clean(string(message.get("text"))).strip()
            if said and not said.startswith("{"):
                found.append(_named(one_line(string(message.get("from")), 80), said))
    return "\n\n".join(found)


def is_by_other(record: dict[str, Any]) -> bool:
    """Return True if a scheduled task or another session wrote a prompt."""
    source = record.get("promptSource")
    return source == "system" or (not source and record.get("turnOrigin") in _OTHER_ORIGINS)


def _scheduled(text: str) -> str:
    """Return the task of a schedule, after the schedule's name."""
    head, _, rest = text.partition(">")
    name = one_line(_attribute(head, "name"), 80)
    said = rest.rpartition("</scheduled-task>")[0].strip() or rest.strip()
    return _named(name, said) or name


def _teammates(text: str) -> UserText:
    messages: list[str] = []
    for message in text.split("<teammate-message")[1:]:
        head, _, rest = message.partition(">")
        inner, _, after = rest.partition("</teammate-message>")
        messages += [_named(_attribute(head, "teammate_id"), inner.strip()), after.strip()]
    return piece(TEAMMATE, paragraphs(*messages))


def _attribute(tag: str, name: str) -> str:
    return tag.partition(f'{name}="')[2].partition('"')[0]


def _named(name: str, said: str) -> str:
    return f"{name}: {said}" if name and said else said


# The history of prompts

_PASTE = re.compile(r"\[Pasted text #(\d+)[^\]\n]{0,40}\]")


PROMPT_FIELDS = frozenset(("display", "pastedContents", "timestamp", "project", "sessionId"))


def prompt_of(entry: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return the session, time, text and folder of an entry of the history; the oldest entries name no session."""
    # Each paste replaces its first mention: one line could name a long paste without end.
    pasted = dict(mapping(entry.get("pastedContents")))
    text = _PASTE.sub(
        lambda found: string(mapping(pasted.pop(found[1], None)).get("content")) or found[0],
        string(entry.get("display")),
    )
    session, project = string(entry.get("sessionId")), string(entry.get("project"))
    return session, moment(entry.get("timestamp")), text, project


# Outcomes of tool calls

_REJECTED = ("The user doesn't want to proceed with this tool use", "The user doesn't want to take this action")
# The result of calls that ran in parallel with a failed one: it says nothing about them.
_SIBLING = "Sibling tool call errored"
_SAID = "the user said:"
_AFTER_SAID = "\n\nNote: The user's next message may contain"
# Texts of the harness for a person who wants to talk about the questions first, or to plan on the answers so far.
_TALK = {
    "The user wants to clarify these questions.": "  the user wants to talk about the questions first",
    "The user has indicated they have provided enough answers": "  enough answered, the user says",
}
_APPROVED, _ANSWERED = "User has approved", "User has answered your questions:"
_MAX_ANSWER = 2000
_MAX_PLAN = 100_000


class Outcome(NamedTuple):
    """``note``: lines under the call; ``said``: a person's own words; ``agent``: the id of the subagent that ran."""

    note: str = ""
    said: str = ""
    agent: str = ""
    agent_type: str = ""


_WITHOUT_NEWS = Outcome()


def outcome(block: dict[str, Any], result: Any, *, wants_plan: bool = False) -> Outcome:
    """Return the outcome of a call.

    Args:
        block: the ``tool_result`` block.
        result: ``toolUseResult`` of the block's record: a dict, a string, a list or nothing.
        wants_plan: the call had no plan text, so the approved plan is taken from here.
    """
    details = mapping(result)
    if _is_failure(block, result):
        return _failure(_content(block) or string(result))
    agent = one_line(string(details.get("agentId")), 200)
    if agent:
        return Outcome(f"  → agent-{agent}", "", agent, one_line(string(details.get("agentType")), 80))
    if "answers" in details:
        return Outcome(_answers(details))
    text = string(block.get("content"))
    if text.startswith(_APPROVED):
        plan = string(details.get("plan"))
        if wants_plan and plan.strip():
            from ingest.session.tool_calls import indented

            return Outcome(f"{indented(clean(plan[:_MAX_PLAN]).strip())}\n  approved by the user")
        return Outcome("  approved by the user")
    if text.startswith(_ANSWERED):
        answer = text.removeprefix(_ANSWERED).partition(". You can now continue")[0]
        return Outcome(f"  answer: {one_line(answer, _MAX_ANSWER)}")
    return _WITHOUT_NEWS


def _is_failure(block: dict[str, Any], result: Any) -> bool:
    text = string(block.get("content"))
    return (
        block.get("is_error") is True
        or string(result).startswith(("Error: ", "Error:\n"))
        or (text.startswith("Exit code ") and not text.startswith("Exit code 0"))
    )


def _failure(text: str) -> Outcome:
    if text.startswith(_REJECTED):
        said = clean(text.partition(_SAID)[2].partition(_AFTER_SAID)[0]).strip()
        for mark, note in _TALK.items():
            if said.startswith(mark):
                return Outcome("\n".join([note, *_answers_so_far(said)]))
        return Outcome("  rejected by the user", said)
    if text.startswith("[Request interrupted by user"):
        return Outcome("  interrupted by the user")
    text = text.strip()
    if text.startswith("<tool_use_error>"):
        text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    if text.startswith(_SIBLING):
        return _WITHOUT_NEWS
    from ingest.session.tool_calls import error_lines

    return Outcome(error_lines(text))


def _answers(details: dict[str, Any]) -> str:
    answers, notes = mapping(details.get("answers")), mapping(details.get("annotations"))
    lines: list[str] = []
    for question, answer in answers.items():
        shown = one_line(answer if type(answer) is str else ", ".join(map(str, answer or ())), _MAX_ANSWER)
        note = string(mapping(notes.get(question)).get("notes"))
        if note.strip():
            shown = f"{shown} ({one_line(note, _MAX_ANSWER)})"
        which = f" to “{one_line(str(question), 120)}”" if len(answers) > 1 else ""
        lines.append(f"  answer{which}: {shown}")
    return "\n".join(lines)


def _answers_so_far(said: str) -> list[str]:
    """Return a line for each answered question in the harness's list, with the person's note."""
    lines: list[str] = []
    for entry in said.partition(":\n")[2].split('\n- "'):
        question, _, answer = entry.partition('"\n  Answer: ')
        answer, _, note = answer.partition("\n  User notes: ")
        note = note or entry.partition('"\n  (No answer provided)\n  User notes: ')[2]
        shown = " ".join(part for part in (answer, f"({note})" if note else "") if part.strip())
        if shown:
            asked = one_line(question.partition('"\n  (No answer')[0].removeprefix('- "'), 120)
            lines.append(f"  answer to “{asked}”: {one_line(shown, _MAX_ANSWER)}")
    return lines


def _content(block: dict[str, Any]) -> str:
    content = block.get("content")
    if type(content) is not list:
        return string(content)
    return "\n".join(item["text"] for item in content if type(item) is dict and type(item.get("text")) is str)
