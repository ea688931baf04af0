"""Conversations of ChatGPT's export: ``conversations.json``, a list; in parts, ``conversations-000.json``.

A conversation is ``{id, title, create_time, mapping, current_node}``. ``mapping`` is a tree of nodes ``{message,
parent, children}``; the branch that ends at ``current_node`` is shown, not what edits replaced. A message has
``author.role``, ``content {content_type, parts|text}`` and ``metadata.model_slug``. An assistant's message to a
``recipient`` other than ``all`` is a call of a tool.

The vendor does not describe the export. The shapes are those that its readers share; other content is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import Reading
from ingest.session.session import SessionBuilder
from ingest.session.user_text import UserText, paragraphs, prompt
from ingest.session.values import Vocabulary, mapping, moment, sequence, string

if TYPE_CHECKING:
    Record = dict[str, Any]

NAME = "chatgpt"
FOREIGN = "no conversations of ChatGPT's"
KNOWN = Vocabulary(__file__)

_DROPPED = KNOWN.words("dropped")
_TEXTS = frozenset(("text", "multimodal_text"))


def extract_user_text(text: str) -> UserText:
    """Return a person's words: a message of theirs has nothing else."""
    return prompt(clean(text).strip())


def unit_of(conversation: Record) -> str:
    """Return the id of a conversation."""
    return one_line(string(conversation.get("conversation_id")) or string(conversation.get("id")), 4000)


def take(conversation: Record, reading: Reading) -> SessionBuilder | None:
    """Return the session of one conversation, None if it is another tool's."""
    unit, nodes = unit_of(conversation), conversation.get("mapping")
    if not unit or type(nodes) is not dict:
        return None
    session = SessionBuilder(unit, NAME)
    title = string(conversation.get("title"))
    session.machine_title = "" if title == "New chat" else title
    session.extend_to(moment(conversation.get("create_time")))
    for name in _branch(conversation, nodes):
        _message(session, reading, mapping(mapping(nodes[name]).get("message")), one_line(name, 200))
    return session


def _branch(conversation: Record, nodes: Record) -> list[str]:
    """Return the names of the nodes from the first one to the current one."""
    name = string(conversation.get("current_node"))
    if name not in nodes:
        name = next((each for each in reversed(nodes) if not sequence(mapping(nodes[each]).get("children"))), "")
    found: dict[str, None] = {}
    while name in nodes and name not in found:
        found[name] = None
        name = string(mapping(nodes[name]).get("parent"))
    return [*reversed(found)]


def _message(session: SessionBuilder, reading: Reading, message: Record, name: str) -> None:
    if not message:
        return
    content, about = mapping(message.get("content")), mapping(message.get("metadata"))
    role, at = string(mapping(message.get("author")).get("role")), moment(message.get("create_time"))
    kind = string(content.get("content_type"))
    session.uuids.add(name)
    if role == "system" or about.get("is_visually_hidden_from_conversation") is True:
        return
    session.extend_to(at)
    session.usage(about.get("model_slug"))
    recipient = string(message.get("recipient")) or "all"
    text = _text(content)
    if kind in _DROPPED or role == "tool":
        if role == "tool" and kind == "system_error":
            session.note(text or string(content.get("name")), at, name)
    elif kind == "thoughts":
        for thought in map(mapping, sequence(content.get("thoughts"))):
            session.thought(paragraphs(string(thought.get("summary")), string(thought.get("content"))), at, name)
    elif role == "assistant" and (recipient != "all" or kind == "code"):
        session.tool_call(recipient if recipient != "all" else "code", text, at, name)
    elif kind not in _TEXTS:
        reading.count(f"content {one_line(kind, 60)}", 0, content)
    elif role == "user":
        session.prompt(extract_user_text(text).typed, at, name)
    elif role == "assistant":
        session.reply(text, at, name)
    else:
        reading.count(f"role {one_line(role, 60)}", 0, message)


def _text(content: Record) -> str:
    parts = [string(part) or string(mapping(part).get("text")) for part in sequence(content.get("parts"))]
    return paragraphs(*parts) or string(content.get("text"))
