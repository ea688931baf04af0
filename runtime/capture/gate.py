"""The gate of the inbox: it refuses text that is available elsewhere, and repeated notes.

A memory that takes everything is searched like one. Each rule looks for one kind of text, says why it is refused, and
is tested on both sides. None reads meaning; a wrong refusal costs the user ``--force``, a wrong acceptance costs every
later answer a little.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.capture import gate_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True, slots=True)
class Refusal:
    """``rule`` names the rule, ``message`` says what was seen and why it is not kept, ``fix`` what to do instead."""

    rule: str
    message: str
    fix: str


_REASON = re.compile(
    r"\b(because|since|so that|instead of|rather than|in order to|reason|why|decided|prefer|avoid|never|always|must"
    r"|should|turned out|turns out|caused by|due to|trade-?off|otherwise|means that|therefore|rejected?|lesson"
    r"|careful|beware|don'?t|by \w+ing|as long as|unless|whenever|learned)\b",
    re.IGNORECASE,
)
_DIFF = re.compile(r"^(diff --git |index [0-9a-f]{7,}\.\.|@@ -\d+(,\d+)? \+\d+|--- a/|\+\+\+ b/)")
_COMMIT = re.compile(r"^(commit [0-9a-f]{7,40}\b|[*|\\/ ]*[0-9a-f]{7,40}\s+\S|Author: .+<.+@.+>)")
_LS = re.compile(r"^([-dlbcps][rwxsStT-]{9}[@+.]?\s|total \d+$)")
_TREE = re.compile(r"^[\s│|]*(├──|└──|(\|--|`--) )")
_PATH = re.compile(
    r"^(\.{0,2}/)?[\w@.+-]+(/[\w@.+ -]+)*(/|\.[A-Za-z]\w{0,9})$|^(\.{1,2}|~)?/[\w@.+-]+(/[\w@.+-]+)*$|^\.$"
)
_STATUS = re.compile(r"^(\s?[MADRCU?]{1,2}\s+|\s*(modified|new file|deleted|renamed):\s+)\S+$")
_FOLDER = re.compile(r"^[\w./@+-]+:$")
_NAME = re.compile(r"^[\w.@+-]+[/*@]?$")
# The heading of a list of files, and such a list on one line.
_FILES = re.compile(
    r"^\W*((all |the )?(files?|modified|changed|touched|new|created|deleted|edited)( files?)?( (changed|modified"
    r"|touched|added"
    r"|created|edited|deleted))?)\s*:\s*",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^\s*([-*•]\s+|\d{1,3}[.)]\s+)?`?([^`]*?)`?,?\s*$")
_TESTS = re.compile(
    r"(^(All )?\d+ tests? (are )?(pass(ed|ing)?|green)[.!]?$|^(All )?tests (are )?(now )?(pass(ed|ing)?"
    r"|green)( now)?[.!]?$"
    r"|^\d+ (passed|failed)(, \d+ \w+)*( in [\d.]+ ?s)?$|^(FAILED|ERROR|PASSED) \S+::\S+|^=+ .*\b\d+ (passed|failed"
    r"|error)|^\s*((PASS|FAIL)\s+[\w-]*[./][\w./-]+(\s|$)|ok\s+\S+\s+(\(cached\)|[\d.]+m?s))|^--- (PASS|FAIL): "
    r"|^test result: (ok|FAILED)|^Tests?:\s+\d+ (passed|failed)|^\d+ passing \(|^Ran \d+ tests? in )"
)
_CODE = re.compile(
    r"(^\s*(def|class|import|from|return|const|let|var|function|public|private|static|func|fn|use|impl|struct"
    r"|enum|type"
    r"|interface|export|package|#include|@\w+|if|for|while|else|elif|try|except|catch|switch|case)\b.*[:;{(,)=>]\s*$"
    r"|^\s*(import|from|return|raise|yield|pass|break|continue)(\s+[\w.,'\"()]+){0,3}$|[;{}]\s*$"
    r"|^\s*[\w.\[\]'\"]+\s*[+*/-]?=\s*\S|^\s*[\w.]+\(.*\)\s*;?$|^\s*[)\]}]+[,;]?$)"
)
# Marks of code: a preprocessor's line, an indented line with an operator or a call, an end that something follows.
_CODE_TOO = re.compile(
    r"^\s*#\s*(define|ifdef|ifndef|if|elif|else|endif|include|undef|pragma|error)\b|^(\s{2,}"
    r"|\t)\S.*([=(){}\[\]<>]|->|::|&&|\|\|)"
    r"|^\s*\S.*[({\[]\s*$|^\s*[\w.\[\]'\"$-]+\(.*[),]\s*$|^\s*@\w[\w.]*(\(.*)?$|^(\s{2,}|\t)\S+,?$"
)
# Beginnings of programs; commands, patterns and queries are notes of one line, or a procedure.
_PROGRAM = re.compile(
    r"^\s*((def|class|func|fn|function|async|const|let|var|import|return|public|private|protected|package|struct|interface"
    r"|impl)\b|from \S+ import\b|#include|@\w|(for|if|while|switch) \()|=>\s*\{|\)\s*\{\s*$"
)
_YAML = re.compile(r"^\s*(- )?[\w./-]+:(\s+\S+)?$|^\s*- \S+$")
_YAML_BELOW = re.compile(r"^\s+(- )?[\w./-]+:(\s+\S+)?$")
_COMMENT = re.compile(r"^\s*(//|#(\s|!|$)|\*(\s|/|$)|/\*|--\s|;;|%\s|<!--)")
# Comments over several lines: how each begins and ends.
_BLOCKS = (
    (re.compile(r"^\s*/\*"), "*/"),
    (re.compile(r'^\s*[rbuRBU]?"""'), '"""'),
    (re.compile(r"^\s*[rbuRBU]?'''"), "'''"),
)
_POD = re.compile(r"^=[a-z]\w*")
_FENCE = re.compile(r"^\s*(```|~~~)")
_STAMPED = re.compile(r"^\s*([-*]\s+)?\[?(\d{4}-\d\d-\d\d[T ])?\d{1,2}:\d\d(:\d\d)?\]?\s*\S")
_DONE = re.compile(r"\b(\w{2,}ed|ran|wrote|built|began|went|got|made|did|sent|met|found|read|left)\b", re.IGNORECASE)
_DEED = re.compile(
    r"^\s*([-*]\s+|\d+[.)]\s+|(I|We)(['’]ve| have)?\s+|Then\s+|Today( I| we)?[, ]+|(successfully|just|now|also)\s+"
    r"|((today'?s|daily|weekly|work|session|status)\s+)?(summary|log|update|recap|progress|report|done)\s*:\s*)*"
    r"(ran|read|edited|updated|created|added|fixed|removed|deleted|renamed|moved|refactored|committed|pushed"
    r"|merged|opened"
    r"|checked|looked|searched|wrote|implemented|installed|built|tested|debugged|reviewed|worked|finished|completed"
    r"|started|changed|deployed)\b",
    re.IGNORECASE,
)
_FILE = r"`?[\w-][\w./-]*\.[a-z]\w{0,4}`?"
_KINDS = (
    r"(?:class|component|constant|endpoint|enum|field|fixture|function|handler|helper|hook|interface|macro|method|middleware"
    r"|module|route|script|struct|test|trait|type|variable)"
)
_WHERE = re.compile(
    r"\b(is|are|lives?|sits?|can be found) (defined|implemented|located|declared|handled|found|in|at)\b.*"
    r"[\w-]+(/[\w.-]+)+\.\w{1,5}(:\d+)?|\b[\w./-]+\.\w{1,5}:\d+\b"
    # A file with its lines, on either side: "src/a.py lines 10-30", "L10-L30 of src/a.py", "src/a.py#L10".
    rf"|{_FILE}(\(\d+,\d+\): |#L\d+|,? L\d+|.{{0,60}}\blines? \d+)|\b(lines? \d+|L\d+).{{0,60}} {_FILE}"
    # A place in a file and its purpose: "The function parse in src/a.py handles tokens".
    rf"|^\W*(the )?({_KINDS} `?[\w.:()-]+`?|`?[\w.:()-]+`? {_KINDS}|`?[\w.:]+\(\)`?) (in|from|at|of) {_FILE} [a-z]+s\b",
    re.IGNORECASE,
)
# An instruction of a person, or a fault: that is no mere place.
_TELLS = re.compile(
    r"(^|[.;:,–-] |\b(and|then|to|please) )(add|ask|avoid|call|check|delete|do not|don't|drop|edit|fix|keep"
    r"|leave|move|note|pin|remove|rename|replace|rewrite|run|split|stop|use|wait|watch)\b|\b(bug|broken|deprecated|hides?|leaks?"
    r"|matters?|on purpose|owns?|wins?|wrong|wants?|asked|instead|but|although|cause|too)\b",
    re.IGNORECASE,
)

# With fewer lines, text of a kind is an example in somebody's argument, unless it is the whole note.
_LINES = 4
_CODE_LINES = 6
# A column of words is a folder's listing from so many names on, so many of them with an ending.
_NAMES = 6
_LISTED = 2
# A line of prose has so many words, and at least so many.
_WORDS = 14
_FEWEST_WORDS = 6
_MOST = 0.6
_HEAD = 500


def judge(text: str) -> Refusal | None:
    """Return why ``text`` is refused, by the first rule that applies; None if it is accepted."""
    lines = [line for line in text.splitlines() if line.strip()]
    # The first characters of a line show its kind; some patterns take the square of a line's length.
    heads = [line[:_HEAD] for line in lines]
    rule = _first(_KEPT_ELSEWHERE, heads) or gate_output.kind(heads, _REASON)
    if not rule and _is_json("\n".join(_unfenced(lines))):
        rule = "code-listing"
    rule = rule or _first(_OF_CODE, heads)
    if not rule:
        return None
    what, instead = _SAID[rule]
    return Refusal(rule, f"refused: {what}", f"{instead}; or --force to keep it all the same")


def _first(rules: dict[str, Callable[[list[str]], bool]], lines: list[str]) -> str:
    return next((rule for rule, applies in rules.items() if applies(lines)), "")


def _unfenced(lines: list[str]) -> list[str]:
    return _uncommented([line for line in lines if not _FENCE.match(line)])


def similar(first: str, second: str) -> bool:
    """Return True if two notes say the same: nine words in ten shared, the same numbers, and neither denies the other.

    Where one thing is set against another ("over", "not", "before"), which is which counts as well.
    """
    mine, theirs = set(_words(first)), set(_words(second))
    if not mine or not theirs or (mine & _DENIALS) != (theirs & _DENIALS):
        return False
    if _numbers(mine) != _numbers(theirs):
        return False
    if len(mine & theirs) < _SAME * len(mine | theirs):
        return False
    compared = any(_COMPARES.search(text) for text in (first, second))
    return not compared or _shared(first, theirs) == _shared(second, mine)


_SAME = 0.85
_DENIALS = frozenset(
    "not no never don dont doesn't without instead stop avoid isn't aren't won't can't cannot reject rejected".split()
)
_EMPTY = frozenset(
    "a an the is are was were be to of in on at and or it its this that for with as by we i you our my your"
    " every each over than".split()
)
_COMPARES = re.compile(r"\b(over|than|instead|rather|not|before|after|above|below)\b|\bfrom\b.*\bto\b", re.IGNORECASE)


def _shared(text: str, others: set[str]) -> list[str]:
    return list(dict.fromkeys(word for word in _words(text) if word in others))


def _words(text: str) -> list[str]:
    # "force-push" and "force push" are the same words.
    words = re.findall(r"[^\W_]+(?:[.'][^\W_]+)*", text.lower())
    stems = [word.rstrip("s") if len(word) > 3 else word for word in words]
    return [word for word in stems if word not in _EMPTY]


def _numbers(words: set[str]) -> set[str]:
    return {word for word in words if any(map(str.isdigit, word))}


def _share(lines: list[str], pattern: re.Pattern[str]) -> float:
    return sum(bool(pattern.search(line)) for line in lines) / len(lines) if lines else 0.0


def _reasoned(lines: Iterable[str]) -> bool:
    return any(_REASON.search(line) for line in lines)


def _is_history(lines: list[str]) -> bool:
    commits = sum(bool(_COMMIT.match(line)) for line in lines)
    return (
        (commits >= 3 and commits / len(lines) >= 0.3)
        or (commits >= 2 and (commits == len(lines) or lines[0].startswith("commit ")))
        or any(_DIFF.match(line) for line in lines)
    )


def _is_inventory(lines: list[str]) -> bool:
    if _reasoned(lines):
        return False
    listed = headed = 0
    for line in lines:
        rest = _FILES.sub("", line)
        if rest != line:
            # "Files changed: a.py, b.py", or what heads the list below it.
            parts = [part.strip(" `") for part in rest.split(",")] if rest.strip() else []
            if all(_PATH.match(part) for part in parts):
                headed += 1
                listed += len(parts) > 1
            continue
        item = _ITEM.match(line)
        named = item is not None and _PATH.match(item[2].strip())
        listed += bool(named or any(kind.match(line) for kind in (_LS, _TREE, _STATUS)))
    if headed + listed >= len(lines):
        return listed >= (1 if headed else 2)
    # The output of a bare `ls`: names without an ending among it, and nothing but names, below each folder's own.
    folders = [line for line in lines if _FOLDER.match(line)]
    if len(folders) >= _LISTED and any("/" in line for line in folders):
        return all(_FOLDER.match(line) or _NAME.match(line) for line in lines)
    if listed >= _LISTED and len(lines) >= _NAMES and all(map(_NAME.match, lines)):
        return True
    return listed >= _LINES and listed / len(lines) >= _MOST


def _is_tests(lines: list[str]) -> bool:
    return sum(bool(_TESTS.search(line)) for line in lines) >= max(1, 0.2 * len(lines)) and not _reasoned(lines)


def _is_code(lines: list[str]) -> bool:
    return _is_listing(lines) or _is_bare(lines)


def _is_bare(lines: list[str]) -> bool:
    """Return True if all lines are program or data, however few; one line is a command."""
    bare = _unfenced(lines)
    if len(bare) < 2:
        return False
    if any(map(_PROGRAM.search, bare)):
        return all(any(kind.search(line) for kind in (_PROGRAM, _CODE, _CODE_TOO)) for line in bare)
    if not all(_YAML.match(line) for line in bare):
        return False
    return len(bare) >= _LINES and sum(bool(_YAML_BELOW.match(line)) for line in bare) >= 2


def _is_json(text: str) -> bool:
    """Return True if a text is JSON of several lines; one line may be a command's argument."""
    if not text.lstrip().startswith(("{", "[")) or "\n" not in text:
        return False
    import json

    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _is_listing(lines: list[str]) -> bool:
    fenced: list[str] = []
    plain: list[str] = []
    inside = False
    for line in lines:
        if _FENCE.match(line):
            inside = not inside
        else:
            (fenced if inside else plain).append(line)
    said = _uncommented(plain)
    code = [line for line in said if _CODE.search(line) or _CODE_TOO.search(line)]
    rest = [len(line.split()) for line in said if not (_CODE.search(line) or _CODE_TOO.search(line))]
    # A paragraph may be one line: it counts as so many as it would fill.
    prose = sum(-(-words // _WORDS) for words in rest if words >= _FEWEST_WORDS)
    count = len(fenced) + len(code)
    return count >= _CODE_LINES and count / (len(fenced) + len(said)) >= _MOST and prose * 4 < count


def _uncommented(lines: list[str]) -> list[str]:
    """Return the lines that are no comment: code that explains itself is code."""
    kept: list[str] = []
    end = ""
    for line in lines:
        if end:
            if end in line or (end == "=cut" and line.startswith(end)):
                end = ""
            continue
        if _POD.match(line):
            end = "=cut"
            continue
        block = next(((mark, close) for mark, close in _BLOCKS if mark.match(line)), None)
        if block is not None:
            end = "" if block[1] in line[block[0].match(line).end() :] else block[1]  # type: ignore[union-attr]
        elif not _COMMENT.match(line):
            kept.append(line)
    return kept


def _is_log(lines: list[str]) -> bool:
    if _reasoned(lines):
        return False
    stamped = [line for line in lines if _STAMPED.match(line)]
    deeds = [line for line in lines if _DEED.match(line)]
    if len(lines) >= 3:
        # Without anything that was done, times are a timetable.
        stamped = stamped if any(map(_DONE.search, stamped)) else []
        return max(len(stamped), len(deeds)) / len(lines) >= _MOST
    return bool(deeds) and len(deeds) == len(lines)


def _is_reference(lines: list[str]) -> bool:
    if not lines or not all(_WHERE.search(line) for line in lines):
        return False
    return not _reasoned(lines) and not any(_TELLS.search(line) for line in lines)


# In their order: what says most about a text comes first, and what programs print before what looks like code.
_KEPT_ELSEWHERE: dict[str, Callable[[list[str]], bool]] = {
    "git-history": _is_history,
    "file-inventory": _is_inventory,
    "test-output": _is_tests,
}
_OF_CODE: dict[str, Callable[[list[str]], bool]] = {
    "code-listing": _is_code,
    "activity-log": _is_log,
    "code-reference": _is_reference,
}
# Rule → (what was seen and why it is not kept, what to note instead).
_SAID = {
    "git-history": (
        "a diff or a list of commits, which git keeps",
        "note what was decided, and the commit that did it",
    ),
    "file-inventory": ("a list of files, which the disk keeps", "note what matters about them"),
    "test-output": ("a test run's output, which the next run makes anew", "note what it taught you"),
    "code-listing": (
        "a code listing, which the repository keeps",
        "note the idea, and where it is used",
    ),
    "activity-log": (
        "a log of what was done, which the session itself keeps",
        "note the outcome and its reason",
    ),
    "code-reference": (
        "where something stands in the code, which a search finds and the next edit moves",
        "note why it is so",
    ),
    "stack-trace": ("a stack trace, which the next failure prints again", "note the cause and the fix"),
    "search-output": ("what a search printed, which the next search finds again", "note what it showed"),
    "lock-file": (
        "a lock file or a list of packages, which the repository keeps",
        "note which version matters, and why",
    ),
    "command-output": ("a command's output, which the command prints again", "note what it means"),
}
RULES = tuple(_SAID)
