"""Which hits still hold: each gets its validity, and a newer statement comes before the older one that it replaces."""

from __future__ import annotations

from os.path import isabs, isdir

from core.config import machine_of
from runtime.asking.envelope import STATED, uri_of
from runtime.validity import validity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from qmd.search.search import Hit
    from runtime.asking.ask import Asker, Inquiry

_NOTE = "note"
_PERSON, _AGENT = "you", "agent"
# Seconds that must be left before git is asked. A hook before a prompt has less.
_GIT_S = 1.0
# Lines of a note that give reasons.
_REASONS = ("Why: ", "Alternatives:", "- ")


def judge(asker: Asker, inquiry: Inquiry) -> None:
    """Find the validity of each hit, and put newer statements before the older ones that they replace."""
    trusts = {hit.id: hit.trust or asker.config.trust_of(hit.collection, hit.path) for hit in inquiry.hits}
    stated = [hit for hit in inquiry.hits if trusts[hit.id] in STATED]
    # Sessions without a project have none in common. A note without one holds everywhere.
    placed = [hit for hit in stated if trusts[hit.id] == _NOTE or hit.field("project")]
    sides = _compare(inquiry, placed) if len(placed) > 1 else {}
    said = {hit.id for hit in stated if not hit.quotes or any(quote.who == _PERSON for quote in hit.quotes)}
    for hit in inquiry.hits:
        successor = str(hit.fields.get("superseded_by") or "") if hit in stated else ""
        found = sides.get(hit.id, ())
        changed, known = _files(asker, inquiry, hit) if hit in stated and not found and not successor else ((), False)
        known = known or hit.id in said
        inquiry.validity[hit.id] = validity.verdict(found, changed, successor=successor, known=known)


def _compare(inquiry: Inquiry, hits: list[Hit]) -> dict[object, list[validity.Side]]:
    """Return the other sides of hits that do not hold alone, and put newer statements before those they replace."""
    if not validity.may_differ(map(claim_of, hits)):
        return {}
    from runtime.validity.statements import stems, tokenize

    # Lines about something else are left out.
    asked = stems(tokenize(inquiry.question))
    sides = validity.judge([claim_of(hit, asked) for hit in hits])
    if sides:
        inquiry.hits = _newer_first(inquiry.hits, sides, asked)
    return sides


def _files(asker: Asker, inquiry: Inquiry, hit: Hit) -> tuple[Sequence[str], bool]:
    """Return what became of the files that a hit names, if its project is here: (changed ones, True if all are as they
    were)."""
    project = hit.field("project") or ""
    # Nothing is known here of files of another machine, whose folders may have the same names.
    if not isabs(project) or not isdir(project) or hit.owner or machine_of(hit.path):
        return (), False  # nearly always, and then nothing is imported
    from runtime.asking import files

    text = "\n".join(quote.text for quote in hit.quotes) if hit.quotes else hit.snippet
    return files.changed(asker.connection, hit, project, text, may_wait=inquiry.deadline.left() > _GIT_S)


def claim_of(hit: Hit, asked: frozenset[str] = frozenset()) -> validity.Claim:
    """Return what a hit says: what was said in the lines that it quotes, or a note's title and text.

    With ``asked``, only quotes that hold one of these stems.
    """
    project, kind, successor, entry = hit.texts("project", "type", "superseded_by", "session_id")
    title, heard = hit.title, []
    together = hit.fields.get("holds_with")
    if not hit.is_clean:
        from core.redaction import shown

        title = shown(title)
    if hit.quotes:
        about = [quote for quote in hit.quotes if not asked or _holds(quote.text.lower(), asked)]
        lines = [(quote.line, quote.text) for quote in about if quote.who == _PERSON]
        heard = [(quote.line, quote.text) for quote in about if quote.who == _AGENT]
    else:
        text = "\n".join(line for line in hit.snippet.split("\n") if not line.startswith(("#", *_REASONS)))
        lines = [(hit.line, f"{title}\n{text}")]
    return validity.Claim(
        hit.id,
        uri_of(hit),
        hit.date,
        lines,
        heard=heard,
        project=project or "",
        negative=kind == "rejected",
        entry=entry or "",
        successor=successor or "",
        holds_with=together if isinstance(together, list) else (),
        owner=hit.owner,
    )


def _newer_first(hits: list[Hit], sides: dict[object, list[validity.Side]], asked: frozenset[str]) -> list[Hit]:
    """Return the hits with each that took another's place, or contradicts it later, directly above that one.

    Both statements have to be about the same part of what is asked: people say much in passing that resembles what they
    said before.
    """
    from runtime.validity.statements import stems, tokenize

    by_id = {hit.id: hit for hit in hits}
    ordered = list(hits)
    for hit in hits:
        for side in sides.get(hit.id, ()):
            newer: Any = side.claim.key
            if side.claim.at < hit.date or newer not in by_id or side.claim.owner != hit.owner:
                continue
            if asked.isdisjoint(stems(tokenize(side.own)) & stems(tokenize(side.text))):
                continue
            if ordered.index(by_id[newer]) > ordered.index(hit):
                ordered.remove(by_id[newer])
                ordered.insert(ordered.index(hit), by_id[newer])
            break
    return ordered


def _holds(text: str, words: frozenset[str]) -> bool:
    return any(word in text for word in words)
