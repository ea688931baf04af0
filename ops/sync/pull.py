"""Pulling another machine: its documents go below ``machines/NAME`` of each collection, its tombstones apply here.

The tree is another's text: names and sizes are checked, and no link is made. Nothing is written outside the
collections' folders, and the redaction policy applies to every document and its name.
"""

from __future__ import annotations

import contextlib
import json
import os
import unicodedata
from collections import Counter
from os.path import dirname, join
from typing import TYPE_CHECKING, Any

from core.config import MACHINES
from core.files import open_regular, read_or_none, write_atomic
from core.redaction import clean, clean_document
from core.tombstones import FILE as TOMBSTONES
from core.tombstones import Tombstones
from core.version import REDACTION
from ingest.identity import Meant
from ops import snapshot
from ops.sync.git import Blob, Repository, TooLarge, oid
from ops.sync.state import is_plain, valid
from runtime.capture import rescan
from runtime.forgetting.forget import obey

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home
    from ops.sync.state import State

META = ".brain/"
# No document is as large: such a file is a video in a folder of notes.
LARGEST = 32 << 20
# A whole path that every system can open.
_PATH_BYTES = 1000


class Pulled:
    """Counts of one run; ``kept``: uris; ``skipped``: reason → count; ``redacted``: kind → count.

    ``changed``: the index is behind; ``rewritten``: another machine has purged its history.
    """

    __slots__ = ("added", "changed", "forgotten", "kept", "redacted", "removed", "rewritten", "skipped")

    def __init__(self) -> None:
        self.added = 0
        self.removed = 0
        self.forgotten = 0
        self.kept: list[str] = []
        self.redacted: dict[str, int] = {}
        self.skipped: dict[str, int] = {}
        self.changed = False
        self.rewritten = False

    def skip(self, reason: str) -> None:
        """Count a document that is not laid down."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1


def lay_down(
    home: Home, config: Config, repository: Repository, state: State, other: str, commit: str, pulled: Pulled
) -> None:
    """Bring this home's copies to the state of ``other`` at ``commit`` ("" if it has left).

    A copy that was edited here stays, and is reported. Raises OSError, Internal, LockContention.
    """
    before = state.machines.setdefault(other, {})
    is_known = before.get("commit") == commit and before.get("policy") == REDACTION
    if is_known and not before.get("coming"):
        return
    try:
        tree = repository.tree(commit) if commit else {}
    except TooLarge:
        pulled.skip(too_many := f"machine {other}, which lists too many documents")
        before["lacking"] = {too_many: 1}
        return
    folders = _folders(home, config)
    earlier = dict(pulled.skipped)
    wanted = _wanted(tree, folders, other, pulled)
    before["lacking"] = dict(Counter(pulled.skipped) - Counter(earlier))
    files: dict[str, str] = dict(before.get("files") or {})
    # A new policy goes through everything once more.
    same = files if before.get("policy") == REDACTION else {}
    coming = {path: blob for path, blob in wanted.items() if same.get(path) != blob.oid}
    if sum(blob.size for blob in coming.values()) > _room(home):
        pulled.skip(too_large := f"machine {other}, whose documents would fill the disk")
        before["lacking"] = {too_large: 1}
        return
    last = str(before.get("commit") or "")
    if last and commit and not repository.is_ancestor(last, commit):
        pulled.rewritten = True
    pulled.rewritten |= not commit
    _obey(home, repository, state, other, tree, folders, pulled)
    # Record the files before they are written: the run after a killed one must recognise them.
    before["coming"] = {path: blob.oid for path, blob in coming.items()}
    state.save()
    gone = [path for path in files if path not in wanted]
    _remove(home, repository, folders, other, gone, files, pulled)
    forgotten = Meant(Tombstones(home).marks())
    dropped = {(collection, path) for machine, collection, path in state.removed if machine == other}
    paths: dict[str, list[str]] = {}
    for path, blob in coming.items():
        paths.setdefault(blob.oid, []).append(path)
    for digest, raw in repository.contents(coming.values()):
        for path in paths[digest]:
            collection, _, relative = path.partition("/")
            if (collection, relative) in dropped or forgotten.covers(raw):
                pulled.skip("forgotten here")
            else:
                _lay(repository, folders[collection], collection, relative, other, raw, files.get(path, ""), pulled)
    usage = tree.get(f"{META}usage.jsonl")
    if usage is not None and usage.size <= LARGEST:
        for _, rows in repository.contents([usage]):
            kept = b"".join(clean_document(row, pulled.redacted) for row in rows.splitlines(keepends=True))
            write_atomic(join(home.logs, MACHINES, f"{other}.jsonl"), kept)
    before.update(commit=commit, files={path: blob.oid for path, blob in wanted.items()}, coming={}, policy=REDACTION)
    state.save()


def _lay(
    repository: Repository,
    folder: str,
    collection: str,
    relative: str,
    other: str,
    raw: bytes,
    last: str,
    pulled: Pulled,
) -> None:
    """Write one document of ``other`` without its secrets, unless it is here or was edited here.

    ``last``: the object that the copy here was made of, "" if there was none.
    """
    data = _cleaned(raw, pulled.redacted)
    if read_or_none(join(folder, relative)) in (data, raw):
        pulled.skip("the same is here already")
        return
    place = join(folder, MACHINES, other, relative)
    there = read_or_none(place)
    if there is not None and there not in (data, raw) and not _is_copy(repository, there, last):
        pulled.kept.append(f"qmd://{collection}/{MACHINES}/{other}/{relative}")
    elif there != data:
        write_atomic(place, data)
        pulled.added += 1
        pulled.changed = True


def _cleaned(raw: bytes, counts: dict[str, int]) -> bytes:
    """Return a document's bytes as the redaction policy has them; ``counts``: kind → number is added to."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return clean(raw.decode("utf-8", "surrogateescape"), counts).encode("utf-8", "surrogateescape")
    return rescan.document(raw, counts)


