"""Telling what a person typed to Codex from what its harness put into the same ``user`` messages."""

from __future__ import annotations

import contextlib
import html
import json
import re
from typing import Any

from core.text import clean, one_line
from ingest.session.user_text import between, cut_blocks, is_whole
from ingest.session.values import mapping, string
from ingest.sources.codex.vocabulary import INJECTED_BLOCKS, INJECTED_SENTENCES

# The desktop and editor extensions put what they know of the screen, and what was noted on it, before what was typed.
_REQUEST, _SHORT_REQUEST = "## My request for Codex:", "## My request:"
_REQUESTS = (_REQUEST, _SHORT_REQUEST)
_DIFF_COMMENTS = "# Diff comments:"
_SURROUNDINGS = (
    "# Context from my IDE setup",
    "# Selected text:",
    "# Files mentioned by the user",
    "# Files pasted by the user",
    "# Applications mentioned by the user",
    "# In app browser",
    "# MCP app context:",
    "# Failing PR checks:",
    "# Pull request merge conflict:",
    "## Prior conversation with Codex:",
    "## Referenced chats with Codex:",
    "## Code review guidelines:",
    "## Pull request fix:",
    "## Pull request merge task:",
    "## Auto resolve merge:",
    "The attached pasted text file(s) contain",
    "# Response annotations:",
    "# Browser comments:",
    _DIFF_COMMENTS,
    "# Chrome tabs:",
    "## Referenced ChatGPT conversation:",
    "<response-annotations>",
    "This block is automatically supplied ambient UI state, not part of the user's request.",
    *_REQUESTS,
)
_BLOCKS = ("in-app-browser-context",)
# How a long text that was pasted begins, as it is named; the text itself lies in a file.
_PASTED = re.compile(r'^## ("(?:[^"\\\n]|\\.){1,400}"): ', re.MULTILINE)
# An image stands between two texts, or between these marks in one text (codex-rs/protocol/src/models.rs).
_IMAGE = re.compile(r"^<image(?: name=[^\n]{1,4096}?)?>\s{0,100}</image>[ \t]*\n?", re.MULTILINE)
_IMAGE_MARK = re.compile(r"<image(?: name=[^\n]*)?>|</image>")
_CAPTION = re.compile(
    r"^The next image (?:is untrusted page evidence .{0,500} for|shows .{1,500} at the time of) Comment \d[^\n]*\n?",
    re.MULTILINE,
)
_NOTES, _REPLY = "response-annotations", "send_user_message_question_reply"
_COMMENT = re.compile(r"^## (?:(?:User )?Comment|Requested annotation) \d[^\n]*$", re.MULTILINE)
# What a person asks for by voice, as the model that they speak with hands it on; the end of a talk asks for nothing.
_VOICE = re.compile(r"\s*<realtime_delegation>\s*(?=<)")
_VOICE_END, _TALK_ENDS = "</realtime_delegation>", "<source>transcript_tail_flush</source>"
# What stands for a command that was typed, and the address behind a skill that was named.
# What is typed after that stands below it (codex-rs/tui/prompt_for_init_command.md).
_INIT = (
    "Generate a file named AGENTS.md that serves as a contributor guide for this repository.\nYour goal is to produce"
)
_INIT_ENDS = "Architecture Overview, or Agent-Specific Instructions."
# The instructions of a repository stand under a heading of their own.
_INSTRUCTIONS, _INSTRUCTIONS_END = re.compile(r"# AGENTS\.md instructions[^\n]*\n\s*<INSTRUCTIONS>"), "</INSTRUCTIONS>"
_INJECTED = re.compile(rf"<({'|'.join(INJECTED_BLOCKS)})(?: [^\n>]{{0,4096}})?>")
_SAYS = re.compile("|".join(INJECTED_SENTENCES))
_SKILL = re.compile(r"\[(\$[\w:.-]{1,100})\]\([^()\n]{1,500}/SKILL\.md\)")


def typed(text: str, *, is_event: bool = False) -> str:
    """What of a text a person typed; "" where the harness wrote all of it.

    What was noted on a passage of an answer, a line of a change or a place of a page stands under what it was noted on;
    of answers to questions these alone. ``is_event``: the harness tells of it as of a person's message, which holds
    no more of its own than the app's surroundings, or nothing else.
    """
    text = cut_blocks(clean(text), _BLOCKS).strip()
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
            return "\n\n".join(filter(None, [*notes, _SKILL.sub(r"\1", _without_captions(said))]))
    rest = _without_injected(text)
    if rest != text and _is_surrounded(rest):
        return typed(rest, is_event=is_event)
    if not rest or (not is_event and (is_one_block(text) or _is_own(text))) or _IMAGE_MARK.fullmatch(text):
        return ""
    text = text if is_event else rest
    if text.startswith(_INIT) and _INIT_ENDS in text:
        return f"/init\n\n{text.partition(_INIT_ENDS)[2].strip()}".rstrip()
    return _SKILL.sub(r"\1", text)


def _is_surrounded(text: str) -> bool:
    """Whether a text begins with one of the app's headings, which has a line of its own, or with its sentence."""
    if not text.startswith(_SURROUNDINGS):
        return False
    heading = text.partition("\n")[0].rstrip()
    return heading[0] != "#" or (heading.endswith(":") and heading.count(":") == 1)


