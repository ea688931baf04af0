"""Which retrieval a question needs: the narrowest that answers it.

Exact things (identifiers, paths, commands, errors, quotations) are looked up as words; whatever is put in a person's
own words is searched by meaning as well; where, when and who lean on words, paths and dates. No model takes part, and a
wrong guess costs little: the words count in each of them.
"""

from __future__ import annotations

LITERAL = "literal"
PROVENANCE = "provenance"
CONCEPTUAL = "conceptual"

_EXTENSIONS = frozenset(
    """bash c cc cfg conf cpp cs css csv db env gitignore go h hpp html ini ipynb java jpg js json jsonl jsx kt lock log
    lua md mjs php pdf png proto py rb rs sass scss sh so sql sqlite svg swift tar tex toml ts tsv tsx txt vue xml yaml
    yml zip zsh""".split()
)
# Words that follow a program's name in a command, and seldom in a sentence.
_COMMANDS = {
    program: frozenset(words.split())
    for program, words in (
        ("git", "add bisect blame branch checkout cherry-pick clean clone commit diff fetch log merge pull push rebase "
                "reflog remote reset restore revert show stash status switch tag worktree"),
        ("npm", "audit ci exec i init install link publish run start test uninstall update"),
        ("pnpm", "add dlx exec install run"), ("yarn", "add install run"), ("npx", "create-react-app"),
        ("pip", "freeze install list show uninstall wheel"), ("pip3", "freeze install list uninstall"),
        ("uv", "add lock pip run sync tool venv"), ("brew", "install services uninstall update upgrade"),
        ("apt", "install remove update upgrade"), ("apt-get", "install remove update upgrade"),
        ("cargo", "add bench build check clippy fmt install new run test"),
        ("go", "build fmt generate get install mod run test vet"),
        ("docker", "build compose exec images inspect logs ps pull push rm rmi run stop volume"),
        ("docker-compose", "build down exec logs ps pull restart run stop up"),
        ("kubectl", "apply config delete describe exec get logs rollout scale"),
        ("terraform", "apply destroy import init plan"), ("helm", "install upgrade"),
        ("systemctl", "daemon-reload disable enable restart start status stop"),
        ("gh", "api auth issue pr release repo run"),
        ("make", "all bench check clean install lint test venv"), ("sudo", "apt apt-get bash chmod chown rm systemctl"),
    )
}  # fmt: skip
_QUOTES = {'"': '"', "“": "”", "«": "»", "`": "`"}
_PROVENANCE_FIRST = frozenset("when where who whose".split())
_PLACES = frozenset(
    """article branch chat collection commit conversation directory document email file folder link machine mail meeting
    message note page path project repo repository session source thread tool transcript url website""".split()
)
_PROVENANCE_AFTER = _PLACES | frozenset("date day week month year time".split())
# "which agent session", "what exact day": what may stand before those.
_QUALIFIERS = frozenset("agent ai claude codex cursor exact first gemini last old older other previous same".split())
# Beginnings of an indirect question: "do you remember when", "can you tell me who".
_FRAMES = frozenset(
    """and but by can could do during find from give i in know look me need okay on out please pull recall remember
    remind show since so tell then to until up us want would you at hey ok let see""".split()
)
_SEEKS = frozenset("find give look open pull see show".split())
_OURS = frozenset("my our that the these those".split())
_OF = frozenset("about for from in of on that we where when which with i you".split())
_IS = frozenset("is was are were the exact".split())
_ERRNO = frozenset(
    """EACCES EAGAIN EBADF EBUSY EEXIST EINTEGRITY EINTR EINVAL EIO EISDIR EMFILE EPERM EPIPE ERESOLVE EROFS ETARGET
    EUSAGE""".split()
)
# Words that a number after them makes exact: "port 8443", "exit code 137", "HTTP 502".
_NUMBERED = frozenset("code errno error http pid port status".split())
# Beginnings of a program's complaint, as people paste it.
_COMPLAINTS = frozenset("fatal: panic: error: exception:".split())
_STATEMENTS = {
    "SELECT": "FROM", "INSERT": "INTO", "UPDATE": "SET", "DELETE": "FROM", "CREATE": "TABLE", "ALTER": "TABLE",
    "DROP": "TABLE",
}  # fmt: skip
# Beginnings of names of branches; "read/write" and "and/or" are prose.
_BRANCHES = frozenset("bugfix feat feature heads hotfix origin refs upstream".split())
# Endings of the names of classes; "GitHub" and "JavaScript" are names.
_ROLES = tuple(
    """Adapter Builder Component Config Context Controller Dispatcher Factory Handler Iterator Listener Manager
    Middleware Observer Options Parser Provider Registry Repository Request Response Scheduler Serializer Service
    Validator Wrapper""".split()
)
_ERRNO_FAMILIES = ("EADDR", "ECONN", "EHOST", "ENET", "ENO", "ENAMETOO", "ETIMED")
_HEX = frozenset("0123456789abcdef")


