"""Lines of a session that answer a question: conclusions, decisions and commands with their outcome, best first.

The passage that matches a question often repeats the question. So a line is scored by the question's words in the line
and in the prompt before it, by who speaks, and by how late the line comes: a session revises itself. docs/retrieval.md
has the measurements. Called for each hit of a cold process: no regular expression, no look at lines without a word.
"""

from __future__ import annotations

from bisect import insort
from math import log

from qmd.index.exchanges import Turns, is_call, line_end
from qmd.index.terms import STOP, is_cjk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Literal

    Who = Literal["you", "agent", "$", "thought", ""]
    # A line that may answer: its worth, where it begins, the weights of the question's words in it, the weight of what
    # is near it, and the factor by its speaker and form. The worth is the factor times the sum of all weights.
    _Line = tuple[float, int, dict[str, float], float, float]

# So many occurrences of a word are looked at.
_OCCURRENCES = 100
# A shorter stem counts as a whole word only.
_LONG_STEM = 4
_ENDINGS = ("ings", "ing", "ied", "ies", "ed", "es", "ly", "s", "e")
# The weight of a word that the line's prompt has, not the line.
_BY_PROMPT = 0.3
# The weight of the passage that the search found, in words of middling rarity.
_BY_PASSAGE = 0.4
# The same of the first lines of what came of an exchange that was found by meaning, and how many these are.
_BY_EXCHANGE, _TOLD = 0.8, 3
# A session's last turn counts for so much more than its first.
_LATER = 0.3
# Factors of a line by its speaker and its form; "asked for" where the question asks for this kind of answer.
_WEIGH = {
    "thought": 0.35,
    "failure, asked for": 0.8, "failure": 0.3,  # what a tool reports
    "opening": 0.4,  # of a session, or a long prompt: a plan or a paste
    "wish, asked for": 1.3, "wish": 1.2,  # what the person says later: decisions
    "compaction": 1.1,
    "command, asked for": 1.7, "command": 0.9, "failed command, asked for": 1.3, "failed command": 0.5,
    "script, asked for": 1.2, "script": 0.4,  # further lines of a command
    "change, asked for": 1.3, "read, asked for": 0.4, "call": 0.15,  # of a file, by a tool
    "concluding": 1.25,  # "because", "the fix"
    "announcing": 0.55,  # "let me check"
    "code, asked for": 1.6, "code": 0.6,
    "end of a reply": 1.3,  # after its last tool call: what came of the prompt
}  # fmt: skip
_QUOTES = 12
# A quote with fewer characters says too little, and so does one that is cut off after fewer, below others.
_LEAST, _FRAGMENT = 40, 100
# The weight of a word that another quote shows already, and the share of common words that makes two quotes alike.
_AGAIN = 0.8
_ALIKE = 0.7
# Lines, and prompts, that are looked at closely.
_CANDIDATES, _PROMPTS = 40, 4
_SHORT = 90
# So many characters come from the exchanges with most of the question's words, and so many lines of one's outcome.
_FROM_BEST = 350
_RESULT = 6
# Lines with a word, in an exchange of average length, from which on more of them say little more.
_MANY = 2.5
# Characters of one quote: several short ones answer more often than a long one.
_LONGEST = 200

# Kinds of answer, each with the words of a question that ask for it.
_ASKS = {
    "command": frozenset(
        "command commands run ran running invocation invoke call flag flags execute executed git gh npm pip docker"
        " commit commits committed merge merged branch checkout push pull install installed listing deleting removing"
        " adding checking starting stopping restarting cloning building".split()
    ),
    "file": frozenset("file files path paths where folder directory module config".split()),
    "error": frozenset(
        "error errors fix fixed fixes fail fails failed failing failure broke broken bug crash crashed issue exception"
        " solve solved cause caused wrong".split()
    ),
    "decision": frozenset(
        "why decide decided decision choose chose chosen pick picked instead reject rejected agree agreed prefer"
        " preferred should approach reason settle settled want wanted".split()
    ),
}
# Words of a question that no answer needs to repeat.
_EMPTY = frozenset(
    "command commands run ran running file files where why how what which exact exactly did do does call called used"
    " use decide decided decision choose chose error errors fix fixed issue wrong cause caused reason".split()
)
# Words of a line that concludes, by what is asked for.
_SAYS = {
    "error": (
        "because", "root cause", "the fix", "fixed", "found it", "found the", "the problem", "the issue", "caused by",
        "turns out", "means that", "the reason",
    ),
    "decision": (
        "because", "instead", "decided", "let's", "we'll", "should", "rather", "don't", "prefer", "better", "so that",
        "the reason", "recommend", "will use", "going with",
    ),
}  # fmt: skip
_SHELLS = ("Bash", "shell", "exec_command", "run_shell_command", "bash", "Shell", "run_terminal_cmd", "execute")
# Marks within a word, and ASCII without those, letters and digits.
_INSIDE = "_.-/$"
_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in _INSIDE}


