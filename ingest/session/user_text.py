"""A user message's text, divided by author: a person's words, and what harnesses put around or in place of them.

Each tool's ``extract_user_text(text) -> UserText`` (``ingest/sources/<tool>/user_text.py``) knows the tool's marks; the
functions here cut blocks between tags. All of them are linear in the text, whatever it holds.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ingest.session.session import COMMAND, INTERRUPT, PROMPT, TEAMMATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class UserText(NamedTuple):
    """The pieces of one user text in order, each (kind of event, words), and the working directory that it names.

    A text without pieces was written by the harness alone. Kinds are those of ``ingest.session.session``: PROMPT,
    COMMAND (a slash command, or a shell command with ``! `` in front), TEAMMATE, SUMMARY, INTERRUPT.
    """

    pieces: tuple[tuple[str, str], ...] = ()
    directory: str = ""

    @property
    def typed(self) -> str:
        """A person's words, without commands."""
        return "\n\n".join(words for kind, words in self.pieces if kind == PROMPT)

    @property
    def words(self) -> str:
        """All words, whoever wrote them."""
        return "\n\n".join(words for _, words in self.pieces)

    def by_teammate(self) -> UserText:
        """Return the same text, written by another agent or a schedule."""
        return self._replace(pieces=tuple((TEAMMATE if kind == PROMPT else kind, words) for kind, words in self.pieces))


NOTHING = UserText()
INTERRUPTION = UserText(((INTERRUPT, ""),))


def piece(kind: str, words: str) -> UserText:
    """Return a text of one piece; of no piece if there are no words."""
    return UserText(((kind, words),)) if words else NOTHING


def prompt(words: str) -> UserText:
    """Return a person's words."""
    return piece(PROMPT, words)


def command(words: str) -> UserText:
    """Return a command that a person typed."""
    return piece(COMMAND, words)


def paragraphs(*words: str) -> str:
    """Return the texts that are not empty, stripped and separated by a blank line."""
    return "\n\n".join(text for each in words if (text := each.strip()))


def between(text: str, tag: str) -> str:
    """Return the text between the first ``<tag>`` and its end; empty if there is no such block."""
    _, opened, rest = text.partition(f"<{tag}>")
    inner, closed, _ = rest.partition(f"</{tag}>")
    return inner if opened and closed else ""


def cut_blocks(text: str, tags: Iterable[str]) -> str:
    """Return the text without its ``<tag …>…</tag>`` blocks that begin a line; an unclosed block stays."""
    if "<" in text:
        for tag in tags:
            if "<" + tag in text:
                text = _cut(text, tag)
    return text


def end_of_blocks(text: str, opening: re.Pattern[str], start: int = 0) -> int:
    """Return where the closed blocks end that ``text`` has at ``start``, with white space between them.

    ``opening`` matches an opening tag, with the tag's name as group 1; a tag that ends in ``/>`` is a whole block.
    """
    at = end = start
    while found := opening.match(text, at):
        if found[0].endswith("/>"):
            end = found.end()
        else:
            closing = f"</{found[1]}>"
            close = text.find(closing, found.end())
            if close < 0:
                break
            end = close + len(closing)
        at = skip_space(text, end)
    return end


def skip_space(text: str, at: int) -> int:
    """Return the position of the first character at or after ``at`` that is no white space."""
    while text[at : at + 1].isspace():
        at += 1
    return at


def is_whole(text: str, tags: Iterable[str]) -> bool:
    """Return True if a text consists of blocks of ``tags`` from end to end, whatever they quote.

    A closing tag with more of them below it is quoted: the last one ends the block. Words between the end of one block
    and the beginning of the next may be a person's.
    """
    names = "|".join(tags)
    depth = end = 0
    for found in re.finditer(rf"</(?:{names})>|<(?:{names})(?=[\s>])", text):
        if found[0].startswith("</"):
            depth, end = max(depth - 1, 0), found.end()
        elif depth == 0 and text[end : found.start()].strip():
            return False
        else:
            depth += 1
    return 0 < end == len(text)


def trimmed(text: str, blocks: Iterable[tuple[str, str]]) -> str:
    """Return the text without the blocks (opening, closing) at its two ends; those in its midst stay.

    For names that a person may give a block of their own.
    """
    blocks = tuple(blocks)
    text = text.strip()
    at, end = 0, len(text)
    while found := next((block for block in blocks if text.startswith(block[0], at)), None):
        close = text.find(found[1], at, end)
        if close < 0:
            break
        at = skip_space(text, close + len(found[1]))
    while found := next((block for block in blocks if text.endswith(block[1], at, end)), None):
        start = text.rfind(found[0], at, end)
        line = text.rfind("\n", at, start) + 1 or at
        if start < 0 or text[line:start].strip():
            break
        end = start
        while end > at and text[end - 1].isspace():
            end -= 1
    return text[at:end]


def _cut(text: str, tag: str) -> str:
    opening, closing = "<" + tag, f"</{tag}>"
    kept: list[str] = []
    position = 0
    search = 0
    while (start := text.find(opening, search)) >= 0:
        line = text.rfind("\n", position, start) + 1 or position
        follows = text[start + len(opening) : start + len(opening) + 1]
        if text[line:start].strip() or follows not in ("", ">", " ", "\n"):
            search = start + len(opening)
            continue
        end = text.find(closing, start)
        if end < 0:
            break
        kept.append(text[position:start])
        position = search = end + len(closing)
    kept.append(text[position:])
    return "".join(kept)
