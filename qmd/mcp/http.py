"""The server over HTTP: ``/mcp`` (Streamable HTTP, stateless, JSON answers), ``/health``, ``/query`` and ``/search``.

The checks of a request, in order: Origin and Host (403), route (404, 405), client (401, 403), size (413) and slowness
(408) of its body. Only then is it parsed.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import sys
import time
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from core import access_token
from core.text import one_line, printable
from qmd.mcp import daemon
from qmd.mcp.connection import Connection, listen
from qmd.mcp.guard import NEEDED, Guard, shown, token_line

if TYPE_CHECKING:
    import socket

    from starlette.types import Message, Receive, Scope, Send

    from core.home import Home
    from qmd.mcp.server import ToolServer

MOST_BYTES = 1_000_000
BODY_S = 10.0
# Requests answered at a time: in all, and for one address.
_AT_ONCE = 128
_OF_ONE = 48
_LOGGED = 120
_STOP_S = 3
_FORBIDDEN = -32003
_METHOD = -32000


class App:
    """The ASGI application: admitted requests go to the SDK's session manager or to the server's own paths."""

    def __init__(self, service: ToolServer, guard: Guard, log: bool = True) -> None:
        self.manager = StreamableHTTPSessionManager(
            service.server, json_response=True, stateless=True, max_request_body_size=MOST_BYTES
        )
        self._service = service
        self._guard = guard
        self._log = log
        self._started = time.monotonic()
        # By address, how many requests are being answered.
        self._running: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        began = time.monotonic()
        answer = _Answer(send)
        label = ""
        try:
            label = await self._route(scope, receive, answer)
        finally:
            if self._log:
                took = round(1000 * (time.monotonic() - began))
                # Method, path and label are the client's: no line and no escape sequence of theirs goes into the log.
                line = printable(one_line(f"{scope['method']} {scope['path']} {label}", _LOGGED))
                print(f"{time.strftime('%H:%M:%S')} {line} {answer.status} ({took}ms)", file=sys.stderr, flush=True)

    async def _route(self, scope: Scope, receive: Receive, answer: _Answer) -> str:
        headers = _Headers(scope)
        refusal = self._guard.refusal(headers.all("origin"), headers.all("host"))
        if refusal:
            await answer.error(HTTPStatus.FORBIDDEN, _FORBIDDEN, f"Forbidden: {refusal}")
            return ""
        path, method = scope["path"], scope["method"]
        if path == "/health" and method == "GET":
            await answer.json({"status": "ok", "uptime": int(time.monotonic() - self._started)})
            return ""
        if path not in ("/mcp", *self._service.paths) or (path != "/mcp" and method != "POST"):
            await answer.text(HTTPStatus.NOT_FOUND, "Not Found")
            return ""
        if method != "POST":
            await answer.error(HTTPStatus.METHOD_NOT_ALLOWED, _METHOD, "Method not allowed.", {"allow": "POST"})
            return ""
        peer, own = (scope.get("client") or ("", 0))[0], (scope.get("server") or ("", 0))[0]
        stranger = self._guard.stranger(peer, own or "", headers.first("authorization"), headers.all("host"))
        if stranger:
            unknown = stranger == NEEDED
            status = HTTPStatus.UNAUTHORIZED if unknown else HTTPStatus.FORBIDDEN
            extra = {"www-authenticate": "Bearer"} if unknown else {}
            await answer.error(status, _FORBIDDEN, f"Forbidden: {stranger}", extra)
            return ""
        body = await self._body(headers, receive, answer)
        if body is None:
            return ""
        if self._running[peer] >= _OF_ONE or self._running.total() >= _AT_ONCE:
            await answer.text(HTTPStatus.SERVICE_UNAVAILABLE, "Too many requests at a time", {"retry-after": "1"})
            return ""
        self._running[peer] += 1
        try:
            if path == "/mcp":
                return await self._mcp(body, scope, receive, answer)
            code, content = await self._service.rest(body)
            await answer.json(content, code)
        finally:
            self._running[peer] -= 1
            if not self._running[peer]:
                del self._running[peer]
        return ""

    async def _body(self, headers: _Headers, receive: Receive, answer: _Answer) -> bytes | None:
        declared = headers.first("content-length")
        if declared.isdecimal() and int(declared) > MOST_BYTES:
            await answer.text(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Request body too large", {"connection": "close"})
            return None
        body = bytearray()
        with anyio.move_on_after(BODY_S):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body += message.get("body", b"")
                if len(body) > MOST_BYTES:
                    break
                if not message.get("more_body", False):
                    return bytes(body)
        if len(body) > MOST_BYTES:
            await answer.text(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Request body too large", {"connection": "close"})
        else:
            await answer.text(HTTPStatus.REQUEST_TIMEOUT, "Request body too slow", {"connection": "close"})
        return None

    async def _mcp(self, body: bytes, scope: Scope, receive: Receive, answer: _Answer) -> str:
        """Hand the request to the SDK and return its label for the log: the method, never the question."""
        if scope["method"] == "POST":
            media = _Headers(scope).first("content-type").partition(";")[0].strip().lower()
            if media != "application/json":
                said = "Unsupported Media Type: Content-Type must be application/json"
                await answer.error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, -32000, said)
                return ""
            if body.lstrip()[:1] == b"[":
                # Batches were in one revision of the protocol (2025-03-26) and left with the next; the SDK has none.
                await answer.error(HTTPStatus.BAD_REQUEST, -32600, "Bad Request: one message a request, no batch")
                return ""
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.manager.handle_request(scope, replay, answer)
        return _label(body)


class _Answer:
    """The sending side of a request; ``status`` is what was answered, 0 for nothing yet."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)

    async def json(self, value: Any, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        await self._whole(status, body, {"content-type": "application/json", **(headers or {})})

    async def text(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        await self._whole(status, text.encode(), {"content-type": "text/plain; charset=utf-8", **(headers or {})})

    async def error(self, status: int, code: int, message: str, headers: dict[str, str] | None = None) -> None:
        await self.json({"jsonrpc": "2.0", "error": {"code": code, "message": message}, "id": None}, status, headers)

    async def _whole(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        pairs.append((b"content-length", str(len(body)).encode()))
        await self({"type": "http.response.start", "status": int(status), "headers": pairs})
        await self({"type": "http.response.body", "body": body})


class _Headers:
    def __init__(self, scope: Scope) -> None:
        self._pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]

    def all(self, wanted: str) -> list[str]:
        return [value for name, value in self._pairs if name == wanted]

    def first(self, wanted: str) -> str:
        return next(iter(self.all(wanted)), "")


def _label(body: bytes) -> str:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(message, dict):
        return ""
    method = str(message.get("method", ""))
    parameters = message.get("params")
    name = parameters.get("name") if method == "tools/call" and isinstance(parameters, dict) else ""
    return f"{method} {name or ''}"


class _Server(uvicorn.Server):
    """Signals end it with exit code 0 and a line that says which; the first one closes, a second one cuts off."""

    def install(self, service: ToolServer) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._ended, number, service)

    def capture_signals(self) -> Any:
        import contextlib

        return contextlib.nullcontext()

    def _ended(self, number: signal.Signals, service: ToolServer) -> None:
        print(f"Shutting down ({signal.Signals(number).name})...", file=sys.stderr, flush=True)
        self.force_exit = self.should_exit
        self.should_exit = True
        service.interrupt()


def serve(service: ToolServer, host: str, port: int, home: Home | None = None) -> int:
    """Serve until a signal comes; 1 if the address cannot be listened on. Clients need the token of ``home``, if given.

    Raises OSError if the token cannot be kept.
    """
    guard = Guard(host, os.environ, access_token.of(home) if home else "")
    try:
        sockets = listen(host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            print(f"Port {port} already in use. Try a different port with --port.", file=sys.stderr)
        else:
            print(f"Cannot listen on {shown(host)}:{port}: {error.strerror or error}", file=sys.stderr)
        return 1
    except OverflowError:
        print(f"Cannot listen on {shown(host)}:{port}: a port is at most 65535", file=sys.stderr)
        return 1
    except UnicodeError:  # by the codec of host names, for a part that is empty or longer than 63 letters
        print(f"Cannot listen on {shown(host)}:{port}: this is no name of a host", file=sys.stderr)
        return 1
    return asyncio.run(_serve(service, host, sockets, guard, home))


async def _serve(service: ToolServer, host: str, sockets: list[socket.socket], guard: Guard, home: Home | None) -> int:
    app = App(service, guard)
    config = uvicorn.Config(
        app, http=Connection, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
        timeout_keep_alive=15, timeout_graceful_shutdown=_STOP_S, proxy_headers=False,
        h11_max_incomplete_event_size=65_536,
    )  # fmt: skip
    server = _Server(config)
    server.install(service)
    port = sockets[0].getsockname()[1]
    print(f"{service.title} MCP server listening on http://{shown(host)}:{port}/mcp", file=sys.stderr, flush=True)
    if guard.asks_token:
        print(token_line(home, os.environ), file=sys.stderr, flush=True)
    for line in warnings(guard, host, home):
        print(f"Warning: {line}", file=sys.stderr, flush=True)
    async with app.manager.run():
        daemon.announce()
        await server.serve(sockets)
    return 0


def warnings(guard: Guard, host: str, home: Home | None = None) -> list[str]:
    """Return warnings for a server that others than its user's programs can reach."""
    said = []
    if guard.disabled:
        said.append("QMD_ALLOWED_ORIGINS=* turns off every check but the token; use it behind a proxy only.")
    if home is not None and not guard.asks_token:
        said.append("QMD_HTTP_TOKEN=off: every user of this machine can read the memory through this port.")
    if not guard.disabled and not guard.loopback:
        said.append(
            f"bound to {host}: other machines can reach this port. They are asked for a bearer token,"
            " QMD_HTTP_TOKEN; without one set they get /health and nothing else."
        )
    return said
