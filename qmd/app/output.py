"""Output of a command, always UTF-8: results on stdout, complaints on stderr; sizes and ages as qmd prints them."""

from __future__ import annotations

import os
import sys
import time

from core import clock
from qmd import ecma

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import IO

_CODES = {"dim": 2, "bold": 1, "cyan": 36, "yellow": 33, "green": 32, "blue": 34}
_COLORS = "(\x1b\\[(?:0|1|2|32|33|34|36)m)"


class Exit(Exception):
    """Ends the command with an exit code, after all messages have been printed."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Output:
    """The two streams of a command. ``terminal`` is True if stdout is one; colours need a terminal without
    ``NO_COLOR``.

    Text for a terminal is made printable, except our own colours. A pipe gets every byte, as from qmd, until ``guard``.
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
        """Return ``text`` in a colour or weight of ``_CODES``, where colours are wanted."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self._color else text

    def line(self, text: str = "") -> None:
        """Write a line to stdout."""
        self._parts.append(self.shown(text))
        self._parts.append("\n")

    def shown(self, text: str) -> str:
        """Return ``text`` as ``line`` writes it."""
        return _seen(text) if self._guards_lines else text

    def json(self, value: object) -> None:
        """Write a value to stdout as JSON; escape invisible characters if lines are made printable."""
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
        """Write the collected lines to stdout."""
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


_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_HALF_A_YEAR = 6 * 30 * clock.DAY


def file_size(count: int) -> str:
    """Return ``150 B``, ``1.5 KB``, ``2.0 MB``, ``1.0 GB``."""
    if count < 1024:
        return f"{count} B"
    for power, unit in ((1, "KB"), (2, "MB")):
        if count < 1024 ** (power + 1):
            return f"{ecma.to_fixed(count / 1024**power, 1)} {unit}"
    return f"{ecma.to_fixed(count / 1024**3, 1)} GB"


def ago(date: str) -> str:
    """Return the age of a date of the index: ``5s ago``, ``3m ago``, ``2h ago``, ``4d ago``.

    A date that cannot be read counts as the epoch.
    """
    seconds = clock.now() - (clock.parse_iso(date) or 0)
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit} ago"
    return f"{seconds}s ago"


def listed_date(text: str) -> str:
    """Return a date of the index as ``ls -l`` has it, in local time: with the time of day, or the
    year where it is old.
    """
    instant = clock.parse_iso(text) or 0
    local = time.localtime(instant)
    day = f"{_MONTHS[local.tm_mon - 1]} {local.tm_mday:>2}"
    if instant < time.time() - _HALF_A_YEAR:
        return f"{day}  {local.tm_year}"
    return f"{day} {local.tm_hour:02}:{local.tm_min:02}"


def grouped(count: int) -> str:
    """Return ``12,345``."""
    return f"{count:,}"


def csv_field(value: object) -> str:
    """One field of CSV; quoted where it holds a comma, a quote or a newline, empty for None."""
    text = "" if value is None else str(value)
    if "," in text or '"' in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def xml_text(text: str) -> str:
    """Return ``text`` with XML's five marks as entities."""
    for mark, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;")):
        text = text.replace(mark, entity)
    return text
