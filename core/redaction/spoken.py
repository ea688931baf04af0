"""Passwords, phrases and codes that sentences announce, in the words of many languages (``vocabulary.json``)."""

from __future__ import annotations

import re

from core.redaction.looks import is_chosen, is_drawn, is_filler, is_phrase, is_plain_word, is_said, is_strong, is_worded
from core.redaction.names import VOCABULARY
from core.redaction.rule import Prefilter, Rule, cleaned, cleaned_at, each, first, made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.redaction.rule import Cut


def _any(kind: str) -> str:
    return "|".join(VOCABULARY[kind])


_KINDS = (
    "new|old|my|our|your|the|wi-?fi|wlan|root|admin|guest|login|user|db|database|vpn|nas|router|server|temp|default"
)
_ENGLISH = (
    rf"passw(?:or)?d|pass ?phrase|passcode|pwd|pw|(?:{_KINDS}) pass"
    r"|pass(?= (?:for|on|to|of) (?:the|our|my|this|that)\b)"
)
# Verbs that announce a value, in each language.
_IS_ENGLISH = (
    r"(?:it's|it is|it was|that's|is|was|will be|be|are|equals|now|says|reads)"
    r"(?:[ ](?:now|still|currently|just|also|again|actually|simply))?"
)
_IS_FOREIGN = (
    r"(?:lautet|heißt|c'est|ist|war|wäre|est|était|és|es|era|será"
    r"|este|is|é|è|е|er|är|var|to jest|to|jest|je|bude|byl[oa]?"
    r"|on|oli|adalah|ialah|là|это|была?|теперь|है|हैं|هي|هو|הוא|היא|είναι|คือ)"
    r"(?:[ ](?:jetzt|nun|noch|maintenant|ahora|agora|ora|nu|teraz|teď|şimdi))?"
)
# Words that others are put before in one: `Datenbankpasswort`, `WLAN-Kennwort`.
_COMPOUND = "adgangskode|kennwort|kodeord|losenord|lösenord|passord|passwort|salasana|wachtwoord|jelszó|jelszav"
_TO_ENGLISH = "(?:(?:set|changed|reset|rotated|updated|switched|back) )?(?:to|from)"
_TO_FOREIGN = "auf|zu|in|à|en|a|por|para|em|con|naar|na|til|till|ke|ra|into|в|на"
_OPENS = r"[*_\"'`“„«「『(]{0,3}"
_WORD = r"[^\s\"'`“”«»」』<>]"


def _announcing(words: str, verbs: str, prepositions: str) -> str:
    """Return the pattern of a password behind ``words`` and what announces it."""
    return (
        rf"(?i)(?:(?<![^\W_])|(?={_COMPOUND}))(?:{words})(?:'s|\w{{0,4}})"
        rf"(?P<between>(?:[ \t][^\s:=,;.!?\"`()<>]{{1,20}}|[ \t]\([^()\n]{{1,40}}\)){{0,6}}?)"
        rf"(?P<comes>[ \t]?[:=：＝][ \t]{{0,4}}|,[ \t]|[ \t](?:->|=>|→|[–—-])[ \t]|[ \t](?:{verbs}):?[ \t]{{1,2}}"
        rf"|,[ ](?:it's|it is|it was|which is|namely|c'est)[ ]|[ ](?P<loose>{prepositions})[ ])"
        # Letters alone are a word: `was changed to …`.
        rf"{_OPENS}(?P<value>(?=[^\W\d_]*+(?:[^\s.,:;!?)]|[.:!?](?=\w))){_WORD}{{4,80}})"
    )


