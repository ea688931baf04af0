"""What PostgreSQL refuses, as our errors: each with a fix, and none with a DSN or a value."""

from __future__ import annotations

from core.errors import BrainError, EngineMissing, EngineTimeout, Internal, LockContention, Refused

# What the triggers and functions of a space raise.
OLDER_POLICY, FORGOTTEN, NOT_ALLOWED, NOT_POSSIBLE = "BR001", "BR002", "BR003", "BR004"
LATE = "the team's server did not answer in time"


def late() -> EngineTimeout:
    """Return the error for a statement that took too long."""
    return EngineTimeout(LATE, "run the command again, or look at the server: brain doctor")


def translated(error: BaseException) -> BaseException:
    """Return our error for one of PostgreSQL's, without DSN and values; any other error as it is."""
    if isinstance(error, BrainError):
        return error
    try:
        import psycopg
    except ImportError:
        return error
    if not isinstance(error, psycopg.Error):
        return error
    from psycopg import errors

    said = (error.diag.message_primary or "").strip()
    state = error.sqlstate or ""
    if isinstance(error, errors.QueryCanceled):
        return late()
    if state == OLDER_POLICY:
        return Refused(f"the space refuses the push: {said}", "update Brain, then: brain index; brain team push")
    if state in (FORGOTTEN, NOT_ALLOWED, NOT_POSSIBLE):
        return Refused(said)
    if isinstance(error, errors.LockNotAvailable | errors.DeadlockDetected | errors.SerializationFailure):
        return LockContention("another push holds what this one writes", "run the command again")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return Refused(
            "the team's server is a replica: it answers, and takes no changes", "name the primary in the DSN"
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return Refused(f"the team's server refuses: {said or 'permission denied'}", "brain team status")
    # What a server refuses before there is a connection has no state, only words.
    words = str(error) if not state else ""
    if "authentication method requirement" in words:
        return EngineMissing(
            "the team's server asks for the password as plain text or MD5, and got none",
            "use scram-sha-256 at the server, or sslmode=verify-full in the DSN: docs/team.md",
        )
    if state.startswith("28") or any(each in words for each in ("password", "authentication", "pg_hba")):
        return EngineMissing(
            "the team's server refuses the member's name or password", "put it into ~/.pgpass or: brain team join"
        )
    if isinstance(error, psycopg.OperationalError):
        return EngineMissing("the team's server cannot be reached", "brain team status; brain doctor")
    return Internal(f"the team's server: {said or type(error).__name__}")
