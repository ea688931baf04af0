"""qmd's tools: schemas, and what each does with its arguments: one call into the index, an answer for a client.

Names, arguments, defaults and hints are those of qmd 2.8.3's tools; ``ALIASES`` has the names of its fork.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents, ToolAnnotations

from qmd.index import references, retrieve, virtual
from qmd.index.retrieve import DEFAULT_MAX_BYTES
from qmd.mcp import queries
from qmd.mcp.library import NoIndex
from qmd.mcp.server import MIME_TYPE, Tool, encode
from qmd.search import structured
from qmd.vectors import models

if TYPE_CHECKING:
    import apsw

    from qmd.mcp.library import Library

# A multi_get answers with at most this many characters of documents; the rest it names.
MOST_CHARACTERS = 8_000_000

_NEITHER = "Error: provide either 'query' (plain text) or 'searches' (typed sub-queries)"
_BOTH = "Error: 'query' and 'searches' are mutually exclusive; provide only one"
_NO_INDEX: dict[str, Any] = {
    "totalDocuments": 0,
    "needsEmbedding": 0,
    "hasVectorIndex": False,
    "collections": [],
}


_FORK_MAX_BYTES = 10 * 1024
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _string(description: str) -> dict[str, Any]:
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
        "query": _string(
            'What to look for. lex: words, "an exact phrase", -excluded. vec: a question in plain language.'
            " hyde: 50 to 100 words as the answer might put them."
        ),
    },
    "required": ["type", "query"],
}
_LIMIT = _number("How many results at most", 10)
_MIN_SCORE = _number("Leave out results that score below this (0 to 1)", 0)
_FILE = _string(
    "Path or docid of a result. A line range may follow: 'notes/plan.md:100' is from line 100 on,"
    " '#abc123:100:40' is 40 lines from line 100."
)
_FROM_LINE = _number("First line to return (1-based)")
_PATTERN = _string("A glob, a docid, or several paths and docids with commas between them")


def _numbered(default: bool) -> dict[str, Any]:
    return _flag("Put each line's number before it ('12: text')", default)


def _get_schema(numbered: bool) -> dict[str, Any]:
    return _schema(
        {
            "file": _FILE,
            "fromLine": _FROM_LINE,
            "maxLines": _number("How many lines to return at most"),
            "lineNumbers": _numbered(numbered),
        },
        "file",
    )


def _multi_get_schema(most: int, numbered: bool) -> dict[str, Any]:
    return _schema(
        {
            "pattern": _PATTERN,
            "maxLines": _number("How many lines of each document to return at most"),
            "maxBytes": _number(f"Leave out documents larger than this ({most // 1024} KB by default)", most),
            "lineNumbers": _numbered(numbered),
        },
        "pattern",
    )


def _one_query(min_score: float) -> dict[str, Any]:
    return _schema(
        {
            "query": _string("What to look for"),
            "limit": _LIMIT,
            "minScore": _number("Leave out results that score below this (0 to 1)", min_score),
            "collection": _string("Look only into this collection"),
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


def find(connection: apsw.Connection, name: str, *, body: bool = True) -> retrieve.Retrieved | retrieve.NotFound:
    """Return the document of that name. Only the index is read, so no name leads out of it."""
    if "\0" in name:
        return retrieve.NotFound(name)
    return retrieve.get(connection, name, body=body)


def missing(found: retrieve.NotFound, name: str) -> str:
    """Return the message for a missing document; the caller adds similar paths."""
    if found.ignored:
        collection, path, rule = found.ignored
        return (
            f"Document excluded by ignore rule: {name}\nCollection: {collection}\nMatched path: {path}"
            f"\nIgnore rule: {rule}"
        )
    return f"Document not found: {name}"


def with_context(text: str, context: str) -> str:
    """Return ``text`` after a comment with its context, where it has one."""
    return f"<!-- Context: {context} -->\n\n{text}" if context else text


async def _query(library: Library, values: dict[str, Any]) -> CallToolResult:
    plain, typed = values.get("query", ""), values.get("searches", [])
    if not plain and not typed:
        return failure(_NEITHER)
    if plain and typed:
        return failure(_BOTH)
    query = queries.Query(
        [structured.Search(search["type"], search["query"], 0) for search in typed],
        plain=plain,
        collections=values.get("collections"),
        limit=values["limit"],
        min_score=values["minScore"],
        candidates=values.get("candidateLimit"),
        intent=values.get("intent", ""),
        rerank=values.get("rerank", True),
    )
    return await _search(library, query, queries.run)


async def _keywords(library: Library, values: dict[str, Any]) -> CallToolResult:
    return await _search(library, _one("lex", values), queries.keywords)


async def _vectors(library: Library, values: dict[str, Any]) -> CallToolResult:
    return await _search(library, _one("", values), queries.vectors)


async def _deep(library: Library, values: dict[str, Any]) -> CallToolResult:
    return await _search(library, _one("", values), queries.run)


def _one(kind: str, values: dict[str, Any]) -> queries.Query:
    words = values["query"]
    return queries.Query(
        [structured.Search(kind, words, 0)] if kind else [],
        plain="" if kind else words,
        collections=[values["collection"]] if values.get("collection") else None,
        limit=values["limit"],
        min_score=values["minScore"],
    )


async def _search(library: Library, query: queries.Query, engine: queries.Engine) -> CallToolResult:
    def look(connection: apsw.Connection) -> tuple[list[dict[str, Any]], str]:
        if query.plain and engine is queries.run:
            expander = library.expander(connection)
            query.expander = None if isinstance(expander, str) else expander
        return queries.answered(connection, query, engine, library.embedding, library.judge)

    try:
        hits, note = await library.ask(look)
    except NoIndex:
        structured.check(query.searches)
        hits, note = [], queries.NO_EMBEDDINGS if query.semantic else ""
    content = [_text(_summary(hits, query.primary))]
    if note:
        content.append(_text(note))
    return CallToolResult(content=[*content], structured_content={"results": hits})


def _summary(hits: list[dict[str, Any]], words: str) -> str:
    if not hits:
        return f'No results found for "{words}"'
    lines = [f'Found {len(hits)} result{"" if len(hits) == 1 else "s"} for "{words}":\n']
    lines += [
        f"{hit['docid']} {round(hit['score'] * 100)}% {virtual.on_one_line(hit['file'])} - {hit['title']}"
        for hit in hits
    ]
    return "\n".join(lines)


async def _get(library: Library, values: dict[str, Any]) -> CallToolResult:
    given: str = values["file"]
    name, first, count = references.split_range(given)
    first = int(values["fromLine"]) if "fromLine" in values else first
    count = int(values["maxLines"]) if "maxLines" in values else count
    first = None if first is None else max(1, first)
    try:
        found = await library.ask(lambda connection: find(connection, name))
    except NoIndex:
        found = retrieve.NotFound(name)
    if isinstance(found, retrieve.NotFound):
        message = missing(found, given)
        if found.similar:
            message += "\n\nDid you mean one of these?\n" + "\n".join(f"  - {path}" for path in found.similar)
        return failure(message)
    # Filter the whole text before lines are cut out: a secret may span several lines.
    text = references.lines(await library.outgoing(found.body or ""), first, count)
    if values["lineNumbers"]:
        text = references.number_lines(text, first or 1)
    return CallToolResult(content=[_resource(found, text)])


async def _multi_get(library: Library, values: dict[str, Any]) -> CallToolResult:
    pattern: str = values["pattern"]
    if not pattern or "\0" in pattern:
        return failure("Expected pattern to be a non-empty string")
    most = int(values["maxBytes"]) or retrieve.DEFAULT_MAX_BYTES
    try:
        entries, errors = await library.ask(lambda connection: retrieve.multi_get(connection, pattern, max_bytes=most))
    except NoIndex:
        entries, errors = [], [f"No files matched pattern: {pattern}"]
    content: list[TextContent | EmbeddedResource] = [_text("Errors:\n" + "\n".join(errors))] if errors else []
    room = MOST_CHARACTERS
    for entry in entries:
        document, reason = entry.document, entry.skipped
        room -= len(document.body or "")
        if room < 0 and not reason:
            reason = "the answer is full"
        if reason:
            name = document.display
            content.append(_text(f"[SKIPPED: {name} - {reason}. Use 'qmd_get' with file=\"{name}\" to retrieve.]"))
        else:
            content.append(_resource(document, _first_lines(await library.outgoing(document.body or ""), values)))
    return CallToolResult(content=[*content])


def _first_lines(text: str, values: dict[str, Any]) -> str:
    if "maxLines" in values:
        most, lines = int(values["maxLines"]), text.split("\n")
        text = "\n".join(lines[:most])
        if len(lines) > most:
            text += f"\n\n[... truncated {len(lines) - most} more lines]"
    return references.number_lines(text) if values["lineNumbers"] else text


async def _status(library: Library, _values: dict[str, Any]) -> CallToolResult:
    model = library.embedding_model
    try:
        status = await library.ask(lambda connection: models.status(connection, model, library.embedding))
    except NoIndex:
        status = dict(_NO_INDEX)
    lines = [
        "QMD Index Status:",
        f"  Total documents: {status['totalDocuments']}",
        f"  Needs embedding: {status['needsEmbedding']}",
        f"  Vector index: {'yes' if status['hasVectorIndex'] else 'no'}",
        f"  Collections: {len(status['collections'])}",
    ]
    lines += [f"    - {each['name']}: {each['path']} ({each['documents']} docs)" for each in status["collections"]]
    return CallToolResult(content=[_text("\n".join(lines))], structured_content=status)


def _resource(document: retrieve.Retrieved, text: str) -> EmbeddedResource:
    return EmbeddedResource(
        resource=TextResourceContents(
            uri=encode(document.display),
            mime_type=MIME_TYPE,
            text=with_context(text, document.context),
        )
    )


def _text(text: str) -> TextContent:
    return TextContent(text=text)


def failure(message: str) -> CallToolResult:
    return CallToolResult(content=[_text(message)], is_error=True)


_HINTS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def _table(*tools: Tool) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools}


TOOLS = _table(
    Tool(
        "query",
        "Query",
        _QUERY_HELP,
        _schema(
            {
                "query": _string("Plain words or a question. Either this or 'searches'."),
                "searches": {
                    "description": "Typed searches, combined; the first counts twice. Either this or 'query'.",
                    "maxItems": 10,
                    "type": "array",
                    "items": _SEARCH,
                },
                "limit": _LIMIT,
                "minScore": _MIN_SCORE,
                "candidateLimit": _number("How many of the best are looked at closely (40 by default)"),
                "collections": {
                    "description": "Look only into these collections",
                    "type": "array",
                    "items": {"type": "string"},
                },
                "intent": _string("What the search is for, to tell meanings apart. Looks for nothing by itself."),
                "rerank": _flag("Let a model order the best results, where there is one", True),
            }
        ),
        _query,
        _HINTS,
    ),
    Tool(
        "get",
        "Get Document",
        "One document, or some of its lines, by path or docid (#abc123). Names paths like it where there is none.",
        _get_schema(True),
        _get,
        _HINTS,
    ),
    Tool(
        "multi_get",
        "Multi-Get Documents",
        "Several documents: by glob ('journals/2025-05*.md'), or by paths and docids with commas between them."
        " Documents larger than maxBytes are named and left out.",
        _multi_get_schema(DEFAULT_MAX_BYTES, True),
        _multi_get,
        _HINTS,
    ),
    Tool(
        "status",
        "Index Status",
        "State of the index: its collections, how many documents each has, and what is not embedded yet.",
        _schema({}),
        _status,
        _HINTS,
    ),
)

# The fork's names, for clients that were set up for them and ask.
ALIASES = _table(
    Tool(
        "qmd_search",
        "Keyword Search",
        "Keyword search. An older name for `query` with one lex search; scores are BM25's, 0 to 1.",
        _one_query(0),
        _keywords,
        _HINTS,
    ),
    Tool(
        "qmd_vector_search",
        "Vector Search",
        "Search by meaning. An older name for `query` with one vec search.",
        _one_query(0.3),
        _vectors,
        _HINTS,
    ),
    Tool(
        "qmd_deep_search",
        "Deep Search",
        "Search by words and by meaning. An older name for `query` with plain words.",
        _one_query(0),
        _deep,
        _HINTS,
    ),
    Tool(
        "qmd_get",
        "Get Document",
        "An older name for `get`; without line numbers unless asked for.",
        _get_schema(False),
        _get,
        _HINTS,
    ),
    Tool(
        "qmd_multi_get",
        "Multi-Get Documents",
        "An older name for `multi_get`; leaves out documents above 10 KB by default.",
        _multi_get_schema(_FORK_MAX_BYTES, False),
        _multi_get,
        _HINTS,
    ),
    Tool(
        "qmd_status",
        "Index Status",
        "An older name for `status`.",
        _schema({}),
        _status,
        _HINTS,
    ),
)
