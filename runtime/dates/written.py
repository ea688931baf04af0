"""Reading dates that are written out: 2024-03-05, 3 March 2024, Q3, summer 2021, in 2023.

A reader takes the index of a token and returns (days, index of the token after the phrase), or None. Months, days and
quarters without a year mean the most recent ones that have begun.
"""

from __future__ import annotations

from core import clock
from runtime.dates import words

VAGUE, PLAIN, EXACT = 0, 1, 2
_FIRST_YEAR, _LAST_YEAR = 1980, 2100
# Without a year any may be meant.
_LEAP = 2024

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Read = tuple["Days", int] | None


class Days:
    """Days [first, last) that a phrase names, by day number.

    ``slack`` is how many days either side still count as meant. ``certainty``: EXACT names its days, PLAIN a calendar
    period people speak of loosely, VAGUE is a guess. ``rank`` grows with how much was said: 4 day and year, 3 month or
    day, 2 relative to today, 1 "recently". ``yearly``: no year was named. ``iso``: written in digits, year first.
    """

    __slots__ = ("certainty", "first", "iso", "last", "note", "rank", "slack", "yearly")

    def __init__(self, first: int, last: int, rank: int, certainty: int = PLAIN, slack: int = 0) -> None:
        self.first = first
        self.last = last
        self.rank = rank
        self.certainty = certainty
        self.slack = slack
        self.yearly = False
        self.iso = False
        self.note = ""


