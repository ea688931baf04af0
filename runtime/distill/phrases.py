"""How people and agents say that they decide, turn down, correct, leave open: English, as it stands in transcripts.

Precision before recall: a sentence that is wrongly called a decision misleads; one that is missed is still in the raw
session, and, if it says much, among the key points.
"""

from __future__ import annotations

import re


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in alternatives), re.IGNORECASE)


DECIDES = _any(
    r"\b(?:we|i|they)(?:'ve| have)? (?:decided|agreed|settled|chose|opted|concluded)\b",
    r"\b(?:decision|conclusion|agreement)(?: is| was|:)",
    r"\b(?:let's|lets|let us) (?:use|keep|go with|stick|stay|switch|do|make|call|move|drop|remove|put|try)\b",
    r"\b(?:we|i)(?:'ll| will|'re going to|'m going to| are going to| am going to) (?:use|keep|go with|stick"
    r"|switch|adopt)\b",
    r"\bfrom now on\b|\bgoing forward\b|\bgoing with\b|\bwent with\b|\bsettled on\b",
    r"\b(?:i|we) (?:prefer|'d rather|would rather)\b",
    r"\b(?:the )?(?:best|right|better|cleanest|simplest|recommended) (?:approach|solution|option|fix|way"
    r"|choice)(?: here)? (?:is|would be|was)\b",
    r"\bi(?:'d)? recommend\b",
)
# What only a person can say with weight: an instruction that holds.
INSTRUCTS = _any(
    r"^(?:please )?(?:always|never|use|keep|prefer|make sure|only|don't|do not|avoid|stick)\b",
    r"\bi(?:'d)? (?:want|like|need)(?: you)? (?:to|it|the|us)\b",
    r"\b(?:must|should) (?:always|never|not|only|be)\b",
)
REJECTS = _any(
    r"\b(?:decided|opted|recommend|advise) against\b|\bdecided not to\b|\brul(?:ed|ing) out\b|\brejected\b",
    r"\b(?:instead of|rather than)\b",
    r"\b(?:won't|will not|didn't|did not|doesn't|does not|wouldn't) work\b",
    r"\b(?:don't|do not|shouldn't|should not) (?:use|do|want|need|add|rely|mock|touch|commit|change)\b",
    r"\brevert(?:ed|ing)?\b|\broll(?:ed|ing)? back\b|\bback(?:ed|ing)? out\b|\babandon(?:ed)?\b|\bscrap(?:ped)?\b",
    r"\b(?:overkill|over-engineered|overengineered|not worth|too (?:slow|complex|complicated|risky|fragile"
    r"|brittle|invasive))\b",
    r"\b(?:tried|attempted)\b.{3,120}\bbut\b",
    r"\bno longer (?:need|use|want|necessary)\w*\b|\bnot an option\b|\bbad idea\b|\bdead end\b",
)
CORRECTS = _any(
    r"^(?:no|nope|nah|wait|stop|hold on|hmm+|uh|actually)\b[,. !-]",
    r"\b(?:that's|that is|this is|it's) (?:not (?:what|right|correct|how|the)|wrong|incorrect)\b",
    r"^(?:don't|do not|undo|revert)\b|\bnot what i\b|\byou (?:broke|forgot|missed|shouldn't)\b|\bwhy (?:did|are"
    r"|would) you\b",
    r"\bi (?:said|meant|asked)\b|\bstill (?:broken|failing|wrong|not|doesn't|fails)\b",
)
CAUSE = re.compile(
    r"\b(?:because|since|due to|as (?:it|this|that|they|we)|so that|otherwise|the (?:reason|problem|issue) (?:is|was)"
    r"|which (?:would|means|breaks|causes|caused))\b(?P<why>.*)$",
    re.IGNORECASE,
)
EXPLAINS = _any(
    r"^(?:because|since|this (?:is|was|would|means|breaks|causes)|that (?:is|was|would|means|breaks)"
    r"|it (?:would|was|is|breaks)"
    r"|the (?:reason|problem|issue)|otherwise)\b",
)
DIAGNOSES = _any(
    r"\b(?:root cause|the (?:problem|issue|error|bug|culprit|failure|reason) (?:is|was|occurs|happens|comes))\b",
    r"\b(?:fails?|failed|failing|broke|breaks) because\b|\bi see(?: the| what|:)|\bcaused by\b|\bturns out\b",
    r"\bthe fix (?:is|was)\b|\bfixed (?:by|it|the|this)\b|\bneeds? to be\b",
)
OPEN = _any(
    r"\b(?:todo|to do|fixme)\b:?|\bnext steps?\b|\bfollow[- ]?ups?\b|\bremain(?:s|ing)\b|\bnot yet\b"
    r"|\bstill (?:need|have to|open|to do|missing)\b",
    r"\bopen question\b|\bunresolved\b|\bleft to do\b|\bfor (?:later|now we)\b|\bneeds? (?:investigation"
    r"|follow)\b|\bshould (?:we|i) (?:also )?\b.*\?$",
)
# Answers and goodwill that begin no new piece of work.
ASSENTS = re.compile(
    r"^(?:y|yes|yep|yeah|yup|ok|okay|sure|right|correct|great|nice|cool|perfect|thanks?|thank you|good|go ahead|do it"
    r"|continue|proceed|please do|sounds good|lgtm|looks good|agreed|done|commit|push|no|nope|hi|hello|hey)\b",
    re.IGNORECASE,
)
REQUESTS = _any(
    r"^(?:please |can you |could you |let's |now |then |also |ok(?:ay)?,? )*(?:add|fix|implement|create|write"
    r"|make|change"
    r"|update|remove|delete|refactor|rename|move|build|test|check|review|find|look|investigate|debug|explain|show|help"
    r"|set up|setup|install|deploy|migrate|convert|replace|improve|optimi[sz]e|research|plan|design|document|run|merge"
    r"|rebase|respond|summari[sz]e|analy[sz]e|generate|port|upgrade|integrate|figure)\b",
    r"\b(?:i|we)(?:'d)? (?:want|need|would like|like)\b|\b(?:can|could|would) (?:you|we)\b|\b(?:we"
    r"|you) should\b|\bhow (?:do|can|would|to)\b|\bwhy\b",
)
