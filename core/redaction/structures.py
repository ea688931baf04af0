"""Places that are told by their structure: a name and its value side by side, what is encoded for an address, drivers.

Each is a pattern, compiled once it is needed, with a group ``value`` (or one of ``_VALUES``), and its judge: match →
kind, or "" for none.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from core.redaction.commands import made
from core.redaction.looks import is_worded
from core.redaction.screen import NAMED, PASSWORD
from core.redaction.values import is_basic, is_chosen, is_filler, is_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Judge = Callable[[re.Match[str]], str]

_NAME = rf"(?P<name>[\w./-]{{0,40}}?(?:{PASSWORD}|{NAMED})[\w.-]{{0,30}})"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# `- name: DB_PASSWORD\n  value: …`, `{"name": "DB_PASSWORD", "value": "…"}`, Terraform's `variable`, a property list.
PAIRED = (
    rf"(?i)(?:\b(?:name|key|variable)\b\\*[\"']?\s{{0,3}}[:=]?\s{{0,3}}\\*[\"']?|<(?:key|name)>){_NAME}\\*[\"']?(?:</(?:key|name)>)?"
    r"(?:\\[nrt]|[\s,{\\\"'>-]){0,60}(?:(?:type|sensitive|nullable|description)\s{1,12}=\s{1,3}(?:\w{1,20}|\"[^\"\n]{0,200}\")\s{1,20}){0,4}"
    r"(?:<(?:string|value)>|(?:value|default)\\*[\"']?\s{0,3}[:=]\s{0,3})"
    r"(?:(?P<quote>\\*[\"'])(?P<value>(?:(?!(?P=quote))[^\n]){3,400})|(?P<bare>[^\s\"'`,;<>(){}\\]{3,400}))"
)
_ENCODED = (
    # The name's end: what is before it is looked at once there is something to judge.
    rf"(?i)(?:(?P<name>(?:{PASSWORD}|{NAMED})[\w.-]{{0,30}})(?:%5C)*(?:%22|%27)?(?:%20|\+)?(?:%3A|%3D)(?:%20|\+)?(?:%5C)*(?:%22|%27)?"
    r"|(?P<url>%3A%2F%2F[\w.~-]{0,60}%3A)|(?P<header>(?<![A-Za-z])(?:bearer|basic)(?:%20|\+)))"
    r"(?P<value>(?:[\w.~*!$()-]|%(?!2[2267C]|7D|5C|3B|40|0A|20)[0-9A-F]{2}){4,600})"
)
# YAML's block of one line: `password: |`, and the value below.
_BLOCK = (
    r"(?m)^(?P<name>[^\n:]{1,80}):[ \t]{0,4}[|>][+-]?[ \t]{0,4}(?:#[^\n]{0,100})?\r?\n"
    r"[ \t]{1,40}(?P<value>[^\s:]{6,400})[ \t]{0,4}(?=\r?\n|\Z)"
)
# A name in bold before its colon, and one with what is there already (`aws configure`).
_LABEL = (
    r"(?:(?:(?:\*{1,2}|__)?(?:[ ]\[[^\]\n]{0,40}\]|[ ]\([^()\n]{0,40}\))|\*{1,2}|__)[ ]?[:=](?:\*{1,2}|__)?"
    r"|:(?:\*{1,2}|__))"
    r"[ \t]{0,4}[`*\"']{0,3}"
    r"(?P<value>[^\s`*|\"']{6,400})"
)
# A row of a table.
_ROW = (
    rf"(?i)\|[ \t]{{0,20}}[`*]{{0,3}}(?:[\w.-]{{1,20}}[ ]){{0,2}}{_NAME}[`*]{{0,3}}:?[`*]{{0,3}}[ \t]{{0,20}}\|"
    r"[ \t]{0,20}[`*]{0,3}(?P<value>[^\s|`*]{6,400})[`*]{0,3}[ \t]{0,60}(?=\|)"
)
# A version, a model or an item of work: what a list says of something else that is called so.
_VERSIONED = re.compile(
    r"v?\d{1,4}(?:\.\d{1,4})+(?:-[a-z0-9.]{1,10})?|[A-Z]{2,10}[#-]\d{1,6}"
    r"|[a-z]{2,12}[\d.]{0,5}(?:-[a-z0-9.]{1,8}){1,6}"
)
_JWK = r"(?<!\\)\\*\"(?:d|p|q|dp|dq|qi|k)\\*\"\s{0,3}:\s{0,3}\\*\"(?P<value>[A-Za-z0-9_-]{20,4096})"
_NEAR = 4096
_LEAST = 12
_BASIC = r"(?<!\\)\\*\"auth\\*\"\s{0,3}:\s{0,3}\\*\"(?P<value>[A-Za-z0-9+/]{8,400}={0,2})"
_HOOK = (
    r"https?:\\?/\\?/[^\s/\"'<>\\]{3,100}(?:\\?/[\w.@-]{1,60}){0,6}?\\?/(?:[\w-]{0,16}hooks?)\\?/"
    r"(?:(?!commit|blob|tree|raw|pull|issues|docs|releases)[\w.-]{1,40}\\?/){0,2}"
    rf"(?P<value>{_UUID}|[A-Za-z0-9_-]{{20,100}})(?![\w-])"
    r"|/calendar/ical/[^\s/]{3,100}/private-(?P<bare>[0-9a-f]{32})/"
)
_LOGIN = (
    r"(?m)\b(?:jdbc:oracle:\w{2,6}:|(?:sqlplus|sqlldr|impdp|expdp)\s[^\n|;&]{0,60}?)[\w$#]{1,60}/(?P<oracle>[^\s@\"'/\\]{3,100})@"
    r"|\bAC[0-9a-f]{32}\W{1,12}(?P<twilio>[0-9a-f]{32})\b"
    r"|\b[\w.-]{1,60}:(?P<go>[^\s@\"'/\\]{3,200})@(?:tcp|unix|udp)\("
    r"|^[\w.*-]{1,100}:(?:\d{4,5}|\*):(?=[A-Za-z*])[\w.*-]{1,60}:(?=[\w.*-]*[A-Za-z*])[\w.*-]{1,60}:(?P<pgpass>[^\s:]{4,100})$"
)
_USER = (
    r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,24}:\\?/\\?/(?P<value>[A-Za-z0-9_-]{20,300})(?::(?:x-oauth-basic|x-token-auth)?)?"
    r"@(?!\w{0,40}\.?ingest|sentry)(?=[\w\[])"
)


# ODBC's and ADO's ways to write a value with a semicolon in it
# (https://learn.microsoft.com/sql/odbc/reference/syntax/sqldriverconnect-function).
_BRACED = (
    r"(?im)[;\"']\s{0,3}(?:pwd|password)\s{0,3}=\s{0,3}(?:\{(?P<value>(?:[^{}\n]|\}\}){3,200})\}(?!\})"
    r"|(?P<quote>\\*[\"'])(?P<quoted>(?:(?!(?P=quote))[^\n\\]){3,200})(?P=quote))(?=\s{0,3}(?:[;\"'\\]|$))"
)

# The words that a wallet's keys are made of (BIP 39: twelve to twenty-four, of three to eight letters).
_SEED = (
    r"(?i)\b(?:seed phrase|recovery phrase|(?:\w{1,20}_)?mnemonic)\\*[\"']?\s?[:=]\s{0,2}\\*[\"']?"
    r"(?P<value>(?:[a-z]{3,8} ){11,23}[a-z]{3,8})\b"
)


def _encoded(match: re.Match[str]) -> str:
    value = unquote(match["value"])
    if match["url"]:
        # Only what an encoded `@` follows is a password.
        ends = match.string[match.end() : match.end() + 3].upper() == "%40"
        return "url" if ends and not is_filler(value) else ""
    if match["header"]:
        return "bearer" if len(value) >= 16 and is_secret(value, quoted=False) else ""
    head = re.search(r"[A-Za-z0-9_.-]*\Z", match.string[max(0, match.start() - 40) : match.start()])
    return _assigned((head[0] if head else "") + match["name"], value)


def _paired(match: re.Match[str]) -> str:
    return _assigned(match["name"], match["value"] or match["bare"])


def _labelled(match: re.Match[str]) -> str:
    # What stands before is looked at once there is something to judge.
    head = re.search(r"[\w ./-]*\Z", match.string[max(0, match.start() - 60) : match.start()])
    return _told_of(head[0] if head else "", match["value"])


def _row(match: re.Match[str]) -> str:
    return _told_of(match["name"], match["value"])


def _told_of(name: str, value: str) -> str:
    # Tables and lists describe names of settings, too: `| password | string |`.
    if not any(map(str.isdigit, value)) or _VERSIONED.fullmatch(value):
        return ""
    found = _assigned(name, value)
    if found == "secret" and len(value) < _LEAST:
        return ""  # counts and names of what is called so stand there, too
    if not found and is_worded(value):
        # What `assigned` takes for a name: `Kiwi_Fruit9`.
        return _assigned(name, value.replace("_", "").replace("-", ""))
    return found


def _block(match: re.Match[str]) -> str:
    return _assigned(match["name"].strip(" \t-\\\"'"), match["value"])


def _jwk(match: re.Match[str]) -> str:
    around = match.string[max(0, match.start() - _NEAR) : match.end() + _NEAR]
    return "private-key" if '"kty' in around or 'kty\\"' in around else ""


def _basic(match: re.Match[str]) -> str:
    return "basic" if is_basic(match["value"]) else ""


def _hook(match: re.Match[str]) -> str:
    value = match["value"]
    if not value or re.fullmatch(_UUID, value):
        return "secret"
    random = sum(map(str.isdigit, value)) > 2 and value.count("-") < 2 and is_secret(value, quoted=False)
    return "secret" if random else ""


def _login(match: re.Match[str]) -> str:
    if match["pgpass"]:
        return "password" if is_chosen(match["pgpass"], plain=True) else ""
    if match["twilio"]:
        return "twilio"
    value = match["oracle"] or match["go"]
    return "" if is_filler(value) else "url"


def _braced(match: re.Match[str]) -> str:
    value = match["value"] or match["quoted"]
    if " " in value and any(map(str.isdigit, value)) and not is_filler(value):
        return "password"
    if is_filler(value) or not re.search(r"[^\w\s.\[\]()'\"]", value):
        return "password" if is_chosen(value, plain=True) else ""
    return "password" if any(map(str.isalnum, value)) and not re.search(r"[$%{]\w+[}%]?|\+|\(", value) else ""


def _seed(match: re.Match[str]) -> str:
    # Of those that are published for tests most words are the same.
    return "seed" if len(set(match["value"].split())) > 6 else ""


def _user(match: re.Match[str]) -> str:
    return "url" if is_secret(match["value"], quoted=False) else ""


def _assigned(name: str, value: str) -> str:
    from core.redaction.rules import assigned

    return assigned(name, value)


# Over lines, and within one.
PAIRS: tuple[tuple[str, Judge], ...] = ((PAIRED, _paired), (_BLOCK, _block), (_JWK, _jwk))
PLACES: tuple[tuple[str, Judge], ...] = (
    (_ENCODED, _encoded),
    (_BASIC, _basic),
    (_HOOK, _hook),
    (_LOGIN, _login),
    (_USER, _user),
    (_SEED, _seed),
)
LABELS: tuple[tuple[str, Judge], ...] = ((_LABEL, _labelled), (_ROW, _row))
# Where a password is assigned to in a list of settings.
SETTINGS: tuple[tuple[str, Judge], ...] = ((_BRACED, _braced),)


def cleaned(places: tuple[tuple[str, Judge], ...], text: str, counts: dict[str, int]) -> str:
    """``text`` with every value that a judge names a kind for replaced; ``counts`` (kind → number) is added to."""
    for pattern, judge in places:
        text = made(pattern).sub(lambda match, judge=judge: _replaced(match, judge(match), counts), text)  # type: ignore[misc]
    return text


def _replaced(match: re.Match[str], kind: str, counts: dict[str, int]) -> str:
    if not kind:
        return match[0]
    counts[kind] = counts.get(kind, 0) + 1
    start, end = match.span(next(group for group, found in match.groupdict().items() if found and group in _VALUES))
    return f"{match[0][: start - match.start()]}[redacted:{kind}]{match[0][end - match.start() :]}"


_VALUES = frozenset(("value", "bare", "oracle", "go", "pgpass", "twilio", "quoted"))
