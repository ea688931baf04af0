"""The text that a hook puts into an agent's context: a little, relevant, once, and marked as the evidence that it
is."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from core import clock
from core.config import EVIDENCE, load
from core.redaction import shown
from runtime.asking import agents, envelope, withholding
from runtime.asking.envelope import as_shown
from runtime.injections import ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from core.home import Home
    from qmd.search.search import Hit

# The part of a session's budget that is used up at most once an event has spoken: what comes later needs some, too.
SHARES = {"session-start": 0.5, "prompt": 0.8, "compact": 0.8}
_ITEMS = 3
_SNIPPET = 240
# How long a prompt waits for its recall, in seconds; ``BRAIN_RECALL_S`` gives another limit.
_TIMEOUT_S = 0.15
_FEWEST_WORDS = 3
_DECISIVE = ("decision", "rejected", "preference")


class Spoken:
    """The ``text`` for the context, "" for none, and the documents that it shows."""

    __slots__ = ("text", "uris")  # no dataclass: somebody waits, and those cost a tenth of it

    def __init__(self, text: str = "", uris: list[str] | None = None) -> None:
        self.text = text
        self.uris = uris or []


def speak(home: Home, verb: str, given: Mapping[str, Any], *, misses_only: bool) -> Spoken:
    """Return the context that one event adds (``verb``: session-start or prompt). Raises BrainError, OSError,
    apsw.Error."""
    from runtime.hooks import hooks

    lines = []
    if verb == "session-start":
        miss = hooks.misses(home, given, time.time())
        if miss:
            lines.append(miss)
            hooks.detach(home, os.environ)
    if misses_only or _is_excluded(home, given):
        return Spoken("\n".join(lines))
    withholding.require_policy(home)
    session = _text(given.get("session_id"))
    if verb == "session-start" and given.get("source") == "compact":
        ledger.renew(home, session)
        return _after_compaction(home, given, lines)
    allowed = ledger.Allowance(home, load(home), session)
    found = _for_session(home, given) if verb == "session-start" else _for_prompt(home, given)
    around = len("\n".join([*lines, agents.block([""])]))
    room = allowed.room(SHARES[verb]) - around
    # The document of a rejected text comes last. The uri is without its line: another passage of a document that was
    # shown is not news.
    items = [ledger.Item(_item(each), **_source(each, verb)) for each in found if not _is_own(each, session)]
    chosen: list[ledger.Item] = []
    for item in sorted(items, key=allowed.rejected):
        if not allowed.permits(item) or len(item.text) + 1 > room or item.key in {each.key for each in chosen}:
            continue
        room -= len(item.text) + 1
        chosen.append(item)
        if len(chosen) == _ITEMS:
            break
    ledger.add(home, session, "hook", verb, chosen, overhead=around)
    text = "\n".join(filter(None, [*lines, agents.block([item.text for item in chosen])]))
    return Spoken(text, [f"{envelope.SCHEME}{item.collection}/{item.path}" for item in chosen])


def _after_compaction(home: Home, given: Mapping[str, Any], lines: list[str]) -> Spoken:
    """Return what the summary of a compaction lost: commands, files, decisions and errors of the session."""
    from runtime.handover import compaction
    from runtime.hooks import transcripts

    session = _text(given.get("session_id"))
    config = load(home)
    found = compaction.document(config, session)
    if found is None:
        return Spoken("\n".join(lines))
    uri, text = found
    before, summary = compaction.at_compaction(text, transcripts.last_summary(_text(given.get("transcript_path"))))
    head = f"From this session before its compaction, missing in the summary (LINE of {agents.line(uri, 200)}):"
    around = len("\n".join([*lines, agents.block([head])])) + 1
    allowed = ledger.Allowance(home, config, session)
    said, _ = compaction.given_back(compaction.lost(before.facts(), summary), allowed.room(SHARES["compact"]) - around)
    reason = "lost by the summary of the compaction"
    items = [ledger.Item(shown(each), uri=uri, key=f"{uri} {each}", kind="compaction", reason=reason) for each in said]
    items = [item for item in items if allowed.permits(item)]
    if not items:
        return Spoken("\n".join(lines))
    ledger.add(home, session, "hook", "compact", items, overhead=around)
    return Spoken("\n".join([*lines, agents.block([head, *(item.text for item in items)])]), [uri])


def _source(hit: Mapping[str, Any], verb: str) -> dict[str, Any]:
    """Return where one hit comes from and why it is given, as ``ledger.Item`` takes it."""
    reason = "in force in this project" if verb == "session-start" else "answers the prompt"
    line = hit.get("line")
    docid = hit.get("docid")
    return {
        "uri": str(hit["uri"]),
        "line": int(line or 0),
        "docid": str(docid or ""),
        "kind": "recall",
        "reason": reason,
    }


def _for_prompt(home: Home, given: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Return hits for a prompt, above the threshold below which ``ask`` abstains."""
    from runtime.asking.request import MAX_CHARACTERS, Request
    from runtime.resident.answer import answer

    prompt = "".join(character if character.isprintable() else " " for character in _text(given.get("prompt")))
    prompt = " ".join(prompt.split())[:MAX_CHARACTERS].strip()
    if prompt.startswith(("/", "!", "#")) or len(prompt.split()) < _FEWEST_WORDS:
        return []
    patience = _patience(os.environ.get("BRAIN_RECALL_S") or "")
    request = Request(limit=_ITEMS + 5, literal=True, timeout_s=patience, rerank=False, own=True, budget=_SNIPPET)
    # Another engine knows no threshold to abstain below, and takes longer than a prompt may wait.
    envelope, _ = answer(home, load(home), prompt, request, os.environ, builtin=True)
    found: list[dict[str, Any]] = envelope["hits"]
    return [hit for hit in found if not hit.get("superseded_by")]


