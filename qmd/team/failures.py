"""What PostgreSQL refuses, as our errors: each with a fix, and none with a DSN or a value."""

from __future__ import annotations

from core.errors import BrainError, DiskFull, EngineMissing, EngineTimeout, Internal, LockContention, Refused

# What the triggers and functions of a space raise.
OLDER_POLICY, FORGOTTEN, NOT_ALLOWED, NOT_POSSIBLE = "BR001", "BR002", "BR003", "BR004"
LATE = "the team's server did not answer in time"
AGAIN = "run the command again, or look at the server: brain doctor"
_CERTIFICATES = "sslrootcert=FILE in the DSN names who signed it, sslrootcert=system the public ones: docs/team.md"

# (States, words of libpq and of the server, our error, what the server does, fix), the first that fits. The states:
# https://www.postgresql.org/docs/current/errcodes-appendix.html
_KNOWN: tuple[tuple[tuple[str, ...], tuple[str, ...], type[BrainError], str, str], ...] = (
    (
        (),
        ("authentication method requirement",),
        EngineMissing,
        "asks for the password as plain text or MD5, and got none",
        "use scram-sha-256 at the server, or sslmode=verify-full in the DSN: docs/team.md",
    ),
    (
        (),
        ("does not support SSL", "server does not support TLS"),
        EngineMissing,
        "does not encrypt, and the DSN asks for TLS",
        "an admin sets ssl = on at the server: docs/team.md",
    ),
    (
        (),
        ("does not match host name", "server certificate for"),
        EngineMissing,
        "has a certificate of another name than the DSN's host",
        "name the host as the certificate does",
    ),
    (
        (),
        ("certificate verify failed", "root certificate file", "SSL error", "SSL SYSCALL"),
        EngineMissing,
        "has a certificate that nobody known here signed",
        _CERTIFICATES,
    ),
    (
        ("53300",),
        ("too many connections", "too many clients", "connection slots"),
        LockContention,
        "has no connection left",
        "run the command again; an admin looks at max_connections",
    ),
    (
        ("57P03", "55000"),
        (
            "system is starting up",
            "system is shutting down",
            "recovery mode",
            "not yet accepting",
            "not currently accep",
        ),
        EngineMissing,
        "is starting or stopping, and lets nobody in",
        "run the command again in a minute",
    ),
    (
        ("57P", "25P03", "25P04"),
        ("terminating connection",),
        EngineMissing,
        "ended the connection",
        "run the command again: it goes on where it stopped",
    ),
    (
        ("3D000",),
        ('database "',),
        EngineMissing,
        "has no database of that name",
        "name the database in the DSN: brain team join --dsn postgresql://NAME@HOST/DATABASE --space TEAM",
    ),
    (
        (),
        ("pg_hba",),
        EngineMissing,
        "lets nobody in from here in this way",
        "sslmode=verify-full in the DSN, or an admin looks at pg_hba.conf",
    ),
    (
        ("28",),
        ("password", "authentication", 'role "'),
        EngineMissing,
        "refuses the member's name or password",
        "put the password into ~/.pgpass (chmod 600), or: brain team join --password-file FILE",
    ),
    (("53100",), (), DiskFull, "has a full disk", "an admin frees space there, then run the command again"),
    (("53",), (), EngineMissing, "has no memory left", "run the command again; an admin looks at the server"),
    (
        ("42P01", "42883", "3F000"),
        (),
        EngineMissing,
        "lacks a part of the space",
        "an admin runs: brain team init",
    ),
    (
        ("25006",),
        (),
        Refused,
        "is a replica: it answers, and takes no changes",
        "name the primary in the DSN",
    ),
    (
        ("55P03", "40"),
        (),
        LockContention,
        "is busy: another push holds what this one writes",
        "run the command again",
    ),
    (
        (),
        ("translate host name", "failed to resolve", "Name or service", "Temporary failure in name"),
        EngineMissing,
        "cannot be reached: nobody knows the name of its host",
        "look at the DSN and at the network",
    ),
)


def late() -> EngineTimeout:
    """Return the error for a statement that took too long."""
    return EngineTimeout(LATE, AGAIN)


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
    # What fails before there is a connection has no state, only words.
    words = str(error) if not state else ""
    if isinstance(error, errors.QueryCanceled | errors.ConnectionTimeout):
        return late()
    if state == OLDER_POLICY:
        return Refused(f"the space refuses the push: {said}", "update Brain, then: brain index; brain team push")
    if state in (FORGOTTEN, NOT_ALLOWED, NOT_POSSIBLE):
        return Refused(said, "brain team members lists members, admins and groups" if state != FORGOTTEN else AGAIN)
    if isinstance(error, errors.InsufficientPrivilege):
        return Refused(f"the team's server refuses: {said or 'permission denied'}", "brain team status")
    if isinstance(error, errors.CheckViolation):
        return Refused(f"the space refuses a row: {error.diag.constraint_name or said}", "update Brain")
    for states, signs, kind, message, fix in _KNOWN:
        if (state and state.startswith(states)) or any(sign in words for sign in signs):
            return kind(f"the team's server {message}", fix)
    if isinstance(error, psycopg.OperationalError):
        return EngineMissing(
            "the team's server cannot be reached", "start it, or correct the DSN (engine:, BRAIN_ENGINE)"
        )
    return Internal(f"the team's server: {said or type(error).__name__}")
