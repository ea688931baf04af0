"""What a person typed into OpenCode, without what its widest-spread plugin puts around and in place of it.

OpenCode marks its own additions (``synthetic``); oh-my-opencode (since named oh-my-openagent) writes into the prompt's
own text: instructions of a mode before it, when a word like "search" was typed; a slash command's whole text; and, as
prompts of their own, news of background tasks and orders to go on, which end with a mark.
"""

from __future__ import annotations

import re

from core.text import clean
from ingest.markup import between, cut_blocks

_MARKS = ("<!-- OMO_INTERNAL_INITIATOR -->", "<!-- OMO_INTERNAL_NOREPLY -->")
_MODE = re.compile(r"\[[a-z]{2,20}-mode\]\n|<([a-z]{2,20}-mode)>")
_END = "\n\n---\n\n"
_ORDER = re.compile(r"(?:ultrawork )?\[SYSTEM DIRECTIVE: ")
_ORDER_ENDS = "[END SYSTEM DIRECTIVE]"
_SLASH = "auto-slash-command"
_NAME = re.compile(r"\s*# (/\S{1,100}) Command\n")
_GIVEN = "**User Arguments**: "


def typed(text: str, *, to_subagent: bool = False) -> tuple[str, str]:
    """(what was typed, the slash command that was) of one text in a person's place; ``("", "")`` where no one did.

    ``to_subagent``: in a session of a subagent's the plugin's mark stands at the task itself.
    """
    said = clean(text).strip()
    if "<" not in said and "[" not in said:
        return said, ""
    if any(mark in said for mark in _MARKS):
        if not to_subagent:
            return "", ""
        for mark in _MARKS:
            said = said.replace(mark, "")
    said = cut_blocks(said, ("system-reminder",)).strip()
    said = _without_modes(said)
    if _ORDER.match(said):
        said = said.partition(_ORDER_ENDS)[2].strip()
    if said.startswith(f"<{_SLASH}>"):
        inner = between(said, _SLASH)
        name = _NAME.match(inner)
        if name:
            given = inner.partition(_GIVEN)[2].partition("\n\n**")[0].partition(_END)[0].strip()
            return "", f"{name[1]} {given}".rstrip()
    if said.startswith("<command-instruction>") and "<user-request>" in said:
        return between(said, "user-request").strip(), ""
    return said, ""


def _without_modes(said: str) -> str:
    """``said`` without the modes' instructions, which end where a line of dashes stands alone."""
    rest = said
    while found := _MODE.match(rest):
        if found[1]:
            _, closed, rest = rest.partition(f"</{found[1]}>")
            if not closed:
                return said
        else:
            ends = [place for place in (rest.find(_END), _next(rest, found.end())) if place >= 0]
            if not ends:
                return said
            rest = rest[min(ends) :]
        rest = rest.lstrip()
        while rest.startswith("---\n"):
            rest = rest[4:].lstrip()
    return rest


def _next(text: str, start: int) -> int:
    found = _MODE.search(text, start)
    return found.start() if found and text[: found.start()].endswith("\n\n") else -1
