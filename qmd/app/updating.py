"""``qmd update``: run each collection's own command, then bring the index up to date with its files."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from os.path import relpath

from core import git
from core.home import users_umask
from core.processes.speed import Pace
from qmd import trust
from qmd.app.output import Exit
from qmd.app.projects import trusted
from qmd.index import catalogue, collections, completeness, virtual
from qmd.index.update import Changes, update, walk
from qmd.settings import folder
from qmd.vectors import models

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from core.processes.child import Done
    from qmd.app.session import Session
    from qmd.settings import Collection

# The share of orphaned vectors from which a cleanup is suggested.
_ORPHANS = 0.1
_LOCK_WAIT_S = 60
_TERMINATED = 143


class _Folder:
    """A collection with its folder made absolute."""

    def __init__(self, name: str, path: str, pattern: str, ignore: Sequence[str]) -> None:
        self.name = name
        self.path = path
        self.pattern = pattern
        self.ignore = ignore


def run(session: Session) -> None:
    """Update every collection. Raises Exit with the code of an update command that fails, 1 if a pull did."""
    out = session.out
    # Ask before the index is opened, so that an approval counts for this run.
    allowed = trusted(session)
    connection = session.index_to_write
    stored = collections.stored(connection)
    connection.execute("DELETE FROM llm_cache")
    if not stored:
        out.line(out.paint("dim", "No collections found. Run 'qmd collection add .' to index markdown files."))
        return
    out.line(f"{out.paint('bold', f'Updating {len(stored)} collection(s)...')}\n")
    _heal(connection)
    pulls = None
    if "pull" in session.arguments.flags:
        pulls = Pulls(session)
    with _exclusive(session), _ends_on_sigterm():
        for number, each in enumerate(stored, 1):
            head = f"{out.paint('cyan', f'[{number}/{len(stored)}]')} {out.paint('bold', each.name)}"
            out.line(f"{head} {out.paint('dim', f'({each.pattern})')}")
            configured = session.config.collections[each.name]
            inside = not session.settings.local or trust.inside_project(session.settings.config_path, configured.path)
            if not allowed and not inside:
                out.line(
                    out.paint(
                        "yellow",
                        f"Skipping collection '{each.name}' — path {configured.path} is outside this project"
                        " and this .qmd config is not trusted.",
                    )
                )
                out.line(out.paint("dim", "Approve with 'qmd trust'.") + "\n")
                continue
            place = folder(session.settings, configured.path)
            if pulls is not None:
                pulls.pull(place)
            if configured.update and allowed:
                _run_command(session, configured.update, place)
            _index(session, connection, configured, place)
            out.line()
            out.flush()
    out.line(out.paint("green", "✓ All collections updated."))
    _show_pending(session, connection)
    total: int = connection.execute("SELECT count(*) FROM content_vectors").get
    orphaned = completeness.orphaned_vectors(connection) if total else 0
    if total and orphaned / total >= _ORPHANS:
        out.line(
            f"\n{orphaned} orphaned embedding chunks ({round(orphaned / total * 100)}% of vectors)"
            " — run 'qmd cleanup' to reclaim space"
        )
    if pulls is not None and pulls.failed:
        raise Exit(1)


def _heal(connection: apsw.Connection) -> None:
    """Fill our tables for documents that another program has indexed, before they count as changed."""
    if completeness.is_foreign(connection):
        from qmd.index.writer import heal

        heal(connection)


def index_one(session: Session, collection: Collection) -> None:
    """Index a collection that has just been added."""
    connection = session.index_to_write
    connection.execute("DELETE FROM llm_cache")
    with _exclusive(session), _ends_on_sigterm():
        _index(session, connection, collection, folder(session.settings, collection.path), new=True)
    _show_pending(session, connection)


def _run_command(session: Session, command: str, place: str) -> None:
    """Run a collection's own command in its folder, as qmd does: by bash, its output indented."""
    out = session.out
    out.line(out.paint("dim", f"    Running update command: {command}"))
    out.flush()
    try:
        with _held_back(signal.SIGTERM, signal.SIGINT) as held:
            process = subprocess.Popen(  # noqa: S603  # the user's own command, approved where it is not
                ["bash", "-c", command],  # noqa: S607  # whichever bash the user has
                cwd=place,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                umask=users_umask(),
            )
    except OSError as error:
        out.line(out.paint("yellow", f"✗ Update command failed: {error.strerror}: {error.filename}"))
        raise Exit(1) from None
    try:
        for number in held:
            signal.raise_signal(number)
        streams = process.communicate()
    except BaseException:
        # On the way out, end the processes that the command has started.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()
        raise
    for stream in streams:
        text = stream.decode("utf-8", "replace").strip()
        if text:
            out.line("\n".join(f"    {line}" for line in text.split("\n")))
    if process.returncode:
        # A command ended by a signal has no code of its own.
        code = process.returncode if process.returncode > 0 else 1
        out.line(out.paint("yellow", f"✗ Update command failed with exit code {code}"))
        raise Exit(code)


