"""The real Claude Code against a Messages API on loopback: nothing leaves the machine, nothing of the user's is read.

Found by ``BRAIN_REAL_CLAUDE=/path/to/claude``, else on the PATH; tests that need it are skipped where it is not there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.qmd.embedding.endpoint import Endpoint, says

Behaviour = Callable[[BaseHTTPRequestHandler, Any], bool]


class ClaudeCode:
    """``claude`` in a world of its own below ``folder``, speaking to ``api``; ``environ`` is what it runs in."""

    def __init__(self, folder: Path, program: str) -> None:
        self.api = Endpoint()
        self.api.always = streams("hello there")
        self.config = folder / "claude"
        self.user = folder / "user"
        self.project = folder / "project"
        (folder / "bin").mkdir(parents=True)
        for each in (self.config, self.user, self.project):
            each.mkdir(exist_ok=True)
        (folder / "bin" / "claude").symlink_to(program)
        foreign = ("CLAUDE", "ANTHROPIC", "AI_AGENT", "MAX_THINKING")
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.user),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "ANTHROPIC_API_KEY": "any",
            "ANTHROPIC_BASE_URL": self.api.url.removesuffix("/v1"),
            "DISABLE_AUTOUPDATER": "1",
            # Servers are waited for, however busy the machine is.
            "MCP_CONNECTION_NONBLOCKING": "0",
            "MCP_CONNECT_TIMEOUT_MS": "60000",
            "MCP_TIMEOUT": "60000",
        }

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """``claude WORDS`` in the project, with nothing on its standard input."""
        return subprocess.run(
            ["claude", *words],
            cwd=self.project,
            env=self.environ | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def requests(self) -> list[dict[str, Any]]:
        """The bodies of what was asked of the model."""
        return [body for path, _, body in self.api.requests if path.startswith("/v1/messages?")]

    def written(self) -> set[str]:
        """What lies in its configuration folder, by the first part of the path."""
        return {file.relative_to(self.config).parts[0] for file in self.config.rglob("*") if file.is_file()}


def program() -> str:
    """The real ``claude``; skips the test where there is none."""
    found = shutil.which(os.environ.get("BRAIN_REAL_CLAUDE") or "claude")
    if found is None:
        pytest.skip("no real claude: not on the PATH, and BRAIN_REAL_CLAUDE names none")
    return os.path.realpath(found)


def streams(
    text: str = "", *, tool: dict[str, Any] | None = None, stop: str = "end_turn", cut: bool = False
) -> Behaviour:
    """An answer as the Messages API streams it (https://platform.claude.com/docs/en/build-with-claude/streaming).

    ``tool`` is {"name", "input"} of a call; ``cut`` ends it in the middle.
    """

    def behave(handler: BaseHTTPRequestHandler, body: Any) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "content": []}
        usage = {"input_tokens": 1000, "output_tokens": 1}
        _event(handler, "message_start", message={**message, "stop_reason": None, "usage": usage})
        if text:
            _event(handler, "content_block_start", index=0, content_block={"type": "text", "text": ""})
            _event(handler, "content_block_delta", index=0, delta={"type": "text_delta", "text": text})
        if cut:
            return True
        if text:
            _event(handler, "content_block_stop", index=0)
        if tool is not None:
            block = {"type": "tool_use", "id": "toolu_1", "name": tool["name"], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(tool["input"])}
            _event(handler, "content_block_start", index=1, content_block=block)
            _event(handler, "content_block_delta", index=1, delta=delta)
            _event(handler, "content_block_stop", index=1)
        _event(
            handler, "message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 200}
        )
        _event(handler, "message_stop")
        return True

    return behave


def refuses(status: int, kind: str, message: str) -> Behaviour:
    """An error as the Messages API answers it."""
    return says({"type": "error", "error": {"type": kind, "message": message}}, status)


def _event(handler: BaseHTTPRequestHandler, kind: str, **data: Any) -> None:
    handler.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode())
    handler.wfile.flush()
