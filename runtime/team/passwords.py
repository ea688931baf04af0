"""Where a member's password lies: in the system's keyring, or in the pgpass file that libpq reads."""

from __future__ import annotations

import contextlib
import os
from os.path import expanduser
from typing import TYPE_CHECKING

from core.errors import BadInput, Refused
from core.files import read_or_none, write_atomic
from qmd.team import connection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.engine import Engine


def store(engine: Engine, secret: str) -> str:
    """Keep a member's password in the keyring, or without one in the pgpass file; return where, in words.

    Raises Refused if neither can be written.
    """
    if keep_in_keyring(engine, secret):
        return "the keyring"
    path = pgpass(engine)
    add_line(path, connection.place(engine), secret)
    return path


def keep_in_keyring(engine: Engine, secret: str) -> bool:
    """Put a password into the system's keyring; return False if there is none that works."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return False
    try:
        keyring.set_password(connection.SERVICE, connection.account(engine), secret)
    except (KeyringError, RuntimeError):
        return False
    return True


@contextlib.contextmanager
def added(path: str, place: tuple[str, str, str, str], secret: str) -> Iterator[None]:
    """Keep a password in a pgpass file, and put the file back as it was if the block fails. Raises as ``add_line``."""
    before = read_or_none(path)
    add_line(path, place, secret)
    try:
        yield
    except BaseException:
        if before is None:
            os.unlink(path)
        else:
            write_atomic(path, before)
        raise


@contextlib.contextmanager
def replaced(engine: Engine, secret: str) -> Iterator[str]:
    """Keep a new password in place of the one that is used, and put the old one back if the block fails.

    Raises Refused, before the block begins, if the new one cannot be kept.
    """
    old = connection.password(engine)
    path = pgpass(engine)
    before = None if old else read_or_none(path)
    if old:
        if not keep_in_keyring(engine, secret):
            raise Refused("the keyring did not take the new password, and the old one is still in use", "unlock it")
    else:
        add_line(path, connection.place(engine), secret)
    try:
        yield "the keyring" if old else path
    except BaseException:
        if old:
            keep_in_keyring(engine, old)
        elif before is not None:
            write_atomic(path, before)
        raise


def drop(engine: Engine) -> None:
    """Remove a member's password from the keyring, if it has one."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return
    try:
        keyring.delete_password(connection.SERVICE, connection.account(engine))
    except (KeyringError, RuntimeError):
        return


def pgpass(engine: Engine) -> str:
    """Return the path of the file that libpq reads passwords from."""
    return connection.options(engine).get("passfile") or os.environ.get("PGPASSFILE") or expanduser("~/.pgpass")


def line(place: tuple[str, str, str, str], secret: str) -> str:
    """Return a line of a pgpass file for (host, port, database, user).

    https://www.postgresql.org/docs/current/libpq-pgpass.html
    """
    return ":".join(each.replace("\\", "\\\\").replace(":", "\\:") for each in (*place, secret))


def add_line(path: str, place: tuple[str, str, str, str], secret: str) -> None:
    """Write a password into a pgpass file, before all other lines and in place of the one for the same server and user.

    Raises BadInput for a password of several lines, Refused if the file cannot be written.
    """
    if "\n" in secret or not secret:
        raise BadInput("a password has one line, and is not empty", "name a file with the password alone")
    try:
        before = (read_or_none(path) or b"").decode("utf-8", "surrogateescape").splitlines()
        same = line(place, "")
        # libpq takes the first line that matches.
        kept = [each for each in before if not each.startswith(same)]
        text = "\n".join([line(place, secret), *kept]) + "\n"
        write_atomic(path, text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise Refused(f"the password file {path} cannot be written: {error.strerror}", f"ls -l {path}") from None