def kind(question: str) -> tuple[str, str]:
    """Return (``literal``, ``provenance`` or ``conceptual``, the part of the question that shows it or "")."""
    exact = _exact(question)
    if exact:
        return LITERAL, exact
    said = _provenance(question)
    return (PROVENANCE, said) if said else (CONCEPTUAL, "")


def _provenance(question: str) -> str:
    """Return the words that ask where something is, when it was or who said it, "" if there are none."""
    words = [
        "".join(filter(str.isalnum, each.partition("'")[0])) for each in question.lower().replace("’", "'").split()
    ]
    words = [word for word in words if word]
    at = 0
    while at < len(words) and words[at] in _FRAMES:
        at += 1
    framed = words[:at]
    first, second, third, fourth = (*words[at : at + 4], "", "", "", "")[:4]
    if first in _PROVENANCE_FIRST:
        return first
    if (first, second, third) == ("how", "long", "ago"):
        return "how long ago"
    if first in ("which", "what"):
        if second in _PROVENANCE_AFTER:
            return f"{first} {second}"
        if second in _QUALIFIERS and third in _PROVENANCE_AFTER:
            return f"{first} {second} {third}"
        if second == "of" and third in _OURS and fourth.removesuffix("s") in _PLACES:
            return f"{first} of {third} {fourth}"
        # "what was the date of", "what's the path of"; not "what is the time complexity".
        rest = [word for word in words[at + 1 :] if word not in _IS]
        if second in _IS and rest and (rest[0] in _PLACES or rest[0] in ("date", "day")) and (*rest, "")[1] in _OF:
            return f"{first} {rest[0]}"
    # "find the session where", "show me the note on".
    if first in _OURS and second in _PLACES and third in _OF and _SEEKS.intersection(framed):
        return f"{first} {second}"
    return ""


def _exact(question: str) -> str:
    """Return the part of a question that is meant to the letter, "" if there is none."""
    quoted = _quoted(question)
    if quoted:
        return quoted
    words = question.split()
    for word in words:
        bare = (
            word.strip(".,;:!?\"'()[]{}<>…“”‘’«»")
            if not word.startswith(("-", ".", "/", "~"))
            else word.rstrip(".,;:!?")
        )
        if _is_exact(bare) or _is_call(word.rstrip(".,;:!?")):
            return bare
    if len(words) > 1 and words[1] in _COMMANDS.get(words[0], ()):
        return f"{words[0]} {words[1]}"
    if len(words) > 2 and (words[0].lower() in _COMPLAINTS or words[:2] in (["npm", "ERR!"], ["Traceback", "(most"])):
        return words[0]
    if words and _STATEMENTS.get(words[0]) in words[1:]:
        return words[0]
    for number, word in enumerate(words[1:]):
        digits = word.rstrip(".,;:!?)")
        if digits.isdigit() and len(digits) > 1 and words[number].lower() in _NUMBERED:
            return f"{words[number]} {digits}"
    return ""


def _quoted(question: str) -> str:
    for opening, closing in _QUOTES.items():
        before, found, rest = question.partition(opening)
        inside, closed, _ = rest.partition(closing)
        if found and closed and inside.strip() and (not before or not before[-1].isalnum()):
            return inside.strip()
    return ""


def _is_exact(word: str) -> bool:
    """Return True if a word is an identifier, a path, a flag, a hash or the name of an error."""
    if len(word) < 2:
        return False
    if word.startswith("-"):
        return word[1:2].isalpha() or (word.startswith("--") and word[2:3].isalpha())
    if word.startswith(("/", "~/", "./", "../", "$")) and any(c.isalpha() for c in word):
        return True
    if any(mark in word for mark in ("::", "->", "=>", "&&", "||", "()", "://", "${")):
        return True
    if "\\" in word or ("@" in word[1:-1] and "." in word):
        return True
    letters = [c for c in word if c.isalpha()]
    if not letters:
        return word.count(".") == 3 and word.replace(".", "").replace(":", "").isdigit()  # an address
    if "_" in word.strip("_") or word.startswith("__"):
        return True
    if "=" in word[1:]:
        return True
    return (
        _is_path(word)
        or _is_dotted(word)
        or _is_camel(word)
        or _is_error(word)
        or _is_hash(word)
        or _is_ticket(word)
        or _is_numbered(word)
        or _is_header(word)
        or _is_class(word)
    )


