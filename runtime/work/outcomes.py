"""How people and agents say what came of an attempt: in English here, in other languages in ``tongues``.

Precision before recall, as in ``runtime.distill.phrases``: an attempt that is wrongly called a success costs more than
one that is not listed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runtime.distill.phrases import CORRECTS, NOT_REJECTED, REFUSES, REJECTS, SUPPOSES
from runtime.distill.words import straight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.work.tongues import Tongue

WORKED, FAILED, REJECTED, GIVEN_UP, DECIDED = "worked", "failed", "rejected", "given up", "decided"
# Work was done, and nobody said what came of it.
NOT_SAID = "not said"


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in alternatives), re.IGNORECASE)


_NOT = r"(?:did(?:n't| not)|does(?:n't| not)|do(?:n't| not)|is(?:n't| not)|are(?:n't| not)|was(?:n't| not)|won't|can't)"
_GIVES_UP = _any(
    r"\b(?:i|we)(?:'ve|'ll|'m| have| had| will| am)? (?:just |now |then )?(?:revert(?:ed|ing)?|abandon(?:ed|ing)?"
    r"|scrapp(?:ed|ing)|undid|undoing|g(?:ive|ave|iving) up on|backed out|rolled back)\b",
    r"^(?:reverted|reverting|rolled back|backed out|abandoned|scrapped|undid)\b",
    r"\b(?:was|were|been) (?:reverted|rolled back|abandoned|scrapped|backed out)\b",
    r"\b(?:dropped|removed|reverted) (?:it|this|that|the \w+) again\b",
)
_FAILS = _any(
    rf"\b{_NOT} (?:actually |quite |really |even |seem to )?(?:work(?:ing)?|help|fix|solve|compile|apply|hold)\b",
    r"\bstill (?:fail(?:s|ed|ing)?|broken|breaks?|crash(?:es|ed|ing)?|hangs?|errors?|not working)\b",
    r"\bstill (?:get|see|have|the) (?:the )?same (?:error|problem|issue|failure)\b",
    r"\b(?:fails|failed) (?:because|with|due to|again|since)\b",
    r"\b(?:made|makes) (?:it|things) worse\b",
    r"\b(?:had|has|have|with) no (?:effect|luck)\b|\bmakes? no difference\b",
)
_WORKS = _any(
    r"\b(?:that|this|which|it) (?:did it|did the trick|worked)\b",
    r"\b(?:that|this|which|it) (?:has )?(?:fixed|solved|resolved) (?:it|that|this|the \w+)\b",
    r"\b(?:works|working|passes|passing|compiles|builds) (?:now|again|as expected|correctly|perfectly|fine|cleanly)\b",
    r"\b(?:now|finally) (?:works|passes|compiles|builds)\b",
    r"\ball (?:[\w-]+ ){0,4}(?:tests?|checks?) (?:now |are )*(?:pass|passed|passing|green)\b",
    r"\b(?:is|are|was|were) now (?:fixed|solved|resolved|working|passing)\b",
    r"\b(?:fixed|solved|resolved) (?:by|with) \w+ing\b",
)
# How a person begins who is content, or is not.
_PRAISES = _any(
    r"^(?:oh,? |ok(?:ay)?,? |ah,? |yes,? |yeah,? |yep,? )*(?:perfect|great|awesome|excellent|nice|cool|amazing|lovely"
    r"|brilliant|well done|(?:it |that |this )?works|looks? (?:good|great)|lgtm|love it)\b(?! (?:to|if|on|like|for)\b)",
)
_COMPLAINS = _any(
    r"^(?:oh no|hm+,? (?:no|still)|(?:it|this|that)(?:'s| is) (?:still )?(?:broken|wrong|not)\b)",
    r"^still (?:not|no|the|get|see|does|broken|fail)",
    rf"\b(?:it|this|that|which) (?:still )?{_NOT} (?:seem to )?(?:work|help|fix|show|appear|change)\w*\b",
    r"\b(?:you broke|is (?:still )?broken|we lost|i still (?:see|get)|not working|still (?:failing|fails|crashes))\b",
)
# Nothing has come of it yet where it is only hoped, asked, planned or supposed.
_AHEAD = _any(
    r"\b(?:should|would|could|might|may|will|hopefully|if|once|until|unless|whether|in case|make sure|ensure|verify"
    r"|to (?:see|check|confirm)|so that|let's|expect)\b",
    r"\?\s*$",
)


def outcome(sentence: str, *, by_person: bool, tongues: Sequence[Tongue] = ()) -> str:
    """Return what a sentence says came of an attempt, "" if it says nothing of that.

    ``tongues`` are the languages besides English that the session is in.
    """
    text = straight(sentence)
    found = _outcome_in_english(text, by_person=by_person)
    return found or next(filter(None, (each.outcome(text, by_person=by_person) for each in tongues)), "")


def verdict(sentence: str, tongues: Sequence[Tongue] = ()) -> str:
    """Return what a person's words after some work say came of it, "" if they say nothing of that."""
    text = straight(sentence)
    return _verdict_in_english(text) or next(filter(None, (each.verdict(text) for each in tongues)), "")


def _outcome_in_english(text: str, *, by_person: bool) -> str:
    if by_person and (CORRECTS.search(text) or REFUSES.search(text)) and not NOT_REJECTED.search(text):
        return REJECTED
    if _GIVES_UP.search(text) and not _AHEAD.search(text) and not SUPPOSES.search(text):
        return GIVEN_UP
    if REJECTS.search(text) and not SUPPOSES.search(text) and not NOT_REJECTED.search(text):
        return REJECTED
    if _AHEAD.search(text):
        return ""
    if _FAILS.search(text):
        return FAILED
    return WORKED if _WORKS.search(text) else ""


def _verdict_in_english(text: str) -> str:
    if _COMPLAINS.search(text):
        return FAILED
    if (CORRECTS.search(text) or REFUSES.search(text)) and not NOT_REJECTED.search(text):
        return REJECTED
    return WORKED if _PRAISES.search(text) else ""
