"""A session's document parsed into turns, texts and tool calls (docs/documents.md), and the voices in a turn.

A voice is the speaker's own words, a document handed over, or a quotation (a log, a page, a talk). Pasted text is
evidence of something, but no wish, decision or correction of the person who pasted it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.session.tool_calls import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence


TURN = re.compile(r"^## \[(\d+)\] (\w+)( · \d{4}-\d\d-\d\d \d\d:\d\d)?$")
_CALL = re.compile(r"^- (mcp__[\w.-]+|[A-Za-z][\w.]{1,40})(?: \([^)]*\))?: (.+)$")
_BARE = re.compile(r"^- (Read|Edit|Write|LS|ExitPlanMode|TodoWrite)$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


@dataclass(slots=True)
class Call:
    """One tool call: ``kind`` is ``shell``, ``change`` or ``other``; ``notes`` the indented lines below its line.

    ``errors`` are the first lines of its failure, empty where it worked; ``order`` counts the calls of the session.
    """

    turn: int
    order: int
    name: str
    kind: str
    argument: str
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def command(self) -> str:
        """A shell call's command, without its description; of several lines, all."""
        text = self.argument.partition("  # ")[0].strip()
        code: list[str] = []
        mark = ""
        for line in self.notes:
            if mark and line.strip() == mark:
                break
            if mark:
                code.append(line)
            elif (fence := _FENCE.match(line)) is not None:
                mark = fence[1]
        return "\n".join([text, *code]).strip()

    @property
    def refused(self) -> bool:
        """True if a person turned it down."""
        return any(note.startswith("rejected by the user") for note in self.notes)


@dataclass(slots=True)
class Turn:
    """One section: ``texts`` are its lines without code and calls, ``reasoning`` those of what was thought.

    ``after`` gives, for each line of ``texts``, how many calls stood before it in the session.
    """

    number: int
    role: str
    texts: list[str] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


def read(body: str) -> list[Turn]:
    """Return the turns of a document's body; a text that is no session's gives none."""
    turns: list[Turn] = []
    turn: Turn | None = None
    call: Call | None = None
    fence = ""
    thinking = False
    count = 0
    for line in body.split("\n"):
        opened = TURN.match(line)
        if opened:
            turn = Turn(int(opened[1]), opened[2])
            turns.append(turn)
            call, fence, thinking = None, "", False
            continue
        if turn is None:
            continue
        if call is not None and line.startswith("  "):
            _below(call, line[2:])
            continue
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        if line == "### reasoning":
            thinking, call = True, None
            continue
        if not line.strip():
            if turn.texts and turn.texts[-1] and not thinking:
                turn.texts.append("")
                turn.after.append(count)
            continue
        found = None if thinking else called(turn.role, line)
        if found is not None:
            name, argument = found
            call = Call(turn.number, count, name, KINDS.get(name.lower(), "other"), argument)
            turn.calls.append(call)
            count += 1
            continue
        call = None
        text = line.removeprefix("\\")
        if thinking:
            turn.reasoning.append(text)
        else:
            turn.texts.append(text)
            turn.after.append(count)
    return turns


def called(role: str, line: str) -> tuple[str, str] | None:
    """Return (tool, argument) of a line, outside of code fences, of a turn by ``role``; None if it is no tool call."""
    if not line.startswith("- "):
        return None
    if role == "command" and line.startswith("- ! "):
        return "Bash", line[4:]
    if role == "user":
        return None
    match = _CALL.match(line)
    if match and (match[1].lower() in KINDS or match[1].startswith("mcp__")):
        return match[1], match[2]
    bare = _BARE.match(line)
    return (bare[1], "") if bare else None


def _below(call: Call, line: str) -> None:
    if line.startswith("! "):
        call.errors.append(line[2:])
    else:
        call.notes.append(line)


OWN, DOCUMENT, QUOTED = "own", "document", "quoted"

# Nobody types so many lines into a prompt: a plan, a specification, a review that is handed over.
_TYPED_LINES = 24
_LOOKED_AT = 500
_HEADING = re.compile(r"^\s{0,3}#{1,5}\s+\S")
_QUOTE = re.compile(r"^\s{0,3}>\s?\S")
_SPEAKER = re.compile(
    r"^[\s*_-]*(?:agent|assistant|human|user|claude|chatgpt|gpt|gemini|copilot|system|bot)[*_]*:\s*\S", re.IGNORECASE
)
# Output of programs, which no one types: prompts, times, levels, traces, diffs, data, markup, terminals' drawings.
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
    """Return the voice of each line of a turn's text; blank lines separate paragraphs.

    A paragraph is quoted from the first line that a program printed, and so is the one after it, unless it is the
    turn's last: people write about a log before it or at the end.
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
