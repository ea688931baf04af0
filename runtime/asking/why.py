"""``brain why``: decisions and rejections on a topic, newest first, and what superseded what; then the evidence."""

from __future__ import annotations

from os.path import basename
from typing import TYPE_CHECKING, Any

import apsw

from core import clock
from core.errors import BadQuery
from qmd.index.store import open_index, translate
from qmd.search.answers import Filters
from qmd.search.search import Searcher
from runtime.asking import freshness
from runtime.asking.envelope import as_shown, entry
from runtime.asking.query import validate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.config import Config
    from core.home import Home
    from qmd.search.answers import Hit

TYPES = ("decision", "rejected")
_CANDIDATES = 20
_EVIDENCE = 3
_FOLLOWED = 200
# Of what an answer says of a hit.
_SAID = "docid uri path title date age_days age stale trust project line snippet resume".split()
# An entry that matches less than half as well as the best one is about something else.
_ABOUT = 0.5


def why(home: Home, config: Config, topic: str, *, project: str = "", limit: int = 10) -> dict[str, Any]:
    """The envelope of ``brain why``.

    ``decisions`` are the inbox's decisions and rejections on the topic, newest first; ``standing`` is false where
    another took their place, which is there too, whatever its words. ``evidence`` is what distilled documents and
    sessions say of it. Raises BadQuery, EngineMissing and what SQLite's failures are translated into.
    """
    if not topic.strip():
        raise BadQuery("the topic is empty", 'brain why "token refresh"')
    topic = validate(topic)
    fields: tuple[tuple[str, str, str], ...] = ()
    if project:
        from runtime.asking.ask import project_glob

        fields = (("project", "GLOB", project_glob(project)),)
    now = clock.now()
    connection = open_index(home.index)
    try:
        searcher = Searcher(connection)
        noted = [name for name, folder in config.collections.items() if folder.trust == "note"]
        decided: list[Hit] = []
        for kind in TYPES:
            filters = Filters(tuple(noted), fields=(("type", "=", kind), *fields))
            decided += searcher.search(topic, limit=_CANDIDATES, filters=filters) if noted else []
        found = _followed(searcher, tuple(noted), _about(decided))
        there = {identity for hit in found if (identity := hit.field("session_id"))}
        newest = sorted(found, key=lambda hit: (hit.date, hit.path), reverse=True)[:limit]
        evidence = _evidence(searcher, config, topic, fields)
        fresh = freshness.Freshness(home, config, connection)
        if fresh.complete and not newest and not evidence:
            freshness.require_indexed(home, config, connection)
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
    envelope: dict[str, Any] = {"schema": 1, "ok": True, "topic": topic, "freshness": fresh.envelope()}
    if not newest and not evidence:
        envelope["error"] = "no_results"
    envelope["decisions"] = [_decision(hit, config, now, there) for hit in newest]
    envelope["evidence"] = [_item(hit, config, now) for hit in evidence]
    return envelope


def _about(found: Iterable[Hit]) -> list[Hit]:
    ranked = sorted(found, key=lambda hit: -hit.score)
    return [hit for hit in ranked if hit.score >= _ABOUT * ranked[0].score]


def _followed(searcher: Searcher, collections: tuple[str, ...], found: list[Hit]) -> list[Hit]:
    """``found``, and what took the place of any of it: that may say nothing of the topic, and is what holds."""
    followed = list(found)
    there = {hit.field("session_id") for hit in found}
    waiting = [hit.field("superseded_by") for hit in found]
    while waiting and len(followed) < _FOLLOWED:
        identity = waiting.pop()
        if not identity or identity in there:
            continue
        there.add(identity)
        for hit in searcher.newest(limit=1, filters=Filters(collections, fields=(("session_id", "=", identity),))):
            followed.append(hit)
            waiting.append(hit.field("superseded_by"))
    return followed


def _evidence(searcher: Searcher, config: Config, topic: str, fields: tuple[tuple[str, str, str], ...]) -> list[Hit]:
    """The best distilled documents, those that decided or rejected something before others, then the best sessions.

    A session that is there distilled is not repeated; of one whose distillate has but names the session is there.
    """
    from runtime.asking import why_evidence

    def best(trust: str) -> list[Hit]:
        names = tuple(name for name, folder in config.collections.items() if folder.trust == trust)
        filters = Filters(names, fields=fields)
        return _about(searcher.search(topic, limit=_CANDIDATES, filters=filters)) if names else []

    distilled = [(why_evidence.place(searcher.connection, hit, topic), hit) for hit in best("distilled")]
    distilled.sort(key=lambda each: each[0] != why_evidence.GROUNDS)
    shown: dict[str, Hit] = {}
    for hits in (
        [hit for rank, hit in distilled if rank < why_evidence.NAMES],
        best("session"),
        [hit for rank, hit in distilled if rank >= why_evidence.NAMES],
    ):
        for hit in hits:
            shown.setdefault(basename(hit.path), hit)
    return list(shown.values())[:_EVIDENCE]


def _item(hit: Hit, config: Config, now: int) -> dict[str, Any]:
    known = entry(0, hit, config, now)
    return {name: known[name] for name in _SAID}


def _decision(hit: Hit, config: Config, now: int, there: set[str]) -> dict[str, Any]:
    alternatives = hit.fields.get("alternatives")
    found = {
        **_item(hit, config, now),
        "entry_id": hit.field("session_id"),
        "type": hit.field("type"),
        # What was removed by hand holds no longer: the one before it stands again.
        "standing": hit.field("superseded_by") not in there,
        "why": hit.field("why"),
        "alternatives": [str(each) for each in alternatives] if isinstance(alternatives, list) else [],
        "supersedes": hit.field("supersedes"),
        "superseded_by": hit.field("superseded_by"),
    }
    return found if hit.is_clean else as_shown(found)
