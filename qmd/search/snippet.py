"""What a hit shows: the line where the evidence stands, and a few lines of it."""

from __future__ import annotations

from core.redaction import excerpt
from qmd.index import cjk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from qmd.search.answers import Hit, Scored
    from qmd.search.terms import Analyzer
    from qmd.vectors.knn import Near

_LENGTH = 300
_LEAD = 80


def fill(
    connection: apsw.Connection,
    analyzer: Analyzer,
    hit: Hit,
    candidate: Scored,
    names: Sequence[str] = (),
    near: Near | None = None,
) -> None:
    """Fill in the line, the snippet and the piece of a hit, where ``candidate``'s evidence stands, or ``near``'s chunk.

    ``names`` are the words that were searched for. Raises apsw.Error.
    """
    row = connection.execute(
        "SELECT c.doc, b.id, b.starts FROM content c JOIN brain_contents b ON b.hash = c.hash WHERE c.hash = ?",
        (hit.hash,),
    ).fetchone()
    if row is None:
        return
    text, content, packed = row
    if near is not None:
        from qmd.vectors import knn

        knn.place(connection, near)
        hit.piece = (near.start, near.end)
        hit.line, hit.snippet = around(
            text, near.start, near.start + find_any(text[near.start : near.end], names), is_clean=hit.is_clean
        )
        return
    bounds = memoryview(packed).cast("I")
    if not bounds:
        hit.snippet = around(text, 0, 0, is_clean=hit.is_clean)[1]
        return
    seq = candidate.passage - content
    if not 0 <= seq < len(bounds) - 1:
        position = bounds[0] + find_any(text[bounds[0] :], names)
        hit.line, hit.snippet = around(text, bounds[0], position, is_clean=hit.is_clean)
        return
    hit.piece = (bounds[seq], bounds[seq + 1])
    passage = text[bounds[seq] : bounds[seq + 1]]
    # Words inside identifiers have no place of their own.
    offset = locate(analyzer, passage, candidate.token) if candidate.token >= 0 else find_any(passage, names)
    hit.line, hit.snippet = around(text, bounds[seq], bounds[seq] + offset, is_clean=hit.is_clean)


def around(text: str, start: int, position: int, *, is_clean: bool) -> tuple[int, str]:
    """(line, snippet) of the evidence at character ``position`` of ``text``, in a passage that begins at ``start``.

    Lines count from 1 over the whole text; a snippet has at most 300 characters, begins at a line where it can, and
    ends with an ellipsis where the text goes on. Unless the text is clean, it is redacted as a whole first.
    """
    while position < len(text) and text[position].isspace():
        position += 1
    line = text.count("\n", 0, position) + 1
    begin = text.rfind("\n", start, position) + 1 or start
    begin = max(begin, start)
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
    return line, excerpt(text, begin, begin + len(snippet), is_clean=is_clean).strip() + ellipsis


def locate(analyzer: Analyzer, passage: str, token: int) -> int:
    """The character offset in ``passage`` of its token number ``token``, as the index counts; 0 where it has fewer."""
    spaced = cjk.normalize(passage)
    tokens = analyzer.offsets(spaced)
    if token >= len(tokens):
        return 0
    offset = len(spaced.encode()[: tokens[token][0]].decode("utf-8", "ignore"))
    return offset if spaced == passage else _unspaced(passage, offset)


def _unspaced(passage: str, offset: int) -> int:
    """The offset in ``passage`` of what stands at ``offset`` in its spaced-out form (see ``cjk.normalize``)."""
    position = 0
    inside = False
    for index, character in enumerate(passage):
        is_cjk = cjk.is_cjk(character)
        position += is_cjk or inside  # the space before each such character, and the one behind the last
        if position >= offset:
            return index
        position += 1
        inside = is_cjk
    return len(passage)


def find_any(text: str, words: Sequence[str]) -> int:
    """The offset of the first of ``words`` in ``text``, 0 where it has none."""
    lowered = text.lower()
    if len(lowered) != len(text):  # İ is two characters in small letters: offsets would be those of another text
        lowered = "".join(small if len(small := character.lower()) == 1 else character for character in text)
    found = [offset for word in words if (offset := lowered.find(word.lower())) >= 0]
    return min(found) if found else 0
