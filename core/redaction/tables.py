"""Secrets that a table's head names, and those of Kubernetes' manifests: the name stands lines before the value.

Tables as markdown, databases and terminals draw them (bars, lines, spaces, tabs) and as CSV.
"""

from __future__ import annotations

import base64
import binascii
import re

from core.redaction import MARK
from core.redaction.commands import made
from core.redaction.looks import is_drawn, is_plain_word, is_strong, is_worded
from core.redaction.names import named
from core.redaction.screen import NAMED, PASSWORD, compiled
from core.redaction.values import is_about, is_chosen, is_listed, is_password, is_placeholder, is_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = rf"(?i:{PASSWORD}|{NAMED}|pass)"
_HEAD_MOST, _CELL_MOST, _ROWS_MOST = 1000, 40, 500
_BARS = str.maketrans("│┃║", "|||")
_RULE = re.compile(r"[\s|+:=\-─-╿]*")  # U+2500 to U+257F: box drawing
_WIDE = re.compile(r"[ \t]{2,}|\t")
_FIELD = re.compile(r"[\w.()/-]{1,30}(?: [\w.()/-]{1,20}){0,2}")
_DATE = re.compile(r"v?\d+(?:[.:/-]\d+)*\w?")
# Words and numbers one behind the other, as versions of things are called: `model-3-5-large-20241022`.
_COUNTED = re.compile(r"[A-Za-z]+(?:[-_.:/](?:[A-Za-z]+|\d+|v\d+))+")


def without_tables(text: str, counts: dict[str, int]) -> str:
    """``text`` without the values in columns that are called a password's or a secret's; ``counts`` is added to."""
    if "\n" not in text:
        return text
    lines = text.split("\n")
    search = compiled(_HEAD).search
    at, end = 0, len(lines)
    while at < end:
        line = lines[at]
        if len(line) < _HEAD_MOST and search(line.encode("utf-8", "surrogatepass")) is not None:
            at = _cleaned(lines, at, counts)
        else:
            at += 1
    return "\n".join(lines)


def _cleaned(lines: list[str], at: int, counts: dict[str, int]) -> int:
    """Clean the rows below a head at ``at``, if it is one, in ``lines`` themselves; where to go on."""
    for sign in ("|", "\t", ",", ";", " "):
        if (columns := _columns(lines[at], sign)) and _is_head(lines, at, sign):
            break
    else:
        return at + 1
    size = len(_cells(lines[at], sign))
    row = at + 1
    # Without lines or capitals only what looks like nothing else tells a table from lists of names.
    drawn = sign not in " \t" or lines[at].isupper() or (row < len(lines) and _is_rule(lines[row]))
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
    return bool(line.strip()) and _RULE.fullmatch(line) is not None


def _is_head(lines: list[str], at: int, sign: str) -> bool:
    """Whether the line begins its table, and so names what is below: it is no row itself, and counts nothing."""
    cells = [lines[at][slice(*cell)] for cell in _cells(lines[at], sign)]
    if any(_DATE.fullmatch(cell) or MARK in cell for cell in cells):
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
    if sign in ",;" and (f"{sign} " in head or not all(map(_FIELD.fullmatch, names))):
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
        places = [match.span() for match in _WIDE.finditer(line, low, high)]
        edges = [low, *(edge for place in places for edge in place), high]
        spans = list(zip(edges[::2], edges[1::2], strict=True))
    else:
        spans, low = [], 0
        for piece in line.split(sign):
            spans.append((low, low + len(piece)))
            low += len(piece) + 1
        if sign == "|":
            # What stands before the first bar and behind the last one is no cell where there is nothing.
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
    if _DATE.fullmatch(value):
        return ""
    found = named(name)
    if name.lower() == "pass" or (found is not None and found["pass"]):
        chosen = is_chosen(value, plain=True) or is_worded(value) or is_strong(value) or is_plain_word(value)
        return "password" if chosen else ""
    if _COUNTED.fullmatch(value):
        return ""
    digits = sum(map(str.isdigit, value))
    return (
        "secret" if len(value) >= 16 and digits > 1 and is_secret(value, quoted=True) and not is_listed(value) else ""
    )


# A statement of SQL names its columns before the values of its rows.
_INSERT = (
    r"(?is)\binsert\s{1,9}(?:ignore\s{1,9})?into\s{1,9}[\w.`\"\[\]]{1,120}\s{0,9}\((?P<names>[^()]{1,2000})\)\s{0,20}"
    r"values\s{0,20}(?P<rows>\((?:[^'();]|'(?:[^'\\]|''|\\.){0,4000}'|\([^()]{0,400}\)){1,400}\)"
    r"(?:\s{0,9},\s{0,9}\((?:[^'();]|'(?:[^'\\]|''|\\.){0,4000}'|\([^()]{0,400}\)){1,400}\)){0,500})"
)
_GIVEN = r"(?s)(?P<opens>\()|\\?'(?P<value>(?:[^'\\]|''|\\[^'])*)\\?'|(?P<next>,)|(?P<call>\b\w+\([^()]*\))"


