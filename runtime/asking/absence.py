"""Why nothing was found: an unknown source, documents that no run has read, damage, or days without any document."""

from __future__ import annotations

import os
from os.path import join

import apsw

from core import clock
from core.counting import counted
from core.errors import BadInput, EngineMissing
from qmd.index import catalogue
from qmd.index.catalogue import Filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.config import Collection, Config
    from core.home import Home
    from runtime.asking.ask import Asker, Inquiry

    # (size, mtime_ns, inode) as of the last reading; None where another program indexed the file.
    Stat = tuple[int, int, int] | None

# Notes of documents that a command is writing (``runtime.capture.documents``), below ``state/``.
UNINDEXED = "unindexed"
# A blank file is never indexed. A larger one is not opened to find out.
_BLANK_BYTES = 4096
# Values of ``source`` in frontmatter that are no registered source.
_OTHERS = ("article", "note")


def require_answerable(asker: Asker, inquiry: Inquiry) -> None:
    """Raise BadInput or EngineMissing if nothing found is no answer: the source is unknown, or nothing was read yet."""
    if inquiry.request.source:
        require_source(asker.connection, inquiry.request.source)
    if not inquiry.fresh.complete:
        require_run(asker.home, asker.config, asker.connection)


def explain(asker: Asker, inquiry: Inquiry) -> None:
    """Find what is remembered around the days that were asked for, and name what waits to be indexed.

    Raises EngineMissing if the index lost documents: then nothing found is no answer.
    """
    if inquiry.fresh.complete:
        require_indexed(asker.home, asker.config, asker.connection)
    if inquiry.filters.since is not None or inquiry.filters.until is not None:
        inquiry.days = around_days(asker.connection, inquiry.filters)
    inquiry.reason += inquiry.fresh.waiting()


def require_source(connection: apsw.Connection, name: str) -> None:
    """Raise BadInput where neither this version nor any document of the index knows a source ``name``.

    Meant for selections that found nothing: what a document calls its source is its own affair, and looking through
    all of them costs what they are many.
    """
    from ingest.registry import names

    known = (*names(), *_OTHERS)
    if name in known:
        return
    if catalogue.count(connection, Filters(fields=(("source", "=", name),))):
        return
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), known, n=1)
    listed = f"one of: {', '.join(known)}"
    raise BadInput(f"there is no source {name!r}", f"did you mean {near[0]}? {listed}" if near else listed)


def require_run(home: Home, config: Config, connection: apsw.Connection) -> None:
    """Raise EngineMissing if documents wait for a first index run: then nothing found is no answer."""
    if is_anything_unread(home, config, connection):
        raise EngineMissing("nothing matches yet, and no index run has ended", "brain index")


def is_anything_unread(home: Home, config: Config, connection: apsw.Connection) -> bool:
    """Return True if a source has files here, a collection more files than documents, or the index none at all."""
    known = catalogue.counts(connection)
    if not known or _has_sources(home):
        return True
    return any(
        files(folder.path, known.get(name, 0)) > known.get(name, 0) for name, folder in config.collections.items()
    )


def _has_sources(home: Home) -> bool:
    from ingest import registry

    # ``present`` names the default source whether or not it has files.
    default = registry.source(registry.DEFAULT)
    if any(name != default.name for name in registry.present(home)):
        return True
    return any(
        default.wants(entry) for root in default.default_roots(home) for _, _, names in os.walk(root) for entry in names
    )


def require_indexed(home: Home, config: Config, connection: apsw.Connection) -> None:
    """Raise EngineMissing if documents of the home are not in the index: then nothing found is no answer.

    Commands index what they write, so this is damage: a log was lost, or rows were. The documents are compared one by
    one only where there are more files than documents.
    """
    known = catalogue.counts(connection)
    inside = os.path.join(home.root, "")
    if any(
        folder.path.startswith(inside) and files(folder.path, known.get(name, 0)) > known.get(name, 0)
        for name, folder in config.collections.items()
    ) and (count := missing(home, config)):
        raise EngineMissing(f"nothing is found, and {count} documents on disk are not in the index", "brain index")


def files(folder: str, most: int) -> int:
    """Return how many markdown files are in a folder; counting ends above ``most``."""
    count = 0
    for _, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        count += sum(name.endswith(".md") and not name.startswith(".") for name in names)
        if count > most:
            break
    return count


