"""Text from outside, made safe to store and to print."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# ECMA-48 escape sequences: CSI, OSC (ended by BEL or ST; one that nothing ends must not eat more than its line), and
# the short ones, such as the character set designation in what `tput sgr0` prints.
_ESCAPES = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]+[0-~]|[0-Z\\^-~])"
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"
# Marks that reorder or hide what follows (Unicode TR 36): shown text must be the stored text.
# The last are tags (U+E0000 and on): nobody sees them, and a model reads them as letters.
_DECEIVERS = "[\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"


# Made once they are needed: `re` takes a third of the time in which a question is answered, and most text is plain.
_patterns: tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]] | None = None


def _compiled() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    global _patterns
    import re

    _patterns = (re.compile(_ESCAPES), re.compile(_CONTROLS), re.compile(_DECEIVERS))
    return _patterns


def clean(text: str) -> str:
    """``text`` that is valid UTF-8, with ``\\n`` line ends and without escape sequences or control characters.

    Surrogate pairs are joined, lone surrogates become U+FFFD. Tabs and newlines stay.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = encodable(text)
    escapes, controls, _ = _patterns or _compiled()
    if "\x1b" in text:
        text = escapes.sub("", text)
    return controls.sub("", text)


def encodable(text: str) -> str:
    """``text`` that is valid UTF-8: surrogate pairs are joined, lone surrogates become U+FFFD."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def one_line(text: str, limit: int = 0) -> str:
    """``text`` cleaned, its white space folded to single spaces; cut to ``limit`` characters with an ellipsis."""
    # Most texts are one already: of white space, only the space is printable.
    plain = text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " "
    line = text if plain else " ".join(clean(text).split())
    if limit and len(line) > limit:
        return line[: limit - 1].rstrip() + "…"
    return line


def printable(text: str) -> str:
    """``text`` for a terminal: cleaned, and without marks that reorder what the reader sees."""
    # What is printable to Python is neither a control character nor a mark.
    if all(map(str.isprintable, text.split("\n"))):
        return text
    _, _, deceivers = _patterns or _compiled()
    return deceivers.sub("", clean(text))
