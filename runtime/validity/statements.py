"""Statements: sentences by which somebody says how something is, or how it is to be done.

A statement is read into a subject and a value: "deploy to Fly" is the value ``fly`` of the subject ``deploy``. No
questions, guesses and quotations are statements, and nothing that holds for one time only. Called for the lines of an
answer, so no regular expression is compiled.
"""

from __future__ import annotations

from qmd.index.terms import STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Characters of a sentence that are read, and tokens: a longer one is a paste.
_LONGEST, _MOST_TOKENS = 400, 60
_LEAST_TOKENS = 2
# Between a question and the answer that a person chose.
_CHOSEN = " → "
_INSIDE = "_-./:@%+=$#"
_BREAKS = ",;()—"
_BREAK = ","
_SPACED = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in _INSIDE}
_SPACED |= {ord(each): f" {_BREAK} " for each in _BREAKS} | {ord(each): " " for each in "“”„«»…–"}
_ENDS = (". ", "? ", "! ", "… ", "; ")
_ENDINGS = ("ings", "ing", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
_SHORTEST = 3

_NOT = frozenset(
    "not never no cannot without stop avoid forbid forbidden reject rejected refuse nobody neither".split()
)
# A negation of something else than the statement: "not only", "no problem".
_NO_NEGATION = frozenset("only just sure problem worries matter longer but".split())
# Words by which a sentence says that something else held before.
_CHANGES = frozenset(
    """now instead anymore switch switched switching move moved moving change changed replace replaced migrate migrated
    rename renamed bump bumped raise raised lower lowered actually correction update updated drop dropped revert
    reverted rather overrule overruled forget reverse reversed longer postpone postponed push pushed rescheduled shifted
    upgrade upgraded downgrade downgraded extend extended cut reduce reduced increase increased ditch ditched scrap
    scrapped swap swapped retire retired again moved pivot pivoted went""".split()
)
_NOT_SURE = frozenset(
    """if maybe perhaps might could would unless whether suppose imagine consider considering wonder wondering propose
    suggest suggests example hypothetically temporarily tentatively possibly probably guess option options""".split()
)
_ONCE = (
    "for now", "this time", "this branch", "this pr", "in this commit", "this session", "for today", "just today",
    "for the demo", "this once", "used to", "back then", "at the time", "this morning", "for a moment", "until then",
    "as an experiment", "just once", "one-off", "what if", "e.g.",
)  # fmt: skip
_ASKING = frozenset(
    "what why how when where which who whose should shall can could do does did is are was were will".split()
)
_QUIET = frozenset(
    """please let lets ok okay yes yeah think thought want need make sure go ahead also still currently new one ones us
    got get really thing things way decided decide decision policy rule note reminder remember always everything well
    per each every any all both that this so since because rejected reject agreed agree settled turns out after time
    project last month week year yesterday recently already ago today bar limit threshold value setting level due
    hey right fine then will must shall able going goes keep kept stay stays via like least most""".split()
)
# Verbs that say nothing of their object: "wrote", "built".
_VERBS = frozenset(
    """use used using uses write wrote written writes build built builds create created make made try tried work worked
    works do did done have had has add added set run ran runs implement implemented put done integrate integrated
    going take takes took start started touch touched""".split()
)
_EMPTY = STOP | _QUIET | _NOT | _CHANGES | {_BREAK}
_IS = frozenset(
    "is are was were be equals stays remains becomes became lives runs sits = : 's expires happens starts".split()
)
# Verbs whose ``to`` is followed by the new value.
_TO = frozenset(
    """set change changed raise raised lower lowered increase increased decrease decreased bump bumped move moved moving
    switch switched switching rename renamed shift shifted push pushed postpone postponed reschedule rescheduled update
    updated upgrade upgraded downgrade downgraded cut reduce reduced extend extended migrate migrated port ported
    convert converted pinned pin deploy deployed deploys publish report send swapped goes went back log point points
    write reduced brought capped limited assigned reassigned handed""".split()
)
_USE = frozenset(
    "use using uses pick picked choose chose chosen adopt adopted prefer prefers preferred want standardise".split()
)
# Participles without "ed", after "is".
_DONE = frozenset(
    "sent built kept written made held read set put run done stored drawn bought sold taken given".split()
)
# Words before the value of a participle: "is built with X".
_NEAR_PARTICIPLE = 2
_BEFORE_VALUE = frozenset("to with in on at by through from as via after every under into".split())
_CLAUSES = (" because ", " since ", " so that ", " which ", " while ")
_PRONOUNS = frozenset("it them they those these".split())
_INTO = frozenset("store stores keep put puts save saves write persist cache live host hosted log run document".split())
_FOR = frozenset("for as in on when within at during inside to of per across with".split())
_INSTEAD = ("instead of", "rather than", "in place of", "in favour of", "in favor of", "no longer", "not in")
_DAYS = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays january february march april may june july august september october november december today tomorrow noon
    midnight weekly daily monthly hourly quarterly yearly nightly one two three four five six seven eight nine ten
    eleven twelve fifteen twenty thirty forty fifty sixty ninety hundred once twice spring summer autumn
    winter""".split()
)


class Statement:
    """One statement: its ``text``, the stems of its words, its subject, its value and what it gives up (``old``).

    ``kind`` is how the value belongs to the subject: ``is``, ``to``, ``use`` or ``""`` (there is no value, or a name
    alone). ``typed`` are the parts of the value that are numbers, days or names, ``named`` those of the statement.
    ``negative``: it forbids or denies. ``universal``: it denies that somebody ever did something. ``changes``: it says
    itself that something is no more as it was. ``is_answer``: it is a question, its subject, with the answer to it.
    """

    __slots__ = (
        "changes",
        "is_answer",
        "kind",
        "named",
        "negative",
        "old",
        "subject",
        "text",
        "typed",
        "universal",
        "value",
        "words",
    )

    if TYPE_CHECKING:
        words: frozenset[str]
        subject: frozenset[str]
        value: frozenset[str]
        old: frozenset[str]
        typed: frozenset[str]

    def __init__(
        self,
        text: str,
        tokens: Sequence[str],
        named: frozenset[str],
        answered: tuple[Sequence[str], Sequence[str]] | None = None,
    ) -> None:
        """Read the tokens; ``answered`` are those of a question and of its answer: its subject and its value."""
        self.text, self.is_answer = text, answered is not None
        self.negative = _is_negative(tokens)
        self.changes = not _CHANGES.isdisjoint(tokens) or _was_changed(tokens) or "any more" in " ".join(tokens)
        self.universal = tokens[0] in ("i", "we", "nobody") and not {"never", "nobody", "ever"}.isdisjoint(tokens)
        self.words = stems(tokens)
        self.kind, subject, value, old = _frame(tokens)
        if named.isdisjoint(value) and (number := _number(tokens)):
            self.kind, subject, value = "is", *number
        if not self.kind and (names := [word for word in tokens if word in named]):
            self.kind, subject, value = "", [word for word in tokens if word not in named], names
        if answered is not None:
            self.negative, self.kind, old = False, "is", []
            subject, value = map(list, answered)
        self.subject, self.value, self.old = stems(subject, verbs=True), stems(value), stems(old)
        self.subject -= self.value | {stem(word) for word in tokens if _is_number(word)}
        self.typed = frozenset(stem(each) for each in value if each in named) & self.value
        self.named = frozenset(stem(each) for each in tokens if each in named) & self.words


def read(text: str, *, negative: bool = False) -> list[Statement]:
    """Return the statements of a text. ``negative``: the whole text is what somebody rejected."""
    found: list[Statement] = []
    for sentence in _sentences(text):
        tokens = tokenize(sentence)
        question, chosen, answer = sentence.partition(_CHOSEN)
        if chosen and stems(tokenize(question)) and stems(tokenize(answer)):
            found.append(Statement(sentence, tokens, frozenset(tokens), (tokenize(question), tokenize(answer))))
            continue
        if not _is_statement(sentence, tokens):
            continue
        named = _named(sentence, tokens)
        first: list[str] = []
        for clause in _clauses(sentence):
            own = tokenize(clause)
            if first and not _PRONOUNS.isdisjoint(own):
                own += [",", *first]
            first = first or own
            if len(own) < _LEAST_TOKENS:
                continue
            statement = Statement(sentence, own, named)
            statement.negative = statement.negative or negative
            if statement.words:
                found.append(statement)
    return found


def _clauses(sentence: str) -> list[str]:
    """Return the parts of a sentence that say something each."""
    for words in _CLAUSES:
        sentence = sentence.replace(words, ", ")
    return sentence.replace(": ", ", ").replace(" — ", ", ").split(", ")


def tokenize(sentence: str) -> list[str]:
    """Return the words of a sentence in small letters, with a ``,`` for each break."""
    text = sentence.lower().replace("’", "'").replace("n't", " not").replace("can not", "cannot")
    text = text.replace("'re", " are").replace("'ve", " have").replace("'m", " am").replace("'ll", " will")
    text = text.replace("it's", "it is").replace("that's", "that is").replace("let's", "lets").replace("'s", "")
    spaced = text.translate(_SPACED)
    tokens = [word if word in ("=", ":") else word.rstrip(".:-=/").lstrip("-:=") for word in spaced.split()]
    return [word for word in tokens if word][:_MOST_TOKENS]


def stem(word: str) -> str:
    """Return a word's rough stem; a number, a path or a name with marks inside stays as it is."""
    if not word.isalpha():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word[: -len(ending)]
            break
    return word[:-1] if word[-1:] == word[-2:-1] and word[-1:] not in "ls" else word


def stems(tokens: Iterable[str], *, verbs: bool = False) -> frozenset[str]:
    """Return the stems of the words that say something; with ``verbs``, also of verbs that say little."""
    return frozenset(stem(word) for word in tokens if word not in _EMPTY and (verbs or word not in _VERBS))


def _sentences(text: str) -> Iterator[str]:
    fenced = False
    for line in text.split("\n"):
        line = line.strip()
        if line.startswith("```"):
            fenced = not fenced
        if fenced or line.startswith((">", "|", "- Bash", "$", "```")):
            continue
        rest = line.lstrip("#*- ").replace("**", "").replace("`", "")
        while rest:
            ends = [(at + 1, end) for end in _ENDS if _CHOSEN not in rest and (at := rest.find(end)) >= 0]
            at = min(ends)[0] if ends else len(rest)
            sentence, rest = rest[:at].strip(), rest[at:].strip()
            if sentence:
                yield sentence


def _is_statement(sentence: str, tokens: Sequence[str]) -> bool:
    if len(sentence) > _LONGEST or len(tokens) < _LEAST_TOKENS or sentence.endswith(("?", ":")):
        return False
    if (tokens[0] in _ASKING and tokens[1] != "not") or not _NOT_SURE.isdisjoint(tokens):
        return False
    spaced = f" {' '.join(tokens)} "
    return not any(f" {words} " in spaced for words in _ONCE)


def _named(sentence: str, tokens: Sequence[str]) -> frozenset[str]:
    """Return the tokens that are numbers, days, paths or names."""
    capital = {
        word.strip(".,;:()!\"'`").lower() for word in sentence.split()[1:] if word[:1].isupper() or word[1:2].isupper()
    }
    return frozenset(
        each
        for each in tokens
        if each in _DAYS or each in capital or any(map(str.isdigit, each)) or any(mark in each for mark in "_./@")
    )


def _is_negative(tokens: Sequence[str]) -> bool:
    for at, word in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else ""
        if word in _NOT and following not in _NO_NEGATION and word != "without":
            return True
        if word == "no" and following == "longer":
            return True
    return "anymore" in tokens and "not" in tokens


def _frame(tokens: Sequence[str]) -> tuple[str, list[str], list[str], list[str]]:
    """Return (kind, subject, value, what is given up) of a statement's tokens; kind is "" if there is no value."""
    kept, old = _without_old(list(tokens))
    for at, word in enumerate(kept):
        if word in _TO and "to" in kept[at + 1 :]:
            to = kept.index("to", at + 1)
            value, rest = _until_for(kept[to + 1 :])
            changed = kept[at + 1 : to]
            # Who changes it is no part of the subject.
            subject = [*changed, *rest] if stems(changed) else [*kept[:at], *changed, *rest]
            if word.startswith(("deploy", "publish", "report", "send", "log", "write", "point")):
                subject.append(word)
            return "to", subject, value, old
        if word in _USE:
            value, rest = _until_for(kept[at + 1 :])
            return "use", [*kept[:at], *rest], value, old
        if word in _INTO and at + 1 < len(kept):
            place = next((p for p in range(at + 1, len(kept)) if kept[p] in ("in", "on", "at", "under", "as")), 0)
            if place:
                value, rest = _until_for(kept[place + 1 :])
                return "to", [*kept[:at], word, *kept[at + 1 : place], *rest], value, old
        following = kept[at + 1 : at + 2]
        if word in _IS and at and not (following and following[0].endswith("ing")):
            after = [each for each in kept[at + 1 :] if each not in ("now", "only", "be", "been", "currently")]
            if after and (after[0].endswith("ed") or after[0] in _DONE):
                near = after[: _NEAR_PARTICIPLE + 1]
                before = next((place for place, each in enumerate(near) if each in _BEFORE_VALUE), 0)
                value, rest = _until_for(after[before + 1 :])
                done = [] if _was_changed(tokens) else after[: before + 1]
                return "is", [*kept[:at], *done, *rest], value, old
            value, rest = _until_for(after)
            return "is", [*kept[:at], *rest], value, old
    return "", [], [], old


def _was_changed(tokens: Sequence[str]) -> bool:
    """Return True for "was rebooked to": it was something else before."""
    for at, word in enumerate(tokens[:-3]):
        if word in ("was", "were", "been") and tokens[at + 1].endswith("ed") and tokens[at + 2] == "to":
            return True
    return False


def _number(tokens: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Return (subject, value) of tokens with a number or a day: the value is the number with its unit."""
    digits = [at for at, word in enumerate(tokens) if at and word[0].isdigit()]
    days = [at for at, word in enumerate(tokens) if at and word in _DAYS and (word[-2:] != "ly" or _ends(tokens, at))]
    if not digits and not days:
        return None
    at = (digits or days)[0]
    end = at + 1
    while end < len(tokens) and end < at + 2 and tokens[end] not in _FOR and tokens[end] != _BREAK:
        end += 1
    return [*tokens[:at], *tokens[end:]], list(tokens[at:end])


def _is_number(word: str) -> bool:
    return word[0].isdigit() or (word in _DAYS and not word.endswith("ly"))


def _ends(tokens: Sequence[str], at: int) -> bool:
    return at + 1 == len(tokens) or tokens[at + 1] == _BREAK or tokens[at + 1] in _FOR or tokens[at + 1] == "now"


def _until_for(tokens: list[str]) -> tuple[list[str], list[str]]:
    """Return (the value at the beginning of tokens, what it is for)."""
    while tokens and tokens[0] in ("to", "at", "on", "in", "with", "the", "a", "an", "by", "now", "be", "only"):
        tokens = tokens[1:]
    for at, word in enumerate(tokens):
        if word == _BREAK:
            return tokens[:at], []
        if at and word in _FOR:
            following = tokens[at + 1 :]
            end = following.index(_BREAK) if _BREAK in following else len(following)
            return tokens[:at], following[:end]
    return tokens, []


def _without_old(tokens: list[str]) -> tuple[list[str], list[str]]:
    """Return (tokens without what is given up, what is given up): "instead of X", "from X to", "replace X with Y"."""
    old: list[str] = []
    for at, word in enumerate(tokens):
        pair = f"{word} {tokens[at + 1]}" if at + 1 < len(tokens) else word
        if pair in _INSTEAD or _gives_up(tokens, at):
            first = at + (2 if pair in _INSTEAD else 1)
            while first < len(tokens) and tokens[first] in ("using", "use", "to", "the", "in", "on"):
                first += 1
            end = first
            while end < len(tokens) and tokens[end] not in (_BREAK, "to", "but", "and", "for", "in", "because", "as"):
                end += 1
            found = tokens[first:end]
            if not found:
                continue
            old += found
            if word in ("drop", "ditch", "retire", "stop"):
                continue
            return [*tokens[:at], *tokens[end:]], old
        if word in ("replace", "replaced", "swap") and (at_with := _place(tokens, at, ("with", "by", "for"))):
            old += tokens[at + 1 : at_with]
            return [*tokens[:at], "use", *tokens[at_with + 1 :]], old
    return tokens, old


def _gives_up(tokens: list[str], at: int) -> bool:
    """Return True if the word at ``at`` is followed by what is given up."""
    word, before = tokens[at], tokens[:at]
    if word == "from":
        return not _CHANGES.isdisjoint(before) and tokens[at + 1 : at + 2] != ["now"]
    if word == "over":
        return not _USE.isdisjoint(before)
    if word == "not":
        return bool(before) and (before[-1] == _BREAK or "but" in tokens[at:])
    return word in ("drop", "ditch", "replaces", "retire")


def _place(tokens: list[str], start: int, words: tuple[str, ...]) -> int:
    return next((at for at in range(start + 1, len(tokens)) if tokens[at] in words), 0)
