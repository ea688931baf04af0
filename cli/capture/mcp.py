"""``brain mcp``: the memory as tools, for any MCP client."""

from __future__ import annotations

import os

from cli.context import Context
from cli.spec import Args, Command, Option
from core.errors import BadInput

_HOST = "localhost"
_PORT = 8282
_MOST_PORT = 65_535


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:6]) <= _MOST_PORT:
        raise ValueError("a port, 1 to 65535")
    return int(text)


COMMAND = Command(
    "mcp",
    "serve the memory as tools for MCP clients",
    description=(
        "Serve brain_ask, brain_recent, brain_get, brain_trace, brain_why, brain_inbox, brain_explain, "
        "search_sessions and\n"
        "semantic_search, on standard input and output (the default) or over HTTP. Ends with its client."
    ),
    options=(
        Option("--http", help="over Streamable HTTP, at http://HOST:PORT/mcp, until a signal comes"),
        Option("--port", metavar="PORT", default=_PORT, convert=_port, help=f"with --http ({_PORT})"),
        Option("--host", metavar="HOST", default=_HOST, help=f"with --http ({_HOST}: this machine only)"),
    ),
    examples=("brain mcp", "claude mcp add brain -- brain mcp", "brain mcp --http --port 9000"),
)


def run(args: Args, context: Context) -> int:
    """Serve until the client goes or a signal comes."""
    # Before anything takes time: whoever started the server may be gone by the time that it serves.
    parent = os.getppid()
    if args.json:
        raise BadInput("a server prints no JSON object", "brain mcp")
    context.home.make()
    from runtime.mcp.server import Service

    service = Service(context.home)
    if args.http:
        from qmd.mcp import http

        return http.serve(service, args.host, args.port, context.home)
    from qmd.mcp import stdio

    return stdio.serve(service, parent)
