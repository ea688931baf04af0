"""``brain mcp`` as a process: over HTTP, and ending as it should."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client

from core import access_token
from core.config import load
from core.home import Home
from runtime.capture import indexing
from tests.conftest import Brain
from tests.forking import Forks, Process
from tests.qmd.mcp.world import free_port, talk
from tests.waiting import until


def test_the_end_of_input_ends_it(home: Home, program: Brain) -> None:
    done = program("mcp", timeout=30)
    assert (done.returncode, done.stdout) == (0, "")


def test_it_is_served_over_http_and_a_signal_ends_it(home: Home, tmp_path: Path, mcp_forks: Forks) -> None:
    indexing.index(home, load(home))
    port = free_port()
    log = tmp_path / "log"
    with log.open("wb") as stream:
        process = Process(mcp_forks, ("mcp", "--http", "--port", str(port)), os.environ, stderr=stream)
    try:
        until(lambda: "Brain MCP server listening" in log.read_text() or process.poll() is not None)

        async def conversation(client: Client) -> set[str]:
            return {tool.name for tool in (await client.list_tools()).tools}

        url, token = f"http://localhost:{port}/mcp", Path(access_token.path(home)).read_text().strip()
        assert "brain_ask" in talk(url, conversation, token=token)
        assert f"the token is in {access_token.path(home)}" in log.read_text()
        assert token not in log.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def _served(forks: Forks, log: Path, *words: str, **environ: str) -> Iterator[str]:
    """A server of ``brain WORDS`` over HTTP; gives its origin."""
    port = free_port()
    command = (*words, "--http", "--port", str(port))
    with log.open("wb") as stream:
        process = Process(forks, command, {**os.environ, **environ}, stderr=stream)
    try:
        until(lambda: "listening" in log.read_text() or process.poll() is not None)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("words", [("mcp",), ("qmd", "--brain", "mcp")], ids=" ".join)
def test_another_user_of_the_machine_reads_nothing_over_loopback(
    home: Home, tmp_path: Path, words: tuple[str, ...], mcp_forks: Forks
) -> None:
    indexing.index(home, load(home))
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    with _served(mcp_forks, tmp_path / "log", *words) as origin:
        for headers in ({}, {"Authorization": "Bearer guessed"}, {"Authorization": "Bearer off"}):
            answer = httpx2.post(f"{origin}/mcp", json=body, headers={**accept, **headers})
            assert (answer.status_code, "tools" in answer.text) == (401, False)
        assert httpx2.post(f"{origin}/query", json={"searches": []}).status_code == (401 if words[0] == "qmd" else 404)
        assert httpx2.get(f"{origin}/health").status_code == 200
        headers = {"Authorization": f"Bearer {access_token.of(home)}", **accept}
        assert "inputSchema" in httpx2.post(f"{origin}/mcp", json=body, headers=headers).text


def test_a_client_without_headers_is_served_once_the_user_says_so(home: Home, tmp_path: Path, mcp_forks: Forks) -> None:
    indexing.index(home, load(home))
    log = tmp_path / "log"
    with _served(mcp_forks, log, "qmd", "--brain", "mcp", QMD_HTTP_TOKEN="off") as origin:
        body = {"searches": [{"type": "lex", "query": "walrus"}]}
        assert httpx2.post(f"{origin}/query", json=body).json() == {"results": []}
        until(lambda: "Warning" in log.read_text())
        assert "every user of this machine can read the memory" in log.read_text()


def test_a_server_in_the_background_says_where_its_token_is(home: Home, brain: Brain) -> None:
    indexing.index(home, load(home))
    port = free_port()
    done = brain("qmd", "--brain", "mcp", "--http", "--daemon", "--port", str(port))
    try:
        assert f"the token is in {access_token.path(home)}\n" in done.stdout, done.stderr
        body = {"searches": [{"type": "lex", "query": "walrus"}]}
        url, headers = f"http://127.0.0.1:{port}/query", {"Authorization": f"Bearer {access_token.of(home)}"}
        assert [httpx2.post(url, json=body, headers=each).status_code for each in ({}, headers)] == [401, 200]
    finally:
        assert "Stopped" in brain("qmd", "--brain", "mcp", "stop").stdout


def test_bad_arguments_end_it_at_once(brain: Brain, home: Home) -> None:
    for words in (("--port", "0"), ("--port", "99999"), ("--json",), ("extra",)):
        assert brain("mcp", *words).returncode == 64