class Quote:
    """Some lines of one speaker: ``line`` counts from 1; ``who`` is ``""`` in a text without turns."""

    __slots__ = ("line", "text", "who")

    def __init__(self, who: Who, line: int, text: str) -> None:
        self.who = who
        self.line = line
        self.text = text


def show(quotes: Iterable[Quote]) -> str:
    """Return quotes as text: each begins with its speaker."""
    return "\n".join(f"{quote.who}{' ' if quote.who == '$' else ': '}{quote.text}" for quote in quotes)


class Question:
    """The telling words of a question by their stems, the kinds of answer that it asks for, and the signs of one."""

    __slots__ = ("is_ascii", "kinds", "signs", "stems")

    def __init__(self, text: str) -> None:
        self.is_ascii = text.isascii()
        spelled = {word.lower(): word for word in reversed(_words(text))}
        words = [word for word in _words(text.lower()) if len(word) > 1 or word.isdigit() or is_cjk(word)]
        self.kinds = {kind for kind, signs in _ASKS.items() if not signs.isdisjoint(words)}
        if "why" in words:  # a reason is asked for, though of a push or a merge
            self.kinds.discard("command")
        self.signs = _SAYS["decision" if "decision" in self.kinds and "error" not in self.kinds else "error"]
        telling = [word for word in words if word not in STOP]
        # As they were typed, in their order.
        self.stems = {
            _stem(word): spelled.get(word, word) for word in [word for word in telling if word not in _EMPTY] or telling
        }


def quote(
    text: str, question: Question, room: int, piece: tuple[int, int] = (0, 0), *, meant: bool = False
) -> list[Quote]:
    """Return the lines of a session's document that answer best (``Reading.quotes``)."""
    return Reading(text, question).quotes(room, piece, meant=meant)


class Reading:
    """A document as it is read for a question: its turns, and the lines with the question's words."""

    __slots__ = ("_mentioned", "_own", "_prompts", "_question", "_session")

    def __init__(self, text: str, question: Question) -> None:
        self._session, self._question = _Session(text, is_ascii=question.is_ascii), question
        self._mentioned, self._own, self._prompts = _matches(self._session, question)

    def mentioned(self) -> set[str]:
        """Return the stems of the question that the text has in any form."""
        return self._mentioned

    def exchanges(self) -> list[set[str]]:
        """Return the stems of the question that each exchange has; a text without turns is one exchange."""
        session = self._session
        if not session.starts:
            return [self.mentioned()]
        held: dict[int, set[str]] = {}
        for begin, words in self._own.items():
            held.setdefault(session.exchange(begin), set()).update(words)
        return list(held.values())

    def quotes(self, room: int, piece: tuple[int, int] = (0, 0), *, meant: bool = False) -> list[Quote]:
        """Return the lines that answer best, at most ``room`` characters with their speakers.

        ``piece`` is the passage or the exchange (start, end) that the search found, ``meant``: by meaning rather than
        by words. The list is empty for a text without turns.
        """
        session, question, own = self._session, self._question, self._own
        if not session.starts:
            return []
        start, end = min(piece[0], len(session.text)), min(piece[1], len(session.text))
        best = session.exchanges(own)
        outcome: list[int] = []
        if meant and end:
            found = session.exchange(max(session.starts[0], start))
            best, outcome = {found: 1.0}, list(session.result(found))[:_TOLD]
        if start in session.starts:  # between an exchange's prompt and its outcome no line says more than others
            start = end = 0
        lines = list(_candidates(session, question, own, self._prompts, (start, end), outcome))
        page = _Page(session, question, room)
        # Outcomes of the best exchanges first, then lines that the others add.
        page.fill(
            [(*line[:4], line[4] * best.get(session.exchange(line[1]), 0.0)) for line in lines],
            room - _FROM_BEST,
        )
        page.fill(lines)
        return page.quotes


