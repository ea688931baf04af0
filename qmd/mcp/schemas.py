"""The tools: names, what they say of themselves, and the JSON Schemas of their arguments.

Names, arguments, defaults and hints are those of qmd 2.8.3's tools, and in ``ALIASES`` of its fork's.
"""

from __future__ import annotations

from typing import Any

from qmd.index.retrieve import DEFAULT_MAX_BYTES

_FORK_MAX_BYTES = 10 * 1024
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _text(description: str) -> dict[str, Any]:
    return {"description": description, "type": "string"}


def _number(description: str, default: float | None = None) -> dict[str, Any]:
    rule: dict[str, Any] = {"description": description, "type": "number"}
    return rule if default is None else {**rule, "default": default}


def _flag(description: str, default: bool) -> dict[str, Any]:
    return {"description": description, "default": default, "type": "boolean"}


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"$schema": _DIALECT, "type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema


_SEARCH = {
    "type": "object",
    "properties": {
        "type": {
            "description": "lex: keywords; vec: a question by its meaning; hyde: a passage such as the answer would be",
            "type": "string",
            "enum": ["lex", "vec", "hyde"],
        },
        "query": _text(
            'What to look for. lex: words, "an exact phrase", -excluded. vec: a question in plain language.'
            " hyde: 50 to 100 words as the answer might put them."
        ),
    },
    "required": ["type", "query"],
}
_LIMIT = _number("How many results at most", 10)
_MIN_SCORE = _number("Leave out results that score below this (0 to 1)", 0)
_FILE = _text(
    "Path or docid of a result. A line range may follow: 'notes/plan.md:100' is from line 100 on,"
    " '#abc123:100:40' is 40 lines from line 100."
)
_FROM_LINE = _number("First line to return (1-based)")
_PATTERN = _text("A glob, a docid, or several paths and docids with commas between them")


def _numbered(default: bool) -> dict[str, Any]:
    return _flag("Put each line's number before it ('12: text')", default)


def _get(numbered: bool) -> dict[str, Any]:
    return _schema(
        {
            "file": _FILE,
            "fromLine": _FROM_LINE,
            "maxLines": _number("How many lines to return at most"),
            "lineNumbers": _numbered(numbered),
        },
        "file",
    )


def _multi_get(most: int, numbered: bool) -> dict[str, Any]:
    return _schema(
        {
            "pattern": _PATTERN,
            "maxLines": _number("How many lines of each document to return at most"),
            "maxBytes": _number(f"Leave out documents larger than this ({most // 1024} KB unless told)", most),
            "lineNumbers": _numbered(numbered),
        },
        "pattern",
    )


def _one_query(min_score: float) -> dict[str, Any]:
    return _schema(
        {
            "query": _text("What to look for"),
            "limit": _LIMIT,
            "minScore": _number("Leave out results that score below this (0 to 1)", min_score),
            "collection": _text("Look only into this collection"),
        },
        "query",
    )


_QUERY_HELP = """\
Search the indexed documents. Give either `query` (plain words) or `searches` (typed; several are combined).

Types of `searches`:
- lex: keywords, all of which must occur. `perf` also finds "performance"; `"connection pool"` is an exact phrase; \
`-redis` or `-"read replica"` excludes.
- vec: a question, matched by meaning rather than by words.
- hyde: a short passage such as the answer might read, matched by meaning.

The first search counts twice, so put the surest one first. A known name or term: lex alone. A concept: vec. \
To miss as little as possible: lex and vec, and hyde where the subject is subtle. `intent` says what it is for: it \
looks for nothing by itself but chooses better excerpts.

    {"searches": [{"type": "lex", "query": "\\"connection pool\\" timeout -redis"}], "intent": "why requests hang"}

Each result has the `line` (1-based) of its best match: `get` with `fromLine` a little before it shows more."""

# By name: title, description, schema of the arguments.
TOOLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "query": (
        "Query",
        _QUERY_HELP,
        _schema(
            {
                "query": _text("Plain words or a question. Either this or 'searches'."),
                "searches": {
                    "description": "Typed searches, combined; the first counts twice. Either this or 'query'.",
                    "maxItems": 10,
                    "type": "array",
                    "items": _SEARCH,
                },
                "limit": _LIMIT,
                "minScore": _MIN_SCORE,
                "candidateLimit": _number("How many of the best are looked at closely (40 unless told)"),
                "collections": {
                    "description": "Look only into these collections",
                    "type": "array",
                    "items": {"type": "string"},
                },
                "intent": _text("What the search is for, to tell meanings apart. Looks for nothing by itself."),
                "rerank": _flag("Let a model order the best results, where there is one", True),
            }
        ),
    ),
    "get": (
        "Get Document",
        "One document, or some of its lines, by path or docid (#abc123). Names paths like it where there is none.",
        _get(True),
    ),
    "multi_get": (
        "Multi-Get Documents",
        "Several documents: by glob ('journals/2025-05*.md'), or by paths and docids with commas between them."
        " Documents larger than maxBytes are named and left out.",
        _multi_get(DEFAULT_MAX_BYTES, True),
    ),
    "status": (
        "Index Status",
        "How the index stands: its collections, how many documents each has, and what is not embedded yet.",
        _schema({}),
    ),
}

# The fork's names, for clients that were set up for them and ask.
ALIASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "qmd_search": (
        "Keyword Search",
        "Keyword search. An older name for `query` with one lex search; scores are BM25's, 0 to 1.",
        _one_query(0),
    ),
    "qmd_vector_search": (
        "Vector Search",
        "Search by meaning. An older name for `query` with one vec search.",
        _one_query(0.3),
    ),
    "qmd_deep_search": (
        "Deep Search",
        "Search by words and by meaning. An older name for `query` with plain words.",
        _one_query(0),
    ),
    "qmd_get": (
        "Get Document",
        "An older name for `get`; without line numbers unless asked for.",
        _get(False),
    ),
    "qmd_multi_get": (
        "Multi-Get Documents",
        "An older name for `multi_get`; leaves out documents above 10 KB unless told otherwise.",
        _multi_get(_FORK_MAX_BYTES, False),
    ),
    "qmd_status": (
        "Index Status",
        "An older name for `status`.",
        _schema({}),
    ),
}
