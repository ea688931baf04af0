"""From a question's date phrases to one span: the most specific phrase wins, and says whether it bounds or boosts.

A date that excludes wrongly loses the answer; one that lifts wrongly costs a little precision. So a span bounds only
where days are named exactly *and* the question asks for the record of them: an operator with an ISO date ("since
2026-05-01"), or exact days ("yesterday", "between 3 and 5 March") in a question about what I, we or a session did. All
else boosts. Calendar periods ("last year", "in March") are what the calendar says; a counted distance has a tolerance
that grows with it: three weeks ago is 4 days either way.
"""

from __future__ import annotations

from math import exp

from core import clock
from core.clock import DAY
from runtime.dates import words
from runtime.dates.phrases import Reader
from runtime.dates.span import Span
from runtime.dates.written import EXACT, VAGUE, Days, like

_HOUR = 3600
_BEFORE_ALL = 0  # 1970: "before 2024" has no other beginning
_MOST_WORDS = 20
_NAMED = 3  # the rank from which a phrase names a day, a month or a year of the calendar
_UP_TO = ("to", "until", "till")
_JOINERS = {"between": ("and", "-"), "from": (*_UP_TO, "through", "-"), "since": ("until", "till")}
_BARE_JOINERS = ("-", "through", *_UP_TO)

# Documents speak of a day on the day, and for weeks after: half the lift, fading by e a week, for a month.
_AFTER = 0.5
_FADE_DAYS = 7.0
_AFTER_DAYS = 31
# On the two days before it, documents speak of it as a plan.
_BEFORE = 0.3
_BEFORE_DAYS = 2
# A whole year says little about which of its documents is meant: a small lift.
_YEAR = 0.2
_YEARS_BACK = 15


class Phrase:
    """One date phrase: its days, the operator before it (``since``, …, ``range``) and its tokens [start, end)."""

    __slots__ = ("days", "end", "operator", "start")

    def __init__(self, named: Days, operator: str, start: int, end: int) -> None:
        self.days = named
        self.operator = operator
        self.start = start
        self.end = end


def reader(text: str, now: int) -> Reader:
    """Return a reader of ``text`` at ``now`` (epoch seconds). Raises OverflowError or OSError outside any calendar."""
    return Reader(words.tokens(text), clock.day_of(now), lambda hours: clock.day_of(now - hours * _HOUR))


def read(question: str, now: int) -> Span | None:
    """Return the span of the question's most specific phrase (of equals the first), None if it has none.

    ``now`` is epoch seconds. Quoted text, identifiers, versions and plain numbers are no dates; neither is anything
    wholly in the future.
    """
    try:
        over = reader(question, now)
        best: Phrase | None = None
        whole_year = 0
        index = 0
        while index < len(over.tokens):
            if over.word(index) in words.NOT_PAST:
                index += 2
                continue
            found = phrase(over, index)
            if found is None:
                index += 1
                continue
            if best is None or found.days.rank > best.days.rank:
                best = found
            whole_year = whole_year or _whole_year(found.days)
            index = found.end
        if best and best.days.yearly and whole_year:  # "in March last year", "March of last year"
            best.days = _in_year(best.days, whole_year)
        return _span(best, question, over) if best else None
    except (OverflowError, OSError, ValueError):  # a date beyond what this machine's calendar can say
        return None


def no_day(question: str, now: int) -> str:
    """Return the first day in the question that no calendar has ("2026-02-30"), as written; "" if there is none."""
    try:
        over = reader(question, now)
        for index, token in enumerate(over.tokens):
            if end := over.no_day(index):
                return " ".join(question[token.start : over.tokens[end - 1].end].split())
    except (OverflowError, OSError, ValueError):
        return ""
    return ""


def _whole_year(named: Days) -> int:
    """Return the year that ``named`` is the whole of, 0 where it is none."""
    year = clock.civil(named.first)[0]
    return year if (named.first, named.last) == (clock.month_start(year, 1), clock.month_start(year + 1, 1)) else 0


