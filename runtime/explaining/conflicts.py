"""Decisions, rejections and preferences that cannot all hold: their user settles which one does, or that both do.

They are notes of the inbox and what sessions decided, also those that other members of a team share. Rules read words,
no meaning: each names what it saw, and a wrong one costs a look. That two notes both hold is noted in the newer one
(``holds_with``). What a session or another member decided becomes a note once its user says that it holds;
``state/settled.jsonl`` has the ids of the conflicts that were settled so. Deleting the index loses nothing.
"""

from __future__ import annotations

import json
from contextlib import closing
from hashlib import blake2b
from itertools import combinations
from os.path import basename, join
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import EngineMissing
from core.files import read_or_none
from qmd.index.actions import history, table
from qmd.index.actions.action import DECISION
from runtime.asking.envelope import uri, uri_of
from runtime.asking.own_index import open_own
from runtime.capture import entries
from runtime.distill.words import stem, words
from runtime.explaining.activity import is_of
from runtime.validity import SUPERSEDED, statements
from runtime.validity.comparing import relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import apsw

    from core.config import Config
    from core.home import Home
    from qmd.index.actions.action import Action
    from qmd.index.actions.table import Origin
    from qmd.search.search import Hit
    from runtime.capture.entries import Stored

_TYPES = ("decision", "rejected", "preference")
# So many stems of the shorter statement must be in the longer one, in parts of all, and so many at least.
_SHARED = 0.75
_LEAST = 2
_MOST = 50
# Entries of a project that are compared, the newest: each with each.
_MOST_CLAIMS = 300
# Statements of sessions that are looked at, and characters of one.
_LOOKED_AT, _LONGEST = 2_000, 300
_SETTLED = "settled.jsonl"
# How a conflict is settled.
NEWER, OLDER, BOTH = "newer", "older", "both"
KEEPS = (NEWER, OLDER, BOTH)


def answer(home: Home, config: Config, project: str = "") -> dict[str, Any]:
    """Return the envelope of ``brain why --conflicts``; ``project`` is a folder's name, a path or a glob.

    ``conflicts`` are pairs of one project that contradict each other: ``id``, ``rule``, ``reason``, ``sides``.
    Sides are items as ``entries.item`` has them, with ``why``, ``uri`` and ``line``; the newer one is first. That of a
    session has no ``entry_id``, nor has that of another member, which has its ``owner`` and ``trust``. A pair keeps its
    ``id``. A note of the user that is newer than what a session or another member decided is no conflict: it takes its
    place. With a team, ``freshness.team`` says who took part. Raises apsw.Error.
    """
    claims = [
        _Claim.of_note(stored)
        for stored in entries.entries(home)
        if stored.type in _TYPES and not stored.field("superseded_by")
    ]
    said, shared = _of_sessions(home, config)
    found = [
        each for each in _contradicting(home, claims + said) if not project or is_of(each["project"] or "", project)
    ]
    envelope: dict[str, Any] = {"schema": 1, "ok": True, **({} if found else {"error": "no_results"})}
    return {**envelope, "conflicts": found, **({"freshness": {"team": shared}} if shared else {})}


def conflicts(home: Home, config: Config) -> list[dict[str, Any]]:
    """Return the conflicts of ``answer``. Raises apsw.Error."""
    return list(answer(home, config)["conflicts"])


def _contradicting(home: Home, claims: Iterable[_Claim]) -> list[dict[str, Any]]:
    standing: dict[str, list[_Claim]] = {}
    for claim in claims:
        # The folder of a project lies elsewhere on another machine.
        standing.setdefault(basename(claim.project), []).append(claim)
    settled = _settled(home)
    found: list[dict[str, Any]] = []
    for name in sorted(standing):
        newest = sorted(standing[name], key=lambda each: (each.at, each.key), reverse=True)[:_MOST_CLAIMS]
        for newer, older in combinations(newest, 2):
            if newer.session == older.session and newer.session:
                continue
            if newer.project != older.project and not (newer.owner or older.owner):
                continue
            if newer.stored is not None and older.stored is None:
                continue
            seen = next(_contradictions(newer, older), None)
            if seen is None or _both_hold(newer.stored, older.stored):
                continue
            identity = _identity(newer, older)
            if identity in settled:
                continue
            found.append(
                {
                    "id": identity,
                    "rule": seen[0],
                    "reason": seen[1],
                    "project": (older.project if newer.owner else newer.project) or None,
                    "sides": [newer.item, older.item],
                }
            )
            if len(found) >= _MOST:
                return found
    return found


def settle(home: Home, holds: str, yields: str) -> str:
    """Let the entry ``holds`` stand in place of ``yields``; return a warning, "" if all went well.

    Raises as ``entries.find``; BadInput if one of them has been superseded already.
    """
    from core.errors import BadInput

    kept, gone = entries.find(home, holds), entries.find(home, yields)
    for each in (kept, gone):
        if each.field("superseded_by"):
            raise BadInput(f"{each.entry_id} has been superseded already", "look at the list again")
    if kept.entry_id == gone.entry_id:
        raise BadInput("an entry cannot take its own place", "choose one of the two")
    warning = entries.mark_superseded(home, gone, kept.entry_id)
    if not kept.field("supersedes"):
        warning = entries.mark_supersedes(home, entries.find(home, kept.entry_id), gone.entry_id) or warning
    return warning


