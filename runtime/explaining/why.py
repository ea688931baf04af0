"""``brain why``: decisions and rejections on a topic, newest first, their successors, and then the evidence.

A distilled document shows its decisions and rejections first, lists of names last. A session that is not distilled
yet is distilled for the answer, without a model. A rejection is often in words that name nothing ("no, don't set it"),
because it answers the turns before it. So a decision or a rejection is on the topic, too, if the session speaks of the
topic in the same turn or shortly before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from os.path import basename
from typing import TYPE_CHECKING, Any

import apsw

from core import clock, document
from core.errors import BadQuery
from core.redaction import excerpt
from core.text import one_line
from qmd.index import catalogue
from qmd.index.actions.reading import split_citations
from qmd.index.catalogue import Filters
from qmd.index.store import translate
from qmd.search.search import Searcher
from runtime.asking import absence
from runtime.asking.envelope import SCHEME, Freshness, as_shown, entry
from runtime.asking.own_index import open_own
from runtime.asking.request import echoed, project_glob, validate
from runtime.distill.distillate import SECTIONS, WORDS
from runtime.distill.transcript import TURN
from runtime.distill.words import stem, words
from runtime.explaining import standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.config import Config
    from core.home import Home
    from qmd.search.search import Hit

TYPES = ("decision", "rejected")
_CANDIDATES = 20
_EVIDENCE = 3
_FOLLOWED = 200
# Notes with one id that are looked at: another member of a team may have put the id on its own.
_SAME_ID = 20
# Fields of an answer's hit.
_SAID = "docid uri path title date age_days age stale trust project line snippet resume".split()
# An entry that matches less than half as well as the best one is about something else.
_ABOUT = 0.5
# Sections by what they are worth as evidence of a decision, best first; a section that is not named is worth the rest.
_RANKS = {
    SECTIONS[key]: rank
    for rank, keys in enumerate(
        (("decisions", "rejected"), ("errors",), ("goals", "points", "questions"), ("commands", "ran", "files"), WORDS)
    )
    for key in keys
}
_LISTS = tuple(SECTIONS[key] for key in WORDS)
GROUNDS = 0
# From this rank on the session itself says more: its distillate has but names.
NAMES = 3
_HEADING = re.compile(r"^## (.+)$")
_ITEM = re.compile(r"^- \S")
_CITED = re.compile(r"\[(\d+)\]")
_PARTS = re.compile(r"[^\W_]+")
# How many turns before a statement's own may say what it is about.
_TURNS_BEFORE = 2
_STATEMENTS = 3
_STATEMENT_LENGTH = 240
# Characters of sessions that are distilled for one answer: 20 ms for each 50,000.
_DISTILLED_NOW = 250_000
# How many of them are kept. With their sessions they take a few megabytes.
_REMEMBERED = 32
# The type of a statement, by its section.
_TYPE_OF = {SECTIONS["decisions"]: "decision", SECTIONS["rejected"]: "rejected"}
_BY = {"user": "you"}
_REASON = " Why: "
_OF_PERSON = re.compile(r"^Refused by the user\b|^Plan approved: | → ")


def why(home: Home, config: Config, topic: str, *, project: str = "", limit: int = 10) -> dict[str, Any]:
    """Return the envelope of ``brain why``.

    ``decisions`` are the inbox's decisions and rejections on the topic, newest first; ``standing`` is false where
    another took their place, which is there too, whatever its words. ``evidence`` is what distilled documents and
    sessions say of it, each with its ``statements``: decisions and rejections with their reason, who and when. Each has
    its ``validity``. Raises BadQuery, EngineMissing and what SQLite's failures are translated into.
    """
    if not topic.strip():
        raise BadQuery("the topic is empty", 'brain why "token refresh"')
    topic = validate(topic)
    fields: tuple[tuple[str, str, str], ...] = ()
    if project:
        fields = (("project", "GLOB", project_glob(project)),)
    now = clock.now()
    connection = open_own(home, config)
    try:
        searcher = Searcher(connection)
        noted = config.trusting("note")
        shared: dict[str, Any] = {}

        def look() -> tuple[list[Hit], set[tuple[str, str]], list[tuple[Hit, list[dict[str, Any]]]]]:
            decided: list[Hit] = []
            # Without a statement nothing is searched: that takes as long as with hits.
            are_any = searcher.others or catalogue.has_value(connection, "type", TYPES)
            for kind in TYPES if noted and are_any else ():
                filters = Filters(noted, fields=(("type", "=", kind), *fields), unnamed="note")
                decided += searcher.search(topic, limit=_CANDIDATES, filters=filters)
            found = _followed(searcher, noted, _about(decided))
            there = {(hit.owner, identity) for hit in found if (identity := hit.field("session_id"))}
            newest = sorted(found, key=lambda hit: (hit.date, hit.path), reverse=True)[:limit]
            evidence = _evidence(searcher, config, topic, fields)
            searcher.show((*newest, *(hit for hit, _ in evidence)))
            return newest, there, evidence

        if config.engine is None:
            newest, there, evidence = look()
        else:
            from runtime.asking import team

            (newest, there, evidence), shared["team"] = team.with_team(searcher, config, look)
        answered = {
            "decisions": [_decision(hit, config, now, there) for hit in newest],
            "evidence": [{**_item(hit, config, now), "statements": said} for hit, said in evidence],
        }
        standing.judge_reasons(
            connection,
            answered,
            {found["uri"]: hit.id for found, (hit, _) in zip(answered["evidence"], evidence, strict=True)},
        )
        fresh = Freshness(home, config, connection)
        if fresh.complete and not newest and not evidence:
            absence.require_indexed(home, config, connection)
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
    envelope: dict[str, Any] = {
        "schema": 1,
        "ok": True,
        "topic": echoed(topic),
        "freshness": {**fresh.envelope(), **shared},
    }
    if not newest and not evidence:
        envelope["error"] = "no_results"
    return {**envelope, **answered}


def _searched(searcher: Searcher, topic: str, filters: Filters) -> list[Hit]:
    """Return the best hits; where no document passes the filters, nothing is searched: that takes as long as a hit."""
    if not filters.collections or not (searcher.others or catalogue.lets_any_through(searcher.connection, filters)):
        return []
    return searcher.search(topic, limit=_CANDIDATES, filters=filters)


def _about(found: Iterable[Hit]) -> list[Hit]:
    ranked = sorted(found, key=lambda hit: -hit.score)
    return [hit for hit in ranked if hit.score >= _ABOUT * ranked[0].score]


def _followed(searcher: Searcher, collections: tuple[str, ...], found: list[Hit]) -> list[Hit]:
    """Return ``found``, and what took the place of any of it: that may say nothing of the topic, and is what holds.

    Only the owner of a note says what took its place.
    """
    followed = list(found)
    there = {(hit.owner, hit.field("session_id")) for hit in found}
    waiting = [(hit.owner, hit.field("superseded_by")) for hit in found]
    while waiting and len(followed) < _FOLLOWED:
        owner, identity = waiting.pop()
        if not identity or (owner, identity) in there:
            continue
        there.add((owner, identity))
        same = Filters(collections, fields=(("session_id", "=", identity),), unnamed="note")
        for hit in (each for each in searcher.newest(limit=_SAME_ID, filters=same) if each.owner == owner):
            followed.append(hit)
            waiting.append((owner, hit.field("superseded_by")))
            break
    return followed


def _evidence(
    searcher: Searcher, config: Config, topic: str, fields: tuple[tuple[str, str, str], ...]
) -> list[tuple[Hit, list[dict[str, Any]]]]:
    """Return the best documents, each with its decisions and rejections: first those that have some.

    A session and its distillate are never both there. If a distillate has only names, the session takes its place.
    """

    def best(trust: str) -> list[Hit]:
        names = config.trusting(trust)
        filters = Filters(names, fields=fields, unnamed=trust)
        return _about(_searched(searcher, topic, filters))

    connection = searcher.connection
    distilled = [(hit, *_statements_of(connection, hit, topic)) for hit in best("distilled")]
    known = {basename(hit.path) for hit, rank, _ in distilled if rank < NAMES}
    sessions = [hit for hit in best("session") if basename(hit.path) not in known]
    most = _EVIDENCE - sum(rank == GROUNDS for _, rank, _ in distilled)
    grounded = list(islice(_distilled_now(connection, sessions, topic), max(0, most)))
    shown: dict[str, tuple[Hit, list[dict[str, Any]]]] = {}
    for hit, said in (
        *((hit, said) for hit, rank, said in distilled if rank == GROUNDS),
        *grounded,
        *((hit, said) for hit, rank, said in distilled if GROUNDS < rank < NAMES),
        *((hit, list[dict[str, Any]]()) for hit in sessions),
        *((hit, said) for hit, rank, said in distilled if rank >= NAMES),
    ):
        shown.setdefault(basename(hit.path), (hit, said))
    return list(shown.values())[:_EVIDENCE]


def _distilled_now(
    connection: apsw.Connection, sessions: Iterable[Hit], topic: str
) -> Iterator[tuple[Hit, list[dict[str, Any]]]]:
    """Yield the sessions that hold a decision or a rejection on the topic, each showing it. Raises apsw.Error.

    A session is distilled when it is asked for: whoever has enough saves the rest.
    """
    left = _DISTILLED_NOW
    for hit in sessions:
        text = _text(connection, hit)
        if len(text) > left:
            continue
        left -= len(text)
        distillate = _distilled(text, hit.title)
        on_topic = [each for each in statements(distillate, text, topic) if each.rank == GROUNDS][:_STATEMENTS]
        if not on_topic:
            continue
        said = [_said(distillate, each, text, is_clean=hit.is_clean) for each in on_topic]
        hit.line = next((at for at, line in enumerate(text.split("\n"), 1) if _is_turn(line, said[0]["turn"])), 1)
        hit.snippet = _snippet(distillate, on_topic, is_clean=hit.is_clean)
        yield hit, said


@lru_cache(_REMEMBERED)
def _distilled(text: str, title: str) -> str:
    """Return the goals, decisions and rejections of a session as a distillate has them.

    The last ones are kept: a page that stays open is asked about the same sessions again.
    """
    from runtime.distill.extractive import grounds

    return grounds(document.split(text)[1]).body(title)


def _is_turn(line: str, number: int | None) -> bool:
    opened = TURN.match(line) if line.startswith("## [") else None
    return opened is not None and int(opened[1]) == number


def _said(text: str, passage: Passage, session: str, *, is_clean: bool) -> dict[str, Any]:
    """Return a decision or a rejection as JSON: ``by`` is ``you`` or ``agent``, ``turn`` and ``date`` are of its last
    turn, None if the session is not known.
    """
    whole = excerpt(text, passage.start, passage.end, is_clean=is_clean)
    statement, _, reason = split_citations(whole)[0].partition(_REASON)
    turn = passage.turns[-1] if passage.turns else None
    heading = next(
        (found for line in session.split("\n") if _is_turn(line, turn) and (found := TURN.match(line))), None
    )
    return {
        "type": _TYPE_OF[passage.section],
        "text": statement.strip(),
        "why": reason.strip() or None,
        # A refusal or an answer is in the agent's turn, at the call.
        "by": "you" if _OF_PERSON.search(statement) else None if heading is None else _BY.get(heading[2], "agent"),
        "date": None if heading is None or not heading[3] else heading[3].removeprefix(" · "),
        "turn": turn,
    }


def _item(hit: Hit, config: Config, now: int) -> dict[str, Any]:
    known = entry(0, hit, config, now)
    return {name: known[name] for name in (*_SAID, *(("owner",) if hit.owner else ()))}


def _decision(hit: Hit, config: Config, now: int, there: set[tuple[str, str]]) -> dict[str, Any]:
    alternatives, together = hit.fields.get("alternatives"), hit.fields.get("holds_with")
    found = {
        **_item(hit, config, now),
        "entry_id": hit.field("session_id"),
        "type": hit.field("type"),
        # A successor that was removed by hand holds no longer, so its predecessor does again.
        "standing": (hit.owner, hit.field("superseded_by")) not in there,
        "why": hit.field("why"),
        "alternatives": [str(each) for each in alternatives] if isinstance(alternatives, list) else [],
        "supersedes": hit.field("supersedes"),
        "superseded_by": hit.field("superseded_by"),
        "holds_with": [str(each) for each in together] if isinstance(together, list) else [],
    }
    return found if hit.is_clean else as_shown(found)


@dataclass(frozen=True, slots=True)
class Passage:
    """One statement: its section, its place in the document (characters, and its line), and how far it is on the topic:
    so many of its terms, half a term less where only the session has them."""

    section: str
    start: int
    end: int
    line: int
    turns: tuple[int, ...]
    terms: float

    @property
    def rank(self) -> int:
        """The rank of its section."""
        return _RANKS.get(self.section, NAMES)


def _statements_of(connection: apsw.Connection, hit: Hit, topic: str) -> tuple[int, list[dict[str, Any]]]:
    """Let ``hit``, a distilled document, show what it says of the topic; return the best rank of that, and the
    decisions and rejections.

    A document that says nothing of it in statements stays as it is. Raises apsw.Error.
    """
    text = _text(connection, hit)
    session = _session(connection, hit)
    found = statements(text, session, topic)[:_STATEMENTS]
    if not found:
        return NAMES, []
    hit.line = found[0].line
    hit.snippet = _snippet(text, found, is_clean=hit.is_clean)
    grounds = [each for each in found if each.rank == GROUNDS]
    return found[0].rank, [_said(text, each, session, is_clean=hit.is_clean) for each in grounds]


def _snippet(text: str, found: Iterable[Passage], *, is_clean: bool) -> str:
    said = ((each.section, excerpt(text, each.start, each.end, is_clean=is_clean)) for each in found)
    return "\n".join(f"{section}: {one_line(piece, _STATEMENT_LENGTH)}" for section, piece in said)


def _text(connection: apsw.Connection, hit: Hit) -> str:
    return hit.store.read(hit) if hit.store is not None else catalogue.text(connection, hit.hash) or ""


def _session(connection: apsw.Connection, hit: Hit) -> str:
    """Return the text that a document was distilled from, "" if the index does not have it. Raises apsw.Error."""
    collection, _, path = (hit.field("source_uri") or "").removeprefix(SCHEME).partition("/")
    row = catalogue.by_path(connection, collection, path)
    return (catalogue.text(connection, catalogue.Document(row).hash) or "") if row else ""


def statements(text: str, session: str, topic: str) -> list[Passage]:
    """Return a distillate's statements on a topic, best first: by section, then by how many terms they have.

    ``session`` is the text that it was distilled from, "" if that is not known.
    """
    wanted = _stems(topic)
    turns = _turns(session)
    spoken: dict[int, set[str]] = {}

    def near(turn: int) -> set[str]:
        if turn not in spoken:
            spoken[turn] = wanted & _stems(turns.get(turn, ""))
        return spoken[turn]

    found: list[Passage] = []
    for each in _statements(text, wanted):
        terms = each.terms
        if each.rank == GROUNDS:
            around = set[str]().union(*(near(turn - back) for turn in each.turns for back in range(_TURNS_BEFORE + 1)))
            if 2 * len(around) >= len(wanted):
                terms = max(terms, len(around) - 0.5)
        if terms > 0:
            found.append(replace(each, terms=terms))
    return sorted(found, key=lambda each: (each.rank, -each.terms, each.line))


def _turns(session: str) -> dict[int, str]:
    """Return the texts of a session's turns by their numbers."""
    found: dict[int, list[str]] = {}
    number = 0
    for line in session.split("\n"):
        if line.startswith("## [") and (opened := TURN.match(line)):
            number = int(opened[1])
        found.setdefault(number, []).append(line)
    return {number: "\n".join(lines) for number, lines in found.items()}


def _statements(text: str, wanted: set[str]) -> Iterator[Passage]:
    section = ""
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        end = start + len(line)
        heading = _HEADING.match(line)
        if heading:
            section = heading[1]
        elif section and line and (_ITEM.match(line) or section in _LISTS):
            turns = tuple(int(turn) for turn in _CITED.findall(line))
            yield Passage(section, start + 2 * line.startswith("- "), end, number, turns, len(wanted & _stems(line)))
        start = end + 1


def _stems(text: str) -> set[str]:
    """Return the rough stems of a text's telling words, and of the parts of names such as ``gc.auto``."""
    found = set(words(text))
    found.update(part for word in list(found) for part in _PARTS.findall(word))
    return {stem(word) for word in found}
