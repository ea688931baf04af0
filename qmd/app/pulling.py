"""``qmd update --pull``: bring a collection's git repository up to date before its files are read."""

from __future__ import annotations

import os

from core import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.child import Done
    from qmd.app.session import Session

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
        """Fast-forward the branch that ``folder`` is on to its upstream; do nothing if it is in no repository.

        A failure is printed and kept in ``failed``: the files that are there can be indexed nevertheless.
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