class _Page:
    """Quotes as they are chosen, and the ``room`` (characters) that is left for more."""

    __slots__ = ("_kept", "_question", "_said", "_session", "_taken", "_words_by_line", "quotes", "room")

    def __init__(self, session: _Session, question: Question, room: int) -> None:
        self._session, self._question, self.room = session, question, room
        self.quotes: list[Quote] = []
        self._said: list[set[str]] = []
        self._taken: set[int] = set()
        # Each chosen line is compared with many others, and most lines with several chosen ones.
        self._words_by_line: dict[int, set[str]] = {}
        # How much of its weight a word keeps.
        self._kept = dict.fromkeys(question.stems, 1.0)

    def fill(self, lines: list[_Line], least: int = 0) -> None:
        """Quote the best of ``lines`` until the room is down to ``least``."""
        every, lines = [line for line in lines if line[2]], sorted(map(self._weighed, lines))
        while lines and self.room >= max(_LEAST, least) and len(self.quotes) < _QUOTES:
            line = lines.pop()
            if line[1] in self._taken:
                continue
            # Words that were shown meanwhile count less: another line may be better now.
            line = self._weighed(line)
            if lines and line < lines[-1]:
                insort(lines, line)
                continue
            if line[0] <= 0:
                return
            self._quote(self._latest(line, every))
            for stem in line[2]:
                self._kept[stem] *= _AGAIN

    def _weighed(self, line: _Line) -> _Line:
        _, begin, words, near, factor = line
        worth, kept = 0.0, self._kept
        for stem, weight in words.items():
            worth += weight * kept[stem]
        return factor * (near + worth), begin, words, near, factor

    def _latest(self, line: _Line, lines: list[_Line]) -> int:
        """Return the beginning of the last of ``lines`` that says the same: a session revises itself."""
        latest, stems = line[1], line[2].keys()
        later = [each[1] for each in lines if each[1] > latest and each[2].keys() >= stems]
        said = self._words(latest) if later else set()
        for begin in later:
            if begin > latest and begin not in self._taken and self._may_hold(begin, said):
                other = self._words(begin)
                if len(said & other) > _ALIKE * max(len(said), len(other)):
                    latest = begin
        return latest

    def _may_hold(self, begin: int, said: set[str]) -> bool:
        """Return False if the line at ``begin`` has too few of the words for two alike lines, without cutting it."""
        line, lacking = self._line(begin), (1 - _ALIKE) * len(said)
        for word in said:
            lacking -= word not in line
            if lacking < 0:
                return False
        return True

    def _line(self, begin: int) -> str:
        return self._session.lower[begin : line_end(self._session.text, begin)]

    def _words(self, begin: int) -> set[str]:
        if begin not in self._words_by_line:
            self._words_by_line[begin] = set(_words(self._line(begin)))
        return self._words_by_line[begin]

    def _quote(self, begin: int) -> None:
        """Quote a line, and the answer to it if it is a question."""
        for each in (begin, self._session.answer(begin)):
            if not each or each in self._taken or self.room < _LEAST:
                continue
            quoted = self._session.excerpt(each, self.room, self._taken, self._question.stems)
            if quoted is None or (self.quotes and self.room < _FRAGMENT and quoted.text.endswith("…")):
                continue
            said = set(_words(quoted.text.lower()))
            if any(len(said & other) > _ALIKE * min(len(said), len(other)) for other in self._said):
                continue
            self._said.append(said)
            self.room -= len(quoted.text) + len(quoted.who) + 3
            self.quotes.append(quoted)


