"""One policy for what must not be kept or shown: secrets, replaced by ``[redacted:<kind>]``, and ``<private>`` spans.

Three stages, each for what the one before it lets through: three automata (RE2) over whole chunks of bytes, the same
over single strings, and precise rules over the strings that are left. The policy is described in docs/redaction.md;
a change of what it replaces is a new ``core.version.REDACTION``.
"""

from __future__ import annotations

from core.text import printable, printable_value
from core.version import REDACTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from core.redaction.carried import Carried

# Loaded at the first call: an import in each would be a tenth of what most records take.
_suspicion: Callable[..., int] | None = None


def _suspecting() -> Callable[..., int]:
    global _suspicion
    from core.redaction.automaton import suspicion

    _suspicion = suspicion
    return suspicion


def redact(text: str) -> tuple[str, dict[str, int]]:
    """Return (``text`` without secrets, kind → how many were replaced). A second call changes nothing."""
    counts: dict[str, int] = {}
    return clean(text, counts), counts


def clean(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without secrets and private spans; ``counts`` (kind → number replaced) is added to."""
    match (_suspicion or _suspecting())(text.encode("utf-8", "surrogatepass")):
        case 2:
            from core.redaction.replacing import replace

            return replace(text, counts)
        case 1:
            from core.redaction.likely import without_likely

            return without_likely(text, counts)
    return text


def may_hold_secrets(raw: bytes) -> bool:
    """Return True if ``raw`` (UTF-8 text, or JSON in UTF-8) may hold something to redact."""
    level = (_suspicion or _suspecting())(raw, of_records=True)
    return level == 2 or (level == 1 and (raw[:1] not in (b"{", b"[") or _is_confirmed(raw)))


def _is_confirmed(raw: bytes) -> bool:
    from core.redaction.likely import confirms

    return confirms(raw)


def clean_record(raw: bytes, value: Any, counts: dict[str, int], carried: Carried | None = None) -> Any:
    """Return a JSON value, decoded from ``raw``, with clean strings; the value itself if nothing is to be cleaned.

    ``raw`` is what the value was decoded from, UTF-8: most of it is found harmless without a look at the value.
    ``carried``: what the records before it have begun, where they are of one file.
    """
    if carried is not None and carried.records:
        carried.records -= 1
    elif not may_hold_secrets(raw):
        return value
    from core.redaction.leaves import clean_leaves, hidden_fields

    # Bytes that hold a secret the value lacks must not be kept in the value's stead: count that secret, too.
    clean_leaves(hidden_fields(raw), counts)
    return clean_leaves(value, counts, "", carried)


def clean_document(raw: bytes, counts: dict[str, int]) -> bytes:
    """Return a JSON document's bytes with its strings cleaned; the bytes themselves if nothing is to be cleaned.

    Bytes that are no JSON are cleaned as text.
    """
    if not may_hold_secrets(raw):
        return raw
    import json

    before = sum(counts.values())
    try:
        value = clean_record(raw, json.loads(raw), counts)
    except (ValueError, RecursionError):
        # Bytes that are no UTF-8 stay what they were: zsh's histories are full of them.
        text = raw.decode("utf-8", "surrogateescape")
        cleaned = clean(text, counts)
        return raw if cleaned == text else cleaned.encode("utf-8", "surrogateescape")
    return raw if sum(counts.values()) == before else json.dumps(value, separators=(",", ":")).encode()


def shown_value(value: Any) -> Any:
    """Return ``value`` (JSON-like) as it may be shown: its texts printable, then each as ``shown`` gives it.

    Keys stay as they are. A secret with a hidden character in it is recognised once that character is gone.
    """
    return _shown_each(printable_value(value))


def _shown_each(value: Any) -> Any:
    if type(value) is str:
        return shown(value)
    if type(value) is dict:
        return {key: _shown_each(item) for key, item in value.items()}
    if type(value) is list or type(value) is tuple:
        return [_shown_each(item) for item in value]
    return value


def policy_of(document: str, place: str) -> int:
    """Return the policy under which a document and its place (collection and path) were looked at, just now.

    The number is ``core.version.REDACTION`` if the policy hides nothing of the document, and negative if it hides
    something.
    """
    # A secret with a hidden character in it is recognised once that character is gone.
    return REDACTION if all(shown(text) == text for text in map(printable, (place, document))) else -REDACTION


def excerpt(document: str, start: int, end: int, *, is_clean: bool) -> str:
    """Return ``document[start:end]`` as it may be shown.

    A document that is not clean is redacted as a whole: a private span or a key may begin and end outside the excerpt.
    """
    if is_clean:
        return document[start:end]
    from core.redaction.outgoing import Outgoing

    return Outgoing(document).piece(start, end)


def shown(text: str) -> str:
    """Return ``text`` as it may be shown: without secrets and private spans."""
    return clean(text, {})
