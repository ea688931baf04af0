"""When are two commands the same? If they do the same thing to the same things, however their output was shortened.

tests/qmd/index/actions/data has the cases, one a line.
"""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Words = list[str]

# Characters of a command that are taken apart: the rest of a long script only counts for its key.
_LONGEST = 4000

_TOKEN = re.compile(
    r"""\d?[<>]&\d|&>>?\s*/dev/null|\d?>>?\s*/dev/null|&&|\|\||\|&|;;|[;|&\n]"""
    r"""|(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|\$\((?:[^()]|\([^()]*\))*\)|[^\s;|&'"\\])+""",
    re.DOTALL,
)
_NOWHERE = re.compile(r"\d?[<>]&\d$|(?:&|\d)?>>?\s*/dev/null$")
_ENDS = frozenset(("&&", "||", "|", "|&", ";", "&", "\n", ";;"))
_QUOTED = re.compile(r"""'([^'\s$`\\;|&<>*?()]*)'|"([^"\s$`\\;|&<>*?()]*)\"""")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
# Commands after a pipe that only shorten what is shown.
_SHORTENS = frozenset(("tail", "head", "cat", "less", "more", "tee"))
# Commands that prepare for the one that is meant.
_PREPARES = frozenset("cd pushd popd export source . set unset echo printf mkdir sleep true : sync wait".split())
# Commands that run the one after them, and how many plain arguments of their own come before it.
_WRAPS = {
    "sudo": 0, "time": 0, "nohup": 0, "command": 0, "exec": 0, "env": 0, "nice": 0, "ionice": 0, "stdbuf": 0,
    "timeout": 1, "gtimeout": 1, "caffeinate": 0,
}  # fmt: skip
# Runners of other programs: the word after them (of the named subcommand) is the program.
_RUNNERS = {
    "npx": (), "bunx": (), "uvx": (), "pipx": ("run",), "uv": ("run",), "poetry": ("run",), "pipenv": ("run",),
    "hatch": ("run",), "pdm": ("run",), "rye": ("run",), "bundle": ("exec",), "pnpm": ("exec", "dlx"),
}  # fmt: skip
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*$")
# Programs whose options and arguments are the whole of what they do: no form of theirs is another's variant.
_NO_VARIANTS = frozenset(
    """ls cat grep rg ag find fd sed awk head tail wc sort uniq cut echo printf test [ diff stat file which type tree
    du df ps kill pkill curl wget jq xargs tee touch cp mv rm ln chmod mkdir cd sqlite3 psql for while if""".split()
)
# Programs that exit with 1 where they found nothing, or a difference: an answer, not a failure.
ANSWERS_WITH_1 = frozenset("grep rg ag egrep fgrep zgrep diff cmp test [ pgrep which jq".split())
_PRINTS_FILES = frozenset("cat sed head tail nl bat less".split())
_IS_PATH = re.compile(r"[\w.@~+/-]*[\w-]\.\w{1,10}$|[\w.@~+-]*/[\w.@~+/-]+$")


class Command:
    """A command line, taken apart.

    ``normal`` is its normal form, ``tool`` the program that is meant. ``plain`` is the program with its arguments that
    are no options, "" if nothing else is a variant of it. ``folder`` is the folder it changes to first, ``reads`` the
    files that it prints. ``tells`` is True if its exit status 0 means that the program succeeded: the status of
    ``make | tail`` is that of ``tail``.
    """

    __slots__ = ("folder", "normal", "plain", "reads", "tells", "tool")

    def __init__(self, normal: str, tool: str, plain: str, folder: str, reads: Sequence[str], tells: bool) -> None:
        self.normal, self.tool, self.plain, self.folder, self.reads = normal, tool, plain, folder, reads
        self.tells = tells


