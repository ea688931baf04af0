"""User messages of Codex, divided by author: a person's words, and what the harness put into the same messages.

The desktop app and the editor extensions put what is on the screen, and a person's notes on it, before the request. An
imported session has calls of tools in the assistant's text, in brackets (codex-rs/external-agent-sessions):
``[external_agent_tool_call: Bash]``, a line ``name: value`` for each argument, ``[/external_agent_tool_call]``; results
likewise, also ``[external_agent_tool_result: error]``. ``<EXTERNAL SESSION IMPORTED>`` ends it.
"""

from __future__ import annotations

import contextlib
import html
import json
import re
from collections.abc import Iterator
from typing import Any

from core.text import clean, one_line
from ingest.session import tool_calls
from ingest.session.session import TEAMMATE
from ingest.session.user_text import (
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
    skip_space,
)
from ingest.session.values import Vocabulary, mapping, moment, string

KNOWN = Vocabulary(__file__)

# Headings of the app's parts, before the heading of the request.
_REQUEST, _SHORT_REQUEST = "## My request for Codex:", "## My request:"
_REQUESTS = (_REQUEST, _SHORT_REQUEST)
_DIFF_COMMENTS = "# Diff comments:"
_SURROUNDINGS = (*KNOWN.texts("surroundings"), _DIFF_COMMENTS, *_REQUESTS)
_ASIDES = ("in-app-browser-context",)
# The beginning of a long paste, as its heading quotes it; the paste itself is a file.
_PASTED = re.compile(r'^## ("(?:[^"\\\n]|\\.){1,400}"): ', re.MULTILINE)
# An image is between two texts, or between these marks in one text (codex-rs/protocol/src/models.rs).
_IMAGE = re.compile(r"^<image(?: name=[^\n]{1,4096}?)?>\s{0,100}</image>[ \t]*\n?", re.MULTILINE)
_IMAGE_MARK = re.compile(r"<image(?: name=[^\n]*)?>|</image>")
_CAPTION = re.compile(
    r"^The next image (?:is untrusted page evidence .{0,500} for|shows .{1,500} at the time of) Comment \d[^\n]*\n?",
    re.MULTILINE,
)
_NOTES, _REPLY = "response-annotations", "send_user_message_question_reply"
_COMMENT = re.compile(r"^## (?:(?:User )?Comment|Requested annotation) \d[^\n]*$", re.MULTILINE)
# A request by voice, as the model that a person speaks with hands it on; the end of a talk asks for nothing.
_VOICE = re.compile(r"\s*<realtime_delegation>\s*(?=<)")
_VOICE_END, _TALK_ENDS = "</realtime_delegation>", "<source>transcript_tail_flush</source>"
# The text of /init; a person's words are below it (codex-rs/tui/prompt_for_init_command.md).
_INIT = (
    "Generate a file named AGENTS.md that serves as a contributor guide for this repository.\nYour goal is to produce"
)
_INIT_ENDS = "Architecture Overview, or Agent-Specific Instructions."
# The instructions of a repository have a heading, and may quote their own closing tag.
_INSTRUCTIONS, _INSTRUCTIONS_END = re.compile(r"# AGENTS\.md instructions[^\n]*\n\s*<INSTRUCTIONS>"), "</INSTRUCTIONS>"
_INJECTED = KNOWN.pattern("injected_blocks", r"<({})(?: [^\n>]{0,4096})?>")
_SENTENCES = KNOWN.pattern("sentences")
# A skill that a person named; its address is cut off.
_SKILL = re.compile(r"\[(\$[\w:.-]{1,100})\]\([^()\n]{1,500}/SKILL\.md\)")


def extract_user_text(text: str, *, is_event: bool = False, is_voiced: bool = False) -> UserText:
    """Return one text of a user message by author, with the working directory of an injected environment.

    A note on a passage of an answer, a line of a change or a place of a page is below a quotation of it. If a person
    answered questions, only the answers remain.

    Args:
        is_event: the harness reports a person's message, which holds the app's surroundings at most.
        is_voiced: talks have records of their own, so requests by voice are left out.
    """
    if not is_event and (shell := shell_command(text)):
        return command(f"! {shell}")
    if said := delegated(text):
        return piece(TEAMMATE, said)
    if is_voiced and is_spoken(text):
        return NOTHING
    found = prompt(_typed(text, is_event=is_event))
    return found if is_event else found._replace(directory=directory(text))


