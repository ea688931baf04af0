"""Looks of single values and names that a rule of ``core.redaction.rules`` asks for."""

from __future__ import annotations

import re

from core.redaction.values import is_name, is_other_key

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# A word and a number, where it is said to be a password.
WORDED = re.compile(
    r"(?=.{8})(?:[A-Za-z]{4,20}[-_.]?\d{3,6}|(?:[A-Za-z]{3,20}[-_.]){1,4}[A-Za-z]{3,20}[-_.]?\d{1,6}|[A-Za-z]{5,20}\d{2})"
    r"[!?@#$%&*]{0,3}"
)
HEX = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{64}")


def is_id(name: str, value: str) -> bool:
    """Whether ``value`` says which session it is, as an agent's do, and lets nobody in."""
    return name.endswith("sessionid") and UUID.fullmatch(value) is not None


def is_worded(value: str) -> bool:
    """Whether ``value`` is a word or more and a number, where it is said to be a password: ``Otter-Lamp-42``."""
    return WORDED.fullmatch(value) is not None and not is_name(value, loose=False)


def is_granted(name: str) -> bool:
    """Whether a variable of the environment lets somebody in by its name: ``…PAT``, ``FASTLY_KEY``."""
    return name.endswith("PAT") or bool(re.fullmatch(r"[A-Z][A-Z0-9_]*_KEY", name) and not is_other_key(name))


def is_pointed(value: str) -> bool:
    """Whether a program's argument, with a point in it, is no field of code: one has no digit in the middle."""
    return "." in value and any(map(str.isdigit, value.rstrip("0123456789")))
