"""qmd's excerpt of a document: the line with most of the words, and the lines around it.

Follows qmd 2.8.3. Offsets and lengths are in UTF-16 units, as JavaScript counts.
"""

from __future__ import annotations

from qmd import ecma

# The length of a chunk, as in ``qmd.vectors.chunking``: its imports would take longer than a search.
_CHUNK = 3600
# How far around a chunk its excerpt may reach.
_MARGIN = 100
_INTENT_WEIGHT = 0.3


class Excerpt:
    """qmd's excerpt: ``line`` (from 1) matches best; ``text`` begins with a header like that of a diff hunk."""

    __slots__ = ("after", "before", "count", "line", "text")

    def __init__(self, line: int, text: str, before: int, after: int, count: int) -> None:
        self.line = line
        self.text = text
        self.before = before
        self.after = after
        self.count = count


def extract(
    body: str,
    query: str,
    most: int = 500,
    chunk_start: int | None = None,
    chunk_length: int | None = None,
    intent: str = "",
) -> Excerpt:
    """Return qmd's excerpt of ``body``: the first line with most of the query's terms, one before and two after.

    The text has at most ``most`` UTF-16 units. With a chunk (start and length in UTF-16 units) only the chunk and a
    little around it count.
    """
    chunked = chunk_start is not None and chunk_start >= 0
    start_of_chunk = chunk_start or 0
    text, offset, begin = body, 0, 0
    if chunked:
        begin = max(0, start_of_chunk - _MARGIN)
        text = ecma.cut(body, begin, start_of_chunk + (chunk_length or _CHUNK) + _MARGIN)
        offset = ecma.cut(body, 0, begin).count("\n")
    lines = text.split("\n")
    best, score = _best(lines, query, intent)
    if chunked and score <= 0:
        if not start_of_chunk:
            return extract(body, query, most, intent=intent)
        best = ecma.cut(text, 0, start_of_chunk - begin).count("\n")
    start = max(0, best - 1)
    shown = lines[start : best + 3]
    said = "\n".join(shown)
    if start_of_chunk and chunked and not ecma.trim(said):
        return extract(body, query, most, intent=intent)
    if ecma.length(said) > most:
        said = ecma.cut(said, 0, most - 3) + "..."
    first = offset + start + 1
    before = first - 1
    after = body.count("\n") + 1 - (first + len(shown) - 1)
    header = f"@@ -{first},{len(shown)} @@ ({before} before, {after} after)"
    return Excerpt(offset + best + 1, f"{header}\n{said}", before, after, len(shown))


def _best(lines: list[str], query: str, intent: str) -> tuple[int, float]:
    """Return the first line with the highest score, and that score."""
    terms = ecma.words(query.lower())
    steering: list[str] = []
    if intent:
        from qmd.search.structured import intent_terms

        steering = intent_terms(intent)
    best, most = 0, -1.0
    full = len(terms) + _INTENT_WEIGHT * len(steering)
    for number, line in enumerate(lines):
        lowered = line.lower()
        score = 0.0
        for term in terms:
            if term in lowered:
                score += 1.0
        for term in steering:
            if term in lowered:
                score += _INTENT_WEIGHT
        if score > most:
            best, most = number, score
            if score >= full:
                break
    return best, most
