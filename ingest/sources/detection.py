"""The tool that wrote a transcript, among tools with similar formats: a folder given by hand may hold any of them.

Only one tool has each of these first records or fields: ``session`` (Pi, OpenClaw; with ``createdAt`` DeepSeek
Harness), ``session_meta`` (Codex), ``parentUuid`` (Claude Code), ``session_start`` (Factory Droid: factory.ai,
``~/.factory/sessions``), records with a ``content``, and without ``message`` and ``role`` (Grok: x.ai,
``~/.grok/sessions``). The last two as others read them: jazzyalex/agent-sessions pull request 55,
Dicklesworthstone/coding_agent_session_search issue 22.
"""

from __future__ import annotations

from typing import Any

CLAUDE = "a transcript of Claude Code's: --source claude reads it"
CODEX = "a transcript of Codex CLI's: --source codex reads it"
PI = "a transcript of Pi's or OpenClaw's: --source pi or openclaw reads it"
DROID = "a session of Factory Droid's: --source droid reads it"
GROK = "a session of Grok's: --source grok reads it"
DSH = "a session of DeepSeek Harness's: --source dsh reads it"
_SPEAKERS = ("user", "assistant", "system")


def detect_tool(record: dict[str, Any]) -> str:
    """Return the tool that writes such a record, as a reason to skip its file; "" if several tools may write it."""
    kind = record.get("type")
    if type(kind) is not str:
        return ""
    if "parentUuid" in record and "uuid" in record:
        return CLAUDE
    if kind == "session" and "createdAt" in record:
        return DSH
    if kind == "session" and "id" in record and ("timestamp" in record or "cwd" in record):
        return PI
    if kind == "session_meta" and type(record.get("payload")) is dict:
        return CODEX
    if kind == "session_start" and "id" in record and "data" not in record:
        return DROID
    if kind in _SPEAKERS and "content" in record and not record.keys() & {"message", "role", "payload"}:
        return GROK
    return ""
