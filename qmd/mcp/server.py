"""The MCP server: what it answers, whatever the transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.shared.exceptions import MCPError

from core.errors import BrainError
from core.version import VERSION
from qmd import COMPATIBLE
from qmd.mcp import instructions, resources, rest, tools
from qmd.mcp.library import NoIndex

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.models import InitializationOptions

    from qmd.mcp.library import Library

NAME = "qmd"
_GREETINGS = ("initialize", "server/discover")


class Service:
    """A server over ``library``: ``server`` for the transports, ``options`` for those with a handshake."""

    title = "QMD"
    paths: tuple[str, ...] = ("/query", "/search")

    def __init__(self, library: Library) -> None:
        self.library = library
        self.server: Server[Any] = Server(
            NAME,
            version=f"{COMPATIBLE}+brain.{VERSION}",
            cache_hints={
                "tools/list": CacheHint(ttl_ms=60_000),
                "server/discover": CacheHint(ttl_ms=60_000),
                "resources/read": CacheHint(ttl_ms=0),
            },
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )
        # Ours alone: no span, and no question, is handed to whatever tracing the process may have.
        self.server.middleware[:] = [self._greet]
        self.options: InitializationOptions = self.server.create_initialization_options()

    def interrupt(self) -> None:
        """See ``Speaker``."""
        self.library.interrupt()

    async def rest(self, body: bytes) -> tuple[int, Any]:
        """``/query`` and ``/search``, as qmd has them."""
        return await rest.search(self.library, body)

    async def _greet(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Whoever connects is told how the index stands at that moment, whoever reads how a document is named."""
        if ctx.method in _GREETINGS:
            self.server.instructions = self.options.instructions = await self.greeting()
        result = await call_next(ctx)
        if ctx.method == "resources/read" and isinstance(result, dict):
            resources.with_names(result)
        return result

    async def greeting(self) -> str:
        """The instructions for the index as it stands; an index that cannot be read is said to be one."""
        try:
            return await self.library.ask(
                lambda connection: instructions.build(connection, self.library.embedding_model, self.library.embedding)
            )
        except NoIndex:
            return instructions.EMPTY
        except BrainError as error:
            return f"QMD is your local search engine, but its index cannot be read: {error.message}\n{error.fix}"

    async def _list_tools(self, _ctx: Any, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        await self.library.refresh()
        return types.ListToolsResult(tools=tools.listed(self.library.aliases))

    async def _call_tool(self, _ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            return await tools.call(self.library, params.name, params.arguments or {})
        except tools.UnknownTool as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None

    async def _list_resources(
        self, _ctx: Any, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def _list_templates(
        self, _ctx: Any, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="document",
            title="QMD Document",
            uri_template=resources.TEMPLATE,
            description="A document of the index. The search tools say which there are.",
            mime_type=resources.MIME_TYPE,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(self, _ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            name = resources.decode(uri)
        except resources.BadAddress as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"uri": uri}) from None
        try:
            outgoing = self.library.settings.outgoing
            contents = await self.library.ask(lambda connection: resources.read(connection, uri, outgoing))
        except NoIndex:
            contents = types.TextResourceContents(uri=uri, text=f"Document not found: {name}")
        except BrainError as error:
            raise MCPError(types.INTERNAL_ERROR, f"{error.message}\n{error.fix}".strip()) from None
        value = self.library.fenced(contents.model_dump(mode="json", by_alias=True))
        return types.ReadResourceResult(contents=[types.TextResourceContents.model_validate(value)])
