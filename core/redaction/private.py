"""``<private>…</private>``: text that a person marked as nobody's business, taken out without a mark."""

from __future__ import annotations

import re

from core.redaction.rule import Prefilter, Rule

# Spaces, attributes and a markdown escape hide nothing, nor that a page or a prompt was written for HTML;
# `<private key>` is no such tag.
_ATTRIBUTES = r"(?:\s+[\w-]+=[^<>]{0,200}?)?"
# `Map<Private>` is code's.
_TYPE = r"(?!(?-i:(?<=\w)<Private>))"
OPEN = rf"{_TYPE}(?:<|&lt;)\s{{0,3}}private{_ATTRIBUTES}\s{{0,3}}\\{{0,16}}(?:>|&gt;)"
CLOSE = r"(?:<|&lt;)\s{0,3}\\{0,16}/\s{0,3}private\s{0,3}\\{0,16}(?:>|&gt;)"
TAG = re.compile(rf"(?P<open>{OPEN})|{CLOSE}", re.IGNORECASE)


def without_private(text: str) -> tuple[str, int]:
    """Return (``text`` without private spans, how many there were).

    A span within a span belongs to it. A span with fewer ends than beginnings goes to the end of the text. A span that
    ends before any begins came from an earlier message: it goes from the start of the text. Any other end loses
    its tag.
    """
    pieces: list[str] = []
    tags = list(TAG.finditer(text))
    ends = _ends([bool(tag["open"]) for tag in tags])
    number = _leading(tags)
    at = tags[number - 1].end() if number else 0
    spans = 1 if number else 0
    while number < len(tags):
        tag, last = tags[number], ends[number]
        number += 1
        pieces.append(text[at : tag.start()])
        at = tag.end()
        if not tag["open"]:
            continue
        at = len(text) if last < 0 else tags[last].end()
        number = len(tags) if last < 0 else last + 1
        spans += 1
    return "".join((*pieces, text[at:])) if spans else text, spans


def _without_private(text: str, counts: dict[str, int]) -> str:
    text, spans = without_private(text)
    if spans:
        counts["private"] = counts.get("private", 0) + spans
    return text


PRIVATE = Rule("private", Prefilter((r"(?:<|&lt;)[\s\\/nrt]*private(?:\\|\s|>|&gt;)",)), clean=_without_private)


def _leading(tags: list[re.Match[str]]) -> int:
    """Return how many ends there are before anything begins."""
    return next((number for number, tag in enumerate(tags) if tag["open"]), len(tags))


def _ends(opens: list[bool]) -> list[int]:
    """Return, for each tag (True if it begins a span), the number of the tag that ends its span; -1 for none."""
    ends = [-1] * len(opens)
    begun: list[int] = []
    for number, begins in enumerate(opens):
        if begins:
            begun.append(number)
        elif begun:
            ends[begun.pop()] = number
    return ends


def across(texts: list[str], *, to_end: bool = False) -> tuple[list[str], list[tuple[int, int]]] | None:
    """Return the parts of one message without spans over several of them, and which parts lie between; or None.

    Spans within one part are left to ``without_private``.

    Args:
        texts: The parts.
        to_end: The parts are all of a message. A span without an end goes to its end, one without a beginning is from
            its beginning.

    Returns:
        The parts, and a list of (the part in which a span begins, or -1; the part in which it ends, or how many there
        are).
    """
    tags = [(number, tag) for number, text in enumerate(texts) for tag in TAG.finditer(text)]
    ends = _ends([bool(tag["open"]) for _, tag in tags])
    starts = [0] * len(texts)
    kept = list(texts)
    between: list[tuple[int, int]] = []
    number = _leading([tag for _, tag in tags])
    if number and to_end and tags[number - 1][0]:
        first = tags[number - 1][0]
        kept[:first] = [""] * first
        between.append((-1, first))
    while number < len(tags):
        (part, tag), last = tags[number], ends[number]
        number += 1
        if not tag["open"] or (last < 0 and not to_end):
            continue
        end = len(texts) if last < 0 else tags[last][0]
        if end > part + (last < 0):
            # Another's beginning before it in this part, which nothing ends, still goes to the end of the part.
            kept[part] = f"{texts[part][starts[part] : tag.start()]}<private>{'</private>' if last >= 0 else ''}"
            kept[part + 1 : end] = [""] * (end - part - 1)
            between.append((part, end))
            if last >= 0:
                starts[end] = tags[last][1].end()
                kept[end] = texts[end][starts[end] :]
        if last < 0:
            break
        number = last + 1
    return (kept, between) if between else None
