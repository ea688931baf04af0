"""Histories that are text: their commands, and the redaction of each command and of spans over several commands.

Formats: zsh with ``EXTENDED_HISTORY`` (zshoptions(1); the bytes are metafied), bash with ``HISTTIMEFORMAT`` (bash(1): a
line ``#<seconds>`` before each command), fish (fish_history, a subset of YAML).

Neighbouring commands of a history have nothing to do with each other. A search for ``<private>`` must not hide the
commands after it, so a tag without its counterpart nearby hides only its own command.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import groupby, repeat
from operator import itemgetter
from os.path import basename, dirname
from typing import TYPE_CHECKING, NamedTuple

from core.counting import add
from core.redaction import clean as redacted
from core.redaction.automaton import suspects
from core.redaction.keys import without_keys
from core.redaction.private import TAG, without_private
from core.redaction.structures import PAIRS
from core.redaction.tokens import without_tokens
from core.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence


class How(NamedTuple):
    """How a command ran: its exit code, its author if that was not the person, and its purpose."""

    code: int = 0
    author: str = ""
    intent: str = ""


UNKNOWN = How()
# Epoch seconds (0: unknown), command without white space around it, folder, how it ran.
Entry = tuple[int, str, str, How]

_ZSH = re.compile(r"^(?:: +([0-9]{1,20}) *(?::[^;\n]*)?;)?(.*)$", re.MULTILINE)
# The same for text in which each line has a time: searching for line ends is fast.
_STAMP = re.compile(r"\n: +([0-9]{1,20}) *(?::[^;\n]*)?;")
_GOES_ON = re.compile(r"\\\n")
# Bytes that show an escaped command. Bash writes commands unchanged.
_SPELLED = {"zsh": (b"\x83", b"\\\n", b"\0"), "bash": (), "fish": (b"\\",)}
# A history may be cut at the end of a line that ends a command.
_BETWEEN = {
    "zsh": re.compile(rb"(?<![\\\x83])\n"),
    "bash": re.compile(rb"\n(?=#[0-9]{9,12}\n)"),
    "fish": re.compile(rb"\n(?=- cmd: )"),
}
_PART = 1 << 16
MAX_COMMAND = 20_000
# Sizes of batches that are screened together; a suspicious batch is screened again in smaller ones.
_BATCHES = (64, 8, 1)
# A text of these bytes alone is clean (``core.text``): it has no control characters and no surrogates.
_LATIN, _CONTROLS = b"\xc2", re.compile(rb"\xc2[\x80-\x9f]")
_PLAIN = bytes(byte for byte in range(256) if byte in (9, 10) or (byte >= 32 and byte not in (0x7F, 0xC2, 0xED)))
# The times of a history, with the end of the line before: without them, repeated commands are equal.
_TIMES = {
    "zsh": re.compile(r"(\n: +[0-9]{1,20} *(?::[^;\n]*)?;)"),
    "bash": re.compile(r"(\n#[0-9]{9,12}\n)"),
    "fish": re.compile(r"(\n  when: [0-9]{1,20}\n)"),
}

# A redacted text, and the number of secrets by kind.
Cleaned = tuple[str, dict[str, int]]
# The end of a command. In fish's format each line is examined by itself.
_ENDS = {
    "zsh": re.compile(r"(?<!\\)\n"),
    "bash": re.compile(r"\n"),
    "fish": re.compile(r"\n"),
}
# The start of a command in fish's format.
_FISH_COMMAND = re.compile(r"^- cmd: ", re.MULTILINE)
# The part of a command that nobody typed.
_HEAD = {
    "zsh": re.compile(r"(?:: +[0-9]{1,20} *(?::[^;\n]*)?;)?"),
    "bash": re.compile(r"(?:#[0-9]{9,12}\n)?"),
    "fish": re.compile(r"(?:- cmd: | *- )?"),
}
# Bash writes a command of several lines only if it writes times.
_DATED = re.compile(r"^#[0-9]{9,12}$", re.MULTILINE)
# The text between two commands that have times.
_SEPARATOR = {
    "zsh": r"\n: +[0-9]{1,20} *(?::[^;\n]*)?;",
    "bash": r"\n#[0-9]{9,12}\n",
    "fish": r"(?:\n  when: [0-9]{1,20})?\n- cmd: ",
}
# The most commands between the tags of a span, and the most lines of a key without one of its ends. Tags and hashes
# that are further apart are searches or results of their own.
_NEAR = 200
_KEY_LINE = r"[A-Za-z0-9+/=]{40,80}"
# A key of which each line is a command and a part is missing: lines, then maybe its end; or its beginning, then lines.
_CUT = {
    kind: re.compile(
        rf"(?P<head>{between})(?:{_KEY_LINE}{between})+(?:[A-Za-z0-9+/=]{{4,80}}{between})?"
        r"(?P<end>-----END[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{0,5})?"
        rf"|-----BEGIN[A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-{{0,5}}(?:{between}{_KEY_LINE}){{1,{_NEAR}}}"
        rf"(?:{between}[A-Za-z0-9+/]{{1,78}}={{1,2}}(?=\n))?"
    )
    for kind, between in _SEPARATOR.items()
}
# Removing a text may join the halves of another secret.
_PASSES = 4


def kind_of(path: str, data: bytes) -> str:
    """Return the shell of a history by its name, its folder's name or its first bytes."""
    for name in (basename(path), basename(dirname(path))):
        for kind in ("fish", "zsh", "bash"):
            if kind in name:
                return kind
    if data.startswith(b"- cmd: "):
        return "fish"
    return "zsh" if data.startswith(b": ") else "bash"


