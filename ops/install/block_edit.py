"""A block of ours between two marker lines, in a text of a format in which ``#`` begins a comment."""

from __future__ import annotations

import re

_BEGIN, _END = "brain:begin", "brain:end"
_NOTE = "written by `brain install`, taken back by `brain uninstall`"


def block(body: str, newline: str = "\n", indent: str = "") -> str:
    """Return ``body`` between its marker lines."""
    lines = [f"# {_BEGIN} ({_NOTE})", *body.splitlines(), f"# {_END}"]
    return "".join(f"{indent}{line}".rstrip() + newline for line in lines)


def find(text: str) -> tuple[int, int] | None:
    """Return where the block begins and ends, None if the text has none, or only a part of it."""
    found = re.search(rf"^[^\n]*\b{_BEGIN}\b.*?^[^\n]*\b{_END}\b[^\n]*(?:\n|\Z)", text, re.S | re.M)
    return found.span() if found else None


def append(text: str, body: str) -> str:
    """Return ``text`` with the block at its end, behind an empty line."""
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text.strip("\ufeff") else newline if text.endswith("\n") else newline * 2
    return text + gap + block(body, newline)


def insert(text: str, at: int, body: str, indent: str) -> str:
    """Return ``text`` with the block at a position that begins a line, indented."""
    newline = "\r\n" if "\r\n" in text else "\n"
    return text[:at] + block(body, newline, indent) + text[at:]


def remove(text: str) -> str:
    """Return ``text`` without the block, and without the empty line before it if another one or nothing follows."""
    while (span := find(text)) is not None:
        before, after = text[: span[0]], text[span[1] :]
        if not after.strip() or after.startswith(("\n", "\r\n")):
            before = re.sub(r"(\r?\n)\r?\n\Z", r"\1", before)
        text = before + after
    return text
