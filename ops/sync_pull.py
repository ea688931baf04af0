"""What another machine has, laid below ``machines/NAME`` of each collection; what it has forgotten, forgotten here.

The other machine's tree is another's text: names are checked, links are never made, and nothing is written outside the
collections' folders.
"""

from __future__ import annotations

import contextlib
import json
import os
from os.path import dirname, join
from typing import TYPE_CHECKING, Any

from core.files import open_regular, read_or_none, write_atomic
from core.tombstones import FILE as TOMBSTONES
from core.tombstones import Tombstones
from ops import snapshot
from ops.git import Blob, Repository, oid
from runtime.own_documents import Meant

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home
    from ops.sync import State

MACHINES = "machines"
_META = ".brain/"
_LARGEST = 32 << 20


class Pulled:
    """What came and went: counts; ``kept``: uris; ``skipped``: reason → count; ``rewritten``: a history was purged."""

    __slots__ = ("added", "changed", "forgotten", "kept", "removed", "rewritten", "skipped")

    def __init__(self) -> None:
        self.added = 0
        self.removed = 0
        self.forgotten = 0
        self.kept: list[str] = []
        self.skipped: dict[str, int] = {}
        self.changed = False
        self.rewritten = False

    def skip(self, reason: str) -> None:
        """Count a document that is not laid down."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1


def lay_down(
    home: Home, config: Config, repository: Repository, state: State, other: str, commit: str, pulled: Pulled
) -> None:
    """Bring this home to what ``other`` has at ``commit`` ("": it has left). Raises OSError, Internal, LockContention.

    A copy that was edited here is left as it is, and named.
    """
    before = state.machines.setdefault(other, {})
    if before.get("commit") == commit and not before.get("coming"):
        return
    tree = repository.tree(commit) if commit else {}
    last = str(before.get("commit") or "")
    if last and commit and not repository.is_ancestor(last, commit):
        pulled.rewritten = True
    pulled.rewritten |= not commit
    folders = _folders(home, config)
    _obey(home, repository, state, other, tree, folders, pulled)
    files: dict[str, str] = dict(before.get("files") or {})
    wanted = _wanted(tree, folders, pulled)
    # Written down before anything is: a run that is killed must know its own files again.
    before["coming"] = {path: blob.oid for path, blob in wanted.items() if files.get(path) != blob.oid}
    state.save()
    coming: dict[str, Any] = before["coming"]
    gone = [path for path in files if path not in wanted]
    _remove(home, folders, other, gone, files, pulled)
    data = dict(repository.contents(wanted[path] for path in coming))
    forgotten = Meant(Tombstones(home).marks())
    dropped = {(collection, path) for machine, collection, path in state.removed if machine == other}
    for path, digest in coming.items():
        collection, _, relative = path.partition("/")
        if (collection, relative) in dropped or forgotten.covers(data[digest], relative):
            pulled.skip("forgotten here")
            continue
        own = read_or_none(join(folders[collection], relative))
        if own is not None and oid(own) == digest:
            pulled.skip("the same is here already")
            continue
        place = join(folders[collection], MACHINES, other, relative)
        there = read_or_none(place)
        if there is not None and oid(there) not in (digest, files.get(path)):
            pulled.kept.append(f"qmd://{collection}/{MACHINES}/{other}/{relative}")
            continue
        if there is None or oid(there) != digest:
            write_atomic(place, data[digest])
            pulled.added += 1
            pulled.changed = True
    usage = tree.get(f"{_META}usage.jsonl")
    if usage is not None and usage.size <= _LARGEST:
        for _, rows in repository.contents([usage]):
            write_atomic(join(home.logs, MACHINES, f"{other}.jsonl"), rows)
    before.update(commit=commit, files={path: blob.oid for path, blob in wanted.items()}, coming={})
    state.save()


def _folders(home: Home, config: Config) -> dict[str, str]:
    inside = set(snapshot.parts(home, config)[0].values())
    return {name: folder.path for name, folder in config.collections.items() if folder.path in inside}


def _wanted(tree: dict[str, Blob], folders: dict[str, str], pulled: Pulled) -> dict[str, Blob]:
    """The documents of the tree that may be laid down."""
    found: dict[str, Blob] = {}
    folded: set[str] = set()
    for path, blob in sorted(tree.items()):
        if path.startswith(_META):
            continue
        parts = path.split("/")
        if parts[0] not in folders:
            pulled.skip("a collection that is not configured here")
        elif len(parts) < 2 or parts[1] == MACHINES or not all(map(_is_plain, parts)):
            pulled.skip("a name that is not taken")
        elif blob.size > _LARGEST:
            pulled.skip("too large")
        elif path.casefold() in folded:
            pulled.skip("a name that another one has, but for case")
        else:
            folded.add(path.casefold())
            found[path] = blob
    return found


def _is_plain(part: str) -> bool:
    """Whether a part of a path is an ordinary name: no dots first, nothing that steers, valid UTF-8."""
    return bool(part) and not part.startswith(".") and part.isprintable() and "\\" not in part and len(part) < 200


def _obey(
    home: Home,
    repository: Repository,
    state: State,
    other: str,
    tree: dict[str, Blob],
    folders: dict[str, str],
    pulled: Pulled,
) -> None:
    """Forget here what the other machine has forgotten since it was last heard."""
    from runtime.forget import obey

    before = state.machines[other]
    marks = {(str(row[0]), str(row[1])) for row in _meta(repository, tree, TOMBSTONES, "forgotten")}
    marks = {mark for mark in marks if all(map(_is_text, mark))}
    removed = [list(map(str, row)) for row in _meta(repository, tree, "removed.json", "") if len(row) == 3]
    # One that was lifted here is not taken from the same machine again.
    known = {tuple(mark) for mark in before.get("marks") or []}
    held = Tombstones(home)
    new = sorted(mark for mark in marks - known if not held.covers(*mark))
    documents: list[tuple[str, str]] = []
    for machine, collection, path in removed:
        if [machine, collection, path] in (before.get("removed") or []):
            continue
        relative = _named(state, folders, machine, collection, path)
        if relative:
            documents.append((collection, relative))
    if new:
        documents += _copies(folders, set(new))
    if new or documents:
        pulled.forgotten += obey(home, new, documents)
        pulled.changed = True
        state.purge = True
    before["marks"] = sorted(map(list, marks))
    before["removed"] = removed


def _is_text(text: str) -> bool:
    """Whether a database takes it: JSON can spell halves of characters, which UTF-8 cannot."""
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


def _named(state: State, folders: dict[str, str], machine: str, collection: str, path: str) -> str:
    """The file of ``collection`` that a row of another's removed.json means, "" where it means none that is here.

    The row is another's text: it may name this machine's documents or copies of another known one's, nothing else.
    """
    parts = path.split("/")
    if collection not in folders or parts[0] == MACHINES or not all(map(_is_plain, parts)):
        return ""
    if machine != state.name and (machine not in state.machines or not _is_plain(machine) or "/" in machine):
        return ""
    relative = path if machine == state.name else f"{MACHINES}/{machine}/{path}"
    base = os.path.realpath(folders[collection])
    place = join(base, relative)
    # A link on the way leads elsewhere.
    return relative if os.path.isfile(place) and os.path.realpath(place) == place else ""


def _copies(folders: dict[str, str], marks: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """(collection, path) of other machines' documents that ``marks`` cover."""
    found = []
    meant = Meant(marks)
    for collection, folder in folders.items():
        for place, _, names in os.walk(join(folder, MACHINES)):
            for name in names:
                path = join(place, name)
                with contextlib.suppress(OSError), open_regular(path) as stream:
                    if meant.covers(stream.read(), name):
                        found.append((collection, os.path.relpath(path, folder)))
    return found


