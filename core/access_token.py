"""The token that a home's HTTP servers ask for: a file that only its user can read.

Loopback is no boundary between the users of one machine: each of them can connect to a port on it.
"""

from __future__ import annotations

import os
import secrets
from os.path import join
from typing import TYPE_CHECKING

from core.files import open_regular, remove_temporary, sync_and_close, write_temporary
from core.home import make_private

if TYPE_CHECKING:
    from core.home import Home

NAME = "http-token"
_OTHERS = 0o077


def path(home: Home) -> str:
    """Return where the token is, or will be."""
    return join(home.state, NAME)


def of(home: Home) -> str:
    """Return the home's token; make one if there is none, or if others could read it. Raises OSError."""
    place = path(home)
    make_private(home.state)
    while True:
        try:
            with open_regular(place) as stream:
                is_private = not os.fstat(stream.fileno()).st_mode & _OTHERS
                token = stream.read(1000).decode("ascii", "replace").strip()
        except FileNotFoundError:
            pass
        else:
            if token and is_private:
                return token
            os.unlink(place)
        temporary, descriptor = write_temporary(home.state, f"{secrets.token_urlsafe(32)}\n".encode())
        try:
            sync_and_close(descriptor)
            os.link(temporary, place)  # fails if another server was faster: its token counts
        except FileExistsError:
            continue
        finally:
            remove_temporary(temporary)
