"""What a command prints, and where to: results on stdout, complaints on stderr, always UTF-8."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

_CODES = {"dim": 2, "bold": 1, "cyan": 36, "yellow": 33, "green": 32, "blue": 34}


class Exit(Exception):
    """Ends the command with an exit code; everything to say has been said."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Output:
    """``terminal`` says whether stdout is one; colours are for terminals without ``NO_COLOR``."""

    __slots__ = ("_color", "_parts", "progress", "terminal")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.terminal = _is_terminal(sys.stdout)
        self.progress = _is_terminal(sys.stderr)
        self._color = self.terminal and not os.environ.get("NO_COLOR")

    @property
    def color(self) -> bool:
        return self._color

    def paint(self, style: str, text: str) -> str:
        """``text`` in a colour or weight of ``_CODES``, where colours are wanted."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self._color else text

    def line(self, text: str = "") -> None:
        """One line to stdout."""
        self._parts.append(text)
        self._parts.append("\n")

    def write(self, text: str) -> None:
        """``text`` to stdout as it is."""
        self._parts.append(text)

    def error(self, text: str) -> None:
        """One line to stderr, after what was printed before it."""
        self.flush()
        _put(sys.stderr, f"{text}\n")

    def status(self, text: str) -> None:
        """``text`` to stderr as it is."""
        self.flush()
        _put(sys.stderr, text)

    def safe(self, text: str) -> str:
        """``text`` from a document; for a terminal, without what would move its cursor or hide what follows."""
        if not self.terminal:
            return text
        from core.text import printable

        return printable(text)

    def flush(self) -> None:
        """Hand over what has been printed."""
        if self._parts:
            text = "".join(self._parts)
            self._parts.clear()
            _put(sys.stdout, text)


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
