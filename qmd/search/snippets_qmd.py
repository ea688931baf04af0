"""The excerpt that qmd shows of a hit: the first line with most of the query's terms, the one before and two after."""

from __future__ import annotations

from qmd import ecma

CHUNK_CHARS = 3600
# How far before and after a chunk its excerpt may begin and end, in UTF-16 units.
_MARGIN = 100
_INTENT_WEIGHT = 0.3


class Snippet:
    """``line`` (1-based) has the best match; ``text`` begins with a header in the manner of a diff hunk's."""

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
) -> Snippet:
    """The excerpt of ``body`` for ``query``, its text at most ``most`` UTF-16 units.

    With a chunk (start and length in UTF-16 units) only it and a little around it are looked at.
    """
    chunked = chunk_start is not None and chunk_start >= 0
    start_of_chunk = chunk_start or 0
    text, offset, begin = body, 0, 0
    if chunked:
        begin = max(0, start_of_chunk - _MARGIN)
        text = ecma.cut(body, begin, start_of_chunk + (chunk_length or CHUNK_CHARS) + _MARGIN)
        offset = ecma.cut(body, 0, begin).count("\n")
    lines = text.split("\n")
    best, score = _best(lines, query, intent)
    if chunked and score <= 0:
        if not start_of_chunk:
            return extract(body, query, most, intent=intent)
        best = ecma.cut(text, 0, start_of_chunk - begin).count("\n")
    start = max(0, best - 1)
    shown = lines[start : best + 3]
    excerpt = "\n".join(shown)
    if start_of_chunk and chunked and not ecma.trim(excerpt):
        return extract(body, query, most, intent=intent)
    if ecma.length(excerpt) > most:
        excerpt = ecma.cut(excerpt, 0, most - 3) + "..."
    first = offset + start + 1
    before = first - 1
    after = body.count("\n") + 1 - (first + len(shown) - 1)
    header = f"@@ -{first},{len(shown)} @@ ({before} before, {after} after)"
    return Snippet(offset + best + 1, f"{header}\n{excerpt}", before, after, len(shown))


def _best(lines: list[str], query: str, intent: str) -> tuple[int, float]:
    """The first line with the highest score, and that score."""
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
