"""``brain pack``: what the memory holds on a topic, as a cited bundle of at most so many tokens.

For pasting, or for a subagent that cannot ask by itself: decisions, errors that were solved, commands that worked and
quotes, each with the document and the line that it comes from.
"""

from __future__ import annotations

import os
from os.path import isfile
from typing import TYPE_CHECKING, Any, NamedTuple

from core.errors import BadInput
from core.files import read_or_none
from core.redaction import shown
from qmd.index.actions import command_forms
from runtime.asking import agents
from runtime.asking.request import AGENT, Request, echoed
from runtime.distill.words import QUIET, stem, words
from runtime.explaining.why import why
from runtime.handover.selection import allot
from runtime.handover.state import Session
from runtime.injections.ledger import CHARACTERS_PER_TOKEN, tokens
from runtime.resident.answer import answer
from runtime.validity import validity
from runtime.validity.statements import stems, tokenize

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home

    # Entries by section.
    Found = dict[str, list["Entry"]]

TOKENS = 1_500
_LEAST_TOKENS = 150
_HITS = 8
_SESSIONS = 4
_NEAR = 2
_SHARED = 2
# A hit that has less of the best one's score than this is about something else.
_ABOUT = 0.5
_QUOTE = 500
# Two decisions with this part of their words in common are one.
_SAME = 0.8
# Section → the part of the budget that it gets before the others take what is left.
_SHARES = {"Decisions": 0.35, "Errors that were solved": 0.15, "Commands that worked": 0.15, "Quotes": 0.35}
_OF_KIND = {"fixed": "Errors that were solved", "command": "Commands that worked"}


class Entry(NamedTuple):
    """One line of a bundle: its text, its uri with the line, and if it still holds (None: nobody asked)."""

    text: str
    place: str
    validity: dict[str, Any] | None = None


def pack(home: Home, config: Config, topic: str, limit: int = TOKENS, project: str = "") -> dict[str, Any]:
    """Return the envelope of a bundle: its text, its size in tokens (estimated), and the quotes that are in it.

    Raises BadInput if the limit is too small, BadQuery, EngineMissing.
    """
    if limit < _LEAST_TOKENS:
        raise BadInput(f"a bundle needs {_LEAST_TOKENS} tokens or more", f"brain pack TOPIC --tokens {TOKENS}")
    reasons = why(home, config, topic, project=project)
    request = Request(limit=_HITS, project=project, literal=True, rerank=False, own=True, budget=AGENT)
    answered, _ = answer(home, config, topic, request, os.environ)
    found: Found = {heading: [] for heading in _SHARES}
    _add_decisions(found, reasons)
    best = max((hit["score"] for hit in answered["hits"]), default=0.0)
    hits = [hit for hit in answered["hits"] if hit["score"] >= _ABOUT * best]
    for hit in hits:
        text = f"{_stale(hit)}{hit['title']} ({hit['age']}, {hit['trust']}): {hit['snippet']}"
        found["Quotes"].append(Entry(agents.code(text, _QUOTE), f"{hit['uri']}:{hit['line']}", hit["validity"]))
    _add_work(found, [*reasons["evidence"], *hits], topic)
    clean = echoed(topic)
    head = f"What the memory holds on {agents.line(clean, 200)!r}:"
    room = limit * CHARACTERS_PER_TOKEN - len(agents.block([head]))
    lines, given = _fitting(found, room)
    envelope: dict[str, Any] = {"schema": 1, "ok": True, "topic": clean, "limit": limit}
    if not given:
        return {**envelope, "error": "no_results", "tokens": 0, "left_out": 0, "quotes": [], "text": ""}
    text = shown(agents.block([head, *lines]))
    return {
        **envelope,
        "tokens": tokens(len(text)),
        "left_out": sum(map(len, found.values())) - len(given),
        "quotes": given,
        "text": text,
    }


