"""The context of a command: its home, its surface, and the functions that print its output."""

from __future__ import annotations

import os
import sys

from core.home import Home, resolve
from core.text import printable, printable_value, unbroken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

SURFACES = ("terminal", "claude-code", "mcp", "hook", "launchd")


class Context:
    """The home, the surface that asks, and what this command adds to its telemetry row: fields, and another event.

    ``event`` is "" where the row is named after the command. ``waited_s`` are seconds that a person took to answer,
    which are no part of the command's time. ``given`` is the envelope of documents that a command showed, for the
    ledger of what agents were given.
    """

    __slots__ = ("environ", "event", "fields", "given", "home", "surface", "waited_s")

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.home: Home = resolve(self.environ)
        surface = self.environ.get("BRAIN_SURFACE")
        self.surface = surface if surface in SURFACES else "terminal"
        self.event = ""
        self.fields: dict[str, object] = {}
        self.waited_s = 0.0
        self.given: Mapping[str, Any] = {}

    def emit(self, value: object, *, is_clean: bool = False) -> None:
        """Print ``value`` as one line of JSON; what is hidden in a name is escaped there.

        ``is_clean``: the texts in ``value`` may be shown as they are, as those in answers may.
        """
        from core import jsonio

        sys.stdout.write(jsonio.dumps(printable_value(value) if is_clean else shown(value)) + "\n")
        sys.stdout.flush()

    @property
    def rich(self) -> bool:
        """Return True if stdout is a terminal that wants colour (https://no-color.org)."""
        return sys.stdout.isatty() and not self.environ.get("NO_COLOR") and self.environ.get("TERM") != "dumb"


def shown(value: Any) -> Any:
    """Return ``value`` (JSON-like) as it may be shown to people and agents: printable, and with its secrets replaced.

    Call it before lines are made of the values: in a line, redaction would read the words around a value as its name.
    """
    from core import redaction

    return redaction.shown_value(value)


def write(text: str) -> None:
    """Write printable text to stdout; what the locale cannot encode is escaped (``brain.entry``), never an error."""
    write_styled(printable(text))


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to stdout, each as one line of text: no name or title in it can pass for another of ours."""
    write_styled("".join(f"{unbroken(line).rstrip()}\n" for line in lines))


def write_styled(text: str) -> None:
    """Write text with escape sequences of ours as it is; what others wrote in it is printable already."""
    sys.stdout.write(text)
    sys.stdout.flush()


def warn(text: str) -> None:
    """Write one printable line to stderr."""
    sys.stderr.write(unbroken(text) + "\n")
