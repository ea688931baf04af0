"""The words that a person typed into OpenCode, without the texts of its most used plugin around and instead of them.

OpenCode marks its own additions (``synthetic``). oh-my-opencode (now oh-my-openagent) writes into the prompt's text: a
mode's instructions before it, after a word like "search"; the whole text of a slash command; and prompts of its own,
which end with a mark: news of background tasks and orders to go on.
"""

from __future__ import annotations

import re

from core.text import clean
from ingest.session.user_text import NOTHING, UserText, between, command, cut_blocks, paragraphs, prompt
from ingest.session.values import Vocabulary

KNOWN = Vocabulary(__file__)

_MARKS = KNOWN.texts("marks")
_MODE = re.compile(rf"\[{KNOWN.pattern('modes').pattern}-mode\]\n|<({KNOWN.pattern('tagged_modes').pattern}-mode)>")
_END = "\n\n---\n\n"
_GAP = re.compile(r"\s*(?:---\n\s*)*")
# The first line of an order, which fills its line; an order without an end is the whole text.
_ORDER = re.compile(r"(?:ultrawork )?\[SYSTEM DIRECTIVE: [A-Z][A-Z0-9_-]* - [A-Z][A-Z0-9 _/-]{0,80}\](\n\n?)")
_ORDER_ENDS = "\n[END SYSTEM DIRECTIVE]"
_COMMAND = "auto-slash-command"
_NAME = re.compile(r"\s*# (/\S{1,100}) Command\n")
_ARGUMENTS = "**User Arguments**: "


def extract_user_text(text: str, *, to_subagent: bool = False) -> UserText:
    """Return the slash command and the words that a person typed.

    Args:
        to_subagent: the session is a subagent's; there the plugin's mark ends the task itself.
    """
    said = clean(text).strip()
    if "<" not in said and "[" not in said:
        return prompt(said)
    said = cut_blocks(said, ("system-reminder",)).strip()
    # The mark is the last line; elsewhere a person quotes it.
    while mark := next((mark for mark in _MARKS if said == mark or said.endswith(f"\n{mark}")), ""):
        if not to_subagent:
            return NOTHING
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
            below = prompt(said.partition(f"</{_COMMAND}>")[2].strip())
            return UserText((*command(f"{name[1]} {given}".rstrip()).pieces, *below.pieces))
    if said.startswith("<command-instruction>") and "</user-request>" in said.partition("<user-request>")[2]:
        asked, _, after = said.partition("<user-request>")[2].rpartition("</user-request>")
        return prompt(paragraphs(asked, after))
    return prompt(said)


def repeats_command(text: str, command_text: str) -> bool:
    """Return True if ``text`` is whole lines of a slash command's text, which the same message repeats."""
    said = clean(text).strip()
    return bool(said and command_text) and f"\n{said}\n" in f"\n{clean(command_text)}\n"


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
