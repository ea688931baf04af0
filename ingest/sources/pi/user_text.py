"""User messages of Pi: a person's words, without the blocks that extensions and skills put around them."""

from __future__ import annotations

from core.text import clean
from ingest.session.user_text import UserText, cut_blocks, prompt, trimmed
from ingest.session.values import Vocabulary

KNOWN = Vocabulary(__file__)
_ASIDES, _ATTACHED = KNOWN.texts("asides"), KNOWN.pairs("attached")


def extract_user_text(text: str) -> UserText:
    """Return one text of a user message by author."""
    return prompt(without_asides(clean(text)))


def without_asides(text: str) -> str:
    """Return the text without the blocks around it; blocks in its midst are a person's."""
    return trimmed(cut_blocks(text, _ASIDES), _ATTACHED)
