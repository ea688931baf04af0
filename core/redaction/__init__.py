"""One policy for what must not be kept or shown: secrets, replaced by ``[redacted:<kind>]``, and ``<private>`` spans.

Three stages, each for what the one before it lets through: one automaton (RE2) over whole chunks of bytes, the same
over single strings, and precise rules over the strings that are left. The policy is described in docs/redaction.md;
a change of what it replaces is a new ``core.version.REDACTION``.
"""

from __future__ import annotations

from core.text import is_plain, printable_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from core.redaction.carried import Carried

MARK = "[redacted:"

# The automaton, loaded at the first call: an import in each would be a tenth of what most records take.
_suspects: Callable[[bytes], bool] | None = None


def _loaded() -> Callable[[bytes], bool]:
    global _suspects
    from core.redaction.screen import suspects

    _suspects = suspects
    return suspects


def redact(text: str) -> tuple[str, dict[str, int]]:
    """(``text`` without secrets, how many were replaced by kind). Applied again it changes nothing."""
    counts: dict[str, int] = {}
    return clean(text, counts), counts


def clean(text: str, counts: dict[str, int]) -> str:
    """``text`` without secrets and private spans; what was replaced is added to ``counts`` (kind → number)."""
    if not (_suspects or _loaded())(text.encode("utf-8", "surrogatepass")):
        return text
    from core.redaction.rules import replace

    return replace(text, counts)


def clean_record(raw: bytes, value: Any, counts: dict[str, int], carried: Carried | None = None) -> Any:
    """A JSON value, decoded from ``raw``, with its strings cleaned; the value itself where there is nothing to clean.

    ``raw`` is what the value was decoded from, UTF-8: most of it is told harmless without looking at the value.
    ``carried``: what the records before it have begun, where they are of one file.
    """
    if carried is not None and carried.records:
        carried.records -= 1
    elif not (_suspects or _loaded())(raw):
        return value
    from core.redaction.leaves import clean_leaves, hidden_fields

    # Bytes that hold a secret the value lacks must not be kept in the value's stead: count that secret, too.
    clean_leaves(hidden_fields(raw), counts)
    return clean_leaves(value, counts, "", carried)


def clean_document(raw: bytes, counts: dict[str, int]) -> bytes:
    """The bytes of one JSON document with its strings cleaned; the bytes themselves where there is nothing to clean.

    Bytes that are no JSON are cleaned as text.
    """
    if not (_suspects or _loaded())(raw):
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
    strings: list[str] = []
    _gather(value, strings)
    if not all(map(is_plain, strings)):
        value = printable_value(value)
        strings.clear()
        _gather(value, strings)
    from core.redaction.hint import any_may_hold

    return _shown_each(value) if any_may_hold(strings) else value


def _gather(value: Any, strings: list[str]) -> None:
    if type(value) is str:
        strings.append(value)
    elif type(value) is dict:
        for item in value.values():
            _gather(item, strings)
    elif type(value) is list or type(value) is tuple:
        for item in value:
            _gather(item, strings)


def _shown_each(value: Any) -> Any:
    if type(value) is str:
        return shown(value)
    if type(value) is dict:
        return {key: _shown_each(item) for key, item in value.items()}
    if type(value) is list or type(value) is tuple:
        return [_shown_each(item) for item in value]
    return value


# Of what goes over several lines: the heads of keys.
_KEYS = ("PRIVATE KEY", "Private-Lines", '"kty', "OpenVPN Static key")
# Heads of lists of codes, and what draws a secret: what follows stands in the lines below.
_ABOVE = ("ecovery code", "ackup code", "cratch code", "openssl rand", "wg gen", "pwgen")
# A table is so long at most above a piece of it.
_TABLE = 50_000
# So many characters beside a piece tell what a cut has parted from it: no rule reaches further within a line.
_BESIDE = 400
# How documents begin that this program made of something else, and of which it has taken all that out.
_MADE, _NOTED, _HEAD = "---\nsession_id: ", "\nsource: note\n", 400


def is_made(document: str) -> bool:
    """Whether this program made ``document`` of something else, and so took all out that is to be."""
    return document.startswith(_MADE) and _NOTED not in document[:_HEAD]


def may_span(document: str) -> bool:
    """Whether a piece of ``document`` may lie in a private span or a key of which it shows neither end, or be a value
    whose name stands in the line before.

    Only what a person wrote has such. For questions, which have no time to look through each document.
    """
    if is_made(document):
        return False
    if any(mark in document for mark in _KEYS):
        return True
    folded = document.lower()
    from core.redaction.hint import is_beside, is_manifest, is_tagged

    return is_tagged(folded) or is_beside(folded) or is_manifest(folded)


def may_head(document: str) -> bool:
    """Whether the head of a table in ``document`` may name what stands in the lines below it."""
    from core.redaction.hint import is_headed

    return not is_made(document) and is_headed(document.lower())


def excerpt(document: str, start: int, end: int) -> str:
    """``document[start:end]`` as it may be shown, where not only what it says itself tells that it hides something.

    What lies in a private span or a key that goes over lines is left out, and a value whose name, or whose list's
    head, stands before ``start``. For questions: of a long document that has no such span only what is near is read.
    """
    if is_made(document):
        return document[start:end]
    low, around = 0, document
    if not may_span(document):
        from core.redaction.hint import may_hold

        low, around = _surroundings(document, start, end)
        is_whole = low == start and not document[end : low + len(around)].strip()
        if is_whole or not may_hold(around):  # what a piece says by itself is left to whoever shows it
            return document[start:end]
    from core.redaction.outgoing import Outgoing

    return Outgoing(around).piece(start - low, end - low)


def _surroundings(document: str, start: int, end: int) -> tuple[int, str]:
    """(where it begins, text) of what tells of ``document[start:end]`` by standing around it: most the rest of its
    lines; of a list of codes, and of what a command has drawn, also the lines before, and of a table all above."""
    low, high = max(0, start - _BESIDE), end + _BESIDE
    if not any(mark in document[low:high] for mark in _ABOVE):
        line = document.rfind("\n", 0, start) + 1
        # A row's cells are counted, from its beginning.
        top = _table(document, line)
        low = top if top < line else max(line, low)
        line = document.find("\n", end, high)
        high = high if line < 0 else line
    return low, document[low:high]


def _table(document: str, line: int) -> int:
    """Where the table begins of which the row at ``line`` may be one: lines without a gap that have columns."""
    from core.redaction.hint import COLUMNS

    cells = (*COLUMNS, ",", ";")
    top, least = line, line - _TABLE
    while top > 0:
        above = document.rfind("\n", max(0, least), top - 1) + 1
        row = document[above : top - 1]
        if above <= least or not row.strip():
            return top
        if not any(map(row.__contains__, cells)) and any(map(str.isalnum, row)):
            return top
        top = above
    return top


def shown(text: str) -> str:
    """``text`` as it may be shown: like ``redact``, but cheap to load where there is nothing to look for."""
    from core.redaction.hint import may_hold

    return redact(text)[0] if may_hold(text) else text
