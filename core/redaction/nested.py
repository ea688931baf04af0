"""A value in a mapping below its name, and an answer beside its question: ``{"secret": {"value": …}}``."""

from __future__ import annotations

import re

from core.redaction.assignments import assigned
from core.redaction.names import NAMED, PASSWORD, SCREENED_NAMED, SCREENED_PASSWORD, is_about
from core.redaction.rule import Prefilter, Rule, first, made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.redaction.rule import Cut

_QUOTE, _SPACE = r"\\*\"", r"\s{0,8}"
# The keys of a form's field or a question, and of what was given for it.
ASKED = ("field", "question", "prompt", "label")
GIVEN = ("value", "val", "text", "answer")
# Characters of a question.
_LONGEST = 300
_GIVEN = rf"{_QUOTE}(?:{'|'.join(GIVEN)}){_QUOTE}{_SPACE}:{_SPACE}{_QUOTE}"
_NESTED = (
    rf"(?i)(?P<name>[\w-]{{0,40}}(?:{PASSWORD}|{NAMED})){_QUOTE}{_SPACE}:{_SPACE}\{{{_SPACE}{_GIVEN}"
    r"(?P<value>[^\"\\\n]{6,400})"
)
_ASKED = (
    rf"(?i){_QUOTE}(?:{'|'.join(ASKED)}){_QUOTE}{_SPACE}:{_SPACE}{_QUOTE}[^\"\\\n]{{0,200}}?"
    rf"(?P<name>{PASSWORD}|{NAMED})[^\"\\\n]{{0,80}}{_QUOTE},{_SPACE}{_GIVEN}(?P<value>[^\"\\\n]{{6,400}})"
)
_OPENS = r"\\*\"\s*:\s*"


def name_in(question: str) -> str:
    """Return the words of a question or a label that name a secret, as a name; the whole of another text."""
    whole = re.sub(r"\W+", "_", question[: _LONGEST + 1]).strip("_")
    found = made(rf"(?i){PASSWORD}|{NAMED}").search(question)
    return question if found is None or len(question) > _LONGEST or is_about(whole) else found[0].replace(" ", "_")


def _kind(match: re.Match[str]) -> Cut | None:
    return first(match, assigned(match["name"].replace(" ", "_"), match["value"]))


RULES = (
    Rule(
        "nested",
        Prefilter((rf"(?:{SCREENED_PASSWORD}|{SCREENED_NAMED}){_OPENS}\{{\s*\\*\"(?:val|text|ans)",)),
        _NESTED,
        _kind,
    ),
    Rule(
        "asked",
        Prefilter((rf"\"(?:{'|'.join(ASKED)}){_OPENS}\\*\"[^\"\\\n]*(?:{SCREENED_PASSWORD}|{SCREENED_NAMED})",)),
        _ASKED,
        _kind,
    ),
)
