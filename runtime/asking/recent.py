"""``brain recent``: what happened lately, newest first by the documents' own dates, over all collections.

A collection may fill its quota of the list while others have something to show, so that one noisy source cannot bury
the rest; what is held back, machine-made or part of another session is counted, never silently gone.
"""

from __future__ import annotations

import time
from itertools import islice

from core import clock
from core.config import machine_of
from core.errors import BadInput
from qmd.index import catalogue
from runtime.asking import absence, documents, envelope
from runtime.asking.envelope import Freshness, as_shown
from runtime.asking.own_index import open_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.config import Config
    from core.home import Home
    from runtime.asking.team import Shared

DEFAULT_LIMIT = 20
_DEFAULT_QUOTA = 0.5
# How many documents are walked for the newest: a tenth of a second passes in 10,000.
_WALKED = 300

_FIELDS = ("synthetic", "parent", "session_id")


class Walk:
    """The result of a walk: ``listed`` document ids, newest first, and the counts (see ``recent``)."""

    __slots__ = ("collections", "held_back", "listed", "subagents", "synthetic")

    def __init__(self) -> None:
        self.listed: list[int] = []
        self.collections: dict[str, int] = {}
        self.held_back: dict[str, int] = {}
        self.synthetic = 0
        self.subagents = 0


def recent(
    home: Home,
    config: Config,
    *,
    since: int,
    now: int,
    collections: Sequence[str] = (),
    limit: int = DEFAULT_LIMIT,
    everything: bool = False,
    synthetic: bool = False,
    own: bool = False,
) -> dict[str, Any]:
    """Return the envelope of ``brain recent``: documents that ended since ``since`` (epoch seconds), newest first.

    ``total`` and ``collections`` count all that may be listed. ``held_back`` counts, by collection, those that the
    date alone would list. ``synthetic`` and ``subagents`` count the omitted ones; a subagent is omitted only if its
    parent is among the documents. The arguments ``synthetic`` and ``everything`` list them; the latter also lifts the
    quota. What other members of a team share is listed as well, unless only the user's ``own`` documents are asked for.
    Raises EngineMissing, and BadInput for an unknown collection.
    """
    connection = open_own(home, config)
    try:
        wanted = _known(connection, config, collections)
        started = time.perf_counter()
        # One snapshot for the walk and the rows it chose.
        connection.execute("BEGIN")
        walk = _walk(connection, config, since, wanted, limit, everything, synthetic)
        rows = _rows(connection, config, walk.listed)
        connection.execute("COMMIT")
        walk_ms = round((time.perf_counter() - started) * 1000, 1)
        fresh = Freshness(home, config, connection)
        shared = None if own or config.engine is None else _shared(connection, config, since, collections, limit)
        if fresh.complete and not rows and not (shared and shared.hits):
            absence.require_indexed(home, config, connection)
    finally:
        connection.close()
    if shared is not None:
        walk.collections.update(shared.counts)
        rows += [documents.of_team(hit, config) for hit in shared.hits]
        rows = sorted(rows, key=lambda row: -row.ended)[:limit]
    envelope: dict[str, Any] = {
        "schema": 1,
        "ok": True,
        "since": clock.iso(since),
        "total": sum(walk.collections.values()),
        "walk_ms": walk_ms,
        "collections": dict(sorted(walk.collections.items(), key=lambda each: -each[1])),
        "held_back": walk.held_back,
        "synthetic": walk.synthetic,
        "subagents": walk.subagents,
        "freshness": {**fresh.envelope(), **({"team": shared.stated} if shared is not None else {})},
    }
    if not rows:
        envelope["error"] = "no_results"
    envelope["items"] = [item(row, config, now) for row in rows]
    return envelope


def _shared(connection: apsw.Connection, config: Config, since: int, collections: Sequence[str], limit: int) -> Shared:
    from runtime.asking import team

    filters = catalogue.Filters(collections or config.asked, since=since, unnamed=None if collections else "")
    return team.recent(connection, config, filters, limit)


def lately(home: Home, config: Config, *, now: int, limit: int = DEFAULT_LIMIT) -> dict[str, Any]:
    """Return what ``recent`` lists of the time in which the newest documents ended."""
    connection = open_own(home, config)
    try:
        # The walk stops at the last one: no row is sorted, and no frontmatter read.
        walked = (ended for _, name, *_, ended, _ in catalogue.walk(connection) if name in config.asked)
        since = min(islice(walked, _WALKED), default=0)
    finally:
        connection.close()
    return recent(home, config, since=since, now=now, limit=limit)


def sessions(connection: apsw.Connection, config: Config, since: int, limit: int) -> list[documents.Row]:
    """Return the sessions that ended since ``since`` (epoch seconds), newest first, as ``recent`` would list them.

    A day of shell history is no session. Raises apsw.Error.
    """
    kept = config.trusting("session")
    if not kept:
        return []
    walk = _walk(connection, config, since, frozenset(kept), limit, everything=False, machine=False)
    rows = _rows(connection, config, walk.listed)
    return [row for row in rows if "commands" not in row.fields]