def phrase(over: Reader, index: int) -> Phrase | None:
    """Return the phrase that begins at token ``index``."""
    word = over.word(index)
    joiners = _JOINERS.get(word)
    if joiners and (found := _range(over, index, index + 1, joiners)):
        return found
    if word in words.OPERATORS:
        single = over.date(index + 1, word)
        return Phrase(single[0], word, index, single[1]) if single else None
    if word == "as" and over.word(index + 1) == "of":
        single = over.date(index + 2, "of")
    elif word in words.PREPOSITIONS:
        part = word in ("early", "mid", "late")  # read with its month: "late March to early April"
        if found := _range(over, index, index if part else index + 1, _BARE_JOINERS):
            return found
        single = over.date(index + 1, word)
    else:
        if found := _range(over, index, index, _BARE_JOINERS):
            return found
        single = over.date(index)
    return Phrase(single[0], "", index, single[1]) if single else None


def _range(over: Reader, start: int, index: int, joiners: tuple[str, ...]) -> Phrase | None:
    """X joined to Y. X takes the month of "between 3 and 5 March", Y that of "March 3-5"; each the other's year.

    "To" joins only what is dated on both sides where no "from" announced it: "in March to 5 servers" is one month.
    """
    opening = over.date(index, "between" if index > start else "")
    middle = opening[1] if opening else index + 1
    joiner = over.word(middle)
    if joiner not in joiners:
        return None
    closing = over.date(middle + 1, "between")
    first = opening[0] if opening else None
    if joiners is _BARE_JOINERS and joiner in _UP_TO:
        both = first is not None and closing is not None and min(first.rank, closing[0].rank) >= _NAMED
        if not both:
            return None
    if closing is not None and first is None:
        first = _with_date(closing[0], over.day_number(index)[0])
    elif first is not None and closing is None:
        last = _with_date(first, over.day_number(middle + 1)[0])
        year, end = over.year_after(middle + 2)
        if last is not None and year:
            first, last = _in_year(first, year), _in_year(last, year)
        closing = (last, end) if last is not None else None
    if first is None or closing is None:
        return None
    return Phrase(_joined(first, closing[0]), "range", start, closing[1])


def _with_date(model: Days, date: int) -> Days | None:
    """Return the day ``date`` (0 for none) of the month that the single day ``model`` lies in."""
    year, month, _ = clock.civil(model.first)
    single = model.rank >= 3 and model.last - model.first == 1
    if not single or not 1 <= date <= clock.month_length(year, month):
        return None
    first = clock.day_number(year, month, date)
    return like(model, first, first + 1)


def _joined(first: Days, last: Days) -> Days:
    yearly = first.yearly and last.yearly
    if first.yearly:
        first = _in_year(first, clock.civil(last.first)[0])
        if first.first > last.first:
            first = _in_year(first, clock.civil(last.first)[0] - 1)
    elif last.yearly:
        last = _in_year(last, clock.civil(first.first)[0])
        if last.first < first.first:
            last = _in_year(last, clock.civil(first.first)[0] + 1)
    if first.first > last.first:
        first, last = last, first
    joined = like(first, first.first, max(first.last, last.last))
    joined.rank = max(first.rank, last.rank)
    joined.certainty = min(first.certainty, last.certainty)
    joined.slack = max(first.slack, last.slack)
    joined.yearly = yearly
    joined.iso = first.iso and last.iso
    return joined


def _in_year(model: Days, year: int) -> Days:
    _, month, date = clock.civil(model.first)
    first = clock.month_start(year, month) + date - 1
    moved = like(model, first, first + model.last - model.first)
    moved.yearly = False
    return moved


def _span(best: Phrase, question: str, over: Reader) -> Span | None:
    named, tomorrow = best.days, over.today + 1
    bound = _bounds(best, over)
    slack = 0 if bound else named.slack
    first, last = named.first - slack, named.last + slack
    if best.operator == "since":
        last = tomorrow
    elif best.operator == "after":
        first, last = named.last, tomorrow
    elif best.operator == "before":
        first, last = _BEFORE_ALL, named.first
    elif best.operator in ("until", "till"):
        first = _BEFORE_ALL
    if first >= last or first > over.today:
        return None
    since, until = clock.day_start(first), clock.day_start(last)
    text = question[over.tokens[best.start].start : over.tokens[best.end - 1].end]
    if since >= until:  # a day that a change of time zone left out
        return None
    yearly = named.yearly and best.operator in ("", "range") and not bound
    return Span(
        since, until, "bound" if bound else "boost", _reason(best, text, first, last, bound, yearly), text, yearly
    )