def _typed(text: str, *, is_event: bool) -> str:
    text = cut_blocks(clean(text), _ASIDES).strip()
    if "<image" in text:
        text = _IMAGE.sub("", text).strip()
    if text.startswith(f"<{_REPLY}>"):
        return _replied(text)
    if is_spoken(text):
        return _spoken(text)
    marks = _REQUESTS if _is_surrounded(text) else (_REQUEST,) if text.startswith("<") else ()
    if marks:
        head, mark, said = _request(text, marks)
        notes = _noted(head)
        if mark and not said.strip():
            notes += _pasted(head)
        if (mark or notes) and (marks is _REQUESTS or head.rstrip().endswith(">")):
            return "\n\n".join(filter(None, [*notes, _SKILL.sub(r"\1", _CAPTION.sub("", said).strip())]))
    rest = _without_injected(text)
    if rest != text and _is_surrounded(rest):
        return _typed(rest, is_event=is_event)
    if not rest or (not is_event and (is_one_block(text) or _is_injected(text))) or _IMAGE_MARK.fullmatch(text):
        return ""
    text = text if is_event else rest
    if text.startswith(_INIT) and _INIT_ENDS in text:
        return f"/init\n\n{text.partition(_INIT_ENDS)[2].strip()}".rstrip()
    return _SKILL.sub(r"\1", text)


def _is_surrounded(text: str) -> bool:
    """Return True if a text begins with one of the app's headings, on a line of its own, or with its sentence."""
    if not text.startswith(_SURROUNDINGS):
        return False
    heading = text.partition("\n")[0].rstrip()
    return heading[0] != "#" or (heading.endswith(":") and heading.count(":") == 1)


def _without_injected(text: str) -> str:
    """Return the text below the harness's blocks; "" if it is one of the harness's sentences."""
    at = 0
    while True:
        at = skip_space(text, end_of_blocks(text, _INJECTED, at))
        found = _INSTRUCTIONS.match(text, at)
        end = text.rfind(_INSTRUCTIONS_END, found.end()) if found else -1
        if end < 0:
            return "" if _SENTENCES.fullmatch(text, at) else text[at:].strip()
        at = skip_space(text, end + len(_INSTRUCTIONS_END))


def _is_injected(text: str) -> bool:
    """Return True if a text is one block of the harness, which may quote its own closing tag."""
    found = _INJECTED.match(text)
    return found is not None and is_whole(text, (found[1],))


def is_one_block(text: str) -> bool:
    """Return True if a text is one ``<snake_case …>…</snake_case>`` block: nobody types that, and new ones appear."""
    if not text.startswith("<") or not text.endswith(">"):
        return False
    name = text[1:80].partition(">")[0].partition(" ")[0]
    return "_" in name and name.replace("_", "").isalnum() and name.islower() and text.endswith(f"</{name}>")


def _replied(text: str) -> str:
    """Return a person's answers to questions and the words below them; the whole block if its form is unknown."""
    inner, end, after = text.removeprefix(f"<{_REPLY}>").partition(f"</{_REPLY}>")
    if not end:
        return text
    try:
        answers = "\n\n".join(_answers(json.loads(inner, strict=False)))
    except (ValueError, RecursionError):
        answers = ""
    return paragraphs(answers or inner, after)


def _answers(found: Any) -> list[str]:
    """Return the texts of an answer, of a list of answers, or of an object that holds either."""
    if type(found) is list:
        return [said for each in found for said in _answers(each)]
    if type(found) is dict:
        return _answers([found.get("answer"), found.get("answers")])
    return [said] if (said := string(found).strip()) else []


