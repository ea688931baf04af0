"""Passwords that are spoken of: what looks like one, and nothing else, on the line of the word for it."""

from __future__ import annotations

import re

from core.redaction.commands import made
from core.redaction.looks import is_strong
from core.redaction.screen import FOREIGN
from core.redaction.values import is_filler

_WORDS = (
    r"passw(?:or)?d|passwort|passphrase|pw|kennwort|creds|mdp|mot de passe|clave|contrase(?:ñ|n)a|senha|wachtwoord"
    rf"|{FOREIGN}"
)
_NEAR = rf"(?i)(?<![A-Za-z0-9/+_-])(?:{_WORDS})(?![A-Za-z0-9/+-])(?P<rest>[^\n\\\"]{{2,100}})"
_BEFORE = rf"(?i)(?P<rest>(?<![^\s`\"'*(])[^\s`\"']{{8,64}})[`\"'*]{{0,3}}\sas the (?:{_WORDS})(?![A-Za-z0-9-])"
_VALUE = r"(?<![^\s`\"'(：:=*])(?P<value>[^\s`\"'<>{}\[\]|\\;,()：]{8,80})"
# Words and numbers with a sign between or behind them, as names of methods, pages and parts are: `UserV2#create`.
_COMPOSED = re.compile(r"(?:[A-Z]?[a-z]{2,}|[A-Z]{2,}|[A-Z](?=\d)|[\d\W_])+")
# What says that the value comes now.
_SAID = re.compile(
    r"(?:[:=：]|(?<!\w)(?:is|was|be|to|ist|est|es|é|è|lautet))[*_]{0,2}\s{0,3}[\"'`(]{0,2}\Z", re.IGNORECASE
)


def without_spoken(text: str, counts: dict[str, int]) -> str:
    """``text`` without passwords that are told by their looks; ``counts`` (kind → number) is added to."""

    def replaced(match: re.Match[str]) -> str:
        start, end = (place - match.start() for place in match.span("rest"))
        return match[0][:start] + made(_VALUE).sub(judged, match["rest"]) + match[0][end:]

    def judged(match: re.Match[str]) -> str:
        value = match["value"].strip("*_").rstrip(".,:)]?")
        value = re.match(r"[\x21-\x7e]*", value)[0]  # type: ignore[index]
        if not is_strong(value) or is_filler(value):
            return match[0]
        if _COMPOSED.fullmatch(value) and not _SAID.search(match.string, 0, match.start("value")):
            return match[0]
        counts["password"] = counts.get("password", 0) + 1
        return match[0].replace(value, "[redacted:password]", 1)

    for pattern in (_NEAR, _BEFORE):
        text = made(pattern).sub(replaced, text)
    return text
