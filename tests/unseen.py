"""The characters that nobody sees, by Unicode's own properties, for tests of everything that is shown."""

from __future__ import annotations

import unicodedata

# One of each kind: an escape sequence, C1, an override, tags, selectors, joiners, fillers, separators.
HOSTILE = "\x1b[2J\x9b\u202e\U000e0041\u200b\u200d\ufe0f\U000e0101\xad\u2060\u180e\u061c\u3164\u2028"
# Category Cf, and yet seen: signs that enclose digits, and the layout of hieroglyphs
# (Prepended_Concatenation_Mark, https://www.unicode.org/reports/tr44/; Unicode 15, 11.4).
_SEEN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)}
# Default_Ignorable_Code_Point of other categories than Cf (DerivedCoreProperties.txt).
IGNORABLE = {
    *("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u3164\uffa0\ufff0\ufff8"),
    *map(chr, range(0xFE00, 0xFE10)),
    *map(chr, range(0xE0000, 0xE1000)),
}


def unseen(text: str) -> list[str]:
    """Return the characters of ``text`` that nobody sees, by Unicode's own categories."""
    return [
        each
        for each in text
        if each in IGNORABLE
        or (
            unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")
            and each not in "\n\t"
            and ord(each) not in _SEEN
        )
    ]
