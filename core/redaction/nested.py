"""A value in a mapping below its name, and an answer beside its question: ``{"secret": {"value": …}}``."""

from __future__ import annotations

import re

from core.redaction.assignments import assigned
from core.redaction.names import NAMED, PASSWORD, SCREENED_NAMED, SCREENED_PASSWORD
from core.redaction.rule import Prefilter, Rule, first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.redaction.rule import Cut

_QUOTE, _SPACE = r"\\*\"", r"\s{0,8}"
_GIVEN = rf"{_QUOTE}(?:value|val|text|answer){_QUOTE}{_SPACE}:{_SPACE}{_QUOTE}"
_NESTED = (
    rf"(?i)(?P<name>[\w-]{{0,40}}(?:{PASSWORD}|{NAMED})){_QUOTE}{_SPACE}:{_SPACE}\{{{_SPACE}{_GIVEN}"
    r"(?P<value>[^\"\\\n]{6,400})"
)
_ASKED = (
    rf"(?i){_QUOTE}(?:field|question|prompt|label){_QUOTE}{_SPACE}:{_SPACE}{_QUOTE}[^\"\\\n]{{0,200}}?"
    rf"(?P<name>{PASSWORD}|{NAMED})[^\"\\\n]{{0,80}}{_QUOTE},{_SPACE}{_GIVEN}(?P<value>[^\"\\\n]{{6,400}})"
)
_OPENS = r"\\*\"\s*:\s*"


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
        Prefilter(
            (rf"\"(?:field|question|prompt|label){_OPENS}\\*\"[^\"\\\n]*(?:{SCREENED_PASSWORD}|{SCREENED_NAMED})",)
        ),
        _ASKED,
        _kind,
    ),
)