def _bounds(best: Phrase, over: Reader) -> bool:
    named = best.days
    if named.certainty == VAGUE:
        return False
    if best.operator and named.iso:
        return True
    if not (best.operator or named.certainty == EXACT):
        return False
    return _asks_for_a_record([token.text for token in over.tokens])


def _asks_for_a_record(question: list[str]) -> bool:
    if any(word in words.RECORD for word in question):
        return True
    # A long text is a prompt or a story that a day occurs in, and not a question for the record of it.
    ours = len(question) <= _MOST_WORDS and any(word in words.FIRST_PERSON for word in question)
    return ours and any(word in words.PAST or _is_past(word) for word in question)


def _is_past(word: str) -> bool:
    return word.endswith("ed") and len(word) > 4 and word not in words.NOT_PAST_ED


def _reason(best: Phrase, text: str, first: int, last: int, bound: bool, yearly: bool) -> str:
    quoted = '"' + " ".join(text.split()) + '"'
    named = best.days
    meant = _days(named.first, named.last)
    if best.operator == "since":
        scope = f"from {clock.day_iso(first)} on"
    elif best.operator == "after":
        scope = f"after {clock.day_iso(first - 1)}"
    elif best.operator == "before":
        scope = f"before {clock.day_iso(last)}"
    elif best.operator in ("until", "till"):
        scope = f"until {clock.day_iso(last - 1)}"
    else:
        scope = "of that day" if named.last - named.first == 1 and not named.slack else "of that time"
    if best.operator in ("", "range"):
        loose = f", {named.slack} day{'s' * (named.slack > 1)} either way" if named.slack and not bound else ""
        note = f", read {named.note}" if named.note else ""
        quoted += f" is {meant}{loose}{note}"
    if bound:
        return f"{quoted}: only documents {scope}"
    other = ", those of other years a little" if yearly else ""
    return f"{quoted}: documents {scope} are preferred{other}"


def _days(first: int, last: int) -> str:
    return clock.day_iso(first) if last - first == 1 else f"{clock.day_iso(first)} to {clock.day_iso(last - 1)}"


class DateBoost:
    """The span of a question as ``qmd.search.search`` takes it: ``periods`` to look at, and ``match`` (0–1) for a
    document.
    """

    __slots__ = ("_precise", "_weights", "periods")

    def __init__(self, span: Span) -> None:
        length = span.until - span.since
        self._precise = length <= 2 * DAY + 2 * 3600  # two days, and an hour of clock change
        full = _YEAR if length > 300 * DAY else 1.0
        # (since, until, weight), the years back where none was named: an unnamed year is the last one, most likely.
        self._weights = [(span.since, span.until, full)]
        if span.yearly:
            first = clock.day_of(span.since)
            year, month, day = clock.civil(first)
            for back in range(1, _YEARS_BACK):
                start = clock.day_start(clock.month_start(year - back, month) + day - 1)
                self._weights.append((start, start + length, full * 0.5))
        before, after = (_BEFORE_DAYS * DAY, (_AFTER_DAYS + 1) * DAY) if self._precise else (0, 0)
        self.periods = [(since - before, until + after) for since, until, _ in self._weights]

    def match(self, date: int, ended: int) -> float:
        """How well a document of ``date`` to ``ended`` (epoch seconds) matches."""
        return max(weight * self._overlap(date, ended, since, until) for since, until, weight in self._weights)

    def _overlap(self, date: int, ended: int, since: int, until: int) -> float:
        if date < until and ended >= since:
            return 1.0
        if not self._precise:
            return 0.0
        if date >= until:
            gap = (date - until) // DAY + 1
            return _AFTER * exp((1 - gap) / _FADE_DAYS) if gap <= _AFTER_DAYS else 0.0
        return _BEFORE if since - ended <= _BEFORE_DAYS * DAY else 0.0
