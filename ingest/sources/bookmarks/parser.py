"""Bookmarks in the forms of browsers.

- Chrome's family: JSON, ``roots.<name>.children``; ``date_added`` is in microseconds since 1601, of a reading list in
  ``meta_info`` as well (components/bookmarks/browser/bookmark_codec.cc).
- Safari: a property list of ``Children``; the reading list is a folder ``com.apple.ReadingList``, whose entries have
  ``ReadingList {DateAdded, PreviewText}``. Other bookmarks have no date.
- Firefox: the tables ``moz_bookmarks`` and ``moz_places``; ``dateAdded`` is in microseconds since 1970
  (toolkit/components/places/nsPlacesTables.h).
- Exports of all of them: the page that Netscape's browser wrote, ``<DT><A HREF ADD_DATE>``, in seconds since 1970.

The policy for browsing judges them, except that a person chose the domains. Addresses are kept without secrets.
"""

from __future__ import annotations

import hashlib
import html
import json
import plistlib
import re
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from xml.parsers.expat import ExpatError

from core.counting import add
from core.document import Failure
from core.redaction import clean as redacted
from core.text import one_line
from ingest.pipeline import databases
from ingest.pipeline.reading import BROKEN
from ingest.raw import records
from ingest.session.values import mapping, sequence, string
from ingest.sources import entries
from ingest.web import addresses
from ingest.web.policy import Policy, with_lists

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from ingest.archive.rows import Shelf
    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore
    from ingest.sources.entries import Judge

    Record = dict[str, Any]

FOREIGN = "no bookmarks in it"
_TO_1970_S = 11_644_473_600
_NETSCAPE = re.compile(r"(?i)\A\s*<!DOCTYPE\s+NETSCAPE-Bookmark-file-1")
_TAG = re.compile(r"(?i)<(h3|a)\b([^<>]{0,20000})>([^<]{0,20000})|<(/?)dl\b[^<>]{0,200}>")
_ATTRIBUTE = re.compile(r'(?i)\b(href|add_date)\s*=\s*"([^"]*)"')
_DEEPEST = 100
_FOLDER = 500
# Firefox's bookmarks as the archive has them.
_KEPT = "bookmarks"
_COLUMNS = ("added", "title", "url", "folder")
# The folder of tags, whose folders repeat bookmarks.
_TAGS = "tags________"


def read(path: str, raw: RawStore) -> Reading:
    """Read one file of bookmarks. Faults are recorded in the result."""
    if path.endswith(".sqlite"):
        return databases.read(path, raw, partial(_firefox, judge=_judge(raw)))
    return entries.read(path, raw, _bookmarks, FOREIGN, _judge(raw))


def _judge(raw: RawStore) -> Judge:
    """Return what judges bookmarks: ``sources.chrome`` of collections.yml, without ``allow``."""
    policy = Policy({**with_lists(raw.section("chrome")), "mode": "all"})

    def judge(record: Record) -> str:
        found = policy.judge(record["head"][0], string(record.get("title")), "", is_plain=True)
        return found if isinstance(found, str) else ""

    return judge


def _bookmarks(data: bytes, reading: Reading) -> Iterator[Record]:
    """Yield a record for each bookmark of a file that is no database."""
    if data.startswith(b"bplist00") or b"<plist" in data[:1024]:
        yield from _safari(data, reading)
        return
    if records.is_binary(data):
        reading.failed = Failure(reading.path, records.BINARY)
        return
    if not records.is_utf8(data):
        reading.recovered[records.REPLACED] = 1
    text = data.decode("utf-8", "replace")
    if _NETSCAPE.match(text):
        yield from _page(text)
        return
    try:
        found = json.loads(text, strict=False)
    except RecursionError:
        reading.failed = Failure(reading.path, records.TOO_DEEP)
        return
    except ValueError as error:
        reading.failed = Failure(reading.path, records.MALFORMED_DOCUMENT, str(error))
        return
    roots = mapping(mapping(found).get("roots"))
    for name, root in roots.items():
        top = mapping(root)
        yield from _chrome(top, string(top.get("name")) or name)


def _chrome(node: Record, folder: str, depth: int = 0) -> Iterator[Record]:
    for child in map(mapping, sequence(node.get("children"))):
        title = string(child.get("name"))
        if child.get("type") == "url":
            added = string(child.get("date_added"))
            seconds = int(added) / 1e6 - _TO_1970_S if added.isascii() and added.isdigit() and len(added) < 20 else 0
            yield _record(string(child.get("url")), title, folder, seconds)
        elif depth < _DEEPEST:
            yield from _chrome(child, f"{folder} / {title}", depth + 1)