_SAID = (
    _announcing(_ENGLISH, f"{_IS_ENGLISH}|{_IS_FOREIGN}", f"{_TO_ENGLISH}|auf|naar|til|till|na"),
    _announcing(_any("spoken"), f"{_IS_FOREIGN}|{_IS_ENGLISH}", f"{_TO_FOREIGN}|{_TO_ENGLISH}"),
)
# Behind `with password`, and behind a word of Turkish or Ukrainian, nothing announces the value.
_FOLLOWS = (
    rf"(?i)(?<![^\W_])(?:{_ENGLISH}|{_any('spoken')}|{_any('passwords')})\w{{0,5}}[ \t]"
    rf"(?:[^\x00-\x7f\W]{{2,20}}[ ]){{0,3}}{_OPENS}(?P<value>{_WORD}{{6,80}})"
)
_PHRASE = (
    r"(?i)(?:passw(?:or)?d|pass ?phrase|passcode)(?:[^\n:=\"'`]{0,40}[:=]|(?<=phrase),?(?: which)? (?:is|was))"
    r"[ \t]{0,4}(?P<value>[a-z]{3,10}(?: (?:[a-z]{3,10}|\d{1,6})){2,7})(?=[ \t.]{0,3}(?:\Z|[\r\n]))"
)
# Words in letters that are not Latin: others of their language may follow them: `пароль от базы: …`, `密码是…`.
_IS = r"(?:är|е|to|jest|je|это|теперь|là|है|हैं|es|est|este|é|ist|was|is|هي|هو|הוא|היא|είναι|คือ|adalah)(?=\s)"
_FOREIGN_COMES = (
    rf"(?P<said>(?:\s?[:=：＝]|\s(?:->|→|[—–-])|[は는은是为為]|(?<=\s){_IS})[*_ \t\u3000]{{0,4}}|\s)"
    r"[\"'`「『“«]{0,2}"
)
_BETWEEN = (
    rf"\w{{0,5}}?(?:[^\n:=：＝]{{0,40}}?(?=\s?[:=：＝]|\s(?:->|→|—|–))|[^\n:=：＝]{{0,40}}?\s(?={_IS})"
    r"|(?:[^\x00-\x7f]|[ ](?=[^\x00-\x7f:=-])){0,30}?)"
)
# A value in the letters of these languages has no spaces around it in East Asia.
_LETTERS = r"(?:[\x21-\x7e]|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])"
_FOREIGN = rf"(?i:{_any('passwords')}){_BETWEEN}{_FOREIGN_COMES}(?P<value>{_LETTERS}{{6,80}})"
_FOREIGN_KEY = rf"(?i:{_any('keys')}){_BETWEEN}{_FOREIGN_COMES}(?P<value>[\x21-\x7e]{{8,200}})"

# Beginnings of the matches of these patterns: their words without what has to follow, for RE2.
_SAID_HEADS = (rf"passw(?:or)?d|pass ?phrase|passcode|pwd|pw|(?:{_KINDS}) pass|pass", _any("spoken"))
_FOLLOWS_HEADS = "|".join((*_SAID_HEADS, _any("passwords")))


# A name and a version, and a field's name.
_NAMED = r"[A-Za-z]+\d+(?:\.\d+)+|(?:id|[a-z]+_id)_[a-z]+\d?|(?:Input|Field|Feld|Campo)\d"


def _said(match: re.Match[str]) -> Cut | None:
    value = match["value"].rstrip(".,:;)]*_`\"'?。，；）")
    if made(_NAMED).fullmatch(value):
        return None
    sign = match["comes"].strip()
    # Behind a comma or a preposition a sentence goes on as often.
    plain = not match["between"] and sign != "," and not match["loose"]
    # Behind a comma the next argument of a call follows as often: `hash(password, saltRounds2)`.
    found = is_said(value, plain=plain) and (sign != "," or sum(map(str.isdigit, value)) > 1)
    return first(match, "password" if found else "", len(value))


def _follows(match: re.Match[str]) -> Cut | None:
    value = match["value"].rstrip(".,:;)]*_`\"'?。，；）")
    cased = any(map(str.isupper, value)) and any(map(str.islower, value))
    found = is_said(value, plain=False) and (cased or re.search(r"[\W_]|\d\d", value) is not None)
    return first(match, "password" if found else "", len(value))


