"""The plan of a question: search by words, search by meaning, or walk through the days that it names; and why."""

from __future__ import annotations

import apsw

from core.errors import BadInput, EngineMissing
from qmd.index.terms import STOP
from runtime.dates import dates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qmd.index.catalogue import Filters
    from qmd.search.search import Searcher
    from qmd.search.snippets import Hit
    from qmd.vectors.knn import Meaning
    from runtime.asking.meaning import Semantics
    from runtime.asking.request import Request
    from runtime.dates.dates import Span
    from runtime.dates.question import DateBoost

MODES = ("auto", "lex", "vec", "hybrid", "time")
_LEXICAL = "lexical: terms ORed, documents and passages scored together"
_BLENDED = "words and meaning blended"
# Errors of ``vec0`` and SQLite about damaged tables of vectors.
_DAMAGED = (apsw.SQLError, apsw.CorruptError)


class Plan:
    """How a question is searched. ``mode`` is ``strict``, ``lex``, ``vec``, ``hybrid`` or ``time``.

    ``level`` is the cosine that questions without an answer reach, None if no vector takes part.

    Args:
        filters: get the days that the question names, unless the request names others.
        now: epoch seconds.
        open_semantics: returns the vectors and their encoder, or why there are none; called if meaning may take part.
        read: the collections of pages and articles, which answer first a question about what was read on some days.
    """

    __slots__ = (
        "_boost", "_filters", "_meaning", "_no_day", "_open_semantics", "_question", "_read", "_request", "_span",
        "_why", "level", "mode",
    )  # fmt: skip

    def __init__(
        self,
        question: str,
        request: Request,
        filters: Filters,
        now: int,
        open_semantics: Callable[[], Semantics | str],
        read: Sequence[str] = (),
    ) -> None:
        if request.mode not in MODES:
            raise BadInput(f"there is no mode {request.mode!r}", f"one of: {', '.join(MODES)}")
        if request.strict and request.mode not in ("auto", "lex"):
            raise BadInput(f"--strict is words, --mode {request.mode} is not", "give one of them")
        self._question = question
        self._request = request
        self._filters = filters
        self._open_semantics = open_semantics
        self._read = read
        self._meaning: Meaning | None = None
        self._boost: DateBoost | None = None
        self._span: Span | None = None
        self._no_day = ""
        self.level: float | None = None
        self.mode = "strict" if request.strict else "lex"
        self._why = "--strict: every term must occur" if request.strict else _LEXICAL
        if not request.strict:
            self._read_dates(now)

    def _read_dates(self, now: int) -> None:
        """Read the dates in the question: they limit the filters, lift documents, or ask for a walk through time."""
        question, wanted, filters = self._question, self._request.mode, self._filters
        if dates.may_name_a_date(question):
            from runtime.dates.question import no_day

            self._no_day = no_day(question, now)
        self._boost, self._span = boost, span = date_boost(question, now)
        given = filters.since is not None or filters.until is not None
        only_when = _asks_for_newest(question) if span is None else _asks_only_when(question, span.phrase)
        if wanted == "time" or (wanted == "auto" and only_when):
            self.mode = "time"
            self._why = "chronological: the newest documents first"
            if span is not None or given:
                self._why = "chronological: the documents of the days named, newest first"
        if span is not None and not given and (boost is None or self.mode == "time"):
            filters.since, filters.until = span.since, span.until

    def choose(self, embedded: bool, space: str) -> None:
        """Decide between words and meaning, if anything is ``embedded`` by ``space``. Raises apsw.Error."""
        if self.mode == "lex":
            self._why = self._words_alone(embedded, space) or self._by_meaning()

    def _words_alone(self, embedded: bool, space: str) -> str:
        """Return why meaning takes no part, "" if it may."""
        wanted = self._request.mode
        if wanted == "lex":
            return f"--mode lex; {_LEXICAL}"
        if not any(map(str.isalnum, self._question)):
            return f"{_LEXICAL}; not by meaning: there is no word in it"
        if not embedded:
            insisted = "" if wanted == "auto" else f", --mode {wanted} or not"
            return f"{_LEXICAL}; nothing is embedded by {space} yet{insisted}"
        return ""

    def _by_meaning(self) -> str:
        """Let meaning take part, and return why, or why it cannot."""
        wanted, question = self._request.mode, self._question
        weight, why = 1.0, f"--mode {wanted}"
        if wanted == "auto":
            from qmd.search.scoring import PROVENANCE
            from runtime.asking import route

            kind, said = route.kind(question)
            if kind == route.LITERAL:
                return f"literal ({said[:40]}): its words as they stand"
            why = "conceptual"
            if kind == route.PROVENANCE:
                weight, why = PROVENANCE, f"provenance ({said}): words, path and date above likeness"
        semantics = self._open_semantics()
        if isinstance(semantics, str):
            return f"{_LEXICAL}; not by meaning: {semantics}"
        if self._span is not None:
            question = question.replace(self._span.phrase, " ", 1).strip() or question
        fitted = semantics.encoder.kind == "static"
        try:
            self._meaning = semantics.of(
                question, 0.0 if wanted == "vec" else weight, self._filters, self._request.limit
            )
        except EngineMissing as error:
            if not fitted:
                raise  # the caller asks once more, without the model
            return f"{_LEXICAL}; not by meaning: {error.message} ({error.fix})"
        if self._meaning is None:
            return f"{_LEXICAL}; not by meaning: no word of the question is known"
        self.level = semantics.encoder.level
        self.mode, blended = ("vec", "meaning alone") if wanted == "vec" else ("hybrid", _BLENDED)
        return f"{why}; {blended}, the question encoded by {'a fitted table of tokens' if fitted else 'the model'}"

    @property
    def exact(self) -> bool:
        """True if the question is literal: whatever has its words is an answer."""
        if self.mode != "lex":
            return False
        from runtime.asking import route

        return route.kind(self._question)[0] == route.LITERAL

    @property
    def judged(self) -> bool:
        """True if the search measures the evidence for an answer."""
        return self.mode == "lex" or (self.mode in ("hybrid", "vec") and self.level is not None)

    def run(self, searcher: Searcher, limit: int = 0) -> list[Hit]:
        """Return the hits, at most as many as were asked for, or ``limit``. Raises apsw.Error.

        If the vectors are damaged, the words answer alone, and ``reason`` reports that.
        """
        limit = limit or self._request.limit
        if self.mode == "time":
            return self._newest(searcher, limit)
        if self._meaning is None:
            return self._search(searcher, limit)
        try:
            return self._search(searcher, limit)
        except _DAMAGED:
            self._meaning = self.level = None
            found = self._search(searcher, limit)
            self.mode = "lex"
            self._why = f"{_LEXICAL}; not by meaning: the vectors are damaged (brain embed --force)"
            return found

    def _newest(self, searcher: Searcher, limit: int) -> list[Hit]:
        read = tuple(name for name in self._read if name in self._filters.collections)
        if read and not _READ.isdisjoint(_words(self._question)):
            found = searcher.newest(limit=limit, filters=self._filters.within(read))
            if found:
                self._why += f"; what was read: only {', '.join(read)}"
                return found
        return searcher.newest(limit=limit, filters=self._filters)

    def _search(self, searcher: Searcher, limit: int) -> list[Hit]:
        return searcher.search(
            self._question,
            limit=limit,
            filters=self._filters,
            strict=self._request.strict,
            boost=self._boost,
            drop=self._span.phrase if self._span is not None else "",
            meaning=self._meaning,
        )

    def reason(self, hits: list[Hit]) -> str:
        """Return why the answer was looked for in this way, dates and filters included."""
        reason = self._why
        if self._span is not None:
            reason += f"; {self._span.reason}"
            dated = self.mode in ("lex", "hybrid")
            if self._boost is not None and hits and dated and not any(hit.parts["date"] for hit in hits):
                reason += "; nothing that matches is from those days"
        if self._no_day:
            reason += f'; there is no day "{self._no_day}"'
        names = [f"{name} {value}" for name, _, value in self._filters.fields]
        return reason + (f"; only {', '.join(names)}" if names else "")


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
    """browse browsed browsing read reading surf surfed surfing viewed viewing visit visited visiting watch watched
    watching""".split()
)
_READ = _READING | frozenset(
    """article articles blogs internet link links online page pages paper papers posts site sites tab tabs url urls web
    webpage webpages website websites""".split()
)
# Words that ask for the latest, without a date.
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


def date_boost(question: str, now: int) -> tuple[DateBoost | None, Span | None]:
    """Return (boost, span): the lift for documents of the question's date, if it gives one, and the date, if any."""
    if not dates.may_name_a_date(question):
        return None, None
    from runtime.dates.question import DateBoost, read

    span = read(question, now)
    return (None if span is None or span.mode == "bound" else DateBoost(span)), span
