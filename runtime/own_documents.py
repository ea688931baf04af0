"""Documents that no source makes: notes, articles, files that somebody put into a folder of the brain.

Nothing makes them again but a backup or another machine, which their tombstones are for: a note's and an article's is
its ``session_id``, any other's the SHA-256 of its bytes.
"""

from __future__ import annotations

import hashlib
import os
from os.path import join
from typing import TYPE_CHECKING

from core.document import split
from core.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any

    from core.tombstones import Tombstone

# What ``source`` says of documents that have an identity of their own.
NAMED = frozenset(("note", "article"))
PLAIN = "document"
_HEAD = 64 << 10


def mark(fields: Mapping[str, Any], digest: str) -> Tombstone:
    """The tombstone of a document with these fields, whose bytes have this SHA-256."""
    source, session = str(fields.get("source") or ""), str(fields.get("session_id") or "")
    return (source, session) if source in NAMED and session else (PLAIN, digest)


def mark_of(data: bytes) -> Tombstone:
    """The tombstone of a document that is here."""
    meta, _ = split(data[:_HEAD].decode("utf-8", "replace"))
    return mark(meta, hashlib.sha256(data).hexdigest())


def marks_of(data: bytes) -> list[Tombstone]:
    """All tombstones of a document that is here: what has an address came from a place as well."""
    meta, _ = split(data[:_HEAD].decode("utf-8", "replace"))
    return [mark(meta, hashlib.sha256(data).hexdigest()), *places(meta)]


def places(fields: Mapping[str, Any]) -> list[Tombstone]:
    """The tombstone of the place that a document with these fields, which has another identity, came from, if any."""
    source, place = str(fields.get("source") or ""), str(fields.get("place") or "")
    return [(source, place)] if source in NAMED and place else []


def find(folders: Iterable[tuple[str, str]], marks: Collection[Tombstone]) -> list[tuple[str, str]]:
    """(collection, path) of the documents below ``folders`` (collection, folder) that ``marks`` mean."""
    wanted = {mark for mark in marks if mark[0] == PLAIN or mark[0] in NAMED}
    return _where(folders, lambda data: mark_of(data) in wanted) if wanted else []


def holding(folders: Iterable[tuple[str, str]], probes: Collection[bytes]) -> list[tuple[str, str]]:
    """(collection, path) of the documents below ``folders`` that hold one of ``probes`` (lower case), whosever."""
    return _where(folders, lambda data: any(probe in data.lower() for probe in probes))


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