class Written:
    """The readers over one question's tokens. ``today`` is a day number, ``hour_day`` maps hours ago to one."""

    def __init__(self, found: list[words.Token], today: int, hour_day: Callable[[int], int]) -> None:
        self.tokens = found
        self.today = today
        self.year, self.month, _ = clock.civil(today)
        self.hour_day = hour_day

    def word(self, index: int) -> str:
        """Return the token's text; empty past either end and at a barrier."""
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def the(self, index: int) -> int:
        """Return ``index``, or the next one if a "the" is at ``index``."""
        return index + 1 if self.word(index) == "the" else index

    def numeric(self, index: int) -> Read:
        """Return 2024-03-05, 2024-03, 2024/3/5, 05.03.2024, 3/5/2024; an ISO date-time counts as its day.

        Dots are day first, as where they are customary; slashes and dashes before a year are month first unless that
        is no month, and vague where both would be. 2024.3.1 is a version.
        """
        text = self.word(index)
        if not text[:1].isdigit() or not text.isascii() or (self.word(index - 1) in words.NUMBERED and len(text) < 8):
            return None
        if len(text) > 10 and text[10] == "t" and text[11:13].isdigit():
            text = text[:10]
        for separator in "-/.":
            parts = text.split(separator)
            if len(parts) in (2, 3) and all(part.isdigit() and len(part) <= 4 for part in parts):
                break
        else:
            return None
        values = [int(part) for part in parts]
        if len(parts[0]) == 4 and separator != ".":
            if len(parts) == 2:
                month = separator == "-" and len(parts[1]) == 2 and 1 <= values[1] <= 12 and _is_year(values[0])
                return self._iso(of_month(values[0], values[1], 3), index) if month else None
            day = day_of(values[0], values[1], values[2])
            return self._iso(day, index) if day else None
        if len(parts) < 3 or len(parts[2]) != 4:
            return None
        if separator == "." and self.word(index - 1) in words.NUMBERED:
            return None
        one, two, year = values
        month_first = separator != "." and one <= 12
        day = day_of(year, one, two) if month_first else day_of(year, two, one)
        if day and month_first and two <= 12 and one != two:
            day.certainty = VAGUE
            day.note = "month first"
        return (day, index + 1) if day else None

    def _iso(self, found: Days, index: int) -> Read:
        found.iso = True
        return found, index + 1

    def day_of_month(self, index: int, before: str, the: bool) -> Read:
        """Return 3 March 2024, the 3rd of March, March 3, March 3rd, 2024; without a year, the last one that was."""
        day, ordinal = self.day_number(index)
        if day:
            of = self.word(index + 1) == "of"
            place = index + 1 + of
            month = words.MONTHS.get(self.word(place))
            strong = ordinal or the or of or bool(before)
            end = place + 1
        else:
            place = index
            month = words.MONTHS.get(self.word(index))
            day, ordinal = self.day_number(self.the(index + 1))
            strong = ordinal or bool(before)
            end = self.the(index + 1) + 1
        if not month or not day:
            return None
        year, end = self.year_after(end)
        if not (strong or year or self._sure(place, day_first=place > index)):
            return None
        if year:
            found = day_of(year, month, day)
            return (found, end) if found else None
        return self._latest_day(month, day, end)

    def no_day(self, index: int) -> int:
        """Return the index after a day that no calendar has (2026-02-30, 31 June), 0 if there is none at ``index``."""
        text = self.word(index)
        parts = text.split("-")
        if len(parts) == 3 and [len(part) for part in parts] == [4, 2, 2] and text.replace("-", "").isascii():
            if not all(map(str.isdigit, parts)):
                return 0
            year, month, day = map(int, parts)
            return index + 1 if _is_year(year) and month < 32 and day < 32 and not day_of(year, month, day) else 0
        day, _ = self.day_number(index)
        place = index + 1 + (self.word(index + 1) == "of") if day else index
        month = words.MONTHS.get(self.word(place), 0)
        end = place + 1
        if not day:
            day, _ = self.day_number(self.the(index + 1))
            end = self.the(index + 1) + 1
        if not month or not day:
            return 0
        year, end = self.year_after(end)
        return end if day > clock.month_length(year or _LEAP, month) else 0

    def _latest_day(self, month: int, day: int, end: int) -> Read:
        for year in range(self.year, self.year - 9, -1):  # 29 February skips up to eight years
            found = day_of(year, month, day)
            if found and found.first <= self.today:
                found.rank = 3
                found.yearly = True
                return found, end
        return None

    def named_month(self, index: int, before: str) -> Read:
        """March 2024; "March" only after a preposition; "March last year"."""
        month = words.MONTHS.get(self.word(index))
        if not month:
            return None
        year, end = self.year_after(index + 1)
        if year:
            return of_month(year, month, 3), end
        if self.word(index + 1) in ("last", "this") and self.word(index + 2) == "year":
            return of_month(self.year - (self.word(index + 1) == "last"), month, 3), index + 3
        weak = self.word(index) in words.WEAK_MONTHS
        if not before or (weak and before not in words.WEAK_PREPOSITIONS and not self._sure(index)):
            return None
        if weak and self.word(index) not in ("may", "march") and not self.tokens[index].capital:
            return None
        found = of_month(self.year - (month > self.month), month, 3)
        found.yearly = True
        return found, index + 1

    def quarter(self, index: int, before: str) -> Read:
        """Q3 2024; "Q3" only after a preposition."""
        text = self.word(index)
        if len(text) != 2 or text[0] != "q" or text[1] not in "1234":
            return None
        first = 3 * int(text[1]) - 2
        year, end = self.year_after(index + 1)
        if not year and before not in words.YEAR_PREPOSITIONS:
            return None
        found = months(year or self.year - (first > self.month), first, 3, 3)
        found.yearly = not year
        return found, end

    def season(self, index: int, before: str, the: bool) -> Read:
        """Summer 2021, the fall of 2023; "in the summer"."""
        first = words.SEASONS.get(self.word(index))
        if not first:
            return None
        year, end = self.year_after(index + 1)
        if not year and (not the or before not in ("in", "during", "over", "since") or self._other_season(index)):
            return None
        return self._season(first, year or self.year - (first > self.month), bool(year)), end

    def _season(self, first: int, year: int, named: bool) -> Days:
        found = months(year, first, 3, 3)
        found.certainty, found.slack, found.yearly = VAGUE, 15, not named
        return found

    def _other_season(self, index: int) -> bool:
        return self.word(index + 1) in words.NOT_A_SEASON

    def named_year(self, index: int, before: str) -> Read:
        """Return 2023 after a preposition that years take, unless it counts what follows ("in 2023 lines")."""
        year = self._year(index)
        following = self.word(index + 1)
        counted = following in words.COUNTED or (following.endswith("s") and following not in words.NOT_PLURAL)
        if not year or before not in words.YEAR_PREPOSITIONS or (counted and following != "of"):
            return None
        return months(year, 1, 12, 3), index + 1

    def _year(self, index: int) -> int:
        word = self.word(index)
        year = int(word) if len(word) == 4 and word.isascii() and word.isdigit() else 0
        return year if _is_year(year) else 0

    def year_after(self, index: int) -> tuple[int, int]:
        """Return (year or 0, index after it) for "2024", "of 2024" at ``index``."""
        if year := self._year(index):
            return year, index + 1
        if self.word(index) == "of" and (year := self._year(index + 1)):
            return year, index + 2
        return 0, index

    def day_number(self, index: int) -> tuple[int, bool]:
        """Return (day of a month or 0, whether it is an ordinal)."""
        word = self.word(index)
        ordinal = word[-2:] in ("st", "nd", "rd", "th") and word[:-2].isdigit()
        digits = word[:-2] if ordinal else word
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 2 and 1 <= int(digits) <= 31):
            return 0, False
        return int(digits), ordinal

    def _sure(self, index: int, day_first: bool = False) -> bool:
        """Return True if the word at ``index`` is a full name of a month, or one with a capital inside the sentence."""
        if self.word(index) not in words.WEAK_MONTHS:
            return True
        inside = index > 0 or day_first or self.word(index) != "may"
        return self.tokens[index].capital and inside

    def _ends(self, index: int) -> bool:
        return not self.word(index + 1)


def _is_year(year: int) -> bool:
    return _FIRST_YEAR <= year <= _LAST_YEAR


def day_of(year: int, month: int, day: int) -> Days | None:
    if not _is_year(year) or not 1 <= month <= 12 or not 1 <= day <= clock.month_length(year, month):
        return None
    number = clock.day_number(year, month, day)
    return Days(number, number + 1, 4, EXACT)


def of_month(year: int, month: int, rank: int) -> Days:
    return months(year, month, 1, rank)


def months(year: int, first: int, count: int, rank: int) -> Days:
    return Days(clock.month_start(year, first), clock.month_start(year, first + count), rank)


def like(model: Days, first: int, last: int) -> Days:
    found = Days(first, last, model.rank, model.certainty, model.slack)
    found.yearly, found.iso, found.note = model.yearly, model.iso, model.note
    return found
