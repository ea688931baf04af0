"""What a message of OpenClaw's is called, wherever it stands: its transcripts hold some twice, as entries of their own.

2026.4.24 rewrote each prompt once it was answered, and appended what followed again under other ids (openclaw/openclaw
issues 72012, 72288), as does what shortens a conversation (69486); 2026.7.2 enrolled each prompt twice, with one
``idempotencyKey`` (115412). What stands again has the time (ms) of the message, not of the entry, the answer's
``responseId`` and the same words; a person who says the same again says it at another time.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from ingest.session.values import blocks, string

if TYPE_CHECKING:
    from collections.abc import Callable


def name(kind: str, record: dict[str, Any], message: dict[str, Any], typed: Callable[[str], str]) -> str:
    """A name that each copy of an entry has in common; "" where nothing gives one. ``typed``: what a person wrote."""
    what: tuple[object, ...] = ()
    role, at = message.get("role"), message.get("timestamp")
    at = at if type(at) in (int, float, str) else ""
    if kind == "compaction":
        what = ("", record.get("summary"))
    elif role == "user":
        texts = [typed(string(block.get("text"))) for block in blocks(message.get("content"))]
        said = "\n\n".join(text for text in texts if text)
        what = (string(message.get("idempotencyKey")) or at, said) if said else ()
    elif role == "assistant":
        # Some services give every answer the same id.
        what = (at or string(message.get("responseId")), message.get("content"), message.get("responseId"))
    elif role == "toolResult":
        what = (at, string(message.get("toolCallId")))
    elif role == "bashExecution":
        what = (at, message.get("command"))
    if not what or not (what[0] or kind == "compaction") or not what[1]:
        return ""
    data = json.dumps([kind, role, *what], sort_keys=True).encode()
    return blake2b(data, digest_size=12).hexdigest()
