"""An MCP server for tools that are data: what it answers to the protocol, over any transport.

``ToolServer`` is the part that qmd's server and the brain's have in common. The protocol itself is the SDK's.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from core.errors import BadInput, BrainError
from qmd.index import virtual

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server.caching import CacheHint
    from mcp.server.models import InitializationOptions

_Answer = TypeVar("_Answer")

ADDRESSES = "qmd://{+path}"
MIME_TYPE = "text/markdown"
_AT_ONCE = 4
# Characters that encodeURIComponent leaves as they are, and the slash.
_SAFE = "/!'()*-._~"
_KINDS = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array"}


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. ``schema`` is the JSON Schema of its arguments; ``run`` is called with them, as its server says."""

    name: str
    title: str
    description: str
    schema: dict[str, Any]
    run: Callable[..., Any]
    hints: types.ToolAnnotations

    def listed(self) -> types.Tool:
        """Return the entry of ``tools/list``."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.schema,
            annotations=self.hints,
        )

    def usage(self) -> str:
        """Return a sentence with the names of the arguments."""
        return f"{self.name} takes: {', '.join(self.schema['properties'])}"


class Workers:
    """Worker threads for calls into an index: four at a time."""

    def __init__(self) -> None:
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, function: Callable[..., _Answer], *arguments: Any) -> _Answer:
        """Call ``function`` in a worker thread. A cancelled call goes on, and nobody waits for its answer."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_AT_ONCE)  # needs a running event loop
        return await anyio.to_thread.run_sync(function, *arguments, limiter=self._limiter, abandon_on_cancel=True)


