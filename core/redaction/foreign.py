"""Words for a password in letters that are not ASCII's, looked for apart from the automaton.

Each such letter would make every state of it larger. A look for a byte that is rare elsewhere, in C, tells most texts
to have none of them.
"""

from __future__ import annotations

from core.redaction.hint import FOREIGN

# For ``re``; without what may be a capital, and without the endings of cases.
WORDS = ("парол[ьяею]", "密码", "密碼", "パスワード", "비밀번호", "hasł[oa]", "şifre", "mật khẩu")
# By the first byte in UTF-8 of their first letter that is not ASCII's.
_BY_BYTE: dict[bytes, list[bytes]] = {}
for _needle in (*FOREIGN, "Şifre"):
    _byte = next(letter for letter in _needle if not letter.isascii()).encode()[:1]
    _BY_BYTE.setdefault(_byte, []).append(_needle.encode())
_PAIRS = tuple(_BY_BYTE.items())
# As JSON in ASCII has them: patterns for the automaton.
ESCAPED = tuple(
    "".join(f"\\\\u{ord(each):04x}" if ord(each) > 127 else each for each in needle) for needle in (*FOREIGN, "Şifre")
)


def holds_foreign(data: bytes) -> bool:
    """Whether one of the words may be in ``data``, UTF-8."""
    for byte, words in _PAIRS:  # noqa: SIM110 (a generator would take longer than what it asks)
        if byte in data and any(map(data.__contains__, words)):
            return True
    return False
