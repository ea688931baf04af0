"""One conversation of Cursor's in several places: its editor's database, its agent's, and a transcript beside them.

Since 3.0 the editor writes transcripts of its conversations too, under the same id. They say the same with other
records and other names of tools, so that copies are told by what was said: of a lower place only what no higher one
has is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.session.events import COMMENTARY, PROMPT, TAKEN_BACK, TEXT, Event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.session.session import Session

# Session.rank: how much a place knows of a conversation.
TRANSCRIPT, AGENT, EDITOR = 0, 1, 2
# What the editor made up in a person's place is known, too (``ingest.sources.cursor.composer``).
_SAID = (PROMPT, TEXT, COMMENTARY, TAKEN_BACK)


def once(parts: list[Session]) -> list[Session]:
    """``parts`` of one conversation, the lower places' without what the higher ones say."""
    ranks = sorted({part.rank for part in parts}, reverse=True)
    if len(ranks) < 2:
        return parts
    found: list[Session] = []
    known: dict[str, int] = {}
    for rank in ranks:
        group = [part for part in parts if part.rank == rank]
        group = [part.showing(_left(part.events, dict(known))) for part in group] if found else group
        for part in group if found else ():
            if ranks[0] == EDITOR:
                part.extra.pop("surface", None)  # it is the editor's conversation
        most: dict[str, int] = {}
        for part in group:
            for text, count in _said(part.events).items():
                most[text] = max(most.get(text, 0), count)
        for text, count in most.items():
            known[text] = known.get(text, 0) + count
        found += group
    return found


def _left(events: Iterable[Event], known: dict[str, int]) -> list[Event]:
    """The events that are not ``known``; what was done goes with what was said before it."""
    left: list[Event] = []
    is_known = True
    for event in events:
        if event.kind in _SAID:
            text = _plain(event.text)
            is_known = known.get(text, 0) > 0
            if is_known:
                known[text] -= 1
        if not is_known:
            left.append(event)
    return left


def _said(events: Iterable[Event]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for event in events:
        if event.kind in _SAID:
            text = _plain(event.text)
            counts[text] = counts.get(text, 0) + 1
    return counts


def _plain(text: str) -> str:
    return " ".join(text.split())
