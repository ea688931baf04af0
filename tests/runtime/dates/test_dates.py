"""Dates in a question: which days, and whether they bound or boost."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import clock
from runtime.asking.request import may_name_a_date
from runtime.dates import words as date_words
from runtime.dates.question import no_day, read
from runtime.dates.span import Span
from tests.cases import cases
from tests.runtime.zones import at, zone
from tests.tables import every

NOW = "2026-11-21 15:30"  # a Saturday


def span_at(question: str, now: str = NOW, name: str = "UTC") -> Span | None:
    with zone(name):
        return read(question, at(now, name))


def days_of(span: Span, name: str = "UTC") -> str:
    """The span as ``first`` or ``first..last``, by local dates."""
    with zone(name):
        first, last = clock.day_iso(clock.day_of(span.since)), clock.day_iso(clock.day_of(span.until - 1))
    return first if first == last else f"{first}..{last}"


# question · what is read from it · the days (with their tolerance) · mode
MEANINGS = cases(__file__, "MEANINGS")


@every(map(tuple, MEANINGS))
def test_a_date_in_the_question_means(question: str, phrase: str, expected: str, mode: str) -> None:
    span = span_at(question)
    assert span is not None
    assert (span.phrase, days_of(span), span.mode) == (phrase, expected, mode)


NO_DATES = [
    "it may fail", "this may break", "why the last may fail", "May 3 users log in", "may 3 users log in", "march on",
    "a long march", "in the second place", "sec 3", "sun microsystems", "the sat solver", "mon osd down",
    "dec 10 to hex", "oct 12", "python 3.11", "upgrade to 2024.1.3", "version 2024.1.3 of black", "v1.2.2023",
    "version 1.2.2023", "port 2024", "port 2024-03", "error 2003", "error 2003 in 2024 requests", "after 2000 ms",
    "in 2024 lines", "between 2000 and 3000 requests", "last commit", "the last thing I said", "the last few commits",
    "the last day of the sprint", "the last minute change", "retry after 5 minutes", "after 3 days it failed",
    "timeout of 30 minutes", "within 2 weeks", "fix in src/may/march.py", "the handle_monday function",
    "monday.com integration", 'grep for "yesterday" please', "grep for `last week`", "next Tuesday", "every Monday",
    "tomorrow", "in December 2030", "since 2031-01-01", "spring boot in spring", "does this spring bean work",
    "this fall under the rule", "2024-13-01", "2024-02-30", "31.02.2024", "CVE-2024-03", "24-7",
    "steps 3-5", "from 1 to 5", "ISO-8601", "10.0.2024.1", "on the 14th floor", "the 14th", "the end of the day",
    "the start of weeks", "the day before the release", "days ago", "",
    "what does before mean", "since when", "x after y", "q5 2024", "the may, march and august brothers", "²⁴ 2024",
    "the year 3000 problem", "room 101", "sept", "on mon nodes", "wed lock",
]  # fmt: skip


@every(NO_DATES)
def test_what_only_looks_like_a_date_is_none(question: str) -> None:
    assert span_at(question) is None


@pytest.mark.parametrize(
    ("question", "now", "name", "expected"), cases(__file__, "test_days_are_the_calendars_of_the_zone")
)
def test_days_are_the_calendars_of_the_zone(question: str, now: str, name: str, expected: str) -> None:
    span = span_at(question, now, name)
    assert span is not None
    assert days_of(span, name) == expected


def test_a_day_with_a_change_of_clocks_has_its_own_length() -> None:
    for question, hours in (("on 2026-03-29", 23), ("on 2026-10-25", 25), ("on 2026-05-05", 24)):
        span = span_at(question, name="Europe/Berlin")
        assert span is not None
        assert (span.until - span.since) / 3600 == hours


def test_the_reason_says_which_days_and_what_they_do() -> None:
    reasons = {
        "last Tuesday": '"last Tuesday" is 2026-11-17: documents of that day are preferred',
        "three weeks  ago": '"three weeks ago" is 2026-10-31, 4 days either way: documents of that time are preferred',
        "since 2026-05-01": '"since 2026-05-01": only documents from 2026-05-01 on',
        "what did I do yesterday": '"yesterday" is 2026-11-20: only documents of that day',
        "3/5/2024": '"3/5/2024" is 2024-03-05, read month first: documents of that day are preferred',
        "in March": '"in March" is 2026-03-01 to 2026-03-31: documents of that time are preferred,'
        " those of other years a little",
    }
    for question, reason in reasons.items():
        span = span_at(question)
        assert span is not None
        assert span.reason == reason


def test_a_question_of_no_ones_record_is_not_cut_off() -> None:
    # "today" is "nowadays" here, and another's yesterday may be told any day.
    for question in ("what do we need today", "What did Joanna write yesterday that appeared on screen?"):
        span = span_at(question)
        assert span is not None
        assert span.mode == "boost"


def test_a_month_without_a_year_also_matches_other_years_a_little() -> None:
    span = span_at("in March")
    assert span is not None
    with zone("UTC"):
        assert span.match(at("2026-03-10 00:00"), at("2026-03-10 01:00")) == 1.0
        assert span.match(at("2023-03-31 23:00"), at("2023-04-02 01:00")) == 0.5
        assert span.match(at("2023-02-01 00:00"), at("2023-02-28 23:59")) == 0.0
        assert span.match(at("2023-04-01 00:00"), at("2023-04-01 01:00")) == 0.0
    named = span_at("in March 2026")
    assert named is not None
    with zone("UTC"):
        assert named.match(at("2023-03-10 00:00"), at("2023-03-10 01:00")) == 0.0


def test_other_years_match_across_the_turn_of_the_year() -> None:
    span = span_at("between November and January")
    assert span is not None
    with zone("UTC"):
        for day in ("2022-12-31 10:00", "2023-01-15 10:00", "2022-11-01 00:00"):
            assert span.match(at(day), at(day)) == 0.5
        assert span.match(at("2023-02-02 10:00"), at("2023-02-02 10:00")) == 0.0


def test_a_long_document_matches_where_any_of_it_overlaps() -> None:
    span = span_at("on 2026-11-03")
    assert span is not None
    with zone("UTC"):
        assert span.match(at("2026-10-01 00:00"), at("2026-11-03 00:00")) == 1.0
        assert span.match(at("2026-11-03 23:59"), at("2026-12-01 00:00")) == 1.0
        assert span.match(at("2026-11-04 00:00"), at("2026-12-01 00:00")) == 0.0


VOCABULARY = sorted(
    {*date_words.MONTHS, *date_words.WEEKDAYS, *date_words.SEASONS, *date_words.UNITS, *date_words.NUMBERS}
    | {*date_words.ORDINALS, *date_words.PARTS_OF_DAY, *date_words.PREPOSITIONS, *date_words.OPERATORS}
    | {"today", "yesterday", "tonight", "recently", "lately", "weekend", "other", "last", "this", "past", "the", "of"}
    | {"and", "to", "-", "between", "ago", "back", "2024", "2026", "1999", "3", "31", "29th", "3rd", "2024-03-05"}
    | {"05.03.2024", "3/5/2024", "2024-03", "q3", "few", "couple", "half", "I", "did", "May"}
)


@given(st.lists(st.sampled_from(VOCABULARY), max_size=9), st.integers(0, 4_000_000_000))
def test_any_words_of_dates_give_a_sound_span(found: list[str], now: int) -> None:
    question = " ".join(found)
    with zone("Europe/Berlin"):
        span = read(question, now)
        if span is not None:
            assert span.since < span.until
            assert span.phrase in question
            assert span.mode in ("bound", "boost")
            assert clock.day_start(clock.day_of(span.since)) == span.since
            assert clock.day_start(clock.day_of(span.until)) == span.until
            assert clock.day_of(span.since) <= clock.day_of(now)


@given(st.text(max_size=200), st.integers(-(2**70), 2**70))
def test_no_text_and_no_clock_raises(question: str, now: int) -> None:
    span = read(question, now)
    assert span is None or (span.since < span.until and span.phrase in question)


@given(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6), st.sampled_from(list(" ,\n\t")))
def test_the_cheap_check_never_hides_a_date(found: list[str], separator: str) -> None:
    question = separator.join(found)
    with zone("UTC"):
        if read(question, at(NOW)) is not None:
            assert may_name_a_date(question)


def test_the_cheap_check_spares_ordinary_questions() -> None:
    for question in ("why did the permission hook fail", "where is getUserName defined?", "what's --no-verify for"):
        assert not may_name_a_date(question)


def test_a_long_question_of_dates_is_read_in_no_time() -> None:
    import time

    words = random.Random(1)
    question = " ".join(words.choice(VOCABULARY) for _ in range(400))[:2000]
    chain = ("the day before " * 140)[:2000]
    started = time.process_time()
    for text in (question, chain, "last " * 400, "3-" * 1000, '"' * 2000, "between " * 250):
        read(text, 1_795_000_000)
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    "question", ["what was decided last year in March", "in March of last year", "last year, in March"]
)
def test_a_month_next_to_a_year_is_of_that_year(question: str) -> None:
    found = read(question, 1778659200)  # 2026-05-13
    assert found is not None
    assert (found.since, found.until, found.yearly) == (1740787200, 1743465600, False)


@pytest.mark.parametrize(("question", "said"), cases(__file__, "test_a_day_that_no_calendar_has_is_said"))
def test_a_day_that_no_calendar_has_is_said(question: str, said: str) -> None:
    assert no_day(question, 1_777_629_600) == said
