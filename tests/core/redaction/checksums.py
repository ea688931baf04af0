"""Invented numbers with right checksums, for the marks of the labelled lines."""

from __future__ import annotations

import hashlib
import random
import re

_CARDS = {
    "visa": ("45", 16),
    "mastercard": ("53", 16),
    "series2": ("2512", 16),
    "amex": ("37", 15),
    "discover": ("6011", 16),
    "diners": ("36", 14),
    "jcb": ("3541", 16),
    "union": ("6240", 16),
    "maestro": ("6759", 19),
}
_ACCOUNTS = {
    "DE": "d18",
    "GB": "A4d14",
    "SE": "d20",
    "FR": "d10A1d9A1d2",
    "NL": "A4d10",
    "PL": "d24",
    "NO": "d11",
    "MT": "A4d5A9d9",
}
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def number(draw: random.Random, mark: str) -> str | None:
    """Return the number that ``mark`` asks for: ``visa``, ``amex_s`` (spaces), ``visa_h``, ``ibanDE_s``, ``wif``."""
    name, _, form = mark.partition("_")
    sign = {"s": " ", "h": "-", "": ""}.get(form, "")
    if name in _CARDS:
        beginning, size = _CARDS[name]
        return _grouped(_card(draw, beginning, size), sign)
    if name.startswith("iban") and name[4:] in _ACCOUNTS:
        return sign.join(re.findall(".{1,4}", _iban(draw, name[4:])))
    return _wif(draw, name) if name in ("wif", "wifc") else None


def _card(draw: random.Random, beginning: str, size: int) -> str:
    digits = beginning + "".join(draw.choices("0123456789", k=size - len(beginning) - 1))
    doubled = [int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(digits))]
    return digits + str(-sum(each - 9 * (each > 9) for each in doubled) % 10)


def _grouped(digits: str, sign: str) -> str:
    sizes = (4, 6, 5) if len(digits) == 15 else (4, 6, 4) if len(digits) == 14 else (4, 4, 4, 4, 3)
    groups, at = [], 0
    for size in sizes:
        groups.append(digits[at : at + size])
        at += size
    return sign.join(filter(None, groups))


def _iban(draw: random.Random, country: str) -> str:
    account = ""
    for kind, size in re.findall(r"([dA])(\d+)", _ACCOUNTS[country]):
        account += "".join(draw.choices("0123456789" if kind == "d" else "ABCDEFGHJKLMNPRSTUVWXYZ", k=int(size)))
    rest = int("".join(str(int(sign, 36)) for sign in f"{account}{country}00")) % 97
    return f"{country}{98 - rest:02}{account}"


def _wif(draw: random.Random, name: str) -> str:
    data = b"\x80" + draw.randbytes(32) + (b"\x01" if name == "wifc" else b"")
    data += hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4]
    value, found = int.from_bytes(data, "big"), ""
    while value:
        value, rest = divmod(value, 58)
        found = _BASE58[rest] + found
    return found
