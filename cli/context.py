"""What every command is handed, and the one way out for its output."""

from __future__ import annotations

import os
import sys

from core.home import Home, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

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
        from core import jsonio

        write(jsonio.dumps(shown(value)) + "\n")

    @property
    def rich(self) -> bool:
        """Whether stdout is a terminal that wants colour (https://no-color.org)."""
        return sys.stdout.isatty() and not self.environ.get("NO_COLOR") and self.environ.get("TERM") != "dumb"


def shown(value: Any) -> Any:
    """``value`` (JSON-like) as it may be printed, in JSON or as text, for people and agents: secrets are replaced.

    The values are gone through before lines are made of them: what stands beside one in a line is not its name.
    """
    from core import redaction

    return redaction.shown_value(value)


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
