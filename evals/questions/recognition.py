"""Recognize lines of a document: an error that a program printed, a decision, a command that a person would look for.

By form, for the forms that compilers, test runners and shells print, and English sentences. In doubt
a line is none of them: a question that nobody would ask measures nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FILE = r"(?P<file>[^\s:()\"']+\.[A-Za-z]\w{0,5})"
# (form, what knows it). Groups: ``file`` where the line names one, ``said`` where only part of it is the message.
_ERRORS = tuple(
    re.compile(form)
    for form in (
        # tsc, gcc, clang, mypy, pyright: a.ts(3,4): error TS2322: …, a.c:3:4: fatal error: …, a.py:3: error: …
        rf"{_FILE}[:(]\d+(?:[:,]\d+)*\)?:?\s*(?:- )?(?:fatal )?[Ee]rror\b:?(?P<said>.*)",
        # Compilers that do not say the word: a.go:3:4: undefined: x
        r"(?:\./)?(?P<file>[^\s:()]+\.(?:go|rs|c|cc|cpp|h|hpp|java|kt|swift|zig|hs|ml|scala)):\d+:\d+:? (?P<said>\w.*)",
        # go test: a_test.go:3: got 1, want 2
        r"(?P<file>[^\s:()]+_test\.go):\d+: (?P<said>\w.*)",
        # Exceptions of Python, JavaScript, Java, Elixir
        r"\*\* \([\w.]+\) (?P<said>.+)",
        r"(?:Uncaught |Unhandled |Caused by: |E {2,}|\[|Exception in thread \S+ )?(?:[a-z_][\w.$]*\.)?"
        r"[A-Z]\w*(?:Error|Exception|Failure)(?: \[\w+\])?\]?(?::(?P<said>.*)|$)",
        # pytest, go test, vitest and jest, cargo, unittest, TAP
        rf"(?:FAILED|ERROR) {_FILE}(?:::(?P<said>\S+))?(?: - .*)?",
        rf"{_FILE}::(?P<said>\S+) (?:FAILED|ERROR)\b.*",
        rf"FAIL\s+{_FILE}(?: .*)?",
        r"--- FAIL: (?P<said>\w\S*).*",
        r"(?:test )?(?P<said>[\w:.]+)(?: \([\w.]+\))? \.\.\. (?:FAILED|FAIL|ERROR)",
        r"not ok \d+ - (?P<said>.+)",
        # Shells and what they start: bash: line 1: foo: command not found, ls: cannot access 'x': No such file …
        r"(?:[^:]+: ){1,4}(?P<said>(?:command )?not found|No such file or directory|Permission denied|Is a directory"
        r"|Not a directory|File exists|Operation not permitted|No space left on device|cannot execute.*)",
        r"zsh: (?:command not found|permission denied|no such file or directory): \S+",
        # fatal: …, error[E0308]: …, npm ERR! …, make: *** …, thread 'main' panicked at …
        r"(?:fatal|panic|error(?:\[[\w-]+\])?|Error|ERROR|remote: error|[A-Z]: |npm (?:ERR!|error)|gyp ERR!"
        r"|make(?:\[\d+\])?: \*\*\*|\[error\]|Build error|Command failed|CONFLICT \([^)]*\))[: ]\s*(?P<said>\S.*)",
        r"thread '[^']*' (?:\(\d+\) )?panicked at (?P<said>.+)",
        r"E[A-Z]{4,}: (?P<said>.+)",
        r".*\b(?:[Ss]tatus code|HTTP(?:/[\d.]+)?) [45]\d\d\b.*",
        r"(?P<said>.*)\b(?:[Ee]xit(?:ed)?(?: with)?(?: code| status)?:?|non-zero exit status) [1-9]\d{0,2}\b.*",
        r"Traceback \(most recent call last\):|.*\b(?:Segmentation fault|core dumped|out of memory)\b.*",
    )
)
# Statistics of git, summaries without an error in them, passed tests, lines of code and of a listing.
_NO_ERROR = re.compile(
    r"\d+ (?:files? changed|insertions?|deletions?|passed)|(?:new|deleted) file mode|index [0-9a-f]+\.\.|String:"
    r"|Found \d|failed in sandbox|.*\b(?:0 errors?|0 failed|no errors?|PASSED)\b|\*(?!\* \()|[+#]|//|-(?!-- FAIL)"
    r"|\d+\s*[│|:]|(?:except|raise|throw|catch|return|if|for|while|def|class|func|fn|var|let|const|import|from|export|async)\b"
)
# The first that fits names what a person would call it.
_KINDS = tuple(
    (name, re.compile(form))
    for name, form in (
        (
            "missing module",
            r"ModuleNotFound|ImportError|Cannot find (?:module|package)|no exported member|TS2307|TS2305",
        ),
        ("undefined name", r"NameError|[Uu]ndefined\b|is not defined|undeclared|[Cc]annot find name|TS2304"),
        ("syntax error", r"SyntaxError|[Ss]yntax error|[Uu]nexpected token|[Pp]arse error|TS1\d{3}\b"),
        ("type error", r"TS2\d{3}\b|TypeError|not assignable|incompatible type|mismatched types|has no attribute"),
        ("missing command", r"command not found|not found in PATH"),
        ("missing file", r"No such file|ENOENT|FileNotFound"),
        ("permission problem", r"[Pp]ermission denied|EACCES|EPERM|not permitted|PermissionError"),
        ("timeout", r"\b[Tt]imed?[ -]?out|ETIMEDOUT|TimeoutError|deadline exceeded"),
        ("connection problem", r"ECONN\w+|[Cc]onnection (?:refused|reset)|resolve host|network is unreachable"),
        ("merge conflict", r"CONFLICT \(|[Mm]erge conflict"),
        ("refused request", r"(?:[Ss]tatus code|HTTP\S*) 4\d\d"),
        ("failing test", r"\bFAIL(?:ED)?\b|_test\.go:|\.\.\. (?:ERROR|FAIL)|^not ok |::\S+ ERROR|AssertionError"),
        ("crash", r"^panic|panicked|Segmentation|core dumped|^Traceback"),
        ("wrong value", r"ValueError|ValidationError|KeyError|IndexError|invalid (?:value|argument)"),
    )
)


class Failure(NamedTuple):
    """``kind`` as a person would call it, ``file`` (its base name, "" where none is named), ``said``: the message."""

    kind: str
    file: str
    said: str


def error(line: str) -> Failure | None:
    """The error that a line of a tool's output is; None where it is none."""
    text = line.strip()
    if _NO_ERROR.match(text):
        return None
    for form in _ERRORS:
        if found := form.fullmatch(text):
            groups = found.groupdict()
            kind = next((name for name, known in _KINDS if known.search(text)), "error")
            said = groups.get("said")
            return Failure(kind, (groups.get("file") or "").rpartition("/")[2], text if said is None else said.strip())
    return None


