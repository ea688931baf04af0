"""``brain tried``: was this tried, what came of it, and is that still true?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.counting import counted
from core.errors import BadQuery
from core.text import encodable, one_line
from qmd.index import catalogue
from qmd.index.actions import history, table
from qmd.index.actions.action import COMMAND, OK, REJECTION
from qmd.index.actions.action import FAILED as ENDED_BADLY
from runtime.asking.request import echoed, validate
from runtime.validity import CURRENT
from runtime.validity.validity import words
from runtime.work.attempts import SAID, Attempt, attempts, share, stems, topic_stems
from runtime.work.files import on_topic
from runtime.work.fix import LOOKS
from runtime.work.outcomes import DECIDED, FAILED, NOT_SAID, REJECTED, WORKED
from runtime.work.scope import answer, where
from runtime.work.standing import MOVED, Standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.config import Config
    from core.home import Home
    from qmd.index.actions.action import Action
    from runtime.work.scope import Scope

TRIES = "tries"
# Sessions on the topic that are read, and characters of them: a person waits.
_SESSIONS, _CHARACTERS = 16, 4_000_000
# Words and characters of a pasted plan that the search takes.
_MOST_WORDS, _LONGEST = 40, 1_000
_MOST_COMMANDS = 3
# Characters of a command that may say what it is about.
_HEAD = 160


def tried(home: Home, config: Config, topic: str, **within: Any) -> dict[str, Any]:
    """Return the envelope of ``brain tried``: what was tried on a topic, the best fit first, then the newest.

    Each of ``tries`` has ``outcome`` (worked, failed, rejected, given up, decided, or, last, not said), the quoted line
    that says so, and ``validity``: ``state``, what took its place, and the files and dependencies that changed since.
    """
    topic = encodable(topic)
    if not topic.strip():
        raise BadQuery("the topic is empty", 'brain tried "connection pool"')
    asked = validate(" ".join(topic.split()[:_MOST_WORDS])[:_LONGEST], literal=True)
    return answer(home, config, lambda scope: _tried(scope, asked, topic_stems(topic)), TRIES, **within)


def _tried(scope: Scope, topic: str, wanted: frozenset[str]) -> dict[str, Any]:
    hits = on_topic(scope, topic, _SESSIONS)
    scope.load(hit.id for hit in hits)
    found: list[Attempt] = []
    left = _CHARACTERS
    for hit in hits:
        text = catalogue.text(scope.connection, hit.hash) or ""
        left -= len(text)
        if left < 0:
            break
        found += attempts(text, wanted, hit.id, hit.date)
    found += _commands(scope, wanted, {hit.id for hit in hits})
    # A session on the topic may have begun before the time that was asked for.
    found = [each for each in found if each.at >= scope.since]
    found += _statements(scope, wanted)
    ranked = sorted(_distinct(found), key=lambda each: (each.outcome == NOT_SAID, -round(each.share, 1), -each.at))
    shown = ranked[: scope.limit]
    scope.load(each.document for each in shown)
    counts: dict[str, int] = {}
    for each in ranked:
        counts[each.outcome] = counts.get(each.outcome, 0) + 1
    standing = Standing(scope, ranked, wanted)
    return {
        "topic": echoed(topic),
        "looked_at": len(hits),
        "different": len(ranked),
        "outcomes": counts,
        TRIES: [_row(scope, each, standing) for each in shown],
    }


def _commands(scope: Scope, wanted: frozenset[str], documents: Iterable[int]) -> list[Attempt]:
    """Return the commands about the topic, each with what came of its last run."""
    groups: dict[int, list[tuple[float, Action]]] = {}
    for each in table.of_documents(scope.connection, documents, (COMMAND,)):
        if each.name in LOOKS or each.outcome not in (OK, ENDED_BADLY) or each.at < scope.since:
            continue
        # A script that mentions the topic somewhere is no attempt at it.
        how_far = share(wanted, stems(each.subject[:_HEAD]) | stems(each.note), set())
        if how_far and (each.plain or len(each.subject) <= _HEAD):
            groups.setdefault(each.key, []).append((how_far, each))
    found: list[Attempt] = []
    for group in groups.values():
        how_far, last = max(group, key=lambda each: (each[1].at, each[1].document, each[1].number))
        failed = last.outcome == ENDED_BADLY
        quote = last.note or ("it failed" if failed else "it succeeded")
        found.append(
            Attempt(
                how_far, last.at, FAILED if failed else WORKED, COMMAND, last.subject, quote, last.document, last.turn,
                last.line, len(group),
            )
        )  # fmt: skip
    return sorted(found, key=lambda each: (-each.share, -each.at))[:_MOST_COMMANDS]


def _statements(scope: Scope, wanted: frozenset[str]) -> Iterator[Attempt]:
    """Yield the decisions and rejections on the topic: of notes, distillates, answers and refused calls."""
    for each in history.statements(scope.connection, scope.since):
        # A reason alone that has the words is about something else.
        own = stems(each.subject)
        how_far = share(wanted, own, stems(each.note)) if wanted & own else 0.0
        if how_far and scope.holds(each.document):
            result = REJECTED if each.kind == REJECTION else DECIDED
            yield Attempt(
                how_far, each.at, result, each.kind, each.subject, each.note, each.document, each.turn, each.line
            )  # fmt: skip


def _distinct(found: Iterable[Attempt]) -> list[Attempt]:
    """Return each attempt once: copies of a session, and a note of what it says, tell the same."""
    seen: dict[tuple[str, str], Attempt] = {}
    for each in sorted(found, key=lambda each: -each.at):
        text = "".join(filter(str.isalnum, (each.quote if each.kind == SAID else each.what).lower()))[:160]
        seen.setdefault((each.outcome, text), each)
    return list(seen.values())


def _row(scope: Scope, each: Attempt, standing: Standing) -> dict[str, Any]:
    return {
        "outcome": each.outcome,
        "kind": each.kind,
        "what": one_line(each.what, 300),
        "quote": one_line(each.quote, 300),
        "times": each.times,
        "validity": standing.of(each),
        **scope.place(each),
    }


def lines(envelope: dict[str, Any]) -> list[str]:
    """Return the envelope as lines of text."""
    found = envelope[TRIES]
    if not found:
        return ["Nothing tells that this was tried."]
    counts = ", ".join(f"{count} {name}" for name, count in envelope["outcomes"].items())
    said = [f"{counted(envelope['different'], 'trace')} of it: {counts}", ""]
    for each in found:
        often = f" ({each['times']}×)" if each["times"] > 1 else ""
        said.append(f"{each['outcome']}{often}: {each['what']}")
        if each["quote"] and each["quote"] != each["what"]:
            said.append(f"   “{each['quote']}”")
        turn = f" · turn {each['turn']}" if each["turn"] else ""
        said.append(f"   {where(each)}{turn}")
        if holds := _validity(each["validity"]):
            said.append(f"   {holds}")
    if envelope["different"] > len(found):
        said += ["", f"{len(found)} of {envelope['different']}; -n shows more"]
    return said


def _validity(validity: dict[str, Any]) -> str:
    """Return the state of an attempt in words, "" if nothing is known of it."""
    if validity["state"] == MOVED:
        moved = validity["dependencies"]
        steps = (f"{each['name']} {each['then'] or 'absent'} → {each['now'] or 'absent'}" for each in moved)
        return f"dependency moved: {', '.join(steps)}"
    return "still as it was" if validity["state"] == CURRENT else words(validity)
