"""Passwords that are spoken of: what looks like one, and nothing else, on the line of the word for it."""

from __future__ import annotations

import re

from core.redaction.commands import made
from core.redaction.languages import CODES, KEYS, PASSWORDS
from core.redaction.looks import is_drawn, is_plain_word, is_strong, is_worded
from core.redaction.phrases import is_phrase
from core.redaction.screen import FOREIGN
from core.redaction.values import is_chosen, is_filler

_WORDS = (
    r"passw(?:or)?d|passwort|passphrase|pw|kennwort|creds|mdp|mot de passe|clave|contrase(?:ñ|n)a|senha|wachtwoord"
    rf"|{FOREIGN}"
)
_NEAR = rf"(?i)(?<![A-Za-z0-9/+_-])(?:{_WORDS})(?![A-Za-z0-9/+-])(?P<rest>[^\n\\\"]{{2,100}})"
_BEFORE = rf"(?i)(?P<rest>(?<![^\s`\"'*(])[^\s`\"']{{8,64}})[`\"'*]{{0,3}}\sas the (?:{_WORDS})(?![A-Za-z0-9-])"
_VALUE = r"(?<![^\s`\"'(：:=*])(?P<value>[^\s`\"'<>{}\[\]|\\;,()：]{8,80})"
# Words and numbers with a sign between or behind them, as names of methods, pages and parts are: `UserV2#create`.
_COMPOSED = re.compile(r"(?:[A-Z]?[a-z]{2,}|[A-Z]{2,}|[A-Z](?=\d)|[\d\W_])+")
_PHRASE = (
    r"(?i:passw(?:or)?d|passphrase|passcode)[^\n\"'`]{1,30}[\"'`]"
    r"(?P<value>[a-z]{3,10}(?: [a-z]{3,10}){2,11}(?: \d{1,6})?)[\"'`]"
)
# Behind the word others of its language, and what says that the value comes now: `пароль от базы: …`, `密码是…`.
_COPULA = r"(?:är|to|jest|je|это|теперь|là|है|हैं|es|est|este|é|ist|was|is|هي|هو|הוא|היא|είναι|คือ|adalah)(?=\s)"
_COMES = (
    rf"(?P<said>(?:\s?[:=：＝]|\s(?:->|→|[—–-])|[は는은是为為]|(?<=\s){_COPULA})[*_ \t\u3000]{{0,4}}|\s)"
    r"[\"'`「『“«]{0,2}"
)
_BETWEEN = (
    rf"\w{{0,5}}?(?:[^\n:=：＝]{{0,40}}?(?=\s?[:=：＝]|\s(?:->|→|—|–))|[^\n:=：＝]{{0,40}}?\s(?={_COPULA})"
    r"|(?:[^\x00-\x7f]|[ ](?=[^\x00-\x7f:=-])){0,30}?)"
)
_FOREIGN = rf"(?i:{'|'.join(PASSWORDS)}){_BETWEEN}{_COMES}(?P<value>[\x21-\x7e]{{6,80}})"
_FOREIGN_KEY = rf"(?i:{'|'.join(KEYS)}){_BETWEEN}{_COMES}(?P<value>[\x21-\x7e]{{8,200}})"
_FOREIGN_CODE = (
    rf"(?i:{'|'.join(CODES)})\w{{0,5}}[^\n0-9]{{0,24}}?"
    r"(?P<value>[0-9]{3}[ -][0-9]{3}|[0-9]{4,8})(?![\w.,/-]?[0-9])"
)
# What says that the value comes now.
_SAID = re.compile(
    r"(?:[:=：]|->|=>|→|(?<=\s)[–—-]|(?<!\w)(?:is|was|be|to|as|ist|est|es|é|è|lautet))[*_]{0,2}\s{0,3}[\"'`(]{0,2}\Z",
    re.IGNORECASE,
)


def without_spoken(text: str, counts: dict[str, int]) -> str:
    """``text`` without passwords that are told by their looks; ``counts`` (kind → number) is added to."""

    sure = False

    def replaced(match: re.Match[str]) -> str:
        start, end = (place - match.start() for place in match.span("rest"))
        return match[0][:start] + made(_VALUE).sub(judged, match["rest"]) + match[0][end:]

    def judged(match: re.Match[str]) -> str:
        value = match["value"].strip("*_").rstrip(".,:)]?")
        value = re.match(r"[\x21-\x7e]*", value)[0]  # type: ignore[index]
        if not is_strong(value) or is_filler(value):
            return match[0]
        if not sure and _COMPOSED.fullmatch(value) and not _SAID.search(match.string, 0, match.start("value")):
            return match[0]
        counts["password"] = counts.get("password", 0) + 1
        return match[0].replace(value, "[redacted:password]", 1)

    text = made(_NEAR).sub(replaced, text)
    sure = True
    text = made(_BEFORE).sub(replaced, text)
    return made(_PHRASE).sub(lambda match: _phrase(match, counts), text)


def _phrase(match: re.Match[str], counts: dict[str, int]) -> str:
    if not is_phrase(match["value"]):
        return match[0]
    counts["password"] = counts.get("password", 0) + 1
    return match[0].replace(match["value"], "[redacted:password]", 1)


def without_foreign(text: str, counts: dict[str, int]) -> str:
    """``text`` without passwords behind words for one in letters that are not Latin; ``counts`` is added to."""

    def judged(match: re.Match[str]) -> str:
        value = match["value"].rstrip(".,:;)]*_`\"'")
        chosen = is_strong(value) or (
            bool(match["said"].strip()) and (is_chosen(value, plain=True) or is_worded(value) or is_plain_word(value))
        )
        return replaced(match, value, "password") if chosen and not is_filler(value) else match[0]

    def key(match: re.Match[str]) -> str:
        value = match["value"].rstrip(".,:;)]*_`\"'")
        random = is_strong(value) or is_drawn(value) or (bool(match["said"].strip()) and is_worded(value))
        return replaced(match, value, "secret") if random and not is_filler(value) else match[0]

    def replaced(match: re.Match[str], value: str, kind: str) -> str:
        counts[kind] = counts.get(kind, 0) + 1
        return match[0].replace(value, f"[redacted:{kind}]", 1)

    text = made(_FOREIGN_KEY).sub(key, made(_FOREIGN).sub(judged, text))
    return made(_FOREIGN_CODE).sub(lambda match: replaced(match, match["value"], "otp"), text)
