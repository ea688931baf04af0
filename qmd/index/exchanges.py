"""Exchanges of a session: a prompt, what was done for it, and the end of the last reply, which says what came of it.

An exchange begins with each turn of a person or of a task. The vector of an exchange is made from its ``gist``. Nothing
here uses regular expressions: a cold question looks at each hit this way.
"""

from __future__ import annotations

from bisect import bisect_right

from qmd.index.terms import has_cjk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADING = "## ["
_REASONING = "\n### reasoning\n"
_FENCE = "\n```"
# The roles of those who ask: an exchange begins with each of their turns.
_ASKING = ("user", "task")
# Characters of a gist: of the prompt, of the reply's beginning and of its end; of a prompt without a reply. A token is
# about four letters, or one character of Chinese, Japanese or Korean.
_PROMPT, _BEGINNING, _END, _ALONE = 200, 300, 100, 600
_DENSE = 3


class Turns:
    """A session's document by turns: their headings (``starts``), ``ends``, ``roles``, and where ``thoughts`` begin.

    A turn without reasoning has -1 there. A text without turns has no turn.
    """

    __slots__ = ("_conclusions", "_fences", "_firsts", "ends", "roles", "starts", "text", "thoughts")

    if TYPE_CHECKING:
        starts: list[int]
        roles: list[str]
        # The turn that the exchange of each turn begins with.
        _firsts: list[int]
        _conclusions: dict[int, tuple[int, int]]
        # Where fences of code are, by the turn: looked for when a line of the turn is asked about.
        _fences: dict[int, list[int]]

    def __init__(self, text: str) -> None:
        self.text, self.starts, self.roles, self._firsts = text, [], [], []
        self._conclusions, self._fences = {}, {}
        before, *pieces = f"\n{text}".split(f"\n{_HEADING}")
        at = len(before)
        for piece in pieces:
            _, closed, rest = piece[: line_end(piece, 0)].partition("] ")
            if closed:
                role = rest.partition(" ")[0]
                self._firsts.append(len(self.starts) if role in _ASKING or not self.starts else self._firsts[-1])
                self.starts.append(at)
                self.roles.append(role)
            at += len(f"\n{_HEADING}") + len(piece)
        self.ends = [*self.starts[1:], len(text)] if self.starts else []
        self.thoughts = [text.find(_REASONING, *turn) for turn in zip(self.starts, self.ends, strict=True)]

    def turn(self, offset: int) -> int:
        """Return the number (from 0) of the turn at ``offset``, -1 before the first."""
        return bisect_right(self.starts, offset) - 1

    def is_prompt(self, turn: int) -> bool:
        """Return True if a person, or a task, speaks."""
        return self.roles[turn] in _ASKING

    def first(self, turn: int) -> int:
        """Return the turn that the exchange of ``turn`` begins with."""
        return self._firsts[turn] if turn > 0 else turn

    def exchange(self, offset: int) -> int:
        """Return the turn that the exchange at ``offset`` begins with, -1 before the first turn."""
        return self.first(self.turn(offset))

    def last(self, turn: int) -> int:
        """Return the turn that the exchange of ``turn`` ends with."""
        while turn + 1 < len(self.starts) and not self.is_prompt(turn + 1):
            turn += 1
        return turn

    def outcome(self, turn: int) -> tuple[int, int]:
        """Return where the exchange of ``turn`` says what came of it (start, end); an empty range without a reply."""
        turn = self.last(turn)
        return (self.ends[turn],) * 2 if self.is_prompt(turn) else self.conclusion(turn)

    def conclusion(self, turn: int) -> tuple[int, int]:
        """Return (start, end) of the text after the last tool call of a turn, without its reasoning."""
        if turn not in self._conclusions:
            self._conclusions[turn] = self._find_conclusion(turn)
        return self._conclusions[turn]

    def _find_conclusion(self, turn: int) -> tuple[int, int]:
        text, end = self.text, self.thoughts[turn] if self.thoughts[turn] >= 0 else self.ends[turn]
        begin = text.find("\n", self.starts[turn]) + 1 or end
        last = end
        while last >= 0:
            last = max(text.rfind("\n- ", begin - 1, last), text.rfind("\n  ! ", begin - 1, last))
            # Another list belongs to the reply itself.
            if last >= 0 and (is_call(text, last + 1) or text.startswith("\n  ! ", last)):
                return line_end(text, last + 1) + 1, end
        return begin, end

    def answer(self, begin: int) -> int:
        """Return the first line of a person's answer, if the line at ``begin`` is a question of an agent; else 0."""
        turn = self.turn(begin) + 1
        if turn >= len(self.starts) or self.roles[turn] != "user" or self.roles[turn - 1] != "assistant":
            return 0
        if not self.text.endswith("?", begin, line_end(self.text, begin)):
            return 0
        return self.opening(turn)

    def opening(self, turn: int) -> int:
        """Return the first line of a turn that is not empty, or the turn's end."""
        begin = line_end(self.text, self.starts[turn]) + 1
        while begin < self.ends[turn] and self.text.startswith("\n", begin):
            begin += 1
        return begin

    def call(self, begin: int) -> int:
        """Return where the call begins that the line at ``begin`` is of, -1 if it is of none: of a list, of a reply.

        A script has empty lines, too.
        """
        while begin and self.text.startswith(("  ", "\n"), begin):
            begin = self.text.rfind("\n", 0, begin - 1) + 1
        return begin if is_call(self.text, begin) else -1

    def fence(self, begin: int) -> int:
        """Return where the code begins that the line at ``begin`` is of, -1 if no fence of its turn has it."""
        turn = self.turn(begin)
        fences = self._fences.get(turn)
        if fences is None:
            at, end = self.starts[turn], self.ends[turn]
            fences = self._fences[turn] = []
            while (at := self.text.find(_FENCE, at, end)) >= 0:
                at += len(_FENCE)
                fences.append(at)
        number = bisect_right(fences, begin)
        return fences[number - 1] if number % 2 else -1