_WE = r"\b(?:we|i|they|you)(?:'ve|[ ]have|'d)?(?:[ ](?:all|both|now|also|finally))*"
_WILL = r"\b(?:we|i|they|you)(?:'ll|[ ]will|[ ]shall|'d|'re[ ]going[ ]to|[ ]are[ ]going[ ]to|'m[ ]going[ ]to)"
_OVER = r"(?:instead\ of|rather\ than|over|in\ favou?r\ of)\b"
_DECIDES = re.compile(
    rf"""{_WE}\ (?:decided?|chose|choose|opt(?:ed)?|settled?)\ (?:to|on|for|against|that|not|\w+\ over)\b
    |\b(?:decided|opted|settled|agreed)\ (?:to|on|for|against|not\ to)\b|\bdecided\ that\b
    |\b(?:chose|picked|prefer(?:red)?|choosing|picking)\b.+\b{_OVER}
    |(?:\blet'?s|{_WILL})\ (?:use|keep|go\ with|stick\ (?:to|with)|stay\ with|switch\ to)\b
    |(?:{_WE}\ (?:changed|replaced|moved)|\b(?:switched|migrated|moved)\ to)\b.+\b{_OVER}
    |(?<!be\ )\b(?:rejected|ruled\ out|discarded|dropped|abandoned)\b.+
     \b(?:because|since|as\ (?:it|too)|in\ favou?r|for\ now)\b
    |\bdecision\b[^.?]{{0,40}}:\s*\S|\bthe\ decision\ (?:is|was)\b|\bfrom\ now\ on\b
    |\b(?:we're|i'm|we\ are)\ going\ with\b
    |^(?:use|keep|prefer)\b.+\b{_OVER}""",
    re.IGNORECASE | re.VERBOSE,
)
# A request to note one, a question, a doubt, what another wants, and a step of one's own work are no decisions.
_NO_DECISION = re.compile(
    r"""\b(?:write|note|record|save|document|log|remember|add)\b[^.]*\b(?:decisions?|decided|down)\b
    |\?\s*$|\b(?:if|whether|maybe|perhaps|might|could|either|unless|until\ we|need\ to\ decide|to\ be\ decided)\b
    |^(?:the\ user|let\ me|now\b|(?:i|we)\ (?:need|should|could|see)\b|looking|should|want|could|would)""",
    re.IGNORECASE | re.VERBOSE,
)


