"""Where a forked subagent's rollout has its own records: what stands before was copied from its parent's.

Later versions say it (``subagent_history_start_ordinal``). Before, the copy begins with the parent's first line, and
ends where the agent's first turn begins: names of turns are UUIDs of version 7, as are those of threads, and so tell
when they were given; all turns of the parent's began before the agent was made. At first an output of the harness's
(``FORKED``) ended the copy. Source: https://github.com/openai/codex, codex-rs/core/src/agent/control.rs
(``spawn_forked_thread``).
"""

from __future__ import annotations

from typing import Any

from ingest.session.values import string
from ingest.sources.codex.outcomes import text_of

FORKED = (
    "You are the newly spawned agent. The prior conversation history was forked from your parent agent. Treat the next"
    " user message as your new task, and use the forked history only as background context."
)
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_HEX = frozenset("0123456789abcdef")


def begins_own(payload: dict[str, Any], unit: str) -> bool:
    """Whether an event begins a turn of the thread ``unit``, and none that was copied into it."""
    if payload.get("type") not in ("task_started", "turn_started"):
        return False
    made, began = _milliseconds(unit), _milliseconds(string(payload.get("turn_id")))
    return made >= 0 and began >= made


def ends_copy(payload: dict[str, Any]) -> bool:
    """Whether an item says to an agent that what stands before it is its parent's."""
    return payload.get("type") in _OUTPUTS and text_of(payload.get("output")) == FORKED


def _milliseconds(name: str) -> int:
    """When a UUID of version 7 was made (RFC 9562 §5.7), in ms since 1970; -1 of another name."""
    digits = name.replace("-", "")
    if len(name) != 36 or len(digits) != 32 or digits[12] != "7" or not _HEX.issuperset(digits):
        return -1
    return int(digits[:12], 16)
