"""Conversations of Claude.ai's export: ``conversations.json``, a list.

A conversation is ``{uuid, name, created_at, chat_messages}``; a message ``{uuid, sender: human|assistant, text,
content, created_at, attachments}``, its ``content`` in Anthropic's form, before 2025 only ``text``. Attached files are
left out.

The vendor does not describe the export. The shapes are those that its readers share; other content is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading
from ingest.session.session import SessionBuilder
from ingest.session.user_text import UserText, prompt
from ingest.session.values import Vocabulary, mapping, moment, sequence, string
from ingest.sources.messages import Messages

if TYPE_CHECKING:
    Record = dict[str, Any]

NAME = "claudeai"
FOREIGN = "no conversations of Claude.ai's"
KNOWN = Vocabulary(__file__)

_FIELDS, _DROPS = KNOWN.fields("fields"), KNOWN.words("drops")


def extract_user_text(text: str) -> UserText:
    """Return a person's words: attached files are no part of a message's text."""
    return prompt(clean(text).strip())


class _Sent(Messages):
    def words(self, text: str) -> UserText:
        return extract_user_text(text)


def unit_of(conversation: Record) -> str:
    """Return the id of a conversation."""
    return one_line(string(conversation.get("uuid")), 4000)


def take(conversation: Record, reading: Reading) -> SessionBuilder | None:
    """Return the session of one conversation, None if it is another tool's."""
    unit, found = unit_of(conversation), conversation.get("chat_messages")
    if not unit or type(found) is not list:
        return None
    session = SessionBuilder(unit, NAME)
    session.machine_title = string(conversation.get("name"))
    session.extend_to(moment(conversation.get("created_at")))
    session.usage(conversation.get("model"))
    messages = _Sent(session, reading, _DROPS)
    for number, each in enumerate(found):
        message = mapping(each)
        try:
            reading.count_fields("message", message, _FIELDS["message"])
            name = one_line(string(message.get("uuid")), 200) or f"m{number}"
            content = sequence(message.get("content")) or string(message.get("text"))
            messages.add({"role": message.get("sender"), "content": content}, name, moment(message.get("created_at")))
        except BROKEN as error:
            reading.broken(error)
    return session
