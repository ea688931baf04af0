"""Numbers of things, as a sentence says them."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 document``, ``2 documents``, ``13,000 documents``: for nouns whose plural takes an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
