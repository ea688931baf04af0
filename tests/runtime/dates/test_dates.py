"""What dates in a question mean: which days, and whether they bound or boost."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.dates import dates
from runtime.dates import words as date_words
from tests.runtime.zones import at, zone

NOW = "2026-11-21 15:30"  # a Saturday


def span_at(question: str, now: str = NOW, name: str = "UTC") -> dates.Span | None:
    with zone(name):
        return dates.find(question, at(now, name))


def days_of(span: dates.Span, name: str = "UTC") -> str:
    """The span as ``first`` or ``first..last``, by local dates."""
    with zone(name):
        first, last = dates.day_iso(dates.day_of(span.since)), dates.day_iso(dates.day_of(span.until - 1))
    return first if first == last else f"{first}..{last}"


# question · what is read from it · the days (with their tolerance) · mode
MEANINGS = [
    # Today and around it
    ("what did I do today?", "today", "2026-11-21", "bound"),
    ("what broke tonight", "tonight", "2026-11-21", "boost"),
    ("what did I decide yesterday about auth", "yesterday", "2026-11-20", "bound"),
    ("yesterday's standup notes", "yesterday's", "2026-11-20", "bound"),
    ("why did the hook fail yesterday evening", "yesterday evening", "2026-11-20", "boost"),
    ("what did we ship this morning", "this morning", "2026-11-21", "bound"),
    ("the deploy of last night", "of last night", "2026-11-20..2026-11-21", "boost"),
    ("where did I leave off the day before yesterday", "the day before yesterday", "2026-11-19", "bound"),
    # Ago: the tolerance grows with the distance
    ("what did I decide 2 days ago", "2 days ago", "2026-11-19", "bound"),
    ("parser rewrite 5 days ago", "5 days ago", "2026-11-15..2026-11-17", "boost"),
    ("What did I decide about this auth flow three weeks ago?", "three weeks ago", "2026-10-27..2026-11-04", "boost"),
    ("a week ago", "a week ago", "2026-11-12..2026-11-16", "boost"),
    ("a fortnight ago", "a fortnight ago", "2026-11-04..2026-11-10", "boost"),
    ("a couple of days ago", "a couple of days ago", "2026-11-17..2026-11-20", "boost"),
    ("a few weeks ago", "a few weeks ago", "2026-10-12..2026-11-12", "boost"),
    ("two months ago", "two months ago", "2026-09-09..2026-10-03", "boost"),
    ("half a year ago", "half a year ago", "2026-04-14..2026-06-27", "boost"),
    ("a year ago", "a year ago", "2025-09-09..2026-02-02", "boost"),
    ("an hour ago", "an hour ago", "2026-11-21", "boost"),
    ("16 hours ago", "16 hours ago", "2026-11-20", "boost"),
    # Last, this, past
    ("the migration last week", "last week", "2026-11-09..2026-11-15", "boost"),
    ("this week", "this week", "2026-11-16..2026-11-22", "boost"),
    ("last month", "last month", "2026-10-01..2026-10-31", "boost"),
    ("this month", "this month", "2026-11-01..2026-11-30", "boost"),
    ("last quarter", "last quarter", "2026-07-01..2026-09-30", "boost"),
    ("last year", "last year", "2025-01-01..2025-12-31", "boost"),
    ("this year", "this year", "2026-01-01..2026-12-31", "boost"),
    ("the week before last", "the week before last", "2026-11-02..2026-11-08", "boost"),
    ("What happened last Tuesday?", "last Tuesday", "2026-11-17", "boost"),
    ("what did I do last Saturday", "last Saturday", "2026-11-14", "boost"),
    ("on Tuesday", "on Tuesday", "2026-11-17", "boost"),
    ("last thu", "last thu", "2026-11-19", "boost"),
    ("Tuesday last week", "Tuesday last week", "2026-11-10", "boost"),
    ("the Tuesday before last", "the Tuesday before last", "2026-11-10", "boost"),
    ("Monday morning standup", "Monday morning", "2026-11-16", "boost"),
    ("last weekend", "last weekend", "2026-11-14..2026-11-15", "boost"),
    ("over the weekend", "over the weekend", "2026-11-21..2026-11-22", "boost"),
    ("what did I read in the last 3 weeks", "in the last 3 weeks", "2026-10-31..2026-11-21", "bound"),
    ("the past few days", "the past few days", "2026-11-16..2026-11-21", "boost"),
    ("failures over the last week", "over the last week", "2026-11-14..2026-11-21", "boost"),
    ("what have we tried in the last 24 hours", "in the last 24 hours", "2026-11-20..2026-11-21", "bound"),
    ("last March", "last March", "2026-03-01..2026-03-31", "boost"),
    ("last December", "last December", "2025-12-01..2025-12-31", "boost"),
    ("last November", "last November", "2025-11-01..2025-11-30", "boost"),
    ("March last year", "March last year", "2025-03-01..2025-03-31", "boost"),
    ("last summer", "last summer", "2026-05-17..2026-09-15", "boost"),
    ("what was I doing the other day", "the other day", "2026-11-07..2026-11-20", "boost"),
    ("what did I change recently", "recently", "2026-10-22..2026-11-21", "boost"),
    # Written out
    ("in March", "in March", "2026-03-01..2026-03-31", "boost"),
    ("in may", "in may", "2026-05-01..2026-05-31", "boost"),
    ("in December", "in December", "2025-12-01..2025-12-31", "boost"),
    ("in March 2024", "in March 2024", "2024-03-01..2024-03-31", "boost"),
    ("in March of 2024", "in March of 2024", "2024-03-01..2024-03-31", "boost"),
    ("may 2024 outage", "may 2024", "2024-05-01..2024-05-31", "boost"),
    ("Mar 3", "Mar 3", "2026-03-03", "boost"),
    ("on dec 24", "on dec 24", "2025-12-24", "boost"),
    ("3 March 2024", "3 March 2024", "2024-03-03", "boost"),
    ("What did she find on 1 February, 2023?", "on 1 February, 2023", "2023-02-01", "boost"),
    ("the party on December 1,2023 in town", "on December 1,2023", "2023-12-01", "boost"),
    ("the 3rd of March", "the 3rd of March", "2026-03-03", "boost"),
    ("March 3rd, 2024", "March 3rd, 2024", "2024-03-03", "boost"),
    ("Sept. 3, 2024", "Sept. 3, 2024", "2024-09-03", "boost"),
    ("Feb 29", "Feb 29", "2024-02-29", "boost"),
    ("the 2024-03-05 outage", "the 2024-03-05", "2024-03-05", "boost"),
    ("what changed on 2026-11-03", "on 2026-11-03", "2026-11-03", "bound"),
    ("at 2024-03-05T10:00:00Z", "at 2024-03-05T10:00:00Z", "2024-03-05", "boost"),
    ("2024-03", "2024-03", "2024-03-01..2024-03-31", "boost"),
    ("2024/03/05", "2024/03/05", "2024-03-05", "boost"),
    ("05.03.2024", "05.03.2024", "2024-03-05", "boost"),
    ("3/5/2024", "3/5/2024", "2024-03-05", "boost"),
    ("25/5/2024", "25/5/2024", "2024-05-25", "boost"),
    ("in 2023", "in 2023", "2023-01-01..2023-12-31", "boost"),
    ("Q3 2024 planning", "Q3 2024", "2024-07-01..2024-09-30", "boost"),
    ("in Q3", "in Q3", "2026-07-01..2026-09-30", "boost"),
    ("summer 2021", "summer 2021", "2021-05-17..2021-09-15", "boost"),
    ("early March 2024", "early March 2024", "2024-02-27..2024-03-13", "boost"),
    ("the end of May", "the end of May", "2026-05-18..2026-06-03", "boost"),
    ("first half of September 2022", "first half of September 2022", "2022-08-29..2022-09-18", "boost"),
    ("in the second week of November 2023", "in the second week of November 2023", "2023-11-06..2023-11-16", "boost"),
    ("the week of March 3, 2024", "the week of March 3, 2024", "2024-02-26..2024-03-03", "boost"),
    ("as of December 2023", "as of December 2023", "2023-12-01..2023-12-31", "boost"),
    # Beside another date: it is told on the day it is dated from
    ("two weeks before August 11, 2023", "two weeks before August 11, 2023", "2023-07-25..2023-08-14", "boost"),
    ("the week before August 3, 2023", "the week before August 3, 2023", "2023-07-27..2023-08-03", "boost"),
    ("the Sunday before October 25, 2022", "the Sunday before October 25, 2022", "2022-10-23..2022-10-25", "boost"),
    ("the day after 2026-10-31", "the day after 2026-10-31", "2026-11-01", "boost"),
    # Since, before, between
    ("auth changes since 2026-05-01", "since 2026-05-01", "2026-05-01..2026-11-21", "bound"),
    ("what have I done since Tuesday", "since Tuesday", "2026-11-17..2026-11-21", "bound"),
    ("auth failures since March", "since March", "2026-03-01..2026-11-21", "boost"),
    ("notes before March 2024", "before March 2024", "1970-01-01..2024-02-29", "bound"),
    ("what did we try after 2026-11-03", "after 2026-11-03", "2026-11-04..2026-11-21", "bound"),
    ("sessions until yesterday", "until yesterday", "1970-01-01..2026-11-20", "bound"),
    ("between 2026-05-01 and 2026-05-03", "between 2026-05-01 and 2026-05-03", "2026-05-01..2026-05-03", "bound"),
    ("2026-05-01..2026-05-03", "2026-05-01..2026-05-03", "2026-05-01..2026-05-03", "bound"),
    ("Where was he between August 11 and August 15 2023?", "between August 11 and August 15 2023",
     "2023-08-11..2023-08-15", "boost"),
    ("what did we do between 3 and 5 March 2024", "between 3 and 5 March 2024", "2024-03-03..2024-03-05", "bound"),
    ("March 3-5, 2024", "March 3-5, 2024", "2024-03-03..2024-03-05", "boost"),
    ("3–5 March 2024", "3–5 March 2024", "2024-03-03..2024-03-05", "boost"),
    ("from October to December", "from October to December", "2025-10-01..2025-12-31", "boost"),
    ("between November and January", "between November and January", "2025-11-01..2026-01-31", "boost"),
    ("from 2020 to 2023", "from 2020 to 2023", "2020-01-01..2023-12-31", "boost"),
    ("in 2025-06-01 to 2025-06-30", "in 2025-06-01 to 2025-06-30", "2025-06-01..2025-06-30", "bound"),
    ("2025-06-01 to 2025-06-30", "2025-06-01 to 2025-06-30", "2025-06-01..2025-06-30", "bound"),
    ("2025-06-01 - 2025-06-30", "2025-06-01 - 2025-06-30", "2025-06-01..2025-06-30", "bound"),
    ("during 2025-06-01 – 2025-06-30", "during 2025-06-01 – 2025-06-30", "2025-06-01..2025-06-30", "bound"),
    ("in 2025-06-01..2025-06-30", "in 2025-06-01..2025-06-30", "2025-06-01..2025-06-30", "bound"),
    ("the outages of 2025-06-01/2025-06-30.", "of 2025-06-01/2025-06-30", "2025-06-01..2025-06-30", "bound"),
    ("auth since 2025-06-01 until 2025-06-30", "since 2025-06-01 until 2025-06-30", "2025-06-01..2025-06-30", "bound"),
    ("in March to May 2025", "in March to May 2025", "2025-03-01..2025-05-31", "boost"),
    ("in late March to early April 2025", "in late March to early April 2025", "2025-03-18..2025-04-13", "boost"),
    ("what moved in March to 5 servers", "in March", "2026-03-01..2026-03-31", "boost"),
    ("moved on Monday to Tuesday", "on Monday", "2026-11-16", "boost"),
    ("at the beginning of this month", "at the beginning of this month", "2026-10-29..2026-11-13", "boost"),
    ("what did I do at the end of last month", "at the end of last month", "2026-10-18..2026-11-03", "boost"),
    ("what did I do on the 14th", "on the 14th", "2026-11-14", "boost"),
    ("what did I do on the 30th?", "on the 30th", "2026-10-30", "boost"),
    # A prompt that a day occurs in asks for no record of it
    ("the other branch just got merged today, so nobody will be using it - can we create a new patch which renames it",
     "today", "2026-11-21", "boost"),
    # The most specific phrase wins
    ("finished last Friday on 23 January, 2022", "on 23 January, 2022", "2022-01-23", "boost"),
    ("issue last week,as mentioned on November 6, 2023", "on November 6, 2023", "2023-11-06", "boost"),
    ("organized recently in 2024", "in 2024", "2024-01-01..2024-12-31", "boost"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "phrase", "expected", "mode"), MEANINGS, ids=[case[0] for case in MEANINGS])
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


@pytest.mark.parametrize("question", NO_DATES)
def test_what_only_looks_like_a_date_is_none(question: str) -> None:
    assert span_at(question) is None


@pytest.mark.parametrize(
    ("question", "now", "name", "expected"),
    [
        # The 31st, a month back; the turn of the year
        ("last month", "2026-01-31 12:00", "UTC", "2025-12-01..2025-12-31"),
        ("a month ago", "2026-03-31 12:00", "UTC", "2026-02-22..2026-03-06"),
        ("yesterday", "2026-01-01 00:10", "UTC", "2025-12-31"),
        ("last week", "2026-01-01 12:00", "UTC", "2025-12-22..2025-12-28"),
        ("last quarter", "2026-02-01 12:00", "UTC", "2025-10-01..2025-12-31"),
        ("in December", "2026-01-05 12:00", "UTC", "2025-12-01..2025-12-31"),
        ("last winter", "2026-02-10 12:00", "UTC", "2024-11-16..2025-03-15"),
        ("this Monday", "2026-11-16 09:00", "UTC", "2026-11-16"),
        ("last Monday", "2026-11-16 09:00", "UTC", "2026-11-09"),
        ("last Monday", "2026-11-17 09:00", "UTC", "2026-11-16"),
        # Today is another day elsewhere
        ("yesterday", "2026-11-21 02:00", "Asia/Tokyo", "2026-11-20"),
        ("today", "2026-11-20 23:30", "America/Los_Angeles", "2026-11-20"),
        # Across a change of clocks: 29 March and 25 October 2026 in Berlin
        ("yesterday", "2026-03-30 00:30", "Europe/Berlin", "2026-03-29"),
        ("yesterday", "2026-10-26 00:30", "Europe/Berlin", "2026-10-25"),
        ("3 days ago", "2026-03-30 12:00", "Europe/Berlin", "2026-03-26..2026-03-28"),
        ("on 2026-10-25", "2026-11-21 12:00", "Europe/Berlin", "2026-10-25"),
    ],
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
        span = dates.find(question, now)
        if span is not None:
            assert span.since < span.until
            assert span.phrase in question
            assert span.mode in ("bound", "boost")
            assert dates.day_start(dates.day_of(span.since)) == span.since
            assert dates.day_start(dates.day_of(span.until)) == span.until
            assert dates.day_of(span.since) <= dates.day_of(now)


@given(st.text(max_size=200), st.integers(-(2**70), 2**70))
def test_no_text_and_no_clock_raises(question: str, now: int) -> None:
    span = dates.find(question, now)
    assert span is None or (span.since < span.until and span.phrase in question)


@given(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6), st.sampled_from(list(" ,\n\t")))
def test_the_cheap_check_never_hides_a_date(found: list[str], separator: str) -> None:
    from runtime.dates.question import read

    question = separator.join(found)
    with zone("UTC"):
        if read(question, at(NOW)) is not None:
            assert dates.may_name_a_date(question)


def test_the_cheap_check_spares_ordinary_questions() -> None:
    for question in ("why did the permission hook fail", "where is getUserName defined?", "what's --no-verify for"):
        assert not dates.may_name_a_date(question)


def test_a_long_question_of_dates_is_read_in_no_time() -> None:
    import time

    words = random.Random(1)
    question = " ".join(words.choice(VOCABULARY) for _ in range(400))[:2000]
    chain = ("the day before " * 140)[:2000]
    started = time.process_time()
    for text in (question, chain, "last " * 400, "3-" * 1000, '"' * 2000, "between " * 250):
        dates.find(text, 1_795_000_000)
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    "question", ["what was decided last year in March", "in March of last year", "last year, in March"]
)
def test_a_month_beside_a_year_is_of_that_year(question: str) -> None:
    found = dates.find(question, 1778659200)  # 2026-05-13
    assert found is not None
    assert (found.since, found.until, found.yearly) == (1740787200, 1743465600, False)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("what was I doing on 2026-02-30?", "2026-02-30"),
        ("what happened on 2026-13-01", "2026-13-01"),
        ("what did I decide on 30 February", "30 February"),
        ("what happened on February 30, 2026", "February 30, 2026"),
        ("notes of the 31st of June", "31st of June"),
        ("what did I do on 29 February 2025", "29 February 2025"),
        ("what did I do on 29 February", ""),
        ("what did I do on 2024-02-29", ""),
        ("why does test_2026-02-30_x fail", ""),
        ("order 1234-56-78 of may 2026", ""),
        ('what does "2026-02-30" mean', ""),
        ("March 3-5", ""),
    ],
)
def test_a_day_that_no_calendar_has_is_said(question: str, said: str) -> None:
    assert dates.no_day(question, 1_777_629_600) == said