def _is_copy(repository: Repository, there: bytes, last: str) -> bool:
    """Return True if ``there`` is what this home made of the object ``last``, and not edited."""
    if not last or oid(there) == last:
        return bool(last)
    raw = repository.read(last, LARGEST)
    return raw is not None and there == _cleaned(raw, {})


def _room(home: Home) -> int:
    """Return how many bytes one machine's documents may add: half of what the disk has free."""
    room = os.statvfs(home.root)
    return room.f_bavail * room.f_frsize // 2


def _folders(home: Home, config: Config) -> dict[str, str]:
    inside = set(snapshot.parts(home, config)[0].values())
    return {name: folder.path for name, folder in config.collections.items() if folder.path in inside}


def _wanted(tree: dict[str, Blob], folders: dict[str, str], other: str, pulled: Pulled) -> dict[str, Blob]:
    """Return the documents of the tree that may be laid down."""
    found: dict[str, Blob] = {}
    folded: set[str] = set()
    for path, blob in sorted(tree.items()):
        if path.startswith(META):
            continue
        collection, _, relative = path.partition("/")
        # Systems that fold case or accents have one file for both.
        name = unicodedata.normalize("NFC", path).casefold()
        if collection not in folders:
            pulled.skip("a collection that is not configured here")
        elif not relative or relative.split("/")[0] == MACHINES or not is_plain(path):
            pulled.skip("a name that is not taken")
        elif clean(path, {}) != path:
            pulled.skip("a name that holds a secret")
        elif len(os.fsencode(join(folders[collection], MACHINES, other, relative))) > _PATH_BYTES:
            pulled.skip("a name that is too long")
        elif blob.size > LARGEST:
            pulled.skip("too large")
        elif name in folded:
            pulled.skip("a name that another one has, but for case or accents")
        else:
            folded.add(name)
            found[path] = blob
    return found


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
    """Return True if ``text`` is valid Unicode: JSON can hold lone surrogates, which no database accepts."""
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


def _named(state: State, folders: dict[str, str], machine: str, collection: str, path: str) -> str:
    """Return the file of ``collection`` that a row of another's removed.json means, "" if it means none that is here.

    The row is another's text: it may name this machine's documents or copies of another known one's, nothing else.
    """
    if collection not in folders or path.split("/")[0] == MACHINES or not is_plain(path):
        return ""
    if machine != state.name and (machine not in state.machines or not valid(machine)):
        return ""
    relative = path if machine == state.name else f"{MACHINES}/{machine}/{path}"
    base = os.path.realpath(folders[collection])
    place = join(base, relative)
    # A link on the way leads elsewhere.
    return relative if os.path.isfile(place) and os.path.realpath(place) == place else ""


def _copies(folders: dict[str, str], marks: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return (collection, path) of other machines' documents that ``marks`` cover."""
    found = []
    meant = Meant(marks)
    for collection, folder in folders.items():
        for place, _, names in os.walk(join(folder, MACHINES)):
            for name in names:
                path = join(place, name)
                with contextlib.suppress(OSError), open_regular(path) as stream:
                    if meant.covers(stream.read()):
                        found.append((collection, os.path.relpath(path, folder)))
    return found


def _meta(repository: Repository, tree: dict[str, Blob], name: str, key: str) -> list[Any]:
    blob = tree.get(META + name)
    if blob is None or blob.size > LARGEST:
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
    home: Home,
    repository: Repository,
    folders: dict[str, str],
    other: str,
    gone: list[str],
    files: dict[str, str],
    pulled: Pulled,
) -> None:
    """Remove documents that the other machine no longer has: they may have been forgotten there."""

    documents: list[tuple[str, str]] = []
    for path in gone:
        collection, _, relative = path.partition("/")
        if collection not in folders:
            continue
        place = join(folders[collection], MACHINES, other, relative)
        there = read_or_none(place)
        if there is not None and not _is_copy(repository, there, files[path]):
            pulled.kept.append(f"qmd://{collection}/{MACHINES}/{other}/{relative}")
        elif there is not None:
            documents.append((collection, f"{MACHINES}/{other}/{relative}"))
    if documents:
        pulled.removed += obey(home, (), documents)
        pulled.changed = True
        for folder in {dirname(join(folders[collection], path)) for collection, path in documents}:
            with contextlib.suppress(OSError):
                os.removedirs(folder)
