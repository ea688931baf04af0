"""How failures and people word things: which errors name a fault, which words are a rule, how a command starts.

The patterns are strings, which ``re`` compiles at first use and keeps: a moment needs few of them, and compiling all
takes longer than most moments.
"""

from __future__ import annotations

import re

# Failures of an agent's own tools: the tool's message says what to do, and no session's fix is another's.
_PROTOCOL = (
    r"has not been read yet|has been (?:unexpectedly )?modified since|[Ss]tring to replace|does not exist|No such file"
    r"|[Nn]o such file|EISDIR|ENOENT|exact text|old_string|InputValidation|Invalid tool param|status code \d"
    r"|syntax error|parse error|no matches found|timed? ?out|[Ii]nterrupted"
)
# A signature that names no fault: without these words, fewer than three are left.
_VAGUE = (
    r"(?i)<\w+>|\bN\b|[^\w\s]|\b(?:error|errors|command|failed|failure|fail|exit|code|exited|with|task|script"
    r"|process|status|elifecycle|the|a|an|in|of|to|at|is|job)\b"
)
_LEAST_WORDS = 3
# Letters and digits of a pattern that tells something: "*.go" is no rule about one file.
_LEAST_PATTERN = 4
_MISUSED = (
    r"(?i)unknown (?:option|flag|argument|command)|unrecognized (?:option|argument)|invalid (?:option|flag|choice)"
    r"|no such option|usage:|unexpected argument|requires? an argument"
)
# Words by which a person says how it is to be done, also next time.
_RULES = (
    r"(?i)\b(?:don'?t|do not|never|always|must(?:n'?t| not)?|should(?:n'?t| not)?|use|instead|prefer|rather than|avoid"
    r"|only|no longer|not? (?:as|like|with|by) )\b"
)
# Words before what is not to be done, and where a part of a sentence ends.
_AGAINST = r"(?i)\b(?:don'?t|never|mustn'?t|shouldn'?t|instead of|rather than|avoid|no longer|stop|not)\b"
_CLAUSE = r"[;.:]\s|,\s(?!not\b|never\b)"
# A person's words that are about this one time, or ask.
_ONCE = (
    r"(?i)\b(?:this (?:branch|pr|time|commit|session|one)|for now|yet|right now|first|wait|hold on|later|again|today"
    r"|let'?s|can we|i want to see|go on|continue)\b|\?\s*$"
)
# Suffix of a file in the line of a call: "(lines 3-9)", "(2 edits)".
_SUFFIX = r" \([^()]*\)$"

# The way to a folder, variables and limits before a program.
_BEFORE = r"^(?:cd \S+ *(?:&&|;) *|\w+=\S+ +|time +|timeout +\S+ +)+"
_LAUNCHERS = frozenset(
    "python python3 uv uvx run exec npx pnpm yarn bun bunx npm poetry pipenv hatch pdm bundle docker compose -m".split()
)
_MOST_STARTING = 4


def is_telling(error: str) -> bool:
    """Return True if the signature of an error names a fault of the work, and not only that something failed."""
    return not re.search(_PROTOCOL, error) and len(re.sub(_VAGUE, " ", error).split()) >= _LEAST_WORDS


def is_misuse(text: str) -> bool:
    """Return True if a failure says that the program was called with wrong options."""
    return re.search(_MISUSED, text) is not None


def is_rule(text: str) -> bool:
    """Return True if a person's words say how it is to be done from then on, and not only this time."""
    return re.search(_RULES, text) is not None and re.search(_ONCE, text) is None


def file_of(argument: str) -> str:
    """Return the file of a call's argument, without what was done to it."""
    return re.sub(_SUFFIX, "", argument)


def names(said: str, name: str) -> bool:
    """Return True if a text has a path or a command whole, not as a part of a longer one."""
    if name not in said:
        return False  # nearly always: each name is a pattern of its own
    return re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)", said) is not None


def start(command: str) -> str:
    """Return how a command starts its program: the words before the arguments, without folders and variables."""
    kept: list[str] = []
    for word in re.sub(_BEFORE, "", command.strip()).split()[:_MOST_STARTING]:
        kept.append(word)
        if word not in _LAUNCHERS and not word.startswith("-"):
            break
    return " ".join(kept)


def options(command: str) -> list[str]:
    """Return the options of a command, without their values."""
    return [word.partition("=")[0] for word in command.split() if word.startswith("-") and word.strip("-")]


def subcommand(command: str) -> str:
    """Return what a command starts, with the word after it if that is no option and no path: ``git push``."""
    begin = start(command)
    rest = re.sub(_BEFORE, "", command.strip()).removeprefix(begin).split()
    word = rest[0] if rest else ""
    return f"{begin} {word}" if word.isalpha() else begin


def folders(path: str) -> list[str]:
    """Return the folders of a path in its project, the innermost first: ``src/gen``, ``src``; none of a whole path."""
    if path.startswith("/"):
        return []
    parts = path.split("/")[:-1]
    return ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]


def names_folder(said: str, folder: str) -> bool:
    """Return True if a text names a folder: by a path of two parts or more, or one part with a slash behind it."""
    if folder not in said:
        return False
    mark = "" if "/" in folder else "/"
    return re.search(rf"(?<![\w./-]){re.escape(folder)}{mark}(?![\w-]|[./]\w)", said) is not None


def matches(said: str, path: str) -> bool:
    """Return True if a text has a pattern of files that a path matches: ``*.pb.go``, ``src/gen/*``."""
    from fnmatch import fnmatchcase

    patterns = [word.strip("`'\"(),;:") for word in said.split() if "*" in word]
    telling = [each for each in patterns if sum(map(str.isalnum, each)) >= _LEAST_PATTERN]
    name = path.rpartition("/")[2]
    return any(fnmatchcase(path, each) or fnmatchcase(name, each) for each in telling)


def program(command: str) -> str:
    """Return the first word of a command, without folders and variables before it."""
    return next(iter(re.sub(_BEFORE, "", command.strip()).split()), "")


def letters(command: str) -> str:
    """Return the letters of a command: ``docker-compose up`` and ``docker compose up`` have the same."""
    return "".join(filter(str.isalpha, command))


def quoted(said: str) -> list[str]:
    """Return the commands of two words or more that a text has between backticks."""
    return [each for each in said.split("`")[1::2] if " " in each.strip()]


def is_recommended(said: str, command: str) -> bool:
    """Return True if a text advises against something else, and not against this command."""
    if not re.search(_AGAINST, said):
        return False
    before = said[: max(0, said.find(command))]
    return not re.search(_AGAINST, re.split(_CLAUSE, before)[-1])
