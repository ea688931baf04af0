"""Whose a transcript is, of tools that write alike: a folder given by hand may hold any of theirs.

Told by what only one of them begins with, or puts into each record: ``session`` (Pi, OpenClaw), ``session_meta``
(Codex), ``parentUuid`` (Claude Code), ``session_start`` (Factory Droid: factory.ai, ``~/.factory/sessions``), records
without ``message`` and ``role`` whose ``content`` is their own (Grok: x.ai, ``~/.grok/sessions``). The last two as
others read them: jazzyalex/agent-sessions pull request 55, Dicklesworthstone/coding_agent_session_search issue 22.
"""

from __future__ import annotations

from typing import Any

CLAUDE = "a transcript of Claude Code's: --source claude reads it"
CODEX = "a transcript of Codex CLI's: --source codex reads it"
PI = "a transcript of Pi's or OpenClaw's: --source pi or openclaw reads it"
DROID = "a session of Factory Droid's, which no source reads"
GROK = "a session of Grok's, which no source reads"
_SPEAKERS = ("user", "assistant", "system")


def whose(record: dict[str, Any]) -> str:
    """What a file that holds ``record`` is, as a reason to pass it over; "" where the record does not say it."""
    kind = record.get("type")
    if type(kind) is not str:
        return ""
    if "parentUuid" in record and "uuid" in record:
        return CLAUDE
    if kind == "session" and "id" in record and ("timestamp" in record or "cwd" in record):
        return PI
    if kind == "session_meta" and type(record.get("payload")) is dict:
        return CODEX
    if kind == "session_start" and "id" in record and "data" not in record:
        return DROID
    if kind in _SPEAKERS and "content" in record and not record.keys() & {"message", "role", "payload"}:
        return GROK
    return ""
