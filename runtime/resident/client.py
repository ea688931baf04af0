"""Ask the resident process; the caller can always answer alone.

Every question that finds a socket passes this module, so it imports next to nothing. If the other side is gone,
foreign, slow, broken or of another version, there is no answer, and the caller goes on alone.
"""

from __future__ import annotations

# Not `socket`: importing that costs as much as all the rest of a warm question.
import _socket
import os
import sys
import time

from core import jsonio
from core.version import INDEX, VERSION
from runtime.asking.request import project_glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.home import Home
    from runtime.asking.request import Request

MOST_BYTES = 4 << 20
# The share of a question's time that may pass waiting for a warm answer; the rest is for a cold one.
_SHARE = 0.5
_MOST_PATIENCE_S = 2.0
_PIECE = 1 << 16
_SOCKET, _KIND = 0o140000, 0o170000
# The fields of a hit that every surface reads.
_HIT = ("rank", "score", "uri", "title", "snippet", "age", "trust", "collection", "docid")
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def ask(home: Home, question: str, request: Request, timeout_s: float) -> dict[str, Any] | None:
    """Return the envelope that a warm process gives within a part of ``timeout_s``, None for none."""
    patience = min(timeout_s * _SHARE, _MOST_PATIENCE_S)
    given = {name: _plain(getattr(request, name)) for name in request.__slots__}
    given["timeout_s"] = patience
    if request.project:
        given["project"] = project_glob(request.project)  # "." is the caller's folder
    found = call(home, {"op": "ask", "question": question, "request": given}, patience)
    return found if found is not None and _is_answer(found, question) else None


def call(home: Home, message: dict[str, Any], patience_s: float) -> dict[str, Any] | None:
    """Return the answer to one message, None if there is none within ``patience_s`` seconds."""
    deadline = time.monotonic() + patience_s
    path = home.socket
    if not is_ours(path):
        return None
    try:
        line = jsonio.dumps({**message, "caller": caller(home)}).encode() + b"\n"
        found = jsonio.loads(_exchange(path, line, deadline).decode())
    except (OSError, ValueError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def caller(home: Home) -> dict[str, object]:
    """Return the facts that must be equal on both sides, so that one process may answer for the other."""
    return {
        "version": VERSION,
        "index": INDEX,
        "code": _ROOT,
        "home": home.root,
        "inbox": home.inbox,
        "folder": os.path.expanduser("~"),
        "zone": time.localtime().tm_gmtoff,
    }


def is_ours(path: str) -> bool:
    """Return True if ``path`` is a socket of this user in a folder that only this user may write to."""
    try:
        found = os.lstat(path)
        above = os.stat(os.path.dirname(path))
    except OSError:
        return False
    # Others could replace the socket if they may write to its folder.
    private = above.st_uid == os.getuid() and not above.st_mode & 0o022
    return found.st_mode & _KIND == _SOCKET and found.st_uid == os.getuid() and private


def peer(connection: Any) -> int:
    """Return the user id of the process at the other end. Raises OSError if the system does not say."""
    if sys.platform == "linux":
        # struct ucred: pid, uid, gid (unix(7)).
        return int.from_bytes(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)[4:8], sys.byteorder)
    # macOS and the BSDs: LOCAL_PEERCRED of level 0 gives struct xucred: version, uid, … (unix(4)).
    return int.from_bytes(connection.getsockopt(0, 1, 76)[4:8], sys.byteorder)


def _exchange(path: str, line: bytes, deadline: float) -> bytes:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_left(deadline))
        connection.connect(path)
        if peer(connection) != os.getuid():
            raise OSError("another user's")
        connection.sendall(line)
        # Import what showing and recording the answer needs while the other side searches.
        from core import telemetry  # noqa: F401

        parts: list[bytes] = []
        size = 0
        while True:
            connection.settimeout(_left(deadline))
            part = connection.recv(_PIECE)
            size += len(part)
            if not part or size > MOST_BYTES:
                raise OSError("no whole answer")
            parts.append(part)
            if part.endswith(b"\n"):
                return b"".join(parts)
    finally:
        connection.close()


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise OSError("too late")
    return left


def _is_answer(found: dict[str, Any], question: str) -> bool:
    """Return True if ``found`` has the form of an answer to this question (docs/ask.md)."""
    hits = found.get("hits")
    route = found.get("route")
    return (
        found.get("schema") == 1
        and found.get("ok") is True
        and found.get("query") == question
        and isinstance(hits, list)
        and isinstance(route, dict)
        and isinstance(route.get("mode"), str)
        and isinstance(route.get("reason"), str)
        and isinstance(found.get("took_ms"), int | float)
        and isinstance(found.get("freshness"), dict)
        and bool(hits) == ("error" not in found)
        and all(isinstance(hit, dict) and all(name in hit for name in _HIT) for hit in hits)
    )


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