def _index(
    session: Session, connection: apsw.Connection, collection: Collection, place: str, *, new: bool = False
) -> None:
    out = session.out
    out.line(f"Collection: {place} ({collection.pattern})")
    out.flush()
    where = _Folder(collection.name, place, collection.pattern, collection.ignore)
    _adopt(connection, where)
    before, newest = catalogue.contents(connection)
    with _bar(session) as bar:
        trust_stat = "verify" not in session.arguments.flags
        redacts = session.settings.brain is not None
        done = update(connection, [where], trust_stat=trust_stat, keep=True, redacts=redacts, progress=bar)
    changes = done[collection.name]
    if new and not changes.missing and not _any_file(where, changes):
        out.line("No files found matching pattern.")
    out.line(
        f"\nIndexed: {changes.added} new, {changes.updated} updated, {changes.unchanged} unchanged,"
        f" {changes.removed} removed"
    )
    _show_failures(session, place, changes)
    # New texts have higher rowids, so the difference is the number of removed texts.
    kept, _ = catalogue.contents(connection, newest)
    if before > kept:
        out.line(f"Cleaned up {before - kept} orphaned content hash(es)")


def _adopt(connection: apsw.Connection, where: _Folder) -> None:
    """Give documents of older qmd versions their whole path: those versions dropped punctuation from paths."""
    if not any(active and size is None for _, _, active, size, *_ in completeness.files(connection, where.name)):
        return
    from qmd.index.handles import adopt
    from qmd.index.store import Transaction

    with contextlib.suppress(OSError), Transaction(connection):
        if adopt(connection, where.name, (entry.relative for entry in walk(where))):
            collections.space_out(connection, where.name)


def _any_file(where: _Folder, changes: Changes) -> bool:
    if changes.added or changes.updated or changes.unchanged or changes.failed:
        return True
    return next(walk(where), None) is not None


def _show_failures(session: Session, place: str, changes: Changes) -> None:
    out = session.out
    if changes.missing:
        how = "cannot be listed" if os.path.isdir(place) else "is missing"
        out.error(f"⚠ Collection folder {how}: {place} (its documents are kept)")
    if not changes.failed:
        return
    import errno

    codes = {os.strerror(number): code for number, code in errno.errorcode.items()}
    for path, reason in changes.failed:
        name = virtual.on_one_line(relpath(path, place) if path.startswith("/") else path)
        out.error(f"⚠ Skipped unreadable file: {name} ({codes.get(reason, reason)})")
    out.error(f"Skipped {len(changes.failed)} unreadable file(s)")


def _show_pending(session: Session, connection: apsw.Connection) -> None:
    pending = models.waiting(connection, session.config)
    if pending:
        session.out.line(f"\nRun 'qmd embed' to update embeddings ({pending} unique hashes need vectors)")


