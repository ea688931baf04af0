"""Lines of styled text: in colour on a terminal, plain in a pipe, the same words in both.

A line is a list of (text, style) pieces; a style is names of ``_SGR`` ("bold cyan", "dim", ""). Texts from documents
are made printable here, so that no caller can forget it.
"""

from __future__ import annotations

import os
import sys

from cli.context import Context, write, write_styled
from core.text import unbroken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Line = Sequence[tuple[str, str]]

_DEFAULT_WIDTH = 80
# Selections of graphic rendition (ECMA-48, 8.3.117). Importing rich for these few takes 50 ms.
_SGR = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def width() -> int | None:
    """Return the terminal's columns; None if stdout is none, and nothing need be cut."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _DEFAULT_WIDTH
    except (OSError, ValueError):
        return _DEFAULT_WIDTH


def cells(text: str) -> int:
    """Return how many terminal columns ``text`` takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def fit(text: str, columns: int) -> str:
    """Return ``text`` cut to ``columns`` terminal columns, with an ellipsis where something went."""
    if cells(text) <= columns:
        return text
    if columns < 1:
        return ""
    kept = text
    while kept and cells(kept) > columns - 1:
        kept = kept[: max(0, min(len(kept) - 1, columns - 1))]
    return kept.rstrip() + "…"


def show(context: Context, lines: Iterable[Line], *, cut: bool = False) -> None:
    """Print the lines; ``cut`` shortens each to the terminal's width instead of letting it wrap."""
    columns = width() if cut else None
    # A line is one line: no text in it may begin another and pass for one of ours.
    clean = [[(unbroken(text), style) for text, style in line] for line in lines]
    if columns is not None:
        clean = [_shortened(line, columns) for line in clean]
    if context.rich:
        write_styled(_styled(clean))
    else:
        write("".join("".join(text for text, _ in line).rstrip() + "\n" for line in clean))


def show_verbatim(data: bytes) -> None:
    """Print bytes as they are; a terminal gets their text without what could drive it."""
    sys.stdout.flush()
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None or sys.stdout.isatty():
        write(data.decode("utf-8", "replace"))
        return
    stream.write(data)
    stream.flush()


def _shortened(line: list[tuple[str, str]], columns: int) -> list[tuple[str, str]]:
    result: list[tuple[str, str]] = []
    left = columns
    for text, style in line:
        shorter = fit(text, left)
        result.append((shorter, style))
        left -= cells(shorter)
        if shorter != text:
            break
    return result


def _styled(lines: list[list[tuple[str, str]]]) -> str:
    """Return the lines with escape sequences for the terminal's colours (ECMA-48, SGR)."""
    return "".join("".join(_sgr(text, style) for text, style in line) + "\n" for line in lines)


def _sgr(text: str, style: str) -> str:
    codes = ";".join(_SGR[name] for name in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def table(rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> Iterable[str]:
    """Yield one line a row with columns two spaces apart; right-align the column indexes in ``right``."""
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (
            " " * (width - cells(cell)) + cell if index in right else cell + " " * (width - cells(cell))
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(padded).rstrip()
