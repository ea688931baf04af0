"""The documents that a forget concerns: those that are named or filtered, their relatives, and those of tombstones.

Relatives belong to a document, were made of it, or repeat it. No source makes notes, articles, and files that somebody
put into a folder of Brain; only a backup or another machine brings them back. The tombstone of a note or an article is
its ``session_id``, any other's the SHA-256 of its bytes.
"""

from __future__ import annotations

import hashlib
import os
from os.path import join
from typing import TYPE_CHECKING

from core.document import split
from core.files import open_regular, read_or_none
from core.tombstones import by_content, digests, hidden, is_by_content
from ingest import forgetting, registry
from runtime.asking.documents import Row, Selection, resolve, select
from runtime.forgetting.verify_erasure import holds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any

    import apsw

    from core.config import Config
    from core.home import Home
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


def find(folders: Iterable[tuple[str, str]], marks: Collection[Tombstone]) -> list[tuple[str, str]]:
    """Return (collection, path) of the documents below ``folders`` (collection, folder) that ``marks`` mean.

    Documents of a source are looked for where that source writes, and among distillates; all others everywhere.
    """
    made = [source for name in {each[0] for each in marks} if (source := registry.find(name)) is not None]
    places = {source.name: (source.collection, "distilled") for source in made}
    found: list[tuple[str, str]] = []
    for collection, folder in folders:
        here = [each for each in marks if collection in places.get(each[0], (collection,))]
        if here:
            found += _where([(collection, folder)], Meant(here).covers)
    return found


def holding(folders: Iterable[tuple[str, str]], probes: Collection[bytes]) -> list[tuple[str, str]]:
    """(collection, path) of the documents below ``folders`` that hold one of ``probes`` (lower case), whosever."""
    return _where(folders, lambda data: holds(data.lower(), probes))


def _where(folders: Iterable[tuple[str, str]], test: Callable[[bytes], bool]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for collection, folder in folders:
        for place, _, names in os.walk(folder):
            for name in sorted(names):
                path = join(place, name)
                try:
                    with open_regular(path) as stream:
                        data = stream.read()
                except OSError:
                    continue  # what cannot be read is found by whoever verifies
                if test(data):
                    found.append((collection, os.path.relpath(path, folder)))
    return found


def with_relatives(picked: list[Row], everything: list[Row]) -> list[Row]:
    """Return the picked documents and their relatives.

    A session has its agents, a day of commits and an article have copies, a document has its distillate, and a
    distillate its origin.
    """
    chosen = {row.id: row for row in picked}
    for row in everything:
        parent = row.fields.get("parent")
        if parent and any(
            parent == each.fields.get("session_id") and row.fields.get("source") == each.fields.get("source")
            for each in picked
        ):
            chosen[row.id] = row
    chosen |= {row.id: row for row in _alike(picked, everything)}
    # A distillate has the name of what it was made from: docs/documents.md.
    made = {row.path for row in chosen.values() if is_session(row) or is_distilled(row)}
    for row in everything:
        if row.path in made and (is_distilled(row) or is_session(row)):
            chosen[row.id] = row
    return sorted(chosen.values(), key=lambda row: (row.collection, row.path))


def _alike(picked: list[Row], everything: list[Row]) -> Iterator[Row]:
    """Yield documents that were made of the same: a day or symbol of a clone, a copy of an article."""
    named = {name for row in picked if (name := _called(row))}
    picked_digests = {each for row in picked for each in _digests(row)}
    for row in everything:
        if picked_digests and _called(row) in named and not picked_digests.isdisjoint(_digests(row)):
            yield row


def partly(picked: list[Row], rows: list[Row]) -> set[int]:
    """Return the ids of those ``rows`` that share commits with what was picked, and have others that nobody picked."""
    ours = {row.id for row in picked}
    picked_digests = {each for row in picked for each in _digests(row)}
    others = (row for row in rows if row.id not in ours and not is_distilled(row)) if picked_digests else ()
    return {row.id for row in others if not picked_digests.issuperset(_digests(row))}


def _called(row: Row) -> tuple[str, str] | None:
    """Return (source, the name that documents of the same content share), None if there is none."""
    source = str(row.fields.get("source") or "")
    name = registry.maker(source).shared_name(row.fields, row.path)
    return (source, name) if name else None


def _digests(row: Row) -> list[str]:
    return registry.maker(str(row.fields.get("source"))).made_of(row.fields, lambda: body_of(row))


def is_distilled(row: Row) -> bool:
    """Return True if a document was made of another by distilling."""
    return row.collection == "distilled"


def is_session(row: Row) -> bool:
    """Return True if a document was made by a source."""
    return registry.find(str(row.fields.get("source"))) is not None and not is_distilled(row)


def body_of(row: Row) -> str:
    """Return the text of a document as it lies on the disk, "" if that is not known."""
    return (read_or_none(row.file) or b"").decode("utf-8", "replace") if row.file is not None else ""


def selected(
    home: Home, connection: apsw.Connection, config: Config, chosen: Selection, everything: dict[int, Row]
) -> list[Row]:
    """Return the documents that are named, also sessions by their ids, or that the filters choose.

    ``everything``: all documents of the index. Raises as ``documents.select``.
    """
    if not chosen.references:
        rows = select(connection, config, chosen)
        return [*rows, *_signed(home, connection, config, chosen)] if chosen.within else rows
    picked: dict[int, Row] = {}
    for reference in chosen.references:
        session = [row for row in everything.values() if row.fields.get("session_id") == reference]
        for row in session or [resolve(connection, config, reference)]:
            picked[row.id] = row
    return list(picked.values())


def _signed(home: Home, connection: apsw.Connection, config: Config, chosen: Selection) -> Iterator[Row]:
    """Yield documents without a project if their raw files are in a folder named after a folder of the rule."""
    names = forgetting.covered_by_sign(home, chosen.within)
    spans = Selection(since=chosen.since, until=chosen.until)
    for row in select(connection, config, spans) if names else ():
        if (row.fields.get("source"), row.path) in names and not row.fields.get("project"):
            yield row
