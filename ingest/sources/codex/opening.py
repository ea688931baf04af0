"""What the first line of a rollout says of its session: who it is, where it ran, whose it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.text import one_line
from ingest.session.values import mapping, moment, string

if TYPE_CHECKING:
    from ingest.session.builder import SessionBuilder

REVIEWER = "reviewer of approvals"


def take(session: SessionBuilder, payload: dict[str, Any], at: str) -> None:
    """Put what the line says into the session."""
    session.unit = one_line(string(payload.get("id")) or string(payload.get("session_id")), 4000) or session.unit
    session.extend_to(moment(payload.get("timestamp")) or at)
    session.cwd = string(payload.get("cwd"))
    session.version = string(payload.get("cli_version"))
    session.branch = string(mapping(payload.get("git")).get("branch"))
    session.forked_from = one_line(string(payload.get("forked_from_id")), 500)
    base = one_line(string(mapping(payload.get("history_base")).get("thread_id")), 500)
    if base != session.unit:
        session.forked_from = session.forked_from or base
    session.title = string(payload.get("thread_name"))
    _origin(session, payload)


def own_from(payload: dict[str, Any]) -> int:
    """Of a subagent's rollout, where its own records begin: what stands before repeats its parent's; 0 of any other."""
    start = payload.get("subagent_history_start_ordinal")
    return start if type(start) is int else 0


def is_review(payload: dict[str, Any]) -> bool:
    """Whether the session judges what its parent wants to run: it is given all that was said there, and says no more.

    Since 0.146 (``source: {"subagent": {"other": "guardian"}}``).
    """
    sub = mapping(mapping(payload.get("source")).get("subagent"))
    return sub.get("other") == "guardian" or payload.get("thread_source") == "guardian_review"


def _origin(session: SessionBuilder, payload: dict[str, Any]) -> None:
    given = payload.get("source")
    sub = mapping(given).get("subagent")
    spawn = mapping(mapping(sub).get("thread_spawn"))
    parent = string(spawn.get("parent_thread_id")) or string(payload.get("parent_thread_id"))
    if parent or sub is not None:
        kind = string(spawn.get("agent_role")) or string(payload.get("agent_role"))
        kind = kind or string(sub) or string(mapping(sub).get("other")) or string(payload.get("agent_type"))
        session.parent = one_line(parent, 500)
        session.agent_type = one_line(kind, 80)
        name = string(spawn.get("agent_nickname")) or string(payload.get("agent_nickname"))
        session.agent_id = one_line(name or string(spawn.get("agent_path")) or string(payload.get("agent_path")), 200)
    elif type(given) is str:
        session.extra["surface"] = given
