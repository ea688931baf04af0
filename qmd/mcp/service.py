"""qmd's MCP server: its tools over one index, its documents, and what a client reads when it connects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.shared.exceptions import MCPError

from core.errors import BrainError
from core.version import VERSION
from qmd import COMPATIBLE
from qmd.index import retrieve
from qmd.index.references import number_lines
from qmd.mcp import queries, tools
from qmd.mcp.library import NoIndex
from qmd.mcp.server import ADDRESSES, MIME_TYPE, Tool, ToolServer
from qmd.search import structured
from qmd.vectors import models

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from qmd.mcp.library import Library

_GREETINGS = ("initialize", "server/discover")
# The key under which a document's names pass through the SDK.
_NAMED = "brain/named"
_EMPTY = "QMD is your local search engine over 0 markdown documents. There is no index yet: `qmd collection add PATH`."
_SEARCHING = """\
Search: `query` takes `searches`, each with a type:
  - lex: keywords (exact, fast)
  - vec: a question, by meaning
  - hyde: a passage such as the answer might read, by meaning
  `intent` says what a search is for: give it with every one.

Examples:
  A name or term: searches=[{type:'lex', query:'error handling'}]
  A concept: searches=[{type:'vec', query:'how are errors handled'}]
  Both: searches=[{type:'lex', query:'error'}, {type:'vec', query:'how are errors handled'}]
  With intent: searches=[{type:'lex', query:'performance'}], intent='web page load times'

Retrieval:
  - `get`: one document by path or docid (#abc123); `notes.md:100` is from line 100 on, `notes.md:100:40` 40 lines.
  - `multi_get`: several, by glob (`journals/2025-05*.md`), or by paths and docids with commas between them.

Tips:
  - A result's `file` begins with its collection; `get` takes it as it is, and its `line` as fromLine.
  - `minScore: 0.5` leaves out what is hardly relevant.
  - `context`, where a result has it, says what kind of document it is."""


class Service(ToolServer):
    """The server over the index of ``library``."""

    title = "QMD"
    paths = ("/query", "/search")
    template = types.ResourceTemplate(
        name="document",
        title="QMD Document",
        uri_template=ADDRESSES,
        description="A document of the index. The search tools say which there are.",
        mime_type=MIME_TYPE,
    )

    def __init__(self, library: Library) -> None:
        hints = {"tools/list": 60_000, "server/discover": 60_000, "resources/read": 0}
        super().__init__(
            "qmd",
            f"{COMPATIBLE}+brain.{VERSION}",
            hints={method: CacheHint(ttl_ms=milliseconds) for method, milliseconds in hints.items()},
        )
        self.library = library
        self.server.middleware[:] = [self._greet]

    def tools(self) -> Mapping[str, Tool]:
        """Return qmd's four tools, and those of its fork if the user asked for their names."""
        return {**tools.TOOLS, **tools.ALIASES} if self.library.aliases else tools.TOOLS

    async def refresh(self) -> None:
        """Read the configuration again: it may ask for the fork's names."""
        await self.library.refresh()

    async def call(self, tool: Tool, values: dict[str, Any], _given: dict[str, Any]) -> types.CallToolResult:
        """Run a tool. Everything in the answer passes the egress filter, whichever tool made it."""
        try:
            return await self._released(await tool.run(self.library, values))
        except structured.QueryError as error:
            return await self._released(tools.failure(str(error)))

    async def _released(self, result: types.CallToolResult) -> types.CallToolResult:
        if self.library.settings.egress is None:
            return result
        value = await self.library.outgoing(result.model_dump(mode="json", by_alias=True))
        return types.CallToolResult.model_validate(self.library.fenced(value))

    def failed(self, error: BrainError) -> types.CallToolResult:
        """Return an error as text. The message of an error holds no document's text."""
        return tools.failure(f"{error.message}\n{error.fix}".strip())

    def interrupt(self) -> None:
        """End the calls that run, and refuse later ones."""
        self.library.interrupt()

    async def rest(self, body: bytes) -> tuple[int, Any]:
        """Answer ``POST /query`` and ``/search`` as qmd does."""
        return await queries.rest(self.library, body)

    async def greeting(self) -> str:
        """Return the instructions for the index in its present state, or why it cannot be read."""
        library = self.library
        try:
            return await library.ask(
                lambda connection: instructions(connection, library.embedding_model, library.embedding)
            )
        except NoIndex:
            return _EMPTY
        except BrainError as error:
            return f"QMD is your local search engine, but its index cannot be read: {error.message}\n{error.fix}"

    async def read(self, uri: str, name: str) -> types.TextResourceContents:
        """Return a document, or a text that says there is none of that name. Raises MCPError."""
        try:
            contents = await self.library.ask(lambda connection: self._document(connection, uri, name))
        except NoIndex:
            contents = types.TextResourceContents(uri=uri, text=f"Document not found: {name}")
        except BrainError as error:
            raise MCPError(types.INTERNAL_ERROR, f"{error.message}\n{error.fix}".strip()) from None
        value = self.library.fenced(contents.model_dump(mode="json", by_alias=True))
        return types.TextResourceContents.model_validate(value)

    def _document(self, connection: apsw.Connection, uri: str, name: str) -> types.TextResourceContents:
        outgoing = self.library.settings.outgoing
        found = tools.find(connection, name)
        if isinstance(found, retrieve.NotFound):
            return types.TextResourceContents(uri=uri, text=tools.missing(found, name))
        text = tools.with_context(number_lines(outgoing(found.body or "")), outgoing(found.context or ""))
        named = {_NAMED: {"name": f"{found.collection}/{found.path}", "title": outgoing(found.title)}}
        return types.TextResourceContents(uri=uri, mime_type=MIME_TYPE, text=text, _meta=named)

    async def _greet(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Give a client that connects the present instructions, and a client that reads the document's names."""
        if ctx.method in _GREETINGS:
            self.server.instructions = self.options.instructions = await self.greeting()
        result = await call_next(ctx)
        if ctx.method == "resources/read" and isinstance(result, dict):
            _put_names(result)
        return result


def instructions(connection: apsw.Connection, model: str = "", embedding: dict[str, Any] | None = None) -> str:
    """Return the instructions for the index in its present state. Raises apsw.Error."""
    status = models.status(connection, model, embedding)
    lines = [f"QMD is your local search engine over {status['totalDocuments']} markdown documents."]
    row = connection.execute("SELECT value FROM store_config WHERE key = 'global_context'").fetchone()
    if row and row[0]:
        lines.append(f"Context: {row[0]}")
    if status["collections"]:
        names = ", ".join(collection["name"] for collection in status["collections"])
        lines += ["", f"Collections (narrow a search with `collections`): {names}"]
        lines.append("`status` says what each holds, where it lies and how many documents it has.")
    if not status["hasVectorIndex"]:
        lines += ["", "Note: No vector embeddings yet: vec and hyde find nothing, lex works."]
    elif status["needsEmbedding"]:
        lines += ["", f"Note: {status['needsEmbedding']} documents need embedding. Run `qmd embed` to update."]
    return "\n".join([*lines, "", _SEARCHING])


def _put_names(result: dict[str, Any]) -> None:
    """Put a document's ``collection/path`` and title next to its text, in a result on its way out.

    qmd has them there. The protocol has no such fields, and the SDK drops them from the results that it builds.
    """
    for contents in result.get("contents", ()):
        meta = contents.get("_meta", {})
        contents.update(meta.pop(_NAMED, {}))
        if not meta:
            contents.pop("_meta", None)
