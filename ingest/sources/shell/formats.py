"""The text files that shells keep their histories in, as commands; the formats: ``ingest.sources.shell.reading``."""

from __future__ import annotations

import re
from itertools import repeat
from os.path import basename, dirname
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class How(NamedTuple):
    """How a command ran: its exit code, who had it run where that was not the person, and what for."""

    code: int = 0
    author: str = ""
    intent: str = ""


UNKNOWN = How()
# Epoch seconds (0: unknown), command without white space around it, directory, how it ran.
Entry = tuple[int, str, str, How]

_ZSH = re.compile(r"^(?:: +([0-9]{1,20}) *(?::[^;\n]*)?;)?(.*)$", re.MULTILINE)
# Much the same, but told by a line's end, which is looked for fast: for text in which each line has a time.
_STAMP = re.compile(r"\n: +([0-9]{1,20}) *(?::[^;\n]*)?;")
_GOES_ON = re.compile(r"\\\n")
# By what a command may be spelled that does not stand in a history just so: bash writes commands as they are.
_SPELLED = {"zsh": (b"\x83", b"\\\n", b"\0"), "bash": (), "fish": (b"\\",)}
# Where a history may be cut: at a line's end that no command goes on behind.
_BETWEEN = {
    "zsh": re.compile(rb"(?<![\\\x83])\n"),
    "bash": re.compile(rb"\n(?=#[0-9]{9,12}\n)"),
    "fish": re.compile(rb"\n(?=- cmd: )"),
}
_PART = 1 << 16


def kind_of(path: str, data: bytes) -> str:
    """Whose history it is: what its name says, or its folder's, or else how it begins."""
    for name in (basename(path), basename(dirname(path))):
        for kind in ("fish", "zsh", "bash"):
            if kind in name:
                return kind
    if data.startswith(b"- cmd: "):
        return "fish"
    return "zsh" if data.startswith(b": ") else "bash"


def parts(kind: str, data: bytes) -> Iterator[slice]:
    """Where to cut ``data``, between commands: a part at a time is read in half the time that it takes as a whole."""
    start = 0
    while start < len(data):
        found = _BETWEEN[kind].search(data, start + _PART)
        end = found.end() if found else len(data)
        yield slice(start, end)
        start = end


def entries(kind: str, data: bytes) -> tuple[list[Entry], bool]:
    """The commands of a part of a history, and whether each of them stands in it just so; some may be empty."""
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
    # A command goes on behind a line's end that a backslash stands before, also one of its own (`\\` then): what itself
    # ends with a backslash is written with a space behind it (zsh: Src/hist.c, readhistline).
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
            held += f"\n{line}"  # with timestamps, a command goes on to the next one
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