def _add_decisions(found: Found, reasons: dict[str, Any]) -> None:
    """Add what was decided and rejected: notes first, then statements of sessions, each with its reason and date.

    What still holds comes before what does not. What several sessions say in nearly the same words is there once.
    """
    entries: list[Entry] = []
    known: list[set[str]] = []

    def add(said: dict[str, Any], words: str, text: str, place: str) -> None:
        key = {said["type"], *(stems(tokenize(words)) or {words})}
        if not any(_is_same(key, other) for other in known):
            known.append(key)
            entries.append(Entry(agents.code(f"{_stale(said)}{text}", _QUOTE), place, said["validity"]))

    for each in reasons["decisions"]:
        why_ = f" Why: {each['why']}" if each["why"] else ""
        text = f"{each['type']}, {each['date'][:10]}: {each['title']}.{why_}"
        add(each, each["title"], text, f"{each['uri']}:{each['line'] or 1}")
    for each in reasons["evidence"]:
        session = _session(each["path"]) if each["statements"] else None
        for said in each["statements"]:
            line = session.line_of(said["turn"], said["text"]) if session and said["turn"] else each["line"]
            who = "the user" if said["by"] == "you" else "an agent"
            why_ = f" Why: {said['why']}" if said["why"] else ""
            text = f"{said['type']} by {who}, {(said['date'] or each['date'])[:10]}: {said['text']}{why_}"
            add(said, said["text"], text, f"{each['uri']}:{line}")
    found["Decisions"] += sorted(entries, key=lambda entry: entry.text.startswith("["))


def _stale(said: dict[str, Any]) -> str:
    """Return what speaks against a result, in brackets before its text, "" if nothing does."""
    words = validity.words(said["validity"])
    return f"[{words}] " if words else ""


def _is_same(one: set[str], other: set[str]) -> bool:
    return len(one & other) >= _SAME * len(one | other)


def _add_work(found: Found, documents: list[dict[str, Any]], topic: str) -> None:
    """Add commands and solved errors of the best sessions: those that are near a hit, or share two words with the
    topic."""
    wanted = {stem(word) for word in words(topic) if word not in QUIET}
    near: dict[str, set[int]] = {}
    paths: dict[str, str] = {}
    for each in documents:
        if each["trust"] == "session" and each["path"]:
            near.setdefault(each["uri"], set()).add(int(each["line"] or 0))
            paths[each["uri"]] = each["path"]
    there: set[str] = set()
    for uri in list(near)[:_SESSIONS]:
        session = _session(paths[uri])
        if session is None:
            continue
        turns = {turn for line in near[uri] if (turn := session.turn_at(line))}
        for fact in session.facts():
            if fact.kind not in _OF_KIND:
                continue
            is_near = any(abs(fact.turn - turn) <= _NEAR for turn in turns)
            if is_near or len(wanted & {stem(word) for word in words(fact.text)}) >= min(_SHARED, len(wanted)):
                same = command_forms.command(fact.text.strip("`")).normal if fact.kind == "command" else fact.text
                if same not in there:
                    there.add(same)
                    found[_OF_KIND[fact.kind]].append(Entry(agents.code(fact.text, _QUOTE), f"{uri}:{fact.line}"))


def _session(path: str) -> Session | None:
    data = read_or_none(path) if isfile(path) else None
    return None if data is None else Session(data.decode("utf-8", "replace"))


def _fitting(found: Found, room: int) -> tuple[list[str], list[dict[str, Any]]]:
    """Return (lines, what is in them) within ``room`` characters; a long entry gives way to those after it."""
    texts = {
        heading: list({f"- {each.text} ({agents.line(each.place, 250)})": each for each in entries}.items())
        for heading, entries in found.items()
        if entries
    }
    needs = {heading: len(heading) + 5 + sum(len(line) + 1 for line, _ in each) for heading, each in texts.items()}
    lines: list[str] = []
    given: list[dict[str, Any]] = []
    for heading, allowed in allot(needs, _SHARES, room).items():
        left = allowed - len(heading) - 5
        chosen = []
        for line, entry in texts[heading]:
            if len(line) < left:
                left -= len(line) + 1
                uri, _, number = entry.place.rpartition(":")
                chosen.append(line)
                quote = {"section": heading, "text": entry.text, "uri": uri, "line": int(number)}
                given.append({**quote, "validity": entry.validity} if entry.validity else quote)
        if chosen:
            lines += ["", f"## {heading}", *chosen]
    return lines, given
