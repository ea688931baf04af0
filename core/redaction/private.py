"""``<private>…</private>``: what a person marked as nobody's business, taken out without a mark."""

from __future__ import annotations

import re

# Spaces, attributes and a markdown escape before the end of a tag hide nothing; `<private key>` is no such tag.
OPEN = r"<private(?:\s+[\w-]+=[^<>]{0,200})?\s{0,3}\\*>"
CLOSE = r"<\\*/private\s{0,3}\\*>"
TAG = re.compile(rf"(?P<open>{OPEN})|{CLOSE}", re.IGNORECASE)


def without_private(text: str) -> tuple[str, int]:
    """(``text`` without private spans, how many there were).

    A span within a span belongs to it. One that has fewer ends than beginnings goes to its last end; without any,
    to the end of the text. One that ends before any begins began in a message before: it goes from the text's start.
    Of another end of nothing the tag goes.
    """
    pieces: list[str] = []
    tags = list(TAG.finditer(text))
    number = _leading(tags)
    at = tags[number - 1].end() if number else 0
    spans = 1 if number else 0
    while number < len(tags):
        tag = tags[number]
        number += 1
        if not tag["open"]:
            pieces.append(text[at : tag.start()])
            at = tag.end()
            continue
        last = _last(tags, number)
        pieces.append(text[at : tag.start()])
        at = len(text) if last < 0 else tags[last].end()
        number = len(tags) if last < 0 else last + 1
        spans += 1
    return "".join((*pieces, text[at:])) if spans else text, spans


def _leading(tags: list[re.Match[str]]) -> int:
    """How many ends there are before anything begins."""
    return next((number for number, tag in enumerate(tags) if tag["open"]), len(tags))


def _last(tags: list[re.Match[str]], start: int) -> int:
    """Where among ``tags`` the span ends that began right before ``start``; -1 where nothing ends it."""
    depth, last = 1, -1
    for number in range(start, len(tags)):
        if tags[number]["open"]:
            depth += 1
            continue
        depth, last = depth - 1, number
        if not depth:
            break
    return last


def across(texts: list[str], *, to_end: bool = False) -> list[str] | None:
    """The parts of one message without a span that goes over several of them; None where there is none.

    Of each part what the span covers goes; spans within one part are left to ``without_private``. ``to_end``: the parts
    are all of a message, and one that nothing ends goes to its end.
    """
    open_at = -1
    kept = list(texts)
    for number, text in enumerate(texts):
        tags = list(TAG.finditer(text))
        if open_at >= 0:
            if not tags:
                continue
            if not tags[0]["open"]:
                kept[open_at] += "</private>"
                kept[open_at + 1 : number] = [""] * (number - open_at - 1)
                kept[number] = text = text[tags[0].end() :]
                tags = list(TAG.finditer(text))
            open_at = -1
        if tags and tags[-1]["open"]:
            open_at = number
    if to_end and open_at >= 0:
        kept[open_at + 1 :] = [""] * (len(kept) - open_at - 1)
    return kept if kept != texts else None