def is_spoken(text: str) -> bool:
    """Return True if a text hands on a person's request by voice, or the end of a talk."""
    block, end, _ = text.partition(_VOICE_END)
    has_request = "</input>" in block.partition("<input>")[2]
    return bool(end and (has_request or _TALK_ENDS in block) and _VOICE.match(text))


def _spoken(text: str) -> str:
    block, _, after = text.partition(_VOICE_END)
    asked = block.partition("<input>")[2].partition("</input>")[0]
    return paragraphs("" if _TALK_ENDS in block else clean(html.unescape(asked)), after)


def _request(text: str, marks: tuple[str, ...]) -> tuple[str, str, str]:
    """Return (the text before a request, its heading, the request); the heading is "" if none of ``marks`` is there."""
    notes, end, rest = text.partition(f"</{_NOTES}>")
    before, after = (notes + end, rest) if end else ("", text)
    found = min((at for at in (f"\n{after}".find(f"\n{mark}") for mark in marks) if at >= 0), default=-1)
    if found < 0:
        return (before, "", after) if end else (text, "", "")
    mark = next(mark for mark in marks if after.startswith(mark, found))
    return before + after[:found], mark, after[found + len(mark) :]


def _noted(head: str) -> list[str]:
    """Return a person's notes on passages of answers, on lines of changes and on places of pages."""
    found: list[str] = []
    for note in _listed(head, _NOTES):
        said = string(note.get("annotation") or note.get("comment")).strip()
        if said:
            found.append(f"> {one_line(string(note.get('text')), 200)}\n{said}")
    before, *comments = _COMMENT.split(head)
    if comments and (intro := f"\n{before}".partition(f"\n{_DIFF_COMMENTS}\n")[2].strip()):
        found.append(intro)
    for comment in comments:
        about, mark, said = comment.partition("\nComment:")
        said = said[: _next_section(said)].strip()
        if mark and said:
            place = f"\n{about}".partition("\nFile: ")[2].partition("\n")[0]
            found.append(f"> {one_line(place, 200)}\n{said}" if place else said)
    return found


def _next_section(text: str) -> int:
    """Return the position of the next heading of the app in a note, in which a person may write headings as well."""
    return min((at for at in (text.find(f"\n{mark}") for mark in _SURROUNDINGS) if at >= 0), default=len(text))


def _pasted(head: str) -> list[str]:
    """Return the beginnings of the texts that a person pasted instead of a request."""
    found: list[str] = []
    for label in _PASTED.findall(head):
        with contextlib.suppress(ValueError):
            found.append(string(json.loads(label, strict=False)).strip())
    return [words for words in found if words]