@lru_cache(1024)
def command(text: str) -> Command:
    """Take a command line, or a script, apart."""
    rest = text[_LONGEST:]
    parts = list(_simple_commands(text[:_LONGEST]))
    folder = ""
    while parts and parts[0][1][:1] == ["cd"] and parts[0][0] in ("", "&&", ";", "\n"):
        words = parts.pop(0)[1]
        step = words[1] if len(words) > 1 else "~"
        folder = step if step.startswith(("/", "~")) or not folder else f"{folder}/{step}"
        if not parts:
            return Command(f"cd {step}", "cd", "", folder, (), True)
    tells = _tells(parts, text)
    pieces: list[str] = []
    kept: list[Words] = []
    reads: list[str] = []
    for operator, words in parts:
        if operator in ("|", "|&") and kept and words[0] in _SHORTENS:
            continue
        if pieces:
            pieces.append(operator if operator != "\n" else ";")
        pieces.append(" ".join(_unwrapped(words)))
        kept.append(words)
        if words[0] in _PRINTS_FILES and len(reads) < 10:
            reads += [word for word in words[1:] if not word.startswith("-") and _IS_PATH.match(word)]
    normal = " ".join(pieces) + rest
    meant = [_program(words) for words in kept if words[0] not in _PREPARES] or [_program(words) for words in kept]
    is_script = "\n" in text.strip() or "<<" in text
    # A form without options is no form of a script, of an inline program, or of what looks something up.
    is_plain = not is_script and all(plain and program not in _NO_VARIANTS for program, plain in meant)
    plain = " && ".join(plain for _, plain in meant) if is_plain else ""
    return Command(normal, meant[0][0] if meant else "", plain, folder, tuple(reads), tells)


def _tells(parts: list[tuple[str, Words]], text: str) -> bool:
    """Return True if the exit status 0 of a command line means that each of its commands that is meant succeeded."""
    if "set -e" in text:
        return all(operator not in ("||", "&") for operator, _ in parts) and ("pipefail" in text or "|" not in text)
    meant = False
    for operator, words in parts:
        if operator in ("|", "|&", "||", "&") or (meant and operator in (";", "\n")):
            return False
        meant = meant or words[0] not in _PREPARES
    return True


def programs(text: str) -> set[str]:
    """Return the programs that a command line runs."""
    return {_program(words)[0] for _, words in _simple_commands(text[:_LONGEST])}


def _simple_commands(text: str) -> Iterator[tuple[str, Words]]:
    """Yield each simple command with the operator before it; without redirections of its output to nowhere."""
    words: Words = []
    operator = ""
    for piece in _TOKEN.findall(text.replace("\\\n", " ")):
        if piece in _ENDS:
            if words:
                yield operator, words
            if words or (operator and piece not in "\n"):
                operator = piece
            words = []
        elif not _NOWHERE.match(piece):
            words.append(_QUOTED.sub(_bare, piece) if piece[0] in "'\"" or "='" in piece or '="' in piece else piece)
    if words:
        yield operator, words


def _bare(match: re.Match[str]) -> str:
    found = match[1] if match[1] is not None else match[2]
    return found or match[0]


def _unwrapped(words: Words) -> Words:
    """Return a simple command without what only times it or limits its time."""
    while len(words) > 1 and words[0] in ("time", "timeout", "gtimeout", "nohup", "nice", "caffeinate", "command"):
        words = _after_wrapper(words) or words[1:]
    return words


def _after_wrapper(words: Words) -> Words:
    skip = _WRAPS[words[0]]
    at = 1
    while at < len(words) and (words[at].startswith("-") or skip > 0):
        if not words[at].startswith("-"):
            skip -= 1
        elif words[at] in ("-k", "-s", "-n", "-u", "-g") and at + 1 < len(words):
            at += 1
        at += 1
    return words[at:]


def _program(words: Words) -> tuple[str, str]:
    """Return the program that is meant, and it with its arguments that are no options."""
    while words:
        if _ASSIGNED.match(words[0]):
            words = words[1:]
            continue
        name = words[0].rpartition("/")[2] or words[0]
        if name in _WRAPS and len(words) > 1:
            words = _after_wrapper(words)
            continue
        if _PYTHON.match(name):
            at = next((place for place, word in enumerate(words) if place and not word.startswith("-")), 0)
            if "-m" in words[:at]:
                words = words[words.index("-m") + 1 :]
                continue
            return "python", "" if not at or "-c" in words[:at] else " ".join(["python", *_arguments(words[at:])])
        subcommands = _RUNNERS.get(name)
        if subcommands is not None:
            rest = words[1:]
            if not subcommands or (rest and rest[0] in subcommands):
                rest = rest[1:] if subcommands else rest
                while rest and rest[0].startswith("-"):
                    rest = rest[1:]
                if rest:
                    words = rest
                    continue
        if name in ("bash", "sh", "zsh") and len(words) > 2 and words[1].startswith("-") and words[1].endswith("c"):
            return name, ""
        if name == "git" and len(words) > 2 and words[1] == "-C":
            words = ["git", *words[3:]]
        return name, " ".join([name, *_arguments(words[1:])])
    return "", ""


def _arguments(words: Words) -> Words:
    return [word for word in words if not word.startswith("-") and word != "."]
