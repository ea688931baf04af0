"""An endpoint on loopback that embeds by two protocols and reranks, and every way an endpoint can misbehave."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 6


def vector(text: str) -> list[float]:
    """A vector that tells texts apart."""
    values = [0.1] * DIMENSIONS
    values[sum(map(ord, text)) % DIMENSIONS] = 3.0
    return values


def overlap(query: str, text: str) -> float:
    """The share of a question's words that a text has."""
    words = query.lower().split()
    return sum(word in text.lower() for word in words) / len(words)


class Endpoint:
    """``behaviours``: what to do with the next requests, one each, before answering as one should.

    ``requests`` keeps (path, headers, body) of each.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.behaviours: list[Callable[[BaseHTTPRequestHandler, Any], bool]] = []
        self.always: Callable[[BaseHTTPRequestHandler, Any], bool] | None = None
        self.stopped = threading.Event()
        self.clients: list[Any] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                behaviour = outer.behaviours.pop(0) if outer.behaviours else outer.always
                if behaviour is None or not behaviour(self, body):
                    answer(self, good(body))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def drips(self, handler: BaseHTTPRequestHandler, data: bytes) -> bool:
        """Send ``data`` again and again, until nobody listens or the test ends."""
        while not self.stopped.wait(0.02):
            try:
                handler.wfile.write(data)
                handler.wfile.flush()
            except OSError:
                break
        return True

    def close(self) -> None:
        """End it; again is nothing."""
        if self.stopped.is_set():
            return
        for client in self.clients:
            client.close()
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def good(body: Any) -> Any:
    """What each protocol answers; OpenAI's and a reranker's in another order than was asked, as they may."""
    if "query" in body:
        scored = [
            {"index": index, "relevance_score": overlap(body["query"], text)}
            for index, text in enumerate(body["documents"])
        ]
        return {"results": sorted(scored, key=lambda row: -row["relevance_score"])}
    if "requests" in body:
        texts = [request["content"]["parts"][0]["text"] for request in body["requests"]]
        return {"embeddings": [{"values": vector(text)} for text in texts]}
    data = [{"index": index, "embedding": vector(text)} for index, text in enumerate(body["input"])]
    return {"data": data[::-1], "model": body["model"]}


def answer(handler: BaseHTTPRequestHandler, value: Any, status: int = 200, **headers: str) -> bool:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    handler.send_response(status)
    for name, content in headers.items():
        handler.send_header(name.replace("_", "-"), content)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
    return True


def says(value: Any, status: int = 200, **headers: str) -> Callable[[BaseHTTPRequestHandler, Any], bool]:
    """A behaviour that answers this."""
    return lambda handler, _: answer(handler, value, status, **headers)


def closes(handler: BaseHTTPRequestHandler, _: Any) -> bool:
    """No answer at all."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)
    return True


def half(data: bytes) -> Callable[[BaseHTTPRequestHandler, Any], bool]:
    """The first half of ``data`` where all of it is announced, and then no more."""

    def behave(handler: BaseHTTPRequestHandler, _: Any) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[: len(data) // 2])
        handler.wfile.flush()
        handler.close_connection = True
        return True

    return behave


def half_closes(handler: BaseHTTPRequestHandler, body: Any) -> bool:
    """Half an answer, and then nothing more to come."""
    half(json.dumps(good(body)).encode())(handler, body)
    handler.connection.shutdown(socket.SHUT_WR)
    return True


def hangs(until: threading.Event) -> Callable[[BaseHTTPRequestHandler, Any], bool]:
    """An answer that does not come before the test ends."""

    def hang(handler: BaseHTTPRequestHandler, _: Any) -> bool:
        until.wait(30)
        handler.close_connection = True
        return True

    return hang
