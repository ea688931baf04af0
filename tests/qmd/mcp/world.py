"""A qmd of its own in a temporary folder, and servers over it: real processes that end with the test."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from qmd import settings
from qmd.index import collections
from qmd.index.store import open_index
from qmd.index.update import update
from tests.forking import Forks, Process
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[3]
ENTRY = "from qmd.app.main import entry; entry()"
RUN = f"import sys; sys.path.insert(0, sys.argv.pop(1)); {ENTRY}"
LIMIT_S = 30
_Answer = TypeVar("_Answer")

CONFIG = """\
global_context: Everything about the harbour
collections:
  notes:
    path: {root}/notes
    context:
      "": Notes of the harbour master
      /boats: Boats and their owners
  plans:
    path: {root}/plans
"""
TIDES = "# Tides\n\nThe spring tide floods the quay.\nThe ebb runs four knots.\n\nMore on moorings.\nTide tables.\n"
NOTES = {
    "notes/tides.md": TIDES,
    "notes/boats/skiff é#1.md": "# Skiff\n\nA small boat for the quay.\n",
    "notes/plain.md": "no heading, a word about quay walls\n",
    "plans/quay.md": "# Quay plan\n\nRebuild the quay in spring.\n",
    "plans/long.md": "# Long\n\n" + "lorem ipsum " * 7000,
}


class World:
    """Folders, configuration, index and environment of one test."""

    def __init__(self, root: Path, forks: Forks) -> None:
        self.root = root
        self.forks = forks
        self.environ = dict(os.environ)
        self.settings = settings.locate()
        self.cache = Path(self.settings.cache_dir)

    def write(self, name: str, text: str) -> Path:
        """Write a document below the root."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def configure(self, text: str = CONFIG) -> None:
        path = Path(self.settings.config_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(root=self.root), encoding="utf-8")

    def index(self) -> None:
        """Bring the index up to date, as ``qmd update`` in another process does."""
        config = settings.read(self.settings)
        Path(self.settings.database).parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(open_index(self.settings.database, write=True)) as connection:
            collections.sync(connection, config, self.settings)
            update(connection, config.collections.values())

    def command(self, *words: str) -> list[str]:
        """The command line of a server: ``-P`` keeps the working directory out of the import path."""
        return [sys.executable, "-P", "-c", RUN, str(ROOT), "mcp", *words]

    def stdio(self) -> StdioServerParameters:
        command, *arguments = self.command()
        return StdioServerParameters(command=command, args=arguments, env=self.environ)

    def process(self, *words: str, **streams: IO[bytes]) -> Process:
        """A server in a fork, which need not import the product first."""
        return Process(self.forks, ("mcp", *words), self.environ, code=ENTRY, **streams)

    def program(self) -> subprocess.Popen[bytes]:
        """A server from the interpreter on, as a client starts it."""
        pipe = subprocess.PIPE
        return subprocess.Popen(self.command(), env=self.environ, stdin=pipe, stdout=pipe, stderr=pipe)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command that ends by itself."""
        return subprocess.run(
            self.command(*words), env=self.environ, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )

    @contextlib.contextmanager
    def http(self, *words: str) -> Iterator[Site]:
        """A server over HTTP on a free port."""
        port = free_port()
        log = self.root / "server.log"
        with log.open("wb") as stream, open(os.devnull, "rb") as nothing:
            process = self.process("--http", "--port", str(port), *words, stdin=nothing, stderr=stream)
        try:
            until(lambda: "listening" in log.read_text() or process.poll() is not None)
            yield Site(port, process, log)
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


class Site:
    """A running HTTP server."""

    def __init__(self, port: int, process: Process | subprocess.Popen[bytes], log: Path) -> None:
        self.port = port
        self.process = process
        self.log = log
        self.url = f"http://localhost:{port}/mcp"

    def request(
        self, method: str, path: str, body: str | bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str]:
        """(status, body) of one request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            data = body.encode() if isinstance(body, str) else body
            connection.request(method, path, data, headers or {})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def search(self, *, path: str = "/query", **body: Any) -> tuple[int, Any]:
        status, text = self.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return status, json.loads(text)


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def alive(pid: int) -> bool:
    """Return True if a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        if Path("/proc/self").exists():
            return False
        listed = subprocess.run(["ps", "-p", str(pid), "-o", "stat="], capture_output=True, text=True, check=False)
        return bool(listed.stdout.strip()) and not listed.stdout.startswith("Z")
    return stat.rpartition(")")[2].split()[0] != "Z"


def talk(
    server: Any, conversation: Callable[[Client], Awaitable[_Answer]], mode: str = "auto", token: str = ""
) -> _Answer:
    """Return the result of a ``conversation`` by the SDK's own client; bounded in time. ``token`` is for a URL."""

    async def hold() -> _Answer | MCPError:
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(anyio.fail_after(LIMIT_S))
            known = server
            if token:
                headers = {"Authorization": f"Bearer {token}"}
                http_client = await stack.enter_async_context(httpx2.AsyncClient(headers=headers))
                known = streamable_http_client(server, http_client=http_client)
            async with Client(known, mode=mode, cache=None) as client:
                try:
                    return await conversation(client)
                except MCPError as error:
                    # Raised from in here it would come out in a group of errors.
                    return error

    answer = anyio.run(hold)
    if isinstance(answer, MCPError):
        raise answer
    return answer
