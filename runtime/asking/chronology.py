"""Questions about time: the dates that a question names, and walks through the newest documents.

A question comes here if ``request.may_concern_time`` holds, or if its request asks for the order of time.
"""

from __future__ import annotations

from qmd.index.terms import STOP
from runtime.asking.request import may_name_a_date

TYPE_CHECKING = False
if TYPE_CHECKING:
    from runtime.asking.ask import Asker, Inquiry
    from runtime.dates.question import DateBoost
    from runtime.dates.span import Span

# The trust of collections of pages and articles, which answer first a question about what was read on some days.
_TRUST_OF_READ = ("article", "browser")


def read_dates(inquiry: Inquiry) -> None:
    """Read the dates in the question: they limit the filters, lift documents, or ask for a walk through time."""
    question, wanted, filters = inquiry.question, inquiry.request.mode, inquiry.filters
    if may_name_a_date(question):
        from runtime.dates.question import no_day

        inquiry.no_day = no_day(question, inquiry.now)
    inquiry.boost, inquiry.span = boost, span = date_boost(question, inquiry.now)
    given = filters.since is not None or filters.until is not None
    only_when = _asks_for_newest(question) if span is None else _asks_only_when(question, span.phrase)
    if wanted == "time" or (wanted == "auto" and only_when):
        inquiry.mode = "time"
        inquiry.reason = "chronological: the newest documents first"
        if span is not None or given:
            inquiry.reason = "chronological: the documents of the days named, newest first"
    if span is not None and not given and (boost is None or inquiry.mode == "time"):
        filters.since, filters.until = span.since, span.until


def find_newest(asker: Asker, inquiry: Inquiry, limit: int) -> None:
    """Find the ``limit`` documents that ended last; if the question asks what was read, those that were read."""
    searcher, filters = asker.open_searcher(), inquiry.filters
    asked = {name: each for name, each in asker.config.collections.items() if name in filters.collections}
    read = [name for name, each in asked.items() if each.trust in _TRUST_OF_READ]
    if read and not _READ.isdisjoint(_words(inquiry.question)):
        inquiry.hits = searcher.newest(limit=limit, filters=filters.within(read))
        if inquiry.hits:
            inquiry.reason += f"; what was read: only {', '.join(read)}"
            return
    inquiry.hits = searcher.newest(limit=limit, filters=filters)


def explain_dates(inquiry: Inquiry) -> None:
    """Add to the reason what the dates in the question did."""
    if inquiry.span is not None:
        inquiry.reason += f"; {inquiry.span.reason}"
        dated = inquiry.mode in ("lex", "hybrid")
        if inquiry.boost is not None and inquiry.hits and dated and not any(hit.parts["date"] for hit in inquiry.hits):
            inquiry.reason += "; nothing that matches is from those days"
    if inquiry.no_day:
        inquiry.reason += f'; there is no day "{inquiry.no_day}"'


def date_boost(question: str, now: int) -> tuple[DateBoost | None, Span | None]:
    """Return (boost, span): the lift for documents of the question's date, if it gives one, and the date, if any."""
    if not may_name_a_date(question):
        return None, None
    from runtime.dates.question import DateBoost, read

    span = read(question, now)
    return (None if span is None or span.mode == "bound" else DateBoost(span)), span


# Words of a question that asks for the record of some days and for nothing in particular.
_RECORD = frozenset(
    """happen happened happening occurred work worked works working do done doing change changed changes going go
    went session sessions conversation conversations document documents entries note notes talk talked discuss
    discussed write wrote writing been made make everything activity activities history log show list lately
    recently project projects thing things stuff task tasks today day days week accomplish accomplished achieve
    achieved finish finished complete completed get got gotten start started touch touched handle handled spend
    spent spending keep kept keeping busy progress update updates new earlier leave left look looked looking
    summarize summarise summary recap rundown overview timeline catch give let us please brief briefing ship
    shipped coding coded commit commits committed asked plate interesting open opened two three four five ten""".split()
)
# Words that ask for the record of what was read.
_READING = frozenset(
    """browse browsed browsing google googled googling read reading searched searching surf surfed surfing viewed
    viewing visit visited visiting watch watched watching""".split()
)
_READ = _READING | frozenset(
    """article articles blog blogs internet link links online page pages paper papers posts site sites tab tabs url
    urls web webpage webpages website websites""".split()
)
# Words that ask for the latest, without a date; ``request.may_concern_time`` looks for them.
_NEWEST = frozenset("last latest newest recent previous".split())
_NEWEST_PHRASES = ("these days", "leave off", "left off")


def _asks_only_when(question: str, phrase: str) -> bool:
    """Return True if nothing is left to search for without the date ("what did I do yesterday?")."""
    return all(_says_nothing(word) for word in _words(question.replace(phrase, " ", 1)))


def _asks_for_newest(question: str) -> bool:
    """Return True if a question without a date asks only for the latest ("what was the last thing I did?")."""
    words = _words(question)
    newest = not _NEWEST.isdisjoint(words) or any(phrase in " ".join(words) for phrase in _NEWEST_PHRASES)
    return (
        newest
        and not (_RECORD | _READING).isdisjoint(words)
        and all(word in _NEWEST or word.isdigit() or _says_nothing(word) for word in words)
    )


def _words(text: str) -> list[str]:
    return "".join(character if character.isalnum() else " " for character in text.lower()).split()


def _says_nothing(word: str) -> bool:
    return word in STOP or word in _RECORD or word in _READ or (word[-2:] in ("am", "pm") and word[:-2].isdigit())
