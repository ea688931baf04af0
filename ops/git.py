"""The user's own git, on a bare repository of the brain's: argv, no hooks, no filters, no prompts, within a time.

Nothing is checked out by git: trees are read as lists of names and contents, and written as a stream for
``git fast-import`` (https://git-scm.com/docs/git-fast-import), so that no attribute, filter, link or hook has a say.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from os.path import isdir, join
from typing import IO, TYPE_CHECKING, NamedTuple

from core import child
from core.errors import BadInput, EngineMissing, EngineTimeout, Internal, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LOCAL_S = 600.0
_NETWORK_S = 900.0
_ABANDONED_S = 600.0
# The report that fast-import leaves when it fails; names of documents are in it.
_CRASHED = "fast_import_crash_"
_BATCH_BYTES = 16 << 20
_LISTING_BYTES = 1 << 30
_WHO = "brain <brain@localhost>"
_HOOKS = ("-c", "core.hooksPath=/dev/null")
_SAFE = (*_HOOKS, "-c", "protocol.ext.allow=never", "-c", "core.fsmonitor=false", "-c", "gc.autoDetach=false")
# What another repository on this machine is served by: its hooks are not run either.
_THERE = "git -c core.hooksPath=/dev/null"


class Blob(NamedTuple):
    """A file of a tree: ``oid``, hex, and its size in bytes."""

    oid: str
    size: int


class Repository:
    """The bare repository at ``path``."""

    __slots__ = ("_environ", "path")

    def __init__(self, path: str, environ: Mapping[str, str]) -> None:
        self.path = path
        kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        # How the user reaches a remote is the user's; which repository is meant, and by what hooks, is not.
        kept |= {name: environ[name] for name in ("GIT_SSH_COMMAND", "GIT_SSH") if name in environ}
        self._environ = {**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}

    def make(self) -> None:
        """Create it where it is missing, private. Raises EngineMissing where there is no git."""
        for place, _, names in os.walk(self.path):
            for name in names:
                path = join(place, name)
                with contextlib.suppress(OSError):
                    crashed = place == self.path and name.startswith(_CRASHED)
                    # A git that was killed leaves its lock for ever.
                    if crashed or (name.endswith(".lock") and time.time() - os.stat(path).st_mtime > _ABANDONED_S):
                        os.unlink(path)
        if not os.path.exists(join(self.path, "HEAD")):
            self._git("init", "--quiet", "--bare", "--template=", "--object-format=sha1", self.path, bare=False)
            os.chmod(self.path, 0o700)

    def commit_of(self, ref: str) -> str:
        """The commit that ``ref`` (whole: refs/…) names, "" where there is none."""
        done = self._run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        return done.stdout.decode().strip() if done.code == 0 else ""

    def refs(self, below: str) -> dict[str, str]:
        """Name below ``below`` → commit."""
        out = self._git("for-each-ref", "--format=%(objectname) %(refname)", below)
        rows = (line.split(" ", 1) for line in out.decode("utf-8", "surrogateescape").splitlines())
        return {name.removeprefix(below): commit for commit, name in rows}

    def tree(self, commit: str) -> dict[str, Blob]:
        """Path → blob of every regular file of a commit; links, modules and executables are passed over."""
        found: dict[str, Blob] = {}
        for row in self._git("ls-tree", "-r", "-l", "-z", "--full-tree", commit).split(b"\0"):
            head, _, path = row.partition(b"\t")
            if not path:
                continue
            mode, kind, oid, size = head.decode().split()
            if (mode, kind) == ("100644", "blob"):
                found[path.decode("utf-8", "surrogateescape")] = Blob(oid, int(size))
        return found

    def contents(self, blobs: Iterable[Blob]) -> Iterator[tuple[str, bytes]]:
        """(oid, bytes) of each blob, once. Raises Internal where one is missing."""
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

    def blobs(self) -> list[Blob]:
        """Every blob that there is, those that nothing names any more too."""
        out = self._git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname) %(objectsize)")
        rows = (line.split(" ") for line in out.decode().splitlines())
        return [Blob(name, int(size)) for kind, name, size in rows if kind == "blob"]

    def _contents(self, batch: list[Blob]) -> Iterator[tuple[str, bytes]]:
        wanted = "".join(f"{blob.oid}\n" for blob in batch).encode()
        room = sum(blob.size + 100 for blob in batch) + (1 << 20)
        out = memoryview(self._git("cat-file", "--batch", stdin=wanted, most_bytes=room))
        at = 0
        for blob in batch:
            end = bytes(out[at : at + 200]).index(b"\n") + at
            head = bytes(out[at:end]).decode().split()
            if head != [blob.oid, "blob", str(blob.size)]:
                raise Internal(f"{self.path} lacks an object: {' '.join(head)}", f"git -C {self.path} fsck")
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
        """Whether ``newer`` contains ``older``; what is not there contains nothing."""
        return self._run("merge-base", "--is-ancestor", older, newer).code == 0

    def fetch(self, remote: str, into: str) -> None:
        """Bring every branch of ``remote`` below ``into``, and drop what it has no more. Raises as ``_network``."""
        # An empty repository has nothing to fetch.
        serve = (f"--upload-pack={_THERE} upload-pack",) if isdir(remote) else ()
        self._network(
            remote, "fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", *serve, "--",
            remote, f"+refs/heads/*:{into}*",
        )  # fmt: skip

    def push(self, remote: str, ref: str, known: str, *, rewritten: bool) -> None:
        """Push ``ref``; over what is there only if that is ``known`` and ``rewritten`` says so."""
        lease = (f"--force-with-lease={ref}:{known}",) if rewritten else ()
        serve = (f"--receive-pack={_THERE} receive-pack",) if isdir(remote) else ()
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
        done = self._run(*words, timeout_s=_NETWORK_S)
        if done.timed_out:
            raise EngineTimeout(f"{masked(remote)} did not answer in time", "try again later")
        if done.code:
            said = masked(done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"])
            if b"non-fast-forward" in done.stderr or b"stale info" in done.stderr or b"fetch first" in done.stderr:
                raise Refused(
                    f"{masked(remote)} has a later state of this machine: {said}",
                    "run it again; restored from an older backup? brain sync --as NEWNAME",
                )
            raise BadInput(f"git cannot reach {masked(remote)}: {said}", f"git ls-remote {masked(remote)}")

    def _git(
        self, *words: str, stdin: bytes | IO[bytes] | None = None, bare: bool = True, most_bytes: int = _LISTING_BYTES
    ) -> bytes:
        done = self._run(*words, stdin=stdin, bare=bare, most_bytes=most_bytes)
        if done.timed_out:
            raise EngineTimeout(f"git {words[0]} did not end in time", "try again")
        if done.code or done.flooded:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise Internal(f"git {words[0]}: {' '.join(said) or done.code}", f"git -C {self.path} fsck")
        return done.stdout

    def _run(
        self,
        *words: str,
        stdin: bytes | IO[bytes] | None = None,
        bare: bool = True,
        timeout_s: float = _LOCAL_S,
        most_bytes: int = _LISTING_BYTES,
    ) -> child.Done:
        # Git makes files as the umask says; what is remembered is nobody else's.
        before = os.umask(0o077)
        try:
            return self._child(words, stdin, bare, timeout_s, most_bytes)
        finally:
            os.umask(before)

    def _child(
        self, words: tuple[str, ...], stdin: bytes | IO[bytes] | None, bare: bool, timeout_s: float, most_bytes: int
    ) -> child.Done:
        argv = ["git", *_SAFE, *(("--git-dir", self.path) if bare else ()), *words]
        try:
            if isinstance(stdin, bytes):
                with tempfile.TemporaryFile() as given:
                    given.write(stdin)
                    given.seek(0)
                    return child.run(
                        argv, timeout_s=timeout_s, environ=self._environ, most_bytes=most_bytes, stdin=given
                    )
            return child.run(argv, timeout_s=timeout_s, environ=self._environ, most_bytes=most_bytes, stdin=stdin)
        except FileNotFoundError:
            raise EngineMissing("there is no git on this machine", "install git: https://git-scm.com") from None


def oid(data: bytes) -> str:
    """The name git gives these bytes (https://git-scm.com/book/en/v2/Git-Internals-Git-Objects)."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def quoted(path: str) -> bytes:
    """A path as fast-import reads it: in quotes, everything but plain characters escaped."""
    plain = b"".join(
        bytes([byte]) if 32 <= byte < 127 and byte not in b'"\\' else b"\\%03o" % byte
        for byte in path.encode("utf-8", "surrogateescape")
    )
    return b'"' + plain + b'"'


def masked(text: str | list[str]) -> str:
    """An address, or what git said of one, without the name and password that may stand in it."""
    words = (text if isinstance(text, str) else " ".join(text)).split(" ")
    shown = []
    for word in words:
        scheme, found, rest = word.partition("://")
        # An address has no white space, but a password may have slashes and more than one @.
        _, at, place = rest.rpartition("@")
        shown.append(f"{scheme}://…@{place}" if found and at else word)
    return " ".join(shown)
