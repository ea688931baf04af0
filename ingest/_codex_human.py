"""Telling what a person typed to Codex from what its harness put into the same ``user`` messages."""

from __future__ import annotations

import contextlib
import html
import json
import re
from typing import Any

from core.text import clean, one_line
from ingest._codex_vocabulary import INJECTED
from ingest.markup import between, cut_blocks
from ingest.values import mapping, string

# The desktop and editor extensions put what they know of the screen, and what was noted on it, before what was typed.
_REQUEST, _SHORT_REQUEST = "## My request for Codex:", "## My request:"
_REQUESTS = (_REQUEST, _SHORT_REQUEST)
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
    "# Diff comments:",
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
_CAPTIONS = ("The next image is untrusted page evidence", "The next image shows ")
_NOTES, _REPLY = "response-annotations", "send_user_message_question_reply"
_COMMENT = "## User Comment "
# What a person asks for by voice, as the model that they speak with hands it on; the end of a talk asks for nothing.
_VOICE = re.compile(r"\s*<realtime_delegation>\s*(?=<)")
_VOICE_END, _TALK_ENDS = "</realtime_delegation>", "<source>transcript_tail_flush</source>"
# What stands for a command that was typed, and the address behind a skill that was named.
_INIT = "Generate a file named AGENTS.md that serves as a contributor guide for this repository."
_SKILL = re.compile(r"\[(\$[\w:.-]{1,100})\]\([^()\n]{1,500}/SKILL\.md\)")


def typed(text: str) -> str:
    """What of a text a person typed; "" where the harness wrote all of it.

    What was noted on a passage of an answer, a line of a change or a place of a page stands under what it was noted on;
    of answers to questions these alone.
    """
    text = cut_blocks(clean(text), _BLOCKS).strip()
    if "<image" in text:
        text = _IMAGE.sub("", text).strip()
    if text.startswith(f"<{_REPLY}>"):
        return _replied(text)
    if is_spoken(text):
        return _spoken(text)
    marks = _REQUESTS if text.startswith(_SURROUNDINGS) else (_REQUEST,) if text.startswith("<") else ()
    if marks:
        head, mark, said = _request(text, marks)
        notes = _noted(head)
        if mark and not said.strip():
            notes += _pasted(head)
        if mark or notes:
            return "\n\n".join(filter(None, [*notes, _SKILL.sub(r"\1", _without_captions(said))]))
    if text.startswith(INJECTED) or _is_one_block(text) or _IMAGE_MARK.fullmatch(text):
        return ""
    return "/init" if text.startswith(_INIT) else _SKILL.sub(r"\1", text)


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
    for piece in head.split(f"\n{_COMMENT}")[1:] if _COMMENT in head else ():
        about, mark, said = piece.partition("\nComment:")
        said = said.partition("\n## ")[0].partition("\n# ")[0].strip()
        if mark and said:
            place = f"\n{about}".partition("\nFile: ")[2].partition("\n")[0]
            found.append(f"> {one_line(place, 200)}\n{said}" if place else said)
    return found


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
    return "\n".join(line for line in text.split("\n") if not line.startswith(_CAPTIONS)).strip()


def delegated(text: str) -> str:
    """What another thread's agent asks for in a person's place, or "" where a text is none of that."""
    text = text.strip()
    if not text.startswith("<codex_delegation>"):
        return ""
    return clean(html.unescape(text.partition("<input>")[2].rpartition("</input>")[0])).strip()


def shell_command(text: str) -> str:
    """The shell command that a person ran inside the session, or "" where the text records none."""
    if not text.lstrip().startswith("<user_shell_command>"):
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


def _is_one_block(text: str) -> bool:
    """Whether a text is one ``<snake_case …>…</snake_case>`` block: nobody types that, and new ones appear."""
    if not text.startswith("<") or not text.endswith(">"):
        return False
    name = text[1:80].partition(">")[0].partition(" ")[0]
    return "_" in name and name.replace("_", "").isalnum() and name.islower() and text.endswith(f"</{name}>")