def _without_injected(text: str) -> str:
    """``text`` without the blocks of the harness's that it begins with; "" where it is one of its sentences."""
    at = 0
    while True:
        if found := _INSTRUCTIONS.match(text, at):
            end = text.rfind(_INSTRUCTIONS_END, found.end())
            closing = _INSTRUCTIONS_END
        elif found := _INJECTED.match(text, at):
            closing = f"</{found[1]}>"
            end = text.find(closing, found.end())
        else:
            break
        if end < 0:
            break
        at = end + len(closing)
        while text[at : at + 1].isspace():
            at += 1
    return "" if _SAYS.fullmatch(text, at) else text[at:].strip()


def _is_own(text: str) -> bool:
    """Whether a text is one block of the harness's from end to end, which may quote its own closing tag."""
    found = _INJECTED.match(text)
    return found is not None and is_whole(text, (found[1],))


def _replied(text: str) -> str:
    """What a person answered to questions, and wrote after that; all that stands there where its form is another."""
    inner, end, after = text.removeprefix(f"<{_REPLY}>").partition(f"</{_REPLY}>")
    if not end:
        return text
    try:
        answers = "\n\n".join(_answers(json.loads(inner, strict=False)))
    except (ValueError, RecursionError):
        answers = ""
    return "\n\n".join(filter(None, [answers or inner.strip(), after.strip()]))


def _answers(found: Any) -> list[str]:
    """The texts of an answer, of a list of them, or of what holds them by these names."""
    if type(found) is list:
        return [said for each in found for said in _answers(each)]
    if type(found) is dict:
        return _answers([found.get("answer"), found.get("answers")])
    return [said] if (said := string(found).strip()) else []


def _spoken(text: str) -> str:
    told, _, after = text.partition(_VOICE_END)
    asked = told.partition("<input>")[2].partition("</input>")[0]
    said = "" if _TALK_ENDS in told else clean(html.unescape(asked)).strip()
    return "\n\n".join(filter(None, [said, after.strip()]))


def is_spoken(text: str) -> bool:
    """Whether a text hands on what a person asked for by voice, or that a talk has ended."""
    told, end, _ = text.partition(_VOICE_END)
    has_request = "</input>" in told.partition("<input>")[2]
    return bool(end and (has_request or _TALK_ENDS in told) and _VOICE.match(text))


def _request(text: str, marks: tuple[str, ...]) -> tuple[str, str, str]:
    """(what stands before a request, its mark, the request); the mark is "" where there is none of ``marks``."""
    notes, end, rest = text.partition(f"</{_NOTES}>")
    before, after = (notes + end, rest) if end else ("", text)
    found = min((at for at in (f"\n{after}".find(f"\n{mark}") for mark in marks) if at >= 0), default=-1)
    if found < 0:
        return (before, "", after) if end else (text, "", "")
    mark = next(mark for mark in marks if after.startswith(mark, found))
    return before + after[:found], mark, after[found + len(mark) :]


def _noted(head: str) -> list[str]:
    """What a person noted on passages of answers, and on lines of changes or places of pages."""
    found: list[str] = []
    for note in _listed(head, _NOTES):
        said = string(note.get("annotation") or note.get("comment")).strip()
        if said:
            found.append(f"> {one_line(string(note.get('text')), 200)}\n{said}")
    before, *pieces = _COMMENT.split(head)
    if pieces and (intro := f"\n{before}".partition(f"\n{_DIFF_COMMENTS}\n")[2].strip()):
        found.append(intro)
    for piece in pieces:
        about, mark, said = piece.partition("\nComment:")
        said = said[: _next_section(said)].strip()
        if mark and said:
            place = f"\n{about}".partition("\nFile: ")[2].partition("\n")[0]
            found.append(f"> {one_line(place, 200)}\n{said}" if place else said)
    return found


def _next_section(text: str) -> int:
    """Where in a note another part of the surroundings begins: a heading of the person's own is none."""
    return min((at for at in (text.find(f"\n{mark}") for mark in _SURROUNDINGS) if at >= 0), default=len(text))


def _pasted(head: str) -> list[str]:
    """How the texts begin that a person pasted in place of a request."""
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


def _without_captions(text: str) -> str:
    return _CAPTION.sub("", text).strip()


def delegated(text: str) -> str:
    """What another thread's agent asks for in a person's place, or "" where a text is none of that."""
    text = text.strip()
    if not (text.startswith("<codex_delegation>") and text.endswith("</codex_delegation>")):
        return ""
    return clean(html.unescape(text.partition("<input>")[2].rpartition("</input>")[0])).strip()


def shell_command(text: str) -> str:
    """The shell command that a person ran inside the session, or "" where the text records none."""
    text = text.strip()
    if not (text.startswith("<user_shell_command>") and text.endswith("</user_shell_command>")):
        return ""
    return clean(between(text, "command")).strip()


def directory(text: str) -> str:
    """The working directory that an injected environment names, or ""; before 0.30 nothing else records it."""
    text = text.lstrip()
    if not text.startswith("<environment_context>"):
        return ""
    found = between(text, "cwd").strip()
    if not found:
        found = text.partition("Current working directory:")[2].partition("\n")[0].strip()
    return found


def is_one_block(text: str) -> bool:
    """Whether a text is one ``<snake_case …>…</snake_case>`` block: nobody types that, and new ones appear."""
    if not text.startswith("<") or not text.endswith(">"):
        return False
    name = text[1:80].partition(">")[0].partition(" ")[0]
    return "_" in name and name.replace("_", "").isalnum() and name.islower() and text.endswith(f"</{name}>")
