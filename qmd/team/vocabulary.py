"""A document as PostgreSQL searches it: the tokens of our own tokenizer, with their places, and their counts.

PostgreSQL does no language processing: a ``tsvector`` is written from the stems that the index of SQLite has, so that
both rank by the same terms, frequencies and lengths.
"""

from __future__ import annotations

from collections import Counter
from math import log2
from typing import TYPE_CHECKING, NamedTuple

from qmd.index import derived, terms
from qmd.search import scoring

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Mapping

# Limits of a tsvector: https://www.postgresql.org/docs/current/textsearch-limitations.html
_STEM_BYTES = 2_000
_LAST_PLACE = 16_383
_MOST_PLACES = 256
# Not of a text in PostgreSQL. The substitute is one character as well, so that places stay.
_NUL, _SUBSTITUTE = "\0", "\ufffd"

# The number of the part of a text before its passages.
HEAD = -1
# The lengths in tokens that marks are relative to: near the average, as those of passages of 200 words are.
PASSAGE_TOKENS, DOCUMENT_TOKENS = 200.0, 2_000.0
# The constants of FTS5's formula (https://sqlite.org/fts5.html#the_bm25_function). ``migrations/0003.sql`` nominates by
# it, so marks bound its points, and not the scores of ``scoring``.
_K1, _B = 1.2, 0.75
# Levels of marks, from ``a`` on, each √2 times the one below; the first is 2. No token has the character before it.
_LETTERS, _MARK = "abcdefghi", "\x01"
# Places that say how often a stem occurs.
_MOST_COUNTED = 255
_COUNTS = [":" + ",".join(map(str, range(1, count + 1))) for count in range(_MOST_COUNTED + 1)]


class Passage(NamedTuple):
    """One row of ``passages``: ``number`` in its document, how many ``tokens``, three tsvectors as text.

    ``marks`` are those of the passage, and in number ``HEAD``, which each document has, those of the document.
    """

    number: int
    tokens: int
    body: str
    words: str
    marks: str


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
    if "'" in stem or "\\" in stem:
        stem = stem.replace("\\", "\\\\").replace("'", "''")
    return f"'{stem}'"


def index(analyzer: terms.Analyzer, collection: str, path: str, title: str, text: str) -> Indexed:
    """Return how a document is indexed; ``title`` is that of ``documents.title``."""
    bounds, bodies, inner = derived.split(text)
    found: list[Passage] = []
    before = bounds[0] if len(bounds) else len(text)
    head = _stems(analyzer, terms.spaced_out(text[:before])) if before else []
    named = _stems(analyzer, terms.spaced_out(title))
    placed = _stems(analyzer, terms.spaced_out(f"{collection}/{path}"))
    total, frequencies = len(head) + len(named) + len(placed), _weighted(head, named, scoring.TITLE_WEIGHT)
    for number, (body, words) in enumerate(zip(bodies, inner, strict=True)):
        stems, parts = _stems(analyzer, body), _stems(analyzer, words)
        total += len(stems)
        frequencies.update(stems)
        tokens = len(stems) + len(parts)
        often = marks(_weighted(stems, parts, scoring.INNER_WEIGHT), tokens / PASSAGE_TOKENS)
        found.append(Passage(number, tokens, vector(stems), vector(parts), often))
    often = marks(frequencies, total / DOCUMENT_TOKENS, counted=True)
    found.insert(0, Passage(HEAD, len(head), vector(head), "", often))
    # A gap, so that no phrase reaches from the title into the path.
    title_vector = f"{vector(named, 'A')} {vector(placed, 'B', len(named) + 2)}".strip()
    return Indexed(bounds, total, title_vector, found)


def marks(frequencies: Mapping[str, float], length: float, *, counted: bool = False) -> str:
    """Return the text of a tsvector of the stems that occur often in a row, each with its level.

    The points that FTS5's BM25 gives a term grow with one ratio: its frequency, over what the row's length makes of
    it. So rows without a mark from some level on have fewer points than that level gives, and a question does not look
    at them once enough rows have more. ``length`` is relative to the tokens above. A mark that is ``counted`` has as
    many places as the frequency, up to what a tsvector holds.
    """
    norm = _K1 * (1 - _B + _B * length)
    least, found = 2 * norm, dict[str, float]()
    for stem, frequency in [pair for pair in frequencies.items() if pair[1] >= least]:
        key = stem_key(stem)
        found[key] = max(frequency, found.get(key, 0.0))
    said: list[str] = []
    for key, frequency in found.items():
        level = _LETTERS[min(int(2 * log2(frequency / least)), len(_LETTERS) - 1)]
        said.append(_quoted(f"{key}{_MARK}{level}") + (_COUNTS[min(int(frequency), _MOST_COUNTED)] if counted else ""))
    return " ".join(said)


def _weighted(stems: Iterable[str], others: Iterable[str], weight: float) -> Counter[str]:
    """Return how often each stem occurs, with ``others`` at a ``weight``."""
    found = Counter(stems)
    for stem in others:
        found[stem] += weight  # type: ignore[assignment]  # a count need not be whole
    return found


def _stems(analyzer: terms.Analyzer, text: str) -> list[str]:
    return [stem for _, _, stem in analyzer.offsets(text)] if text else []