def _is_call(word: str) -> bool:
    """Return ``open()``, ``parse(path)``; not ``file(s)``."""
    name, opened, rest = word.partition("(")
    return bool(opened) and name.isidentifier() and rest.endswith(")") and len(rest) != 2


def _is_ticket(word: str) -> bool:
    """Return ``CVE-2024-3094``, ``BRAIN-123``; not ``UTF-8`` or ``COVID-19``."""
    name, *numbers = word.lstrip("#").split("-")
    is_named = len(name) > 1 and name.isascii() and name.isalpha() and name.isupper()
    return is_named and all(map(str.isdigit, numbers)) and len("".join(numbers)) > 2


def _is_path(word: str) -> bool:
    parts = word.split("/")
    if len(parts) < 2:
        return False
    if parts[1] and (parts[0] in _BRANCHES or (parts[0].startswith("@") and len(parts[0]) > 1)):
        return True  # @types/node
    # "and/or" and "client/server" are prose; three parts, or a dot in the last, are a path.
    return (len(parts) > 2 and all(parts[:-1])) or "." in parts[-1].strip(".")


def _is_dotted(word: str) -> bool:
    parts = word.lstrip(".").split(".")
    if word.startswith(".") and parts[0].isalpha() and len(parts) == 1:
        return word[1:].lower() in _EXTENSIONS or len(word) > 4
    if len(parts) < 2:
        return False
    if parts[-1].lower() in _EXTENSIONS and parts[0]:
        return True
    if parts[-1].isdigit() and parts[-2].lower() in _EXTENSIONS and parts[0]:
        return True  # libssl.so.3
    return all(len(part) > 1 and part.isidentifier() for part in parts)


def _is_camel(word: str) -> bool:
    """Return ``getUserName``; not ``iPhone``, ``YouTube`` or ``McDonald``."""
    if not word.isalnum() or not word[0].islower() or not word[:2].islower():
        return False
    return (any(c.isupper() for c in word[2:-1]) and word[-1] != "s") or sum(c.isupper() for c in word[2:]) > 1


def _is_error(word: str) -> bool:
    """Return ``TypeError``, ``ECONNREFUSED``, ``SIGKILL``."""
    if not word.isalnum():
        return False
    if word.isupper():
        return word in _ERRNO or word.startswith(_ERRNO_FAMILIES) or (word.startswith("SIG") and len(word) > 5)
    named = word[0].isupper() and word.endswith(("Error", "Exception", "Warning"))
    return named and len(word) > 6 and word not in ("Exception", "Warning")


def _is_numbered(word: str) -> bool:
    """Return ``v2.3.1``, ``localhost:3000``, ``0x7ffd``, ``TS2304``; not ``v2``, ``B12`` or ``MP3``."""
    if word[0] == "v" and "." in word and word.partition("-")[0][1:].replace(".", "").isdigit():
        return True  # also v1.2.3-rc1
    name, colon, port = word.rpartition(":")
    if colon and port.isdigit() and len(port) > 1 and name.replace(".", "").replace("-", "").isalnum():
        return True
    if word[:2].lower() == "0x":
        return len(word) > 2 and _HEX.issuperset(word[2:].lower())
    letters = word.rstrip("0123456789")
    return len(letters) < 5 and letters.isalpha() and letters.isupper() and len(word) - len(letters) > 2


def _is_header(word: str) -> bool:
    """Return ``Content-Security-Policy``, ``X-Forwarded-For``."""
    parts = word.split("-")
    return (len(parts) > 2 or (len(parts) > 1 and parts[0] == "X")) and all(
        part.isascii() and part.isalpha() and part[0].isupper() for part in parts
    )


def _is_class(word: str) -> bool:
    """Return ``AbortController``; not ``Controller`` or ``GitHub``."""
    return word.isalnum() and word[0].isupper() and word.endswith(_ROLES) and word not in _ROLES


def _is_hash(word: str) -> bool:
    digits = word.removeprefix("#").replace("-", "")
    if not _HEX.issuperset(digits.lower()) or len(digits) < 6:
        return False
    return any(c.isdigit() for c in digits) and any(c.isalpha() for c in digits)
