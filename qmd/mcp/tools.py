"""What the tools do: arguments, one call into the index, an answer for a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents, Tool, ToolAnnotations

from core.errors import BrainError
from qmd.index import references, retrieve, virtual
from qmd.mcp import arguments, queries, resources
from qmd.mcp.library import NoIndex
from qmd.mcp.schemas import ALIASES, TOOLS
from qmd.search import structured

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


class UnknownTool(LookupError):
    """No tool has that name."""


def known(aliases: bool) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return the tools by name, with those of the fork if ``aliases``."""
    return {**TOOLS, **ALIASES} if aliases else TOOLS


def listed(aliases: bool) -> list[Tool]:
    """Return the tools, as ``tools/list`` gives them."""
    hints = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return [
        Tool(name=name, title=title, description=description, input_schema=schema, annotations=hints)
        for name, (title, description, schema) in known(aliases).items()
    ]


async def call(library: Library, name: str, given: dict[str, Any]) -> CallToolResult:
    """Run a tool. What is wrong with a question is in the answer, for the client to correct. Raises UnknownTool."""
    tools = known(library.aliases)
    if name not in tools:
        raise UnknownTool(f"Tool {name} not found")
    values, wrong = arguments.check(name, tools[name][2], given)
    if wrong:
        return _failure(wrong)
    try:
        return await _checked(library, await _RUN[name](library, values))
    except structured.QueryError as error:
        return await _checked(library, _failure(str(error)))
    except BrainError as error:
        # Withheld, perhaps: what is said of it holds no document's text.
        return _failure(f"{error.message}\n{error.fix}".strip())


async def _checked(library: Library, result: CallToolResult) -> CallToolResult:
    """Return everything in an answer as it may leave, whichever tool made it."""
    if library.settings.egress is None:
        return result
    value = await library.outgoing(result.model_dump(mode="json", by_alias=True))
    return CallToolResult.model_validate(library.fenced(value))


async def _query(library: Library, values: dict[str, Any]) -> CallToolResult:
    plain, typed = values.get("query", ""), values.get("searches", [])
    if not plain and not typed:
        return _failure(_NEITHER)
    if plain and typed:
        return _failure(_BOTH)
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
        found = await library.ask(lambda connection: resources.find(connection, name))
    except NoIndex:
        found = retrieve.NotFound(name)
    if isinstance(found, retrieve.NotFound):
        message = resources.missing(found, given)
        if found.similar:
            message += "\n\nDid you mean one of these?\n" + "\n".join(f"  - {path}" for path in found.similar)
        return _failure(message)
    # Before lines are cut out and numbered: what goes over several could not be told any more.
    text = references.lines(await library.outgoing(found.body or ""), first, count)
    if values["lineNumbers"]:
        text = references.number_lines(text, first or 1)
    return CallToolResult(content=[_resource(found, text)])


async def _multi_get(library: Library, values: dict[str, Any]) -> CallToolResult:
    pattern: str = values["pattern"]
    if not pattern or "\0" in pattern:
        return _failure("Expected pattern to be a non-empty string")
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
        status = await library.ask(lambda connection: retrieve.status(connection, model, library.embedding))
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


def _resource(document: retrieve.Document, text: str) -> EmbeddedResource:
    return EmbeddedResource(
        resource=TextResourceContents(
            uri=resources.encode(document.display),
            mime_type=resources.MIME_TYPE,
            text=resources.with_context(text, document.context),
        )
    )


def _text(text: str) -> TextContent:
    return TextContent(text=text)


def _failure(message: str) -> CallToolResult:
    return CallToolResult(content=[_text(message)], is_error=True)


_RUN = {
    "query": _query,
    "get": _get,
    "multi_get": _multi_get,
    "status": _status,
    "qmd_search": _keywords,
    "qmd_vector_search": _vectors,
    "qmd_deep_search": _deep,
    "qmd_get": _get,
    "qmd_multi_get": _multi_get,
    "qmd_status": _status,
}
