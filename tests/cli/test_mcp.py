"""``brain mcp`` as a process: over HTTP, and ending as it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp import Client

from core.config import load
from core.home import Home
from runtime import indexing
from tests.qmd.mcp.world import free_port, talk, wait_for

ROOT = Path(__file__).resolve().parents[2]
RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"


def started(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", RUN, str(ROOT), "mcp", *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ), **options)


def test_the_end_of_input_ends_it(home: Home) -> None:
    process = started(stderr=subprocess.PIPE)
    out, _ = process.communicate(b"", timeout=30)
    assert (process.returncode, out) == (0, b"")


def test_it_is_served_over_http_and_a_signal_ends_it(home: Home, tmp_path: Path) -> None:
    indexing.index(home, load(home))
    port = free_port()
    log = tmp_path / "log"
    with log.open("wb") as stream:
        process = started("--http", "--port", str(port), stderr=stream)
    try:
        wait_for(lambda: "Brain MCP server listening" in log.read_text() or process.poll() is not None)

        async def conversation(client: Client) -> set[str]:
            return {tool.name for tool in (await client.list_tools()).tools}

        assert "brain_ask" in talk(f"http://localhost:{port}/mcp", conversation)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()


def test_bad_arguments_end_it_at_once(brain: Callable[..., subprocess.CompletedProcess[str]], home: Home) -> None:
    for words in (("--port", "0"), ("--port", "99999"), ("--json",), ("extra",)):
        assert brain("mcp", *words).returncode == 64