def without_inserts(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without the secrets that a statement of SQL inserts; ``counts`` is added to."""

    def replaced(match: re.Match[str]) -> str:
        names = [name.strip(' \t\r\n`"[]\\') for name in match["names"].split(",")]
        columns = {index: name for index, name in enumerate(names) if _is_named(name)}
        if not columns:
            return match[0]
        rows, done, column = match["rows"], 0, 0
        pieces: list[str] = []
        for part in made(_GIVEN).finditer(rows):
            column = 0 if part["opens"] else column + 1 if part["next"] else column
            value = part["value"]
            kind = _inserted(columns[column], value) if value and column in columns else ""
            if kind:
                counts[kind] = counts.get(kind, 0) + 1
                pieces += (rows[done : part.start("value")], f"{MARK}{kind}]")
                done = part.end("value")
        start = match.start("rows") - match.start()
        return match[0][:start] + "".join((*pieces, rows[done:]))

    return made(_INSERT).sub(replaced, text)


def _inserted(name: str, value: str) -> str:
    """Return the kind of secret that ``value`` is in a column called ``name``, which holds nothing else."""
    found = named(name)
    is_pass = name.lower() == "pass" or (found is not None and found["pass"])
    if is_pass and len(value) >= 6 and is_password(value, quoted=True, tight=False) and any(map(str.isdigit, value)):
        return "password"
    return _judged(name, value)


# Kubernetes' `Secret`: https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/secret-v1/
_KIND = re.compile(r"(?m)^[ \t]*(?:- )?kind:[ \t]*[\"']?Secret[\"']?[ \t\r]*$|\"kind\"\s*:\s*\"Secret\"")
_BLOCK = re.compile(
    r"(?m)^(?P<indent>[ \t]*)(?:- )?(?:stringData|data):[ \t\r]*\n(?P<body>(?:(?P=indent)[ \t]+[^\n]*\n?)+)"
)
_OBJECT = re.compile(r"\"(?:stringData|data)\"\s*:\s*\{(?P<body>[^{}]{0,100000})\}")
# A line of YAML, and a pair of JSON's: each begins at one place only.
_LINE = (
    r"(?m)^[ \t]+(?P<name>\"[\w.-]{1,253}\"|[\w.-]{1,253}):[ \t]{0,4}"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"']{6,100000})(?P=quote)[ \t\r]*$"
)
_PAIR = r"(?P<name>\"[\w.-]{1,253}\")\s{0,20}:\s{0,20}\"(?P<value>[^\s\"']{6,100000})\""
# What a manifest's secret names without letting anybody in.
_TOLD = re.compile(
    r"(?:user|user-?name|login|host|host-?name|server|port|db|data-?base|db-?name|name|name-?space|region|e-?mail|"
    r"bucket"
    r"|type|engine|end-?point|url|uri|issuer|tenant|realm|project|account|zone|domain|version|.*\.crt|.*cert)$",
    re.IGNORECASE,
)


def without_manifests(text: str, counts: dict[str, int]) -> str:
    """``text`` without what Kubernetes' secrets hold, whatever it is called there; ``counts`` is added to."""
    if _KIND.search(text) is None:
        return text
    parts = re.split(r"(?m)(^---[^\n]*\n)", text)
    return "".join(_without_manifest(part, counts) if _KIND.search(part) else part for part in parts)


def _without_manifest(text: str, counts: dict[str, int]) -> str:
    def replaced(match: re.Match[str]) -> str:
        start, end = (place - match.start() for place in match.span("body"))
        pattern = _PAIR if match.re is _OBJECT else _LINE
        return match[0][:start] + made(pattern).sub(given, match["body"]) + match[0][end:]

    def given(match: re.Match[str]) -> str:
        if not _is_kept(match["name"].strip('"'), match["value"]):
            return match[0]
        counts["secret"] = counts.get("secret", 0) + 1
        start, end = (place - match.start() for place in match.span("value"))
        return f"{match[0][:start]}{MARK}secret]{match[0][end:]}"

    return _OBJECT.sub(replaced, _BLOCK.sub(replaced, text))


def _is_kept(name: str, value: str) -> bool:
    if MARK in value or is_placeholder(value):
        return False
    told = bool(_TOLD.fullmatch(name.rpartition("_")[2] if "_" in name else name))
    try:
        plain = base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        return not told and (is_chosen(value, plain=True) or is_secret(value, quoted=True))
    if plain.startswith(b"-----BEGIN CERT"):
        return False
    return len(value) >= 8 and (not told or b"://" in plain)