def parts(kind: str, data: bytes) -> Iterator[slice]:
    """Yield the parts of ``data``, cut between commands: reading it in parts takes half the time."""
    start = 0
    while start < len(data):
        found = _BETWEEN[kind].search(data, start + _PART)
        end = found.end() if found else len(data)
        yield slice(start, end)
        start = end


def entries(kind: str, data: bytes) -> tuple[list[Entry], bool]:
    """Return the commands of a part of a history, some maybe empty, and True if none of them is escaped."""
    raw = _unmetafied(data) if kind == "zsh" else data
    text = raw.decode("utf-8", "replace")
    as_written = "\ufffd" not in text and not any(map(data.__contains__, _SPELLED[kind]))
    return list(_PARSERS[kind](text)), as_written


def _unmetafied(data: bytes) -> bytes:
    """Zsh writes each byte of its own range as 0x83 and the byte with bit 5 inverted (zsh: Src/utils.c, unmetafy)."""
    if b"\x83" not in data:
        return data
    pieces = data.split(b"\x83")
    return pieces[0] + b"".join(bytes((piece[0] ^ 0x20,)) + piece[1:] for piece in pieces[1:] if piece)


def _zsh(text: str) -> Iterator[Entry]:
    # A backslash at the end of a line continues the command, even a doubled one: zsh writes a space after a command
    # that itself ends with a backslash (zsh: Src/hist.c, readhistline).
    text = _GOES_ON.sub("\0", text.replace("\0", "")) if "\\\n" in text else text
    lines = f"\n{text.removesuffix(chr(10))}"
    pieces = _STAMP.split(lines)
    stamps, commands = pieces[1::2], pieces[2::2]
    if lines.count("\n") > len(stamps):  # some have no time
        found = _ZSH.findall(text)
        stamps, commands = [stamp or "0" for stamp, _ in found], [command for _, command in found]
    if "\0" in text:
        commands = [command.replace("\0", "\n") if "\0" in command else command for command in commands]
    return zip(map(int, stamps), map(str.strip, commands), repeat(""), repeat(UNKNOWN), strict=False)


def _bash(text: str) -> Iterator[Entry]:
    at, held = 0, ""
    for line in text.split("\n"):
        if line.startswith("#") and 9 < len(line) < 14 and line.isascii() and line[1:].isdigit():
            if held:
                yield at, held.strip(), "", UNKNOWN
            at, held = int(line[1:]), ""
        elif at and held:
            held += f"\n{line}"  # with timestamps, a command continues to the next timestamp
        elif at:
            held = line
        elif line.strip():
            yield 0, line.strip(), "", UNKNOWN
    if held:
        yield at, held.strip(), "", UNKNOWN


def _fish(text: str) -> Iterator[Entry]:
    for piece in f"\n{text}".split("\n- cmd: ")[1:]:
        command, *rest = piece.split("\n")
        at = 0
        for line in rest:
            if line.startswith("  when: ") and len(line) < 29 and line.isascii() and line[8:].strip().isdigit():
                at = int(line[8:])
        if "\\" in command:
            command = command.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")
        if command:
            yield at, command.strip(), "", UNKNOWN


