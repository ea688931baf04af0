"""What a person typed into OpenCode, without what its widest-spread plugin puts around and in place of it.

OpenCode marks its own additions (``synthetic``); oh-my-opencode (since named oh-my-openagent) writes into the prompt's
own text: instructions of a mode before it, when a word like "search" was typed; a slash command's whole text; and, as
prompts of their own, news of background tasks and orders to go on, which end with a mark.
"""

from __future__ import annotations

import re

from core.text import clean
from ingest.session.markup import between, cut_blocks

_MARKS = ("<!-- OMO_INTERNAL_INITIATOR -->", "<!-- OMO_INTERNAL_NOREPLY -->")
# The modes that the plugin knows: anyone may write a block of another name.
_MODE = re.compile(
    r"\[(?:search|analyze|ultrawork|ultrawork-autonomous|hyperplan|hyperplan-ultrawork|team)-mode\]\n"
    r"|<((?:search|analyze|ultrawork|hyperplan|hyperplan-ultrawork)-mode)>"
)
_END = "\n\n---\n\n"
_GAP = re.compile(r"\s*(?:---\n\s*)*")
# An order's first line, and nothing else in it; one without an end is all of its text.
_ORDER = re.compile(r"(?:ultrawork )?\[SYSTEM DIRECTIVE: [A-Z][A-Z0-9_-]* - [A-Z][A-Z0-9 _/-]{0,80}\](\n\n?)")
_ORDER_ENDS = "\n[END SYSTEM DIRECTIVE]"
_SLASH = "auto-slash-command"
_NAME = re.compile(r"\s*# (/\S{1,100}) Command\n")
_GIVEN = "**User Arguments**: "


def typed(text: str, *, to_subagent: bool = False) -> tuple[str, str]:
    """(what was typed, the slash command that was) of one text in a person's place; ``("", "")`` where no one did.

    Where both are, the words stand below the command.

    ``to_subagent``: in a session of a subagent's the plugin's mark stands at the task itself.
    """
    said = clean(text).strip()
    if "<" not in said and "[" not in said:
        return said, ""
    said = cut_blocks(said, ("system-reminder",)).strip()
    # The mark is the last line; elsewhere a person speaks of it.
    while mark := next((mark for mark in _MARKS if said == mark or said.endswith(f"\n{mark}")), ""):
        if not to_subagent:
            return "", ""
        said = said.removesuffix(mark).strip()
    said = _without_modes(said)
    if order := _ORDER.match(said):
        _, ended, rest = said.partition(_ORDER_ENDS)
        if ended or order[1] == "\n\n":
            said = rest.strip()
    if said.startswith(f"<{_SLASH}>"):
        inner = between(said, _SLASH)
        name = _NAME.match(inner)
        if name:
            given = inner.partition(_GIVEN)[2].partition("\n\n**")[0].partition(_END)[0].strip()
            return said.partition(f"</{_SLASH}>")[2].strip(), f"{name[1]} {given}".rstrip()
    if said.startswith("<command-instruction>") and "</user-request>" in said.partition("<user-request>")[2]:
        asked, _, after = said.partition("<user-request>")[2].rpartition("</user-request>")
        return "\n\n".join(filter(None, [asked.strip(), after.strip()])), ""
    return said, ""


def repeats(text: str, slash: str) -> bool:
    """Whether a text is whole lines of a slash command's: the command's own words, which stand beside it again."""
    said = clean(text).strip()
    return bool(said and slash) and f"\n{said}\n" in f"\n{clean(slash)}\n"


def _without_modes(said: str) -> str:
    """``said`` without the modes' instructions, which end where a line of dashes stands alone."""
    at = 0
    while found := _MODE.match(said, at):
        if found[1]:
            closing = f"</{found[1]}>"
            end = said.find(closing, at)
            if end < 0:
                return said
            end += len(closing)
        else:
            # No further than to the next mode, so that many take no longer than their text.
            following = _next(said, found.end())
            end = said.find(_END, at, following if following >= 0 else len(said))
            end = end if end >= 0 else following
            if end < 0:
                return said
        gap = _GAP.match(said, end)
        at = gap.end() if gap else end
    return said[at:]


def _next(text: str, start: int) -> int:
    found = _MODE.search(text, start)
    return found.start() if found and text.endswith("\n\n", 0, found.start()) else -1
