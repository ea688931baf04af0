"""What a hit shows: the line where the evidence stands, and a few lines of it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from qmd.terms import Analyzer

_LENGTH = 300
_LEAD = 80


def around(text: str, start: int, stop: int, position: int) -> tuple[int, str]:
    """(line, snippet) of the evidence at character ``position`` of ``text``; the snippet lies in [start, stop).

    Lines count from 1 over the whole text; a snippet has at most 300 characters and begins at a line where it can.
    """
    line = text.count("\n", 0, position) + 1
    begin = text.rfind("\n", start, position) + 1 or start
    begin = max(begin, start)
    if position - begin > _LENGTH - _LEAD:
        begin = text.find(" ", position - _LEAD, position) + 1 or position - _LEAD
    end = min(stop, begin + _LENGTH)
    snippet = text[begin:end]
    if end < stop and not text[end - 1].isspace():
        cut = max(snippet.rfind(" "), snippet.rfind("\n"))
        if cut > _LENGTH // 2:
            snippet = snippet[:cut]
        snippet = snippet.rstrip() + "…"
    return line, snippet.strip()


def locate(analyzer: Analyzer, passage: str, token: int) -> int:
    """The character offset in ``passage`` of its token number ``token``; 0 where it has fewer."""
    tokens = analyzer.offsets(passage)
    if token >= len(tokens):
        return 0
    return len(passage.encode()[: tokens[token][0]].decode("utf-8", "ignore"))


def find_any(text: str, words: list[str]) -> int:
    """The offset of the first of ``words`` in ``text``, 0 where it has none."""
    lowered = text.lower()
    found = [offset for word in words if (offset := lowered.find(word.lower())) >= 0]
    return min(found) if found else 0