def _meta(repository: Repository, tree: dict[str, Blob], name: str, key: str) -> list[Any]:
    blob = tree.get(_META + name)
    if blob is None or blob.size > _LARGEST:
        return []
    try:
        for _, data in repository.contents([blob]):
            held: Any = json.loads(data)
            rows = held[key] if key else held
            return [row for row in rows if isinstance(row, list) and len(row) >= 2]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    return []


def _remove(
    home: Home, folders: dict[str, str], other: str, gone: list[str], files: dict[str, str], pulled: Pulled
) -> None:
    """What the other machine has no more leaves the index and the disk without a trace: it may have been forgotten."""
    from runtime.forget import obey

    documents: list[tuple[str, str]] = []
    for path in gone:
        collection, _, relative = path.partition("/")
        if collection not in folders:
            continue
        place = join(folders[collection], MACHINES, other, relative)
        there = read_or_none(place)
        if there is not None and oid(there) != files[path]:
            pulled.kept.append(f"qmd://{collection}/{MACHINES}/{other}/{relative}")
        elif there is not None:
            documents.append((collection, f"{MACHINES}/{other}/{relative}"))
    if documents:
        pulled.removed += obey(home, (), documents)
        pulled.changed = True
        for folder in {dirname(join(folders[collection], path)) for collection, path in documents}:
            with contextlib.suppress(OSError):
                os.removedirs(folder)
