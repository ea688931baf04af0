"""Chinese, Japanese and Korean text for a tokenizer that splits at spaces: one space around each character.

The scripts are qmd 2.8's: Han, Hiragana, Katakana and Hangul. ``ー`` and full-width Latin are of the Common and Latin
scripts and stay as they are.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# (first, last) code points of the four scripts, from Unicode 16 Scripts.txt; unassigned gaps inside a block included.
_RANGES = (
    (0x1100, 0x11FF),
    (0x2E80, 0x2FD5),
    (0x3005, 0x3005),
    (0x3007, 0x3007),
    (0x3021, 0x3029),
    (0x302E, 0x302F),
    (0x3038, 0x303B),
    (0x3041, 0x3096),
    (0x309D, 0x309F),
    (0x30A1, 0x30FA),
    (0x30FD, 0x30FF),
    (0x3131, 0x318E),
    (0x31F0, 0x321E),
    (0x3260, 0x327E),
    (0x32D0, 0x32FE),
    (0x3300, 0x3357),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97C),
    (0xAC00, 0xD7FB),
    (0xF900, 0xFAD9),
    (0xFF66, 0xFF6F),
    (0xFF71, 0xFF9D),
    (0xFFA0, 0xFFDC),
    (0x16FE2, 0x16FF1),
    (0x1AFF0, 0x1B167),
    (0x1F200, 0x1F200),
    (0x20000, 0x323AF),
)


_LONG = 4_000
# Compiling the pattern takes 5 ms, which a question and a hook do without: as long as a set of so many characters.
_WORTH_A_PATTERN = 200_000
_ASCII = bytes(range(128))


def is_cjk(character: str) -> bool:
    """Whether ``character`` belongs to one of the four scripts."""
    point = ord(character)
    if point < 0x1100:
        return False
    return any(first <= point <= last for first, last in _RANGES)


def has_cjk(text: str) -> bool:
    """Whether any character of ``text`` does; all-ASCII text costs nothing."""
    if text.isascii():
        return False
    if len(text) > _LONG:
        # A document's ASCII goes first, a byte at a time and fast.
        text = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
        if _compiled is not None or len(text) > _WORTH_A_PATTERN:
            return bool(_pattern().search(text))
    return any(map(is_cjk, set(text)))


def count(text: str) -> int:
    """How many characters of ``text`` do."""
    return 0 if text.isascii() else sum(map(len, _pattern().findall(text)))


def normalize(text: str) -> str:
    """``text`` with each run of such characters spaced out, a space at both ends of the run."""
    if not has_cjk(text):
        return text
    return _pattern().sub(lambda run: " " + " ".join(run.group()) + " ", text)


_compiled: re.Pattern[str] | None = None


def _pattern() -> re.Pattern[str]:
    global _compiled
    if _compiled is None:
        import re  # late, as the pattern is

        _compiled = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _RANGES) + "]+")
    return _compiled
