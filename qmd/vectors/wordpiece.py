"""BERT's tokens without the library that made them famous: what a cold question can afford.

The same cuts as Hugging Face's ``BertNormalizer``, ``BertPreTokenizer`` and ``WordPiece`` make with the settings of an
uncased model (https://huggingface.co/docs/tokenizers/api/normalizers), except that markers such as ``[SEP]`` inside a
text are text. Nothing is imported for a question in ASCII.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # Whether a piece is one of the model's.
    Known = Callable[[str], bool]

# A longer word is unknown as a whole, as in the models' own configuration.
LONGEST = 100
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
# The ideographs that BERT takes one by one: first and last code points.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def words(text: str) -> list[str]:
    """Lower-case words and single punctuation marks, accents taken off."""
    return _ascii_words(text) if text.isascii() else _words(text)


def pieces(word: str, known: Known) -> list[str]:
    """The longest known pieces of a word from its left, later ones with ``##``; none where one is unknown."""
    if len(word) > LONGEST:
        return []
    found: list[str] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            piece = prefix + word[start:end]
            if known(piece):
                found.append(piece)
                start = end
                break
        else:
            return []
    return found


def _ascii_words(text: str) -> list[str]:
    found: list[str] = []
    start = -1
    for index, character in enumerate(text.lower()):
        if character.isalnum():
            if start < 0:
                start = index
            continue
        if (character < " " and character not in "\t\n\r") or character == "\x7f":
            # A control character is not there at all: what stands on its two sides is one word.
            return _words(text)
        if start >= 0:
            found.append(text[start:index].lower())
            start = -1
        if character in _PUNCTUATION:
            found.append(character)
    if start >= 0:
        found.append(text[start:].lower())
    return found


def _words(text: str) -> list[str]:
    from unicodedata import category, normalize

    clean: list[str] = []
    for character in text:
        if character in "\t\n\r":
            clean.append(" ")
        elif character == "\ufffd" or category(character)[0] == "C":
            continue
        elif _is_ideograph(ord(character)):
            clean += (" ", character, " ")
        else:
            clean.append(" " if character.isspace() else character)
    bare = "".join(each for each in normalize("NFD", "".join(clean)) if category(each) != "Mn")
    # One character at a time, so that no letter depends on its neighbours (a final sigma).
    lower = "".join(each.lower() for each in bare)
    found: list[str] = []
    held = ""
    for character in lower:
        mark = character in _PUNCTUATION or category(character)[0] == "P"
        if mark or character.isspace():
            if held:
                found.append(held)
            held = ""
            if mark:
                found.append(character)
        else:
            held += character
    if held:
        found.append(held)
    return found


def _is_ideograph(point: int) -> bool:
    return point >= 0x3400 and any(first <= point <= last for first, last in _IDEOGRAPHS)
