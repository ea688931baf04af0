"""The snippet of a hit: the lines of its document where the evidence is, for a hit without quotes."""

from __future__ import annotations

from qmd.index import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.index.terms import Analyzer
    from qmd.search.search import Hit

# Characters of a snippet, and how many of them may come before the evidence on a long line.
_LENGTH = 300
_LEAD = 80


def fill(analyzer: Analyzer, hit: Hit, text: str) -> None:
    """Fill in the line and the snippet of a hit with ``text`` (``search.read``), where its evidence is."""
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
