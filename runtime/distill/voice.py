"""Whose words stand in a turn: the speaker's own, a document handed over, or a quotation (a log, a page, a talk).

What was pasted is evidence of something, but it is no wish, decision or correction of the one who pasted it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

OWN, DOCUMENT, QUOTED = "own", "document", "quoted"

# Nobody types so many lines into a prompt: a plan, a specification, a review that is handed over.
_TYPED_LINES = 24
_LOOKED_AT = 500
_HEADING = re.compile(r"^\s{0,3}#{1,5}\s+\S")
_QUOTE = re.compile(r"^\s{0,3}>\s?\S")
_SPEAKER = re.compile(
    r"^[\s*_-]*(?:agent|assistant|human|user|claude|chatgpt|gpt|gemini|copilot|system|bot)[*_]*:\s*\S", re.IGNORECASE
)
# What programs print, and no one types: prompts, times, levels, traces, diffs, data, markup, terminals' drawings.
_PRINTED = re.compile(
    r"""^\s*(?:
      [$❯➜»]\s+\S | \S+@\S+[:~]\S*\s?[$\#%]\s | >>>\s
    | \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d | \[?\d\d:\d\d:\d\d
    | (?:fatal|error|warning|warn|info|debug|panic|hint|remote|trace|fail|failed)\s*(?:\[[^\]]*\])?:\s
    | \[(?:error|warning|warn|info|debug|trace)\] | npm\ (?:err!|error|warn)\s | traceback\ \(
    | at\ [\w.$<>\[\]\ ]+[(:]\S*:\d+ | File\ ".+",\ line\ \d+ | (?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning):\s
    | @@\s-\d | (?:\+\+\+|---)\ [ab]/ | diff\ --git\s | [│┃╭╰├└⎿●✓✗✘×▶]
    | [{}\[\]"]\s*$ | [{\["].*[,:{\[\]}"]\s*$ | [\w.-]+\s*=\s*["'{\[\d].*$ | </?[A-Za-z][\w:-]*(?:\s[^>]*)?/?>
    | [-dlbcps][rwxsStT-]{9}[@+.]?\s | \S+:\d+:\d+:?\s
    )""",
    re.VERBOSE | re.IGNORECASE,
)
# Data and code in a line that is in no fence.
_DATA = re.compile(
    r"\\n.*\\n|[{;]\s*$|</[A-Za-z][\w-]*>|\":\s*[\"{\[\d]|=>\s*[{(]|\)\s*=>"
    r"|^\s*(?:(?:const|let|var)\s+[\w{\[]+[^a-z]*=|(?:def|func|fn|function)\s+\w+\s*[(<]|class\s+\w+\s*[({:]"
    r"|from\s+\S+\s+import\s|import\s+(?:\{|\S+\s+from\s|[\w.]+;?$))"
)


def voices(role: str, lines: Sequence[str]) -> list[str]:
    """For each line of a turn's text whose words it holds; blank lines part paragraphs.

    A paragraph is quoted from the first line that a program printed, and so is the one after it, unless it is the
    turn's last: what people write of a log stands before it or at the end.
    """
    found = [QUOTED if _QUOTE.match(line) or _SPEAKER.match(line) else OWN for line in lines]
    if role not in ("user", "task"):
        return found
    paragraphs = _paragraphs(lines)
    written = sum(map(len, paragraphs))
    is_document = written > _TYPED_LINES or any(_HEADING.match(line) for line in lines)
    before = False
    for at, paragraph in enumerate(paragraphs):
        printed = False
        for line in paragraph:
            printed = printed or _is_printed(lines[line][:_LOOKED_AT])
            if printed or (before and at + 1 < len(paragraphs)):
                found[line] = QUOTED
            elif is_document and found[line] == OWN and at:
                found[line] = DOCUMENT
        before = printed
    return found


def _is_printed(line: str) -> bool:
    return _PRINTED.match(line) is not None or _DATA.search(line) is not None


def _paragraphs(lines: Sequence[str]) -> list[list[int]]:
    found: list[list[int]] = [[]]
    for at, line in enumerate(lines):
        if line.strip():
            found[-1].append(at)
        elif found[-1]:
            found.append([])
    return [each for each in found if each]
