"""Secrets that a command hands to a store or prints, second factors, and cookies in a file of their own.

Their names say nothing there: ``aws ssm put-parameter --value …``, the line below ``openssl rand``, a list of codes.
"""

from __future__ import annotations

import re

from core.redaction.commands import made
from core.redaction.looks import HEX, UUID, is_drawn, is_strong
from core.redaction.values import is_about, is_chosen, is_password, is_placeholder, is_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Judge = Callable[[re.Match[str]], str]

_STORING = (
    r"secrets?[ :](?:add|bulk|create|edit|generic|import|push|put|set|update|upload|versions add)"
    r"|(?:add|create|put|set|update)-secret(?:-value|-version)?|ssm put-parameter|\bkv (?:patch|put)"
    r"|\benv[ :](?:add|set)|config:set|config set --secret|add-generic-password|user-secrets set"
)
_STORED = rf"(?i)(?:{_STORING})\s(?P<rest>[^\n|;&<]{{1,1000}})"
# A name and a value, an option and its, or a value alone; of quotes what is between them.
_GIVEN = (
    r"(?<!\S)(?P<option>--?[A-Za-z][\w-]{0,40}(?:[ \t]{1,3}|=)|-[A-Za-z](?=[\"']))?(?P<name>(?![\"'])[\w.:/-]{1,80}=)?"
    r"(?:\\*(?P<quote>[\"'])(?P<quoted>(?:(?!(?P=quote))[^\n\\]){3,4096})\\*(?P=quote)|(?P<bare>[^\s\"'`\\<>$()]{3,4096}))"
)
_ENTRY = re.compile(r"[A-Za-z_][\w.-]{0,80}=(?=\S)")
_VALUES = frozenset("value secret-string secret-value secret-binary string-value data body b w".split())
# `echo … | vercel env add NAME`.
_PIPED = (
    r"(?i)\b(?:echo|printf)\s{1,3}(?:-n\s{1,3}|[\"']?%s(?:\\{1,2}n)?[\"']?\s{1,3})?[\"']?(?P<value>[^\s|\"']{3,4096})[\"']?"
    rf"\s{{0,3}}\|\s{{0,3}}(?=[^\n|;&]{{0,120}}?(?:{_STORING}))"
)
_LINE = r"(?:\r?\n|(?:\\r)?\\n)"
_PRINTING = r"(?:openssl rand|wg gen(?:key|psk)|pwgen|initial-admin-secret)\b|\btoken_(?:hex|urlsafe)\("
_PRINTED = (
    rf"(?i)(?:{_PRINTING})[^\n\\]{{0,200}}(?:\\[^rn\s][^\n\\]{{0,100}}){{0,4}}"
    rf"{_LINE}(?:```\w{{0,10}}{_LINE})?[ \t]{{0,8}}[\"']?"
    r"(?P<value>[^\s\"'`<>$\\]{8,2048})(?=[\"']?[ \t%]{0,4}(?:\Z|[\r\n\\]))"
)
_CODE = r"(?:\d{4} \d{4}(?!\d)|[A-Za-z0-9]{4,12}(?:[–-][A-Za-z0-9]{4,12}){0,4})"
_BETWEEN = r"(?:[\s,;|\"'`*•]|\\[nrt\"]|\d{1,2}[.)](?=\s)|(?<=\s)-(?=\s)){1,24}"
_CODES = (
    r"(?i)\b(?:recovery|back-?up|scratch|rescue|emergency)[ _-]codes?\b[^\n\\]{0,120}?(?:[\s:\"'\[,`]|\\[nrt\"]){1,24}"
    rf"(?:\d{{1,2}}[.)]\s{{1,3}}|[-*•]\s{{1,3}})?(?P<value>{_CODE}(?:{_BETWEEN}{_CODE}){{3,31}})"
)
# RFC 4648's base32, as the applications show it: https://github.com/google/google-authenticator/wiki/Key-Uri-Format
_SEED = (
    r"(?i)\bset-?up key\b[^\n\\]{0,40}?(?<![A-Za-z0-9+/=_-])"
    r"(?P<value>(?-i:[A-Z2-7]{16,64})={0,6}|(?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4})(?![A-Za-z0-9+/=_-])"
)
# curl's format of cookies, which browsers' extensions write: https://curl.se/docs/http-cookies.html
_JAR = (
    r"(?:TRUE|FALSE)(?:\t|\\t)/[^\s\\]{0,100}(?:\t|\\t)(?:TRUE|FALSE)(?:\t|\\t)\d{1,12}(?:\t|\\t)"
    r"(?P<name>[^\s\\]{1,80})(?:\t|\\t)(?P<value>[^\s\\]{8,4096})"
)
_COOKIE = (
    r"(?<!\\)\\*\"name\\*\"\s{0,3}:\s{0,3}\\*\"(?P<name>[^\"\\\n]{1,80})\\*\",(?:\s|\\n){0,20}"
    r"(?:\\*\"\w{1,20}\\*\"\s{0,3}:\s{0,3}(?:[\w.-]{1,24}|\\*\"[^\"\\\n]{0,100}\\*\"),(?:\s|\\n){0,20}){0,8}"
    r"\\*\"value\\*\"\s{0,3}:\s{0,3}\\*\"(?P<value>[^\"\\\n]{8,4096})"
)
# What an agent's browser is to type into a field.
_TYPED = (
    r"(?i)(?<!\\)\\*\"element\\*\"\s{0,3}:\s{0,3}\\*\"[^\"\\\n]{0,80}passw[^\"\\\n]{0,80}\\*\",[^{}\n]{0,300}?"
    r"\\*\"text\\*\"\s{0,3}:\s{0,3}\\*\"(?P<value>[^\"\\\n]{3,200})"
)
_SESSION = re.compile(r"sess(?:ion)?[-_]?id|^li_at$", re.IGNORECASE)
_LETS_IN = re.compile(r"sess|sid\b|auth|token|csrf|xsrf|login|remember|jwt", re.IGNORECASE)


