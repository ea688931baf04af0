"""``brain add``: files into a collection of articles, and into the index at once."""

from __future__ import annotations

import os
import shlex
from os.path import basename, isdir, join, relpath

import apsw

from core.errors import BadInput
from ingest import registry
from ingest.sources.articles.parser import Unreadable
from ingest.sources.articles.source import ENDINGS, MAX_BYTES, NAME, Added, Shelf, files, of_file, sha256_of
from qmd.index.store import open_index, translate
from qmd.index.update import register
from qmd.index.writer import put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, BinaryIO

    from core.config import Config
    from core.home import Home

    Progress = Callable[[int, int, str], None]

# The output of other commands: a file put there would be theirs.
_OTHERS = ("brain", "distilled", "chrome-history", "inbox", "code", "git")
_BUSY_MS = 30_000
_SHOWN = 50


def add(
    home: Home,
    config: Config,
    places: Sequence[str],
    *,
    collection: str,
    title: str = "",
    url: str = "",
    stream: BinaryIO | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Add files, folders of them, and (``-``) what ``stream`` holds; returns the envelope of ``brain add --json``.

    Raises BadInput for a place or collection that cannot be, and where nothing at all could be read; LockContention and
    EngineMissing of the index. Unreadable files are counted and listed, and the rest is added; ``unread`` names the
    places of which that is true of every file. A forgotten file in a folder is left out; it comes back only if it is
    named.
    """
    folder = _folder(home, config, collection)
    skipped: dict[str, int] = {}
    chosen = list(_chosen(places, skipped))
    forgotten, of_bytes = _forgotten(home)
    if (title or url) and len(chosen) != 1:
        raise BadInput("--title and --url are of one file", "add that file alone")
    home.make()
    report: dict[str, Any] = {"schema": 1, "ok": True, "collection": collection}
    counts = {"added": 0, "updated": 0, "unchanged": 0, "failed": 0, "forgotten": 0}
    documents: list[dict[str, str]] = []
    failures: list[dict[str, str]] = []
    failed: dict[str, bool] = {}
    connection = open_index(home.index, write=True, busy_ms=_BUSY_MS)
    try:
        register(connection, config.collections.values())
        with Shelf(folder) as shelf:
            for number, (place, given) in enumerate(chosen, 1):
                if place != given and (of_file(place) in forgotten or _is_copy(place, of_bytes)):
                    counts["forgotten"] += 1
                    failed[given] = False
                    continue
                try:
                    _require_article(place, given)
                    done = (
                        _piped(home, shelf, stream, title, url)
                        if place == "-"
                        else shelf.add(place, title=title, url=url)
                    )
                except Unreadable as error:
                    counts["failed"] += 1
                    failed.setdefault(given, True)
                    if len(failures) < _SHOWN:
                        failures.append({"path": place, "reason": error.reason, "fix": error.fix})
                    continue
                counts[done.status] += 1
                failed[given] = False
                _lift(home, done)
                _index(connection, collection, folder, done)
                if len(documents) < _SHOWN:
                    uri = f"qmd://{collection}/{relpath(done.path, folder)}"
                    documents.append({"status": done.status, "uri": uri, "path": done.path, "title": done.title})
                if progress is not None:
                    progress(number, len(chosen), "adding")
            report["redacted"] = dict(sorted(shelf.redacted.items()))
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
    if failures and counts["failed"] == len(chosen):
        first = failures[0]
        raise BadInput(f"{first['path']}: {first['reason']}", first["fix"])
    unread = [place for place, all_of_it in failed.items() if all_of_it]
    return {**report, **counts, "skipped": skipped, "documents": documents, "failures": failures, "unread": unread}


def _require_article(place: str, given: str) -> None:
    """Raise Unreadable for a file, named by itself, that only a source reads entry by entry: a mailbox, a calendar."""
    if place == "-" or place != given or place.lower().endswith(ENDINGS):
        return
    of = [
        name
        for name in registry.ON_REQUEST
        if (source := registry.find(name)) is not None and not source.is_collector and source.wants(basename(place))
    ]
    if of:
        fix = " or ".join(f"brain index --source {name} --from {shlex.quote(place)}" for name in of)
        raise Unreadable("not one text but many entries", fix)


def _folder(home: Home, config: Config, collection: str) -> str:
    found = config.collections.get(collection)
    known = ", ".join(name for name in config.collections if name not in _OTHERS)
    if found is None:
        raise BadInput(f"there is no collection {collection!r}", f"one of {known}; or add it to {config.own}")
    if collection in _OTHERS:
        raise BadInput(f"{collection} is written by another command", f"one of {known}")
    if os.path.commonpath((home.root, found.path)) != home.root:
        raise BadInput(
            f"{found.path} is not the brain's to write", f"put the file there yourself, or use one of {known}"
        )
    return found.path


def _chosen(places: Sequence[str], skipped: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Yield (file, the place that named it: itself or a folder); ``skipped`` counts the reasons for leaving others
    out."""
    for place in places:
        if place != "-" and isdir(place):
            several = list(files(place, skipped))
            if not several and not skipped:
                raise BadInput(f"nothing to add in {place}", "markdown, text, HTML, PDF, EPUB, DOCX, SRT or VTT")
            yield from ((file, place) for file in several)
        else:
            yield place, place


def _forgotten(home: Home) -> tuple[set[str], set[str]]:
    """Return the identities, and the SHA-256 of files, of the articles that were forgotten."""
    from core.tombstones import Tombstones, digests

    held = Tombstones(home)
    return held.of(NAME), digests(held.marks(), NAME)


def _is_copy(path: str, of_bytes: set[str]) -> bool:
    """Return True if a file has the same bytes as one that was forgotten."""
    if not of_bytes:
        return False
    try:
        return sha256_of(path)[0] in of_bytes
    except Unreadable:
        return False


def _piped(home: Home, shelf: Shelf, stream: BinaryIO | None, title: str, url: str) -> Added:
    """Return the content of a pipe, by way of a private file: it is read in another process."""
    import tempfile

    data = stream.read(MAX_BYTES + 1) if stream is not None else b""
    with tempfile.TemporaryDirectory(prefix="piped-", dir=home.state) as folder:
        path = join(folder, "piped")
        with open(path, "wb") as target:
            target.write(data)
        return shelf.add(path, called=title or "piped text", title=title, url=url)


def _lift(home: Home, done: Added) -> None:
    """Lift the tombstones of files that are added again."""
    from core.tombstones import Tombstones
    from ingest.identity import Meant

    held = Tombstones(home)
    if len(held):
        with open(done.path, "rb") as stream:
            held.lift(Meant(held.marks()).keeping_away(stream.read()))


def _index(connection: apsw.Connection, collection: str, folder: str, done: Added) -> None:
    with open(done.path, "rb") as stream:
        put(connection, collection, relpath(done.path, folder), stream.read(), os.fstat(stream.fileno()))