def decide(home: Home, config: Config, identity: str, keep: str) -> dict[str, Any]:
    """Settle the conflict with this ``id``: keep the NEWER side, the OLDER one, or BOTH; return the envelope.

    Raises BadInput if there is no such conflict.
    """
    from core.errors import BadInput

    found = next((each for each in conflicts(home, config) if each["id"] == identity.strip().lower()), None)
    if found is None:
        raise BadInput(f"there is no conflict {identity!r}", "brain why --conflicts lists them")
    return carry_out(home, found, keep)


def carry_out(home: Home, found: dict[str, Any], keep: str) -> dict[str, Any]:
    """Settle a conflict that ``conflicts`` returned, as ``decide`` does. Raises as ``settle`` and ``hold_together``."""
    newer, older = (side["entry_id"] for side in found["sides"])
    if not newer or not older:
        warning = "" if keep == BOTH else _note(home, *(found["sides"] if keep == NEWER else found["sides"][::-1]))
        _add_settled(home, found["id"], keep)
    elif keep == BOTH:
        warning = hold_together(home, newer, older)
    else:
        warning = settle(home, *((newer, older) if keep == NEWER else (older, newer)))
    envelope: dict[str, Any] = {"schema": 1, "ok": True, "id": found["id"], "kept": keep, "sides": found["sides"]}
    return {**envelope, "warning": warning} if warning else envelope


def _note(home: Home, holds: dict[str, Any], yields: dict[str, Any]) -> str:
    """Note the side that holds as the user's own and newest word; return a warning, "" if all went well.

    A note takes the place of each side that is a note: of the older one that holds, too, since what a session said
    after it would pass for the newer word.
    """
    from runtime.capture import inbox

    why = f"settled against: {yields['title']}"
    given = f"{holds['why']}; {why}" if holds["why"] else why
    older = [each["entry_id"] for each in (holds, yields) if each["entry_id"]]
    # A project of another member has its folder elsewhere.
    place = next((each["project"] for each in (holds, yields) if "owner" not in each), basename(holds["project"] or ""))
    made = inbox.write(
        home,
        str(holds["title"]),
        type=str(holds["type"]),
        project=str(place or ""),
        why=given[: inbox.FIELD_LIMIT],
        supersedes=older[0] if older else "",
    )
    warning = made.warning
    for each in older:
        warning = entries.mark_superseded(home, entries.find(home, each), made.entry_id) or warning
    return warning


def hold_together(home: Home, one: str, other: str) -> str:
    """Note that two entries hold both; return a warning, "" if all went well. Raises as ``entries.find``."""
    stored = [entries.find(home, each) for each in (one, other)]
    newer, older = sorted(stored, key=lambda each: each.entry_id, reverse=True)
    meta = {**newer.meta, "holds_with": [*_holding(newer), older.entry_id]}
    return entries.store(home, entries.Stored(newer.path, meta, newer.body), edited=False)


def _both_hold(one: Stored | None, other: Stored | None) -> bool:
    if one is None or other is None:
        return False
    return one.entry_id in _holding(other) or other.entry_id in _holding(one)


def _holding(stored: Stored) -> list[str]:
    found = stored.meta.get("holds_with")
    return [str(each) for each in found] if isinstance(found, list) else []


def _identity(newer: _Claim, older: _Claim) -> str:
    return blake2b(f"{newer.key} {older.key}".encode("utf-8", "replace"), digest_size=3).hexdigest()


def _settled(home: Home) -> set[str]:
    """Return the ids of settled conflicts of which a side is a session's. A damaged row settles nothing."""
    found: set[str] = set()
    for line in (read_or_none(join(home.state, _SETTLED)) or b"").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            found.add(str(row.get("id")))
    return found


def _add_settled(home: Home, identity: str, keep: str) -> None:
    from core import telemetry

    failure = telemetry.append(join(home.state, _SETTLED), {"id": identity, "kept": keep})
    if failure is not None:
        raise failure


def _of_sessions(home: Home, config: Config) -> tuple[list[_Claim], dict[str, Any]]:
    """Return what sessions and distillates decided, rejected and preferred, and ``freshness.team``.

    That of other members takes part, with their notes. No refused call of a tool does.
    """
    theirs: dict[int, Hit] = {}
    shared: dict[str, Any] = {}
    try:
        connection = open_own(home, config)
    except EngineMissing as error:
        # Notes are files.
        return [], {"fresh": False, "missing": error.message} if config.engine is not None else {}
    with closing(connection):
        if config.engine is not None:
            from runtime.asking import team

            theirs, shared = team.lay_over(connection, config, team.statements)
        said = history.statements(connection, most=_LOOKED_AT)
        said = [each for each in said if each.kind == DECISION or not each.name]
        origins = table.origins(connection, {each.document for each in said})
        claims = [*_claims(config, said, origins, theirs)]
        known = {(claim.session, claim.item["title"]) for claim in claims}
        claims += [each for each in _preferred(connection, config) if (each.session, each.item["title"]) not in known]
    return claims, shared


