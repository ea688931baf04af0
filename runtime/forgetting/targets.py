"""The documents that a forget concerns: those that are named or filtered, their relatives, and those of tombstones.

Relatives belong to a document, were made of it, or repeat it."""

from __future__ import annotations

import os
from os.path import join
from typing import TYPE_CHECKING

from core.errors import Refused
from core.files import open_regular, read_or_none
from ingest import forgetting, registry
from ingest.identity import Meant
from runtime.asking.documents import Row, Selection, resolve, select
from runtime.asking.envelope import uri
from runtime.forgetting.verify_erasure import holds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    import apsw

    from core.config import Config
    from core.home import Home
    from core.tombstones import Tombstone


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
            if row.owner:
                there = f"brain forget {uri(row.collection, row.path)}"
                raise Refused(f"{reference!r} is a document of {row.owner}", f"only {row.owner} can forget it: {there}")
            picked[row.id] = row
    return list(picked.values())


def _signed(home: Home, connection: apsw.Connection, config: Config, chosen: Selection) -> Iterator[Row]:
    """Yield documents without a project if their raw files are in a folder named after a folder of the rule."""
    names = forgetting.covered_by_sign(home, chosen.within)
    spans = Selection(since=chosen.since, until=chosen.until)
    for row in select(connection, config, spans) if names else ():
        if (row.fields.get("source"), row.path) in names and not row.fields.get("project"):
            yield row