def _patience(given: str) -> float:
    try:
        return max(0.01, min(float(given), 60.0))
    except ValueError:
        return _TIMEOUT_S


def _for_session(home: Home, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the decisions in force in the project of a session: its latest decisions, and where work was left."""
    from qmd.index.catalogue import Filters
    from qmd.index.store import open_index
    from qmd.search.search import Searcher
    from runtime.capture.inbox import project_of

    cwd = _text(given.get("cwd"))
    if not cwd or given.get("source") in ("resume", "compact"):
        return []
    project = project_of(cwd) or cwd
    config = load(home)
    connection = open_index(home.index)
    try:
        searcher = Searcher(connection)
        notes = Filters(config.trusting("note"), fields=(("project", "=", project),))
        decided = [hit for hit in searcher.newest(limit=20, filters=notes) if hit.field("type") in _DECISIVE]
        sessions = Filters(config.trusting("session"), fields=(("project", "=", project),))
        left = [hit for hit in searcher.newest(limit=10, filters=sessions) if not hit.field("parent")]
        chosen = [hit for hit in decided if not hit.field("superseded_by")][: _ITEMS - 1] + left[:2]
        chosen = [hit for hit in chosen if config.trust_of(hit.collection, hit.path) != EVIDENCE]
        searcher.show(chosen)
    finally:
        connection.close()
    now = clock.now()
    items: Iterable[tuple[Hit, dict[str, Any]]] = (
        (
            hit,
            {
                "uri": envelope.uri(hit.collection, hit.path),
                "title": hit.title,
                "type": hit.field("type"),
                "age": envelope.age(hit.date, now)[1],
                "date": clock.iso(hit.date),
                "trust": config.collections[hit.collection].trust,
                "line": hit.line,
                "snippet": hit.field("why") or "",
                "resume": envelope.resume(hit.fields, home),
            },
        )
        for hit in chosen
    )
    return [item if hit.is_clean else as_shown(item) for hit, item in items]


def _item(hit: Mapping[str, Any]) -> str:
    """Return one hit as text: its title, age, trust, place, and a little of its text."""
    kind = hit["trust"] if not hit.get("type") else f"{hit['trust']}, {agents.line(str(hit['type']), 20)}"
    where = agents.line(hit["uri"], 200)
    head = f"- {agents.line(hit['title'], 120)} ({hit['age']}, {hit['date'][:10]}; {kind}) {where}"
    if hit.get("line"):
        head += f":{hit['line']}"
    said = agents.line(str(hit.get("snippet") or ""), _SNIPPET)
    return f"{head}\n  {agents.MARK}{said}" if said else head


def _is_own(item: Mapping[str, Any], session: str) -> bool:
    return bool(session) and session in item["uri"]


def _is_excluded(home: Home, given: Mapping[str, Any]) -> bool:
    from runtime.hooks import hooks

    return bool(hooks.excluded(home, _text(given.get("transcript_path")), _text(given.get("cwd"))))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
