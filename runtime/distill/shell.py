"""Shell commands as a distillate judges them: what acts, what only looks, and whether a success proves anything.

The exit code of the last program is the only outcome that is known. A program that a pipe, ``;`` or ``||`` hides
behind another one's success is not known to have worked (POSIX.1-2024, Shell Command Language, 2.9.2 and 2.9.3).
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

COMMAND_CHARS = 200

# Programs that look, or only move things about: that they worked is no news.
_LOOKING = frozenset(
    """ls cat cd pwd echo printf grep egrep fgrep rg ag fd find head tail wc sed awk gawk which type env printenv date
    sleep tree less more file stat jq yq sort uniq xxd od hexdump strings true false test [ [[ ps kill pkill
    killall history whoami id uname open diff cmp comm read mkdir touch cp mv rm rmdir ln chmod chown nl cut tr
    tee column paste rev tac basename dirname realpath readlink base64 md5 md5sum sha256sum shasum du df free
    top lsof man info help export source . set unset pushd popd alias wait exit return local declare tput clear
    xargs hostname time watch fold fmt seq shuf yes look command""".split()
)
# Wrappers: the command inside counts.
_WRAPPERS = frozenset(
    """sudo doas time timeout gtimeout env nohup command npx bunx pnpx uv uvx poetry pipenv pdm rye hatch direnv bundle
    nice ionice stdbuf unbuffer caffeinate exec builtin""".split()
)
_RUN = frozenset(("run", "exec", "dlx", "--", "x"))
# A word that only says that what follows is run.
_TASK = frozenset(("run", "run-script", "exec", "x"))
_KEYWORDS = frozenset("for while until if case select function { ( ! then do done fi esac else elif".split())
_SHELLS = frozenset("bash sh zsh dash ksh fish".split())
_INTERPRETERS = frozenset(
    "python python2 python3 node deno bun ruby perl php lua osascript Rscript psql sqlite3".split()
)
# Options of common programs that come before the subcommand and take a value.
_VALUED = frozenset(
    """-C -c --git-dir --work-tree --prefix --filter --dir --cwd --namespace --project --workspace --context --config
    --manifest-path -p -n -F -w""".split()
)
_SUBCOMMANDS_THAT_LOOK = {
    "git": """status diff log show branch blame remote rev-parse rev-list ls-files ls-tree ls-remote add fetch reflog
        describe grep cat-file check-ignore check-attr config fsck count-objects diff-index diff-tree
        diff-files shortlog merge-base name-rev for-each-ref show-ref show-branch symbolic-ref var
        version whatchanged help archive""",
    "gh": "",
    "docker": "ps images logs inspect version info stats top port history",
    "podman": "ps images logs inspect version info stats top port history",
    "kubectl": "get describe logs top version explain api-resources cluster-info",
    "npm": "ls list view info outdated why whoami explain help root prefix bin audit",
    "pnpm": "ls list view info outdated why root bin audit licenses",
    "yarn": "list info why outdated bin",
    "pip": "list show freeze check index download",
    "go": "doc env version list help",
    "cargo": "tree search metadata version help locate-project",
    "brew": "list info search outdated deps config",
    "apt": "list show search policy",
    "systemctl": "status is-active is-enabled list-units show cat",
    "launchctl": "list print",
    "terraform": "show output version providers state",
    "tmux": "ls list-sessions list-windows capture-pane display-message",
}
_LOOKS = {program: frozenset(words.split()) for program, words in _SUBCOMMANDS_THAT_LOOK.items()}
_GH_LOOKS = frozenset("view list status diff checks search watch".split())
_SENDS = re.compile(r"(?:^|\s)(?:-X|--method|-f|-F|--field|--raw-field|--input|-d|--data\S*|--json)(?:[\s=]|$)")
_ASKS = frozenset(("--help", "--version", "-version", "--dry-run", "-h"))

_HEREDOC = re.compile(r"(<<-?[ \t]*(['\"]?)(\w+)\2[^\n]*)\n.*?(?:^[ \t]*\3[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_MESSAGE = re.compile(
    r"\$\(cat[ \t]+<<-?[ \t]*(['\"]?)(\w+)\1[ \t]*\n([^\n]*)\n.*?(?:^[ \t]*\2[ \t]*\n?[ \t]*\)|\Z)",
    re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(r"^\s*#.*(?:\n|$)", re.MULTILINE)
_SEPARATORS = re.compile(r"&&|\|\||\|&|[;|\n]|&(?![>&\d])")
_REDIRECTION = re.compile(r"^(?:\d*|&)(?:>>?|<)(?:&?\d|\S*)$")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*\+?=")
# Nothing but assignments, of which one may hold a substitution.
_SETS = re.compile(
    r"^\s*(?:[A-Za-z_]\w*\+?=(?:\"?\$\((?:[^()]|\([^()]*\))*\)\"?|\"[^\"]*\"|'[^']*'|[^\s\"'()]*)(?:\s+|$))+$"
)
_ALIKE = 0.8


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command: ``words`` past assignments and wrappers, and the separator before it."""

    before: str
    words: tuple[str, ...]

    @property
    def looks(self) -> bool:
        """True if it changes and checks nothing."""
        return not self.words or _looks(self.words)


@lru_cache(maxsize=4096)
def simples(command: str) -> tuple[Simple, ...]:
    """Return the simple commands of a command line; here-documents, comments and what quotes hold are not cut."""
    text = _COMMENT.sub("", _HEREDOC.sub(r"\1", command)).replace("\\\n", " ")
    found: list[Simple] = []
    for before, part in _cut(text):
        words = _words(part)
        while words and (words[0] in _WRAPPERS or _ASSIGNMENT.match(words[0])):
            wrapped = not _ASSIGNMENT.match(words[0])
            words = words[1:]
            while wrapped and words and (words[0].startswith("-") or words[0][:1].isdigit() or words[0] in _RUN):
                words = words[1:]
        if words and words[0] in _SHELLS and len(words) > 2 and re.fullmatch(r"-\w*c", words[1]):
            inner = simples(words[2])
            found += [Simple(before, inner[0].words), *inner[1:]] if inner else []
        elif words or before in ("|", "|&", "||"):
            found.append(Simple(before, tuple(words)))
    return tuple(found)


def head(command: str) -> str:
    """Return the kind of a command: program and subcommand (``git push``, ``npm test``) of the first part that acts."""
    parts = simples(command)
    chosen = next((each for each in parts if not each.looks), next((each for each in parts if each.words), None))
    return "" if chosen is None else " ".join(_plain(chosen.words)[:2])


def acts(command: str) -> bool:
    """Return True if a command does or checks something, beyond looking."""
    return any(not each.looks for each in simples(command))


def is_proved(command: str) -> bool:
    """Return True if a success of the whole is one of all that acts in it."""
    parts = simples(command)
    if any(each.before == "||" or (each.words and each.words[0] in _KEYWORDS) for each in parts):
        return False
    if command.rstrip().endswith("&") and not command.rstrip().endswith("&&"):
        return False
    flags = " ".join(word for each in parts if each.words[:1] == ("set",) for word in each.words[1:])
    stops = re.search(r"(?:^|\s)-\w*e", flags) is not None
    whole_pipe = "pipefail" in flags
    for at, each in enumerate(parts):
        if each.looks:
            continue
        following = [other.before for other in parts[at + 1 :]]
        if following and following[0] in ("|", "|&") and not whole_pipe:
            return False
        if not stops and any(before in (";", "\n", "&") for before in following):
            return False
    return True


def is_like(failed: str, other: str) -> bool:
    """Return True if ``other`` is the same thing tried again: what acts in it has the same words, or nearly."""
    if not head(failed) or head(failed) != head(other):
        return False
    mine, theirs = _telling(failed), _telling(other)
    return set(mine) <= set(theirs) or SequenceMatcher(None, " ".join(mine), " ".join(theirs)).ratio() >= _ALIKE


def deed(command: str) -> str:
    """Return what a command does, without switches, pipes and redirections; "" for shell scripts."""
    if any(each.words and each.words[0] in _KEYWORDS for each in simples(command)):
        return ""
    return " ".join(_telling(command))


def short(command: str) -> str:
    """Return a command in at most 200 characters: its first line that is no comment, a message by its subject."""
    text = _HEREDOC.sub(r"\1 …", _MESSAGE.sub(r"\3 …", command))
    text = _COMMENT.sub("", text).replace("\\\n", " ").strip()
    lines = [line for line in text.split("\n") if line.strip()]
    while len(lines) > 1 and all(each.looks for each in simples(lines[0])) and acts("\n".join(lines[1:])):
        lines = lines[1:]
    if not lines:
        return ""
    line = " ".join(lines[0].replace("`", "'").split())
    if len(line) > COMMAND_CHARS:
        return line[: COMMAND_CHARS - 1] + "…"
    return line + " …" if len(lines) > 1 else line


def _cut(text: str) -> list[tuple[str, str]]:
    """Return (separator, text) of the parts between separators that no quote and no substitution holds."""
    found: list[tuple[str, str]] = []
    before, start, at, depth = "", 0, 0, 0
    quote = ""
    while at < len(text):
        character = text[at]
        if character == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"`":
            quote = character
        elif character == "(":
            depth += 1
        elif character == ")":
            depth = max(depth - 1, 0)
        elif not depth and (separator := _SEPARATORS.match(text, at)) and text[at - 1 : at] not in ("<", ">"):
            found.append((before, text[start:at]))
            before, start = separator[0], separator.end()
            at = start
            continue
        at += 1
    found.append((before, text[start:]))
    # Newlines make blank parts; the separator before the next part counts.
    return [(before, part) for before, part in found if part.strip() or before in ("||", "|")]


def _words(part: str) -> list[str]:
    if _SETS.match(part):
        return []
    try:
        words = shlex.split(part)
    except ValueError:
        words = part.split()
    return [word for word in words if not _REDIRECTION.match(word)]


def _plain(words: tuple[str, ...]) -> list[str]:
    """Return the words that name the action: the program, and words that are no option or an option's value."""
    plain = [words[0].rpartition("/")[2]]
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in _VALUED and len(plain) == 1:
            skip = True
        elif not word.startswith("-") and not (len(plain) == 1 and word in _TASK):
            plain.append(word)
    return plain


def _looks(words: tuple[str, ...]) -> bool:
    plain = _plain(words)
    program, sub = plain[0], plain[1] if len(plain) > 1 else ""
    if program in _LOOKING or words[0] in _LOOKING or words[0] in _KEYWORDS:
        return True
    if _ASKS.intersection(words[1:]) or sub == "help" or words[1:] in (("-V",), ("version",)):
        return True
    if program.rstrip("0123456789.") in _INTERPRETERS and any(
        word in ("-c", "-e", "-p", "--eval", "-") for word in words[1:3]
    ):
        return True  # a script of the moment
    if program in _INTERPRETERS and len(words) == 1:
        return True  # the same, from a here-document
    if program == "gh":
        sent = _SENDS.search(" ".join(words)) is not None and "--jq" not in words
        return (sub == "api" and not sent) or sub == "search" or plain[2:3] in ([each] for each in _GH_LOOKS)
    if program == "curl" or program == "wget":
        return not _SENDS.search(" ".join(words)) and program == "curl" and "-o" not in words and "-O" not in words
    return sub in _LOOKS.get(program, ())


def _telling(command: str) -> list[str]:
    """Return the words of what acts, without switches that change nothing of what is done."""
    return [
        word
        for each in simples(command)
        if not each.looks
        for word in each.words
        if not re.fullmatch(r"-v+|-q+|-s|-x+|--verbose|--quiet|--tb=\w+|-count=\d+|--color\S*|--no-color", word)
    ]
