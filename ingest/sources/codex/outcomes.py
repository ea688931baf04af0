"""What is kept of a tool's output in Codex: a failure's first lines, a person's refusal, the agent that was started."""

from __future__ import annotations

import json
from typing import Any

from core.text import one_line
from ingest.session import agent_calls
from ingest.session.values import mapping, string

_REFUSED = ("patch rejected by user", "exec command rejected by user", "rejected by user", "aborted by user")
_BROKEN = (
    "failed in sandbox",
    "execution error:",
    "apply_patch verification failed",
    "failed to parse function arguments",
    "unsupported call",
    "err: ",
    "Error: ",
    "error: ",
    "tool call error",
    "exec_command failed",
    "write_stdin failed",
    "collab ",
)
_HEAD = 2000
# How a script ended that calls tools (code mode: codex-rs/core/src/tools/code_mode), and why.
_FAILED, _THROWN = "Script failed\nWall time ", "Script error:\n"
# A person's answers as a script prints them: as they came, or as JSON's text of that text.
_ANSWERS = ('{"answers"', '"{\\"answers\\"')


def text_of(output: Any) -> str:
    """The text of an output: a string, a list of content items, or an object of older and newer versions."""
    if type(output) is str:
        return output
    if type(output) is list:
        return "\n".join(string(item.get("text")) for item in output if type(item) is dict)
    if type(output) is dict:
        content = output.get("content")
        return text_of(content) if content is not None else string(output.get("text") or output.get("output"))
    return ""


def outcome(output: Any) -> tuple[str, str]:
    """(error, note): the text of a failure, or a line under the call; both "" where all went well."""
    text = text_of(output)
    said = mapping(output).get("success")
    head = text[:_HEAD]
    if head.startswith("{"):
        return _of_object(text)
    if head.startswith(_REFUSED):
        return "", "rejected by the user"
    if head.startswith(_FAILED):
        thrown = text.partition("\nOutput:\n")[2].strip().rpartition(_THROWN)[2]
        return ("", "rejected by the user") if thrown.startswith(_REFUSED) else (thrown or "Script failed", "")
    code, body = _exit_code(text, head)
    if code:
        return f"Exit code {code}\n{body}", ""
    if said is False or head.startswith(_BROKEN):
        return text, ""
    return "", ""


def _of_object(text: str) -> tuple[str, str]:
    try:
        data = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return "", ""
    if type(data) is not dict:
        return "", ""
    code = mapping(data.get("metadata")).get("exit_code")
    if type(code) is int and code:
        return f"Exit code {code}\n{string(data.get('output'))}", ""
    said = agent_calls.answers(data)
    if said:
        return "", f"answer: {said}"
    agent = data.get("agent_id")
    if type(agent) is str and agent:
        return "", link(agent)
    return "", ""


def answered(output: Any) -> str:
    """What a person answered to a question that a script asked and printed, or ""."""
    text = text_of(output)
    for mark in _ANSWERS:
        at = text.find(mark) if text.startswith("Script ") else -1
        if at >= 0:
            try:
                data = json.JSONDecoder(strict=False).raw_decode(text, at)[0]
                data = json.loads(data, strict=False) if type(data) is str else data
            except (ValueError, RecursionError):
                continue
            return agent_calls.answers(mapping(data))
    return ""


def link(thread: str) -> str:
    """The line that names a subagent's document."""
    return f"→ codex__{one_line(thread, 100)}"


def _exit_code(text: str, head: str) -> tuple[int, str]:
    """(exit code, what was printed) from the lines that stand before an output."""
    for mark in ("Process exited with code ", "Exit code: "):
        at = head.find(mark)
        if at < 0 or (at and head[at - 1] != "\n"):
            continue
        if "\nOutput:\n" in head[:at]:
            continue  # printed by the command itself
        digits = head[at + len(mark) :].partition("\n")[0].strip()
        if digits.lstrip("-").isdigit():
            return int(digits), text.partition("\nOutput:\n")[2].partition("\nTotal output lines")[0] or ""
    return 0, ""
