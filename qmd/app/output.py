"""What a command prints, and where to: results on stdout, complaints on stderr, always UTF-8."""

from __future__ import annotations

import os
import sys

from qmd import ecma

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

_CODES = {"dim": 2, "bold": 1, "cyan": 36, "yellow": 33, "green": 32, "blue": 34}
_COLORS = "(\x1b\\[(?:0|1|2|32|33|34|36)m)"


class Exit(Exception):
    """Ends the command with an exit code; everything to say has been said."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Output:
    """``terminal`` says whether stdout is one; colours are for terminals without ``NO_COLOR``.

    What a terminal gets is printable but for our own colours. A pipe gets every byte, as from qmd, until ``guard``.
    """

    __slots__ = ("_color", "_guards_errors", "_guards_lines", "_parts", "progress", "terminal")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.terminal = self._guards_lines = _is_terminal(sys.stdout)
        self.progress = self._guards_errors = _is_terminal(sys.stderr)
        self._color = self.terminal and not os.environ.get("NO_COLOR")

    def guard(self) -> None:
        """Make everything printable, for pipes too: the documents are a brain's, and an agent may read the pipe."""
        self._guards_lines = self._guards_errors = True

    @property
    def color(self) -> bool:
        return self._color

    def paint(self, style: str, text: str) -> str:
        """``text`` in a colour or weight of ``_CODES``, where colours are wanted."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self._color else text

    def line(self, text: str = "") -> None:
        """Write a line to stdout."""
        self._parts.append(self.shown(text))
        self._parts.append("\n")

    def shown(self, text: str) -> str:
        """Return ``text`` as ``line`` writes it."""
        return _seen(text) if self._guards_lines else text

    def json(self, value: object) -> None:
        """Write a value to stdout as JSON; what nobody would see in it is escaped where lines are made printable."""
        line = ecma.to_json(value, 2)
        if self._guards_lines:
            from core.text import escaped

            line = escaped(line)
        self._parts.append(line)
        self._parts.append("\n")

    def write(self, text: str) -> None:
        """Write ``text`` to stdout as it is."""
        self._parts.append(text)

    def error(self, text: str) -> None:
        """Write a line to stderr, after what was printed before it."""
        self.flush()
        _put(sys.stderr, f"{_seen(text) if self._guards_errors else text}\n")

    def status(self, text: str) -> None:
        """``text`` to stderr as it is."""
        self.flush()
        _put(sys.stderr, text)

    def flush(self) -> None:
        """Hand over what has been printed."""
        if self._parts:
            text = "".join(self._parts)
            self._parts.clear()
            _put(sys.stdout, text)


def _seen(text: str) -> str:
    """Return ``text`` printable, with the colours that ``paint`` gives."""
    from core.text import printable

    if "\x1b" not in text:
        return printable(text)
    import re

    pieces = re.split(_COLORS, text)
    pieces[::2] = map(printable, pieces[::2])
    return "".join(pieces)


def _put(stream: IO[str] | None, text: str) -> None:
    if stream is None:
        return
    raw = getattr(stream, "buffer", None)
    if raw is None:
        stream.write(text)
        return
    stream.flush()
    # A file name that is no UTF-8 reaches us with lone surrogates in it.
    raw.write(text.encode("utf-8", "replace"))
    raw.flush()


def _is_terminal(stream: IO[str] | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (ValueError, OSError):
        return False
