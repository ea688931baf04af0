"""Lines of a session that answer a question: conclusions, decisions and commands with their outcome, best first.

The passage that matches a question often repeats the question. So a line is scored by the question's words in the line
and in the prompt before it, by who speaks, and by how late the line comes: a session revises itself. docs/retrieval.md
has the measurements. Called for each hit of a cold process: no regular expression, no look at lines without a word.
"""

from __future__ import annotations

from bisect import insort
from math import log

from qmd.index.exchanges import Turns, is_call, line_end
from qmd.index.terms import STOP, is_cjk, without_accents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Literal

    Who = Literal["you", "agent", "$", "thought", ""]
    # A line that may answer: its worth, where it begins, the weights of the question's words in it, the weight of what
    # is near it, and the factor by its speaker and form. The worth is the factor times the sum of all weights, without
    # what was shown meanwhile; 0 until a page needs it.
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
    "opening": 0.4,  # of a session
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
# What a word keeps of its weight when a quote shows it, and the share of common words that makes two quotes alike.
_AGAIN = 0.8
_ALIKE = 0.7
# Lines, and prompts, that are looked at closely.
_CANDIDATES, _PROMPTS = 40, 2
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
# Words of a line that concludes: what was wrong, and what was decided.
_CONCLUDES = (
    "because", "the reason", "root cause", "the fix", "fixed", "found it", "found the", "the problem", "the issue",
    "caused by", "turns out", "means that", "instead", "decided", "let's", "we'll", "should", "rather", "don't",
    "prefer", "better", "so that", "recommend", "will use", "going with",
)  # fmt: skip
# The line of a call that the person did not let run, and the end of the call's quote.
_REFUSED = "  rejected by the user"
_WAS_REFUSED = f"  ({_REFUSED.strip()})"
_SHELLS = ("Bash", "shell", "exec_command", "run_shell_command", "bash", "Shell", "run_terminal_cmd", "execute")
# Marks within a word, and ASCII without those, letters and digits.
_INSIDE = "_.-/$"
_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in _INSIDE}


class Quote:
    """Some lines of one speaker: ``line`` counts from 1; ``who`` is ``""`` in a text without turns."""

    __slots__ = ("line", "text", "who")

    def __init__(self, who: Who, line: int, text: str) -> None:
        self.who, self.line, self.text = who, line, text


def show(quotes: Iterable[Quote]) -> str:
    """Return quotes as text: each begins with its speaker."""
    return "\n".join(f"{quote.who}{' ' if quote.who == '$' else ': '}{quote.text}" for quote in quotes)


class Question:
    """The telling words of a question by their stems, and the kinds of answer that it asks for."""

    __slots__ = ("is_ascii", "kinds", "stems")

    def __init__(self, text: str) -> None:
        self.is_ascii = text.isascii()
        words = {word.lower(): word for word in _words(text) if len(word) > 1 or word.isdigit() or is_cjk(word)}
        self.kinds = {kind for kind, signs in _ASKS.items() if not signs.isdisjoint(words)}
        if "why" in words:  # a reason is asked for, though of a push or a merge
            self.kinds.discard("command")
        telling = [word for word in words if word not in STOP]
        # As they were typed, in their order.
        asked = [each for each in telling if each not in _EMPTY] or telling
        self.stems = {_stem(without_accents(word)): words[word] for word in asked}


def quote(
    text: str, question: Question, room: int, piece: tuple[int, int] = (0, 0), *, meant: bool = False
) -> list[Quote]:
    """Return the lines of a session's document that answer best (``Reading.quotes``)."""
    return Reading(text, question).quotes(room, piece, meant=meant)


