"""What every command is handed, and the one way out for its output."""

from __future__ import annotations

import os
import sys

from core.home import Home, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SURFACES = ("terminal", "claude-code", "mcp", "hook", "launchd")


class Context:
    """The home, the surface that asks, and the fields this command adds to its telemetry row."""

    __slots__ = ("environ", "fields", "home", "surface")

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.home: Home = resolve(dict(self.environ) if environ is not None else None)
        surface = self.environ.get("BRAIN_SURFACE") or "terminal"
        self.surface = surface if surface in SURFACES else "terminal"
        self.fields: dict[str, object] = {}

    def emit(self, value: object) -> None:
        """Print ``value`` as one line of JSON."""
        from core import jsonio, redaction

        write(jsonio.dumps(redaction.shown_value(value)) + "\n")

    @property
    def rich(self) -> bool:
        """Whether stdout is a terminal that wants colour (https://no-color.org)."""
        return sys.stdout.isatty() and not self.environ.get("NO_COLOR") and self.environ.get("TERM") != "dumb"


def write(text: str) -> None:
    """Text to stdout, whatever the locale's encoding: what cannot be encoded is escaped, never an error."""
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(text)
        return
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.flush()
    stream.write(text.encode(encoding, "backslashreplace"))
    stream.flush()


def warn(text: str) -> None:
    """One line to stderr."""
    sys.stderr.write(text + "\n")
