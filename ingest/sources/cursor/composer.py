"""One conversation of Cursor's editor, of either generation of its databases.

What the editor itself says in a person's place (a background task has ended, a plan is to be built, a goal is not yet
reached) is marked: ``isSimulatedMsg``, of a bubble or of its header's ``grouping`` (``agent.v1.UserMessage``, 2026).
What several models were asked at once (2025.10) is a conversation each: ``isBestOfNSubcomposer``, with the one that it
was asked in as its ``subagentInfo.parentComposerId``; the one that Cursor's own judge chose has ``bestOfNJudgeWinner``.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

from core.text import one_line
from ingest.pipeline.reading import BROKEN, Reading
from ingest.session.builder import SessionBuilder
from ingest.session.events import TAKEN_BACK
from ingest.session.values import mapping, moment, string
from ingest.sources.cursor import outcomes
from ingest.sources.cursor.copies import EDITOR
from ingest.sources.cursor.human import typed
from ingest.sources.cursor.text import answer, where

NAME = "cursor"
_QUESTIONS = ("ask_question", "ask_user_question", "askQuestion")


class Composer:
    """One conversation, of either generation."""

    def __init__(self, reading: Reading, name: str, data: dict[str, Any], folder: str) -> None:
        self._reading = reading
        self._data = data
        # Messages in a person's place that the editor made up, as the headers have them.
        self._simulated: set[str] = set()
        self.session = session = SessionBuilder(one_line(name, 4000), NAME)
        session.rank = EDITOR
        session.title = string(data.get("name"))
        session.extend_to(moment(data.get("createdAt")))
        place = mapping(mapping(data.get("workspaceIdentifier")).get("uri"))
        session.cwd = string(place.get("fsPath")) or string(place.get("path")) or folder or where(data)
        model = string(mapping(data.get("modelConfig")).get("modelName"))
        if model and model != "default":
            session.models.add(model)
        session.parent = one_line(string(mapping(data.get("subagentInfo")).get("parentComposerId")), 500)
        if data.get("isBestOfNSubcomposer") is True:
            # A person's own, who asked them all at once and may go on with each.
            session.forked_from, session.parent = session.parent, ""
            session.extra["best_of_n"] = True
        if data.get("bestOfNJudgeWinner") is True:
            session.extra["judged_best"] = True
        mode = data.get("unifiedMode")
        if type(mode) is str and mode:
            session.extra["mode"] = one_line(mode, 40)

    def bubbles(self, found: dict[str, Any]) -> None:
        """Take the bubbles in, in the order of the headers; those that no header names follow in order of time."""
        inline = self._data.get("conversation")
        if type(inline) is list and inline:
            for number, bubble in enumerate(inline):
                self.add(string(mapping(bubble).get("bubbleId")) or f"inline {number}", mapping(bubble))
            return
        stored = {**mapping(self._data.get("conversationMap")), **found}
        ordered: list[str] = []
        by_own = {string(bubble.get("bubbleId")): name for name, bubble in stored.items() if type(bubble) is dict}
        headers = self._data.get("fullConversationHeadersOnly")
        for header in headers if type(headers) is list else ():
            name = string(mapping(header).get("bubbleId"))
            key = name if name in stored else by_own.get(name, "")
            if key and key not in ordered:
                ordered.append(key)
            if mapping(mapping(header).get("grouping")).get("isSimulatedMsg") is True:
                self._simulated.add(key)
        seen = set(ordered)
        left = [name for name in stored if name not in seen and type(stored[name]) is dict]
        ordered += sorted(left, key=lambda name: _at(stored[name]))
        for name in ordered:
            bubble = mapping(stored[name])
            self.add(name, {**bubble, "isSimulatedMsg": True} if name in self._simulated else bubble)

    def add(self, name: str, bubble: dict[str, Any]) -> None:
        """Take one bubble in; a shape that was never seen is a failure of the reading."""
        try:
            self._add(one_line(name, 200), bubble)
        except BROKEN as error:
            self._reading.broken(error)

    def _add(self, name: str, bubble: dict[str, Any]) -> None:
        session = self.session
        at = _at(bubble)
        session.extend_to(at)
        session.records += 1
        kind = bubble.get("type")
        text = string(bubble.get("text")) or string(bubble.get("rawText"))
        if kind in (1, "user"):
            said = typed(text or _rich(bubble))
            if bubble.get("isSimulatedMsg") is not True:
                session.prompt(said, at, name)
            elif said:
                session.put(TAKEN_BACK, said, at, name)  # kept to be known in the conversation's transcript
            session.cwd = session.cwd or _folder(bubble)
            return
        if kind not in (2, "ai", "assistant"):
            self._reading.count(f"bubble type {one_line(str(kind), 60)}")
        model = string(mapping(bubble.get("modelInfo")).get("modelName")) or string(bubble.get("modelType"))
        if model and model != "default":
            session.models.add(model)
        tokens = mapping(bubble.get("tokenCount")).get("outputTokens")
        if type(tokens) is int and tokens:
            session.tokens[name] = tokens
        thinking = bubble.get("thinking")
        session.thought(string(mapping(thinking).get("text")) or string(thinking), at, name)
        tool = bubble.get("toolFormerData")
        if type(tool) is dict and (tool.get("name") or tool.get("toolCallId") or "tool" in tool):
            self._tool(tool, at, name)
        session.reply(text, at, name)

    def _tool(self, tool: dict[str, Any], at: str, name: str) -> None:
        session = self.session
        call = string(tool.get("toolCallId")) or name
        given: Any = next((tool[key] for key in ("params", "rawArgs", "args") if tool.get(key)), {})
        session.tool_call(
            string(tool.get("name")) or f"tool {tool.get('tool', '')}".strip(), given, at, name, call_id=call
        )
        error, note = outcomes.of_call(tool)
        if error:
            session.tool_error(call, error, at, name)
        elif note:
            session.tool_note(call, note, at, name)
        elif tool.get("name") in _QUESTIONS and tool.get("result"):
            session.tool_note(call, f"answer: {answer(tool['result'])}", at, name)

    def finish(self, stored: dict[str, Any]) -> None:
        """Take in the bubbles that are stored by themselves, and hand the conversation over, where there is one."""
        try:
            self.bubbles(stored)
        except BROKEN as error:
            self._reading.broken(error)
            for name in sorted(stored):
                self.add(name, mapping(stored[name]))
        if self.session.uuids:
            self._reading.parts.setdefault(self.session.unit, self.session)


def _at(bubble: dict[str, Any]) -> str:
    timing = mapping(bubble.get("timingInfo"))
    return moment(bubble.get("createdAt")) or moment(timing.get("clientStartTime")) or moment(bubble.get("timestamp"))


def _rich(bubble: dict[str, Any]) -> str:
    """The text of the editor's own form (Lexical), where nothing plainer is kept."""
    rich = bubble.get("richText") or bubble.get("initText")
    try:
        node = json.loads(rich) if type(rich) is str else rich
    except (ValueError, RecursionError):
        return string(rich)
    found: list[str] = []

    def walk(node: Any, depth: int) -> None:
        if type(node) is dict and depth < 50:
            if type(node.get("text")) is str:
                found.append(node["text"])
            for child in node.get("children") or ():
                walk(child, depth + 1)
            if node.get("type") == "paragraph":
                found.append("\n")
            walk(node.get("root"), depth + 1)

    walk(node, 0)
    return "".join(found)


def _folder(bubble: dict[str, Any]) -> str:
    uris = bubble.get("workspaceUris")
    first = string(uris[0]) if type(uris) is list and uris else ""
    return string(bubble.get("workspaceProjectDir")) or path_of(first)


def path_of(uri: str) -> str:
    """The path of a file's address; "" of any other."""
    return unquote(uri.removeprefix("file://")) if uri.startswith("file:///") else ""
