"""What Codex's newer records hold beside the items of the conversation: a turn's items, speech, whose a text is.

Since 0.146 a "paginated" history has ``item_completed`` with a ``TurnItem`` in place of the older events, and
``realtime_item`` for what was said by voice. Source: the vendor's codex-rs/protocol/src/items.rs, realtime.rs and
models.rs.
"""

from __future__ import annotations

from typing import Any

from ingest.session.values import mapping, string

_PLAN, _PLAN_END = "<proposed_plan>", "</proposed_plan>"
_CITATION, _CITATION_END = "<oai-mem-citation>", "</oai-mem-citation>"


def kind(item: dict[str, Any]) -> str:
    """The type of a turn's item, lower case without underscores: it was written in several ways."""
    return string(item.get("type")).lower().replace("_", "")


def message(item: dict[str, Any]) -> str:
    """The text of a person's or the assistant's message among a turn's items."""
    content = item.get("content")
    if type(content) is not list:
        return string(content) or string(item.get("text"))
    parts = [mapping(part) for part in content]
    return "\n\n".join(string(part.get("text")) for part in parts if string(part.get("type")).lower() == "text")


def thoughts(item: dict[str, Any]) -> list[str]:
    """The texts of a turn's reasoning."""
    found: list[str] = []
    for part in (item.get("summary_text"), item.get("raw_content")):
        found += [string(text) for text in part] if type(part) is list else []
    return found


def started(item: dict[str, Any]) -> list[str]:
    """The threads of the subagents that a turn's item says were started."""
    if item.get("kind") in ("started", "Started"):
        return [string(item.get("agent_thread_id"))]
    if string(item.get("tool")).lower().replace("_", "") == "spawnagent":
        threads = item.get("receiver_thread_ids")
        return [string(thread) for thread in threads] if type(threads) is list else []
    return []


def speech(item: dict[str, Any]) -> tuple[str, str]:
    """(role, text) of a piece of a conversation by voice."""
    inner = mapping(item.get("data")) or item
    return string(inner.get("role")), string(inner.get("text"))


def pieces(text: str) -> list[str]:
    """What an assistant's text says, and each plan in it: as events these stand apart, and without citations."""
    text = _without(text, _CITATION, _CITATION_END)[0]
    if _PLAN not in text:
        return [text]
    said, plans = _without(text, _PLAN, _PLAN_END)
    return [said, *plans]


def _without(text: str, opening: str, closing: str) -> tuple[str, list[str]]:
    """(``text`` without the blocks, what stood in them); one that is not closed goes on to the end."""
    kept: list[str] = []
    inner: list[str] = []
    at = 0
    while (start := text.find(opening, at)) >= 0:
        kept.append(text[at:start])
        start += len(opening)
        end = text.find(closing, start)
        if end < 0:
            return "".join(kept), [*inner, text[start:]]
        inner.append(text[start:end])
        at = end + len(closing)
    return "".join([*kept, text[at:]]), inner


def is_typed(kinds: Any, index: int) -> bool | None:
    """Whether a person wrote a message's text at ``index``, as the harness classed it; None where it did not."""
    if type(kinds) is not list or index >= len(kinds) or type(kinds[index]) is not str:
        return None
    found: str = kinds[index]
    if found in ("", "unknown"):
        return None
    return found.startswith("user.") and found != "user.heartbeat"
