"""Text from outside, made safe to store, to print and to hand to a model.

A terminal obeys characters that nobody sees, and a model reads them. `_FORMATS` and `_LETTERS` are the one table of
them; `printable` takes them out of everything that is shown, except where a visible character needs one (`_NEEDED`).
Stored text keeps them.
"""

from __future__ import annotations

from os.path import expanduser

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

# ECMA-48 escape sequences: CSI, OSC (ended by BEL or ST; one that nothing ends must not eat more than its line), and
# the short ones, such as the character set designation in what `tput sgr0` prints.
_ESCAPES = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]+[0-~]|[0-Z\\^-~])"
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"

# Both tables together: Default_Ignorable_Code_Point (https://www.unicode.org/reports/tr44/), the two separators and the
# annotation marks. Categories Cf, Zl, Zp and unassigned:
_FORMATS = (
    (0x00AD, 0x00AD),  # soft hyphen
    (0x061C, 0x061C),  # Arabic letter mark
    (0x180E, 0x180E),  # Mongolian vowel separator
    (0x200B, 0x200F),  # zero-width space, joiners, directional marks
    (0x2028, 0x202E),  # line and paragraph separator; embeddings and overrides, which reorder a line
    (0x2060, 0x206F),  # word joiner, invisible operators, isolates, deprecated controls
    (0xFEFF, 0xFEFF),  # zero-width no-break space
    (0xFFF0, 0xFFFB),  # reserved; interlinear annotation
    (0x1BCA0, 0x1BCA3),  # shorthand controls
    (0x1D173, 0x1D17A),  # musical controls
    (0xE0000, 0xE00FF),  # tags: letters that only a model reads
    (0xE01F0, 0xE0FFF),  # reserved
)
# Categories Mn and Lo, which Python counts as printable:
_LETTERS = (
    (0x034F, 0x034F),  # grapheme joiner
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180D),  # Mongolian variation selectors
    (0x180F, 0x180F),
    (0x3164, 0x3164),  # Hangul filler
    (0xFE00, 0xFE0F),  # variation selectors 1 to 16
    (0xFFA0, 0xFFA0),  # halfwidth Hangul filler
    (0xE0100, 0xE01EF),  # variation selectors 17 to 256
)
# The hidden characters that a visible one needs.
# Characters with an emoji's forms: a superset of Emoji (https://www.unicode.org/reports/tr51/).
_PICTURES = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# The signs that take a consonant's vowel away in Indic scripts (canonical combining class 9).
_VIRAMAS = (
    "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u1714"
    "\u1715\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua82c\ua8c4\ua953\ua9c0\uaaf6\uabed"
    "\U00010a3f\U00011046\U00011070\U0001107f\U000110b9\U00011133\U00011134\U000111c0\U00011235\U000112ea"
    "\U0001134d\U00011442\U000114c2\U000115bf\U0001163f\U000116b6\U0001172b\U00011839\U0001193d\U0001193e"
    "\U000119e0\U00011a34\U00011a47\U00011a99\U00011c3f\U00011d44\U00011d45\U00011d97"
)
# Arabic and Syriac letters and their marks.
_CURSIVE = "\u0620-\u077f\u0860-\u08ff\ufb50-\ufdff\ufe70-\ufefc"
# Tags that may follow the black flag: England, Scotland, Wales (gbeng, gbsct, gbwls, each with the cancel tag).
_REGIONS = (
    "\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    "|\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    "|\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"
)
_NEEDED = (
    rf"(?<=[{_PICTURES}])\ufe0f?\u200d(?=[{_PICTURES}])"  # one picture of several: a family, a heart on fire
    rf"|(?<=[{_PICTURES}])[\ufe0e\ufe0f]"  # a picture as text or in colour
    r"|(?<=[0-9#*])\ufe0f(?=\u20e3)"  # a keycap
    rf"|(?<=\U0001f3f4)(?:{_REGIONS})"
    # Half forms and conjuncts (RFC 5892, A.1 and A.2; Bengali has a joiner before the virama, too).
    rf"|(?<=[{_VIRAMAS}])[\u200c\u200d]|[\u200c\u200d](?=[{_VIRAMAS}])"
    rf"|(?<=[{_CURSIVE}])[\u200c\u200d](?=[{_CURSIVE}])"  # the forms of the letters on both sides
)
# Keys with values that name something: such values must stay exact to be of use to a program.
NAMES = frozenset("id chunk uri path docid resume file entry_id session_id parent collection".split())

