"""All copies of a session → turns → its document: frontmatter and body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core import clock
from core.document import Failure, Timestamp
from core.text import one_line
from ingest.session import markdown
from ingest.session.events import GAP, TEXT, THINKING, TOOL, Event, Gap
from ingest.session.turns import ASSISTANT, TASK, USER, Turn, merge, turns
from ingest.session.units import split_key, stem, unit_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.session.session import Part, Session

MAX_TITLE = 120
UNTITLED = "Untitled session"
_PLAN = "Implement the following plan:"

# Slash commands that are no subject of a session.
_HOUSEKEEPING = frozenset(
    """
    /agents /clear /color /compact /config /context /cost /doctor /effort /exit /fast /help /hooks /ide /login /logout
    /mcp /memory /model /permissions /plugin /quit /reload-plugins /rename /resume /skills /status /statusline
    /terminal-setup /theme /usage /vim
    """.split()
)


def compose(unit: str, parts: list[Session], link: str = "", mtime_ns: int = 0) -> tuple[dict[str, object], str] | str:
    """Return (frontmatter, body) of a unit from all its copies, or the reason why it makes no document.

    The result depends on the set of ``parts`` alone, not on their order.

    Args:
        link: type and task of a subagent, tab-separated, as its parent's call has them; "" if the parent has none.
        mtime_ns: dates a session without timestamps.
    """
    copies = [each for part in parts for each in part.copies()]
    by_time = sorted(copies, key=lambda each: (each.last, len(each.uuids), each.records, each.digest))
    is_agent = any(each.parent for each in copies)
    found = turns(events := _kept(merge(_merge_order(copies, by_time)), copies), agent=is_agent)
    if reason := parts[0].refusal(found):
        return reason
    kind, _, task = link.partition("\t")
    kind = kind or _latest(each.agent_type for each in by_time)
    task = task or _latest(each.task for each in by_time)
    title = _title(by_time, found, task, TASK if is_agent or found[0].role == TASK else USER)
    first = min((each.first for each in copies if each.first), default="")
    session, agent = split_key(unit)
    meta: dict[str, object] = {
        "session_id": stem(unit) if agent else session,
        "source": parts[0].source,
        "title": title,
        "date": _timestamp(first) if first else Timestamp(clock.iso(mtime_ns // 1_000_000_000)),
        "date_source": None if first else "mtime",
        "ended": _timestamp(by_time[-1].last) if first else None,
        "project": next((each.cwd for each in sorted(copies, key=_oldest_first) if each.cwd), None),
        "git_branch": _latest(each.branch for each in by_time),
        "slug": _latest(each.slug for each in by_time),
        "models": sorted({model for each in copies for model in each.models}),
        "version": _latest(each.version for each in by_time),
        "turns": len(found),
        "output_tokens": _tokens(copies),
        "pull_requests": sorted({link for each in copies for link in each.pull_requests}),
        "forked_from": _latest(each.forked_from for each in by_time),
        "parent": _latest(each.parent for each in by_time),
        "agent_id": _latest(each.agent_id for each in by_time),
        "agent_type": kind,
        "task": task,
    }
    for each in by_time:
        meta.update(each.extra)
    meta["truncated"] = sum(event.count for event in events if isinstance(event, Gap)) or None
    return {key: one_line(value) if type(value) is str else value for key, value in meta.items()}, markdown.body(
        title, list(found)
    )


def links(unit: str, parts: list[Part]) -> dict[str, str]:
    """Return for each subagent that this unit started its unit → agent type and task, tab-separated."""
    session = split_key(unit)[0]
    copies = [each for part in parts for each in part.copies()]
    return {
        unit_key(session, agent): link
        for each in sorted(copies, key=lambda each: (len(each.uuids), each.digest))
        for agent, link in each.links.items()
    }


def faults(reading: Reading) -> Iterator[Failure]:
    """Yield the records of a file that could not be read, and why the file makes no document if it makes none."""
    if reading.failed is not None:
        yield reading.failed
    elif reading.skipped:
        yield Failure(reading.path, reading.skipped)
    yield from (failure for failure in reading.failures if failure is not reading.failed)


def _merge_order(copies: list[Session], by_time: list[Session]) -> list[Session]:
    """Return the copies in the order in which they decide what a record says."""
    if all(each.is_append_only for each in copies):
        return sorted(copies, key=lambda each: (-len(each.uuids), each.age, -each.records, each.digest))
    return by_time[::-1]


def _kept(events: list[Event], copies: list[Session]) -> list[Event]:
    """Return the events without removed records and without retracted answers, except calls of theirs that ran."""
    removed = set[str]().union(*(each.removed for each in copies))
    retracted = set[str]().union(*(each.retracted for each in copies))
    if removed:
        events = [event for event in events if event.kind == GAP or event.record not in removed]
    if retracted:
        ran = set[str]().union(*(each.ran for each in copies))
        events = [
            event
            for event in events
            if event.record not in retracted
            or not (event.kind in (TEXT, THINKING) or (event.kind == TOOL and event.call not in ran))
        ]
    return events


def _title(by_time: list[Session], found: list[Turn], task: str, person: str) -> str:
    """Return a title: given by a person, by a model, a summary of these records, the task, the first prompt."""
    summaries = [summary for each in by_time for summary in each.summaries]
    uuids = set[str]().union(*(each.uuids for each in by_time)) if summaries else set[str]()
    given = _first_of(
        _latest(each.title for each in by_time),
        _latest(each.machine_title for each in by_time),
        _latest(text for leaf, text in summaries if leaf in uuids),
        task,
    )
    return given or _title_of_turns(found, person) or UNTITLED


def _first_of(*candidates: str) -> str:
    """Return the first candidate that is not empty, as one line of at most 120 characters, or ""."""
    for candidate in candidates:
        line = one_line(candidate[:4000], MAX_TITLE)
        if line:
            return line
    return ""


def _title_of_turns(turns: list[Turn], person: str) -> str:
    """Return the first line of a turn: ``person``'s before commands, machines' last; or ""."""
    for roles in ((person,), ("command",), ("teammate", "compaction", "recap"), (ASSISTANT,), (TASK,)):
        for turn in turns:
            if turn.role not in roles:
                continue
            for item, text in turn.blocks():
                if item and turn.role == "command":
                    text = text.removeprefix("- ").removeprefix("! ")
                    if text.split(" ", 1)[0] in _HOUSEKEEPING:
                        continue
                line = _headline(text)
                if line:
                    return line
    return ""


def _headline(text: str) -> str:
    text = text[:4000].strip().removeprefix(_PLAN).lstrip()
    while text.startswith("[Image #") and "]" in text:
        text = text.partition("]")[2].lstrip()
    text = text.replace("\\\n", "\n")  # a line continued in the terminal
    if text.startswith("#"):
        text = text.lstrip("#").lstrip()
        first, _, rest = text.partition("\n")
        text = first if first.strip() else rest
    return one_line(text, MAX_TITLE)


def _oldest_first(each: Session) -> tuple[str, int, str]:
    return (each.first or "9", -len(each.uuids), each.digest)


def _latest(values: Iterable[str]) -> str:
    found = ""
    for value in values:
        found = value or found
    return found


def _tokens(copies: list[Session]) -> int | None:
    counts: dict[str, int] = {}
    for each in copies:
        for message, tokens in each.tokens.items():
            counts[message] = max(tokens, counts.get(message, tokens))
    return sum(counts.values()) or None


def _timestamp(at: str) -> Timestamp:
    return Timestamp(f"{at[:19]}Z")
