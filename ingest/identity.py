"""Which tombstones a document has, and which documents some tombstones mean.

No source makes notes, articles, and files that somebody put into a folder of Brain; only a backup or another machine
brings them back. The tombstone of a note or an article is its ``session_id``, any other's the SHA-256 of its bytes.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from core.document import split
from core.tombstones import by_content, digests, hidden, is_by_content
from ingest import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from core.tombstones import Tombstone


# Values of ``source`` of documents that have an identity of their own.
NAMED = frozenset(("note", *registry.ADDED))
PLAIN = "document"


def mark(fields: Mapping[str, Any], digest: str) -> Tombstone:
    """Return the tombstone of a document with these fields and this SHA-256 of its bytes."""
    source, session = str(fields.get("source") or ""), str(fields.get("session_id") or "")
    return (source, session) if source in NAMED and session else (PLAIN, digest)


def marks_of(data: bytes) -> list[Tombstone]:
    """Return all tombstones of a document that is here."""
    meta, body = split(data.decode("utf-8", "replace"))
    return [mark(meta, hashlib.sha256(data).hexdigest()), *others(meta, lambda: body)]


def others(fields: Mapping[str, Any], body: Callable[[], str]) -> list[Tombstone]:
    """Return the further tombstones of a document: for the place it came from, and for the content it was made of."""
    source, session, place = (str(fields.get(name) or "") for name in ("source", "session_id", "place"))
    found = [(source, place)] if source in NAMED and place else []
    made_of = registry.maker(source).made_of(fields, body)
    return [*found, by_content(source, session, made_of)] if made_of and session else found


class Meant:
    """The documents that some tombstones mean, in any place: a document is identified by its own contents."""

    def __init__(self, marks: Iterable[Tombstone]) -> None:
        self._marks = frozenset(marks)
        self._digests = {name: digests(self._marks, name) for name, _ in self._marks}

    def covers(self, data: bytes) -> bool:
        """Return True if the tombstones mean a document with these bytes."""
        meta, body = split(data.decode("utf-8", "replace"))
        source = str(meta.get("source") or "")
        if mark(meta, hashlib.sha256(data).hexdigest()) in self._marks:
            return True
        if not self._marks.isdisjoint(_units(source, meta)):
            return True
        # A day of which some commits were never forgotten stays: the source makes it of these when it reads next.
        made_of = set(registry.maker(source).made_of(meta, lambda: body))
        return bool(made_of) and made_of <= self._digests.get(source, set())

    def keeping_away(self, data: bytes) -> list[Tombstone]:
        """Return those of them that would have to be lifted for a document with these bytes to be let in."""
        its = marks_of(data)
        made_of = {source: digests(its, source) for source in self._digests}
        return [
            each
            for each in self._marks
            if each in its or (is_by_content(each) and not made_of[each[0]].isdisjoint(digests([each], each[0])))
        ]


def _units(source: str, fields: Mapping[str, Any]) -> set[Tombstone]:
    """Return the tombstones that may cover a document: its session's, its parent's, its agent's, and a hidden one."""
    session, parent, agent = fields.get("session_id"), fields.get("parent"), fields.get("agent_id")
    units = {session, parent, f"{parent}\t{agent}" if parent and agent else None, session and hidden(str(session))}
    return {(source, str(unit)) for unit in units if unit}
