"""What a question asks for: words, meaning, or a walk through the days that it names; and why."""

from __future__ import annotations

import apsw

from core.errors import BadInput, EngineMissing
from qmd.search.terms import STOP
from runtime.dates import dates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from qmd.index.catalogue import Filters
    from qmd.search.search import Searcher
    from qmd.search.snippets import Hit
    from qmd.vectors.knn import Meaning
    from runtime.asking.ask import Request
    from runtime.asking.meaning import Semantics

MODES = ("auto", "lex", "vec", "hybrid", "time")
_LEXICAL = "lexical: terms ORed, documents and passages scored together"
_BLENDED = "words and meaning blended"
# What ``vec0`` and SQLite say of tables that are not what they were.
_DAMAGED = (apsw.SQLError, apsw.CorruptError)


class Plan:
    """What a question asks for. ``mode`` is ``strict``, ``lex``, ``vec``, ``hybrid`` or ``time``.

    ``open_semantics`` gives what to ask by meaning with, or says why there is nothing; it is called only where meaning
    is wanted. ``read`` are the collections of pages and articles, which answer first what was read in some days.
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
        read: tuple[str, ...] = (),
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
        self._boost: Any = None
        self._span: Any = None
        self._no_day = ""
        self.level: float | None = None
        self.mode = "strict" if request.strict else "lex"
        self._why = "--strict: every term must occur" if request.strict else _LEXICAL
        if request.strict:
            return
        self._no_day = dates.no_day(question, now)
        self._boost, span = date_boost(question, now)
        self._span = span
        given = filters.since is not None or filters.until is not None
        if request.mode == "time" or (
            request.mode == "auto"
            and (_asks_for_newest(question) if span is None else _asks_only_when(question, span.phrase))
        ):
            self.mode = "time"
            self._why = "chronological: the newest documents first"
            if span is not None or given:
                self._why = "chronological: the documents of the days named, newest first"
        if span is not None and not given and (span.mode == "bound" or self.mode == "time"):
            filters.since, filters.until = span.since, span.until

    def choose(self, embedded: bool, space: str) -> None:
        """Decide between words and meaning, if anything is ``embedded`` by ``space``. Raises apsw.Error."""
        wanted = self._request.mode
        if self.mode != "lex":
            return
        if wanted == "lex":
            self._why = f"--mode lex; {_LEXICAL}"
            return
        if not any(map(str.isalnum, self._question)):
            self._why = f"{_LEXICAL}; not by meaning: there is no word in it"
            return
        if not embedded:
            self._why = f"{_LEXICAL}; nothing is embedded by {space} yet" + (
                "" if wanted == "auto" else f", --mode {wanted} or not"
            )
            return
        factor, why = 1.0, f"--mode {wanted}"
        if wanted == "auto":
            from qmd.search.scoring import PROVENANCE
            from runtime.asking import route

            kind, said = route.kind(self._question)
            if kind == route.LITERAL:
                self._why = f"literal ({said[:40]}): its words as they stand"
                return
            why = "conceptual"
            if kind == route.PROVENANCE:
                factor, why = PROVENANCE, f"provenance ({said}): words, path and date above likeness"
        semantics = self._open_semantics()
        if isinstance(semantics, str):
            self._why = f"{_LEXICAL}; not by meaning: {semantics}"
            return
        question = self._question
        if self._span is not None:
            question = question.replace(self._span.phrase, " ", 1).strip() or question
        weight = 0.0 if wanted == "vec" else factor
        try:
            self._meaning = semantics.of(question, weight, self._filters, self._request.limit)
        except EngineMissing as error:
            if semantics.encoder.kind != "static":
                raise  # who asks by a model asks once more without it
            self._why = f"{_LEXICAL}; not by meaning: {error.message} ({error.fix})"
            return
        if self._meaning is None:
            self._why = f"{_LEXICAL}; not by meaning: no word of the question is known"
            return
        self.level = semantics.encoder.level
        self.mode = "vec" if wanted == "vec" else "hybrid"
        how = "a fitted table of tokens" if semantics.encoder.kind == "static" else "the model"
        self._why = f"{why}; {'meaning alone' if wanted == 'vec' else _BLENDED}, the question encoded by {how}"

    @property
    def exact(self) -> bool:
        """Whether exact things are looked for, which stand in a text or do not: whatever has them is an answer."""
        if self.mode != "lex":
            return False
        from runtime.asking import route

        return route.kind(self._question)[0] == route.LITERAL

    @property
    def judged(self) -> bool:
        """Whether what was found says how likely it is that there is an answer at all."""
        return self.mode == "lex" or (self.mode in ("hybrid", "vec") and self.level is not None)

    def run(self, searcher: Searcher, limit: int = 0) -> list[Hit]:
        """The hits, at most as many as were asked for, or ``limit``. Raises apsw.Error.

        Where the vectors are damaged, the words answer alone, and ``reason`` says so.
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
        """Why the answer was looked for in this way, dates and filters included."""
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
# What asks for the newest of it, without a date.
_NEWEST = frozenset("last latest newest recent previous".split())
_NEWEST_PHRASES = ("these days", "leave off", "left off")


def _asks_only_when(question: str, phrase: str) -> bool:
    """Whether nothing is left to search for once the date is taken out ("what did I do yesterday?")."""
    return all(_says_nothing(word) for word in _words(question.replace(phrase, " ", 1)))


def _asks_for_newest(question: str) -> bool:
    """Whether a question without a date asks for nothing but what came last ("what was the last thing I did?")."""
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


def date_boost(question: str, now: int) -> tuple[Any, Any]:
    """(boost, span): what the question's date lifts, and the date itself; (None, None) where it names none."""
    if not dates.may_name_a_date(question):
        return None, None
    span = dates.find(question, now)
    if span is None or span.mode == "bound":
        return None, span
    from runtime.asking.boost import DateBoost

    return DateBoost(span), span
