"""The store of a team: what the configuration says of it, and what a DSN of PostgreSQL is."""

from __future__ import annotations

# The value of ``share`` of a collection that only its owner sees, and of one that every member of the team sees.
PRIVATE, TEAM = "private", "team"
# The variable that names the store in place of ``engine:``, and its values for none.
VARIABLE = "BRAIN_ENGINE"
NONE = ("", "off", "sqlite")
POSTGRES = "postgres"


class Engine:
    """A team's store: ``kind`` is ``postgres``; ``space`` is the team's name at ``dsn``, which never has a password.

    ``member`` is the user that the DSN names, "" if it names none. ``evidence`` are members whose documents are shown,
    and never advise.
    """

    __slots__ = ("dsn", "evidence", "kind", "member", "space")

    def __init__(self, kind: str, dsn: str, space: str, evidence: tuple[str, ...] = ()) -> None:
        self.kind, self.dsn, self.space, self.evidence = kind, dsn, space, evidence
        self.member = _user(dsn)[0]


def is_dsn(text: str) -> bool:
    """Return True if a text looks like a DSN of PostgreSQL, URI or ``key=value``, and has no password."""
    if "%" in text:
        from urllib.parse import unquote

        # An option's name may be written in any way that a URI allows.
        if not is_dsn(unquote(text).replace("%", "")):
            return False
    looks = text.startswith(("postgresql://", "postgres://")) or "dbname=" in text or "host=" in text
    return looks and "password" not in text.lower() and not _user(text)[1] and text.isprintable()


def is_space(name: str) -> bool:
    """Return True if a text may name a space: small letters, digits, ``_`` and ``-``, from a letter on, 40 at most."""
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum() and name == name.lower()
    return plain and name[:1].isalpha() and len(name) <= 40


def _user(dsn: str) -> tuple[str, str]:
    """Return (user, password) of a DSN, "" for what it lacks.

    https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING
    """
    _, marked, rest = dsn.partition("://")
    if not marked:
        pairs = (pair.partition("=") for pair in dsn.split())
        named = {key: value.strip("'") for key, _, value in pairs}
        return named.get("user", ""), named.get("password", "")
    authority = rest.replace("?", "/").partition("/")[0]
    name, _, secret = authority.rpartition("@")[0].partition(":")
    if "%" in name:
        from urllib.parse import unquote

        name = unquote(name)
    return name, secret
