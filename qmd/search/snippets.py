"""Hits, and the lines of a document that each shows: brain's snippet where the evidence is, and qmd's excerpt."""

from __future__ import annotations

from qmd.index import catalogue, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from qmd.index.terms import Analyzer
    from qmd.vectors.knn import Near

# Characters of a snippet, and how many of them may come before the evidence on a long line.
_LENGTH = 300
_LEAD = 80

# qmd 2.8.3's excerpt, in UTF-16 units: a chunk's length, and how far around a chunk its excerpt may reach.
CHUNK_CHARS = 3600
_MARGIN = 100
_INTENT_WEIGHT = 0.3


class Hit(catalogue.Document):
    """One answer.

    ``score`` (0-1) is the share of the evidence that a perfect match would give; ``parts`` are its summands, if they
    were asked for. The evidence is a ``passage`` (its id, 0 for none) from number ``token`` on, or the chunk ``near``;
    ``names`` are the words that were searched for.

    The rest comes with the text (``read``, ``fill``). ``line`` counts from 1. ``piece`` is the passage of the evidence,
    (start, end) in characters; (0, 0) if there is none. ``begin`` is where the text begins, behind its frontmatter.
    ``quotes`` are lines that a caller chose instead of the snippet.
    """

    __slots__ = (
        "begin", "line", "names", "near", "parts", "passage", "piece", "quotes", "score", "snippet", "token",
    )  # fmt: skip

    if TYPE_CHECKING:
        near: Near | None
        names: Sequence[str]
        quotes: Sequence[Any]

    def __init__(self, row: catalogue.Row, score: float, parts: dict[str, Any] | None = None) -> None:
        super().__init__(row)
        self.score, self.parts = score, parts or {}
        self.passage, self.token, self.near, self.names = 0, 0, None, ()
        self.line, self.snippet, self.piece, self.begin, self.quotes = 1, "", (0, 0), 0, ()


def read(connection: apsw.Connection, hit: Hit) -> str:
    """Return the text of a hit, "" if the index lacks it, and note its ``piece``. Raises apsw.Error."""
    text, first, bounds = catalogue.passages(connection, hit.hash) or ("", 0, ())
    place = hit.passage - first
    if hit.near is not None:
        from qmd.vectors import knn

        knn.place(connection, hit.near)
        hit.piece = (hit.near.start, hit.near.end)
    elif 0 <= place < len(bounds) - 1:
        hit.piece = (bounds[place], bounds[place + 1])
    elif bounds:
        hit.begin = bounds[0]
    return text


def fill(analyzer: Analyzer, hit: Hit, text: str) -> None:
    """Fill in the line and the snippet of a hit with ``text`` (``read``), where its evidence is."""
    start, end = hit.piece if hit.piece[1] else (hit.begin, len(text))
    passage = text[start:end]
    # Words inside identifiers have no place of their own.
    counted = hit.piece[1] and hit.near is None and hit.token >= 0
    offset = locate(analyzer, passage, hit.token) if counted else find_any(passage, hit.names)
    hit.line, hit.snippet = around(text, start, start + offset, is_clean=hit.is_clean)


def around(text: str, start: int, position: int, *, is_clean: bool) -> tuple[int, str]:
    """Return (line, snippet) of the evidence at character ``position``, in a passage that begins at ``start``.

    Lines count from 1 over the whole text; a snippet has at most 300 characters, begins at a line where it can, and
    ends with an ellipsis where the text goes on. Unless the text is clean, it is redacted as a whole first.
    """
    while position < len(text) and text[position].isspace():
        position += 1
    line = text.count("\n", 0, position) + 1
    begin = text.rfind("\n", start, position) + 1 or start
    if position - begin > _LENGTH - _LEAD:
        begin = text.find(" ", position - _LEAD, position) + 1 or position - _LEAD
    snippet = text[begin : begin + _LENGTH]
    ellipsis = ""
    if text[begin + _LENGTH :].strip():
        cut = max(snippet.rfind(" "), snippet.rfind("\n"))
        if cut > _LENGTH // 2:
            snippet = snippet[:cut]
        snippet = snippet.rstrip()
        ellipsis = "…"
    if not is_clean:
        from core.redaction import excerpt

        snippet = excerpt(text, begin, begin + len(snippet), is_clean=False)
    return line, snippet.strip() + ellipsis


def locate(analyzer: Analyzer, passage: str, token: int) -> int:
    """Return the offset (characters) in ``passage`` of its token number ``token``; 0 if the passage has fewer."""
    spaced = terms.spaced_out(passage)
    tokens = analyzer.offsets(spaced)
    if token >= len(tokens):
        return 0
    offset = len(spaced.encode()[: tokens[token][0]].decode("utf-8", "ignore"))
    return offset if spaced == passage else _unspaced(passage, offset)


def _unspaced(passage: str, offset: int) -> int:
    """Return the offset in ``passage`` of what is at ``offset`` in its spaced form (``terms.spaced_out``)."""
    position = 0
    inside = False
    for index, character in enumerate(passage):
        is_cjk = terms.is_cjk(character)
        position += is_cjk or inside  # the space before each such character, and the one behind the last
        if position >= offset:
            return index
        position += 1
        inside = is_cjk
    return len(passage)


def find_any(text: str, words: Sequence[str]) -> int:
    """Return the offset of the first of ``words`` in ``text``, 0 if the text has none."""
    lowered = text.lower()
    if len(lowered) != len(text):  # İ is two characters in small letters: offsets would be those of another text
        lowered = "".join(small if len(small := character.lower()) == 1 else character for character in text)
    found = [offset for word in words if (offset := lowered.find(word.lower())) >= 0]
    return min(found) if found else 0


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
    from qmd import ecma  # late, here and below: a question does without

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
    from qmd import ecma

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
