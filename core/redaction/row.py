"""A rule as a row of a table, and the pieces that patterns are made of. Data only: loading it costs next to nothing."""

from __future__ import annotations

# Pieces of patterns: a quote, white space and the end of a line, each also as JSON writes it.
QUOTE = r"(?:\\*[\"'`])"
SPACE = r"(?:[ \t]|\\t)"
BREAK = r"(?:(?:\\r|\r)?(?:\n|\\n))"


# Signs of words that mean something in a pattern; a quote stands behind backslashes in JSON.
_LITERAL = {ord(sign): f"\\{sign}" for sign in ".|<>()[]{}*+?$^"} | {ord('"'): '\\\\*"', ord("'"): "\\\\*'"}


class Row:
    """One rule: a kind, words of which every find has one, what comes first, the value, and who accepts it."""

    __slots__ = tuple("accept head is_behind is_one is_rare is_word kind tail value words".split())

    def __init__(
        self,
        kind: str,
        words: str,
        head: str,
        value: str,
        accept: str,
        *,
        tail: str = "",
        is_word: bool = True,
        is_one: bool = False,
        is_rare: bool = False,
        is_behind: bool = False,
    ) -> None:
        """Keep the fields.

        Args:
            kind: What stands in the mark that replaces the value.
            words: Small letters, separated by commas; empty where only digits tell.
            head: The pattern of what stands before the value. Case counts only within ``(?-i:…)``.
            value: The pattern of the value.
            accept: The name of a function of ``core.redaction.checks``.
            tail: The pattern of what has to follow.
            is_word: The head begins where a word begins.
            is_one: The head is the value's beginning, and says enough for the automaton; one of ``words`` is in it.
            is_rare: The words are so rare that the automaton looks for them alone.
            is_behind: Only the tail says what it is: the automaton looks for that.
        """
        self.kind = kind
        self.words = tuple(words.split(", ")) if words else ()
        self.head = head
        self.value = value
        self.accept = accept
        self.tail = tail
        self.is_word = is_word
        self.is_one = is_one
        self.is_rare = is_rare
        self.is_behind = is_behind

    @property
    def pattern(self) -> str:
        """The whole pattern, with the value as its first group."""
        value = f"({self.head}{self.value})" if self.is_one else f"{self.head}({self.value})"
        return value + self.tail

    @property
    def screened(self) -> str:
        """What the automaton looks for: all finds have it."""
        if self.is_rare:
            return "|".join(word.translate(_LITERAL) for word in self.words)
        if self.is_behind:
            return self.tail
        return self.head if self.is_one else f"{self.head}(?:{self.value}){self.tail}"
