"""Turns → the body of a document. docs/documents.md describes the grammar, which is a contract."""

from __future__ import annotations

import re
from typing import Protocol

from ingest.session.tool_calls import AS_CALL

REASONING = "### reasoning"
COMPACTED = "### summary of what was compacted"

# Lines by which readers of a document find its turns: a payload must not contain them.
_OURS = re.compile(rf"(?m)^(?= {{0,3}}(?:## \[|{REASONING}|{COMPACTED}))")
_FENCE = re.compile(r"(?m)^ {0,3}(`{3,}|~{3,})(.*)$")


class TurnLike(Protocol):
    """A turn as the renderer needs it; ``at`` is ``YYYY-MM-DDTHH:MM…`` in UTC or ""."""

    role: str
    at: str

    def blocks(self) -> list[tuple[bool, str]]: ...

    def reasoning(self) -> list[str]: ...


def body(title: str, turns: list[TurnLike]) -> str:
    """Return the markdown below the frontmatter: the title, then a numbered section for each turn."""
    pieces = [f"# {title}\n" if title else ""]
    for number, turn in enumerate(turns, 1):
        pieces.append(f"\n## [{number}] {turn.role}{_when(turn.at)}\n\n")
        if turn.role == "compaction":
            pieces.append(f"{COMPACTED}\n\n")
        after_item = True
        first = True
        for item, text in turn.blocks():
            if not first and not (item and after_item):
                pieces.append("\n")
            pieces.append(text if item else escape(text))
            pieces.append("\n")
            after_item, first = item, False
        reasoning = turn.reasoning()
        if reasoning:
            pieces.append(f"{'' if first else chr(10)}{REASONING}\n\n")
            pieces.append("\n\n".join(escape(text) for text in reasoning))
            pieces.append("\n")
    return "".join(pieces)


def escape(text: str) -> str:
    """Return ``text`` without lines that look like our headings or tool calls, and with its code fences closed."""
    if "## [" in text or "### " in text:
        text = _OURS.sub(r"\\", text)
    if (text.startswith("- ") or "\n- " in text) and AS_CALL.search(text):
        text = _no_calls(text)
    if "```" in text or "~~~" in text:
        text += _unclosed(text)
    return text


def _no_calls(text: str) -> str:
    """Return ``text`` with a backslash before each line, outside code fences, that looks like a tool call."""
    pieces: list[str] = []
    last, fence = 0, ""
    for match in [*_FENCE.finditer(text), None]:
        end = len(text) if match is None else match.start()
        pieces.append(text[last:end] if fence else AS_CALL.sub(r"\\", text[last:end]))
        last = end
        if match is not None:
            fence = _after(fence, *match.groups())
    return "".join(pieces)


def _after(fence: str, mark: str, rest: str) -> str:
    """Return the fence that is open after a line of ``mark`` and ``rest``, or ""; ``fence`` was open before."""
    if not fence:
        return mark if mark[0] == "~" or "`" not in rest else ""
    return "" if mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip() else fence


def _unclosed(text: str) -> str:
    """Return the closing fence that ``text`` lacks: without it the next text is code (CommonMark §4.5)."""
    fence = ""
    for match in _FENCE.finditer(text):
        fence = _after(fence, *match.groups())
    return f"\n{fence}" if fence else ""


def _when(at: str) -> str:
    return f" · {at[:10]} {at[11:16]}" if at else ""
