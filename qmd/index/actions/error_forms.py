"""When are two errors the same? If only paths, numbers, hashes and addresses differ.

tests/qmd/index/actions/data has the cases, one a line.
"""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Characters of an error's signature.
_SIGNATURE = 160

_STATUS = re.compile(r"^(?:Exit code|(?:Command|Process) (?:exited|failed) with (?:exit )?code) (-?\d+)\.?$")
# Lines of which one names the fault: an exception with its text or a compiler's place and message first, then a tool's
# own error, then any mention.
_NAMES = (
    re.compile(
        r"\b[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit)\b(?::|$)|\berror(?:\[\w+\])?:? [A-Z]{1,4}\d+"
        r"|^[\w./@+-]+\.\w{1,5}[:(]\d+[:,]\d+\)?:? \S"
    ),
    re.compile(
        r"(?i)\b(?:error|fatal|panic)\b(?:\[\w+\])?:|\bcommand not found\b|\bno such file\b|\bpermission denied"
    ),
    re.compile(
        r"(?i)^(?:---? )?(?:fail|failed)\b|\b(?:failed|undefined|cannot|can't|could not|unable|denied|invalid)\b"
    ),
    re.compile(r"(?i)\b(?:error|exception|fail\w*|not found|unknown|missing|unexpected|refused|timed out)\b"),
)
_FRAME = re.compile(
    r'^(?:File "|at |raise |Traceback |\^+$|\.\.\. |\[rerun|\d+ *[|│]|[+*] |[=_~-]{4,}|(?i:npm warn|warn\b|warning\b))'
)
# Lines that say only that something failed.
_GENERIC = re.compile(
    r"(?i)\b(?:command|process|script)\b.{0,40}\b(?:failed|exited|completed)\b.{0,20}\bcode \d+\W*$"
    r"|^\W*(?:\[[\w:.-]+\] *)?error:? task failed\W*$|^\W*(?:error|fail|failed|failure)\W*$"
)
_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "`": "'"})
_OUT = (
    # A mark in place of a secret is a part of its address.
    (re.compile(r"\b[a-z][a-z0-9+.-]*://(?:\[redacted:[^\]\n]*\]|[^\s'\"<>)\]])+"), "<url>"),
    (re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.]+"), "<address>"),
    (re.compile(r"(?:\b(?:\d{1,3}\.){3}\d{1,3}|\blocalhost|\[::1?\]):\d+\b|\b(?:\d{1,3}\.){3}\d{1,3}\b"), "<address>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<hash>"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"), "<hash>"),
    # A path has a slash, or is a file's name with a place behind it.
    (
        re.compile(
            r"(?<![\w<])(?:[A-Za-z]:[\\/]|~?/|\.{1,2}/|[\w.@+-]+/)(?:[\w.@+~()\[\]*-]+[\\/]?)+(?:[:(]\d+(?:[:,]\d+)?\)?)?"
            r"|\b[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,4}[:(]\d+(?:[:,]\d+)?\)?"
        ),
        "<path>",
    ),
    # "HTTP 404", "exit status 2" and codes such as E501 say which fault it is.
    (
        re.compile(
            r"(?i)(?<!http )(?<!status )(?<!code )(?<!errno )(?<!status code )(?<![\w.<])"
            r"\d[\d.,:]*(?:m?s|[kmg]i?b|%)?(?!\w)"
        ),
        "N",
    ),
)  # fmt: skip
# The line and column behind a path.
_PLACE = re.compile(r"<path>(?:,N\)|\(N(?:,N)?\)|:N)+")


def status(line: str) -> int | None:
    """Return the exit status that a line of an outcome gives, None if it gives none."""
    match = _STATUS.match(line)
    return int(match[1]) if match and len(match[1]) < 10 else None


def telling(lines: Sequence[str]) -> str:
    """Return the line of an error that names the fault, "" if no line says anything."""
    said = [line.strip() for line in lines[:200] if status(line.strip()) is None and not _FRAME.match(line.strip())]
    said = [line for line in said if any(map(str.isalpha, line)) and not _GENERIC.search(line)]
    for pattern in _NAMES:
        for line in said:
            if pattern.search(line):
                return line
    return said[0] if said else ""


def error(lines: Sequence[str]) -> str:
    """Return the signature of an error: the line that names the fault, in its normal form."""
    return signature(telling(lines)) if lines else ""


@lru_cache(1024)
def signature(line: str) -> str:
    """Return one line of an error without paths, numbers, hashes and addresses."""
    line = line[:2000].translate(_QUOTES).strip()
    line = re.sub(r"^(?:E  +|[>*!•✘✗×│|-]+ +|\d{4}-\d\d-\d\d[T ]\S+ +|\[\w+\] (?=\S))+", "", line)
    for pattern, word in _OUT:
        line = pattern.sub(word, line)
    line = _PLACE.sub("<path>", line)
    if line.startswith("<path>") and any(map(str.isalpha, rest := line[6:].lstrip(" :-"))):
        line = rest
    line = " ".join(line.split())
    line = line.rstrip(" .,:;")
    return line if len(line) <= _SIGNATURE else f"{line[: _SIGNATURE - 1].rstrip()}…"
