"""The days that a date in a question names, and whether they exclude documents or lift them."""

from __future__ import annotations

from core.clock import civil, day_of, month_start


class Span:
    """The days that a date in a question names, and their effect on the answers.

    ``since`` and ``until`` (exclusive) are epoch seconds at the start of local days; ``mode`` is ``bound`` (leave out
    documents that do not overlap) or ``boost`` (lift those that do); ``reason`` explains the mode; ``phrase`` is the
    date as the question has it. ``yearly``: no year was named, so the same days of other years may be meant.
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
        """Return 1.0 where a document of ``date`` to ``ended`` (epoch seconds) overlaps the span, else 0.0.

        0.5 where it overlaps the same days of another year and the question named no year.
        """
        if date < self.until and ended >= self.since:
            return 1.0
        if not self.yearly:
            return 0.0
        first = day_of(self.since)
        length = day_of(self.until) - first
        _, month, date_of_month = civil(first)
        begun, over = day_of(date), day_of(ended)
        year = civil(over)[0]
        for candidate in (year, year - 1):
            start = month_start(candidate, month) + date_of_month - 1
            if begun < start + length and over >= start:
                return 0.5
        return 0.0