def _safari(data: bytes, reading: Reading) -> Iterator[Record]:
    try:
        found = plistlib.loads(data)
    except (*BROKEN, plistlib.InvalidFileException, ExpatError, OverflowError, MemoryError) as error:
        reading.failed = Failure(reading.path, records.MALFORMED_DOCUMENT, str(error))
        return
    yield from _leaves(mapping(found), "", set())


def _leaves(node: Record, folder: str, seen: set[int], depth: int = 0) -> Iterator[Record]:
    """Yield the bookmarks below a folder. ``seen``: a hostile list may have one folder at many places."""
    for child in map(mapping, sequence(node.get("Children"))):
        if id(child) in seen:
            continue
        seen.add(id(child))
        listed = mapping(child.get("ReadingList"))
        if url := string(child.get("URLString")):
            title = string(mapping(child.get("URIDictionary")).get("title"))
            added = listed.get("DateAdded")
            seconds = added.replace(tzinfo=UTC).timestamp() if isinstance(added, datetime) else 0
            yield _record(url, title, folder, seconds, string(listed.get("PreviewText")))
        elif depth < _DEEPEST:
            own = string(child.get("Title"))
            name = "Reading list" if own == "com.apple.ReadingList" else own
            yield from _leaves(child, f"{folder} / {name}".strip(" /"), seen, depth + 1)


def _page(text: str) -> Iterator[Record]:
    """Yield the bookmarks of an exported page. A heading names the list that follows it."""
    folders: list[str] = []
    named = ""
    for found in _TAG.finditer(text):
        tag, attributes, words, closing = found[1], found[2], html.unescape(found[3] or "").strip(), found[4]
        if tag is None and closing:
            del folders[-1:]
        elif tag is None:
            if len(folders) < _DEEPEST:
                folders.append(named)
            named = ""
        elif tag.lower() == "h3":
            named = words
        else:
            given = {name.lower(): html.unescape(value) for name, value in _ATTRIBUTE.findall(attributes)}
            added = given.get("add_date", "")
            seconds = int(added) if added.isascii() and added.isdigit() and len(added) < 12 else 0
            yield _record(given.get("href", ""), words, " / ".join(filter(None, folders)), seconds)


def _record(url: str, title: str, folder: str, seconds: float, text: str = "") -> Record:
    address, place = addresses.clean(url), one_line(folder, _FOLDER)
    at = ""
    if 0 < seconds < 1 << 33:
        at = datetime.fromtimestamp(int(seconds), UTC).isoformat()
    key = hashlib.sha256(f"{address}\0{place}".encode("utf-8", "replace")).hexdigest()[:16]
    head = [address, f"folder: {place}" if place else ""]
    return {"unit": at[:7] or "undated", "key": key, "at": at, "title": title or address, "head": head, "text": text}


def _firefox(
    connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, shelf: Shelf, *, judge: Judge
) -> Iterator[None]:
    if _KEPT in there:
        rows = list(connection.execute(f"select {', '.join(_COLUMNS)} from {_KEPT}"))
    elif {"moz_bookmarks", "moz_places"} <= there.keys():
        rows = list(_rows(connection))
    else:
        reading.skipped = FOREIGN
        return
    kept: dict[str, list[tuple[str, tuple[Any, ...]]]] = {}
    for added, title, url, folder in rows:
        address, name, place = (redacted(string(each), reading.redacted) for each in (url, title, folder))
        record = _record(address, name, place, added / 1e6 if type(added) is int else 0)
        if reason := judge(record):
            add(reading.dropped, {reason: 1})
            continue
        try:
            entries.add(reading, record)
        except BROKEN as error:
            reading.broken(error)
            continue
        kept.setdefault(record["unit"], []).append((_KEPT, (added, name, addresses.clean(address), place)))
    if not reading.parts:
        reading.skipped = FOREIGN
    shelf.tables = {_KEPT: _COLUMNS}
    shelf.keep(kept.items())
    yield


def _rows(connection: apsw.Connection) -> Iterator[tuple[Any, ...]]:
    """Yield (time, title, address, folder) of each bookmark: a row of type 1. Folders are rows of type 2.

    Rows are joined here: in a hostile database, ids that come twice would multiply.
    """
    folders = {
        identity: (parent, string(title), guid)
        for identity, parent, title, guid in connection.execute(
            "select id, parent, title, guid from moz_bookmarks where type = 2"
        )
    }
    places = dict(connection.execute("select id, url from moz_places"))
    query = "select dateAdded, title, fk, parent from moz_bookmarks where type = 1 order by id"
    for added, title, place, parent in connection.execute(query):
        names: list[str] = []
        while parent in folders and len(names) < _DEEPEST:
            parent, name, guid = folders[parent]
            names.append(name)
            if guid == _TAGS:
                break
        else:
            yield added, title, places.get(place), " / ".join(filter(None, reversed(names)))