def decides(sentence: str) -> bool:
    """Return True if a sentence decides something: X chosen over Y, rejected, kept."""
    return bool(_DECIDES.search(sentence)) and not asks(sentence)


def asks(sentence: str) -> bool:
    """Return True if a sentence asks, doubts, or asks to write something down."""
    return bool(_NO_DECISION.search(sentence.strip()))


class Call(NamedTuple):
    """A call of a shell: the ``line``, the ``program`` that it is about, and what it was for, as its caller said it."""

    line: str
    program: str
    purpose: str


_CALL = re.compile(
    r"- (?:(?:[Bb]ash|[Ss]hell|exec_command|execute_command|run_shell_command|run_terminal_cmd|local_shell): |! )(.+)"
)
_BEFORE = re.compile(
    r"^(?:cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*|(?:export\s+)?\w+=\S*\s+(?:&&\s*)?|(?:sudo|time|nohup|command|env|npx|bunx|uvx)\s+"
    r"|(?:uv|poetry|pipenv|pnpm|bundle)\s+(?:run|exec)\s+|timeout\s+\S+\s+)+"
)
# Commands that only look at files and states are typed without thinking; nobody looks for them later.
_LOOKS = frozenset(
    """ls ll cat cd pwd echo head tail less more grep rg ag find fd wc which type whoami date clear history man tree
    stat file du df mkdir touch rm cp mv sleep true false test printf exit sed awk sort uniq cut nl export source open
    vim nano bat code for while until if""".split()
)
_LOOKING_GIT = frozenset("status diff log show add commit branch blame remote rev-parse ls-files fetch pull".split())
_PROGRAM = re.compile(r"(?:\S*/)?([A-Za-z][\w.+-]*)(?:\s+(.*))?", re.DOTALL)


def call(line: str) -> Call | None:
    """The call of a shell that a line of a document is; None where it is none, or was cut."""
    found = _CALL.fullmatch(line)
    if found is None:
        return None
    typed, _, purpose = found[1].partition("  # ")
    typed = typed.strip()
    program = _PROGRAM.fullmatch(_BEFORE.sub("", typed))
    return Call(typed, program[1] if program else "", purpose.strip())


def sought(made: Call) -> bool:
    """Return True if a person would look for a call again: it has an effect and more than a program's name."""
    rest = _BEFORE.sub("", made.line).split()
    if len(rest) < 3 or not 12 <= len(made.line) <= 160 or "<<" in made.line or made.line.endswith("…"):
        return False
    if made.program == "git":
        verb = next((word for word in rest[1:] if word.isalpha() or "-" in word[1:-1]), "")
        return verb not in _LOOKING_GIT
    return bool(made.program) and made.program not in _LOOKS
