"""The entries of the inbox as they lie on disk: found, listed, edited, superseded, removed.

The files are the asset, so none of this needs an index; what changes is indexed at once where there is one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from os.path import join
from typing import TYPE_CHECKING, Any

from core.document import Timestamp, render, split
from core.errors import BadInput
from core.files import open_regular, write_atomic
from runtime.asking.documents import NotFound
from runtime.asking.envelope import SCHEME
from runtime.capture import documents, inbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.home import Home

_SHORT = 4
# The grounds of an entry follow these; the last two were written until the option's own name was.
_GROUNDS = ("\n\nWhy: ", "\n\nAlternatives:\n")


@dataclass(frozen=True, slots=True)
class Stored:
    """One entry: its file, its frontmatter, its body."""

    path: str
    meta: dict[str, Any]
    body: str

    @property
    def entry_id(self) -> str:
        """Its identity, which is its file's name."""
        return os.path.basename(self.path).removesuffix(".md")

    @property
    def type(self) -> str:
        """The kind of note."""
        return str(self.meta.get("type") or "note")

    @property
    def title(self) -> str:
        """Its title, else its identity."""
        return str(self.meta.get("title") or self.entry_id)

    def field(self, name: str) -> str:
        """Return a field of the frontmatter as text, "" if there is none."""
        return str(self.meta.get(name) or "")


def paths(home: Home) -> list[str]:
    """Return the files of all entries, newest first."""
    found = []
    for folder, folders, names in os.walk(home.inbox):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [join(folder, name) for name in names if name.endswith(".md") and not name.startswith(".")]
    return sorted(found, key=os.path.basename, reverse=True)


def read(path: str) -> Stored:
    """Return one entry. Raises OSError."""
    with open_regular(path) as stream:
        meta, body = split(stream.read().decode("utf-8", "replace"))
    return Stored(path, meta, body)


def entries(home: Home) -> Iterator[Stored]:
    """Return all entries, newest first; an unreadable file is left out, and the index reports it."""
    for path in paths(home):
        try:
            yield read(path)
        except OSError:
            continue


def item(stored: Stored) -> dict[str, Any]:
    """Return an entry as lists have it; its text is not cleaned for showing."""
    found: dict[str, Any] = {"entry_id": stored.entry_id, "type": stored.type, "title": stored.title}
    found["path"] = stored.path
    return found | {name: stored.meta.get(name) for name in ("date", "project", "tags", "supersedes", "superseded_by")}


def statement(stored: Stored) -> str:
    """Return the text of an entry, without the heading and the grounds that were put around it."""
    body = stored.body.partition("\n")[2] if stored.body.startswith("# ") else stored.body
    for heading in _GROUNDS:
        body = body.partition(heading)[0]
    return body.strip() or stored.title


def find(home: Home, reference: str) -> Stored:
    """Return the entry that ``reference`` names: its id, an end or a beginning of it, its uri or its path.

    Raises NotFound, and BadInput if several answer to it.
    """
    name = reference.strip().removeprefix("#")
    if name.startswith(SCHEME) or "/" in name:
        name = os.path.basename(name)
    name = name.removesuffix(".md")
    all_paths = paths(home)
    names = {os.path.basename(path).removesuffix(".md"): path for path in all_paths}
    if name in names:
        return read(names[name])
    found = [path for entry, path in names.items() if entry.endswith(name) or entry.startswith(name)]
    if len(name) < _SHORT or not found:
        raise NotFound(f"there is no entry {reference!r}", "brain inbox list", [])
    if len(found) > 1:
        ids = ", ".join(os.path.basename(path).removesuffix(".md") for path in found[:5])
        raise BadInput(f"{reference!r} names {len(found)} entries: {ids}", "name one by its whole id")
    return read(found[0])


