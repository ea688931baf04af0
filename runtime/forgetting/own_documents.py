"""Documents told by what they say of themselves: which tombstones are theirs, and which documents tombstones mean.

Documents that no source makes are notes, articles, and files that somebody put into a folder of the brain: nothing
makes them again but a backup or another machine. A note's and an article's tombstone is its ``session_id``, any other's
the SHA-256 of its bytes.
"""

from __future__ import annotations

import hashlib
import os
from os.path import join
from typing import TYPE_CHECKING

from core.document import split
from core.files import open_regular
from core.tombstones import by_content, digests, hidden, is_by_content
from ingest import registry
from ingest.sources.articles import source as articles
from ingest.sources.code import source as code
from ingest.sources.git import source as git
from runtime.forgetting.verify_erasure import holds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any

    from core.tombstones import Tombstone

# What ``source`` says of documents that have an identity of their own.
NAMED = frozenset(("note", articles.NAME))
PLAIN = "document"


def mark(fields: Mapping[str, Any], digest: str) -> Tombstone:
    """The tombstone of a document with these fields, whose bytes have this SHA-256."""
    source, session = str(fields.get("source") or ""), str(fields.get("session_id") or "")
    return (source, session) if source in NAMED and session else (PLAIN, digest)


def marks_of(data: bytes) -> list[Tombstone]:
    """All tombstones of a document that is here."""
    meta, body = split(data.decode("utf-8", "replace"))
    return [mark(meta, hashlib.sha256(data).hexdigest()), *others(meta, body)]


def others(fields: Mapping[str, Any], body: str) -> list[Tombstone]:
    """The tombstones that a document has beside its first: of the place it came from, and of what it was made of."""
    source, session, place = (str(fields.get(name) or "") for name in ("source", "session_id", "place"))
    found = [(source, place)] if source in NAMED and place else []
    made_of = digests_of(source, fields, body)
    return [*found, by_content(source, session, made_of)] if made_of and session else found


def digests_of(source: str, fields: Mapping[str, Any], body: str) -> list[str]:
    """By what a document is told wherever it lies, [] where by nothing but its id."""
    if source == articles.NAME:
        return [str(fields["sha256"])] if fields.get("sha256") else []
    if source == code.NAME:
        return [code.same(str(fields.get("nodeId")), body)]
    return git.commits_of(body) if source == git.NAME else []


class Meant:
    """What some tombstones mean, wherever it lies: documents are told by what they say of themselves."""

    def __init__(self, marks: Iterable[Tombstone]) -> None:
        self._marks = frozenset(marks)
        self._digests = {name: digests(self._marks, name) for name in (articles.NAME, code.NAME, git.NAME)}

    def covers(self, data: bytes, name: str) -> bool:
        """Whether they mean a document with these bytes that is called ``name``."""
        meta, body = split(data.decode("utf-8", "replace"))
        source = str(meta.get("source") or "")
        if mark(meta, hashlib.sha256(data).hexdigest()) in self._marks:
            return True
        if not self._marks.isdisjoint(_units(source, meta, name)):
            return True
        # A day of which some commits were never forgotten stays: the source makes it of these when it reads next.
        made_of = set(digests_of(source, meta, body))
        return bool(made_of) and made_of <= self._digests.get(source, set())

    def keeping_away(self, data: bytes) -> list[Tombstone]:
        """Those of them that would have to be lifted for a document with these bytes to be let in."""
        its = marks_of(data)
        made_of = {source: digests(its, source) for source in self._digests}
        return [
            each
            for each in self._marks
            if each in its or (is_by_content(each) and not made_of[each[0]].isdisjoint(digests([each], each[0])))
        ]


def _units(source: str, fields: Mapping[str, Any], name: str) -> set[Tombstone]:
    """What tombstones may cover a document: its session, its parent, its agent; the day of a browser."""
    parent, agent = fields.get("parent"), fields.get("agent_id")
    units = {fields.get("session_id"), parent, f"{parent}\t{agent}" if parent and agent else None}
    if source == "chrome":
        units.add(os.path.basename(name).removesuffix(".md"))
    if source == git.NAME:
        units.add(hidden(str(fields.get("session_id"))))
    return {(source, str(unit)) for unit in units if unit}


def find(folders: Iterable[tuple[str, str]], marks: Collection[Tombstone]) -> list[tuple[str, str]]:
    """(collection, path) of the documents below ``folders`` (collection, folder) that ``marks`` mean.

    What a source makes is looked for where that source writes, and what is distilled; everything else everywhere.
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
    return _where(folders, lambda data, _: holds(data.lower(), probes))


def _where(folders: Iterable[tuple[str, str]], test: Callable[[bytes, str], bool]) -> list[tuple[str, str]]:
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
                if test(data, name):
                    found.append((collection, os.path.relpath(path, folder)))
    return found
