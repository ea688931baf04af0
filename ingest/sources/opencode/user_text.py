"""The words that a person typed into OpenCode, without the texts of its most used plugin around and instead of them.

OpenCode marks its own additions (``synthetic``). oh-my-opencode (now oh-my-openagent) writes into the prompt's text: a
mode's instructions before it, after a word like "search"; the whole text of a slash command; and prompts of its own,
which end with a mark: news of background tasks and orders to go on.
"""

from __future__ import annotations

import re

from core.text import clean
from ingest.session.user_text import between, cut_blocks

_MARKS = ("<!-- OMO_INTERNAL_INITIATOR -->", "<!-- OMO_INTERNAL_NOREPLY -->")
# The plugin's modes; anyone may write a block of another name.
_MODE = re.compile(
    r"\[(?:search|analyze|ultrawork|ultrawork-autonomous|hyperplan|hyperplan-ultrawork|team)-mode\]\n"
    r"|<((?:search|analyze|ultrawork|hyperplan|hyperplan-ultrawork)-mode)>"
)
_END = "\n\n---\n\n"
_GAP = re.compile(r"\s*(?:---\n\s*)*")
# The first line of an order, which fills its line; an order without an end is the whole text.
_ORDER = re.compile(r"(?:ultrawork )?\[SYSTEM DIRECTIVE: [A-Z][A-Z0-9_-]* - [A-Z][A-Z0-9 _/-]{0,80}\](\n\n?)")
_ORDER_ENDS = "\n[END SYSTEM DIRECTIVE]"
_COMMAND = "auto-slash-command"
_NAME = re.compile(r"\s*# (/\S{1,100}) Command\n")
_ARGUMENTS = "**User Arguments**: "


def extract_user_text(text: str, *, to_subagent: bool = False) -> tuple[str, str]:
    """Return (typed words, typed slash command) of a user's text; the words come after the command if both are given.

    Args:
        to_subagent: the session is a subagent's; there the plugin's mark ends the task itself.
    """
    said = clean(text).strip()
    if "<" not in said and "[" not in said:
        return said, ""
    said = cut_blocks(said, ("system-reminder",)).strip()
    # The mark is the last line; elsewhere a person quotes it.
    while mark := next((mark for mark in _MARKS if said == mark or said.endswith(f"\n{mark}")), ""):
        if not to_subagent:
            return "", ""
        said = said.removesuffix(mark).strip()
    said = _without_modes(said)
    if order := _ORDER.match(said):
        _, ended, rest = said.partition(_ORDER_ENDS)
        if ended or order[1] == "\n\n":
            said = rest.strip()
    if said.startswith(f"<{_COMMAND}>"):
        inner = between(said, _COMMAND)
        if name := _NAME.match(inner):
            given = inner.partition(_ARGUMENTS)[2].partition("\n\n**")[0].partition(_END)[0].strip()
            return said.partition(f"</{_COMMAND}>")[2].strip(), f"{name[1]} {given}".rstrip()
    if said.startswith("<command-instruction>") and "</user-request>" in said.partition("<user-request>")[2]:
        asked, _, after = said.partition("<user-request>")[2].rpartition("</user-request>")
        return "\n\n".join(filter(None, [asked.strip(), after.strip()])), ""
    return said, ""


def repeats_command(text: str, command: str) -> bool:
    """Return True if ``text`` is whole lines of a slash command's text: its message repeats the command's own words."""
    said = clean(text).strip()
    return bool(said and command) and f"\n{said}\n" in f"\n{clean(command)}\n"


def _without_modes(said: str) -> str:
    """Return ``said`` without the instructions of modes before it, each of which ends with a line of dashes."""
    at = 0
    while found := _MODE.match(said, at):
        if found[1]:
            closing = f"</{found[1]}>"
            end = said.find(closing, at)
            if end < 0:
                return said
            end += len(closing)
        else:
            # Search up to the next mode only: the time stays linear for many modes.
            following = _next_mode(said, found.end())
            end = said.find(_END, at, following if following >= 0 else len(said))
            end = end if end >= 0 else following
            if end < 0:
                return said
        gap = _GAP.match(said, end)
        at = gap.end() if gap else end
    return said[at:]


def _next_mode(text: str, start: int) -> int:
    found = _MODE.search(text, start)
    return found.start() if found and text.endswith("\n\n", 0, found.start()) else -1