def _without_said(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without passwords that a sentence announces; ``counts`` (kind → number) is added to."""
    for heads, pattern in zip(_SAID_HEADS, _SAID, strict=True):
        text = cleaned_at(heads, pattern, _said, text, counts)
    text = cleaned_at(_FOLLOWS_HEADS, _FOLLOWS, _follows, text, counts)
    return cleaned(_PHRASE, _phrase, text, counts)


def _phrase(match: re.Match[str]) -> Cut | None:
    value = match["value"]
    # Three words are enough for what is called a phrase.
    found = is_phrase(value) or (value.count(" ") == 2 and "phrase" in match[0].lower() and is_phrase(f"{value} 0"))
    return first(match, "password" if found else "")


def _without_foreign(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without secrets behind words in letters that are not ASCII's; ``counts`` is added to."""
    text = cleaned(_FOREIGN, _foreign, text, counts)
    text = cleaned(_FOREIGN_KEY, _foreign_key, text, counts)
    return _without_codes(_without_said(text, counts), counts)


def _foreign(match: re.Match[str]) -> Cut | None:
    value = match["value"].rstrip(".,:;)]*_`\"'")
    if made(_NAMED).fullmatch(value):
        return None
    said = bool(match["said"].strip())
    chosen = is_strong(value) or (
        said
        and (is_chosen(value, plain=True) or is_worded(value) or is_plain_word(value) or is_said(value, plain=True))
    )
    return first(match, "password" if chosen and not is_filler(value) else "", len(value))


def _foreign_key(match: re.Match[str]) -> Cut | None:
    value = match["value"].rstrip(".,:;)]*_`\"'")
    random = is_strong(value) or is_drawn(value) or (bool(match["said"].strip()) and is_worded(value))
    return first(match, "secret" if random and not is_filler(value) else "", len(value))


# Codes of doors, telephones, cards and messages.
_PLACES = (
    "door|gate|alarm|entry|entrance|garage|lock|lock ?box|key ?safe|safe|vault|building|lobby|elevator|locker|padlock"
    "|bike lock|unlock|phone|voicemail|sim|bank|card|atm|debit|credit|wi-?fi|parental|screen|house|office|keypad"
)
_SENT = (
    "sms|text|verification|security|confirmation|authentication|authenticator|auth|login|log-in|sign-in|2fa|mfa|access"
    "|activation|one[- ]time|single[- ]use|pairing|recovery|pass|secret|temporary|personal"
)
_NOUNS = (
    rf"(?:{_PLACES}) (?:code|pin(?: code)?|combination|combo|passcode)|(?:{_SENT})[ -]?(?:code|pin)"
    r"|pass ?code|otp|one[- ]time pass(?:word|code)"
    rf"|(?:{_PLACES}) (?:opens|unlocks)(?: with)?|code(?=:? (?:is )?[0-9]{{3}}-[0-9]{{3}}\b)"
    r"|code (?:for|to|of) (?:the|our|my|your) (?:[\w'-]{1,20} )?"
    r"(?:door|gate|alarm|lock|safe|garage|building|lobby|office|house)"
    r"|(?:pin|puk)(?:[ -]?(?:code|number|nummer))?|(?:m|sms)?tan|digicode|(?:your|my) (?:[\w.-]{1,20} )?code"
)
# No code of these lets anybody in: `the error code is 1045`.
_OTHER_CODES = (
    r"(?i)\b(?:error|status|exit|return|country|area|zip|postal|post|http|source|response|result|reason|event|char|key"
    r"|product|promo|discount|coupon|airport|currency|language|colou?r|op|byte|machine|bar|qr|sql|state|unicode|hex"
    r"|dial"
    r"|phone|course|class|tax|project|cost|sort|swift|bank|branch|sample|example|test|dead|legacy|production|client"
    r"|server|whole|python|rust|java|c|go|js|typescript|morse|our) code\Z"
)
_NUMBER = (
    r"#?(?:[0-9]{4,10}|[0-9]{3}[ -][0-9]{3,4}|[0-9]{2}[ -][0-9]{2}(?:[ -][0-9]{2}){0,2}"
    r"|[0-9]{1,3}[A-ZА-Я][0-9]{1,4})#?"
)
_SIGNS = r"[ \t]?[:=：＝][ \t]{0,3}|[ \t](?:->|=>|→|[–—-])[ \t]"
# Behind `pin` a preposition: `pin the version to 8305` has an object.
_PREPOSITIONS = "for|of|für|fürs|der|zur|zum|vom|de|del|della|do|da|van|voor|til|till|na|k|ke|w"
_GAP = r"[^\n0-9:=：＝;!?]"
_OPENED = r"[*_\"'`«「『【\[(]{0,3}"
_CLOSED = r"(?![0-9A-Za-z_%/-]|[.,:][0-9])"
_CODES = (
    rf"(?i)(?<![^\W_])(?P<noun>{_NOUNS})(?!\w)(?:{_GAP}{{0,40}}?(?:{_SIGNS}|[ \t](?:{_IS_ENGLISH}):?[ \t]{{1,2}})"
    rf"|(?: (?:{_PREPOSITIONS})\b{_GAP}{{1,30}}?)?[ \t](?:(?:ist|lautet|est|es|è|é|er|är|jest|je) )?)"
    rf"{_OPENED}(?P<value>{_NUMBER}){_CLOSED}",
    rf"(?i)(?<![A-Za-z0-9])(?:{_any('spoken_codes')}|{_any('codes')})\w{{0,4}}?{_GAP}{{0,40}}?"
    rf"(?:{_SIGNS}|[ \t](?:{_IS_FOREIGN}|le|la|el|o|il|den)(?:[ ](?:le|el|o|il))?:?[ \t]{{1,2}}|[ \t]|[は는은是为為])"
    rf"{_OPENED}(?P<value>{_NUMBER}){_CLOSED}",
)
_CODE_HEADS = (
    rf"(?:{_PLACES}) (?:code|pin|combination|combo|passcode|opens|unlocks)|(?:{_SENT})[ -]?(?:code|pin)"
    r"|pass ?code|otp|one[- ]time pass|code|pin|puk|m?tan|smstan|digicode|(?:your|my) ",
    f"{_any('spoken_codes')}|{_any('codes')}",
)
_CODE_BEFORE = (
    rf"(?i)(?<![\w.,/#:-])(?:[A-Z]-)?(?P<value>{_NUMBER})[*_\"'`]{{0,3}} (?:(?:is|as) (?:your|my|the) "
    rf"(?:[\w.'-]{{1,20}} ){{0,4}}?(?:{_NOUNS}|code|pin|passcode)|as (?:the )?(?:pin|passcode|otp))\b"
)
_CODE_BEFORE_HEADS = rf"(?:[A-Z]-)?(?:{_NUMBER})[*_\"'`]{{0,3}} [ia]s "
_CODE_WITHIN_HEADS = r"(?:enter|use|type|input|with) (?:the )?(?:code )?"
_CODE_WITHIN = (
    rf"(?i)\b{_CODE_WITHIN_HEADS}(?P<value>[0-9]{{5,8}}|[0-9]{{3}}[ -][0-9]{{3}}"
    r"|[0-9]{2}-[0-9]{2}-[0-9]{2})"
    r"(?= (?:to|and) (?:confirm|verify|log ?in|sign ?in|authenticate|complete|reset|unlock|activate|approve|finish))"
)
_RECOVERY_HEADS = r"(?:recovery|back-?up|rescue|emergency|scratch|reset) (?:code|key)"
_RECOVERY = (
    rf"(?i)\b{_RECOVERY_HEADS}(?: (?:is|was|=))?[:=]?[ \t]{{1,3}}"
    r"[*_\"'`(]{0,3}"
    r"(?P<value>(?-i:[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){1,7}|[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){1,7}))(?![\w-])"
)
_COUNTED = (
    r"(?i)\s?(?:lines?|times|items|bytes|users|rows|char\w*|files|tests|errors|ms|sec\w*|min\w*|%|words|tokens"
    r"|[kmg]b|of)\b"
)


def _code(match: re.Match[str]) -> Cut | None:
    value = match["value"]
    digits = re.sub(r"\D", "", value)
    is_row = digits in "01234567890" or digits in "9876543210" or len(set(digits)) == 1
    is_date = re.fullmatch(r"(?:19|20)\d\d[ -]?\d\d[ -]?\d\d", value) is not None
    noun = match.string[max(0, match.start() - 20) : match.end("noun")] if match.re.groupindex.get("noun") else ""
    is_other = made(_OTHER_CODES).search(noun) or made(_COUNTED).match(match.string, match.end("value"))
    return first(match, "" if is_row or is_date or is_other else "otp")


def _without_codes(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without codes that a sentence announces; ``counts`` (kind → number) is added to."""
    for heads, pattern in zip(_CODE_HEADS, _CODES, strict=True):
        text = cleaned_at(heads, pattern, _code, text, counts, numbered=True)
    text = cleaned_at(_CODE_BEFORE_HEADS, _CODE_BEFORE, _code, text, counts)
    text = cleaned_at(rf"{_CODE_WITHIN_HEADS}[0-9]{{2}}", _CODE_WITHIN, _code, text, counts)
    return cleaned_at(_RECOVERY_HEADS, _RECOVERY, _recovery, text, counts)


def _recovery(match: re.Match[str]) -> Cut | None:
    return first(match, "otp" if any(map(str.isdigit, match["value"])) else "")


# Prefilters. JSON in ASCII has letters as `\\u00e8`.
_SPOKEN = "|".join(word for word in VOCABULARY["spoken"] if word.isascii())
_SPOKEN_COMPOUND = "|".join(word for word in _COMPOUND.split("|") if word.isascii())
_SPOKEN_CODES = "|".join(word for word in VOCABULARY["spoken_codes"] if word.isascii())
_LETTER = r"(?:[^0-9\s\\\"]|\\u[0-9a-f]{4})"
_WORDS = rf"(?: {_LETTER}+)*"
_QUOTED = r"[\"'`*(\[#\\]*"
_WITH_DIGIT = rf"{_QUOTED}[^\s\"'`]*[0-9]"
# The last word before a value.
_LAST = (
    "is|was|be|are|equals|now|says|reads|still|currently|just|also|again|actually|simply|to|from|ist|lautet|war|est|es|era|este"
    "|er|var|jest|je|bude|adalah|ialah|auf|naar|till|til|na|ora|jetzt|ahora|teraz|nu"
)
_BETWEEN_WORDS = (
    r"(?:'s)?(?: (?:[^\s\\\"`:=()]|\\u[0-9a-f]{4})+| \([^()\n]+\))*"
    rf"(?:,| ?[:=]| (?:{_LAST}|[-=]>|[^\x00-\x7f]{{2,3}}|\\u[0-9a-f]{{4}}):?) (?:it's |it is |it was )?"
)
_DIGITS = r"(?:[0-9]{3}[ -]?[0-9]|[0-9]{2}[ -][0-9]{2}|[0-9]{1,3}[A-Z][0-9])"
RULES = (
    Rule(
        "announced",
        Prefilter(
            (
                "(?i:passcode|pass ?phrase|passw(?:or)?d|pwd)" + _BETWEEN_WORDS + _WITH_DIGIT,
                *each(
                    _SPOKEN_COMPOUND,
                    rf"(?:[a-z]|\\u[0-9a-f]{{4}}){{0,4}}(?: (?:[^\s\\\"`:=()]|\\u[0-9a-f]{{4}})+)*[ :=]+{_WITH_DIGIT}",
                ),
                r"(?i:pass ?phrase|passw(?:or)?d)(?:[^\n:=\"'`\\]*[:=]|,?(?: which)? (?:is|was))"
                r" *[a-z]{3,10} [a-z0-9]{1,10} [a-z0-9]",
            ),
            (
                rf"(?:passw(?:or)?d|pass ?phrase|passcode|pwd|pw) {_QUOTED}(?:[^\s\"'`&]*[0-9]|[^\s\"'`\\]*\\u)",
                rf"pw(?: [a-z@.'-]+)*(?:,| [a-z]+:?| ->| =>) {_WITH_DIGIT}",
                rf"(?i:{_KINDS}) pass(?: [a-z@.'-]+)*(?: is| was|:|=) {_WITH_DIGIT}",
                rf"pass (?:for|on|to|of) (?:the|our|my|this|that)(?: [a-z@.'-]+)*(?: is| was|:|=) {_WITH_DIGIT}",
                *each(_SPOKEN, r"(?:[a-z]|\\u[0-9a-f]{4}){0,4}[ ':=]"),
            ),
        ),
        clean=_without_said,
    ),
    Rule(
        "spoken code",
        Prefilter(
            (
                *each("code|combination|combo", rf"(?: (?:is|was|are))?[:=]? {_QUOTED}{_DIGITS}"),
                r"code (?:for|to|of) (?:the|our|my|your) [^0-9\n\\]*[0-9]{4}",
                r"code (?:f(?:\xc3\xbc|\\u00fc)r|zur|zum) [^0-9\n\\]*[0-9]{3}",
                r"[0-9]{2} (?:(?:is|as) (?:your|my|the) (?:[\w.'-]+ )*(?:code|pin|passcode|otp|password)"
                r"|as (?:pin|passcode|otp))",
                r"(?:recovery|backup|back-up|rescue|emergency|scratch|reset) (?:code|key)(?: (?:is|was|=))?[:=]? "
                rf"{_QUOTED}[A-Z0-9]{{4,8}}-",
            ),
            (
                r"(?i:pin|puk|otp|passcode|one[- ]time passw(?:or)?d|tan|mtan|smstan|digicode)"
                rf"(?:[ -]?(?:code|number|nummer))?{_WORDS}[:=]? {_QUOTED}{_DIGITS}",
                rf"(?i:(?:{_PLACES}) (?:opens|unlocks|code|pin|combination|combo|passcode)"
                rf"|(?:{_SENT})[ -]?(?:code|pin)){_WORDS}[:=]? {_QUOTED}{_DIGITS}",
                rf"(?i:{_SPOKEN_CODES})(?:[^0-9\n\\\"]|\\[tu])*{_DIGITS}",
                r"(?:enter|use|type|input|with) (?:the )?(?:code )?[0-9]{2}(?:[0-9][ -]?[0-9]{2}|-[0-9]{2}-)",
            ),
        ),
        clean=_without_codes,
    ),
    Rule("foreign", Prefilter(), clean=_without_foreign),
)
