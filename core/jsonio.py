"""JSON by the code in C behind the standard library's ``json``.

The package ``json`` itself imports ``re`` and ``enum``, a third of the interactive path's budget, and needs neither
here. One function, so that every surface prints the same bytes for the same value.
"""

from __future__ import annotations

import _json

from core.text import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# Between two tokens (https://www.rfc-editor.org/rfc/rfc8259#section-2).
_SPACE = " \t\n\r"


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value - value:  # too large for what a number is here
        _no_number(text)
    return value


def _no_value(value: object) -> NoReturn:
    raise TypeError(f"{type(value).__name__} is no JSON")


# Settings that ``json.decoder.JSONDecoder`` gives the scanner, under the scanner's names.
_SETTINGS = {
    "strict": True,
    "object_hook": None,
    "object_pairs_hook": None,
    "parse_float": staticmethod(_finite),
    "parse_int": int,
    "parse_constant": staticmethod(_no_number),
}
_reading: Any = type("Reading", (), _SETTINGS)
_scan: Any = _json.make_scanner(_reading)
# No memory of what it is inside of; no indent; keys in their order, of the types that JSON has a text for; no NaN.
_print: Any = _json.make_encoder(None, _no_value, _json.encode_basestring, None, ":", ",", False, False, False)


def dumps(value: object) -> str:
    """``value`` (dict, list, str, int, finite float, bool, None) as one line of JSON.

    Raises UnicodeEncodeError on lone surrogates, TypeError on other types, ValueError on other floats.
    """
    text = "".join(_print(value, 0))
    if text.isascii() and text.isprintable():
        return text
    text.encode()
    # One value is one line to every reader, and a reader of the line sees all of it.
    return escaped(text)


def loads(text: str) -> object:
    """The value of one JSON text. Raises ValueError where it is none, or holds what ``dumps`` would refuse."""
    start = len(text) - len(text.lstrip(_SPACE))
    try:
        value, end = _scan(text, start)
    # SystemError: before Python 3.12 the scanner cannot say what is wrong where `json` is not loaded.
    except (StopIteration, RecursionError, SystemError):
        raise ValueError("not JSON") from None
    if text[end:].strip(_SPACE):
        raise ValueError("more than JSON")
    if "\\u" in text:
        dumps(value)  # half of a character, escaped
    result: object = value
    return result
