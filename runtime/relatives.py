"""What goes along when a document is forgotten: what belongs to it, was made of it, or tells the same."""

from __future__ import annotations

from os.path import basename
from typing import TYPE_CHECKING

from core.files import read_or_none
from ingest import articles, git, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runtime import hits


def with_relatives(picked: list[hits.Row], everything: list[hits.Row]) -> list[hits.Row]:
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


def _alike(picked: list[hits.Row], everything: list[hits.Row]) -> Iterator[hits.Row]:
    """What was made of the same: the same day of a clone, a copy of the same article."""
    papers = {str(row.fields.get("sha256")) for row in picked if row.fields.get("source") == articles.NAME}
    days = [row for row in picked if row.fields.get("source") == git.NAME]
    commits = {each for row in days for each in git.commits_of(body_of(row))}
    names = {basename(row.path) for row in days}
    for row in everything:
        source = row.fields.get("source")
        if (source == articles.NAME and str(row.fields.get("sha256")) in papers - {"None"}) or (
            source == git.NAME and basename(row.path) in names and not commits.isdisjoint(git.commits_of(body_of(row)))
        ):
            yield row


def is_distilled(row: hits.Row) -> bool:
    """Whether a document was made of another by distilling."""
    return row.collection == "distilled"


def is_session(row: hits.Row) -> bool:
    """Whether a document was made by a source."""
    return row.fields.get("source") in sources.names() and not is_distilled(row)


def body_of(row: hits.Row) -> str:
    """The text of a document as it lies on the disk, "" where that is not known."""
    return (read_or_none(row.file) or b"").decode("utf-8", "replace") if row.file is not None else ""