_PARSERS: dict[str, Callable[[str], Iterable[Entry]]] = {"zsh": _zsh, "bash": _bash, "fish": _fish}


class Redaction:
    """The redacted commands of one history; each distinct command is examined once."""

    __slots__ = ("_found", "_kept", "_odd", "_seen")

    def __init__(self) -> None:
        self._seen: set[str] = set()
        # The commands among them that redaction may change.
        self._odd: set[str] = set()
        self._kept: dict[str, Cleaned] = {}
        self._found: dict[str, Cleaned] = {}

    def shown(self, commands: Sequence[str]) -> list[Cleaned | None]:
        """Return each command as it is shown; None for one that does not change."""
        odd = self._look(commands)
        return [self._show(command) if command in odd else None for command in commands]

    def archived(self, kind: str, part: bytes) -> tuple[bytes, dict[str, int] | None]:
        """Return a part of a history, in whole commands, as the archive keeps it. Bytes that are no UTF-8 stay.

        Commands without a time between them are examined together. If such a group was changed, its commands must be
        read from the returned bytes, and the counts of the part (kind → number) are returned too, else None.
        """
        pieces = _TIMES[kind].split("\n" + part.decode("utf-8", "surrogateescape"))
        odd = self._look(pieces[::2])
        if not odd:
            return part, None
        counts: dict[str, int] = {}
        together = False
        for number in range(0, len(pieces), 2):
            piece = pieces[number]
            if piece in odd:
                pieces[number], found = self._redacted(piece)
                # Without times, each line of bash's is a command.
                together |= bool(found) and not (kind == "bash" and number) and has_several(kind, piece)
                add(counts, found)
        return "".join(pieces)[1:].encode("utf-8", "surrogateescape"), counts if together else None

    def alone(self, commands: Iterable[bytes]) -> Iterator[bytes]:
        """Yield each command as it is kept without regard to the others."""
        for command in commands:
            text = command.decode("utf-8", "surrogateescape")
            yield self._redacted(text)[0].encode("utf-8", "surrogateescape")

    def _look(self, texts: Sequence[str]) -> set[str]:
        """Return the texts that redaction may change."""
        there = set(texts)
        fresh = list(there - self._seen)
        self._seen |= there
        for size in _BATCHES:
            batches = [fresh[start : start + size] for start in range(0, len(fresh), size)]
            fresh = [text for batch in batches if not _stay(batch) for text in batch]
        self._odd.update(fresh)
        return self._odd & there

    def _show(self, command: str) -> Cleaned:
        found = self._found.get(command)
        if found is None:
            plain = clean(command).strip()
            text, counts = self._redacted(plain)
            # A command that began with a private span is read from the archive without the space after it.
            found = self._found[command] = text.strip()[:MAX_COMMAND], counts
        return found

    def _redacted(self, text: str) -> Cleaned:
        found = self._kept.get(text)
        if found is None:
            counts: dict[str, int] = {}
            found = self._kept[text] = redacted(text, counts), counts
        return found


def _stay(texts: list[str]) -> bool:
    data = "\n".join(texts).encode("utf-8", "surrogatepass")
    return not suspects(data) and is_clean(data) and max(map(len, texts)) <= MAX_COMMAND


def is_clean(data: bytes) -> bool:
    """Return True if ``core.text.clean`` does not change a text, given as UTF-8; examining bytes is cheaper."""
    odd = data.translate(None, _PLAIN)
    if odd.strip(_LATIN):
        text = data.decode("utf-8", "surrogatepass")
        return clean(text) == text
    return not odd or _CONTROLS.search(data) is None


def without_spans(kind: str, data: bytes, rules: Collection[str], counts: dict[str, int]) -> bytes:
    """Return a history without secrets that span several commands: keys, names next to values, private spans.

    ``rules``: those of ``core.redaction.screen.OVER_LINES`` that may match. Replacements are added to ``counts``; bytes
    that are no UTF-8 stay.
    """
    text = whole = data.decode("utf-8", "surrogateescape")
    pairs = [rule for rule in PAIRS if rule.name in rules]
    for _ in range(_PASSES):
        before = text
        if "private" in rules:
            text = _without_private(kind, text, counts)
        if "key" in rules:
            text = _without_cut_keys(kind, without_keys(text, counts), counts)
        if pairs:
            # A token keeps the name of its kind, as in a single command.
            text = without_tokens(text, counts)
            for rule in pairs:
                text = rule.clean(text, counts)
        if text == before:
            break
    return data if text == whole else text.encode("utf-8", "surrogateescape")