class Reading(Turns):
    """A document as it is read for a question: its turns, and the lines with the question's words.

    ``mentioned`` are the stems of the question that the text has in any form. ``lower`` is the text in small letters
    without accents.
    """

    __slots__ = ("_counts", "_lines", "_own", "_prompts", "_question", "_title", "_weights", "lower", "mentioned")

    if TYPE_CHECKING:
        # The weights of the words in each line, by where the line begins; in each prompt, by its turn.
        _own: dict[int, dict[str, float]]
        _prompts: dict[int, dict[str, float]]
        # How many lines of each exchange have a word.
        _counts: dict[int, dict[str, int]]
        _weights: dict[str, float]
        _title: set[str]

    def __init__(self, text: str, question: Question) -> None:
        super().__init__(text)
        # A question in ASCII needs no other small letters; as bytes, a text gets those in a quarter of the time.
        lower = text.encode().lower().decode() if question.is_ascii and not text.isascii() else text.lower()
        lower = without_accents(lower)
        # İ is two characters in small letters: offsets would be those of another text.
        self.lower = lower = lower if len(lower) == len(text) else text
        self._question, self._lines = question, text.count("\n") + 1
        self._weights, self._own, self._prompts, self._counts, self._title = {}, {}, {}, {}, set()
        for stem in question.stems:
            begins = [lower.rfind("\n", 0, place) + 1 for place in _occurrences(lower, text, stem)]
            if begins:
                self._weights[stem] = weight = log(1 + self._lines / (len(begins) + 0.5))
            for begin in dict.fromkeys(begins):
                if (turn := self.turn(begin)) >= 0:
                    self._own.setdefault(begin, {})[stem] = weight
                    count = self._counts.setdefault(self.first(turn), {})
                    count[stem] = count.get(stem, 0) + 1
                    if self.is_prompt(turn):
                        self._prompts.setdefault(turn, {})[stem] = weight
                elif lower.startswith("# ", begin):
                    self._title.add(stem)
        self.mentioned = self._weights.keys()

    def exchanges(self) -> list[Collection[str]]:
        """Return the stems of the question that each exchange has, or the title: it names what all of them are about.

        A text without turns is one exchange.
        """
        if not self.starts:
            return [self.mentioned]
        found: list[Collection[str]] = [self._title.union(each) for each in self._counts.values()]
        return found if found or not self._title else [self._title]

    def quotes(self, room: int, piece: tuple[int, int] = (0, 0), *, meant: bool = False) -> list[Quote]:
        """Return the lines that answer best, at most ``room`` characters with their speakers.

        ``piece`` is the passage or the exchange (start, end) that the search found, ``meant``: by meaning rather than
        by words. The list is empty for a text without turns.
        """
        if not self.starts:
            return []
        (start, end), best, outcome = piece, self._shares(), list[int]()
        if meant and end:
            found = self.exchange(max(self.starts[0], start))
            best, outcome = {found: 1.0}, self._result(found)[:_TOLD]
        if start in self.starts:  # between an exchange's prompt and its outcome no line says more than others
            start = end = 0
        lines = list(self._candidates(start, end, outcome))
        page = _Page(self, self._question.stems, room)
        # Outcomes of the best exchanges first, then lines that the others add.
        page.fill([(*line[:4], line[4] * best.get(self.exchange(line[1]), 0.0)) for line in lines], room - _FROM_BEST)
        page.fill(lines, 0)
        return page.in_order()

    def _shares(self) -> dict[int, float]:
        """Return the square of each exchange's share of the best one's points, by the turn that it begins with."""
        average = len(self.text) / max(1, sum(map(self.is_prompt, range(len(self.starts)))))
        points: dict[int, float] = {}
        for turn, count in self._counts.items():
            enough = _MANY * (self.ends[self.last(turn)] - self.starts[turn]) / average
            points[turn] = sum(self._weights[stem] * each / (each + enough) for stem, each in count.items())
        best = max(points.values(), default=1.0)
        return {turn: (each / best) ** 2 for turn, each in points.items()}

    def _candidates(self, start: int, end: int, outcome: list[int]) -> Iterator[_Line]:
        """Yield the lines that may answer; ``outcome`` are those of the exchange that was found by meaning."""
        own, prompts, none = self._own, self._prompts, dict[str, float]()
        # Most lines of a long session have one common word: they never win. A session revises itself: the later wins.
        strong = sorted(own, key=lambda begin: (sum(own[begin].values()), begin), reverse=True)[:_CANDIDATES]
        near: dict[int, dict[str, float]] = {}
        for begin in strong:
            for following in self._following(begin):
                near.setdefault(following, {}).update(own[begin])
        candidates = {*strong, *near, *outcome, *self._lines_between(start, end)}
        for prompt in sorted(prompts, key=lambda prompt: (-sum(prompts[prompt].values()), prompt))[:_PROMPTS]:
            candidates.update(self._result(prompt))
        middling = log(1 + self._lines / 3)
        for begin in candidates:
            words = own.get(begin, none)
            around = prompts.get(self.exchange(begin), none)
            if begin in near:
                around = {**around, **near[begin]}
            worth = middling * (_BY_PASSAGE * (start <= begin < end) + _BY_EXCHANGE * (begin in outcome))
            for stem, weight in around.items():
                if stem not in words:
                    worth += _BY_PROMPT * weight
            if (words or worth) and (factor := self._factor(begin)):
                yield 0.0, begin, words, worth, factor

    def _lines_between(self, start: int, end: int) -> Iterator[int]:
        """Yield the beginnings of the lines of a passage that say something."""
        if self.text[start - 1 : start] not in ("", "\n"):
            start = line_end(self.text, start) + 1
        start = max(self.starts[0], start)
        for line in self.text[start : line_end(self.text, end - 1)].split("\n") if start < end else ():
            if len(line) > 3:
                yield start
            start += len(line) + 1

    def _following(self, begin: int) -> Iterator[int]:
        """Yield what the line at ``begin`` may speak of: the next of its turn, calls, the answer to a question."""
        turn, kinds = self.turn(begin), self._question.kinds
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

    def _result(self, prompt: int) -> list[int]:
        """Return the first lines of what an exchange ends with."""
        return [*self._lines_between(*self.outcome(prompt))][:_RESULT]

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
        """Return True if the call at ``begin`` failed, or if the person did not let it run."""
        return self.text.startswith("\n  ! ", line_end(self.text, begin)) or self._refusal(begin) >= 0

    def _refusal(self, begin: int) -> int:
        """Return where the call at ``begin`` has the line that the person refused it, -1 if it has none."""
        at = line_end(self.text, begin) + 1
        while self.text.startswith(("  ", "\n"), at):
            if self.text.startswith(_REFUSED, at):
                return at
            at = line_end(self.text, at) + 1
        return -1

    def _factor(self, begin: int) -> float:
        """Return the weight of a line by its speaker and its form; 0 for a line that says nothing by itself."""
        kinds = self._question.kinds
        line = self.text[begin : line_end(self.text, begin)]
        bare = line.strip()
        if len(bare) < 4 or bare.startswith(("## [", "### reasoning", "```", "|--", "---")):
            return 0.0
        if not bare[0].isalpha() and bare.lower() == bare.upper() and (bare.isascii() or not _has_letter(bare)):
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
            opens = begin - self.starts[turn] < 80 and turn == 0
            speech = "opening" if opens else "wish, asked for" if "decision" in kinds else "wish"
            return _WEIGH[speech] * factor
        if role == "compaction":
            return _WEIGH["compaction"] * factor
        is_listed = line.startswith("- ")
        if is_listed and self._command(begin):
            if "command" in kinds:
                return _WEIGH["failed command, asked for" if self._failed(begin) else "command, asked for"] * factor
            return _WEIGH["failed command" if self._failed(begin) else "command"] * factor
        if line.startswith("  ") and self.call(begin) >= 0:
            return _WEIGH["script, asked for" if "command" in kinds else "script"] * factor
        if is_listed and is_call(self.text, begin):
            if "file" not in kinds:
                return _WEIGH["call"] * factor
            changes = line.startswith(("- Edit", "- Write", "- MultiEdit", "- apply_patch", "- replace", "- edit"))
            return _WEIGH["change, asked for" if changes else "read, asked for"] * factor
        lower = self.lower[begin : begin + len(line)]
        for sign in _CONCLUDES:
            if sign in lower:
                factor *= _WEIGH["concluding"]
                break
        if lower.startswith(("let me", "now let", "i'll ", "now i", "let's check", "i need to", "now i'll")):
            factor *= _WEIGH["announcing"]
        if self.fence(begin) >= 0:
            factor *= _WEIGH["code, asked for" if "command" in kinds else "code"]
        if self.ending(begin) >= 0:
            factor *= _WEIGH["end of a reply"]
        return factor

    def ending(self, begin: int) -> int:
        """Return where the end of a reply begins that has the line at ``begin``, -1 if none has."""
        start, end = self.conclusion(self.turn(begin))
        return start if start <= begin < end else -1

    def block(self, begin: int) -> int:
        """Return where the lines begin that are read in their order: of a reply's end, a call or a piece of code."""
        return next((at for at in (self.ending(begin), self.call(begin), self.fence(begin)) if at >= 0), begin)

    def excerpt(self, begin: int, room: int, taken: set[int], stems: Iterable[str]) -> Quote | None:
        """Return the line at ``begin``, of a long one its best sentences, and what it announces; note the lines taken.

        A quote has at most ``room`` characters, and ``_LONGEST`` at most.
        """
        if self.text.startswith(_REFUSED, begin) and (call := self.call(begin)) >= 0:
            begin = call  # it is the call that says what was refused
            if begin in taken:
                return None
        turn = self.turn(begin)
        number = self.text.count("\n", 0, begin) + 1
        who: Who = "you" if self.roles[turn] in ("user", "command") else "agent"
        if 0 <= self.thoughts[turn] <= begin:
            who = "thought"
        elif self.text.startswith("  ! ", begin):  # what a command said that failed
            who = "$"
        elif self.text.startswith("  ", begin) and (call := self.call(begin)) >= 0 and self._command(call):
            who = "$"  # a line of a script
        room = min(room - 10, _LONGEST)
        command = self._command(begin)
        stop = line_end(self.text, begin)
        taken.add(begin)
        text = command or self.text[begin:stop].strip()
        if is_call(self.text, begin) and (refusal := self._refusal(begin)) >= 0:
            taken.add(refusal)
            return Quote("$" if command else who, number, _whole(text, room - len(_WAS_REFUSED)) + _WAS_REFUSED)
        if command:
            failure = self.text[stop + 5 : line_end(self.text, stop + 1)].strip() if self._failed(begin) else ""
            text = f"{_whole(command, room - 40)}  (failed: {failure[:80]})" if failure else _whole(command, room)
            return Quote("$", number, text)
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
        if announces and len(text) < _LEAST and "\n" not in text:
            return None  # what it announces is quoted already, or is no text
        return Quote(who, number, text)


