"""JSON through SQLite's own encoder, which ``ask`` has loaded anyway.

``json`` of the standard library imports ``re`` and ``enum``, a third of the interactive path's budget; apsw encodes
to SQLite's JSONB in C and SQLite prints it (https://sqlite.org/jsonb.html). One function, so that every surface
prints the same bytes for the same value.
"""

from __future__ import annotations

import _collections_abc
import sys

# apsw registers its types with ``collections.abc``, and importing that imports its package and ten modules more, a
# fifth of the interpreter's own start. What is behind the name is `_collections_abc`, which is always there already.
if "collections" in sys.modules:
    import apsw
else:
    sys.modules["collections"] = sys.modules["collections.abc"] = _collections_abc
    try:
        import apsw
    finally:  # whoever wants the package gets the whole of it
        del sys.modules["collections"], sys.modules["collections.abc"]

_printer: apsw.Connection | None = None


def dumps(value: object) -> str:
    """``value`` (dict, list, str, int, finite float, bool, None) as one line of JSON.

    Raises UnicodeEncodeError on lone surrogates and TypeError on other types.
    """
    global _printer
    if _printer is None:
        _printer = apsw.Connection(":memory:")
    text = _printer.execute("select json(?)", (pack(value),)).get
    assert isinstance(text, str)
    if text.isascii():
        return text
    # Line ends by Unicode, not by JSON: escaped, so that one value is one line to every reader.
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def loads(text: str) -> object:
    """The value of one JSON text. Raises ValueError where it is none."""
    global _printer
    if _printer is None:
        _printer = apsw.Connection(":memory:")
    try:
        return unpack(_printer.execute("select jsonb(?)", (text,)).get)
    except (apsw.Error, TypeError) as error:
        raise ValueError("not JSON") from error


def pack(value: object) -> bytes:
    """``value`` as JSONB, for caches that must load at once."""
    return apsw.jsonb_encode(value)


def unpack(blob: bytes) -> object:
    """The value of a JSONB blob. Raises ValueError where it is not one."""
    if not apsw.jsonb_detect(blob):
        raise ValueError("not JSONB")
    value: object = apsw.jsonb_decode(blob)
    return value
