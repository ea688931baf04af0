"""Blocks between tags, as harnesses put them around and into what a person typed."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def between(text: str, tag: str) -> str:
    """What stands between the first ``<tag>`` and its end; empty where there is no such block."""
    _, opened, rest = text.partition(f"<{tag}>")
    inner, closed, _ = rest.partition(f"</{tag}>")
    return inner if opened and closed else ""


def cut_blocks(text: str, tags: Iterable[str]) -> str:
    """``text`` without its ``<tag …>…</tag>`` blocks that begin a line, one tag after another; an unclosed one stays.

    Searches forward only, so the time is linear in the text whatever it holds.
    """
    if "<" in text:
        for tag in tags:
            if "<" + tag in text:
                text = _cut(text, tag)
    return text


def is_whole(text: str, tags: Iterable[str]) -> bool:
    """Whether a text is a block of one of ``tags`` from end to end, or several side by side, whatever it quotes.

    A closing tag with more of them below it is quoted: the last one ends the block. Where words stand between the end
    of one block and the beginning of the next they may be a person's. Linear in the text.
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
    """``text`` without the blocks (opening, closing) that it begins and ends with; those in its midst stay.

    For names that a person may give a block of their own. Linear in the text.
    """
    blocks = tuple(blocks)
    text = text.strip()
    at, end = 0, len(text)
    while found := next((block for block in blocks if text.startswith(block[0], at)), None):
        close = text.find(found[1], at, end)
        if close < 0:
            break
        at = close + len(found[1])
        while text[at : at + 1].isspace():
            at += 1
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
