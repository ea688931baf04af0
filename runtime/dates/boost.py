"""How a date in a question lifts documents: those of the days it names, and those in which the days were still talk."""

from __future__ import annotations

from math import exp

from core.clock import DAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from runtime.dates.dates import Span

# A day is spoken of on the day, and for weeks after: half the lift, fading by e a week, for a month.
_AFTER = 0.5
_FADE_DAYS = 7.0
_AFTER_DAYS = 31
# …and on the two days before, as a plan.
_BEFORE = 0.3
_BEFORE_DAYS = 2
# A whole year says little about which of its documents is meant.
_YEAR = 0.2
_YEARS_BACK = 15


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
            from runtime.dates import days

            first = days.of(span.since)
            year, month, day = days.civil(first)
            for back in range(1, _YEARS_BACK):
                start = days.start(days.month_start(year - back, month) + day - 1)
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
