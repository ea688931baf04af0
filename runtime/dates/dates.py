"""Dates in a question: which days it speaks of, and whether they exclude documents or only lift them.

This half is on the interactive path and cheap; phrases are read by ``runtime.dates.question``, imported once a word
of a date was seen.
"""

from __future__ import annotations

from runtime.dates import days

# Every date phrase has one of these words, or one that begins with a digit.
_SIGNS = frozenset((
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "q1", "q2",
    "q3", "q4", "spring", "summer", "autumn", "fall", "winter", "monday", "tuesday", "wednesday", "thursday",
    "friday", "saturday", "sunday", "mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "today", "tonight",
    "yesterday", "recently", "lately", "morning", "afternoon", "evening", "night", "weekend", "minute", "minutes",
    "min", "mins", "hour", "hours", "hr", "hrs", "day", "days", "week", "weeks", "wk", "wks", "fortnight",
    "fortnights", "month", "months", "quarter", "quarters", "year", "years", "yr", "yrs", "decade", "decades",
))  # fmt: skip
_MARKS = dict.fromkeys(map(ord, ',.;:!?()[]{}<>|/"`“”«»‹›-–—…~*_=+#&\\^%$@'), " ")


class Span:
    """What a date in a question means for its answers.

    ``since`` and ``until`` (exclusive) are epoch seconds at the start of local days; ``mode`` is ``bound`` (leave out
    documents that do not overlap) or ``boost`` (lift those that do); ``reason`` says so in words; ``phrase`` is the
    part of the question it was read from. ``yearly``: no year was named, so the same days of other years may be meant.
    """

    __slots__ = ("mode", "phrase", "reason", "since", "until", "yearly")

    def __init__(self, since: int, until: int, mode: str, reason: str, phrase: str, yearly: bool = False) -> None:
        self.since = since
        self.until = until
        self.mode = mode
        self.reason = reason
        self.phrase = phrase
        self.yearly = yearly

    def match(self, date: int, ended: int) -> float:
        """1.0 where a document of ``date`` to ``ended`` (epoch seconds) overlaps the span, else 0.0.

        0.5 where it overlaps the same days of another year and the question named no year.
        """
        if date < self.until and ended >= self.since:
            return 1.0
        if not self.yearly:
            return 0.0
        first = days.of(self.since)
        length = days.of(self.until) - first
        _, month, date_of_month = days.civil(first)
        begun, over = days.of(date), days.of(ended)
        year = days.civil(over)[0]
        for candidate in (year, year - 1):
            start = days.month_start(candidate, month) + date_of_month - 1
            if begun < start + length and over >= start:
                return 0.5
        return 0.0


def find(question: str, now: int) -> Span | None:
    """The span that a question's most specific date phrase names at ``now`` (epoch seconds), None where it has none.

    Quoted text, identifiers, versions and plain numbers are no dates; neither is anything wholly in the future.
    """
    if not may_name_a_date(question):
        return None
    from runtime.dates.question import read

    return read(question, now)


def no_day(question: str, now: int) -> str:
    """A day that the question names and no calendar has ("2026-02-30"), as it is written; "" where it names none."""
    if not may_name_a_date(question):
        return ""
    from runtime.dates.question import no_day as read

    return read(question, now)


def may_name_a_date(question: str) -> bool:
    """False where no reader could find a date in the question: a few microseconds instead of an import."""
    for word in question.lower().replace("’", "'").translate(_MARKS).split():
        if word[0].isdigit() or word in _SIGNS or word.strip("'").removesuffix("'s") in _SIGNS:
            return True
    return False


def parse_day(text: str, now: int, end: bool) -> int:
    """Epoch seconds of an option's value such as 24h, 7d, 2026-05-01, 2026-05-01T14:00 or "last monday".

    Durations count back from ``now``; days and longer periods give their first instant, or with ``end`` the instant
    after their last, in local time. Raises BadInput, with what to write instead, on anything else.
    """
    from runtime.dates.day_option import parse

    return parse(text, now, end)
