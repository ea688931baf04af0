"""Query documents: lines typed ``lex:``, ``vec:`` or ``hyde:``, with at most one ``intent:`` line.

Grammar and messages are qmd 2.8.3's.
"""

from __future__ import annotations

import re

from qmd import ecma

_TYPED = re.compile(r"(lex|vec|hyde):\s*", re.IGNORECASE)
_EXPAND = re.compile(r"expand:\s*", re.IGNORECASE)
_INTENT = re.compile(r"intent:\s*", re.IGNORECASE)
_NEGATION = re.compile(r'(?:^|\s)-["\w]', re.ASCII)
_AROUND = re.compile(r"^(?:[^\w]|_)+|(?:[^\w]|_)+$")

# Words of an intent that say how something is looked for, not what.
_STOP = frozenset(
    """am an as at be by do he if in is it me my no of on or so to up us we all and any are but can did for get has her
    him his how its let may not our out the too was who why you also does find from have into more need show some tell
    that them this want what when will with your about looking notes search where which""".split()
)


class QueryError(ValueError):
    """A query document that breaks the grammar; the message says where."""


class Search:
    """One typed line; ``kind`` is ``lex``, ``vec`` or ``hyde``; ``line`` is 1-based."""

    __slots__ = ("kind", "line", "query")

    def __init__(self, kind: str, query: str, line: int) -> None:
        self.kind = kind
        self.query = query
        self.line = line


class Structured:
    """A query document: its searches, in order, and its intent (empty for none)."""

    __slots__ = ("intent", "searches")

    def __init__(self, searches: list[Search], intent: str) -> None:
        self.searches = searches
        self.intent = intent


def parse(query: str) -> Structured | None:
    """Return the typed lines of ``query``, None for plain text, which is to be expanded. Raises QueryError."""
    lines = [(number, text) for number, raw in enumerate(query.split("\n"), 1) if (text := ecma.trim(raw))]
    searches: list[Search] = []
    intent = ""
    for number, text in lines:
        if expand := _EXPAND.match(text):
            if len(lines) > 1:
                raise QueryError(
                    f"Line {number} starts with expand:, but query documents cannot mix expand with typed lines."
                    " Submit a single expand query instead."
                )
            if not ecma.trim(text[expand.end() :]):
                raise QueryError("expand: query must include text.")
            return None
        if found := _INTENT.match(text):
            if intent:
                raise QueryError(f"Line {number}: only one intent: line is allowed per query document.")
            intent = ecma.trim(text[found.end() :])
            if not intent:
                raise QueryError(f"Line {number}: intent: must include text.")
        elif found := _TYPED.match(text):
            kind, rest = found.group(1).lower(), ecma.trim(text[found.end() :])
            if not rest:
                raise QueryError(f"Line {number} ({kind}:) must include text.")
            if "\r" in rest:
                raise QueryError(f"Line {number} ({kind}:) contains a newline. Keep each query on a single line.")
            searches.append(Search(kind, rest, number))
        elif len(lines) == 1:
            return None
        else:
            raise QueryError(
                f"Line {number} is missing a lex:/vec:/hyde:/intent: prefix."
                " Each line in a query document must start with one."
            )
    if intent and not searches:
        raise QueryError("intent: cannot appear alone. Add at least one lex:, vec:, or hyde: line.")
    return Structured(searches, intent) if searches else None


def plain(query: str) -> str:
    """Return the words of a query without typed lines, without an ``expand:`` before them."""
    found = _EXPAND.match(text := ecma.trim(query))
    return ecma.trim(text[found.end() :]) if found else query


def check(searches: list[Search]) -> None:
    """Check that each search may be run as its kind. Raises QueryError."""
    for search in searches:
        where = f"Line {search.line}" if search.line else "Structured search"
        if "\n" in search.query or "\r" in search.query:
            raise QueryError(f"{where} ({search.kind}): queries must be single-line. Remove newline characters.")
        wrong = lex_error(search.query) if search.kind == "lex" else semantic_error(search.query)
        if wrong:
            raise QueryError(f"{where} ({search.kind}): {wrong}")


def lex_error(query: str) -> str | None:
    """Return the fault of a ``lex`` query, or None."""
    if "\n" in query or "\r" in query:
        return "Lex queries must be a single line. Remove newline characters or split into separate lex: lines."
    if query.count('"') % 2:
        return 'Lex query has an unmatched double quote ("). Add the closing quote or remove it.'
    return None


def semantic_error(query: str) -> str | None:
    """Return the fault of a ``vec`` or ``hyde`` query, or None: they know no exclusion."""
    if _NEGATION.search(query):
        return "Negation (-term) is not supported in vec/hyde queries. Use lex for exclusions."
    return None


def intent_terms(intent: str) -> list[str]:
    """Return the words of an intent that name the thing looked for, lowercase, without punctuation around them."""
    found = [_AROUND.sub("", word) for word in ecma.words(intent.lower())]
    return [word for word in found if ecma.length(word) > 1 and word not in _STOP]
