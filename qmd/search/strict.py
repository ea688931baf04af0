"""qmd's own query language: terms and quoted phrases ANDed, ``-term`` excluded, every term a prefix.

Follows qmd 2.8.3's translation to FTS5 except where that one glues words together that were typed apart
(``path/to`` became ``pathto``, ``"multi-agent"`` became ``multiagent``): there the parts form a phrase.
"""

from __future__ import annotations

import re

from qmd.index import cjk

_TOKEN = re.compile(r'(?P<minus>-?)"(?P<phrase>[^"]*)"?|(?P<term>\S+)')
# A word character as qmd means it: letters, digits, apostrophe and underscore of any script; and the accents that
# FTS5's unicode61 takes for a part of the letter before them, as decomposed text has them.
_WORDS = re.compile(r"[\w'\u0300-\u0331]+")
# FTS5 nests one NOT in the other, and refuses an expression more than 256 deep.
_MOST_NEGATIONS = 100


def match_expression(query: str) -> str | None:
    """The FTS5 MATCH expression of ``query``, or None where nothing positive remains."""
    positive: list[str] = []
    negative: list[str] = []
    for token in _TOKEN.finditer(query):
        phrase = token.group("phrase")
        if phrase is not None:
            expression = _phrase(_words(phrase))
            minus = bool(token.group("minus"))
        else:
            term = token.group("term")
            minus = term.startswith("-") and len(term) > 1
            expression = _term(term[1:] if minus else term)
        if expression:
            (negative if minus else positive).append(expression)
    if not positive:
        return None
    if len(negative) > _MOST_NEGATIONS:
        return f"({' AND '.join(positive)}) NOT ({' OR '.join(map(_grouped, negative))})"
    return " AND ".join(positive) + "".join(f" NOT {_grouped(expression)}" for expression in negative)


def _grouped(expression: str) -> str:
    return f"({expression})" if " AND " in expression else expression


def _term(term: str) -> str:
    words = _words(term)
    if len(words) > 1 and "." in term and term.split(".") == words:
        parts = [f'"{word}"*' for word in words]
        return parts[0] if len(parts) == 1 else " AND ".join(parts)
    if len(words) > 1 or cjk.has_cjk(term):
        return _phrase(words)
    return f'"{words[0]}"*' if words else ""


def _phrase(words: list[str]) -> str:
    text = " ".join(cjk.normalize(" ".join(words)).split())
    return f'"{text}"' if text else ""


def _words(text: str) -> list[str]:
    return [word for word in _WORDS.findall(text.lower()) if any(map(str.isalnum, word))]
