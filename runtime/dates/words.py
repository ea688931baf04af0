"""The vocabulary of dates in English questions, and the tokens they are read from.

Word by word rather than by regular expressions: ``re`` and its compiled patterns would be a tenth of the time ``ask``
may take.
"""

from __future__ import annotations

_FULL_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
MONTHS = {name: number for number, name in enumerate(_FULL_MONTHS, 1)}
MONTHS.update({name[:3]: number for name, number in MONTHS.items()}, sept=9)

# Words of their own ("may fail", "march on", "dec 10", "mar"): months only where something else says so.
WEAK_MONTHS = frozenset(["may", "march", *(name for name in MONTHS if len(name) < 5 and name not in _FULL_MONTHS)])

WEEKDAYS = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
    "mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4,
}  # fmt: skip

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # first months, northern hemisphere
# "this spring bean", "the last fall back": the season's name as another word.
NOT_A_SEASON = frozenset((
    "boot", "bean", "beans", "framework", "mvc", "cloud", "security", "data", "batch", "config", "context",
    "application", "app", "project", "service", "test", "tests", "webflux", "back", "over", "through", "under",
    "into", "to", "within", "on",
))  # fmt: skip

UNITS = {
    "minute": "minute", "minutes": "minute", "min": "minute", "mins": "minute",
    "hour": "hour", "hours": "hour", "hr": "hour", "hrs": "hour",
    "day": "day", "days": "day",
    "week": "week", "weeks": "week", "wk": "week", "wks": "week",
    "fortnight": "fortnight", "fortnights": "fortnight",
    "month": "month", "months": "month",
    "quarter": "quarter", "quarters": "quarter",
    "year": "year", "years": "year", "yr": "year", "yrs": "year",
    "decade": "decade", "decades": "decade",
}  # fmt: skip
UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14}
UNIT_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}

NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "sixty": 60,
    "ninety": 90,
}  # fmt: skip
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}

PARTS_OF_DAY = frozenset(("morning", "afternoon", "evening", "night"))
PREPOSITIONS = frozenset((
    "in", "on", "during", "at", "around", "over", "within", "from", "of", "by", "late", "early", "mid", "circa",
    "throughout",
))  # fmt: skip
OPERATORS = frozenset(("since", "after", "before", "until", "till"))
YEAR_PREPOSITIONS = frozenset((
    "in", "during", "of", "by", "from", "throughout", "since", "after", "before", "until", "till", "between", "to",
))  # fmt: skip
# Words that precede a lower-case "may", "march", "dec": "in may", "since march".
WEAK_PREPOSITIONS = frozenset((
    "in", "during", "since", "until", "till", "by", "from", "between", "of", "early", "mid", "late", "throughout",
))  # fmt: skip
NOT_PAST = frozenset(("next", "coming", "upcoming", "following", "every", "each"))
NUMBERED = frozenset((
    "version", "v", "ver", "port", "error", "code", "exit", "status", "line", "lines", "issue", "ticket", "pr",
    "bug", "cve", "rfc", "pid", "id", "release", "build", "python", "node", "ubuntu", "debian", "windows", "sdk",
))  # fmt: skip
# "in 2024 lines", "after 2000 ms": a count, not a year. Most plurals end in "s"; these are the others.
COUNTED = frozenset(("ms", "kb", "mb", "gb", "px", "hz", "percent", "characters", "feet", "people", "of"))
NOT_PLURAL = frozenset(("was", "is", "does", "has", "this", "as", "us", "his", "its", "vs", "yes", "versus"))

