"""Another agent's session as Codex takes it over: its calls and their results stand among the words, between brackets.

``[external_agent_tool_call: Bash]``, a line ``name: value`` for each argument, ``[/external_agent_tool_call]``; results
likewise; ``<EXTERNAL SESSION IMPORTED>`` ends it (codex-rs/external-agent-sessions).
"""

from __future__ import annotations

from collections.abc import Iterator

_CALL, _CALL_END = "[external_agent_tool_call: ", "[/external_agent_tool_call]"
_RESULT, _RESULT_END = "[external_agent_tool_result]", "[/external_agent_tool_result]"
_END = "<EXTERNAL SESSION IMPORTED>"
_ARGUMENTS = ("description", "file", "command", "input")


def parts(text: str) -> Iterator[tuple[str, str]]:
    """("", words) and (name of a tool, its arguments' lines), in order; results are left out."""
    if text.strip() == _END:
        return
    while True:
        at = min((found for found in (text.find(_CALL), text.find(_RESULT)) if found >= 0), default=-1)
        if at < 0:
            break
        if at and text[at - 1] != "\n":
            break  # spoken of, not called
        if text[:at].strip():
            yield "", text[:at]
        is_call = text.startswith(_CALL, at)
        name, _, rest = text[at + len(_CALL) :].partition("]") if is_call else ("", "", text[at + len(_RESULT) :])
        inner, _, text = rest.partition(_CALL_END if is_call else _RESULT_END)
        if is_call:
            yield name.strip() or "tool", inner.strip("\n")
    if text.strip():
        yield "", text


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