class ToolServer:
    """A server: ``server`` for every transport, ``options`` for transports with a handshake.

    A subclass gives the tools, runs a call, reads a document and puts errors into words.
    """

    # The name in the log, and the paths besides ``/mcp`` that are answered by POST.
    title = ""
    paths: tuple[str, ...] = ()
    template: types.ResourceTemplate
    # True if the answer to wrong arguments lists the right ones.
    shows_usage = False

    def __init__(
        self, name: str, version: str, instructions: str = "", hints: Mapping[Any, CacheHint] | None = None
    ) -> None:
        self.server: Server[Any] = Server(
            name,
            version=version,
            instructions=instructions or None,
            cache_hints=hints,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )
        # Without the SDK's own middleware: no question reaches the tracing that this process may have.
        self.server.middleware[:] = []
        self.options: InitializationOptions = self.server.create_initialization_options()

    def tools(self) -> Mapping[str, Tool]:
        """Return the tools by name, in the order in which they are listed."""
        raise NotImplementedError

    async def call(self, tool: Tool, values: dict[str, Any], given: dict[str, Any]) -> types.CallToolResult:
        """Run ``tool``. ``values`` are the checked arguments with their defaults, ``given`` those that the client sent.

        May raise BrainError.
        """
        raise NotImplementedError

    async def read(self, uri: str, name: str) -> types.TextResourceContents:
        """Return the document at the address ``uri``, decoded: ``name``. May raise MCPError."""
        raise NotImplementedError

    def failed(self, error: BrainError) -> types.CallToolResult:
        """Return the result of a call that failed: the client may correct it."""
        raise NotImplementedError

    def fault(self, message: str, data: Any = None) -> MCPError:
        """Return the protocol's error for a request that cannot be answered. ``message`` may quote the client."""
        return MCPError(types.INVALID_PARAMS, message, data)

    def check(self, tool: Tool, given: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Return (the arguments with their defaults, "") or ({}, the fault)."""
        return check(tool.name, tool.schema, given)

    async def refresh(self) -> None:
        """Read what decides which tools there are; called before they are listed."""

    def interrupt(self) -> None:
        """End the calls that run, and refuse later ones: the process is about to end."""

    async def rest(self, body: bytes) -> tuple[int, Any]:
        """Return (status, JSON) of a POST to one of ``paths``."""
        raise LookupError(body[:0])

    async def _list_tools(self, _ctx: Any, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        await self.refresh()
        return types.ListToolsResult(tools=[tool.listed() for tool in self.tools().values()])

    async def answer(self, name: str, given: dict[str, Any]) -> types.CallToolResult:
        """Check the arguments of a tool and run it. Raises MCPError if there is no such tool."""
        tool = self.tools().get(name)
        if tool is None:
            raise self.fault(f"Tool {name} not found")
        values, fault = self.check(tool, given)
        if fault:
            return self.failed(BadInput(fault, tool.usage() if self.shows_usage else ""))
        try:
            return await self.call(tool, values, given)
        except BrainError as error:
            return self.failed(error)

    async def _call_tool(self, _ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await self.answer(params.name, params.arguments or {})

    async def _list_resources(
        self, _ctx: Any, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def _list_templates(
        self, _ctx: Any, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[self.template])

    async def _read_resource(self, _ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            name = decode(uri)
        except BadAddress as error:
            raise self.fault(str(error), {"uri": uri}) from None
        return types.ReadResourceResult(contents=[await self.read(uri, name)])


class BadAddress(ValueError):
    """An address with another scheme, or one that cannot be decoded."""


def encode(path: str) -> str:
    """Return the address of ``collection/path``."""
    return virtual.SCHEME + quote(path, safe=_SAFE)


def decode(uri: str) -> str:
    """Return the ``collection/path`` of an address. Raises BadAddress."""
    if not uri.startswith(virtual.SCHEME) or uri == virtual.SCHEME:
        raise BadAddress(f"Resource not found: {uri}")
    path = uri.removeprefix(virtual.SCHEME)
    if re.search(r"%(?![0-9A-Fa-f]{2})", path):
        raise BadAddress(f"URI malformed: {uri}")
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError:
        raise BadAddress(f"URI malformed: {uri}") from None


def check(tool: str, schema: dict[str, Any], given: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return (the arguments with their defaults, "") or ({}, the fault in qmd 2.8.3's words); drop unknown arguments.

    Knows the part of JSON Schema that the tools use: object, array, string, number, boolean, enum, maxItems.
    """
    faults: list[str] = []
    values = _object(schema, given, "", faults)
    if faults:
        return {}, f"Input validation error: Invalid arguments for tool {tool}: {', '.join(faults)}"
    return values, ""


def _object(schema: dict[str, Any], given: dict[str, Any], where: str, faults: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    required = schema.get("required", ())
    for name, rule in schema["properties"].items():
        path = f"{where}.{name}" if where else name
        if name in given:
            values[name] = _value(rule, given[name], path, faults)
        elif "default" in rule:
            values[name] = rule["default"]
        elif name in required:
            faults.append(f"{path}: {_wrong(rule, 'undefined')}")
    return values


def _value(rule: dict[str, Any], value: Any, path: str, faults: list[str]) -> Any:
    kind = "object" if isinstance(value, dict) else _KINDS[type(value)]
    if kind == "number" and not math.isfinite(value):
        kind = "NaN"
    if kind != rule["type"] or ("enum" in rule and value not in rule["enum"]):
        faults.append(f"{path}: {_wrong(rule, kind)}")
    elif kind == "array":
        if len(value) > rule.get("maxItems", len(value)):
            faults.append(f"{path}: Too big: expected array to have <={rule['maxItems']} items")
            return []
        return [_value(rule["items"], item, f"{path}.{index}", faults) for index, item in enumerate(value)]
    elif kind == "object":
        return _object(rule, value, path, faults)
    return value


def _wrong(rule: dict[str, Any], kind: str) -> str:
    if "enum" in rule:
        return f"Invalid option: expected one of {'|'.join(f'{chr(34)}{option}{chr(34)}' for option in rule['enum'])}"
    return f"Invalid input: expected {rule['type']}, received {kind}"