def missing(home: Home, config: Config, name: str = "") -> int:
    """Return how many documents of a collection are on disk and not in the index; without a name, of those in the home.

    Documents that a command is writing are not counted, and none while a run is going on. Raises EngineMissing,
    LockContention.
    """
    from core.files import is_held

    if is_held(join(home.state, "index.lock")):
        return 0
    known = _documents(home)
    inside = join(home.root, "")
    lacking = sum(
        compare(folder, known.get(each, {}))[2]
        for each, folder in config.collections.items()
        if (each == name if name else folder.path.startswith(inside))
    )
    return max(0, lacking - _unindexed(home))


def _documents(home: Home) -> dict[str, dict[str, Stat]]:
    """Return the paths of the active documents in the index, by collection."""
    from qmd.index.store import open_index, translate

    found: dict[str, dict[str, Stat]] = {}
    if not os.path.exists(home.index):
        return found
    connection = open_index(home.index)
    try:
        for _, name, path, *_ in catalogue.entries(connection):
            found.setdefault(name, {})[path] = None
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
    return found


def _unindexed(home: Home) -> int:
    """Return how many documents commands are writing, or were writing when they were killed."""
    try:
        return len(os.listdir(join(home.state, UNINDEXED)))
    except OSError:
        return 0


def compare(folder: Collection, rows: dict[str, Stat]) -> tuple[int, int, int, int | None, int]:
    """Return (files, bytes, files not in ``rows``, files that differ from ``rows``, unreadable ones) of one walk.

    A missing folder keeps its documents (its disk may be unplugged), so that nothing of it is pending; where a folder
    inside could not be listed, the files that are missing from the walk are not counted as gone, and the difference
    is unknown.
    """
    if not os.path.isdir(folder.path):
        return 0, 0, 0, 0, 0
    from qmd.index.update import walk

    failures: list[str] = []
    files = size = lacking = differing = present = 0
    for entry in walk(folder, lambda path, _: failures.append(path)):
        status = entry.status
        files += 1
        size += status.st_size
        if entry.relative in rows:
            present += 1
            differing += rows[entry.relative] != (status.st_size, status.st_mtime_ns, status.st_ino)
        else:
            lacking += not _blank(join(folder.path, entry.relative), status.st_size)
    differing += lacking
    return files, size, lacking, None if failures else differing + len(rows) - present, len(failures)


def _blank(path: str, size: int) -> bool:
    if size > _BLANK_BYTES:
        return False
    try:
        with open(path, "rb") as stream:
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return False
    return not text.strip()


def around_days(connection: apsw.Connection, filters: Filters) -> dict[str, Any]:
    """Return what is remembered of the days that ``filters`` are limited to, and of the days around them.

    ``since`` and ``until`` are ISO dates, None if open; ``documents`` is a number; ``before`` and ``after`` are the
    nearest days with a document, None if there is none. The other restrictions apply. Raises apsw.Error.
    """
    first, last = filters.since, filters.until
    always = Filters(filters.collections, fields=filters.fields)
    before = None if first is None else catalogue.last_end(connection, always, first)
    after = None if last is None else catalogue.first_date(connection, always, last)
    return {
        "since": None if first is None else clock.day_iso(clock.day_of(first)),
        "until": None if last is None else clock.day_iso(clock.day_of(last - 1)),
        "documents": catalogue.count(connection, filters),
        "before": None if before is None else clock.day_iso(clock.day_of(before)),
        "after": None if after is None else clock.day_iso(clock.day_of(after)),
    }


def days_sentence(found: dict[str, Any], *, within: bool) -> str:
    """Return what ``around_days`` found in words; ``within``: the question had other restrictions."""
    there = " there" if within else ""
    named = _named(found["since"], found["until"])
    if found["documents"]:
        return f"Memory has {counted(found['documents'], 'document')} of {named}{there}."
    near = [f"{found[side]} {side}" for side in ("before", "after") if found[side]]
    nearest = f"; the nearest days with something: {', '.join(near)}" if near else ""
    return f"Nothing is remembered of {named}{there}{nearest}."


def _named(since: str | None, until: str | None) -> str:
    if since is None:
        return f"the time up to {until}"
    if until is None:
        return f"the time since {since}"
    return since if since == until else f"{since} to {until}"
