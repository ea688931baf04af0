"""Where a markdown text's frontmatter begins and ends, without reading it."""

from __future__ import annotations


def bounds(text: str) -> tuple[int, int, int] | None:
    """Return (start of the fields, their end, start of the rest) in characters; None without frontmatter.

    The fields are between two lines of ``---`` at the very top (a byte order mark may come first), with line ends of
    either kind. A thematic break at the top of a text opens none: no field follows it.
    """
    start = 1 if text.startswith("\ufeff") else 0
    if not text.startswith("---", start):
        return None
    opened = text.find("\n", start)
    if opened < 0 or text[start:opened].rstrip() != "---":
        return None
    first = opened + 1
    end = first
    while True:
        stop = text.find("\n", end)
        stop = len(text) if stop < 0 else stop
        if text.startswith("---", end) and not text[end + 3 : stop].strip():
            break
        end = text.find("\n---", end)
        if end < 0:
            return None
        end += 1
    head = text[first:end]
    if head.strip() and ":" not in head:
        return None
    return first, end, min(stop + 1, len(text))
