"""Real coding agents against models on loopback, each in a user's folder of its own: what was the model given?

Found in ``BRAIN_REAL_AGENTS`` (folders of npm with ``node_modules/.bin``, or of Python with ``bin``), else on the PATH.
Tests that need one are skipped where it is not there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.claude_code import streams
from tests.qmd.embedding.endpoint import Endpoint

MODEL = "test-model"
_ANSWER = "hello there"
_FOREIGN = (
    "CLAUDE",
    "ANTHROPIC",
    "OPENAI",
    "GEMINI",
    "GOOGLE",
    "CODEX",
    "QWEN",
    "COPILOT",
    "GITHUB",
    "GH_",
    "BRAIN_",
    "HERMES_",
    "PI_",
    "XDG_",
)


def program(name: str) -> str:
    """The place of an agent's real program; skips the test where there is none."""
    folders = os.environ.get("BRAIN_REAL_AGENTS") or ""
    places = [f"{each}/{bin}" for each in folders.split(":") if each for bin in ("node_modules/.bin", "bin")]
    search = ":".join([*places, os.environ["PATH"]])
    found = shutil.which(name, path=search)
    if found is None:
        pytest.skip(f"no real {name}: not on the PATH, and BRAIN_REAL_AGENTS names no folder with it")
    return found


class RealAgent:
    """One agent in a world of its own below ``folder``, with a model that says hello and keeps what it was given."""

    def __init__(self, folder: Path, name: str) -> None:
        place = program(name)
        self.program = os.path.realpath(place)
        self.api = Endpoint()
        # The name and the arguments of a tool that the model calls first, None for no call.
        self.call: tuple[str, dict[str, Any]] | None = None
        self.api.always = lambda handler, body: speaks(handler, body, self.call)
        self.user, self.project = folder / "user", folder / "project"
        for each in (self.user, self.project):
            each.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        # An agent that needs another Node than the machine's has one in its own folder.
        node = shutil.which("node", path=os.path.dirname(place)) or shutil.which("node")
        own = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        self.environ = own | {"HOME": str(self.user), "PWD": str(self.project)}
        self.environ |= {"PATH": f"{Path(node or '/usr/bin/node').parent}:/usr/bin:/bin"}

    def write(self, name: str, text: str) -> Path:
        """A settings file in the user's folder."""
        path = self.user / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """The agent with ``words`` in the project, with nothing on its standard input."""
        return subprocess.run(
            [self.program, *words],
            cwd=self.project,
            env=self.environ | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def given(self) -> str:
        """What the model was asked, in all requests, as one text."""
        return "\n".join(json.dumps(body, ensure_ascii=False) for _, _, body in self.api.requests)


def speaks(handler: BaseHTTPRequestHandler, body: Any, call: tuple[str, dict[str, Any]] | None = None) -> bool:
    """Answer in the protocol that the path names: Gemini's, OpenAI's responses or completions, Anthropic's messages.

    ``call`` is what the model calls before it answers, if it is offered that tool.

    https://ai.google.dev/api/generate-content, https://platform.openai.com/docs/api-reference/responses-streaming and
    /chat-streaming.
    """
    path = handler.path
    said = json.dumps(body)
    is_offered = call is not None and f'"name": "{call[0]}"' in json.dumps(body.get("tools") or [])
    is_done = any(mark in said for mark in ('"function_call_output"', '"role": "tool"', '"tool_result"'))
    call = call if is_offered and not is_done else None
    if "enerateContent" in path:
        part = {"content": {"role": "model", "parts": [{"text": _ANSWER}]}, "finishReason": "STOP", "index": 0}
        whole = {"candidates": [part], "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2}}
        return _events(handler, [whole]) if "stream" in path else _whole(handler, whole)
    if path.endswith("/responses"):
        return _events(handler, _responses(call), named=True)
    if path.startswith("/v1/messages") and body.get("stream"):
        if call is not None:
            return streams(tool={"name": call[0], "input": call[1]}, stop="tool_use")(handler, body)
        return streams(_ANSWER)(handler, body)
    if path.endswith("/chat/completions"):
        return _completions(handler, body, call)
    return _whole(handler, {"totalTokens": 1, "data": []})


def _responses(call: tuple[str, dict[str, Any]] | None) -> list[dict[str, Any]]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": _ANSWER, "annotations": []}],
    }
    if call is not None:
        name, arguments = call
        message = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": name}
        message["arguments"] = json.dumps(arguments)
    tokens = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, **tokens}
    response = {"id": "resp_1", "object": "response", "model": MODEL, "created_at": 1, "output": []}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**response, "status": "in_progress"}}]
    if call is None:
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        events.append({"type": "response.output_item.added", "output_index": 0, "item": {**message, "content": []}})
        events.append({"type": "response.output_text.delta", **place, "delta": _ANSWER})
    whole = {**response, "status": "completed", "output": [message], "usage": usage}
    return [
        *events,
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": whole},
    ]


def _completions(handler: BaseHTTPRequestHandler, body: Any, call: tuple[str, dict[str, Any]] | None) -> bool:
    head = {"id": "c1", "created": 1, "model": MODEL}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not body.get("stream"):
        message = {"role": "assistant", "content": _ANSWER}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return _whole(handler, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    delta: dict[str, Any] = {"role": "assistant", "content": _ANSWER}
    if call is not None:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        calls = [{"index": 0, "id": "call_1", "type": "function", "function": function}]
        delta = {"role": "assistant", "content": None, "tool_calls": calls}
    chunks = [
        {"index": 0, "delta": delta, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "stop" if call is None else "tool_calls"},
    ]
    events = [{**head, "object": "chat.completion.chunk", "choices": [chunk]} for chunk in chunks]
    return _events(
        handler, [*events, {**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}], end="[DONE]"
    )


def _whole(handler: BaseHTTPRequestHandler, value: Any) -> bool:
    data = json.dumps(value).encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
    return True


def _events(
    handler: BaseHTTPRequestHandler, events: list[dict[str, Any]], *, named: bool = False, end: str = ""
) -> bool:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    for event in events:
        name = f"event: {event['type']}\n" if named else ""
        handler.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
    if end:
        handler.wfile.write(f"data: {end}\n\n".encode())
    handler.wfile.flush()
    return True