def _candidates(
    session: _Session,
    question: Question,
    own: dict[int, dict[str, float]],
    prompts: dict[int, dict[str, float]],
    piece: tuple[int, int],
    outcome: list[int],
) -> Iterator[_Line]:
    """Yield the lines that may answer; ``outcome`` are those of what came of the exchange that was found by meaning."""
    # Most lines of a long session have one common word: they never win. A session revises itself: the later wins.
    worths = {begin: sum(words.values()) for begin, words in own.items()}
    strong = sorted(own, key=lambda begin: (-worths[begin], -begin))[:_CANDIDATES]
    near: dict[int, dict[str, float]] = {}
    for begin in strong:
        for following in session.following(begin, question.kinds):
            near.setdefault(following, {}).update(own[begin])
    candidates = {*strong, *near, *outcome}
    for prompt in sorted(prompts, key=lambda prompt: (-sum(prompts[prompt].values()), prompt))[:_PROMPTS]:
        candidates.update(session.result(prompt))
    start, end = piece
    if end:
        candidates.update(session.lines_between(start, end))
    middling = log(1 + session.lines / 3)
    none: dict[str, float] = {}
    for begin in candidates:
        words = own.get(begin, none)
        around = prompts.get(session.exchange(begin), none)
        if begin in near:
            around = {**around, **near[begin]}
        worth = 0.0
        for stem, weight in around.items():
            if stem not in words:
                worth += weight
        worth *= _BY_PROMPT
        if end and start <= begin < end:
            worth += _BY_PASSAGE * middling
        if begin in outcome:
            worth += _BY_EXCHANGE * middling
        whole = worth + worths.get(begin, 0.0)
        if whole > 0 and (factor := session.factor(begin, question)) > 0:
            yield factor * whole, begin, words, worth, factor


def _matches(
    session: _Session, question: Question
) -> tuple[set[str], dict[int, dict[str, float]], dict[int, dict[str, float]]]:
    """Return the stems that the text has, and their weights by the beginning of their line, by their prompt's turn."""
    mentioned: set[str] = set()
    own: dict[int, dict[str, float]] = {}
    prompts: dict[int, dict[str, float]] = {}
    lower, first = session.lower, session.starts[0] if session.starts else len(session.text)
    for stem in question.stems:
        begins = [lower.rfind("\n", 0, place) + 1 for place in _occurrences(lower, session.text, stem)]
        if not begins:
            continue
        mentioned.add(stem)
        weight = log(1 + session.lines / (len(begins) + 0.5))
        for begin in begins:
            if begin < first:
                continue
            own.setdefault(begin, {})[stem] = weight
            turn = session.turn(begin)
            if session.is_prompt(turn):
                prompts.setdefault(turn, {})[stem] = weight
    return mentioned, own, prompts


