"""The strings of a JSON value, cleaned one by one; a name that is a key stands before the string that is its value."""

from __future__ import annotations

from typing import Any

from core.redaction import clean
from core.redaction.private import across
from core.redaction.rules import assigned


def clean_leaves(value: Any, counts: dict[str, int], name: str = "") -> Any:
    """``value`` with clean strings, keys among them; shared where nothing changed, never changed in place.

    Raises RecursionError where it nests deeper than Python's stack, as its decoder would have.
    """
    if type(value) is str:
        if name:
            kind = assigned(name, value)
            if kind:
                counts[kind] = counts.get(kind, 0) + 1
                return f"[redacted:{kind}]"
        return clean(value, counts)
    if type(value) is dict:
        found: dict[str, Any] = {}
        for key, item in value.items():
            plain = clean(key, counts) if len(key) > 12 else key
            while plain != key and plain in found:
                plain += "'"
            found[plain] = clean_leaves(item, counts, key)
        return found
    if type(value) is list:
        return [clean_leaves(item, counts, name) for item in _closed(value)]
    return value


def _closed(parts: list[Any]) -> list[Any]:
    """The parts of a message, ``{"text": …}``, without a private span that goes over several of them."""
    places = [place for place, part in enumerate(parts) if type(part) is dict and type(part.get("text")) is str]
    if len(places) < 2:
        return parts
    cut = across([parts[place]["text"] for place in places])
    if cut is None:
        return parts
    closed = list(parts)
    for place, text in zip(places, cut, strict=True):
        closed[place] = {**parts[place], "text": text}
    return closed
