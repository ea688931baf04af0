"""A document as PostgreSQL searches it: the tokens of our own tokenizer, with their places, and their counts.

PostgreSQL does no language processing: a ``tsvector`` is written from the stems that the index of SQLite has, so that
both rank by the same terms, frequencies and lengths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qmd.index import derived, terms

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable

# Limits of a tsvector: https://www.postgresql.org/docs/current/textsearch-limitations.html
_STEM_BYTES = 2_000
_LAST_PLACE = 16_383
_MOST_PLACES = 256
# Not of a text in PostgreSQL. The substitute is one character as well, so that places stay.
_NUL, _SUBSTITUTE = "\0", "\ufffd"

# The number of the part of a text before its passages.
HEAD = -1


class Passage(NamedTuple):
    """One row of ``passages``: ``number`` in its document, how many ``tokens``, two tsvectors as text."""

    number: int
    tokens: int
    body: str
    words: str


class Indexed(NamedTuple):
    """A document's text, cut and counted: ``starts`` are the bounds of its passages as ``brain_contents`` has them.

    ``tokens`` is the length of its row in ``documents_fts``, path and title included. ``title`` is a tsvector of the
    title, at weight A, and behind it of ``collection/path``, at weight B.
    """

    starts: array[int]
    tokens: int
    title: str
    passages: list[Passage]


def plain(text: str) -> str:
    """Return ``text`` as PostgreSQL can hold it, of the same length."""
    return text.replace(_NUL, _SUBSTITUTE) if _NUL in text else text


def stem_key(stem: str) -> str:
    """Return a stem as the tables have it: of at most 2,000 bytes."""
    raw = stem.encode("utf-8", "replace")
    return plain(stem if len(raw) <= _STEM_BYTES else raw[:_STEM_BYTES].decode("utf-8", "ignore"))


def vector(stems: Iterable[str], weight: str = "", first: int = 1) -> str:
    """Return the text of a tsvector that has each stem at its place, the ``first`` at 1, at a ``weight`` (A to D)."""
    places: dict[str, list[str]] = {}
    for place, stem in enumerate(stems, first):
        found = places.setdefault(stem_key(stem), [])
        if len(found) < _MOST_PLACES:
            found.append(f"{min(place, _LAST_PLACE)}{weight}")
    return " ".join(f"{_quoted(stem)}:{','.join(found)}" for stem, found in places.items() if stem)


def _quoted(stem: str) -> str:
    escaped = stem.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def index(analyzer: terms.Analyzer, collection: str, path: str, title: str, text: str) -> Indexed:
    """Return how a document is indexed; ``title`` is that of ``documents.title``."""
    bounds, bodies, inner = derived.split(text)
    found: list[Passage] = []
    before = bounds[0] if len(bounds) else len(text)
    head = _stems(analyzer, terms.spaced_out(text[:before])) if before else []
    total = len(head)
    if head:
        found.append(Passage(HEAD, len(head), vector(head), ""))
    for number, (body, words) in enumerate(zip(bodies, inner, strict=True)):
        stems, parts = _stems(analyzer, body), _stems(analyzer, words)
        total += len(stems)
        found.append(Passage(number, len(stems) + len(parts), vector(stems), vector(parts)))
    named = _stems(analyzer, terms.spaced_out(title))
    placed = _stems(analyzer, terms.spaced_out(f"{collection}/{path}"))
    # A gap, so that no phrase reaches from the title into the path.
    title_vector = f"{vector(named, 'A')} {vector(placed, 'B', len(named) + 2)}".strip()
    return Indexed(bounds, total + len(named) + len(placed), title_vector, found)


def _stems(analyzer: terms.Analyzer, text: str) -> list[str]:
    return [stem for _, _, stem in analyzer.offsets(text)] if text else []