class _Session(Turns):
    """A session's document by turns, with what lines of it are worth; ``lower`` is its text in small letters."""

    __slots__ = ("lines", "lower")

    def __init__(self, text: str, *, is_ascii: bool) -> None:
        super().__init__(text)
        # A question in ASCII needs no other small letters; as bytes, a text gets those in a quarter of the time.
        lower = text.encode().lower().decode() if is_ascii and not text.isascii() else text.lower()
        # İ is two characters in small letters: offsets would be those of another text.
        self.lower = lower if len(lower) == len(text) else text
        self.lines = text.count("\n") + 1

    def exchanges(self, own: dict[int, dict[str, float]]) -> dict[int, float]:
        """Return the square of each exchange's share of the best one's points, by the turn that it begins with."""
        counts: dict[int, dict[str, int]] = {}
        weights: dict[str, float] = {}
        for begin, words in own.items():
            weights.update(words)
            count = counts.setdefault(self.exchange(begin), {})
            for stem in words:
                count[stem] = count.get(stem, 0) + 1
        average = len(self.text) / max(1, self.roles.count("user") + self.roles.count("task"))
        points: dict[int, float] = {}
        for turn, count in counts.items():
            enough = _MANY * (self.ends[self.last(turn)] - self.starts[turn]) / average
            points[turn] = sum(weights[stem] * each / (each + enough) for stem, each in count.items())
        best = max(points.values(), default=1.0)
        return {turn: (each / best) ** 2 for turn, each in points.items()}

    def lines_between(self, start: int, end: int) -> Iterator[int]:
        """Yield the beginnings of the lines of a passage that say something."""
        if start >= end:
            return  # after a call that ends the text, a conclusion begins behind it
        begin = start if start == 0 or self.text[start - 1] == "\n" else self.text.find("\n", start, end) + 1 or end
        begin = max(begin, self.starts[0])
        while begin < end:
            stop = line_end(self.text, begin)
            if stop - begin > 3:
                yield begin
            begin = stop + 1

    def following(self, begin: int, kinds: set[str]) -> Iterator[int]:
        """Yield what the line at ``begin`` may speak of: the next of its turn, calls, the answer to a question."""
        turn = self.turn(begin)
        stop = line_end(self.text, begin)
        if answer := self.answer(begin):
            yield answer
        if "decision" in kinds and turn + 1 < len(self.starts) and self.roles[turn + 1] == "user":
            opening = self.opening(turn + 1)
            if opening < self.ends[turn + 1]:
                yield opening
        count = 0
        while stop + 1 < self.ends[turn] and count < 2:
            following = stop + 1
            stop = line_end(self.text, following)
            if stop - following < 4 or self.text.startswith("```", following):
                continue
            if is_call(self.text, following):
                if kinds.isdisjoint(("command", "file")):
                    return
                count += 1
            yield following
            count += 1

    def result(self, prompt: int) -> Iterator[int]:
        """Yield the first lines of what an exchange ends with."""
        for _, begin in zip(range(_RESULT), self.lines_between(*self.outcome(prompt)), strict=False):
            yield begin

    def _command(self, begin: int) -> str:
        """Return the command of a call of a shell or of a shell's history, "" if the line is none."""
        if not self.text.startswith("- ", begin):
            return ""
        line = self.text[begin + 2 : line_end(self.text, begin)]
        if self.roles[self.turn(begin)] == "command":
            return _typed(line)
        name, _, command = line.partition(": ")
        return command.strip() if name in _SHELLS else ""

    def _failed(self, begin: int) -> bool:
        return self.text.startswith("\n  ! ", line_end(self.text, begin))

    def factor(self, begin: int, question: Question) -> float:
        """Return the weight of a line by its speaker and its form; 0 for a line that says nothing by itself."""
        kinds = question.kinds
        line = self.text[begin : line_end(self.text, begin)]
        bare = line.strip()
        if len(bare) < 4 or bare.startswith(("## [", "### reasoning", "```", "|--", "---")):
            return 0.0
        if bare.isascii() and bare.lower() == bare.upper():
            return 0.0  # a time, a rule, brackets: no letter
        turn = self.turn(begin)
        role = self.roles[turn]
        if role == "command" and line.startswith(("- in /", "  ! ", "  intent: ")):
            return 0.0  # where a shell's commands ran and how they ended, which a command says itself
        factor = 1 + _LATER * turn / len(self.starts)
        if 0 <= self.thoughts[turn] <= begin:
            return _WEIGH["thought"] * factor
        if line.startswith("  ! "):
            return _WEIGH["failure, asked for" if "error" in kinds else "failure"] * factor
        if role in ("user", "task"):
            # A long prompt is a plan or a paste; a short one is the person's decision.
            first = begin - self.starts[turn] < 80 and turn == 0
            pasted = len(line) > 1_000
            speech = "opening" if first or pasted else "wish, asked for" if "decision" in kinds else "wish"
            return _WEIGH[speech] * factor
        if role == "compaction":
            return _WEIGH["compaction"] * factor
        is_listed = line.startswith("- ")
        if is_listed and self._command(begin):
            if "command" in kinds:
                return _WEIGH["failed command, asked for" if self._failed(begin) else "command, asked for"] * factor
            return _WEIGH["failed command" if self._failed(begin) else "command"] * factor
        if line.startswith("  ") and self.in_call(begin):
            return _WEIGH["script, asked for" if "command" in kinds else "script"] * factor
        if is_listed and is_call(self.text, begin):
            if "file" not in kinds:
                return _WEIGH["call"] * factor
            changes = line.startswith(("- Edit", "- Write", "- MultiEdit", "- apply_patch", "- replace", "- edit"))
            return _WEIGH["change, asked for" if changes else "read, asked for"] * factor
        lower = self.lower[begin : begin + len(line)]
        for sign in question.signs:
            if sign in lower:
                factor *= _WEIGH["concluding"]
                break
        if lower.startswith(("let me", "now let", "i'll ", "now i", "let's check", "i need to", "now i'll")):
            factor *= _WEIGH["announcing"]
        if self.in_fence(begin):
            factor *= _WEIGH["code, asked for" if "command" in kinds else "code"]
        start, end = self.conclusion(turn)
        if start <= begin < end:
            factor *= _WEIGH["end of a reply"]
        return factor

    def excerpt(self, begin: int, room: int, taken: set[int], stems: Iterable[str]) -> Quote | None:
        """Return the line at ``begin``, of a long one its best sentences, and what it announces; note the lines taken.

        A quote has at most ``room`` characters, and ``_LONGEST`` at most.
        """
        turn = self.turn(begin)
        number = self.text.count("\n", 0, begin) + 1
        who: Who = "you" if self.roles[turn] in ("user", "command") else "agent"
        if 0 <= self.thoughts[turn] <= begin:
            who = "thought"
        room = min(room - 10, _LONGEST)
        command = self._command(begin)
        stop = line_end(self.text, begin)
        taken.add(begin)
        if command:
            failure = self.text[stop + 5 : line_end(self.text, stop + 1)].strip() if self._failed(begin) else ""
            text = f"{_whole(command, room - 40)}  (failed: {failure[:80]})" if failure else _whole(command, room)
            return Quote("$", number, text)
        text = self.text[begin:stop].strip()
        if len(text) > room:
            text = _best_sentences(text, room, stems)
            return Quote(who, number, text) if text else None
        limit = self.thoughts[turn] if begin < self.thoughts[turn] else self.ends[turn]
        announces = text.endswith(":") or (len(text) < _SHORT and text.startswith(("#", "**")))
        while announces and stop + 1 < limit:
            following = stop + 1
            stop = line_end(self.text, following)
            line = self.text[following:stop].strip()
            if not line or line.startswith("```"):
                continue
            if is_call(self.text, following) or following in taken or len(text) + len(line) + 1 > room:
                break
            taken.add(following)
            text += "\n" + line
        return Quote(who, number, text)