class _Page:
    """Quotes as they are chosen, and the ``room`` (characters) that is left for more."""

    __slots__ = ("_begins", "_kept", "_reading", "_said", "_taken", "quotes", "room")

    if TYPE_CHECKING:
        quotes: list[Quote]
        # Where each quote begins, or the question that it answers.
        _begins: list[int]
        # The words of each quote.
        _said: list[set[str]]

    def __init__(self, reading: Reading, stems: Iterable[str], room: int) -> None:
        self._reading, self.room, self._taken = reading, room, set[int]()
        self.quotes, self._begins, self._said = [], [], []
        # How much of its weight a word keeps.
        self._kept = dict.fromkeys(stems, 1.0)

    def fill(self, lines: list[_Line], least: int) -> None:
        """Quote the best of ``lines`` until the room is down to ``least``."""
        every, lines = lines, sorted(map(self._weighed, lines))
        while lines and self.room >= max(_LEAST, least) and len(self.quotes) < _QUOTES:
            # Words that were shown meanwhile count less: another line may be better now.
            line = self._weighed(lines.pop())
            if lines and line < lines[-1]:
                insort(lines, line)
            elif line[1] not in self._taken and line[0]:
                self._quote(self._latest(line, every))
                for stem in line[2]:
                    self._kept[stem] *= _AGAIN

    def in_order(self) -> list[Quote]:
        """Return the quotes, the best first, and with each those of the same ``block`` as they follow there."""
        groups = list(map(self._reading.block, self._begins))
        order = sorted(range(len(groups)), key=lambda each: (groups.index(groups[each]), self._begins[each]))
        return [self.quotes[each] for each in order]

    def _latest(self, line: _Line, lines: list[_Line]) -> int:
        """Return where the last of a line and of other ``lines`` begins that say the same: a session revises itself."""
        lower, latest, stems = self._reading.lower, line[1], line[2].keys()
        later = sorted(each[1] for each in lines if each[1] > latest and each[2] and each[2].keys() >= stems)
        said = set(_words(lower[latest : line_end(lower, latest)])) if later else set()
        for begin in later:
            text = lower[begin : line_end(lower, begin)]
            # Cutting a line into words takes longer than looking for them.
            if begin not in self._taken and sum([word in text for word in said]) > _ALIKE * len(said):
                other = set(_words(text))
                if len(said & other) > _ALIKE * max(len(said), len(other)):
                    latest = begin
        return latest

    def _weighed(self, line: _Line) -> _Line:
        _, begin, words, near, factor = line
        worth, kept = near, self._kept
        for stem, weight in words.items():
            worth += weight * kept[stem]
        return factor * worth, begin, words, near, factor

    def _quote(self, begin: int) -> None:
        """Quote a line, and the answer to it if it is a question."""
        for each in (begin, self._reading.answer(begin)):
            if not each or each in self._taken or self.room < _LEAST:
                continue
            quoted = self._reading.excerpt(each, self.room, self._taken, self._kept)
            if quoted is None or (self.quotes and self.room < _FRAGMENT and quoted.text.endswith("…")):
                continue
            said = set(_words(quoted.text.removesuffix(_WAS_REFUSED).lower()))
            if all(len(said & other) <= _ALIKE * min(len(said), len(other)) for other in self._said):
                self._said.append(said)
                self.quotes.append(quoted)
                self._begins.append(begin)
                self.room -= len(quoted.text) + len(quoted.who) + 3


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


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
    lower = without_accents(text.lower() if len(text.lower()) == len(text) else text)
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