def is_session(name: str, value: str) -> bool:
    """Whether a cookie's value may let somebody in."""
    # `session_id` is no name of something else here.
    if is_placeholder(value.removeprefix(".")) or (is_about(name) and not _SESSION.search(name)):
        return False
    named = len(value) >= 8 and any(map(str.isdigit, value)) and _LETS_IN.search(name)
    return bool(named) or is_secret(value.removeprefix("."), quoted=False)


def without_stored(text: str, counts: dict[str, int]) -> str:
    """``text`` without what commands hand to a store of secrets; ``counts`` (kind → number) is added to."""

    def replaced(match: re.Match[str]) -> str:
        head = match[0][: match.start("rest") - match.start()]
        return head + made(_GIVEN).sub(given, match["rest"])

    def given(match: re.Match[str]) -> str:
        group = "bare" if match["quoted"] is None else "quoted"
        value = match[group]
        skipped = 0
        if group == "quoted" and not match["name"] and (whole := _ENTRY.match(value)):
            skipped = whole.end()  # `--from-literal='name=value'`
            value = value[skipped:]
        if value.startswith(("[redacted:", "-")) or is_placeholder(value) or not _is_stored(match, value, skipped > 0):
            return match[0]
        counts["secret"] = counts.get("secret", 0) + 1
        start = match.start(group) - match.start() + skipped
        return f"{match[0][:start]}[redacted:secret]{match[0][start + len(value) :]}"

    def piped(match: re.Match[str]) -> str:
        if is_placeholder(match["value"]) or not _is_kept(match["value"]):
            return match[0]
        counts["secret"] = counts.get("secret", 0) + 1
        return match[0].replace(match["value"], "[redacted:secret]", 1)

    return made(_PIPED).sub(piped, made(_STORED).sub(replaced, text))


def _is_kept(value: str) -> bool:
    """Whether a value that a store is given is more than a setting."""
    return is_drawn(value) or is_strong(value) or is_chosen(value, plain=False) or is_secret(value, quoted=False)


def _is_stored(match: re.Match[str], value: str, is_entry: bool) -> bool:
    option = (match["option"] or "").strip(" \t=-").lower()
    if option in _VALUES or (
        (match["name"] or is_entry) and option in ("", "from-literal", "set", "secret", "plaintext")
    ):
        return _is_kept(value)
    if option and option not in ("secret", "plaintext", "prod", "yes", "force"):
        return False  # where it is kept, whose it is
    return is_drawn(value) and not UUID.fullmatch(value)


def _printed(match: re.Match[str]) -> str:
    value = match["value"]
    drawn = is_drawn(value) or HEX.fullmatch(value) or UUID.fullmatch(value) or is_chosen(value, plain=False)
    return "secret" if drawn and not is_placeholder(value) else ""


def _codes(match: re.Match[str]) -> str:
    # What errors are numbered with is no code of this kind.
    found = [
        code
        for code in re.findall(_CODE, match["value"])
        if len(code) > 4 and not re.fullmatch(r"[A-Z]{0,3}\d{3,5}", code)
    ]
    return "otp" if len(found) > 3 and sum(any(map(str.isdigit, code)) for code in found) > len(found) * 0.7 else ""


def _seed(match: re.Match[str]) -> str:
    value = match["value"].rstrip("=")
    inner = sum(map(str.isdigit, value[1:-1]))
    return "otp" if inner and re.search(r"\d[ -]?[A-Za-z]", value) and (inner > 1 or value.isupper()) else ""


def _jar(match: re.Match[str]) -> str:
    return "cookie" if is_session(match["name"], match["value"]) else ""


def _cookie(match: re.Match[str]) -> str:
    around = match.string[max(0, match.start() - 600) : match.end() + 600]
    told = any(mark in around for mark in ('"httpOnly', '\\"httpOnly', '"sameSite'))
    return "cookie" if told and is_session(match["name"], match["value"]) else ""


def _typed(match: re.Match[str]) -> str:
    return "password" if is_password(match["value"], quoted=True, tight=False) else ""


# Over lines, and within one.
PAIRS: tuple[tuple[str, Judge], ...] = ((_PRINTED, _printed), (_CODES, _codes), (_COOKIE, _cookie), (_TYPED, _typed))
PLACES: tuple[tuple[str, Judge], ...] = ((_SEED, _seed), (_JAR, _jar))
