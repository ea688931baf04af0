"""The strings of a JSON value, cleaned one by one; a name that is a key stands before the string that is its value."""

from __future__ import annotations

from core.redaction import clean
from core.redaction.private import across
from core.redaction.rules import assigned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMES = ("name", "key", "Name", "Key", "ParameterKey")
_MESSAGES = frozenset(("content", "parts"))
_JWK_PARTS = frozenset(("d", "p", "q", "dp", "dq", "qi", "k"))
_VALUES = frozenset(("value", "Value", "default", "ParameterValue"))


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
        named = _named(value)
        if "kty" in value:
            value = {key: _part(key, item, counts) for key, item in value.items()}
        for key, item in value.items():
            plain = clean(key, counts) if len(key) > 12 else key
            while plain != key and plain in found:
                plain += "'"
            found[plain] = clean_leaves(item, counts, named if key in _VALUES and named else key)
        return found
    if type(value) is list:
        return [clean_leaves(item, counts, name) for item in _closed(value, name)]
    return value


def _named(pairs: dict[str, Any]) -> str:
    """What a mapping calls the value that it has beside: ``{"name": "DB_PASSWORD", "value": …}``; else ""."""
    return next((name for key in _NAMES if type(name := pairs.get(key)) is str), "")


def _part(key: str, item: Any, counts: dict[str, int]) -> Any:
    """A field of a JSON Web Key (RFC 7517, RFC 7518), replaced where it is a part of the private key."""
    if key not in _JWK_PARTS or type(item) is not str or len(item) < 20:
        return item
    counts["private-key"] = counts.get("private-key", 0) + 1
    return "[redacted:private-key]"


def _closed(parts: list[Any], name: str) -> list[Any]:
    """The parts of a message, ``{"text": …}``, without a private span that goes over several of them.

    ``name``: what they stand under; other lists of texts may be of many messages.
    """
    places = [place for place, part in enumerate(parts) if type(part) is dict and type(part.get("text")) is str]
    if len(places) < 2:
        return parts
    cut = across([parts[place]["text"] for place in places], to_end=name in _MESSAGES)
    if cut is None:
        return parts
    closed = list(parts)
    for place, text in zip(places, cut, strict=True):
        closed[place] = {**parts[place], "text": text}
    return closed
