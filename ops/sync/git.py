"""The brain's bare repository, through the user's git: argv only, no hooks, filters or prompts, with a time limit.

git checks out nothing, so that no attribute, filter, link or hook takes part. Trees are read as lists of names and
contents, and written as a stream for ``git fast-import`` (https://git-scm.com/docs/git-fast-import).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
from os.path import isdir, join
from shlex import quote, split
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from core import git
from core.errors import BadInput, EngineMissing, EngineTimeout, Internal, LockContention, Refused
from core.processes import child

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LOCAL_S = 600.0
_NETWORK_S = 900.0
# A lock of this age has no owner: no call of git lasts so long.
ABANDONED_S = 1200.0
# The report that fast-import leaves when it fails; names of documents are in it.
_CRASHED = "fast_import_crash_"
_BATCH_BYTES = 16 << 20
_LISTING_BYTES = 1 << 30
# The list of a million documents.
_TREE_BYTES = 128 << 20
_TREE = ("ls-tree", "-r", "-l", "-z", "--full-tree")
_WHO = "brain <brain@localhost>"
_TRANSPORTS = ("file", "git", "http", "https", "ssh")
# Commands that find damage, with their exit codes for a sound repository. An object of an unusual form, such as another
# machine may send, is whole: fsck ends with 1 for it.
_LOOKS = (
    (("for-each-ref", "--format=%(objectname) %(tree)"), (0,)),
    (("cat-file", "--batch-all-objects", "--batch-check"), (0,)),
)
_DEEP_LOOKS = ((("fsck", "--no-dangling", "--no-reflogs"), (0, 1)),)
_COMPLAINTS = ("error:", "fatal:", "warning: ignoring broken ref")
# Words of git's about its objects.
_OF_OBJECTS = (b"object", b"pack", b"tree", b"inflate", b"corrupt")
# How git says that a lock is in its way.
_LOCKED = re.compile(r"'([^'\n]+\.lock)': File exists")


class Blob(NamedTuple):
    """A file of a tree: ``oid``, hex, and its size in bytes."""

    oid: str
    size: int


class Repository:
    """The bare repository at ``path``."""

    __slots__ = ("_environ", "_is_plain", "path")

    def __init__(self, path: str, environ: Mapping[str, str]) -> None:
        self.path = path
        self._is_plain = False
        kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        # The user's ssh settings apply; variables that choose another repository or hooks do not.
        self._environ = kept | {name: environ[name] for name in ("GIT_SSH_COMMAND", "GIT_SSH") if name in environ}

    def make(self) -> None:
        """Create the repository if it is missing, private. Raises EngineMissing if there is no git."""
        if not os.path.exists(join(self.path, "HEAD")) or not os.path.exists(join(self.path, "config")):
            self._git("init", "--quiet", "--bare", "--template=", "--object-format=sha1", self.path, bare=False)
            os.chmod(self.path, 0o700)

    def reset_settings(self) -> None:
        """Give it the settings of a new repository if it has any that the brain does not make."""
        for name in ("config", "commondir") if self._strange() else ():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(join(self.path, name))
        self.make()
        self._is_plain = True

    def require_plain(self) -> None:
        """Raise Refused if its configuration has a setting that a repository of documents does not need."""
        strange = [] if self._is_plain else self._strange()
        if strange:
            place = join(self.path, "config")
            raise Refused(
                f"{place} sets {', '.join(strange[:4])}: a repository must not name programs or addresses",
                f"git config --file {quote(place)} --unset-all {quote(strange[0])}; yours belongs into ~/.gitconfig",
            )
        self._is_plain = True

    def _strange(self) -> list[str]:
        try:
            return git.strange_settings(self.path, self._environ)
        except FileNotFoundError:
            raise _missing() from None

    def locks(self) -> list[str]:
        """Return the lock files that no git of this machine holds, sorted: a killed one leaves its lock for ever."""
        names = [join(place, name) for place, _, names in os.walk(self.path) for name in names]
        found = sorted(path for path in names if path.endswith(".lock"))
        return found if found and not _works_on(self.path) else []

    def release(self, older_than_s: float = 0.0) -> list[str]:
        """Remove what a git that was killed has left: locks and reports; returns the locks."""
        for name in os.listdir(self.path):
            if name.startswith(_CRASHED):
                os.unlink(join(self.path, name))
        released = []
        for path in self.locks():
            with contextlib.suppress(FileNotFoundError):
                if time.time() - os.stat(path).st_mtime >= older_than_s:
                    os.unlink(path)
                    released.append(path)
        return released

    def fault(self, *, deep: bool = False) -> str:
        """Return what is damaged, "" if nothing is: names and sizes of all objects; ``deep`` reads all contents."""
        for words, harmless in (*_LOOKS, *(_DEEP_LOOKS if deep else ())):
            done = self._run(*words)
            lines = done.stderr.decode("utf-8", "replace").splitlines()
            errors = [line for line in lines if line.startswith(_COMPLAINTS)]
            if done.code not in harmless or (errors and done.code == 0):
                return errors[0] if errors else f"git {words[0]} ends with {done.code}"
        return ""

    def commit_of(self, ref: str) -> str:
        """Return the commit that ``ref`` (whole: refs/…) names, "" if there is none. Raises as ``refs``."""
        return self.refs(ref).get("", "")

    def refs(self, below: str) -> dict[str, str]:
        """Return name below ``below`` → commit. Raises Damaged if a branch cannot be read."""
        done = self._done("for-each-ref", "--format=%(objectname) %(refname)", below)
        if b"broken ref" in done.stderr:
            raise Damaged(self.path, done.stderr.decode("utf-8", "replace").splitlines()[0])
        rows = (line.split(" ", 1) for line in done.stdout.decode("utf-8", "surrogateescape").splitlines())
        return {name.removeprefix(below): commit for commit, name in rows}

    def times(self, below: str) -> dict[str, int]:
        """Return name below ``below`` → when its commit was made, in epoch seconds. Raises as ``_done``."""
        done = self._done("for-each-ref", "--format=%(committerdate:unix) %(refname)", below)
        rows = (line.split(" ", 1) for line in done.stdout.decode("utf-8", "surrogateescape").splitlines())
        return {name.removeprefix(below): int(at) for at, name in rows if at.isdecimal()}

    def tree(self, commit: str) -> dict[str, Blob]:
        """Return path → blob of every regular file of a commit, without links, modules and executables.

        Raises TooLarge: a few objects can name each other so often that they list more paths than a disk holds.
        """
        found: dict[str, Blob] = {}
        for row in self._git(*_TREE, commit, most_bytes=_TREE_BYTES).split(b"\0"):
            head, _, path = row.partition(b"\t")
            if not path:
                continue
            mode, kind, oid, size = head.decode().split()
            if (mode, kind) == ("100644", "blob"):
                found[path.decode("utf-8", "surrogateescape")] = Blob(oid, int(size))
        return found

    def contents(self, blobs: Iterable[Blob]) -> Iterator[tuple[str, bytes]]:
        """Yield (oid, bytes) of each blob, once. Raises Internal if one is missing."""
        batch: list[Blob] = []
        waiting = 0
        for blob in dict.fromkeys(blobs):
            batch.append(blob)
            waiting += blob.size
            if waiting > _BATCH_BYTES:
                yield from self._contents(batch)
                batch, waiting = [], 0
        if batch:
            yield from self._contents(batch)

    def read(self, name: str, most_bytes: int) -> bytes | None:
        """Return the bytes of the blob ``name`` (hex), None if there is none, or it is larger than ``most_bytes``."""
        done = self._run("cat-file", "blob", name, most_bytes=most_bytes)
        return None if done.code or done.flooded else done.stdout

    def blobs(self) -> list[Blob]:
        """Return every blob that there is, named by a commit or not. Raises Damaged."""
        out = self._git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname) %(objectsize)")
        found = []
        for line in out.decode().splitlines():
            kind, _, rest = line.partition(" ")
            name, _, size = rest.partition(" ")
            if not size.isdigit():
                raise Damaged(self.path, line)  # such as "<oid> missing"
            if kind == "blob":
                found.append(Blob(name, int(size)))
        return found

    def _contents(self, batch: list[Blob]) -> Iterator[tuple[str, bytes]]:
        wanted = "".join(f"{blob.oid}\n" for blob in batch).encode()
        room = sum(blob.size + 100 for blob in batch) + (1 << 20)
        out = memoryview(self._git("cat-file", "--batch", stdin=wanted, most_bytes=room))
        at = 0
        for blob in batch:
            end = bytes(out[at : at + 200]).index(b"\n") + at
            head = bytes(out[at:end]).decode().split()
            if head != [blob.oid, "blob", str(blob.size)]:
                raise Damaged(self.path, f"it lacks an object: {' '.join(head)}")
            at = end + 1 + blob.size
            yield blob.oid, bytes(out[end + 1 : at])
            at += 1

    def commit(self, ref: str, files: Mapping[str, Blob | bytes], message: str, now: int, parent: str) -> str:
        """Commit exactly ``files`` (path → content, or a blob that is there) on ``parent`` ("": none) as ``ref``."""
        with tempfile.TemporaryFile(dir=self.path) as stream:
            said = message.encode("utf-8", "replace")
            stream.write(f"commit {ref}\ncommitter {_WHO} {now} +0000\ndata {len(said)}\n".encode() + said + b"\n")
            if parent:
                stream.write(f"from {parent}\n".encode())
            stream.write(b"deleteall\n")
            for path, held in sorted(files.items()):
                name = quoted(path)
                if isinstance(held, bytes):
                    stream.write(b"M 100644 inline " + name + f"\ndata {len(held)}\n".encode() + held + b"\n")
                else:
                    stream.write(f"M 100644 {held.oid} ".encode() + name + b"\n")
            stream.write(b"done\n")
            stream.seek(0)
            self._git("fast-import", "--quiet", "--done", "--force", stdin=stream)
        return self.commit_of(ref)

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Return True if ``newer`` contains ``older``; a missing commit contains nothing."""
        return self._run("merge-base", "--is-ancestor", older, newer).code == 0

    def fetch(self, remote: str, into: str) -> None:
        """Bring every branch of ``remote`` below ``into``, and drop what it has no more. Raises as ``_network``."""
        # An empty repository has nothing to fetch.
        serve = (f"--upload-pack={git.serving('upload-pack')}",) if local(remote) else ()
        self._network(
            remote, "fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", *serve, "--",
            remote, f"+refs/heads/*:{into}*",
        )  # fmt: skip

    def push(self, remote: str, ref: str, known: str, *, rewritten: bool) -> None:
        """Push ``ref``; over what is there only if that is ``known`` and ``rewritten`` says so."""
        lease = (f"--force-with-lease={ref}:{known}",) if rewritten else ()
        serve = (f"--receive-pack={git.serving('receive-pack')}",) if local(remote) else ()
        self._network(remote, "push", "--quiet", "--no-verify", *lease, *serve, "--", remote, f"{ref}:{ref}")

    def drop(self, below: str, keep: str = "") -> None:
        """Remove every ref below ``below``, but not the one named ``keep``."""
        for name, commit in self.refs(below).items():
            if name != keep:
                self._git("update-ref", "-d", below + name, commit)

    def purge(self) -> None:
        """Leave no object that no branch names. Raises Internal."""
        self._git("reflog", "expire", "--expire=now", "--all")
        self._git("repack", "-a", "-d", "--quiet")
        self._git("prune", "--expire=now")

    def tidy(self) -> None:
        """Let git pack what has become many files."""
        self._git("gc", "--auto", "--quiet")

    def _network(self, remote: str, *words: str) -> None:
        there = local(remote)
        if there:
            Repository(there, self._environ).require_plain()
        scheme = remote.partition("://")[0]
        environ = {**self._environ, "GIT_SSH_COMMAND": self._ssh()}
        done = self._run(
            *words,
            timeout_s=_NETWORK_S,
            environ=environ,
            transports=(*_TRANSPORTS, *([scheme] if scheme != remote else [])),
        )
        if done.timed_out:
            raise EngineTimeout(f"{masked(remote)} did not answer in time", "try again later")
        if done.code:
            self._refuse_lock(done)
            self._refuse_damage(done)
            if there:
                fix = f"mv {quote(there)} {quote(there + '.damaged')}; brain sync --dir {quote(there)} on each machine"
                Repository(there, self._environ)._refuse_damage(done, fix)
            said = masked(done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"])
            if b"non-fast-forward" in done.stderr or b"stale info" in done.stderr or b"fetch first" in done.stderr:
                raise Refused(
                    f"{masked(remote)} has a later state of this machine: {said}",
                    "run it again; restored from an older backup? brain sync --as NEWNAME",
                )
            raise BadInput(f"git cannot reach {masked(remote)}: {said}", f"git ls-remote {masked(remote)}")

    def make_there(self, host: str, path: str) -> None:
        """Make a bare repository at ``path`` on ``host``, by ssh, unless it is there.

        Raises BadInput, EngineMissing if there is no ssh, EngineTimeout.
        """
        command = f"umask 077 && git init --bare --quiet -- {quote(path)}"
        words = [*split(self._ssh()), host, command]
        try:
            done = child.run(words, environ=self._environ, timeout_s=_NETWORK_S, most_bytes=_LISTING_BYTES)
        except FileNotFoundError:
            raise EngineMissing(f"there is no {words[0]} on this machine", "install OpenSSH's client") from None
        if done.timed_out:
            raise EngineTimeout(f"{host} did not answer in time", "try again later")
        if done.code:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
            raise BadInput(f"no repository could be made at {host}:{path}: {said[0]}", f"ssh {host} git --version")

    def _ssh(self) -> str:
        """Return the user's own ssh command, which overrides one that a repository names."""
        if "GIT_SSH_COMMAND" in self._environ:
            return self._environ["GIT_SSH_COMMAND"]
        if "GIT_SSH" in self._environ:
            return quote(self._environ["GIT_SSH"])
        done = self._run("config", "--global", "--get", "core.sshCommand", bare=False)
        return done.stdout.decode("utf-8", "replace").strip() or "ssh"

    def _git(
        self, *words: str, stdin: bytes | IO[bytes] | None = None, bare: bool = True, most_bytes: int = _LISTING_BYTES
    ) -> bytes:
        return self._done(*words, stdin=stdin, bare=bare, most_bytes=most_bytes).stdout

    def _done(
        self, *words: str, stdin: bytes | IO[bytes] | None = None, bare: bool = True, most_bytes: int = _LISTING_BYTES
    ) -> child.Done:
        """Run git on this repository. Raises EngineTimeout, LockContention, Damaged, Internal."""
        done = self._run(*words, stdin=stdin, bare=bare, most_bytes=most_bytes)
        if done.timed_out:
            raise EngineTimeout(f"git {words[0]} did not end in time", "try again")
        if done.flooded:
            raise TooLarge(f"git {words[0]} on {self.path} says more than {most_bytes >> 20} MB", "")
        if done.code:
            self._refuse_lock(done)
            if bare:
                self._refuse_damage(done)
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise Internal(f"git {words[0]}: {' '.join(said) or done.code}", f"git -C {self.path} fsck")
        return done

    def _refuse_lock(self, done: child.Done) -> None:
        if held := _LOCKED.search(done.stderr.decode("utf-8", "replace")):
            lock = os.path.normpath(held[1])
            raise LockContention(
                f"{lock} is held by another git, or was left by one that was killed",
                f"wait for it to end; if no git runs there: rm {quote(lock)}",
            )

    def _refuse_damage(self, done: child.Done, fix: str = "brain doctor --fix makes it again") -> None:
        """Raise Damaged if the repository is; contents are read only where git complains of one."""
        if fault := self.fault(deep=any(word in done.stderr for word in _OF_OBJECTS)):
            raise Damaged(self.path, fault, fix)

    def _run(
        self,
        *words: str,
        stdin: bytes | IO[bytes] | None = None,
        bare: bool = True,
        timeout_s: float = _LOCAL_S,
        most_bytes: int = _LISTING_BYTES,
        environ: Mapping[str, str] | None = None,
        transports: tuple[str, ...] = (),
    ) -> child.Done:
        if bare:
            self.require_plain()
        with contextlib.ExitStack() as stack:
            given = stdin
            if isinstance(stdin, bytes):
                given = stack.enter_context(tempfile.TemporaryFile())
                given.write(stdin)
                given.seek(0)
            try:
                return git.run(
                    (*(("--git-dir", self.path) if bare else ()), *words),
                    environ=self._environ if environ is None else environ,
                    timeout_s=timeout_s,
                    most_bytes=most_bytes,
                    transports=transports,
                    stdin=cast("IO[bytes] | None", given),
                )
            except FileNotFoundError:
                raise _missing() from None


class TooLarge(Internal):
    """An answer of git's that is longer than it may be."""


class Damaged(EngineMissing):
    """A repository with objects or branches that cannot be read."""

    def __init__(self, path: str, fault: str, fix: str = "brain doctor --fix makes it again") -> None:
        super().__init__(f"{path} is damaged: {fault}", fix)


def local(remote: str) -> str:
    """Return the folder that an address means, "" if it means none on this machine."""
    path = remote.removeprefix("file://")
    return path if isdir(path) else ""


def _missing() -> EngineMissing:
    return EngineMissing("there is no git on this machine", "install git: https://git-scm.com")


def _works_on(path: str) -> bool:
    """Return True if a git of this machine works on the repository at ``path``."""
    import psutil

    places = {path, os.path.realpath(path)}
    for process in psutil.process_iter(["name"]):
        if not str(process.info["name"] or "").startswith("git"):
            continue
        try:
            seen = [*process.cmdline(), process.environ().get("GIT_DIR", ""), process.cwd()]
        except psutil.Error:
            continue  # it has ended, or is another user's
        if any(place in word for word in seen for place in places):
            return True
    return False


def oid(data: bytes) -> str:
    """Return the name git gives these bytes (https://git-scm.com/book/en/v2/Git-Internals-Git-Objects)."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def quoted(path: str) -> bytes:
    """Return a path as fast-import reads it: in quotes, everything but plain characters escaped."""
    plain = b"".join(
        bytes([byte]) if 32 <= byte < 127 and byte not in b'"\\' else b"\\%03o" % byte
        for byte in path.encode("utf-8", "surrogateescape")
    )
    return b'"' + plain + b'"'


def masked(text: str | list[str]) -> str:
    """Return an address, or what git said of one, without a name and password in it."""
    words = (text if isinstance(text, str) else " ".join(text)).split(" ")
    shown = []
    for word in words:
        scheme, found, rest = word.partition("://")
        # An address has no white space, but a password may have slashes and more than one @.
        _, at, place = rest.rpartition("@")
        shown.append(f"{scheme}://…@{place}" if found and at else word)
    return " ".join(shown)
