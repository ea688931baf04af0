"""Numbers of things: added up by what they are of, and as a sentence says them."""

from __future__ import annotations

# Kinds of tokens: the counts of one model in a document's `tokens`, in their order, and the keys of a price.
TOKENS = ("input", "cached", "stored", "output")


def counted(number: int, noun: str) -> str:
    """Return ``1 document``, ``2 documents``, ``13,000 documents``: for nouns with a plural in s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def add(into: dict[str, int], counts: dict[str, int]) -> None:
    """Add ``counts`` (what → number) to those of ``into``."""
    for what, number in counts.items():
        into[what] = into.get(what, 0) + number
