"""Reading one date phrase of English: which days "three weeks ago" or "the week before 3 March" names, seen from today.

Weekdays mean the most recent ones; weeks begin on Monday (ISO 8601). ``runtime.dates.written`` reads
dates that are written out.
"""

from __future__ import annotations

from core import clock
from runtime.dates import words
from runtime.dates.written import EXACT, PLAIN, VAGUE, Days, Written, like, months, of_month

_DEEPEST = 3  # "the day before the week before last Tuesday"
_AMOUNTS = {"few": (2, 5), "several": (3, 7), "couple": (2, 3)}
_HALVES = {"year": (6, 6, "month"), "hour": (30, 30, "minute")}
_SPOKEN_DAYS = {"today": 0, "tonight": 0, "yesterday": 1}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from runtime.dates.written import Read

    Counted = tuple[int, int, str, int]


def looseness(distance: int) -> int:
    """Return the tolerance in days of "``distance`` days ago": a fifth, 4 for three weeks, none up to 2 days."""
    return (2 * distance + 4) // 10


class Reader(Written):
    """All readers: ``date`` tries each kind of phrase in turn."""

    def date(self, index: int, before: str = "", depth: int = 0) -> Read:
        """Return the date phrase at ``index``; ``before`` is the preposition or operator that leads to it."""
        word = self.word(index)
        if not word:
            return None
        if depth < _DEEPEST:
            found = self.near(self.the(index), depth)
            if found:
                return found
        the = word == "the"
        index = self.the(index)
        return (
            self.numeric(index)
            or self.day_of_month(index, before, the)
            or self.part(index, before, depth)
            or self.named_month(index, before)
            or self.quarter(index, before)
            or self.season(index, before, the)
            or self.named_year(index, before)
            or self.ago(index)
            or self.last(index, before, the)
            or self.named_weekday(index, before)
            or self.spoken(index, the)
            or self.bare_day(index, before, the)
        )

    def part(self, index: int, before: str, depth: int) -> Read:
        """Early March, mid-2023, the end of May, the first half of June, the second week of July."""
        word, following = self.word(index), self.word(index + 1)
        if before in ("early", "mid", "late"):
            word, index, following = before, index - 1, ""
        if word in ("early", "mid", "late"):
            share = {"early": (0, 1), "mid": (1, 2), "late": (2, 3)}[word]
            whole = self._period(index + 1)
            return _narrow(whole, share, 3) if whole else None
        if self.word(index + 1) == "of" and word in ("beginning", "start", "middle", "end"):
            share = {"middle": (1, 2), "end": (2, 3)}.get(word, (0, 1))
            whole = self._period(self.the(index + 2)) or self._running(index + 2)
            return _narrow(whole, share, 3) if whole else None
        nth = words.ORDINALS.get(word, 0) or (-1 if word == "last" else 0)
        if following in ("half", "week") and self.word(index + 2) == "of" and nth:
            whole = self._period(self.the(index + 3))
            if not whole:
                return None
            if following == "half":
                return _narrow(whole, (0 if nth == 1 else 1, 1 if nth == 1 else 2), 2)
            found, end = whole
            first = found.last - 7 if nth < 0 else found.first + 7 * (nth - 1)
            return _narrow((like(found, first, min(first + 7, found.last)), end), (0, 1), 1)
        if word == "week" and following == "of":
            inner = self.date(index + 2, "of", depth + 1) if depth < _DEEPEST else None
            if inner and inner[0].last - inner[0].first == 1:
                monday = inner[0].first - clock.weekday(inner[0].first)
                return like(inner[0], monday, monday + 7), inner[1]
        return None

    def _period(self, index: int) -> Read:
        return self.named_month(index, "of") or self.named_year(index, "of") or self.quarter(index, "of")

    def _running(self, index: int) -> Read:
        """Last month, this year, the week: of which something is the beginning or the end."""
        word, unit = self.word(index), words.UNITS.get(self.word(index + 1), "")
        if not unit or self.word(index + 1).endswith("s") or word not in ("last", "this", "the", "previous", "current"):
            return None
        return self._calendar(unit, word in ("this", "the", "current"), index + 2)

    def ago(self, index: int) -> Read:
        """Three weeks ago, a couple of days ago, an hour ago, 2 years back."""
        counted = self._counted(index)
        if not counted or self.word(counted[3]) not in ("ago", "back"):
            return None
        low, high, unit, end = counted
        if unit in ("hour", "minute"):
            back = self.hour_day(high if unit == "hour" else (high + 59) // 60)
            return Days(back, (self.hour_day(low) if unit == "hour" else self.today) + 1, 2, PLAIN), end + 1
        first, last = self._back(unit, high), self._back(unit, low) + 1
        found = Days(first, last, 2, VAGUE if high > low else PLAIN, looseness(self.today - (first + last - 1) // 2))
        if unit != "day":
            found.slack = max(2, found.slack)
        elif high == low <= 2:
            found.certainty = EXACT
        return found, end + 1

    def last(self, index: int, before: str, the: bool) -> Read:
        """Last week, this month, the past few days, last Tuesday, last March, last night, last summer, last weekend."""
        word = self.word(index)
        if word == "this" and self.word(index + 1) == "past":
            index, word = index + 1, "past"
        if word not in ("last", "past", "previous", "this", "current"):
            return None
        now = word in ("this", "current")
        counted = self._counted(index + 1)
        if counted and not now and self.word(index + 1) not in ("a", "an", "one"):
            return self._rolling(counted)
        following = self.word(index + 1)
        end = index + 2
        unit = words.UNITS.get(following, "")
        if unit and not following.endswith("s"):
            if self.word(end) == "of":
                return None
            if (
                now
                or word == "previous"
                or not (word == "past" or (the and before in ("in", "over", "within", "during")))
            ):
                return self._calendar(unit, now, end)
            return self._rolling((1, 1, unit, end))
        if following == "weekend":
            return self._weekend(end, over=not now)
        if (following in words.WEEKDAYS and following != "mon") or (following == "mon" and word == "last"):
            return self._weekday(words.WEEKDAYS[following], not now, end)
        if following in words.PARTS_OF_DAY and word in ("last", "this"):
            back = 1 if word == "last" and following == "night" else 0
            if word == "last" and not back:
                return None
            return Days(self.today - back, self.today + 1, 2, EXACT), end
        return self._last_named(index + 1, word, end)

    def _last_named(self, index: int, word: str, end: int) -> Read:
        month = words.MONTHS.get(self.word(index))
        if month and word in ("last", "this", "past"):
            if self.word(index) in words.WEAK_MONTHS and not (
                self._sure(index) or (word == "last" and self._ends(index))
            ):
                return None
            behind = month > self.month or (month == self.month and word != "this")
            return of_month(self.year - behind, month, 3), end
        season = words.SEASONS.get(self.word(index))
        if not season or self._other_season(index) or (word == "this" and self.word(index) == "fall"):
            return None
        if word == "this":
            return self._season(season, self.year - (season > self.month), True), end
        # The last season is the last one that is over, its third month ended; a winter ends in the next year.
        year = self.year
        while clock.month_start(year, season + 3) > self.today:
            year -= 1
        return self._season(season, year, True), end

    def _calendar(self, unit: str, now: bool, end: int) -> Read:
        today = self.today
        if unit == "week":
            monday = today - clock.weekday(today)
            if self.word(end) in words.WEEKDAYS:
                day = (monday if now else monday - 7) + words.WEEKDAYS[self.word(end)]
                return Days(day, day + 1, 2, EXACT), end + 1
            return Days(monday, monday + 7, 2) if now else Days(monday - 7, monday, 2), end
        if unit in ("month", "quarter", "year"):
            size = words.UNIT_MONTHS[unit]
            start = (self.month - 1) // size * size + 1
            return months(self.year, start if now else start - size, size, 2), end
        if unit in ("hour", "fortnight", "decade") and not now:
            return self._rolling((1, 1, unit, end))
        return None

    def _rolling(self, counted: Counted) -> Read:
        low, high, unit, end = counted
        if self.word(end) == "of":
            return None
        if unit in ("hour", "minute"):
            first = self.hour_day(high if unit == "hour" else (high + 59) // 60)
        else:
            first = self._back(unit, high)
        return Days(first, self.today + 1, 2, EXACT if low == high else PLAIN), end

    def _weekend(self, end: int, over: bool = False) -> Read:
        """Return the last weekend that has begun; ``over``: the last one that has ended."""
        saturday = self.today - (clock.weekday(self.today) - 5) % 7
        if over and saturday + 1 >= self.today:
            saturday -= 7
        return Days(saturday, saturday + 2, 2), end

    def _weekday(self, weekday: int, before_today: bool, end: int) -> Read:
        back = (clock.weekday(self.today) - weekday) % 7
        if before_today and back == 0:
            back = 7
        if self.word(end) in ("before", "of") and self.word(end + 1) == "last" and before_today:
            return None
        if self.word(end) in words.PARTS_OF_DAY:
            end += 1
        elif self.word(end) in ("last", "this") and self.word(end + 1) == "week":
            monday = self.today - clock.weekday(self.today) - (7 if self.word(end) == "last" else 0)
            return Days(monday + weekday, monday + weekday + 1, 2, EXACT), end + 2
        return Days(self.today - back, self.today - back + 1, 2), end

    def named_weekday(self, index: int, before: str) -> Read:
        """Tuesday after a preposition, before a part of the day, as a possessive, or as the question's last word."""
        word = self.word(index)
        if word not in words.WEEKDAYS or word == "mon":
            return None
        following = self.word(index + 1)
        short = len(word) < 6
        bare = not short and (
            following in words.PARTS_OF_DAY
            or (following in ("last", "this") and self.word(index + 2) == "week")
            or self.tokens[index].possessive
            or self._ends(index)
        )
        if bare or before in ("on", "since", "until", "till", "before", "after", "by", "from", "between", "to"):
            return self._weekday(words.WEEKDAYS[word], False, index + 1)
        return None

    def near(self, index: int, depth: int) -> Read:
        """Return the week before last, the day before yesterday, two weeks before 11 August 2023, the Sunday before it.

        A phrase that counts back from a named day is as of that day: weeks and weekdays before it reach up to it.
        """
        if self.word(index) == "last" and self.word(index + 2) in ("before", "after"):
            index += 1
        word = self.word(index)
        counted = self._counted(index)
        if word in words.UNITS and not word.endswith("s"):
            counted = (1, 1, words.UNITS[word], index + 1)
        wanted = 5 if word == "weekend" else words.WEEKDAYS.get(word, -1)
        end = index + 1 if wanted >= 0 else counted[3] if counted else -1
        side = self.word(end)
        if end < 0 or side not in ("before", "after", "following", "preceding"):
            return None
        sign = 1 if side in ("after", "following") else -1
        anchor = self.date(end + 1, side, depth + 1)
        if not anchor:
            if self.word(end + 1) == "last" and sign < 0:
                return self._before_last(counted, wanted, word == "weekend", end + 2)
            return None
        edge = anchor[0].first if sign < 0 else anchor[0].last - 1
        if wanted >= 0:
            apart = clock.weekday(edge) - wanted if sign < 0 else wanted - clock.weekday(edge)
            first = edge + sign * ((apart - 1) % 7 + 1)
            found = like(anchor[0], first, first + 1 + (word == "weekend"))
        elif counted and counted[2] not in ("hour", "minute"):
            found = self._stretch(counted, edge, sign, anchor[0])
        else:
            return None
        if sign < 0 and anchor[0].rank >= 3 and not (counted and counted[2] == "day"):
            found.last = anchor[0].last
            found.certainty = min(found.certainty, PLAIN)
        return found, anchor[1]

    def _before_last(self, counted: Counted | None, weekday: int, weekend: bool, end: int) -> Read:
        found: Read = None
        if weekend:
            found = self._weekend(end, over=True)
        elif weekday >= 0:
            found = self._weekday(weekday, True, end)
        if found:
            return Days(found[0].first - 7, found[0].last - 7, 2), end
        if counted and counted[2] == "week":
            monday = self.today - clock.weekday(self.today)
            return Days(monday - 14, monday - 7, 2), end
        if counted and counted[2] in ("month", "quarter", "year"):
            size = words.UNIT_MONTHS[counted[2]]
            return months(self.year, (self.month - 1) // size * size + 1 - 2 * size, size, 2), end
        return None

    def _stretch(self, counted: Counted, edge: int, sign: int, model: Days) -> Days:
        low, high, unit, _ = counted
        far = _shift(edge, unit, sign * high)
        if unit == "day" or high > 1:
            near = _shift(edge, unit, sign * low)
            found = like(model, min(far, near), max(far, near) + 1)
            found.slack += 0 if unit == "day" else max(2, looseness(abs(edge - far)))
        else:
            found = like(model, min(far, edge + 1), max(far + 1, edge))
        if unit != "day":
            found.certainty = min(found.certainty, PLAIN)
        return found

    def spoken(self, index: int, the: bool) -> Read:
        """Today, yesterday evening, over the weekend, recently, the other day."""
        word = self.word(index)
        if word in _SPOKEN_DAYS:
            day = self.today - _SPOKEN_DAYS[word]
            end = index + 2 if self.word(index + 1) in words.PARTS_OF_DAY else index + 1
            return Days(day, day + 1, 2, EXACT), end
        if word == "weekend" and the and self.word(index - 2) in ("over", "on", "at", "during", "since"):
            return self._weekend(index + 1)
        if word in ("recently", "lately"):
            return Days(self.today - 30, self.today + 1, 1, VAGUE), index + 1
        if word == "other" and self.word(index + 1) == "day" and the:
            return Days(self.today - 14, self.today, 1, VAGUE), index + 2
        return None

    def bare_day(self, index: int, before: str, the: bool) -> Read:
        """On the 14th: the last one that there was."""
        day, ordinal = self.day_number(index)
        if not (before == "on" and the and ordinal) or self.word(index + 1) not in ("", "about", "with"):
            return None
        first = months(self.year, self.month, 1, 2).first + day - 1
        if first > self.today:
            whole = months(self.year, self.month - 1, 1, 2)
            first = whole.first + day - 1
            if first >= whole.last:
                return None
        return Days(first, first + 1, 2), index + 1

    # Words

    def _counted(self, index: int) -> Counted | None:
        """Return (at least, at most, unit, index after) of "3 weeks", "a couple of days", "a few months"."""
        word = self.word(index)
        if word == "half" and self.word(index + 1) in ("a", "an"):
            halved = _HALVES.get(self.word(index + 2))
            return (*halved, index + 3) if halved else None
        if word in ("a", "the") and self.word(index + 1) in _AMOUNTS:
            index, word = index + 1, self.word(index + 1)
        low, high = _AMOUNTS.get(word, (0, 0))
        if word == "couple":
            index += self.word(index + 1) == "of"
        if not low:
            value = int(word) if word.isascii() and word.isdigit() and len(word) <= 3 else words.NUMBERS.get(word, 0)
            low = high = value
        unit = words.UNITS.get(self.word(index + 1), "")
        return (low, high, unit, index + 2) if low and unit else None

    def _back(self, unit: str, count: int) -> int:
        return _shift(self.today, unit, -count)


def _shift(day: int, unit: str, count: int) -> int:
    if unit in words.UNIT_DAYS:
        return day + words.UNIT_DAYS[unit] * count
    return clock.months_before(day, -words.UNIT_MONTHS[unit] * count)


def _narrow(whole: tuple[Days, int], share: tuple[int, int], of: int) -> tuple[Days, int]:
    """Return the share (from, to, in ``of`` parts) of a period, loosely."""
    found, end = whole
    size = found.last - found.first
    narrowed = like(found, found.first + share[0] * size // of, found.first + share[1] * size // of)
    narrowed.certainty = VAGUE
    narrowed.slack = max(2, size // 10)
    return narrowed, end
