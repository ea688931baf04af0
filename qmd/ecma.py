"""ECMAScript operations behind qmd's output: UTF-16 units, white space, rounding, parsing of numbers.

Every function follows https://tc39.es/ecma262/ for the operation named.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# WhiteSpace and LineTerminator; Python's isspace() has U+001C–001F and U+0085 besides and lacks U+FEFF.
SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

_DIGITS = "0123456789"


def length(text: str) -> int:
    """Return the length in UTF-16 units."""
    if text.isascii() or max(text) < "\U00010000":
        return len(text)
    return len(text) + sum(character > "\uffff" for character in text)


def cut(text: str, start: int, stop: int) -> str:
    """Return ``text.slice(start, stop)``, both in UTF-16 units from the front; half a pair is left out."""
    if text.isascii() or max(text) < "\U00010000":
        return text[start:stop]
    return text.encode("utf-16-le")[2 * start : 2 * stop].decode("utf-16-le", "ignore")


def trim(text: str) -> str:
    """Return ``text.trim()``."""
    return text.strip(SPACE)


def words(text: str) -> list[str]:
    """``text.split(/\\s+/)`` without empty parts."""
    if text.isascii() and not any(character in text for character in "\x1c\x1d\x1e\x1f"):
        return text.split()
    return _not_space().findall(text)


def to_fixed(value: float, digits: int) -> str:
    """Return ``value.toFixed(digits)``: a tie rounds to the larger magnitude."""
    sign = "-" if value < 0 else ""
    numerator, denominator = abs(value).as_integer_ratio()
    scaled = (2 * numerator * 10**digits + denominator) // (2 * denominator)
    if not digits:
        return f"{sign}{scaled}"
    whole, fraction = divmod(scaled, 10**digits)
    return f"{sign}{whole}.{fraction:0{digits}d}"


def round_half_up(value: float) -> int:
    """Return ``Math.round(value)``."""
    numerator, denominator = value.as_integer_ratio()
    return (2 * numerator + denominator) // (2 * denominator)


def parse_int(text: str) -> int | None:
    """Return ``parseInt(text, 10)``, None for NaN."""
    rest = text.lstrip(SPACE)
    sign = -1 if rest.startswith("-") else 1
    rest = rest[1:] if rest[:1] in ("+", "-") else rest
    end = 0
    while end < len(rest) and rest[end] in _DIGITS:
        end += 1
    # No file has as many lines as 18 digits count.
    return sign * int(rest[: min(end, 18)]) if end else None


def parse_float(text: str) -> float | None:
    """Return ``parseFloat(text)``, None for NaN."""
    import re

    found = re.match(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)", text.lstrip(SPACE))
    return float(found.group()) if found else None


def to_number(text: str) -> float | None:
    """Return ``Number(text)``, None for NaN."""
    import re

    trimmed = trim(text)
    if not trimmed:
        return 0.0
    if re.fullmatch(r"0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+", trimmed):
        return float(int(trimmed, 0))
    if re.fullmatch(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)", trimmed):
        return float(trimmed)
    return None


def number(value: float) -> int | float:
    """Return ``value`` as a whole number where it is one."""
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def decimal(value: float) -> str:
    """Return ``String(value)`` of a finite number: no fraction where there is none, no exponent
    from 1e-6 up to 1e21.
    """
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    mantissa, exponent, power = text.partition("e")
    if not exponent:
        return text
    if -7 < int(power) < 0:
        sign = "-" if value < 0 else ""
        digits = mantissa.lstrip("-").replace(".", "")
        return f"{sign}0.{'0' * (-int(power) - 1)}{digits}"
    return f"{mantissa}e{int(power):+d}"


def to_json(value: object, indent: int = 0, depth: int = 0) -> str:
    """Return ``JSON.stringify(value, null, indent)`` of what JSON can hold; numbers as ECMAScript prints them."""
    from json.encoder import encode_basestring

    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, dict):
        colon = ": " if indent else ":"
        items = [
            f"{encode_basestring(str(key))}{colon}{to_json(item, indent, depth + 1)}" for key, item in value.items()
        ]
        left, right = "{}"
    elif isinstance(value, list | tuple):
        items = [to_json(item, indent, depth + 1) for item in value]
        left, right = "[]"
    else:
        raise TypeError(f"JSON has no {type(value).__name__}")
    if not items or not indent:
        return left + ",".join(items) + right
    inner = "\n" + " " * (indent * (depth + 1))
    outer = "\n" + " " * (indent * depth)
    return left + inner + f",{inner}".join(items) + outer + right


_compiled: re.Pattern[str] | None = None


def _not_space() -> re.Pattern[str]:
    global _compiled
    if _compiled is None:
        import re

        _compiled = re.compile(f"[^{SPACE}]+")
    return _compiled