def _claims(
    config: Config, said: Iterable[Action], origins: Mapping[int, Origin], theirs: Mapping[int, Hit]
) -> Iterator[_Claim]:
    for each in said:
        origin, hit = origins.get(each.document), theirs.get(each.document)
        if origin is None:
            continue
        trust = hit.trust if hit else config.trust_of(origin.collection, origin.path)
        if trust not in ("session", "distilled", *(("note",) if hit else ())):
            continue
        item: dict[str, Any] = {
            "entry_id": None,
            "type": "decision" if each.kind == DECISION else "rejected",
            "title": each.subject[:_LONGEST],
            "path": None,
            "date": clock.iso(each.at),
            "project": origin.project or None,
            "tags": None,
            "supersedes": None,
            "superseded_by": None,
            "why": each.note[:_LONGEST] or None,
            "uri": uri_of(hit) if hit else uri(origin.collection, origin.path),
            "line": each.line,
            **({"owner": hit.owner, "trust": trust} if hit else {}),
        }
        session = f"{hit.owner}/{origin.session}" if hit else origin.session
        yield _Claim(item, each.subject, each.at, session=session)


def _preferred(connection: apsw.Connection, config: Config) -> Iterator[_Claim]:
    """Yield what persons said in their sessions that they prefer."""
    from runtime.explaining import preferences

    for each in preferences.said(connection, config):
        document = each.document
        item: dict[str, Any] = {
            "entry_id": None,
            "type": "decision",  # as ``why`` shows it, and the note that it becomes if it holds
            "title": each.text[:_LONGEST],
            "path": None,
            "date": clock.iso(each.at),
            "project": document.field("project") or None,
            "tags": None,
            "supersedes": None,
            "superseded_by": None,
            "why": None,
            "uri": uri(document.collection, document.path),
            "line": each.line,
        }
        yield _Claim(item, each.text, each.at, session=document.field("session_id") or document.path)


class _Claim:
    """One side: its statements, and the stems of its text, its title and the alternatives it turned down.

    ``at`` is epoch seconds. ``stored`` is None, and ``session`` its id, for what a session decided. ``owner`` is the
    other member of a team who shares it, "" for none.
    """

    __slots__ = (
        "alternatives", "at", "item", "key", "owner", "project", "said", "session", "statements", "stored", "title",
    )  # fmt: skip

    def __init__(
        self, item: dict[str, Any], text: str, at: int, *, session: str = "", stored: Stored | None = None
    ) -> None:
        self.item, self.at, self.session, self.stored = item, at, session, stored
        self.project, self.owner = str(item["project"] or "").rstrip("/"), str(item.get("owner") or "")
        # The words of a session's, as its lines move.
        self.key = str(item["entry_id"] or f"{item['uri']} {item['title']}")
        self.title = _stems(str(item["title"]))
        self.said = self.title | _stems(text)
        whole = f"{item['title']}\n{text}" if stored is not None else text
        self.statements = statements.read(whole, negative=item["type"] == "rejected")
        self.alternatives: list[tuple[str, set[str]]] = []

    @classmethod
    def of_note(cls, stored: Stored) -> _Claim:
        """Return the side that a note is."""
        item = entries.item(stored) | {"why": stored.meta.get("why"), "uri": None, "line": None}
        at = clock.parse_iso(str(stored.meta.get("date") or "")) or 0
        claim = cls(item, entries.statement(stored), at, stored=stored)
        found = stored.meta.get("alternatives")
        named = [str(each) for each in found] if isinstance(found, list) else []
        claim.alternatives = [(each, stems) for each in named if (stems := _stems(each))]
        return claim


def _contradictions(newer: _Claim, older: _Claim) -> Iterator[tuple[str, str]]:
    one, other = newer.item, older.item
    if one["supersedes"] and one["supersedes"] == other["supersedes"]:
        yield "fork", "both took the place of the same entry"
    rejections = [one["type"], other["type"]].count("rejected")
    if rejections == 1 and _alike(newer.said, older.said):
        yield "rejected", "one was decided, the other rejected, in the same words"
    for claim, against in ((newer, older), (older, newer)) if not rejections else ():
        for name, stems in claim.alternatives:
            if stems <= against.title:
                yield "alternative", f"“{claim.item['title']}” was chosen instead of “{name}”"
    for earlier in older.statements:
        for later in newer.statements:
            state = relation(earlier, later)
            if state == SUPERSEDED:
                yield "replaced", "the newer one says otherwise, and does not say that it takes the older one's place"
            elif state:
                yield "opposite", "one says yes and the other no, in the same words"


def _alike(one: set[str], other: set[str]) -> bool:
    least = min(len(one), len(other))
    return least >= _LEAST and len(one & other) >= _SHARED * least


def _stems(text: str) -> set[str]:
    return {stem(word) for word in words(text)}
