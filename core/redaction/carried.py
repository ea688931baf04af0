"""Keys and tokens that begin in one text of a file and go on in the next; rules are loaded where one begins."""

from __future__ import annotations

import re

from core.redaction import clean

# Records in which a key may go on: a tool that reads a file in pieces makes a handful of records a piece.
_REACH = 40
_CUT_JWT, _CUT_KEY = "[redacted:jwt]", "[redacted:private-key]"
_REST = r"\A\s*(?=[A-Za-z0-9_.-]{16})(?P<value>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){0,2})(?=\s|\Z)"


class Carried:
    """The keys and tokens that have begun in the texts of one file, and may go on in the next ones.

    ``records``: in how many more records it may go on; 0 if nothing has begun.
    """

    __slots__ = ("_tokens", "_width", "records")

    def __init__(self) -> None:
        self.records = 0
        self._tokens: set[str] = set()  # the fields in which a token was cut off
        self._width = 0  # of the key's lines; 0 before the first

    def clean(self, text: str, name: str, counts: dict[str, int]) -> str:
        """Return ``text`` without secrets, also those that began in a text before; ``name`` is its field's."""
        cleaned = clean(text, counts)
        if self.records:
            cleaned = self._without_rest(cleaned, name, counts)
        self._note(text, cleaned, name)
        return cleaned

    def _without_rest(self, text: str, name: str, counts: dict[str, int]) -> str:
        from core.redaction.keys import without_body
        from core.redaction.tokens import is_varied

        if self._width >= 0:
            text, width = without_body(text, self._width, counts)
            if width:
                self._width, self.records = width, _REACH
        if name in self._tokens:
            self._tokens.remove(name)
            match = re.match(_REST, text)
            if match is not None and is_varied(match["value"]):
                counts["jwt"] = counts.get("jwt", 0) + 1
                text = f"{text[: match.start('value')]}{_CUT_JWT}{text[match.end() :]}"
        return text

    def _note(self, text: str, cleaned: str, name: str) -> None:
        from core.redaction.keys import unended
        from core.redaction.tokens import is_whole

        width = unended(text) if _CUT_KEY in cleaned or "PRIVATE KEY" in text else None
        if width is not None:
            self._width, self.records = width, _REACH if width >= 0 else 0
        if cleaned.rstrip().endswith(_CUT_JWT) and not is_whole(text):
            self._tokens.add(name)
            self.records = max(self.records, _REACH // 4)
            self._width = self._width or -1
