"""Messages in the forms of model APIs, which many tools keep as they send them: Anthropic's, OpenAI's, the AI SDK's.

A message is ``{role, content}``; ``content`` is a text or blocks. A call of a tool is a block (``tool_use``,
``tool-call``) or an entry of ``tool_calls``. Its result is a block (``tool_result``, ``tool-result``) of a later
message, or a message of its own with the role ``tool``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.text import one_line
from ingest.session.user_text import UserText, paragraphs, prompt
from ingest.session.values import blocks, mapping, plain, sequence, string

if TYPE_CHECKING:
    from ingest.pipeline.reading import Reading
    from ingest.session.session import SessionBuilder

    Record = dict[str, Any]

_USERS = frozenset(("user", "human"))
_ASSISTANTS = frozenset(("assistant", "ai", "model"))
_TOOLS = frozenset(("tool", "tool_result", "toolResult", "function"))
# What a harness tells the model; no one said it.
_HARNESS = frozenset(("system", "developer"))
_TEXTS = frozenset(("text", "input_text", "output_text"))
_THOUGHTS = frozenset(("thinking", "reasoning", "think"))
_CALLS = frozenset(("tool_use", "server_tool_use", "tool-call", "toolCall", "tool_call"))
_RESULTS = frozenset(("tool_result", "tool-result", "toolResult", "web_search_tool_result"))
_DROPPED = frozenset(
    "image image_url input_image document file input_file redacted_thinking redacted_reasoning audio media".split()
)
_IDS = ("tool_use_id", "toolCallId", "tool_call_id", "toolUseId", "callId", "call_id")


class Messages:
    """A conversation as its messages are added, in order.

    A tool's parser overrides what is the tool's own: ``words`` and ``failure``. ``drops``: other roles and kinds of
    blocks that the tool is known to write and that are not shown.
    """

    def __init__(self, session: SessionBuilder, reading: Reading, drops: frozenset[str] = frozenset()) -> None:
        self.session = session
        self.reading = reading
        self._drops = _DROPPED | drops
        # Call → the tool's name.
        self.called: dict[str, str] = {}

    def words(self, text: str) -> UserText:
        """Return one text of a user's message, divided by author."""
        return prompt(text.strip())

    def failure(self, tool: str, text: str) -> str:
        """Return the error that the text of a result reports though nothing marks the result, "" if it has none."""
        del tool, text
        return ""

    def add(self, message: Record, name: str, at: str = "", *, by_agent: bool = False, line: int = 0) -> None:
        """Add one message.

        Args:
            name: the record's lasting name.
            by_agent: True if another agent wrote the user's message.
            line: the line of the message, 1-based.
        """
        role = string(message.get("role"))
        self.session.extend_to(at)
        self.session.uuids.add(name)
        found = blocks(message.get("content"))
        results = [block for block in found if string(block.get("type")) in _RESULTS]
        if role in _TOOLS and results:
            for block in results:
                self._result(block, at, name)
        elif role in _TOOLS:
            call = next((string(message[key]) for key in _IDS if message.get(key)), "")
            self.result(call, message.get("content"), is_error=_is_error(message), at=at, name=name)
        elif role in _USERS:
            self._user(found, name, at, by_agent, line)
        elif role in _ASSISTANTS:
            thought = string(message.get("reasoning_content")) or string(message.get("reasoning"))
            self.session.thought(thought, at, name)
            for block in found:
                self._assistant(block, name, at, line)
            for call in sequence(message.get("tool_calls")):
                self.call(mapping(call), at, name)
        elif role not in _HARNESS and role not in self._drops:
            self.reading.count(f"message role {one_line(role, 60)}", line, message)

    def _user(self, found: list[Record], name: str, at: str, by_agent: bool, line: int) -> None:
        typed: list[str] = []
        for block in found:
            kind = string(block.get("type"))
            if kind in _TEXTS:
                said = self.words(string(block.get("text")))
                self.session.cwd = self.session.cwd or said.directory
                typed.append(self.session.pieces(said, at, name))
            elif kind in _RESULTS:
                self._result(block, at, name)
            elif kind not in self._drops:
                self.reading.count(f"block {one_line(kind, 60)}", line, block)
        (self.session.teammate if by_agent else self.session.prompt)(paragraphs(*typed), at, name)

    def _assistant(self, block: Record, name: str, at: str, line: int) -> None:
        kind = string(block.get("type"))
        if kind in _TEXTS:
            self.session.reply(string(block.get("text")), at, name)
        elif kind in _THOUGHTS:
            said = (block.get(key) for key in ("thinking", "text", "think", "reasoning"))
            self.session.thought(next(filter(None, map(string, said)), ""), at, name)
        elif kind in _CALLS:
            self.call(block, at, name)
        elif kind in _RESULTS:
            self._result(block, at, name)
        elif kind not in self._drops:
            self.reading.count(f"block {one_line(kind, 60)}", line, block)

    def call(self, call: Record, at: str, name: str) -> None:
        """Add a call of a tool in any of the forms."""
        function = mapping(call.get("function")) or call
        tool = string(function.get("name")) or string(call.get("toolName"))
        identity = string(call.get("id")) or string(call.get("toolCallId"))
        given = (function[key] for key in ("input", "arguments", "args") if key in function)
        self.called[identity] = tool
        self.session.tool_call(tool, next(given, None), at, name, call_id=identity)

    def _result(self, block: Record, at: str, name: str) -> None:
        call = next((string(block[key]) for key in _IDS if block.get(key)), "")
        content = block.get("content", block.get("output"))
        self.result(call, content, is_error=_is_error(block), at=at, name=name)

    def result(self, call: str, content: Any, *, is_error: bool, at: str, name: str) -> None:
        """Add the outcome of a call under it, if it failed."""
        self.session.ended(call, at)
        value = mapping(content).get("value", content)
        text = string(value) or plain(value) or string(mapping(value).get("text"))
        if error := (text or "error") if is_error else self.failure(self.called.get(call, ""), text):
            self.session.tool_error(call, error, at, name)


def _is_error(record: Record) -> bool:
    return record.get("is_error") is True or record.get("isError") is True
