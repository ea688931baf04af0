"""``qmd mcp``: hands over to the MCP server, which is imported only then."""

from __future__ import annotations

from qmd.app.output import Exit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from qmd.app.session import Session


def mcp(session: Session) -> None:
    """Serve, or stop the one that serves. Raises Exit with its exit code."""
    from qmd.mcp.command import main

    arguments = session.arguments
    argv = list(arguments.words)
    argv += [f"--{name}" for name in ("http", "daemon", "with-aliases") if name in arguments.flags]
    for name in ("port", "host"):
        if name in arguments.text:
            argv += [f"--{name}", arguments.text[name]]
    session.out.flush()
    session.close()
    raise Exit(main(argv, session.settings))