def _listed(text: str, tag: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(between(text, tag) or "[]", strict=False)
    except (ValueError, RecursionError):
        return []
    return [mapping(each) for each in found] if type(found) is list else [mapping(found)]


def delegated(text: str) -> str:
    """Return the request of another thread's agent, or ""."""
    text = text.strip()
    if not (text.startswith("<codex_delegation>") and text.endswith("</codex_delegation>")):
        return ""
    return clean(html.unescape(text.partition("<input>")[2].rpartition("</input>")[0])).strip()


def shell_command(text: str) -> str:
    """Return the shell command that a person ran in the session, or ""."""
    text = text.strip()
    if not (text.startswith("<user_shell_command>") and text.endswith("</user_shell_command>")):
        return ""
    return clean(between(text, "command")).strip()


def directory(text: str) -> str:
    """Return the working directory of an injected environment, or ""; before 0.30 no other record has it."""
    text = text.lstrip()
    if not text.startswith("<environment_context>"):
        return ""
    found = between(text, "cwd").strip()
    return found or text.partition("Current working directory:")[2].partition("\n")[0].strip()


def is_persons(kinds: Any, index: int) -> bool:
    """Return False if the harness classed the text at ``index`` as another author's."""
    found = string(kinds[index]) if type(kinds) is list and index < len(kinds) else ""
    return found in ("", "unknown") or (found.startswith("user.") and found != "user.heartbeat")


def is_same_prompt(one: str, other: str) -> bool:
    """Return True if two records hold the same prompt: one may have more of its surroundings."""
    one, other = " ".join(one.split()), " ".join(other.split())
    return one == other or (len(other) > 3 and other in one) or (len(one) > 3 and one in other)


# The assistant's text

_PLAN, _PLAN_END = "<proposed_plan>", "</proposed_plan>"
_CITATION, _CITATION_END = "<oai-mem-citation>", "</oai-mem-citation>"
_IMPORTED = "[external_agent_tool_"
_IMPORTED_BEGINS = re.compile(
    r"^\[external_agent_tool_(?:call: ([^\]\n]{0,200})|result(?:: [^\]\n]{0,80})?)\][ \t\r]*$", re.MULTILINE
)
_CALL_END, _RESULT_END = "\n[/external_agent_tool_call]", "\n[/external_agent_tool_result]"
_IMPORT_ENDS = "<EXTERNAL SESSION IMPORTED>"
_ARGUMENTS = {"description": "description", "file": "file_path", "command": "command", "input": "input"}


def answer_pieces(text: str) -> list[str]:
    """Return the assistant's text without citations, and each plan in it, which an event repeats by itself."""
    text = _without(text, _CITATION, _CITATION_END)[0]
    if _PLAN not in text:
        return [text]
    said, plans = _without(text, _PLAN, _PLAN_END)
    return [said, *plans]


def _without(text: str, opening: str, closing: str) -> tuple[str, list[str]]:
    """Return (``text`` without the blocks, the texts in them); an unclosed block reaches to the end."""
    kept: list[str] = []
    inner: list[str] = []
    at = 0
    while (start := text.find(opening, at)) >= 0:
        kept.append(text[at:start])
        start += len(opening)
        end = text.find(closing, start)
        if end < 0:
            return "".join(kept), [*inner, text[start:]]
        inner.append(text[start:end])
        at = end + len(closing)
    return "".join([*kept, text[at:]]), inner


def imported_parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield ("", words) and (name of a tool, lines of its arguments) of an imported text, in order, without results.

    A mark counts on a line of its own; an unclosed one stays among the words. Linear in the text.
    """
    if text.strip() == _IMPORT_ENDS:
        return
    done = 0
    missing: set[str] = set()
    for begins in _IMPORTED_BEGINS.finditer(text) if _IMPORTED in text else ():
        closing = _RESULT_END if begins[1] is None else _CALL_END
        if begins.start() < done or closing in missing:
            continue
        at = text.find(closing, begins.end())
        if at < 0:
            missing.add(closing)  # later marks have none either
            continue
        if text[done : begins.start()].strip():
            yield "", text[done : begins.start()]
        if begins[1] is not None:
            yield begins[1].strip() or "tool", text[begins.end() : at].strip("\r\n")
        done = at + len(closing)
    if text[done:].strip():
        yield "", text[done:]


def imported_arguments(lines: str) -> dict[str, str]:
    """Return the arguments of an imported call; a line without a name continues the argument above it."""
    found: dict[str, str] = {}
    name = ""
    for line in lines.split("\n"):
        head, mark, rest = line.partition(": ")
        if mark and head in _ARGUMENTS:
            name = _ARGUMENTS[head]
            found[name] = rest
        elif name:
            found[name] += f"\n{line}"
    return found


# The history of prompts (codex-rs/message-history/src/lib.rs): times are seconds


PROMPT_FIELDS = frozenset(("session_id", "conversation_id", "ts", "text"))


def prompt_of(entry: dict[str, Any]) -> tuple[str, str, str]:
    """Return the session, time and text of an entry of the history."""
    # In the autumn of 2025 the session's id was ``conversation_id``.
    session = string(entry.get("session_id")) or string(entry.get("conversation_id"))
    return session, moment(entry.get("ts")), string(entry.get("text"))


# Outcomes of tool calls

_REFUSED, _FAILURES = KNOWN.texts("refusals"), KNOWN.texts("failures")
_HEAD = 2000
_WALL = re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds$", re.MULTILINE)
_METADATA = re.compile(r'"duration_seconds":\s{0,4}(\d{1,9}(?:\.\d{1,9})?)\s{0,4}[,}]')
# The end of a script that calls tools (code mode: codex-rs/core/src/tools/code_mode), and its reason.
_SCRIPT_FAILED, _THROWN = "Script failed\nWall time ", "Script error:\n"
# A person's answers in the output of a script: JSON, or JSON text of JSON.
_PRINTED_ANSWERS = ('{"answers"', '"{\\"answers\\"')


def output_text(output: Any) -> str:
    """Return the text of an output: a string, a list of content items, or an object."""
    if type(output) is list:
        return "\n".join(string(item.get("text")) for item in output if type(item) is dict)
    if type(output) is dict:
        content = output.get("content")
        return output_text(content) if content is not None else string(output.get("text") or output.get("output"))
    return string(output)


def outcome(output: Any) -> tuple[str, str]:
    """Return (error, note): the text of a failure, or a line under the call; both "" for a success."""
    text = output_text(output)
    head = text[:_HEAD]
    if head.startswith("{"):
        return _outcome_of_object(text)
    if head.startswith(_REFUSED):
        return "", "rejected by the user"
    if head.startswith(_SCRIPT_FAILED):
        thrown = text.partition("\nOutput:\n")[2].strip().rpartition(_THROWN)[2]
        return ("", "rejected by the user") if thrown.startswith(_REFUSED) else (thrown or "Script failed", "")
    code, body = _exit_code(text, head)
    if code:
        return f"Exit code {code}\n{body}", ""
    is_failure = mapping(output).get("success") is False or head.startswith(_FAILURES)
    return (text, "") if is_failure else ("", "")


def duration(output: Any) -> float | None:
    """Return how many ms a command ran, as its output says at its head or, of earlier versions, in its metadata."""
    text = output_text(output)
    match = _METADATA.search(text, max(0, len(text) - _HEAD)) if text[:1] == "{" else _WALL.search(text, 0, _HEAD)
    return float(match[1]) * 1000 if match else None


def _outcome_of_object(text: str) -> tuple[str, str]:
    try:
        data = mapping(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        return "", ""
    code = mapping(data.get("metadata")).get("exit_code")
    if type(code) is int and code:
        return f"Exit code {code}\n{string(data.get('output'))}", ""
    if said := tool_calls.answers(data):
        return "", f"answer: {said}"
    agent = string(data.get("agent_id"))
    return "", subagent_link(agent) if agent else ""


def printed_answers(output: Any) -> str:
    """Return a person's answers to a question of a script, or ""."""
    text = output_text(output)
    for mark in _PRINTED_ANSWERS:
        at = text.find(mark) if text.startswith("Script ") else -1
        if at >= 0:
            try:
                data = json.JSONDecoder(strict=False).raw_decode(text, at)[0]
                data = json.loads(data, strict=False) if type(data) is str else data
            except (ValueError, RecursionError):
                continue
            return tool_calls.answers(mapping(data))
    return ""


def total_tokens(event: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the tokens of a session so far: output, new input, input from the cache."""
    total = mapping(mapping(event.get("info")).get("total_token_usage"))
    sent, cached = total.get("input_tokens"), total.get("cached_input_tokens")
    # ``input_tokens`` holds the cached ones.
    return total.get("output_tokens"), sent - cached if type(sent) is type(cached) is int else sent, cached


def subagent_link(thread: str) -> str:
    """Return the line that names a subagent's document."""
    return f"→ codex__{one_line(thread, 100)}"


def _exit_code(text: str, head: str) -> tuple[int, str]:
    """Return (exit code, output of the command) from the lines before an output."""
    for mark in ("Process exited with code ", "Exit code: "):
        at = head.find(mark)
        if at < 0 or (at and head[at - 1] != "\n"):
            continue
        if "\nOutput:\n" in head[:at]:
            continue  # the command itself printed the mark
        digits = head[at + len(mark) :].partition("\n")[0].strip()
        if digits.lstrip("-").isdigit():
            return int(digits), text.partition("\nOutput:\n")[2].partition("\nTotal output lines")[0]
    return 0, ""
