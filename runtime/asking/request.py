"""A question and its options: plain values, validated, that another process can be given."""

from __future__ import annotations

import os

from core.errors import BadQuery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from core.config import Config
    from core.home import Home


DEFAULT_LIMIT = 5
# Characters of a session's answer: for a person, for a person who wants one hit, for an agent.
PERSON, PARAGRAPH, AGENT = 600, 1_200, 400
MAX_CHARACTERS = 2000
# The essay's list: what a careless wrapper would hand to a shell.
_SHELL = (";", "`", "$(")


MODES = ("auto", "lex", "vec", "hybrid", "time")
# The options of a question, with the value of one that is not given. None: the configuration or the index decides.
DEFAULTS: dict[str, Any] = {
    "budget": PERSON,
    "limit": DEFAULT_LIMIT,
    "collections": (),
    "source": "",
    "project": "",
    "since": None,
    "until": None,
    "strict": False,
    "literal": False,
    "explain": False,
    "mode": "auto",
    "min_score": None,
    "rerank": None,
    "own": False,
    "timeout_s": None,
}


class Request:
    """The options of a question. ``since`` and ``until`` are epoch seconds, ``until`` exclusive.

    ``own`` leaves out what other members of a team share.
    """

    __slots__ = tuple(DEFAULTS)

    if TYPE_CHECKING:
        budget: int
        limit: int
        collections: Sequence[str]
        source: str
        project: str
        since: int | None
        until: int | None
        strict: bool
        literal: bool
        explain: bool
        mode: str
        min_score: float | None
        rerank: bool | None
        own: bool
        timeout_s: float | None

    def __init__(self, **given: Any) -> None:
        for name, default in DEFAULTS.items():
            value = given.get(name)
            setattr(self, name, value if value or default is None else default)


def reranks(request: Request, config: Config) -> bool:
    """Return True if the answer is to be reranked: as requested, else as configured."""
    return config.reranks if request.rerank is None else request.rerank


def resident_share(request: Request, config: Config) -> str:
    """Return what a resident process is asked to do: ``answer``, or only ``encode`` (see ``runtime.resident.served``).

    "" if the configuration turns the resident process off.
    """
    if config.serve == "off":
        return ""
    return "encode" if reranks(request, config) else "answer"


def other_engine(environ: Mapping[str, str]) -> str:
    """Return the program that ``BRAIN_QMD`` names to answer, "" for this one."""
    named = environ.get("BRAIN_QMD") or "builtin"
    return "" if named == "builtin" else named


def is_answered_here(home: Home, config: Config, request: Request, environ: Mapping[str, str]) -> bool:
    """Return True if neither a resident process nor another program may answer, nor a team's store."""
    there = resident_share(request, config) and os.path.exists(home.socket)
    return not (there or other_engine(environ) or (config.engine is not None and not request.own))


def project_glob(pattern: str) -> str:
    """Return the SQLite GLOB for a project: a path with wildcards as it is, a bare name as any folder of that name.

    A note may name its project without a folder: ``catalogue.Filters`` lets ``*/name`` match ``name`` as well.
    """
    if pattern in (".", "..") or pattern.startswith(("./", "../")):
        pattern = os.path.abspath(pattern)
    pattern = os.path.expanduser(pattern).rstrip("/") or "/"
    if any(mark in pattern for mark in "*?["):
        return pattern
    return pattern if pattern.startswith("/") else f"*/{pattern}"


def validate(query: str, *, literal: bool = False) -> str:
    """Return ``query`` without surrounding space. Raises BadQuery if it is empty, too long, or holds what it must not.

    ``literal`` permits the shell-shaped characters, for questions about exact commands.
    """
    query = query.strip()
    if not query:
        raise BadQuery("the question is empty", 'brain ask "what did I decide about the auth flow?"')
    if len(query) > MAX_CHARACTERS:
        raise BadQuery(
            f"the question has {len(query)} characters, at most {MAX_CHARACTERS} are taken", "ask a sharper question"
        )
    if not query.isprintable():
        _refuse_unprintable(query)
    if not literal:
        for mark in _SHELL:
            if mark in query:
                raise BadQuery(
                    f"the question holds {mark!r}, which a shell would act on",
                    f"take it out, or, where you mean it literally: brain ask --literal …{mark}…",
                )
    return query


def echoed(question: str) -> str:
    """Return a question as an answer repeats it: without secrets.

    The rules for secrets take longer to load than an answer takes. So a question that consists of plain words and short
    numbers is left as it is; tests compare this shortcut with the rules.
    """
    if _is_plain(question):
        return question
    from core import redaction

    return redaction.shown(question)


