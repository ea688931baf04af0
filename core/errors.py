"""Failures as part of the interface: one exception class, one exit code each.

The codes and the ``error`` keys are a contract (docs/exit-codes.md): agents and scripts route on them.
"""

from __future__ import annotations

OK = 0
USAGE = 64
MISSING = 65
TIMEOUT = 66
NO_RESULTS = 67
LOCKED = 70
REFUSED = 71
INTERNAL = 99
_MOST = 4000


class BrainError(Exception):
    """A failure the user can act on: what went wrong and, in ``fix``, what to do about it.

    ``quotes`` says that one of them holds a document's words, its name or its title: an agent gets them as evidence.
    """

    code = INTERNAL
    error = "internal"

    def __init__(self, message: str, fix: str = "", *, quotes: bool = False) -> None:
        if len(message) > _MOST:
            message = f"{message[: _MOST // 2]} … {message[-_MOST // 2 :]}"  # an argument of any length may be in it
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.quotes = quotes

    def envelope(self) -> dict[str, object]:
        """The JSON form every command prints with ``--json``."""
        return {
            "schema": 1,
            "ok": False,
            "error": self.error,
            "message": self.message,
            "fix": self.fix,
            "exit_code": self.code,
        }


class BadQuery(BrainError):
    """The question itself cannot be asked; another spelling of it can."""

    code = USAGE
    error = "bad_query"


class BadInput(BrainError):
    """An argument, option, file or configuration is not what the command takes."""

    code = USAGE
    error = "bad_input"


class EngineMissing(BrainError):
    """The index, the engine or the environment is not there, or is not what it claims to be."""

    code = MISSING
    error = "qmd_missing"


class EngineTimeout(BrainError):
    """The engine was interrupted at the deadline; nothing is known about the answer."""

    code = TIMEOUT
    error = "qmd_timeout"


class LockContention(BrainError):
    """Another process held the write lock for longer than this one was ready to wait."""

    code = LOCKED
    error = "lock_contention"


class Refused(BrainError):
    """Policy says no; nothing is broken."""

    code = REFUSED
    error = "refused"


class Internal(BrainError):
    """A fault of ours or of the machine."""


class DiskFull(Internal):
    """The machine has no room left for what is to be written."""


def from_os(error: OSError) -> BrainError | None:
    """Return the error for what the machine refused, if the user can do something about it; else None."""
    import errno

    place = str(error.filename or "")
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(f"the disk is full: {place}".rstrip(": "), "free some space, then run the command again")
    if error.errno == errno.ENAMETOOLONG:
        return BadInput(f"a name is too long for this system: {place}", "name a shorter path")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return BadInput(f"{place or 'a file'}: {error.strerror}", _permit(place, error.errno == errno.EROFS))
    return None


def _permit(place: str, read_only: bool) -> str:
    """Return the command that permits what was denied at ``place``, or at its folder if ``place`` is open itself."""
    import os
    from shlex import quote

    if read_only or not place:
        return "choose a place that may be written to: export BRAIN_HOME=…"
    while os.access(place, os.R_OK | os.W_OK) or not os.path.lexists(place):
        place, inside = os.path.dirname(os.path.abspath(place)), place
        if place == inside:
            break
    return f"chmod u+rwX {quote(place)}; if it belongs to another user: ls -ld {quote(place)}"
