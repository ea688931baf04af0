"""A session's title: custom-title, ai-title, a summary that describes this session, the first human prompt."""

from __future__ import annotations

from ingest.session import titles
from ingest.session.turns import TASK, USER, Turn
from ingest.sources.claude.events import Part


def title(parts: list[Part], turns: list[Turn], task: str = "") -> str:
    """One line of at most 120 characters; ``parts`` in order of time, ``task`` what a subagent was asked for."""
    uuids = set().union(*(part.uuids for part in parts)) if len(parts) > 1 else parts[0].uuids
    resolved = [text for part in parts for leaf, text in part.summaries if leaf in uuids]
    given = titles.first_of(
        next((part.custom_title for part in reversed(parts) if part.custom_title), ""),
        next((part.ai_title for part in reversed(parts) if part.ai_title), ""),
        resolved[-1] if resolved else "",
        task,
    )
    person = TASK if task or turns[0].role == TASK else USER
    return given or titles.from_turns(turns, person) or titles.UNTITLED
