"""Redacting a history: each command by itself, as its documents show it, and one that people repeat only once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.counting import add
from core.redaction import clean as redacted
from core.redaction.screen import suspects
from core.text import clean
from ingest.sources.shell.spans import has_several

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_COMMAND = 20_000
# Commands that are told harmless at once: so many, and where they are not, so many of those.
_BATCHES = (64, 8, 1)
# A text of these bytes alone is clean (``core.text``): no controls, of which some have two bytes, no surrogates.
_LATIN, _CONTROLS = b"\xc2", re.compile(rb"\xc2[\x80-\x9f]")
_PLAIN = bytes(byte for byte in range(256) if byte in (9, 10) or (byte >= 32 and byte not in (0x7F, 0xC2, 0xED)))
# The times of a history, which make two lines of one command differ, with a line's end before them.
_TIMES = {
    "zsh": re.compile(r"(\n: +[0-9]{1,20} *(?::[^;\n]*)?;)"),
    "bash": re.compile(r"(\n#[0-9]{9,12}\n)"),
    "fish": re.compile(r"(\n  when: [0-9]{1,20}\n)"),
}

# A text without what is to be redacted, and how many of each kind were.
Cleaned = tuple[str, dict[str, int]]


class Redaction:
    """What became of the commands of one history, each looked at once."""

    __slots__ = ("_found", "_kept", "_odd", "_seen")

    def __init__(self) -> None:
        self._seen: set[str] = set()
        # Those of them that do not stay as they are, or might not.
        self._odd: set[str] = set()
        self._kept: dict[str, Cleaned] = {}
        self._found: dict[str, Cleaned] = {}

    def of(self, commands: Sequence[str]) -> list[Cleaned | None]:
        """What is shown of each of ``commands``; None for one that stays as it is."""
        odd = self._look(commands)
        return [self._shown(command) if command in odd else None for command in commands]

    def archived(self, kind: str, part: bytes) -> tuple[bytes, dict[str, int] | None]:
        """A part of a history, in whole commands, as it is kept; bytes that are no UTF-8 stay what they were.

        What no time parts is looked at together: where something was replaced in several commands, what they are now is
        told by these bytes alone, and with them comes how much was in all of the part (kind → number), else None.
        """
        pieces = _TIMES[kind].split("\n" + part.decode("utf-8", "surrogateescape"))
        odd = self._look(pieces[::2])
        if not odd:
            return part, None
        counts: dict[str, int] = {}
        together = False
        for number in range(0, len(pieces), 2):
            piece = pieces[number]
            if piece in odd:
                pieces[number], found = self._redacted(piece)
                # Bash writes what one command has in several lines only where it writes times.
                together |= bool(found) and not (kind == "bash" and number) and has_several(kind, piece)
                add(counts, found)
        return "".join(pieces)[1:].encode("utf-8", "surrogateescape"), counts if together else None

    def alone(self, commands: Iterable[bytes]) -> Iterator[bytes]:
        """Each of ``commands`` as it would be kept if no other were there."""
        for command in commands:
            text = command.decode("utf-8", "surrogateescape")
            yield self._redacted(text)[0].encode("utf-8", "surrogateescape")

    def _look(self, texts: Sequence[str]) -> set[str]:
        """Those of ``texts`` that do not stay as they are, or might not."""
        there = set(texts)
        fresh = list(there - self._seen)
        self._seen |= there
        for size in _BATCHES:
            batches = [fresh[start : start + size] for start in range(0, len(fresh), size)]
            fresh = [text for batch in batches if not _stay(batch) for text in batch]
        self._odd.update(fresh)
        return self._odd & there

    def _shown(self, command: str) -> Cleaned:
        found = self._found.get(command)
        if found is None:
            plain = clean(command).strip()
            text, counts = self._redacted(plain)
            # What is left of a command that began with something private is read from the archive without the space.
            found = self._found[command] = text.strip()[:MAX_COMMAND], counts
        return found

    def _redacted(self, text: str) -> Cleaned:
        found = self._kept.get(text)
        if found is None:
            counts: dict[str, int] = {}
            found = self._kept[text] = redacted(text, counts), counts
        return found


def _stay(texts: list[str]) -> bool:
    data = "\n".join(texts).encode("utf-8", "surrogatepass")
    return not suspects(data) and is_clean(data) and max(map(len, texts)) <= MAX_COMMAND


def is_clean(data: bytes) -> bool:
    """Whether ``core.text.clean`` leaves a text, ``data`` in UTF-8, as it is: a look at the bytes costs less."""
    odd = data.translate(None, _PLAIN)
    if odd.strip(_LATIN):
        text = data.decode("utf-8", "surrogatepass")
        return clean(text) == text
    return not odd or _CONTROLS.search(data) is None
