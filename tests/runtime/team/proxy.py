"""A proxy on loopback that breaks connections, or lets them hang: in front of a server on a Unix socket."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

# https://www.postgresql.org/docs/current/protocol-message-formats.html
_READY = b"Z\0\0\0\x05"


class Proxy:
    """Passes bytes on until a connection has had its share of ``cuts``, one a connection; the rest are whole.

    ``of_client``: count what the client sends; otherwise what the server answers, so that a commit may have happened
    of which the client never hears. ``answers``: pass so many answers of the server on, in all connections, and swallow
    what comes after them, both ways, with every connection open.
    """

    def __init__(
        self, target: Path, cuts: Iterator[int] | None = None, *, of_client: bool = False, answers: int | None = None
    ) -> None:
        self._answers, self.hung = answers, threading.Event()
        self._target, self._cuts, self._of_client = str(target), cuts or iter(()), of_client
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.broken = 0
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                self._open += [client, server]
                cut = next(self._cuts, -1)
                for source, sink, counted in ((client, server, self._of_client), (server, client, not self._of_client)):
                    threading.Thread(
                        target=self._pass, args=(source, sink, cut if counted else -1), daemon=True
                    ).start()

    def _pass(self, source: socket.socket, sink: socket.socket, cut: int) -> None:
        left = cut
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                if self._answers is not None:
                    self._pass_answers(source, sink, data)
                    continue
                if cut >= 0 and len(data) >= left:
                    sink.sendall(data[:left])
                    self.broken += 1
                    break
                sink.sendall(data)
                left -= len(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _pass_answers(self, source: socket.socket, sink: socket.socket, data: bytes) -> None:
        """Pass bytes on until the server has said so many times that it is ready for a query."""
        assert self._answers is not None
        if self.hung.is_set():
            return
        if source.family == socket.AF_UNIX:
            # An answer may reach over two reads, and then counts one later: the client waits for it all the same.
            self._answers -= data.count(_READY)
            if self._answers < 0:
                self.hung.set()
                return
        sink.sendall(data)

    def close(self) -> None:
        """Stop listening, and break what is open."""
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                # Without this, the other end hears nothing while a thread waits for bytes.
                each.shutdown(socket.SHUT_RDWR)
            each.close()