def line_end(text: str, begin: int) -> int:
    """Return the end of the line that begins at ``begin``."""
    found = text.find("\n", begin)
    return len(text) if found < 0 else found


def is_call(text: str, begin: int) -> bool:
    """Return True if the line at ``begin`` is a tool call: ``- Name: …`` or ``- Name (kind): …``."""
    if not text.startswith("- ", begin):
        return False
    name, colon, _ = text[begin + 2 : begin + 60].partition(":")
    bare = name.partition(" (")[0].replace("_", "").replace("-", "").replace(".", "")
    return colon != "" and "\n" not in name and bare.isalnum()


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each exchange that says something, from its prompt's heading on.

    A text in which nobody asks has none.
    """
    turns = Turns(text)
    count = len(turns.starts)
    turn = 0 if any(map(turns.is_prompt, range(count))) else count
    while turn < count:
        last = turns.last(turn)
        start, end = turns.starts[turn], turns.ends[last]
        if gist(text, start, end):
            yield start, end
        turn = last + 1


def gist(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts (start, end) of an exchange of ``text`` that stand for it: the prompt and what came of it."""
    turns = Turns(text[start:end])
    if not turns.starts:
        return []
    begin, until = turns.outcome(0)
    said = (line_end(turns.text, 0), turns.ends[0]) if turns.is_prompt(0) else (0, 0)
    dense = _DENSE if has_cjk(turns.text) else 1
    begin, until = _bare(turns.text, begin, until)
    if begin == until:
        parts = [_head(turns.text, said, _ALONE // dense)]
    else:
        head, tail = _BEGINNING // dense, _END // dense
        whole = until - begin <= head + tail
        parts = [
            _head(turns.text, said, _PROMPT // dense),
            (begin, until if whole else begin + head),
            (until if whole else until - tail, until),
        ]
    return [(start + first, start + last) for first, last in parts if first < last]


def _bare(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range without the white space around it."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _head(text: str, part: tuple[int, int], most: int) -> tuple[int, int]:
    start, end = _bare(text, *part)
    return start, min(end, start + most)
