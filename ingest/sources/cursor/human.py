"""Telling what a person typed into Cursor from what the editor puts around it, and in its place.

The words stand between ``<user_query>`` and its end, below blocks of the editor's; in the editor's own database they
stand alone. When a task in the background has ended the editor asks in a person's place. People write of these marks,
too: what stands beside or between them in plain words is theirs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.text import clean
from ingest.session.user_text import cut_blocks, is_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

_ASIDES = (
    "user_info",
    "rules",
    "user_rules",
    "project_layout",
    "git_status",
    "attached_files",
    "open_and_recently_viewed_files",
    "recently_viewed_files",
    "system_reminder",
    "system-reminder",
    "additional_data",
    "agent_transcripts",
    "agent_skills",
    "mcp_file_system",
    "manually_attached_skills",
    "external_links",
    "timestamp",
    "cursor_commands",
    "image_files",
    "system_notification",
    "task_notification",
    "code_selection",
    "terminal_files_information",
    "linter_errors",
    *("dynamic_tools", "dynamic_tool_namespaces", "available_subagent_types", "available_subagent_models"),
    *("ask_question_guidance", "hooks_context"),
)
# Names that anyone may give a block: where words follow, and none is marked as typed, it is a person's.
_ANYBODYS = ("rules", "external_links", "code_selection", "image_files", "linter_errors")
_REMINDERS = ("system_reminder", "system-reminder", "system_notification", "task_notification")
_LEADS = re.compile(rf"\s*<({'|'.join(_ASIDES)})(?=[>\s])|\s*\[Image\][ \t]*(?=\n)")
_OPEN, _CLOSE = re.compile(r"(?:^|(?<=>))[ \t]*<user_query>", re.MULTILINE), "</user_query>"
# What it asks, by the first sentence; below its own notification all of the line is, elsewhere what it is known to say.
_ASKS = (
    r"(?:Briefly inform the user about the task result and perform any follow-up actions \(if needed\)\."
    r"|The beginning of the above subagent result is already visible to the user\."
    r"|Perform any necessary follow-up actions in response to the (?:[^\n]{1,100} )?subagent completion above\."
    r"|The user is actively driving this Project child\."
    r"|A worker agent sent you a message mid-turn\."
    r"|A worker agent is paused waiting for the user to respond\.)"
)
_ASKED = re.compile(rf"{_ASKS}[^\n]*")
_ASKED_ALONE = re.compile(
    rf"{_ASKS}(?: (?:If there's no follow-ups needed|Perform any follow-up actions|If no follow-up work is needed"
    r"|Record the completion for coordination|The worker's turn may still be running|Its turn is paused, not finished)"
    r"[^\n]{0,3000}(?:say that|\(if needed\)|unless asked|has completed|is required|further action|raw ID|every time"
    r"|`\[subagent\]`|syntax|computer use|is pending|you to|call for|behalf)\.)?[ \t]*(?=\n|\Z)"
)
# How its lists of tools begin, which it writes anew once a conversation was compacted.
_NAMESPACES = r"You have access to tools through dynamic namespaces[^\n]{0,200}`\w{1,60}`[^\n]{0,100}\n\s*## "
_HOOKS = r'<hooks_context [a-z]{1,20}="[^"\n]{0,500}">\n'
_LISTS = re.compile(f"^(?:{_NAMESPACES}|<dynamic_tools>\n|{_HOOKS})", re.MULTILINE)
_UNCLOSED = re.compile(f"(?:<dynamic_tools>\n)?{_NAMESPACES}|{_HOOKS}")


def typed(text: str) -> str:
    """What of a user's text a person typed; "" where the editor wrote all of it."""
    text = clean(text)
    asked = _ASKED if "<system_notification" in text or "<task_notification" in text else _ASKED_ALONE
    marked = _marked(text)
    if marked is not None:
        words = (_without_asked(piece, asked) for piece in marked)
        return "\n\n".join(piece for piece in words if piece)
    if not (rest := text[_leading(text, _ASIDES) :].strip()) or _is_own(text.strip()):
        return ""
    kept = text[_leading(text, [tag for tag in _ASIDES if tag not in _ANYBODYS]) :].strip()
    for tag in _REMINDERS:
        if kept.endswith(f"</{tag}>"):
            before, opened, _ = f"\n{kept}".rpartition(f"\n<{tag}>")
            kept = before.strip() if opened else kept
    return "" if _UNCLOSED.match(rest) else _without_asked(kept, asked)


def is_list(text: str) -> bool:
    """Whether a text in which nobody typed anything holds the editor's lists of tools."""
    return "<user_query>" not in text and _LISTS.search(text) is not None


def _leading(text: str, tags: Iterable[str]) -> int:
    """Where the blocks of these names that a text begins with end."""
    known = frozenset(tags)
    at = 0
    while found := _LEADS.match(text, at):
        if found[1] is None:
            at = found.end()
            continue
        end = text.find(f"</{found[1]}>", found.end())
        if found[1] not in known or end < 0:
            break
        at = end + len(f"</{found[1]}>")
    return at


def _is_own(text: str) -> bool:
    """Whether a text is one block of the editor's from end to end, which may quote its own closing tag."""
    found = _LEADS.match(text)
    return bool(found and found[1] and found[1] not in _ANYBODYS and is_whole(text, (found[1],)))


def _marked(text: str) -> list[str] | None:
    """What is marked as typed, and words beside it; None where nothing is, or a person's own words come before it."""
    start = _leading(text, _ASIDES)
    opened = _OPEN.search(text, start)
    if opened is None:
        return None
    if _plain(text[start : opened.start()]) and not is_whole(text[: opened.start()].strip(), _ASIDES):
        return None
    found: list[str] = []
    while opened is not None:
        close = text.find(_CLOSE, opened.end())
        if close < 0:
            return [*found, text[opened.end() :].strip()]
        following = _OPEN.search(text, close)
        until = following.start() if following else len(text)
        close = text.rfind(_CLOSE, opened.end(), until)
        found += [text[opened.end() : close].strip(), _plain(text[close + len(_CLOSE) : until])]
        opened = following
    return found


def _plain(text: str) -> str:
    """What stands beside the marks: words, or "" where it is blocks or notes of the editor's."""
    text = cut_blocks(text, _ASIDES).strip()
    return "" if text.startswith(("<", "[")) else text


def _without_asked(text: str, asked: re.Pattern[str]) -> str:
    found = asked.match(text)
    return text[found.end() :].strip() if found else text
