"""What goes along when a document is forgotten: what belongs to it, was made of it, or tells the same."""

from __future__ import annotations

from os.path import basename
from typing import TYPE_CHECKING

from core.files import read_or_none
from ingest import registry
from ingest.sources.articles import source as articles
from ingest.sources.code import source as code
from ingest.sources.git import source as git
from runtime.forgetting import own_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runtime.asking.documents import Row


def with_relatives(picked: list[Row], everything: list[Row]) -> list[Row]:
    """Those picked, with each session its agents, with each day of commits and each article its copies, with each
    document what was distilled from it, and with that its origin.
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
    """What was made of the same: the same day or symbol of a clone, a copy of the same article."""
    named = {name for row in picked if (name := _called(row))}
    told = {each for row in picked for each in _digests(row)}
    for row in everything:
        if told and _called(row) in named and not told.isdisjoint(_digests(row)):
            yield row


def partly(picked: list[Row], rows: list[Row]) -> set[int]:
    """The ids of those ``rows`` that share commits with what was picked, and have others that nobody picked."""
    ours = {row.id for row in picked}
    told = {each for row in picked if row.fields.get("source") == git.NAME for each in _digests(row)}
    others = [
        row for row in rows if row.id not in ours and row.fields.get("source") == git.NAME and not is_distilled(row)
    ]
    return {row.id for row in others if not told.issuperset(_digests(row))} if told else set()


def _called(row: Row) -> tuple[str, str] | None:
    """What documents that were made of the same have in common, as their fields say; None where nothing tells it."""
    source = str(row.fields.get("source") or "")
    if source == git.NAME:
        return source, basename(row.path)
    field = {articles.NAME: "sha256", code.NAME: "nodeId"}.get(source)
    return (source, str(row.fields[field])) if field and row.fields.get(field) else None


def _digests(row: Row) -> list[str]:
    source = str(row.fields.get("source"))
    body = body_of(row) if source in (code.NAME, git.NAME) else ""
    return own_documents.digests_of(source, row.fields, body)


def is_distilled(row: Row) -> bool:
    """Whether a document was made of another by distilling."""
    return row.collection == "distilled"


def is_session(row: Row) -> bool:
    """Whether a document was made by a source."""
    return registry.find(str(row.fields.get("source"))) is not None and not is_distilled(row)


def body_of(row: Row) -> str:
    """The text of a document as it lies on the disk, "" where that is not known."""
    return (read_or_none(row.file) or b"").decode("utf-8", "replace") if row.file is not None else ""