def store(home: Home, stored: Stored, *, edited: bool = True) -> str:
    """Write an entry back and index it; returns a warning, "" if all went well. Raises OSError.

    Unless ``edited``, its file keeps its time, by which one that its user has changed is known
    (``runtime.capture.rescan``).
    """
    meta = dict(stored.meta)
    if "date" in meta:
        meta["date"] = Timestamp(str(meta["date"]))
    before = os.stat(stored.path)
    with documents.writing(home, stored.path) as note:
        write_atomic(stored.path, render(meta, stored.body))
        if not edited:
            os.utime(stored.path, ns=(before.st_atime_ns, before.st_mtime_ns))
        _, note.indexed, warning = inbox.index_entry(home, stored.path)
    return warning


def mark_superseded(home: Home, older: Stored, by: str) -> str:
    """Say in ``older`` which entry took its place (``by``: an id, "" for none any more); returns a warning or ""."""
    return _relate(home, older, "superseded_by", by)


def mark_supersedes(home: Home, newer: Stored, older: str) -> str:
    """Say in ``newer`` that it took the place of ``older`` (an id); returns a warning or ""."""
    return _relate(home, newer, "supersedes", older)


def successor(home: Home, stored: Stored) -> Stored | None:
    """Return the entry that is in force in place of this one, or this one itself.

    An entry that was removed by hand is no successor. None if the chain ends in itself: somebody wrote that.
    """
    names = {os.path.basename(path).removesuffix(".md"): path for path in paths(home)}
    seen = {stored.entry_id}
    while (by := stored.field("superseded_by")) in names:
        if by in seen:
            return None
        seen.add(by)
        stored = read(names[by])
    return stored


def remove(home: Home, stored: Stored) -> str:
    """Remove an entry's file and what the index holds of it; returns a warning, "" if all went well.

    A chain closes over it: the entry that it superseded is superseded by its own successor, or is in force again.
    """
    with documents.writing(home, stored.path) as note:
        os.unlink(stored.path)
        warning = _unindex(home, stored.path)
        note.indexed = not warning
    others = list(entries(home))
    there = {other.entry_id for other in others}
    before = [other for other in others if other.field("superseded_by") == stored.entry_id]
    after = stored.field("superseded_by") if stored.field("superseded_by") in there else ""
    for other in before:
        warning = mark_superseded(home, other, after if after != other.entry_id else "") or warning
    for other in others:
        if other.field("supersedes") == stored.entry_id:
            earlier = next((each.entry_id for each in before if each.entry_id != other.entry_id), "")
            # The note itself is on disk since a moment ago.
            warning = _relate(home, read(other.path), "supersedes", earlier) or warning
    return warning


def _relate(home: Home, stored: Stored, field: str, entry: str) -> str:
    meta = {key: value for key, value in stored.meta.items() if key != field}
    if entry:
        meta[field] = entry
    return store(home, Stored(stored.path, meta, stored.body), edited=False)


def replace(stored: Stored, text: str) -> Stored:
    """Return the entry with ``text`` (frontmatter and body, as its user edited them).

    Raises BadInput if the frontmatter is not one or is another entry's.
    """
    meta, body = split(text)
    if not meta:
        raise BadInput("the frontmatter is missing or not YAML", "keep the lines between the two ---")
    if meta.get("session_id") != stored.entry_id:
        raise BadInput("session_id may not be changed", f"session_id: {stored.entry_id}")
    for name in ("supersedes", "superseded_by"):
        # Both ends say so, and an edit is of one.
        if meta.get(name) != stored.meta.get(name):
            raise BadInput(
                f"{name} may not be changed", f"brain inbox supersede {stored.entry_id} …, or brain inbox rm"
            )
    if meta.get("type", "note") not in inbox.TYPES:
        raise BadInput(f"{meta.get('type')!r} is no type of note", f"one of {', '.join(inbox.TYPES)}")
    if not body.strip():
        raise BadInput("nothing is left of the note", "brain inbox rm removes an entry")
    return Stored(stored.path, meta, body)


def _unindex(home: Home, path: str) -> str:
    from core.config import load
    from core.errors import BrainError

    try:
        place = documents.place(load(home), path)
        if place is not None:
            documents.drop_file(home, *place)
    except (BrainError, OSError) as error:
        return f"the file is gone, the index still has it ({error}): run `brain index`"
    return ""
