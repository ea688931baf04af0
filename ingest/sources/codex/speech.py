"""What is said in a rollout of Codex's, each thing once: it stands as an item of the conversation and as an event.

Of a message that stands twice the first is taken, with the text of the event for what a person typed.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.session.builder import SessionBuilder
from ingest.session.events import PROMPT, TAKEN_BACK, TEAMMATE, Event
from ingest.session.values import mapping, string
from ingest.sources.codex import human, imported, turn_items

if TYPE_CHECKING:
    from ingest.pipeline.reading import Reading

_FINAL = ("final_answer", "partial_answer")


class Said:
    """What is said in one file, in order. ``side``: 1 of an item, -1 of an event."""

    def __init__(self, reading: Reading, session: SessionBuilder) -> None:
        self._reading = reading
        self._session = session
        self._events = False
        # Whether what is said by voice is recorded by itself: then nothing that hands it on is needed.
        self._voiced = False
        # What was said once and will be said again: digest → how often as an item, less how often as an event.
        self._twice: dict[bytes, int] = {}
        # Prompts that stand as items, until the event that repeats them comes.
        self._prompts: list[Event] = []
        self._event_prompt = ""

    def _all_said(self) -> None:
        """Take back, at the end, what stands as an item in a person's place, and as no event."""
        for event in self._prompts if self._events else ():
            event.kind = TAKEN_BACK  # the harness's: what a person typed stands as an event too

    def _typed(self, texts: list[str], kinds: Any, at: str) -> None:
        session = self._session
        kept: list[str] = []
        for index, text in enumerate(texts):
            command = human.shell_command(text)
            if command:
                session.command(f"! {command}", at)
                continue
            if self._delegated(text, at, 1) or (self._voiced and human.is_spoken(text)):
                continue
            if not session.cwd:
                session.cwd = human.directory(text)
            text = human.typed(text)
            if text and turn_items.is_typed(kinds, index) is not False:
                kept.append(text)
        said = "\n\n".join(kept)
        if not said:
            return
        if self._event_prompt and _alike(said, self._event_prompt):
            self._event_prompt = ""
            return
        event = session.put(PROMPT, said, at)
        self._prompts.append(event)

    def _teammate(self, item: dict[str, Any], at: str) -> None:
        content = item.get("content")
        texts = [content] if type(content) is str else []
        texts += [string(mapping(block).get("text")) for block in content if block] if type(content) is list else []
        said = clean("\n\n".join(text for text in texts if text)).strip()
        if said and self._is_first(f"{TEAMMATE} {said}", 1 if "type" in item else -1):
            author, to = one_line(string(item.get("author")), 100), one_line(string(item.get("recipient")), 100)
            head = f"{author} to {to}: " if author and to else f"{author}: " if author else ""
            self._session.put(TEAMMATE, head + said, at)

    def _delegated(self, text: str, at: str, side: int) -> bool:
        """Whether a text is what another thread asks for; that stands once, as its agent's words."""
        said = human.delegated(text)
        if said and self._is_first(f"{TEAMMATE} {said}", side):
            self._session.put(TEAMMATE, said, at)
        return bool(said)

    def _user_event(self, message: str, at: str) -> None:
        if self._delegated(message, at, -1):
            return
        said = "" if self._voiced and human.is_spoken(message) else human.typed(message, is_event=True)
        first = not self._events
        self._events = True
        if not said:
            return
        if human.is_one_block(said):
            # An app's of a later version, or what a person pasted: nothing tells which.
            self._session.put(TEAMMATE, said, at)
            return
        waiting = self._prompts
        for index in range(len(waiting) - 1, -1, -1):
            if _alike(waiting[index].text, said):
                # The event's text is what was typed; what stood as items before it, and as no event, was not.
                waiting[index].text = said
                self._prompts = [] if first else [*waiting[:index], *waiting[index + 1 :]]
                return
        if first:
            self._prompts = []  # an older version's, which recorded no events
        self._session.put(PROMPT, said, at)
        self._event_prompt = said

    def _answer(self, text: str, phase: str, at: str, side: int) -> None:
        for piece in turn_items.pieces(text):
            if piece.strip() and self._is_first(piece, side):
                self._event_prompt = ""
                for tool, said in imported.parts(piece):
                    if tool:
                        self._session.tool_call(tool, imported.given(said), at)
                    elif phase and phase not in _FINAL:
                        self._session.commentary(said, at)
                    else:
                        self._session.reply(said, at)

    def _think(self, text: str, at: str, side: int) -> None:
        if text.strip() and self._is_first(text, side):
            self._session.thought(text, at)

    def _is_first(self, text: str, side: int) -> bool:
        """Whether a text was not yet said on the other side; ``side``: 1 as an item, -1 as an event."""
        key = blake2b(" ".join(text.split()).encode("utf-8", "replace"), digest_size=12).digest()
        balance = self._twice.get(key, 0)
        if balance + side:
            self._twice[key] = balance + side
        else:
            del self._twice[key]
        return balance * side >= 0


def _alike(one: str, other: str) -> bool:
    """Whether two records of a prompt are of the same: one may hold more of its surroundings than the other."""
    one, other = " ".join(one.split()), " ".join(other.split())
    return one == other or (len(other) > 3 and other in one) or (len(one) > 3 and one in other)
