"""The strings of a JSON value, cleaned one by one; a string is judged by its key, too."""

from __future__ import annotations

import json

from core.redaction import clean
from core.redaction.assignments import assigned, is_session
from core.redaction.carried import Carried
from core.redaction.nested import ASKED, GIVEN, name_in
from core.redaction.private import TAG, across

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMES = ("name", "key", "Name", "Key", "ParameterKey")
_MESSAGES = frozenset(("content", "parts"))
# Types of the parts of a message that are no text, and the keys of such parts in Gemini's.
_MEDIA = ("image", "file", "document", "audio", "video", "media", "attachment")
_MEDIA_KEYS = ("inlineData", "inline_data", "fileData", "file_data")
# Where Codex's event of a message holds what stood between its texts, which it holds as one.
_BESIDE = ("images", "local_images", "audio", "local_audio")
_JWK_PARTS = frozenset(("d", "p", "q", "dp", "dq", "qi", "k"))
_VALUES = frozenset(("value", "Value", "val", "default", "ParameterValue"))


def clean_leaves(value: Any, counts: dict[str, int], name: str = "", carried: Carried | None = None) -> Any:
    """``value`` with clean strings, keys among them; shared where nothing changed, never changed in place.

    ``carried``: what the texts before it have begun.

    Raises RecursionError where it nests deeper than Python's stack, as its decoder would have.
    """
    carried = carried or Carried()
    if type(value) is str:
        if name:
            kind = assigned(name, value)
            if kind:
                counts[kind] = counts.get(kind, 0) + 1
                return f"[redacted:{kind}]"
        return carried.clean(value, name, counts)
    if type(value) is dict:
        found: dict[str, Any] = {}
        # `{"secret": {"value": …}}`
        named = _named(value) or (name if not _VALUES.isdisjoint(value) else "")
        if type(value.get("message")) is str and TAG.search(value["message"]):
            value = {key: [] if key in _BESIDE and type(item) is list else item for key, item in value.items()}
        if type(value.get("element")) is str and "passw" in value["element"].lower():
            named, typed = "password", True  # what an agent's browser is to type into a field
        else:
            typed = any(type(value.get(key)) is str for key in ASKED)
        if "value" in value and ("httpOnly" in value or "sameSite" in value):
            value = {**value, "value": _cookie(named, value["value"], counts)}
        if "kty" in value:
            value = {key: _part(key, item, counts) for key, item in value.items()}
        for key, item in value.items():
            plain = clean(key, counts) if len(key) > 12 else key
            while plain != key and plain in found:
                plain += "'"
            found[plain] = clean_leaves(
                item, counts, named if named and (key in _VALUES or (typed and key in GIVEN)) else key, carried
            )
        return found
    if type(value) is int and name:
        found_kinds: dict[str, int] = {}
        clean(f'"{name}": {value}', found_kinds)  # a code, a card's number, a password of digits
        for kind, number in found_kinds.items():
            counts[kind] = counts.get(kind, 0) + number
            return f"[redacted:{kind}]"
    if type(value) is list:
        return [clean_leaves(item, counts, name, carried) for item in _closed(value, name)]
    return value


def hidden_fields(raw: bytes) -> list[dict[str, Any]]:
    """Return each field of a JSON text that a later one with the same key hides; none if ``raw`` is no JSON."""
    hidden: list[dict[str, Any]] = []

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            last = {key: place for place, (key, _) in enumerate(pairs)}
            hidden.extend({key: value} for place, (key, value) in enumerate(pairs) if last[key] != place)
        return found

    text = raw.decode("utf-8", "replace").removeprefix("\ufeff").strip("\0 \t\r\n")
    try:
        json.JSONDecoder(strict=False, object_pairs_hook=mapping).raw_decode(text)
    except (ValueError, RecursionError):
        return []
    return hidden


def _named(pairs: dict[str, Any]) -> str:
    """Return the name that a mapping gives its value: ``{"name": "DB_PASSWORD", "value": …}``; else ""."""
    if found := next((name for key in _NAMES if type(name := pairs.get(key)) is str), ""):
        return found
    return next((name_in(asked) for key in ASKED if type(asked := pairs.get(key)) is str), "")


def _cookie(name: str, item: Any, counts: dict[str, int]) -> Any:
    """The value of a cookie as browsers' extensions write them, replaced where it may let somebody in."""
    if type(item) is not str or len(item) < 8 or not is_session(name, item):
        return item
    counts["cookie"] = counts.get("cookie", 0) + 1
    return "[redacted:cookie]"


def _part(key: str, item: Any, counts: dict[str, int]) -> Any:
    """A field of a JSON Web Key (RFC 7517, RFC 7518), replaced where it is a part of the private key."""
    if key not in _JWK_PARTS or type(item) is not str or len(item) < 20:
        return item
    counts["private-key"] = counts.get("private-key", 0) + 1
    return "[redacted:private-key]"


def _closed(parts: list[Any], name: str) -> list[Any]:
    """The parts of a message, ``{"text": …}`` and others, without a private span that goes over several of them.

    ``name``: what they stand under; other lists of texts may be of many messages.
    """
    found = spanned(parts, to_end=name in _MESSAGES)
    return [found.get(place, part) for place, part in enumerate(parts) if found.get(place, place) is not None]


def spanned(parts: list[Any], *, to_end: bool) -> dict[int, dict[str, Any] | None]:
    """Return the parts of a message that a private span over several of them changes: place → the part, or None.

    None means that the part goes: images and files in the span. Spans within one part are left to ``clean_leaves``.

    Args:
        parts: The parts, of which some have a ``text``.
        to_end: The parts are all of a message (``core.redaction.private.across``).
    """
    places = [place for place, part in enumerate(parts) if type(part) is dict and type(part.get("text")) is str]
    if not places or len(parts) < 2:
        return {}
    texts = [parts[place]["text"] for place in places]
    # An image may follow the text in which a span begins that nothing ends.
    cut = across([*texts, ""], to_end=to_end)
    if cut is None:
        return {}
    found: dict[int, dict[str, Any] | None] = {}
    for place, text, kept in zip(places, texts, cut[0], strict=False):
        if kept != text:
            found[place] = {**parts[place], "text": kept}
    for start, end in cut[1]:
        last = places[end] if end < len(places) else len(parts)
        first = places[start] + 1 if start >= 0 else 0
        found |= {place: None for place in range(first, last) if _is_medium(parts[place])}
    return found


def _is_medium(part: Any) -> bool:
    if type(part) is not dict:
        return False
    kind = str(part.get("type", "")).lower()
    return any(word in kind for word in _MEDIA) or any(key in part for key in _MEDIA_KEYS)