def item(row: documents.Row, config: Config, now: int) -> dict[str, Any]:
    """Return one document as lists show it, as it may be shown."""
    days, label = envelope.age(row.date, now)
    found: dict[str, Any] = {
        "docid": envelope.docid(row.hash),
        "uri": envelope.uri_of(row),
        "path": row.file,
        "collection": row.collection,
        "source": row.field("source"),
        "title": row.title,
        "type": _text(row.fields.get("type")),
        "date": clock.iso(row.date),
        "ended": clock.iso(row.ended),
        "age_days": days,
        "age": label,
        "project": row.field("project"),
        "trust": row.trust or config.trust_of(row.collection, row.path),
        "session_id": row.fields.get("session_id"),
        "resume": None if row.owner else envelope.resume(row.fields, config.home),
    }
    if row.owner:
        found["owner"] = row.owner
    if machine := machine_of(row.path):
        found["machine"] = machine
    if not row.dated:
        found["date_source"] = "mtime"
    return found if row.is_clean else as_shown(found)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _known(connection: apsw.Connection, config: Config, names: Sequence[str]) -> frozenset[str]:
    known = dict.fromkeys(config.collections)
    known.update(dict.fromkeys(catalogue.collections(connection)))
    for name in names:
        if name not in known:
            raise BadInput(f"there is no collection {name!r}", f"one of: {', '.join(known)}")
    if names:
        return frozenset(names)
    # A listing omits the collections that a question searches only by name.
    apart = {name for name, folder in config.collections.items() if not folder.include_by_default}
    return frozenset(known) - apart if apart else frozenset()


def _walk(
    connection: apsw.Connection,
    config: Config,
    since: int,
    wanted: frozenset[str],
    limit: int,
    everything: bool,
    machine: bool,
) -> Walk:
    walk = Walk()
    entries: list[tuple[int, str, str | None]] = []
    sessions: set[str] = set()
    # A session and what was distilled from it are one memory, listed once.
    layers = {name: folder.trust for name, folder in config.collections.items()}
    raw: set[str] = set()
    distilled: dict[int, str] = {}
    for document, collection, *_, synthetic, parent, session in catalogue.walk(connection, _FIELDS, since):
        if wanted and collection not in wanted:
            continue
        # A note may have a `parent` of its own: only a session can be a subagent.
        parent = None if session is None or parent is None else str(parent)
        session = None if session is None else str(session)
        if synthetic == 1 and not everything and not machine:
            walk.synthetic += 1
            continue
        entries.append((document, collection, None if everything else parent))
        if parent is None and session is not None:
            sessions.add(session)
        if session is not None and layers.get(collection) == "session":
            raw.add(session)
        elif session is not None and layers.get(collection) == "distilled" and not everything:
            distilled[document] = session
    entries = [entry for entry in entries if distilled.get(entry[0]) not in raw]
    candidates = [(document, collection) for document, collection, parent in entries if parent not in sessions]
    walk.subagents = len(entries) - len(candidates)
    walk.collections = _counts(collection for _, collection in candidates)
    walk.listed, walk.held_back = _share(candidates, config, limit, everything or len(walk.collections) < 2)
    return walk


def _share(
    candidates: list[tuple[int, str]], config: Config, limit: int, free: bool
) -> tuple[list[int], dict[str, int]]:
    """Return at most ``limit`` candidates, newest first; a collection exceeds its quota only if others leave room."""
    first = candidates[:limit]
    if free or len(candidates) <= limit:
        return [document for document, _ in first], {}
    taken: dict[str, int] = {}
    chosen: list[int] = []
    waiting: list[int] = []
    for place, (_, collection) in enumerate(candidates):
        if len(chosen) == limit:
            break
        if taken.get(collection, 0) < _places(config, collection, limit):
            taken[collection] = taken.get(collection, 0) + 1
            chosen.append(place)
        elif len(waiting) < limit:
            waiting.append(place)
    chosen = sorted(chosen + waiting[: limit - len(chosen)])
    shown = set(chosen)
    held = _counts(collection for place, (_, collection) in enumerate(first) if place not in shown)
    return [candidates[place][0] for place in chosen], held


def _counts(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _places(config: Config, collection: str, limit: int) -> int:
    folder = config.collections.get(collection)
    return max(1, int((folder.quota if folder else _DEFAULT_QUOTA) * limit))


def _rows(connection: apsw.Connection, config: Config, listed: Iterable[int]) -> list[documents.Row]:
    """Return the rows of documents in the order of ``listed``, in the snapshot of the walk."""
    ids = list(listed)
    found = {row[0]: documents.Row(row, config) for row in catalogue.rows(connection, catalogue.Filters(), ids)}
    return [found[document] for document in ids]