# Words next to a secret that is short or made of digits: whole words, and parts of names.
_TELLING = frozenset(
    "id pin key code otp tan card user iban cvv cvc ssn seed pan exp tel phone sms dob born tax vat passport mot puk"
    .split()
)  # fmt: skip
_TELLING_PARTS = (
    "pass", "pwd", "secret", "token", "auth", "login", "cred", "phrase", "account", "heslo", "kennwort", "clave",
    "contra", "geheim", "licen", "serial", "wallet", "konto", "number", "nummer", "numero", "personal", "recovery",
)  # fmt: skip
_JOINTS = "-_./'"
# Signs around a word, which no rule reads as part of a name or a value.
_AROUND = "?,.!:;()'\"`？。、！"
# A longer word, or a longer one with digits, may be a key; so may several words joined by hyphens.
_LONGEST_WORD, _LONGEST_PART, _LONGEST_NUMBER, _MOST_HYPHENS = 24, 20, 8, 2
# Letters of a word in a name in camel case, on average: letters that are drawn have about two between capitals.
_LEAST_HUMP = 4
# So few digits in a whole question are no secret.
_FEW_DIGITS = 2


def _is_plain(question: str) -> bool:
    digits = 0
    for word in question.split():
        bare = word.strip(_AROUND)
        if bare.isalpha() or not bare:
            if len(bare) > _LONGEST_WORD and not _is_camel_case(bare):
                return False
            continue
        # The home folder, before a path.
        bare = bare.removeprefix("~/")
        parts = bare
        for joint in _JOINTS:
            parts = parts.replace(joint, " ")
        letters = parts.replace(" ", "")
        # The value of an option follows it: `-p` may be any tool's password.
        is_option = word.startswith("-")
        if is_option and (not word.startswith("--") or not letters.isalpha() or _tells(word)):
            return False
        if not letters.isalnum() or bare.count("-") > _MOST_HYPHENS * (1 + is_option):
            return False
        if letters.isalpha():
            if max(map(len, parts.split())) > _LONGEST_PART:
                return False
        elif len(bare) > _LONGEST_NUMBER:
            return False
        else:
            digits += sum(map(str.isdigit, letters))
    return digits <= _FEW_DIGITS or not _tells(question)


def _is_camel_case(word: str) -> bool:
    """Return True for words joined by capitals (``GetDescriptionForCheckpoint``)."""
    humps = sum(map(str.isupper, word)) + word[0].islower()
    return word.isascii() and humps * _LEAST_HUMP <= len(word) <= _LONGEST_WORD * 2 and humps > 1


def _tells(text: str) -> bool:
    """Return True if a text has a word that often precedes or follows a secret."""
    lower = text.lower()
    words = "".join(letter if letter.isalnum() else " " for letter in lower).split()
    return not _TELLING.isdisjoint(words) or any(part in lower for part in _TELLING_PARTS)


def _refuse_unprintable(query: str) -> None:
    for character in query:
        point = ord(character)
        if point < 32 or 127 <= point < 160:
            raise BadQuery(
                f"the question holds the control character U+{point:04X}", "take it out; a question is one line of text"
            )
        if 0xD800 <= point < 0xE000:
            raise BadQuery("the question is not valid UTF-8", "check the terminal's locale, e.g. export LC_ALL=C.UTF-8")


# A quick look whether a question may name a date. ``runtime.dates.question`` reads phrases, once this holds.

# Every date phrase has one of these words, or one that begins with a digit.
_SIGNS = frozenset((
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "q1", "q2",
    "q3", "q4", "spring", "summer", "autumn", "fall", "winter", "monday", "tuesday", "wednesday", "thursday",
    "friday", "saturday", "sunday", "mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "today", "tonight",
    "yesterday", "recently", "lately", "morning", "afternoon", "evening", "night", "weekend", "minute", "minutes",
    "min", "mins", "hour", "hours", "hr", "hrs", "day", "days", "week", "weeks", "wk", "wks", "fortnight",
    "fortnights", "month", "months", "quarter", "quarters", "year", "years", "yr", "yrs", "decade", "decades",
))  # fmt: skip
# Parts of words without which a question does not ask for the latest (``runtime.asking.chronology``).
_NEWEST = ("last", "latest", "newest", "recent", "previous", "these", "off")
_BETWEEN = dict.fromkeys(map(ord, ',.;:!?()[]{}<>|/"`“”«»‹›-–—…~*_=+#&\\^%$@'), " ")


def may_name_a_date(question: str) -> bool:
    """False where no reader could find a date in the question: a few microseconds instead of an import."""
    words = question.lower().replace("’", "'").translate(_BETWEEN).split()
    return any(word[0].isdigit() or word in _SIGNS or word.strip("'").removesuffix("'s") in _SIGNS for word in words)


def may_concern_time(question: str, mode: str) -> bool:
    """Return False if a question, asked in ``mode``, can neither name a date nor ask for the newest documents."""
    lowered = question.lower()
    return mode == "time" or any(sign in lowered for sign in _NEWEST) or may_name_a_date(question)
