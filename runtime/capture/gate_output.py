"""The output of programs: lines that a stack trace, a search, a lock file or a command's report has and no person
writes.

One line is an example in somebody's argument. A text is output if most of its lines are, and the rest gives no reason
and is no paragraph.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

_FEWEST = 2
_MOST = 0.6
# A line of prose has at least so many words; output may have one such line in four.
_PROSE_WORDS = 6
_PROSE_SHARE = 4
# The beginnings of an indented line, or a line of a box: it goes on with the line before.
_INDENTED = " \t│"


def _any(*alternatives: str) -> str:
    return "|".join(f"(?:{each})" for each in alternatives)


_PLACE = r"\.{0,2}/?(?:[\w@+-][\w.@+-]{0,80}/){0,12}[\w@+-][\w.@+-]{0,80}\.\w{1,8}"
_HASH = r"(?=[a-f]*\d)[0-9a-f]{7,40}"
_STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"
# Rule → its lines. The order decides where two rules know a line.
_LINES = {
    "stack-trace": _any(
        r"^Traceback \(most recent call last\):",
        r'^\s*File "[^"]{1,300}", line \d+',
        r"^\s*at (?:async |new )?(?:.{1,200} \(.{1,300}:\d+(?::\d+)?\)|\S+[/.]\S*:\d+(?::\d+)?)$",
        r"^\s*at [\w.$<>]{1,200}\((?:Native Method|Unknown Source|[\w.]+:\d+)\)$",
        r"^\s*\.\.\. \d+ (?:more|common frames omitted)$",
        r"^(?:Caused by: |Exception in thread \"|Uncaught \w+Error|thread '[^']{1,80}' .{0,40}panicked at )",
        r"^\s*\d+: +(?:0x[0-9a-f]+ - )?[\w<][\w:<>$]{2,}::\w",
        r"^goroutine \d+ \[|^\s+/\S+\.go:\d+(?: \+0x|$)|^panic: ",
        r"^\s*from \S+\.rb:\d+:in |^\S+\.rb:\d+:in ",
        r"^#\d+ +(?:0x[0-9a-f]+ in |\w+ \(.{0,200}\) at \S+:\d+|\S+\(\d+\): )",
        r"^(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt)(?:: .*)?$",
        r"^\s*[\^~]+\s*$|^node:internal/|^Node\.js v\d|^stack backtrace:$|^note: (?:run with|Some details)",
    ),
    "test-output": _any(
        r"^[=_-]{3,} .{1,120} [=_-]{3,}$|^[=_-]{20,}$",
        r"^(?:tests?|spec)/\S+ (?:[.FEsx]+(?:\s|$)|PASSED|FAILED|SKIPPED|ERROR)",
        r"^\S+::\S+ (?:PASSED|FAILED|SKIPPED|ERROR)\b",
        r"^(?:collected \d+ items?|platform \w+ -- |rootdir: /|plugins: \w+-\d|configfile: |asyncio: mode=)",
        r"^[.FEsx]{2,}\s+\[ *\d+%\]|^E {2,}\S|^> {2,}\S|^(?:PASSED|FAILED|ERROR) \S+(?:::\S+)?(?: - .*)?$",
        r"^(?:not )?ok \d+ -|^TAP version \d|^1\.\.\d+$|^# Subtest: ",
        r"^# (?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) \d",
        r"^\s*[✓✔✗✖×] .*\(\d+(?:\.\d+)? ?m?s\)$|^ℹ \w+ \d",
        r"^(?:Tests|Test Suites|Snapshots|Time): +\d|^Ran all test suites",
        r"^running \d+ tests?$|^test \S+ \.\.\. (?:ok|FAILED|ignored)|^failures:$|^---- \S+ stdout ----|^test result: ",
        r"^(?:FAIL|ERROR): \w+ \(|^Ran \d+ tests? in |^FAILED \(\w+=\d|^\s*--- (?:PASS|FAIL|SKIP): ",
        r"^(?:ok|FAIL)\s+\S+\s+[\d.]+s$|^=== RUN |^assertion `?.{0,60}`? failed|^\s+(?:left|right): [\d\"'\[({]",
    ),
    "lock-file": _any(
        r"^[A-Za-z][\w.-]*(?:\[[\w,-]+\])?==[\w.!+-]+(?: \\| ;.*)?$|^\s+--hash=sha(?:256|512):|^\s+# via\b",
        r'^\[\[package\]\]$|^checksum = "|^source = "(?:registry|git)|^(?:name|version) = "[^"]*"$|^dependencies = \[$',
        r'^"?@?[\w/.-]+@[^\s:]+:$|^\s*"?resolved"?:? "?https?://|^\s*"?integrity"?:? "?sha\d+-|"lockfileVersion": \d',
        r"^\S+ v\d[\w.+-]*(?:/go\.mod)? h1:|^ {4,}[a-z][\w.-]* \((?:[~=><!]+ )?\d+\.\d",
        r"^# This file is auto|^# .{0,80}@generated|^version = \d+$",
    ),
    "command-output": _any(
        # git
        r"^(?:On branch \S+|HEAD detached at \S+|Your branch is .+|nothing to commit.*|Untracked files:)$",
        r"^Changes (?:not staged for|to be) commit|^(?:Already up to date\.|Fast-forward)$|^Updating [0-9a-f]{7,}\.\.",
        r"^\s*(?:modified|new file|deleted|renamed|both modified|typechange): +\S+(?: -> \S+)?$|^\s*\(use \"git ",
        r"^## \S+\.\.\.\S|^(?:[MADRCU?!][ MADRCU?!]| [MADRCU?!]) \S+$|^[MADRC]\d*\t\S",
        rf"^[*+ ] [\w./()-]+ +{_HASH} |^\[[\w./-]+ (?:\(root-commit\) )?{_HASH}\] |^ (?:create|delete) mode \d{{6}} ",
        r"^\s*\d+ files? changed(?:, \d+ \w+\([+-]\)|, \d+ (?:in|de)sertions?\([+-]\))",
        r"^ \S+(?: => \S+)? +\| +(?:\d+ [+-]*|Bin )",
        r"^Auto-merging |^CONFLICT \(|^Automatic merge failed|^Switched to (?:a new )?branch '",
        r"^Saved working directory",
        r"^Dropped refs/|^Merge made by the '|^stash@\{\d+\}: |^(?:From|To) \S+[:/]\S+$|^remote: ",
        r"^ \* branch +\S+ +-> FETCH_HEAD|^ [*+!=-] \[(?:new (?:branch|tag)|rejected|up to date|deleted)\]",
        r"^\s+[0-9a-f]{7,}\.\.[0-9a-f]{7,} +\S+ +-> ",
        r"^(?:Enumerating|Counting|Compressing|Writing|Receiving|Resolving|Unpacking) (?:objects|deltas): ",
        r"^Total \d+ \(delta",
        rf"^(?:<{{7}} |={{7}}$|>{{7}} )|^\^?{_HASH} \(.{{1,60}}\d{{4}}-\d\d-\d\d |^{_HASH} (?:\([^)]*\) )?HEAD@\{{",
        r"^\s+\d+\t",
        r"^(?:fatal|hint|error|warning): \S",
        # compilers and linters
        rf"^\s*{_PLACE}:\d+:\d+(?:: | - )|^{_PLACE}:\d+(?::\d+)?:? (?:fatal error|error|warning|note|[A-Z]+\d+)\b",
        rf"^{_PLACE}: In (?:function|member)|^{_PLACE}\(\d+,\d+\): (?:error|warning) ",
        r"^ *--> \S+:\d+|^\s*\d+ \| |^\s+\|(?:\s|$)|^\s+= (?:note|help): |^(?:error|warning)\[\w+\]: ",
        r"^[A-Z]{1,4}\d{3,4} \[\*\] |^Found \d+ (?:errors?|problems?|warnings?)\b|^✖ \d+ problems?|^Success: no issues",
        r"^\[\*\] \d+ fixable",
        # builds and packages
        r"^ {2,}(?:Compiling|Finished|Running|Checking|Downloaded|Installing"
        r"|Updating|Blocking|Locking|Fresh|Doc-tests) ",
        r"^Collecting \S+$|^\s+(?:Downloading|Using cached) \S+\.(?:whl|tar\.gz)|^Requirement already satisfied: ",
        r"^Successfully installed \S+-\d|^Looking in (?:indexes|links): ",
        r"^(?:Resolved|Prepared|Installed) \d+ packages? in ",
        r"^(?:Get|Hit|Ign):\d+ http|^Setting up \S+ \(|^Unpacking \S+ \(|^Reading package lists\.\.\.",
        r"^npm (?:ERR!|error|WARN|warn|notice)|^make(?:\[\d+\])?: |^(?:added|removed|changed|audited) \d+ packages?\b",
        r"^(?:WARNING|ERROR|INFO|DEBUG|WARN|FATAL|CRITICAL): \S|^#\d+ (?:\[\S+ +\d+/\d+\]|DONE|CACHED|sha256:)|^ ---> ",
        r"^go: (?:added|downloading|extracting|finding|found|upgraded) |^==> \S|^> Task :",
        r"^\[(?:DEBUG|ERROR|INFO|WARN|WARNING)\] |^BUILD (?:FAILED|SUCCESSFUL) in ",
        r"^(?:Plan|Apply complete!|Destroy complete!)[: ].{0,40}\d+ (?:to )?add",
        r"^\S+: (?:Refreshing state|Creating|Creation complete|Still creating|Destroying)\b.*(?:\[|\.\.\.|after)",
        r"^Step \d+/\d+ :|^\S+@\d[\w.-]* /\S+$|^[├└]── ",
        # listings of the system
        r"^total \d+$|^[-dlbcps][rwxsStT-]{9}[@+.]? |^\.{0,2}/?[\w.-]+(?:/[\w.-]+){1,12}:$|^[\d.]+[KMGTB]?\t\S",
        r"^\s*\d+ (?:\S*/)?\S+\.\w{1,8}$|^\s*\d+ total$|^[0-9a-f]{32,128} [ *]\S",
        r"^\S*[./]\S*: +(?:ASCII|UTF-8|Python|ELF|data|empty|PNG|JPEG|Bourne|POSIX|JSON)\b.{0,80}$",
        r"^(?:Mem|Swap):\s+\d|^(?:real|user|sys)\t\d+m|^(?:uid|gid)=\d+\(|^[●○×] \S+\.(?:service|timer|socket|mount)\b",
        r"^\s+(?:Loaded: loaded|Active: (?:active|inactive|failed)|Main PID: \d)",
        # the network, clusters, services, logs
        r"^\* +(?:Trying|connect|Connected|Closing|TLS|ALPN|SSL|Failed|Host|Could not|Using) ",
        r"^[<>] (?:HTTP/|GET |POST |PUT )",
        r"^HTTP/[\d.]+ \d{3}|^\d+ bytes from |^PING \S+ \(|^\d+ packets transmitted, ",
        r"^(?i:content-(?:type|length)|cache-control|etag|set-cookie|user-agent): \S",
        r"^[EWI]\d{4} \d\d:\d\d:\d\d|^[╷│╵]",
        r"^\S+: .{0,200}(?:No such file or directory|Permission denied|command not found|Connection refused)$",
        rf"^\[?{_STAMP}\S*\]? \S|^\w{{3}} [ \d]\d \d\d:\d\d:\d\d \S+ \S+: |^\[\s*\d+\.\d+\] ",
    ),
    "search-output": _any(
        rf"^(?:{_PLACE}|[\w.-]+(?:/[\w.-]+){{1,12}})[:-]\d+[:-]",
        # Without line numbers, and of one file; a person puts a blank after a colon.
        r"^\.{0,2}/?(?:[\w@+.-]{1,80}/){1,12}[\w@+.-]{1,80}\.\w{1,8}:(?! [^ ])\S?",
        r"^\d{1,6}[:-](?:\s{2,}|\t|[^\s\d:-])|^Binary file \S+ matches$|^--$",
    ),
}
# The heading of a table: all that is below belongs to it.
_TABLE = (
    r"^\s*(?:Filesystem +\S*(?:Size|blocks)|USER +PID|UID +PID|PID +(?:TTY|USER|PPID)|CONTAINER ID +IMAGE"
    r"|NAMESPACE +NAME"
    r"|NAME +(?:READY|STATUS|TYPE)|REPOSITORY +TAG|IMAGE +ID|Package +Version|UNIT +LOAD|Proto +Recv|COMMAND +PID"
    r"|total +used +free|Name +Stmts +Miss|Netid +State|State +Recv-Q|LISTEN +\d+|TYPE +TOTAL +ACTIVE)\b"
    r"|^\s*\+?-{2,}(?:\+-{2,})+\+?\s*$"
)


@cache
def _compiled() -> tuple[dict[str, re.Pattern[str]], re.Pattern[str]]:
    """Return the patterns of ``_LINES`` and ``_TABLE``. A note of one line is spared their compilation: 20 ms."""
    return {rule: re.compile(pattern) for rule, pattern in _LINES.items()}, re.compile(_TABLE)


def kind(lines: list[str], reason: re.Pattern[str]) -> str:
    """Return the rule that knows most lines of a text that a program printed, "" for any other text.

    ``lines`` are not blank. An indented line after one that is known goes on with that. ``reason`` finds what a person
    says to explain something; where it does so in the other lines, the output is an example.
    """
    if len(lines) < _FEWEST:
        return ""
    rules, table = _compiled()
    known: Counter[str] = Counter()
    others: list[str] = []
    explained = 0
    goes_on = False
    for number, line in enumerate(lines):
        if table.match(line):
            known["command-output"] += len(lines) - number
            break
        rule = next((rule for rule, pattern in rules.items() if pattern.search(line)), "")
        if rule:
            known[rule] += 1
            # A review names places, too, and says what to do about each.
            explained += rule == "search-output" and reason.search(line) is not None
            goes_on = True
        elif not (goes_on and line[0] in _INDENTED):
            others.append(line)
            goes_on = False
    printed = len(lines) - len(others)
    prose = sum(len(line.split()) >= _PROSE_WORDS for line in others)
    if known.total() < _FEWEST or printed < _MOST * len(lines) or prose * _PROSE_SHARE > printed:
        return ""
    if explained * _PROSE_SHARE > known["search-output"] > 0:
        return ""
    return "" if any(reason.search(line) for line in others) else known.most_common(1)[0][0]
