"""What a transport needs of a server, whoever's tools it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.models import InitializationOptions


class Speaker(Protocol):
    """``title`` is what the log calls it; ``options`` are for transports with a handshake."""

    title: str
    # What it answers besides ``/mcp``, by POST.
    paths: tuple[str, ...]
    server: Server[Any]
    options: InitializationOptions

    def interrupt(self) -> None:
        """End the calls that run, and refuse those to come: the process is about to end."""

    async def rest(self, body: bytes) -> tuple[int, Any]:
        """(status, JSON) of a POST to one of ``paths``."""
        ...
