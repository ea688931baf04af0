"""The results: rows with the figure that each is compared with, and their table."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from pathlib import Path
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One figure. ``compared`` names the floor or peer; ``ratio`` to it; ``met`` is None where there is no bar.

    ``known``: the reason for a missed bar, if it is known, in one line; such a miss is printed but does not fail.
    """

    name: str
    value: str
    compared: str = ""
    ratio: float | None = None
    bar: str = ""
    met: bool | None = None
    known: str = ""


class Report:
    """Rows in the order they were measured, and what was left out and why."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.skipped: list[str] = []
        self.notes: list[str] = []
        self.machine = _machine()

    def add(self, row: Row) -> None:
        """One row; it is also said on stderr, as measuring takes minutes."""
        self.rows.append(row)
        sys.stderr.write("  ".join(cell for cell in _cells(row) if cell) + "\n")

    def skip(self, what: str, why: str) -> None:
        """Something could not be measured."""
        self.skipped.append(f"{what}: {why}")
        sys.stderr.write(f"skipped: {what}: {why}\n")

    def note(self, text: str) -> None:
        """Something worth knowing about the figures."""
        self.notes.append(text)

    @property
    def missed(self) -> list[Row]:
        """The rows below their bar, without those of which it is known why."""
        return [row for row in self.rows if row.met is False and not row.known]

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "schema": 1,
            "ok": not self.missed,
            "machine": self.machine,
            "rows": [row._asdict() for row in self.rows],
            "skipped": self.skipped,
            "notes": self.notes,
        }

    def markdown(self) -> str:
        """A page: the machine, the table, what was skipped."""
        header = ["measure", "value", "floor or peer", "ratio", "bar", "met"]
        table = [header, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[column]) for line in table) for column in range(len(header))]
        padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in table]
        lines = [f"| {' | '.join(line)} |" for line in padded]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        parts = ["# Figures", "", *(f"- {name}: {value}" for name, value in self.machine.items()), "", *lines, ""]
        if any("†" in line for line in lines):
            parts += ["† as published for another machine with two cores, not measured in this run.", ""]
        known = [f"missed, as is known: {row.name}: {row.known}" for row in self.rows if row.met is False and row.known]
        said = [*self.notes, *known, *(f"skipped: {line}" for line in self.skipped)]
        parts += [*(f"- {line}" for line in said), ""] if said else []
        parts.append("How each is measured: docs/performance.md. Again: `make bench`.")
        return "\n".join(parts) + "\n"


def ms(seconds: float) -> str:
    """Milliseconds, one decimal."""
    return f"{seconds * 1000:.1f} ms"


def megabytes(count: float) -> str:
    """Millions of bytes."""
    return f"{count / 1e6:.1f} MB"


def _cells(row: Row) -> list[str]:
    met = "" if row.met is None else "yes" if row.met else "no, known" if row.known else "NO"
    return [row.name, row.value, row.compared, "" if row.ratio is None else f"{row.ratio:.2f}×", row.bar, met]


def _machine() -> dict[str, str]:
    import apsw

    from core.version import VERSION

    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {pages / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load when it began": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "brain": VERSION,
        "apsw, SQLite": f"{apsw.apsw_version()}, {apsw.sqlite_lib_version()}",
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        return platform.processor() or platform.machine()
    return platform.processor() or platform.machine()