def _without_cut_keys(kind: str, text: str, counts: dict[str, int]) -> str:
    def replaced(match: re.Match[str]) -> str:
        if match["head"] and not match["end"]:
            return match[0]
        counts["private-key"] = counts.get("private-key", 0) + 1
        if not match["head"]:
            return "[redacted:private-key]"
        lines = [each.end() for each in re.finditer(_SEPARATOR[kind], match[0])]  # the last one precedes the end
        return f"{match[0][: lines[max(0, len(lines) - 1 - _NEAR)]]}[redacted:private-key]"

    return _CUT[kind].sub(replaced, f"\n{text}")[1:]


def has_several(kind: str, text: str) -> bool:
    """Return True if ``text``, between two times of a history, has several commands."""
    return kind != "fish" and _ENDS[kind].search(text.removesuffix("\n")) is not None


def _starts(kind: str, text: str) -> list[int]:
    """Return the start of each command of a history, the first at 0, and the end of the history."""
    first = _DATED.search(text) if kind == "bash" else None
    untimed = len(text) if first is None else first.start()
    places = [0, *(match.end() for match in _ENDS[kind].finditer(text, 0, untimed))]
    if first is not None:
        places += (match.start() for match in _DATED.finditer(text, untimed))
    places.append(len(text))
    return sorted(set(places))


def _without_private(kind: str, text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without private spans over several commands, and without the tags of unmatched ones."""
    pieces: list[str] = []
    at = 0
    for start, end in _across(kind, text):
        pieces.append(text[at:start])
        at = end
    if pieces:
        counts["private"] = counts.get("private", 0) + len(pieces)
    text = "".join((*pieces, text[at:]))
    pieces, at = [], 0
    starts = _starts(kind, text)
    for number in sorted({number for number, _ in _alone(text, starts)}):
        start, end = starts[number], starts[number + 1]
        match = _HEAD[kind].match(text, start, end)
        start = match.end() if match else start
        end -= text.endswith("\n", start, end)
        left, spans = without_private(text[start:end])
        counts["private"] = counts.get("private", 0) + spans
        pieces += (text[at:start], left)
        at = end
    return "".join((*pieces, text[at:]))


def _across(kind: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each private span over several commands, at most ``_NEAR`` commands long.

    A span without an end of its own continues to the end of the next span.
    """
    tags = list(_alone(text, _starts(kind, text)))
    places = _numbers(kind, text, tags)
    ends = [-1] * len(tags)
    begun: list[int] = []
    for number, (_, tag) in enumerate(tags):
        if tag["open"]:
            begun.append(number)
        elif begun and places[number] - places[begun[-1]] <= _NEAR + 1:
            ends[begun.pop()] = number
    for number in reversed(begun):  # the next tag begins a span as well, or ends one too far away
        end = ends[number + 1] if number + 1 < len(tags) else -1
        if end >= 0 and places[end] - places[number] <= _NEAR + 1:
            ends[number] = end
    number = 0
    while number < len(tags):
        last = max(ends[number], number)
        if tags[last][0] != tags[number][0]:
            yield tags[number][1].start(), tags[last][1].end()
        number = last + 1


def _numbers(kind: str, text: str, tags: list[tuple[int, re.Match[str]]]) -> list[int]:
    """Return the number of each tag's command; fish has several lines a command."""
    if kind != "fish":
        return [number for number, _ in tags]
    commands = [match.start() for match in _FISH_COMMAND.finditer(text)]
    return [bisect_right(commands, tag.start()) for _, tag in tags]


def _alone(text: str, starts: list[int]) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield (number of the command, tag) of the commands with unmatched tags."""
    tags = ((bisect_right(starts, tag.start()) - 1, tag) for tag in TAG.finditer(text))
    for _, run in groupby(tags, itemgetter(0)):
        found = list(run)
        depth = least = 0
        for _, tag in found:
            depth += 1 if tag["open"] else -1
            least = min(least, depth)
        if depth or least:
            yield from found