class _Bar:
    """Progress on a terminal's stderr, and in its title bar (OSC 9;4)."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pace = Pace()
        self._next = 0.0

    def __call__(self, done: int, total: int, _: str) -> None:
        self._pace.at(done)
        now = time.monotonic()
        if now < self._next and done < total:
            return
        self._next = now + 0.1
        left = self._pace.left(total)
        eta = f" ETA: {_minutes(left)}" if left is not None and done > 2 else ""
        self._session.out.status(f"\x1b]9;4;1;{round(done / total * 100)}\x07\rIndexing: {done}/{total}{eta}        ")


@contextlib.contextmanager
def _bar(session: Session) -> Iterator[_Bar | None]:
    if not session.out.progress:
        yield None
        return
    session.out.status("\x1b]9;4;3\x07")
    try:
        yield _Bar(session)
    finally:
        session.out.status("\x1b]9;4;0\x07")


def _minutes(seconds: float) -> str:
    if seconds < 60:
        return f"{round(seconds)}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m {rest}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60}m"


@contextlib.contextmanager
def _exclusive(session: Session) -> Iterator[None]:
    """Hold the brain's index lock; SQLite's own lock guards any other index."""
    brain = session.settings.brain
    if brain is None:
        yield
        return
    from core.files import FileLock

    with FileLock(os.path.join(brain.state, "index.lock"), _LOCK_WAIT_S):
        yield


@contextlib.contextmanager
def _held_back(*numbers: signal.Signals) -> Iterator[list[signal.Signals]]:
    """Collect these signals while a program starts: it has no pid yet by which to end it."""
    import threading

    held: list[signal.Signals] = []
    if threading.current_thread() is not threading.main_thread():
        yield held
        return
    before = {number: signal.signal(number, lambda got, _: held.append(signal.Signals(got))) for number in numbers}
    try:
        yield held
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _ends_on_sigterm() -> Iterator[None]:
    """End on SIGTERM with its exit code and a whole index."""
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise Exit(_TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


_READING_S = 30.0
_PULLING_S = 600.0
_MOST_BYTES = 1 << 20
_TRANSPORTS = ("file", "git", "http", "https", "ssh")


class Pulls:
    """The pulls of one update: a repository that holds several collections is pulled once."""

    def __init__(self, session: Session) -> None:
        self._out = session.out
        self._tried: set[str] = set()
        self.failed = False

    def pull(self, folder: str) -> None:
        """Fast-forward the branch of ``folder`` to its upstream; do nothing outside a repository.

        A failure is printed and kept in ``failed``; the present files are still indexed.
        """
        top = _git(["rev-parse", "--show-toplevel"], folder)
        where = top.stdout.decode("utf-8", "replace").strip() if top is not None and not top.code else ""
        if not where or where in self._tried:
            return
        self._tried.add(where)
        upstream = _git(["rev-parse", "--abbrev-ref", "@{upstream}"], folder)
        if upstream is None or upstream.code:
            self._out.line(self._out.paint("dim", f"    Not pulled: the branch of {where} has no upstream"))
            return
        self._out.line(self._out.paint("dim", "    Running git pull --ff-only"))
        self._out.flush()
        done = _git(["pull", "--ff-only"], folder, pulls=True)
        for stream in (done.stdout, done.stderr) if done is not None else ():
            for line in stream.decode("utf-8", "replace").strip().splitlines():
                self._out.line(f"    {line}")
        if done is None or done.code or done.timed_out:
            self.failed = True
            self._out.error(
                self._out.paint("yellow", f"✗ git pull failed in {where}; its files are indexed as they are")
            )


def _git(words: list[str], folder: str, *, pulls: bool = False) -> Done | None:
    """Run git in ``folder``; None if it cannot be started there."""
    try:
        return git.run(
            words,
            environ=os.environ,
            timeout_s=_PULLING_S if pulls else _READING_S,
            most_bytes=_MOST_BYTES,
            transports=_TRANSPORTS if pulls else (),
            folder=folder,
        )
    except OSError:
        return None