FIRST_PERSON = frozenset((
    "i", "we", "my", "our", "me", "us", "i've", "we've", "i'd", "we'd", "i'm", "we're", "mine", "ours", "myself",
))  # fmt: skip
# With one of those, these (or a verb in -ed) tell "what did I decide yesterday" from "what do we need today".
PAST = frozenset((
    "did", "was", "were", "have", "had", "has", "been", "i've", "we've", "i'd", "we'd", "wrote", "made", "ran",
    "said", "told", "chose", "found", "built", "broke", "went", "left", "saw", "took", "read", "got", "began",
))  # fmt: skip
NOT_PAST_ED = frozenset(("embed", "speed", "exceed", "proceed", "succeed", "indeed", "hundred", "shared", "based"))
# A question with these asks for the record of a time, not for a fact that mentions one.
RECORD = frozenset((
    "session", "sessions", "conversation", "conversations", "chat", "chats", "note", "notes", "document",
    "documents", "transcript", "transcripts", "commit", "commits", "worked", "happened", "changed", "changes",
    "browsing", "visited", "standup", "everything", "summary", "summarise", "summarize", "recap",
))  # fmt: skip

_JOINERS = frozenset("._-/:+'’@#$%&=\\~*^")
_QUOTES = {'"': '"', "`": "`", "“": "”", "«": "»"}


class Token:
    """A word of the question: ``text`` in lower case without a possessive ending, its place, and how it was written.

    A barrier (sentence end, bracket, quoted text) is a token with an empty text; no phrase reaches over it.
    """

    __slots__ = ("capital", "end", "possessive", "start", "text")

    def __init__(self, raw: str, start: int) -> None:
        text = raw.lower()
        self.possessive = text.endswith(("'s", "’s"))
        self.text = text[:-2] if self.possessive else text
        self.start = start
        self.end = start + len(raw)
        self.capital = raw[:1].isupper() and raw[1:2].islower()


def tokens(question: str) -> list[Token]:
    """Return the words of a question, with barriers between what does not belong together.

    Quoted text (in ``"…"`` or backticks) is left out: there it is a literal, not a date. Identifiers, paths and
    versions stay whole, so that nothing inside them reads as a word.
    """
    found: list[Token] = []
    size = len(question)
    index = 0
    while index < size:
        character = question[index]
        if character.isspace() or character == ",":
            index += 1
            continue
        if character.isalnum() or character in _JOINERS:
            start = index
            while index < size and (question[index].isalnum() or question[index] in _JOINERS):
                index += 1
            _word(found, question[start:index], start)
            continue
        if character in "–—":
            found.append(Token("-", index))
        else:
            close = question.find(_QUOTES[character], index + 1) if character in _QUOTES else -1
            found.append(Token("", index))
            if close > 0:
                index = close
        index += 1
    return found


def _word(found: list[Token], raw: str, start: int) -> None:
    kept = raw.strip("'’") if raw[0] in "'’" else raw
    start += raw.find(kept) if kept else 0
    kept = kept.rstrip(".:'’")
    if not kept:
        found.append(Token("", start))
        return
    first, dots, second = kept.partition("..")
    if dots and second and first:
        found += (Token(first, start), Token("-", start + len(first)))
        second = second.lstrip(".")
        found.append(Token(second, start + kept.rfind(second)))
        return
    prefix, dash, rest = kept.partition("-")
    if 0 < len(prefix) < 3 > len(rest) > 0 and prefix.isdigit() and rest.isdigit():  # March 3-5
        found += (
            Token(prefix, start),
            Token("-", start + len(prefix)),
            Token(rest, start + len(prefix) + 1),
        )
    elif len(kept) == 21 and kept[4] == kept[15] == "-" and kept[10] == "/" and prefix.isdigit():  # ISO 8601: from/to
        found += (Token(kept[:10], start), Token("-", start + 10), Token(kept[11:], start + 11))
    elif dash and prefix.lower() in ("mid", "early", "late") and rest:
        found += (Token(prefix, start), Token(rest, start + len(prefix) + 1))
    else:
        found.append(Token(kept, start))
    ended = raw[len(raw.rstrip(".:")) :]
    if ended and not (ended == "." and found[-1].text in MONTHS):
        found.append(Token("", found[-1].end))
