"""How people and agents say that they decide, turn down, correct, leave open, in the English of transcripts.

Precision before recall: a sentence that is wrongly called a decision misleads; one that is missed is still in the raw
session, and, if it says much, among the key points.
"""

from __future__ import annotations

import re


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in alternatives), re.IGNORECASE)


# Phrases for a decision that was taken, by anybody.
DECIDES = _any(
    r"\b(?:we|i|they|you)(?:'ve| have)? (?:decided|agreed|settled|chose|opted|concluded)\b(?! (?:against|not))",
    r"\b(?:the |our |final )(?:decision|conclusion|agreement)(?: is| was|:)(?! (?:yours|up to|still|not|pending"
    r"|open))",
    r"\b(?:settled on|(?:i|we) went with|(?:i'll|we'll|i will|we will|i'm|we're) go(?:ing)? with)\b",
    r"\bwe(?:'ll| will|'re going to| are going to) (?:use|keep|stick|stay|switch|adopt|drop)\b",
    r"\bthe (?:best|right|cleanest|simplest|safest|recommended) (?:approach|solution|option|fix|way"
    r"|choice)(?: here)? (?:is|was)\b",
)
# Phrases that count only from a person: a choice, a preference, an instruction that holds.
INSTRUCTS = _any(
    r"^(?:please |and |but |so |ok(?:ay)?,? |yes,? |fine,? )*(?:always|never|keep|prefer|only|stick (?:to|with)"
    r"|make sure)\b(?! (?:mind|ever))",
    r"^(?:please |and |but |so |just |ok(?:ay)?,? |yes,? |fine,? |no,? )*(?:use|go with|avoid)\b",
    r"\b(?:let's|lets|let us) (?:use|keep|go with|stick|stay|switch|drop|remove|do|make|not|call it|put|move|add)\b",
    r"\b(?:i|we) (?:prefer|'d rather|would rather|want to keep|don't want)\b",
    r"\b(?:from now on|going forward)\b",
    r"\b(?:must|should|has to|have to) (?:always|never(?! happen)|not(?! happen)|only|be\b(?! (?:fine|ok|okay"
    r"|good|enough|easy|done|working|there|possible)\b))",
)
# What a person wants in general: not for the task at hand.
PREFERS = _any(
    r"\b(?:i|we)(?: (?:do |really |strongly |still |much |generally |usually )?prefer|'d rather| would rather)\b",
    r"\b(?:from now on|going forward)\b",
    r"(?:^|\n|[.!;] )(?:please |and |but |so |ok(?:ay)?,? |yes,? |no,? )*(?:always|never)\b(?! (?:mind|ever))",
)
# Nothing is decided where it is only asked, supposed, or left to somebody.
SUPPOSES = _any(
    r"^(?:if|when|unless|whether|maybe|perhaps|should|could|can|do|does|did|would|is|are|what|which|how|why"
    r"|who)\b(?!.*\blet's\b)",
    r"\b(?:if|once|until|unless|whether|in case|now that|assuming|suppose) (?:we|i|you|they)(?:'ve| have)? "
    r"(?:decide|agree|settle|chose|choose|opt|prefer)",
    r"\b(?:would be|could be|might be|either|alternatively|up to you|your call|let me know|what do you think)\b",
    r"\b(?:not|never|haven't|hasn't|didn't|yet to|still (?:need|have) to) (?:yet )?(?:been )?(?:decided?|agreed?"
    r"|settled?|chosen?|choose)\b",
)
# Phrases for an approach that was weighed and rejected, by anybody.
REJECTS = _any(
    r"\b(?:decided|opted|recommend(?:ed)?|advised?|chose|voted) (?:against|not to)\b",
    r"\b(?:i|we|you|they)(?:'ve| have)? (?:ruled out|rejected|abandoned|scrapped|reverted|rolled back|backed out)\b",
    r"^(?:reverted|rolled back|backed out|abandoned|ruled out|scrapped)\b",
    r"\b(?:ruled out|rejected|abandoned|discarded|dropped|reverted|rolled back) (?:because|since|as (?:it|this"
    r"|that)|due to|in favou?r of)\b",
    r"\b(?:won't|will not|wouldn't) (?:work|scale|fly|cut it)\b",
    r"\bdid(?:n't| not) work (?:because|since|as|due to)\b",
    r"\b(?:would be|is|was|seems|feels|looks|turned out(?: to be)?|proved) (?:(?:just|way|far|a bit|probably|total) )?"
    r"(?:overkill|over-?engineered|not worth (?:it|the)|a bad idea|a dead end|not an option)\b",
    r"\b(?:would be|turned out(?: to be)?|proved(?: to be)?) (?:(?:just|way|far|much|a bit) )?too \w+",
    r"\b(?:i|we)(?:'ve| have)? (?:first |also |already )?(?:tried|attempted)\b.{3,160}\bbut\b",
    r"\b(?:not|isn't|wasn't) (?:worth (?:it|the (?:effort|complexity|risk|trouble))|an option)\b",
)
# A person's whole answer that turns down what they had asked about before.
TURNS_DOWN = _any(
    r"^(?:(?:convincing|agreed|ok(?:ay)?|fine|right|good|no)[,.!]? )*(?:it's |that's |then it's )?"
    r"(?:rejected|ruled out|dropped|discarded|scrapped)(?:,? then)?[.!]*$"
)
# Phrases by which an agent sums up its advice.
CONCLUDES = _any(
    r"^(?:so,? |overall,? |in short,? )*(?:i|we)(?:'d| would|'ll| will) (?:stay|stick|keep|leave|avoid|not|go|choose"
    r"|use)\b",
    r"\b(?:i|we) (?:recommend|advise|suggest|conclude|propose)\b|\bmy (?:recommendation|advice|conclusion|verdict)\b",
    r"^(?:so|overall|in short|bottom line|conclusion|verdict|recommendation)\b[:,]",
    r"\bnot worth\b|\boverkill\b",
)
# Text of a harness at the start of a session that continues another one.
CONTINUATION = _any(
    r"^this session is being continued from a previous conversation\b",
    r"^the conversation is summarized below\b",
    r"^please continue (?:the conversation )?from where we left it off\b",
    r"^continue with the last task that you were asked to work on\b",
    r"^if you need specific details from before compaction\b",
)
# Phrases of an agent's proposal, which a short answer may turn down.
PROPOSES = _any(
    r"\b(?:should|shall|could|can|may) (?:i|we)\b.*\?$",
    r"\b(?:want me to|like me to|do you want to|how about|what about)\b.*\?$",
    r"^(?:i|we)(?:'ll|'d| can| could| might| will| would| suggest| propose| recommend)\b(?! (?:need|see)\b)",
)
_GOODWILL = (
    r"(?! (?:problem|worr|rush|thank|idea|clue|big deal|go ahead|all good|nothing|please|that's (?:it|all|fine|ok|good)"
    r"|looks? good|(?:i|we|it|they) (?:don't|do not|didn't|can't|haven't|get|got|see|have|am|was|is|are)\b))"
)
REFUSES = _any(
    rf"^(?:oh,? |hm+,? |ok(?:ay)?,? |well,? |stop,? )*(?:no|nope|nah)(?:$|[,.!;:]+(?:$|{_GOODWILL}))",
    r"^(?:no,? )?(?:let's|better|rather|absolutely|definitely|certainly) not\b",
    r"^(?:no,? )?(?:i|we)(?:'d| would) (?:really )?rather not\b",
    r"^(?:no,? )?(?:please )?(?:don't|do not|never)(?! (?:worry|mind|know|think|forget|hesitate)\b)(?:$|\W)",
    r"^not (?!sure|yet|really|that|bad|only|quite|at all|much|a\b|the\b|now)\w+[.!]*$",
    r"^(?:please )?(?:skip|scrap|ditch) (?!to\b|the (?:test|check)s?\b)\w+",
)
# Phrases by which a person turns something down, or takes it back.
_NOT = r"(?:don't|dont|do not|never)"
CORRECTS = _any(
    r"^(?:no|nope|nah)(?:[,.!;:]+|\s+[-–—])\s*(?!(?:i|we|they|it|he|she) (?:don't|do not|didn't|can't|cannot"
    r"|haven't|get|got|see|have|am|was)\b"
    r"|problem|worr|rush|need\b|thank|idea|clue|big deal|biggie|not yet|nothing|that's (?:it|all|fine|ok|good"
    r"|right|great)\b|it's (?:fine|ok|good)\b"
    r"|all good|go ahead|looks? good|please (?:do|go|continue))\S+ \S+",
    rf"^(?:no|nope|nah) (?:just |please )?(?:{_NOT}|not|use|keep|leave|make|put|add|remove|move|call"
    rf"|write|it should|that should|you should"
    rf"|we should|let's)\b",
    rf"^(?:no[,.]? |but |and |also |ok(?:ay)?[,.]? |well[,.]? |hm+[,.]? |wait[,.]? |please "
    rf"|actually[,.]? )*(?:{_NOT} (?!(?:worry|know|think|mind|see|get|understand"
    r"|forget|hesitate|bother|remember|care|believe|recall|you|we)\b)|let's not |stop \w+ing\b|undo |revert )",
    r"\b(?:we|you|i) (?:shouldn't|should not|don't (?:need|want)|do not (?:need|want)) (?:to )?(?!be able|know"
    r"|worry)\w+",
    r"\b(?:can|could) (?:you|we) (?:please )?(?:revert|undo|roll back|back out)\b",
    r"\b(?:that's|that is|this is) (?:not (?:what (?:i|we)|right|correct|how)|wrong|incorrect)\b",
    r"\b(?:we|i)(?:'re| are|'m| am) not (?:going to|gonna) (?:use|add|adopt|switch|do|move|take|need)\b",
    r"\bwe (?:tried|had|used) .{3,80}\b(?:ripped|threw|took|thrown|taken) it (?:all )?out\b",
    r"\bnot what (?:i|we) (?:want|mean|meant|ask|asked|said)\b|\byou (?:broke|shouldn't have|should not have)\b",
    r"^(?:no,? |but )*i (?:said|meant) \w+ \w+",
)
# Phrases that read like these and turn nothing down.
_PLEASANT = r"(?:problem|worries|rush|thanks?|thank you|idea|clue|big deal)"
NOT_REJECTED = _any(
    rf"^no,? {_PLEASANT}\b",
    r"\b(?:don't|do not) (?:think|know|see|understand|get|forget|hesitate|remember) (?:if|whether|why|what|how"
    r"|where|that)\b",
    r"\b(?:rejected|reverted|dropped|refused) (?:by|with|at|on|in) (?:the )?(?:server|remote|upstream|hook|host"
    r"|client|api|promise|peer)",
)
CAUSE = re.compile(
    r"\b(?:because|since|due to|as (?:it|this|that|they|we)|so that|otherwise|the (?:reason|problem|issue) (?:is|was)"
    r"|which (?:would|means|breaks|causes|caused))\b(?P<why>.*)$",
    re.IGNORECASE,
)
EXPLAINS = _any(
    r"^(?:because|otherwise|(?:the|my|our) (?:reason|problem|issue)(?: is| was|:)"
    r"|(?:this|that|it) (?:would|breaks|causes|is because|was because|won't|doesn't|can't))\b",
)
DIAGNOSES = _any(
    r"\b(?:root cause|(?:the|real|actual) (?:problem|issue|error|bug|culprit|failure|reason) (?:is|was|occurs"
    r"|happens|comes))\b",
    r"\b(?:fails?|failed|failing|broke|breaks|broken) because\b|\bcaused by\b|\bturns out\b|\b(?:is|are|was"
    r"|were) failing because\b",
    r"\bthe fix (?:is|was) (?:to|that)\b|\bfixed by\b",
)
# In capitals, a mark; "to-do" and "Todo" are names of lists, files and demonstrations.
_MARK = r"(?-i:\b(?:TODO|FIXME)\b(?::| \(|$))"
OPEN = _any(
    _MARK,
    r"\b(?:still|yet) (?:to do|to be (?:done|decided|tested|verified|fixed|written)|missing|open|unresolved"
    r"|untested|undecided)\b",
    r"\b(?:still|yet) (?:needs?|have|has) to\b|\bstill needs? (?:a|an|some|more|the)\b",
    r"\bnot yet (?:done|implemented|tested|decided|fixed|verified|supported|covered|clear|known|merged|deployed"
    r"|released)\b",
    r"\bremains? (?:to be|open|unresolved|undone|untested|unclear|unknown)\b|\bleft (?:to do|open|undone"
    r"|for later)\b",
    r"\b(?:open question|unresolved|out of scope for now|needs? (?:further )?investigation"
    r"|needs? (?:a )?follow-?up)\b",
    r"^(?:next steps?|follow-?ups?|remaining|still open|open): \S",
)
# An agent that offers to go on, or asks for leave, leaves nothing open.
OFFERS = _any(
    r"^(?:so,? |now,? |ok(?:ay)?,? |great,? |and |or )*(?:want me|(?:would|do) you (?:like|want|prefer)|shall i"
    r"|should i (?:proceed|continue|go|start|commit|push"
    r"|create|implement|make|apply|do|run|update|fix|add|write|open)|may i|can i (?:help|proceed|do)|ready to"
    r"|let me know|anything else|is there anything"
    r"|how (?:can|may) i|how does (?:that|this)|sound(?:s)? good|what would you like|which (?:one|option"
    r"|approach) (?:would|do) you|does (?:this|that) (?:look|sound"
    r"|make|match|work|seem)|what do you think|any (?:questions|other)|wait|hmm+)\b",
    r"\b(?:would you like me to|do you want me to|want me to|shall i|should i proceed)\b",
)
# Answers and goodwill that begin no new piece of work.
ASSENTS = re.compile(
    r"^(?:y|yes|yep|yeah|yup|ok|okay|sure|right|correct|great|nice|cool|perfect|thanks?|thank you|good|go ahead|do it"
    r"|continue|proceed|please do|sounds good|lgtm|looks good|agreed|done|commit|push|no|nope|hi|hello|hey)\b",
    re.IGNORECASE,
)
GOES_ON = re.compile(
    r"\b(?:continue|go on|go ahead|proceed|carry on|resume|try again|retry|sorry|never ?mind)\b", re.IGNORECASE
)
REQUESTS = _any(
    r"^(?:please |can you |could you |let's |now |then |also |ok(?:ay)?,? )*(?:add|fix|implement|create|write"
    r"|make|change"
    r"|update|remove|delete|refactor|rename|move|build|test|check|review|find|look|investigate|debug|explain"
    r"|show|help"
    r"|set up|setup|install|deploy|migrate|convert|replace|improve|optimi[sz]e|research|plan|design|document|run"
    r"|merge"
    r"|rebase|respond|summari[sz]e|analy[sz]e|generate|port|upgrade|integrate|figure)\b",
    r"\b(?:i|we)(?:'d)? (?:want|need|would like|like)\b|\b(?:can|could|would) (?:you|we)\b|\b(?:we"
    r"|you) should\b|\bhow (?:do|can|would) (?:i|we|you)\b|^(?:how|why)\b|\bwhy\b.*\?$",
)


def is_curt(text: str) -> bool:
    """Return True if a short answer only agrees, refuses or says to go on."""
    return ASSENTS.match(text) is not None or GOES_ON.search(text) is not None
