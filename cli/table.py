"""Rows of cells as aligned lines, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.render import cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> Iterable[str]:
    """A line a row, its columns two spaces apart; those in ``right`` (by index) end where the others begin."""
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (
            " " * (width - cells(cell)) + cell if index in right else cell + " " * (width - cells(cell))
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(padded).rstrip()
