"""One unit's parts → its frontmatter and body."""

from __future__ import annotations

from core import clock
from core.document import Timestamp
from core.text import one_line
from ingest.pipeline.names import stem
from ingest.pipeline.units import split_key
from ingest.session import markdown
from ingest.session.events import COMMAND, TEXT, THINKING, TOOL, Event, Gap
from ingest.session.turns import ASSISTANT, Turn, merge, turns
from ingest.sources.claude.events import Part
from ingest.sources.claude.titles import title

NO_CONVERSATION = "no conversation"
COMMANDS_ONLY = "only local commands"
WARM_UP = "warm-up agent"


def compose(unit: str, parts: list[Part], link: str, mtime_ns: int) -> tuple[dict[str, object], str] | str:
    """See ``ingest.sources.claude.source.compose``."""
    session, agent = split_key(unit)
    by_size = sorted(parts, key=lambda part: (-len(part.uuids), part.age, -part.records, part.digest))
    by_time = sorted(parts, key=lambda part: (part.last, len(part.uuids), part.digest))
    events = _without_retracted(merge(by_size), parts)
    found = turns(events, agent=bool(agent))
    reason = _no_document(found, bool(agent))
    if reason:
        return reason
    kind, _, task = link.partition("\t")
    heading = title(by_time, found, task)
    first = min((part.first for part in parts if part.first), default="")
    last = max((part.last for part in parts), default="")
    date, ended = (_timestamp(first), _timestamp(last)) if first else (None, None)
    meta: dict[str, object] = {
        "session_id": stem(unit) if agent else session,
        "source": "claude",
        "title": heading,
        "date": date or Timestamp(clock.iso(mtime_ns // 1_000_000_000)),
        "date_source": None if date else "mtime",
        "ended": ended,
        "project": next((part.cwd for part in sorted(parts, key=_age) if part.cwd), None),
        "git_branch": _latest([part.branch for part in by_time]),
        "slug": _latest([part.slug for part in by_time]),
        "models": sorted({model for part in parts for model in part.models}),
        "version": _latest([part.version for part in by_time]),
        "turns": len(found),
        "output_tokens": _tokens(parts),
        "pull_requests": sorted({link for part in parts for link in part.prs}),
        "forked_from": _latest([part.forked_from for part in by_time]),
    }
    if agent:
        meta |= {"parent": session, "agent_id": agent, "agent_type": kind, "task": task}
    meta["truncated"] = sum(event.count for event in events if isinstance(event, Gap)) or None
    return {key: one_line(value) if type(value) is str else value for key, value in meta.items()}, markdown.body(
        heading, list(found)
    )


def _without_retracted(events: list[Event], parts: list[Part]) -> list[Event]:
    """``events`` without the answers that others took the place of; a call of theirs that ran stays."""
    retracted = set().union(*(part.retracted for part in parts))
    if not retracted:
        return events
    ran = set().union(*(part.ran for part in parts))
    return [
        event
        for event in events
        if event.record not in retracted
        or not (event.kind in (TEXT, THINKING) or (event.kind == TOOL and event.call not in ran))
    ]


def _no_document(found: list[Turn], agent: bool) -> str:
    spoken = [turn for turn in found if turn.role != COMMAND]
    if not found:
        return NO_CONVERSATION
    if not spoken and not any(text.startswith("- !") for turn in found for _, text in turn.blocks()):
        return COMMANDS_ONLY
    if agent:
        tasks = [text.strip() for turn in found if turn.role != ASSISTANT for _, text in turn.blocks()]
        worked = any(item for turn in found for item, _ in turn.blocks())
        # Up to 2.0.4x every session started idle agents to fill the prompt cache: a greeting, and nothing done.
        if not worked and (tasks == ["Warmup"] or (not tasks and all(turn.role == ASSISTANT for turn in found))):
            return WARM_UP
    return ""


def _age(part: Part) -> tuple[str, int, str]:
    return (part.first or "9", -len(part.uuids), part.digest)


def _latest(values: list[str]) -> str | None:
    return next((value for value in reversed(values) if value), None)


def _tokens(parts: list[Part]) -> int | None:
    counts: dict[str, int] = {}
    for part in parts:
        for message, tokens in part.tokens.items():
            if tokens > counts.get(message, -1):
                counts[message] = tokens
    return sum(counts.values()) or None


def _timestamp(at: str) -> Timestamp:
    return Timestamp(f"{at[:19]}Z")
