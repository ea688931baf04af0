"""Another agent's session as Codex takes it over: its calls and their results stand among the words, between brackets.

``[external_agent_tool_call: Bash]``, a line ``name: value`` for each argument, ``[/external_agent_tool_call]``; results
likewise, also ``[external_agent_tool_result: error]``; ``<EXTERNAL SESSION IMPORTED>`` ends it
(codex-rs/external-agent-sessions), so that while a session is read nothing tells that it was taken over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ANY = "[external_agent_tool_"
_BEGINS = re.compile(
    r"^\[external_agent_tool_(?:call: ([^\]\n]{0,200})|result(?:: [^\]\n]{0,80})?)\][ \t\r]*$", re.MULTILINE
)
_CALL_END, _RESULT_END = "\n[/external_agent_tool_call]", "\n[/external_agent_tool_result]"
_END = "<EXTERNAL SESSION IMPORTED>"
_ARGUMENTS = ("description", "file", "command", "input")


def parts(text: str) -> Iterator[tuple[str, str]]:
    """("", words) and (name of a tool, its arguments' lines), in order; results are left out.

    A mark counts where it is a line of its own; what is not closed stays among the words. Linear in the text.
    """
    if text.strip() == _END:
        return
    done = 0
    missing: set[str] = set()
    for begins in _BEGINS.finditer(text) if _ANY in text else ():
        closing = _RESULT_END if begins[1] is None else _CALL_END
        if begins.start() < done or closing in missing:
            continue
        at = text.find(closing, begins.end())
        if at < 0:
            missing.add(closing)  # nor is it after any later mark
            continue
        if text[done : begins.start()].strip():
            yield "", text[done : begins.start()]
        if begins[1] is not None:
            yield begins[1].strip() or "tool", text[begins.end() : at].strip("\r\n")
        done = at + len(closing)
    if text[done:].strip():
        yield "", text[done:]


def given(lines: str) -> dict[str, str]:
    """The arguments of a call; a line that names none goes on with the one before."""
    found: dict[str, str] = {}
    name = ""
    for line in lines.split("\n"):
        head, mark, rest = line.partition(": ")
        if mark and head in _ARGUMENTS:
            name = {"file": "file_path"}.get(head, head)
            found[name] = rest
        elif name:
            found[name] += f"\n{line}"
    return found
