"""The words that a person typed to Copilot CLI, without the blocks that its harness and VS Code put around them."""

from __future__ import annotations

from core.text import clean
from ingest.session.user_text import UserText, cut_blocks, prompt, trimmed
from ingest.session.values import Vocabulary

KNOWN = Vocabulary(__file__)

_ASIDES = KNOWN.texts("asides")
# A person may write such blocks, too: only those at a text's ends are the harness's.
_AROUND = KNOWN.pairs("around")
# VS Code repeats the words below what it attached to them.
_REPEAT, _REPEAT_END = "\n<userRequest>\n", "\n</userRequest>"
_ATTACHED, _ATTACHED_END = "\n<attachments>\n<attachment ", "</attachment>\n\n</attachments>"


def extract_user_text(text: str) -> UserText:
    """Return the words that a person typed."""
    text = clean(text).rstrip()
    if text.endswith(_REPEAT_END) and _REPEAT in text:
        # If the words hold such a block themselves, the repetition begins with the block in the middle.
        pieces = text.removesuffix(_REPEAT_END).split(_REPEAT)
        half = len(pieces) // 2
        before, again = _REPEAT.join(pieces[:half]), _REPEAT.join(pieces[half:])
        if _words(before) == _words(again):
            text = again
    elif text.endswith(_ATTACHED_END) and _ATTACHED in f"\n{text}":
        text = f"\n{text}".rpartition(_ATTACHED)[0]
    return prompt(trimmed(cut_blocks(text, _ASIDES), _AROUND))


def _words(text: str) -> list[str]:
    return trimmed(cut_blocks(text, (*_ASIDES, "attachments")), _AROUND).split()
