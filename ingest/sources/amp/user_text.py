"""The words that a person typed to Amp, without the blocks that Amp puts around them."""

from __future__ import annotations

from core.text import clean
from ingest.session.user_text import UserText, cut_blocks, prompt
from ingest.session.values import Vocabulary

KNOWN = Vocabulary(__file__)

_ASIDES = KNOWN.texts("asides")


def extract_user_text(text: str) -> UserText:
    """Return a user's text without Amp's blocks."""
    return prompt(cut_blocks(clean(text), _ASIDES).strip())
