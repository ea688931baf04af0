"""Looks of single values and names that a rule of ``core.redaction.rules`` asks for."""

from __future__ import annotations

import re

from core.redaction.values import TERMS, entropy, is_filler, is_name, is_other_key

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# A word and a number, where it is said to be a password.
WORDED = re.compile(
    r"(?=.{8})(?:[A-Za-z]{4,20}[-_.]?\d{3,6}|(?:[A-Za-z]{3,20}[-_.]){1,4}[A-Za-z]{3,20}[-_.]?\d{1,6}|[A-Za-z]{5,20}\d{2})"
    r"[!?@#$%&*]{0,3}"
)
# One word and a digit or more: too short to be taken for one but where it is said to be.
_PLAIN_WORD = re.compile(
    r"(?!(?:step|level|stage|part|phase|type|version|option|field|item|line|note|section|table|user|test|file|page|case"
    r"|column|group|mode|day|week|month|year|error|code|port|node|host|http|rfc|utf|ipv|python|java)[-_]?\d)"
    r"[A-Za-z]{4,20}[-_]?\d{1,4}[!?@#$%&*]{0,3}",
    re.IGNORECASE,
)
_DRAWN = re.compile(r"[A-Za-z0-9+/_-]{12,4096}={0,2}")
# Signs that passwords have and words do not; what they stand in that is none: versions, addresses, code, a question.
_SIGN = re.compile(r"[!#$%^@]|[&*?~+](?=[^\W_])")
_NO_PASSWORD = re.compile(
    r"^[@$%&*#^:-]|@[\w-]*\.|@\d|@\^|://|::|->|=|\\|%[0-9A-Fa-f]{2}|^[A-Za-z.]+#L?\d+$|^[A-Za-z.:]+#[a-z_]\w*$"
    r"|\$[A-Z{(]|!!?\.|\?\.|\.\w{1,4}[?#]"
    r"|^\w+@[\w.-]+$|\+\+|^[A-Z][A-Za-z]*[+&]"
)
HEX = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{64}")


def is_id(name: str, value: str) -> bool:
    """Whether ``value`` says which session it is, as an agent's do, and lets nobody in."""
    return name.endswith("sessionid") and UUID.fullmatch(value) is not None


def is_worded(value: str) -> bool:
    """Whether ``value`` is a word or more and a number, where it is said to be a password: ``Otter-Lamp-42``."""
    return WORDED.fullmatch(value) is not None and not is_name(value, loose=False)


def is_plain_word(value: str) -> bool:
    """Whether ``value`` is a word and a number where nothing but a password is to be expected: ``hunter2``."""
    return (
        len(value) >= 6
        and _PLAIN_WORD.fullmatch(value) is not None
        and not is_name(value, loose=False)
        and not is_filler(value)
        and value.lower() not in TERMS
    )


def is_granted(name: str) -> bool:
    """Whether a variable of the environment lets somebody in by its name: ``…PAT``, ``FASTLY_KEY``."""
    return name.endswith("PAT") or bool(re.fullmatch(r"[A-Z][A-Z0-9_]*_KEY", name) and not is_other_key(name))


def is_variable(name: str) -> bool:
    """Whether a name is that of an environment's secret: ``JWT_SECRET``."""
    return re.fullmatch(r"(?:[A-Z][A-Z0-9_]*_)?SECRET(?:_KEY)?", name) is not None


def is_pointed(value: str) -> bool:
    """Whether a program's argument, with a point in it, is no field of code: one has no digit in the middle."""
    return "." in value and any(map(str.isdigit, value.rstrip("0123456789")))


def is_drawn(value: str) -> bool:
    """Whether ``value`` looks as if a machine had drawn it, whatever it is called: letters of both cases and digits."""
    if not _DRAWN.fullmatch(value) or value.count("/") > 3 or value.count("-") + value.count("_") > 3:
        return bool(HEX.fullmatch(value))
    signs = (str.isdigit, str.isupper, str.islower)
    return all(sum(map(sign, value)) > 1 for sign in signs) and entropy(value) >= 3.2


def is_strong(value: str) -> bool:
    """Whether ``value`` is a password by its looks where one is spoken of: both cases, a digit and a sign."""
    if not 8 <= len(value) <= 64 or _NO_PASSWORD.search(value) or "/" in value:
        return False
    kinds = (str.isdigit, str.isupper, str.islower)
    return all(any(map(kind, value)) for kind in kinds) and _SIGN.search(value) is not None
