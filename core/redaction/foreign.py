"""Words for a secret in letters that are not ASCII's, looked for apart from the automaton.

Each such letter would make every state of it larger. A look for a byte that is rare elsewhere, in C, tells most texts
to have none of them.
"""

from __future__ import annotations

from core.redaction.languages import needles

_NEEDLES = needles()
_ESCAPED_MOST = 3


def _first(needle: str) -> int:
    """Return where the first letter is that is not ASCII's."""
    return next(place for place, letter in enumerate(needle) if not letter.isascii())


# By the first byte in UTF-8 of their first letter that is not ASCII's.
_BY_BYTE: dict[bytes, list[bytes]] = {}
for _needle in _NEEDLES:
    _byte = _needle[_first(_needle)].encode()[:1]
    _BY_BYTE.setdefault(_byte, []).append(_needle.encode())
_PAIRS = tuple(_BY_BYTE.items())
# As JSON in ASCII has their beginnings: patterns for the automaton.
ESCAPED = tuple(
    dict.fromkeys(
        "".join(
            f"\\\\u{ord(each):04x}" if ord(each) > 127 else each for each in needle[_first(needle) :][:_ESCAPED_MOST]
        )
        for needle in _NEEDLES
    )
)


def holds_foreign(data: bytes) -> bool:
    """Whether one of the words may be in ``data``, UTF-8."""
    for byte, words in _PAIRS:  # noqa: SIM110 (a generator would take longer than what it asks)
        if byte in data and any(map(data.__contains__, words)):
            return True
    return False
