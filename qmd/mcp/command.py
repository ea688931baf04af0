"""``qmd mcp [stop] [--http [--daemon] [--port N] [--host NAME]] [--with-aliases]``: the server's command line.

Without ``--http`` the server runs on standard input and output. The SDK is imported only when a server runs.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.settings import Settings

PORT = 8181
HOST = "localhost"


def main(argv: Sequence[str], settings: Settings) -> int:
    """Run the command line after ``mcp`` and return the exit code. Unknown options are ignored, as in qmd."""
    # Ask before the slow imports: the parent process may end before the server runs.
    parent = os.getppid()
    options = _Options(argv)
    if options.stop:
        from qmd.mcp import daemon

        return daemon.stop(settings)
    if not options.http:
        from qmd.mcp import stdio
        from qmd.mcp.library import Library
        from qmd.mcp.service import Service

        return stdio.serve(Service(Library(settings, aliases=options.aliases)), parent)
    host = options.host or os.environ.get("QMD_HOST") or HOST
    if options.daemon:
        from qmd.mcp import daemon

        return daemon.start(settings, host, options.port, aliases=options.aliases)
    from qmd.mcp import daemon, http
    from qmd.mcp.library import Library
    from qmd.mcp.service import Service

    with daemon.owned(settings):
        service = Service(Library(settings, aliases=options.aliases))
        return http.serve(service, host, options.port, settings.brain)


class _Options:
    """The options after ``mcp``. A ``--port`` that is 0 or no number means 8181, as in qmd."""

    __slots__ = ("aliases", "daemon", "host", "http", "port", "stop")

    def __init__(self, argv: Sequence[str]) -> None:
        words = list(argv)
        self.http = self.daemon = self.stop = self.aliases = False
        self.host = ""
        self.port = PORT
        while words:
            word = words.pop(0)
            name, equals, value = word.partition("=")
            if name in ("--port", "--host"):
                value = value if equals else words.pop(0) if words else ""
                if name == "--host":
                    self.host = value.strip()
                else:
                    self.port = (int(value) if value.strip().isdecimal() else 0) or PORT
            elif word == "--http":
                self.http = True
            elif word == "--daemon":
                self.daemon = True
            elif word == "--with-aliases":
                self.aliases = True
            elif word == "stop":
                self.stop = True


if __name__ == "__main__":
    from qmd.mcp.daemon import resume

    sys.exit(main(sys.argv[sys.argv.index("mcp") + 1 :], resume()))