def _typed(line: str) -> str:
    """Return the command of ``08:12:31 $ git push``, or ``$ git push`` without its time; "" of another line."""
    when, mark, command = line.partition("$ ")
    is_timed = when[2:3] == ":" == when[5:6] and when[-1:] == " "
    return command.strip() if mark and (is_timed or not when) else ""


def _best_sentences(text: str, room: int, stems: Iterable[str]) -> str:
    """Return the sentences of a long line that hold most of the question's words, as many in a row as fit."""
    ends = [0]
    at = 0
    while (at := text.find(" ", at + 1)) >= 0:
        if text[at - 1] in ".!?;" and at - ends[-1] > 20:
            ends.append(at + 1)
    ends.append(len(text))
    lower = text.lower() if len(text.lower()) == len(text) else text
    worth = [sum(stem in lower[begin : ends[at + 1]] for stem in stems) for at, begin in enumerate(ends[:-1])]
    first = max(range(len(worth)), key=lambda index: (worth[index], -index))
    last = first
    while last + 1 < len(worth) and ends[last + 2] - ends[first] <= room:
        last += 1
    while first > 0 and ends[last + 1] - ends[first - 1] <= room:
        first -= 1
    return _whole(text[ends[first] : ends[last + 1]].strip(), room)


def _whole(text: str, room: int) -> str:
    """Return as many whole sentences of ``text`` as fit, its beginning with an ellipsis if not even one does."""
    if len(text) <= room:
        return text
    end = -1
    for mark in (". ", "! ", "? ", "; ", "。"):
        end = max(end, text.rfind(mark, 0, room))
    if end > room // 3:
        return text[: end + 1]
    cut = text.rfind(" ", 0, room - 1)
    return text[: cut if cut > room // 2 else room - 1].rstrip() + "…"


def _occurrences(text: str, cased: str, stem: str) -> Iterator[int]:
    """Yield where words, or the parts of a name in camel case, begin with ``stem``; short stems are whole words.

    ``text`` is ``cased`` in small letters.
    """
    size = len(stem)
    anywhere = not stem.isascii() and is_cjk(stem[0])
    count = 0
    at = text.find(stem)
    while at >= 0 and count < _OCCURRENCES:
        before = text[at - 1] if at else " "
        if anywhere or (
            (not before.isalnum() or (cased[at].isupper() and cased[at - 1].islower()))
            and (size >= _LONG_STEM or not text[at + size : at + size + 1].isalnum())
        ):
            count += 1
            yield at
        at = text.find(stem, at + size)


def _words(text: str) -> list[str]:
    """Return the words of a text, names, paths and flags in one piece."""
    spaced = text.translate(_SEPARATORS)
    if not spaced.isascii():
        spaced = "".join(each if each.isascii() or each.isalnum() else " " for each in spaced)
    words = [word.lstrip(_INSIDE).rstrip(".-/_") for word in spaced.split()]
    return [word for word in words if word]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word
