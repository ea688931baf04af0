"""Secrets that the structure around them shows: pairs of fields, blocks, tables, SQL's statements, manifests, lists."""

from __future__ import annotations

import re

from core.redaction.assignments import assigned, is_session
from core.redaction.engine import compiled
from core.redaction.looks import (
    is_basic,
    is_chosen,
    is_drawn,
    is_filler,
    is_leet,
    is_listed,
    is_password,
    is_placeholder,
    is_plain_word,
    is_secret,
    is_strong,
    is_worded,
)
from core.redaction.mark import MARK
from core.redaction.names import FOREIGN, NAMED, PASSWORD, SCREENED_NAMED, SCREENED_PASSWORD, is_about, named
from core.redaction.rule import BREAK, Prefilter, Rule, each, first, made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.redaction.rule import Cut

_NAME = rf"(?P<name>[\w./-]{{0,40}}?(?:{PASSWORD}|{NAMED})[\w.-]{{0,30}})"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# `- name: DB_PASSWORD\n  value: …`, `{"name": "DB_PASSWORD", "value": "…"}`, Terraform's `variable`, a property list.
_PAIRED = (
    rf"(?i)(?:\b(?:name|key|variable)\b\\*[\"']?\s{{0,3}}[:=]?\s{{0,3}}\\*[\"']?|<(?:key|name)>){_NAME}\\*[\"']?(?:</(?:key|name)>)?"
    r"(?:\\[nrt]|[\s,{\\\"'>-]){0,60}(?:(?:type|sensitive|nullable|description)\s{1,12}=\s{1,3}(?:\w{1,20}|\"[^\"\n]{0,200}\")\s{1,20}){0,4}"
    r"(?:<(?:string|value)>|(?:[a-z]{2,12}:)?(?:value|default)\\*[\"']?\s{0,3}[:=]\s{0,3})"
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
_VERSIONED = (
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
_LISTED_CODE = r"(?:\d{4} \d{4}(?!\d)|[A-Za-z0-9]{4,12}(?:[–-][A-Za-z0-9]{4,12}){0,4})"
_GAP = r"(?:[\s,;|\"'`*•]|\\[nrt\"]|\d{1,2}[.)](?=\s)|(?<=\s)-(?=\s)){1,24}"
_CODES = (
    r"(?i)\b(?:recovery|back-?up|scratch|rescue|emergency)[ _-]codes?\b[^\n\\]{0,120}?(?:[\s:\"'\[,`]|\\[nrt\"]){1,24}"
    rf"(?:\d{{1,2}}[.)]\s{{1,3}}|[-*•]\s{{1,3}})?(?P<value>{_LISTED_CODE}(?:{_GAP}{_LISTED_CODE}){{1,31}})"
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
# Typed into a field by an agent's browser.
_TYPED = (
    r"(?i)(?<!\\)\\*\"element\\*\"\s{0,3}:\s{0,3}\\*\"[^\"\\\n]{0,80}passw[^\"\\\n]{0,80}\\*\",[^{}\n]{0,300}?"
    r"\\*\"text\\*\"\s{0,3}:\s{0,3}\\*\"(?P<value>[^\"\\\n]{3,200})"
)

# The groups that hold a value.
_VALUES = ("value", "bare", "oracle", "go", "pgpass", "twilio", "quoted")


def _rule(name: str, prefilter: Prefilter, pattern: str, kind: Callable[[re.Match[str]], str]) -> Rule:
    """Return a rule with a judge that names the kind of secret in a match, "" for none."""

    def judge(match: re.Match[str]) -> Cut | None:
        groups = match.groupdict()
        return first(match, kind(match), group=next(group for group in _VALUES if groups.get(group)))

    return Rule(name, prefilter, pattern, judge)


def _encoded(match: re.Match[str]) -> str:
    from urllib.parse import unquote  # late: few texts are encoded for an address

    value = unquote(match["value"])
    if match["url"]:
        # Only what an encoded `@` follows is a password.
        ends = match.string[match.end() : match.end() + 3].upper() == "%40"
        return "url" if ends and not is_filler(value) else ""
    if match["header"]:
        return "bearer" if len(value) >= 16 and is_secret(value, quoted=False) else ""
    head = re.search(r"[A-Za-z0-9_.-]*\Z", match.string[max(0, match.start() - 40) : match.start()])
    return assigned((head[0] if head else "") + match["name"], value)


def _paired(match: re.Match[str]) -> str:
    return assigned(match["name"], match["value"] or match["bare"])


def _labelled(match: re.Match[str]) -> str:
    # The text before is looked at once there is something to judge.
    head = re.search(r"[\w ./-]*\Z", match.string[max(0, match.start() - 60) : match.start()])
    return _described(head[0] if head else "", match["value"])


def _row(match: re.Match[str]) -> str:
    return _described(match["name"], match["value"])


def _described(name: str, value: str) -> str:
    # Tables and lists describe names of settings, too: `| password | string |`.
    if not any(map(str.isdigit, value)) or made(_VERSIONED).fullmatch(value):
        return ""
    found = assigned(name, value)
    if found == "secret" and len(value) < _LEAST:
        return ""  # counts and names of what is called so stand there, too
    if not found and is_worded(value):
        # `assigned` holds it to be a name: `Kiwi_Fruit9`.
        return assigned(name, value.replace("_", "").replace("-", ""))
    return found


def _block(match: re.Match[str]) -> str:
    return assigned(match["name"].strip(" \t-\\\"'"), match["value"])


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
        value = match["pgpass"]
        chosen = any(map(str.isdigit, value)) and is_password(value, quoted=False, tight=True)
        return "password" if chosen and not value.isdigit() else ""
    if match["twilio"]:
        return "twilio"
    value = match["oracle"] or match["go"]
    return "" if is_filler(value) else "url"


def _user(match: re.Match[str]) -> str:
    return "url" if is_secret(match["value"], quoted=False) else ""


def _codes(match: re.Match[str]) -> str:
    # Numbers of errors are no codes of this kind.
    found = [
        code
        for code in re.findall(_LISTED_CODE, match["value"])
        if len(code) > 4 and not re.fullmatch(r"[A-Z]{0,3}\d{3,5}", code)
    ]
    least = 1 if made(r"[^\n]*:[^\n\w]*\n").match(match[0]) else 2
    return "otp" if len(found) > least and sum(any(map(str.isdigit, code)) for code in found) > len(found) * 0.7 else ""


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


_HEAD = rf"(?i:{PASSWORD}|{NAMED}|pass)"
_HEAD_MOST, _CELL_MOST, _ROWS_MOST = 1000, 40, 500
_BARS = str.maketrans("│┃║", "|||")
_RULE = r"[\s|+:=\-─-╿]*"  # U+2500 to U+257F: box drawing
_WIDE = r"[ \t]{2,}|\t"
_COLUMN_NAME = r"[\w.()/-]{1,30}(?: [\w.()/-]{1,20}){0,2}"
_DATE = r"v?\d+(?:[.:/-]\d+)*\w?"
# Words and numbers one behind the other, as versions of things are called: `model-3-5-large-20241022`.
_COUNTED = r"[A-Za-z]+(?:[-_.:/](?:[A-Za-z]+|\d+|v\d+))+"


def _without_tables(text: str, counts: dict[str, int]) -> str:
    """``text`` without the values in columns that are called a password's or a secret's; ``counts`` is added to."""
    if "\n" not in text:
        return text
    lines = text.split("\n")
    search = compiled(_HEAD).search
    at, end = 0, len(lines)
    while at < end:
        line = lines[at]
        if len(line) < _HEAD_MOST and search(line.encode("utf-8", "surrogatepass")) is not None:
            at = _cleaned_rows(lines, at, counts)
        else:
            at += 1
    return "\n".join(lines)


# The column of the owner of a password.
_OWNER = r"(?i)(?:^|\t)(?:user|user[ _]?name|login|e-?mail|account)(?:\t|$)"


def _cleaned_rows(lines: list[str], at: int, counts: dict[str, int]) -> int:
    """Clean the rows below a head at ``at``, if it is one, in ``lines`` themselves; where to go on."""
    for sign in ("|", "\t", ",", ";", " "):
        if (columns := _columns(lines[at], sign)) and _is_head(lines, at, sign):
            break
    else:
        return at + 1
    size = len(_cells(lines[at], sign))
    row = at + 1
    # Without lines or capitals, only a value that looks like nothing else shows that it is no list of names.
    drawn = (
        sign not in " \t"
        or lines[at].isupper()
        or (row < len(lines) and _is_rule(lines[row]))
        or (sign == "\t" and made(_OWNER).search(lines[at]) is not None)
    )
    while row < min(len(lines), at + _ROWS_MOST):
        line = lines[row]
        if sign not in ",;" and _is_rule(line):
            row += 1
            continue
        cells = _cells(line, sign)
        if len(cells) != size or len(line) > _HEAD_MOST * 4:
            break
        for index, name in reversed(columns):
            start, end = cells[index]
            kind = _judged(name, line[start:end])
            if kind and (drawn or is_strong(line[start:end]) or is_drawn(line[start:end])):
                counts[kind] = counts.get(kind, 0) + 1
                line = f"{line[:start]}{MARK}{kind}]{line[end:]}"
        lines[row] = line
        row += 1
    return row if row > at + 1 else at + 1


def _is_rule(line: str) -> bool:
    return bool(line.strip()) and made(_RULE).fullmatch(line) is not None


def _is_head(lines: list[str], at: int, sign: str) -> bool:
    """Return True if the line begins its table and names the columns: it is no row, and counts nothing."""
    cells = [lines[at][slice(*cell)] for cell in _cells(lines[at], sign)]
    if any(made(_DATE).fullmatch(cell) or MARK in cell for cell in cells):
        return False
    if sign in " \t" and any(map(str.isdigit, lines[at])):
        return False
    above = at - 1
    if sign not in ",;" and above >= 0 and _is_rule(lines[above]):
        above -= 1
    if above < 0 or (f"{sign} " in lines[above] and sign in ",;"):
        return True
    size = len(_cells(lines[above], sign))
    return size != len(cells) if sign in ",;" else size < 2


def _columns(head: str, sign: str) -> list[tuple[int, str]]:
    """(number, name) of the columns that hold secrets, if ``head`` is a table's; of the separator ``sign``."""
    cells = _cells(head, sign)
    if len(cells) < 2:
        return []
    names = [head[start:end] for start, end in cells]
    # Prose has commas, too, and spaces behind them.
    if sign in ",;" and (f"{sign} " in head or not all(map(made(_COLUMN_NAME).fullmatch, names))):
        return []
    return [(index, name) for index, name in enumerate(names) if len(name) <= _CELL_MOST and _is_named(name)]


def _is_named(name: str) -> bool:
    plain = re.sub(r"\s{0,3}\([^()]{0,40}\)$", "", name).strip()
    if any(map(str.isdigit, plain)):
        return False
    found = named(plain)
    return (plain.lower() == "pass" or found is not None) and not is_about(plain.replace(" ", "_"))


def _cells(line: str, sign: str) -> list[tuple[int, int]]:
    """Where the cells of a line begin and end, without the spaces, quotes and marks around them."""
    if sign == "|":
        line = line.translate(_BARS)
        if "|" not in line:
            return []
    return list(_split(line, sign))


def _split(line: str, sign: str) -> Iterator[tuple[int, int]]:
    if sign == " ":
        low = len(line) - len(line.lstrip())
        high = len(line.rstrip())
        places = [match.span() for match in made(_WIDE).finditer(line, low, high)]
        edges = [low, *(edge for place in places for edge in place), high]
        spans = list(zip(edges[::2], edges[1::2], strict=True))
    else:
        spans, low = [], 0
        for piece in line.split(sign):
            spans.append((low, low + len(piece)))
            low += len(piece) + 1
        if sign == "|":
            # Nothing before the first bar and behind the last one is no cell.
            if spans and not line[slice(*spans[0])].strip():
                del spans[0]
            if spans and not line[slice(*spans[-1])].strip():
                del spans[-1]
    for start, end in spans:
        while start < end and line[start] in " \t\r`*_\"'":
            start += 1
        while end > start and line[end - 1] in " \t\r`*_\"'":
            end -= 1
        yield start, end


def _judged(name: str, value: str) -> str:
    """The kind of secret that ``value`` is in a column called ``name``; "" for none."""
    if not 6 <= len(value) <= 4096 or " " in value or MARK in value or is_placeholder(value):
        return ""
    if made(_DATE).fullmatch(value):
        return ""
    found = named(name)
    if name.lower() == "pass" or (found is not None and found["pass"]):
        chosen = is_chosen(value, plain=True) or is_worded(value) or is_strong(value) or is_plain_word(value)
        return "password" if chosen else ""
    if made(_COUNTED).fullmatch(value):
        return ""
    digits = sum(map(str.isdigit, value))
    random = len(value) >= 16 and digits > 1 and is_secret(value, quoted=True) and not is_listed(value)
    return "secret" if random or (value.isascii() and (is_strong(value) or is_leet(value))) else ""


# A statement of SQL names its columns before the values of its rows.
_INSERT = (
    r"(?is)\binsert\s{1,9}(?:ignore\s{1,9})?into\s{1,9}[\w.`\"\[\]]{1,120}\s{0,9}\((?P<names>[^()]{1,2000})\)\s{0,20}"
    r"values\s{0,20}(?P<rows>\((?:[^'();]|'(?:[^'\\]|''|\\.){0,4000}'|\([^()]{0,400}\)){1,400}\)"
    r"(?:\s{0,9},\s{0,9}\((?:[^'();]|'(?:[^'\\]|''|\\.){0,4000}'|\([^()]{0,400}\)){1,400}\)){0,500})"
)
_INSERTED = r"(?s)(?P<opens>\()|\\?'(?P<value>(?:[^'\\]|''|\\[^'])*)\\?'|(?P<next>,)|(?P<call>\b\w+\([^()]*\))"


def _without_inserts(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without the secrets that a statement of SQL inserts; ``counts`` is added to."""

    def replaced(match: re.Match[str]) -> str:
        names = [name.strip(' \t\r\n`"[]\\') for name in match["names"].split(",")]
        columns = {index: name for index, name in enumerate(names) if _is_named(name)}
        if not columns:
            return match[0]
        rows, done, column = match["rows"], 0, 0
        pieces: list[str] = []
        for part in made(_INSERTED).finditer(rows):
            column = 0 if part["opens"] else column + 1 if part["next"] else column
            value = part["value"]
            kind = _inserted_kind(columns[column], value) if value and column in columns else ""
            if kind:
                counts[kind] = counts.get(kind, 0) + 1
                pieces += (rows[done : part.start("value")], f"{MARK}{kind}]")
                done = part.end("value")
        start = match.start("rows") - match.start()
        return match[0][:start] + "".join((*pieces, rows[done:]))

    return made(_INSERT).sub(replaced, text)


def _inserted_kind(name: str, value: str) -> str:
    """Return the kind of secret that ``value`` is in a column called ``name``, which holds nothing else."""
    found = named(name)
    is_pass = name.lower() == "pass" or (found is not None and found["pass"])
    if is_pass and len(value) >= 6 and is_password(value, quoted=True, tight=False) and any(map(str.isdigit, value)):
        return "password"
    return _judged(name, value)


# Kubernetes' `Secret`: https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/secret-v1/
_KIND = r"(?m)^[ \t]*(?:- )?(?:kind:[ \t]*[\"']?Secret[\"']?|stringData:)[ \t\r]*$|\"kind\"\s*:\s*\"Secret\""
_DATA_BLOCK = r"(?m)^(?P<indent>[ \t]*)(?:- )?(?:stringData|data):[ \t\r]*\n(?P<body>(?:(?P=indent)[ \t]+[^\n]*\n?)+)"
_OBJECT = r"\"(?:stringData|data)\"\s*:\s*\{(?P<body>[^{}]{0,100000})\}"
# A line of YAML, and a pair of JSON's: each begins at one place only.
_YAML_PAIR = (
    r"(?m)^[ \t]+(?P<name>\"[\w.-]{1,253}\"|[\w.-]{1,253}):[ \t]{0,4}"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"']{6,100000})(?P=quote)[ \t\r]*$"
)
_JSON_PAIR = r"(?P<name>\"[\w.-]{1,253}\")\s{0,20}:\s{0,20}\"(?P<value>[^\s\"']{6,100000})\""
# Names in a manifest's secret that let nobody in.
_DESCRIBED = (
    r"(?i)(?:user|user-?name|login|host|host-?name|server|port|db|data-?base|db-?name|name|name-?space|region|e-?mail|"
    r"bucket"
    r"|type|engine|end-?point|url|uri|issuer|tenant|realm|project|account|zone|domain|version|.*\.crt|.*cert)$"
)


def _without_manifests(text: str, counts: dict[str, int]) -> str:
    """``text`` without what Kubernetes' secrets hold, whatever it is called there; ``counts`` is added to."""
    if made(_KIND).search(text) is None:
        return text
    parts = re.split(r"(?m)(^---[^\n]*\n)", text)
    return "".join(_without_manifest(part, counts) if made(_KIND).search(part) else part for part in parts)


def _without_manifest(text: str, counts: dict[str, int]) -> str:
    def replaced(match: re.Match[str]) -> str:
        start, end = (place - match.start() for place in match.span("body"))
        pattern = _JSON_PAIR if match.re.pattern == _OBJECT else _YAML_PAIR
        return match[0][:start] + made(pattern).sub(given, match["body"]) + match[0][end:]

    def given(match: re.Match[str]) -> str:
        if not _is_kept(match["name"].strip('"'), match["value"]):
            return match[0]
        counts["secret"] = counts.get("secret", 0) + 1
        start, end = (place - match.start() for place in match.span("value"))
        return f"{match[0][:start]}{MARK}secret]{match[0][end:]}"

    return made(_OBJECT).sub(replaced, made(_DATA_BLOCK).sub(replaced, text))


def _is_kept(name: str, value: str) -> bool:
    if MARK in value or is_placeholder(value):
        return False
    import base64  # late: few texts have manifests
    import binascii

    told = bool(made(_DESCRIBED).fullmatch(name.rpartition("_")[2] if "_" in name else name))
    try:
        plain = base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        return not told and (is_chosen(value, plain=True) or is_secret(value, quoted=True))
    if plain.startswith(b"-----BEGIN CERT"):
        return False
    return len(value) >= 8 and (not told or b"://" in plain)


# Prefilters. Over lines: a name and a value side by side.
_BESIDE = (
    r"(?:\\*[\"'])?(?:<\\*/(?:key|name)>)?(?:\\[nrt]|[\s,{\\\"'>-])*"
    r"(?:(?:type|sensitive|nullable|description) *= *(?:\w+|\\*\"[^\"\n]*\")(?:\\[nrt]|\s)+)*"
    r"(?:<(?:string|value)>|(?:[a-z]+:)?(?:value|default)\\*[\"']? *[:=])"
)
_BELOW = rf"(?:\\*[\"'])?: *[|>][+-]? *(?:#[^\n\\]*)?{BREAK}"
_PERCENT = r"(?:%5C)*(?:%2[27])?(?:%20|\+)?%3[AD]"
_LABELLED = (
    r"(?:(?:\*\*?|__) ?[:=][*_]*|:(?:\*|__)[*_]*"
    r"|[*_]* (?:\[[^\]\\\n]*\]|\([^)\\\n]*\)) ?[:=][*_]*|[`*]*:?[`*]*(?:[ \t]|\\t)*\|)"
    # A secret has a digit.
    r"(?:[ \t]|\\t)*[`*\"'\\]*[^\s|`*\"'\\]*[0-9]"
)
# The head of a table: a bar behind it, a column or the end of the line, and below it a line or fields.
_DRAWN = rf"[ `*]*\|[^\n\\]*{BREAK}[ \t]*[|+]?[ :]*--|[ \t]+(?:\xe2\x94|\\u250)"
# The columns before it. Code that goes on in the next line has nothing there.
_FIELD, _PART = r"(?:[!-+.-:<-\[\]-~-]|\\\\?\")", r"(?:  +|\t|\\t|[,;|])"


def _columns_of(value: str) -> str:
    """Return what follows a name in a table's head, up to a row's ``value``, with columns parted by spaces or signs."""
    fields = rf" *{_FIELD}+{_PART}(?:{_FIELD}*{_PART})*"
    return (
        r"\\*\"?(?:(?:  +|\t|\\t)(?:[\w \t]|\\t)*|(?:[,;|](?:[\w.-]|\\*\")+)+)"
        rf"{BREAK}(?:{fields})?\\*\"?{value}"
        rf"|\\*\"?[ \t]*{BREAK}(?:{fields}\\*\"?{value}|[ \t]*-+\+)"
    )


_CHOSEN = _columns_of(r"[!-+.-:<-\[\]-~-]{4}")
_TABLE = rf"{_DRAWN}|[ \t]*{BREAK}[ \t]*--|{_CHOSEN}"
# Finds of these go on over the ends of lines.
PAIRS = (
    _rule("pair", Prefilter(after_passwords=_BESIDE, after_names=_BESIDE), _PAIRED, _paired),
    _rule("block", Prefilter(after_passwords=_BELOW, after_names=_BELOW), _BLOCK, _block),
    _rule("jwk", Prefilter((r"\"kty\\*\"",)), _JWK, _jwk),
)
TABLES = (
    _rule("codes", Prefilter((r"(?:ckup|covery|gency|ratch|scue)[ _-]code",)), _CODES, _codes),
    _rule("exported cookie", Prefilter((r"ttpOnly\\*\"",)), _COOKIE, _cookie),
    # Typed into a field by an agent's browser.
    _rule("typed", Prefilter((r"lement\\*\"\s*:\s*\\*\"[^\"\\]*passw",)), _TYPED, _typed),
    Rule(
        "table",
        Prefilter(
            (rf"[,;](?-i:p)ass(?:{_CHOSEN})",),
            (rf"(?:{FOREIGN})(?:{_TABLE})", rf"pass(?:{_DRAWN}|[ \t]*{BREAK}[ \t]*-+\+)"),
            after_passwords=_TABLE,
            after_names=rf"{_DRAWN}|{_columns_of('[A-Za-z0-9_]{16}')}",
        ),
        clean=_without_tables,
    ),
    Rule(
        "insert",
        Prefilter(
            (
                r"insert(?:\s|\\[nrt])+(?:ignore )?into [^(\n]*\([^()]*"
                rf"(?:{SCREENED_PASSWORD}|pass|{SCREENED_NAMED})[^()]*\)(?:\s|\\[nrt])*values",
            )
        ),
        clean=_without_inserts,
    ),
    # A manifest of Kubernetes'.
    Rule("manifest", Prefilter((r"ind(?:\\*\")?:\s*\\*[\"']?(?-i:S)ecret", "ringdata:")), clean=_without_manifests),
)
_LABELS = Prefilter(after_passwords=_LABELLED, after_names=_LABELLED)
PLACES = (
    _rule("label", _LABELS, _LABEL, _labelled),
    _rule("row of a table", _LABELS, _ROW, _row),
    _rule(
        "encoded",
        Prefilter(
            (*each("basic|bearer", r"(?:%20|\+)"), r"%3A%2F%2F[\w.~-]*%3A[\w.~*!$()%-]+%40"),
            after_passwords=_PERCENT,
            after_names=_PERCENT,
        ),
        _ENCODED,
        _encoded,
    ),
    _rule("basic", Prefilter((r"\"auth\\*\"\s*:\s*\\*\"[A-Za-z0-9+/]",)), _BASIC, _basic),
    _rule(
        "hook",
        Prefilter((r"/private-[0-9a-f]{8}", r"hooks?\\*/(?:[\w.-]+\\*/)*[A-Za-z_-]*[0-9][A-Za-z0-9_-]{8}")),
        _HOOK,
        _hook,
    ),
    _rule(
        "connection",
        Prefilter(
            (
                *(r"(?-i:A)C[0-9a-f]{16}", r"jdbc:oracle:", *each("expdp|impdp|sqlldr|sqlplus", r"\s")),
                *(r"@(?:tcp|unix|udp)\(", r":(?:[0-9]{4,5}|\*):[\w.*-]+:[\w.*-]+:[^\s:]"),
            )
        ),
        _LOGIN,
        _login,
    ),
    _rule("user", Prefilter((r":\\*/\\*/[A-Za-z0-9_-]+(?::[\w-]*)?@",)), _USER, _user),
    _rule("setup key", Prefilter((r"tup key[^A-Za-z]",)), _SEED, _seed),
    _rule("cookie jar", Prefilter((r"(?-i:TRUE|FALSE)(?:\t|\\t)/",)), _JAR, _jar),
)
