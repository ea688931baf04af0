"""The automata of all rules' prefilters: may these bytes hold anything to redact?

The automata are RE2's: their time is linear in the input. They must let through everything that the rules would
replace, in plain text and in JSON's spelling (quotes and line ends behind backslashes). A test checks both. A text that
they let through in vain costs time only. Their patterns are generated from the table of rules
(``core.redaction.screen``) into ``automaton.json``, so that a hook that meets no secret loads no rule.
"""

from __future__ import annotations

import re
from functools import cache
from os.path import dirname, join

from core.redaction.engine import which

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FILE = join(dirname(__file__), "automaton.json")
# A markdown escape in a word: `API\_KEY`, `ghp\_…`. The rules read it without its backslash.
ESCAPE = r"[A-Za-z0-9]\\+[_=+~*:-]"
# A character that could have been written plainly was not: looked at once it is decoded.
ESCAPED_SIGN = r"\\u(?:00[2-7]|[fF][fF]1[aAdD]|[fF][eE]55|2236)"
# Where a command goes on in the next line: in text, and in JSON.
GOES_ON = r"\\(?:\r?\n|\\(?:\\r)?\\n)(?:[ \t]|\\t)*"
# Colours of a terminal's text, which may part a name from its value.
COLOUR = r"\x1b\[[0-9;]*[mK]"
ANY_COLOUR = rf"(?:{COLOUR}|\\u001[bB]\[[0-9;]*[mK])"
# Quotes, colons and equals signs between a name and its value as HTML and East Asian keyboards write them.
SIGN = r"&(?:amp;)?(?:quot|apos|colon|equals|#[0x][0-9a-zA-Z]+|#[0-9]+);|\xef\xbc[\x9a\x9d]|\xef\xb9\x95|\xe2\x88\xb6"
_WRITTEN_SIGNS = {
    written: sign
    for sign, forms in {
        '"': "&amp;quot; &quot; &#34; &#034; &#x22;",
        "'": "&apos; &#39; &#039; &#x27;",
        ":": "&colon; &#58; &#x3a; &#x3A; \uff1a \ufe55 \u2236",
        "=": "&equals; &#61; &#x3d; &#x3D; \uff1d",
    }.items()
    for written in forms.split()
}

# Bytes of a record in JSON in which a secret is looked for that no grammar shows. Programs print the longer ones, which
# would take a tenth of the time of `brain index`.
_NEAR_MOST = 1 << 11

# The kinds of patterns with an automaton of their own. That of all others also shows what is rewritten first.
_ALONE = ("words", "named")
_OTHERS = ("others", "written")


def plain_signs(text: str) -> str:
    """Return ``text`` with quotes, colons and equals signs in ASCII that are written in another way."""
    if "&" in text or not text.isascii():
        for written, sign in _WRITTEN_SIGNS.items():
            if written in text:
                text = text.replace(written, sign)
    return text


@cache
def _patterns() -> dict[str, str]:
    import json

    with open(FILE, encoding="utf-8") as stream:
        found: dict[str, str] = json.load(stream)
    return found


@cache
def _automaton(*names: str) -> Callable[[bytes], list[int]]:
    """Return the automaton of the patterns with these names in the file; it is compiled at its first use."""
    return which(*(_patterns()[name] for name in names))


def suspects(data: bytes) -> bool:
    """Return True if ``data`` (UTF-8 text, or JSON in UTF-8) may hold something to redact."""
    return suspicion(data, of_records=True) > 0


def suspicion(data: bytes, *, of_records: bool = False) -> int:
    """Return what ``data`` may hold: 2 for anything, 1 for likely secrets alone, 0 for nothing.

    Args:
        data: UTF-8 text, or JSON in UTF-8.
        of_records: Look for no likely secrets in long JSON.
    """
    is_certain, plain = _looked_through(data)
    if is_certain:
        return 2
    of_json = of_records and data[:1] in (b"{", b"[")
    if of_json and len(data) > _NEAR_MOST:
        return 0
    if plain is not None and is_near(plain, of_json=of_json):
        return 2
    return int(is_near(data, of_json=of_json))


def _looked_through(data: bytes) -> tuple[bool, bytes | None]:
    """Return True if ``data`` may hold what a rule's grammar shows, and its reading without other signs, if it has any.

    A command that goes on in the next line counts as one, and a text in colours as one without.
    """
    if _automaton("words")(data) or _automaton("named")(data):
        return True, None
    found = _automaton(*_OTHERS)(data)
    if 0 in found:
        return True, None
    plain = None
    if found:
        plain = re.sub(GOES_ON.encode(), b" ", data)
        plain = re.sub(ANY_COLOUR.encode(), b"", plain) if b"\x1b" in data or b"u001" in data else plain
        plain = plain_signs(plain.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if kinds(plain):
            return True, None
    if data.isascii():
        return False, plain
    from core.redaction.names import holds_foreign

    return holds_foreign(data), plain


def kinds(data: bytes) -> list[str]:
    """Return the kinds of patterns (``core.redaction.names.by_kind``) of which ``data`` has one."""
    found = [kind for kind in _ALONE if _automaton(kind)(data)]
    return [*found, _OTHERS[0]] if 0 in _automaton(*_OTHERS)(data) else found


def is_near(data: bytes, *, of_json: bool) -> bool:
    """Return True if ``data`` may have a word for a secret or a login near what may be one.

    ``of_json``: ``data`` is JSON, of which each string is a text of its own.
    """
    near = _automaton("near")
    if of_json:
        return bool(near(data) or _automaton("apart")(data))
    return has_value(data) and bool(_automaton("cue")(data) or near(data))


def has_value(data: bytes) -> bool:
    """Return True if ``data``, ASCII, has what may be a likely secret by its characters."""
    return bool(_automaton("value")(data))