# Made once they are needed: `re` takes a third of the time in which a question is answered, and most text is plain.
_patterns: tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]] | None = None
_hidden_letters: frozenset[str] | None = None
# The bytes of printable ASCII, and of the white space that stays.
_USUAL = bytes((9, 10, *range(0x20, 0x7F)))
# The bytes of UTF-8 but those of control characters; 0xC2 is the first one of those beyond ASCII, and of some others.
_NO_CONTROLS = bytes(each for each in (*_USUAL, *range(0x80, 0x100)) if each != 0xC2)


def _compiled() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    global _patterns
    import re

    hidden = "".join(f"{chr(first)}-{chr(last)}" for first, last in (*_FORMATS, *_LETTERS))
    _patterns = (re.compile(_ESCAPES), re.compile(_CONTROLS), re.compile(f"({_NEEDED})|[{hidden}]"))
    return _patterns


def clean(text: str) -> str:
    """Return ``text`` as valid UTF-8, with ``\\n`` line ends and without escape sequences or control characters.

    Surrogate pairs are joined, lone surrogates become U+FFFD. Tabs and newlines stay.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = encodable(text)
    # Most texts have no control character, and this takes an eighth of the time of `re`.
    if not text.encode().translate(None, _NO_CONTROLS):
        return text
    escapes, controls, _ = _patterns or _compiled()
    if "\x1b" in text:
        text = escapes.sub("", text)
    return controls.sub("", text)


def encodable(text: str) -> str:
    """Return ``text`` as valid UTF-8: surrogate pairs are joined, lone surrogates become U+FFFD."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def one_line(text: str, limit: int = 0) -> str:
    """Return ``text`` cleaned, white space folded to single spaces, cut to ``limit`` characters with an ellipsis."""
    # Most texts are one already: of white space, only the space is printable.
    plain = text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " "
    line = text if plain else " ".join(clean(text).split())
    if limit and len(line) > limit:
        return line[: limit - 1].rstrip() + "…"
    return line


def at_home(path: str) -> str:
    """Return a path with ``~`` in place of the user's folder."""
    user = expanduser("~")
    return f"~{path[len(user) :]}" if user != "/" and f"{path}/".startswith(f"{user}/") else path


def printable(text: str) -> str:
    """Return ``text`` as it may be shown: cleaned, and without hidden characters that no visible one needs.

    A line or paragraph separator becomes a space. Lines and their numbers stay.
    """
    if is_plain(text):
        return text
    text = clean(text)
    _, _, hidden = _patterns or _compiled()
    return hidden.sub(lambda found: found[1] or (" " if found[0] in "\u2028\u2029" else ""), text)


def unbroken(text: str) -> str:
    """Return ``text`` printable and on one line, with its spaces: no part of it can begin a line of its own."""
    return text if text.isascii() and text.isprintable() else " ".join(printable(text).splitlines())


def printable_value(value: Any, name: str = "") -> Any:
    """Return ``value`` (JSON-like, at key ``name``) with every text in it printable, but for `NAMES`, which stay exact.

    `escaped` shows the hidden characters of names.
    """
    if type(value) is str:
        return value if name in NAMES else printable(value)
    if type(value) is dict:
        return {key: printable_value(each, key) for key, each in value.items()}
    if type(value) is list or type(value) is tuple:
        return [printable_value(each, name) for each in value]
    return value


def escaped(line: str) -> str:
    """Return one line of JSON with its control and hidden characters as ``\\uXXXX``: the value stays the same."""
    if is_plain(line):
        return line
    _, controls, hidden = _patterns or _compiled()
    line = controls.sub(lambda found: _as_json(found[0]), line)
    return hidden.sub(lambda found: found[1] or _as_json(found[0]), line)


def _as_json(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def is_plain(text: str) -> bool:
    """Return True if ``printable`` changes nothing in ``text``; False may mean that a hidden character is needed."""
    if text.isascii() and text.isprintable():
        return True
    # In bytes, the characters of most texts are taken out ten times as fast as they are looked at one by one.
    rest = text.encode("utf-8", "surrogatepass").translate(None, _USUAL).decode("utf-8", "surrogatepass")
    if not rest:
        return True
    global _hidden_letters
    if _hidden_letters is None:
        _hidden_letters = frozenset(chr(code) for first, last in _LETTERS for code in range(first, last + 1))
    # To Python, spaces other than the common one are not printable either: few texts have many different characters.
    odd = [each for each in set(rest) if not each.isprintable() or each in _hidden_letters]
    return all(_is_seen(ord(each)) for each in odd)


def _is_seen(code: int) -> bool:
    if code < 0xA0 or 0xD800 <= code < 0xE000:
        return False
    return not any(first <= code <= last for first, last in (*_FORMATS, *_LETTERS))
