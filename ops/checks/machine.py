"""The home and its machine: permissions, space, clock, leftovers of killed processes, the configuration."""

from __future__ import annotations

import os
import shutil
import stat
import time
from os.path import join
from shlex import quote
from typing import TYPE_CHECKING

from core.counting import counted
from core.errors import BadInput
from core.home import PRIVATE_DIR, PRIVATE_FILE
from ingest.raw.sqlite_copy import abandoned, sweep
from ops.checks.finding import CheckContext, Finding
from runtime.capture.indexing import COPIES

if TYPE_CHECKING:
    from collections.abc import Iterator

_FREE_BYTES = 1_000_000_000
_FREE_SHARE = 0.02
_SKEW_S = 300
_STALE_TEMPORARY_S = 3600
_SHOWN = 3


def home_exists(context: CheckContext) -> Iterator[Finding]:
    """There is a home, and it may be written to."""
    root = context.home.root
    if not os.path.isdir(root):
        yield Finding("home-missing", "error", f"{root} does not exist", "brain init")
    elif not os.access(root, os.W_OK | os.X_OK):
        yield Finding("home-read-only", "error", f"{root} may not be written to", f"check whose it is: ls -ld {root}")


def permissions(context: CheckContext) -> Iterator[Finding]:
    """Nobody else on the machine may read what lies in the home."""
    open_to_others: list[tuple[str, int]] = []
    for folder, folders, names in os.walk(context.home.root):
        if folder == context.home.root:
            # The checkout may be the home: its code is not secret.
            folders[:] = [name for name in folders if name not in (".git", ".venv")]
        for path, wanted in [(folder, PRIVATE_DIR), *((join(folder, name), PRIVATE_FILE) for name in names)]:
            try:
                status = os.lstat(path)
            except OSError:
                continue  # gone meanwhile
            if not stat.S_ISLNK(status.st_mode) and stat.S_IMODE(status.st_mode) & 0o077:
                open_to_others.append((path, wanted))
        if len(open_to_others) > 10_000:
            break
    if _is_checkout(context.home.root):
        own = ("state", "logs", "raw", "brain", "inbox", "index.sqlite")
        private = tuple(join(context.home.root, name) for name in own)
        open_to_others = [(path, wanted) for path, wanted in open_to_others if path.startswith(private)]
    if open_to_others:
        shown = ", ".join(path for path, _ in open_to_others[:_SHOWN])
        more = f" and {len(open_to_others) - _SHOWN} more" if len(open_to_others) > _SHOWN else ""
        yield Finding(
            "permissions",
            "warning",
            f"others on this machine may read {shown}{more}",
            f"chmod -R go-rwx {quote(context.home.root)}",
            lambda: _close(open_to_others),
        )


def disk(context: CheckContext) -> Iterator[Finding]:
    """There is room to write (`free_bytes`)."""
    if not os.path.isdir(context.home.root):
        return
    total, _, free = shutil.disk_usage(context.home.root)
    wanted = min(context.threshold("free_bytes", _FREE_BYTES), max(total * _FREE_SHARE, 50_000_000))
    if free < wanted:
        yield Finding("disk", "warning", f"{free / 1e6:,.0f} MB are free below {context.home.root}", "free some space")


def clock(context: CheckContext) -> Iterator[Finding]:
    """The clock is not behind the files of the home: ages and change detection depend on it."""
    places = (context.home.usage, context.home.index, join(context.home.state, "sources.sqlite"))
    ahead = 0.0
    for path in places:
        try:
            ahead = max(ahead, os.stat(path).st_mtime - context.now)
        except OSError:
            continue
    if ahead > _SKEW_S:
        yield Finding(
            "clock",
            "warning",
            f"files of the home are {ahead / 60:,.0f} minutes in the future of this clock",
            "set the clock (NTP); then brain index",
        )


def leftovers(context: CheckContext) -> Iterator[Finding]:
    """No killed writer left a temporary file."""
    old: list[str] = []
    for folder, _, names in os.walk(context.home.root):
        for name in names:
            path = join(folder, name)
            if name.startswith(".") and name.endswith(".tmp"):
                try:
                    if time.time() - os.stat(path).st_mtime > _STALE_TEMPORARY_S:
                        old.append(path)
                except OSError:
                    continue
    if old:
        yield Finding(
            "leftovers",
            "notice",
            f"{len(old)} temporary files of killed processes, such as {old[0]}",
            "brain doctor --fix",
            lambda: _remove(old),
        )


def copies(context: CheckContext) -> Iterator[Finding]:
    """No killed process left a copy of another program's database: its text has passed no policy."""

    places = [join(context.home.state, name) for name in COPIES]
    left = [folder for place in places for folder in abandoned(place)]
    if left:
        yield Finding(
            "copies",
            "warning",
            f"killed processes left {counted(len(left), 'folder')} with an unfiltered copy of a database: {left[0]}",
            "brain doctor --fix, or any brain index",
            lambda: f"removed {counted(sum(map(sweep, places)), 'folder')}",
        )


def links(context: CheckContext) -> Iterator[Finding]:
    """No link in the home is dangling."""
    dead = []
    for folder, folders, names in os.walk(context.home.root):
        if folder == context.home.root:
            folders[:] = [name for name in folders if name not in (".git", ".venv")]
        dead += [join(folder, name) for name in (*folders, *names) if _dangles(join(folder, name))]
    if dead:
        yield Finding("dead-link", "warning", f"{dead[0]} is a link that leads nowhere", f"rm {quote(dead[0])}")


def configuration(context: CheckContext) -> Iterator[Finding]:
    """collections.yml holds, and the folders that it names are there."""
    try:
        config = context.config
    except BadInput as error:
        yield Finding("config", "error", error.message, error.fix or "edit collections.yml")
        return
    known = {
        entry["name"]: entry.get("documents") or 0
        for entry in context.report.get("collections", ())
        if isinstance(entry, dict) and "error" not in entry
    }
    for name, folder in config.collections.items():
        if not os.path.isdir(folder.path) and known.get(name):
            yield Finding(
                f"collection-missing:{name}",
                "error",
                f"{folder.path} is gone; {known[name]} documents of it still answer",
                f"bring it back, or correct its path in {config.own}",
            )


def _is_checkout(root: str) -> bool:
    return os.path.isfile(join(root, "pyproject.toml"))


def _dangles(path: str) -> bool:
    return os.path.islink(path) and not os.path.exists(path)


def _close(paths: list[tuple[str, int]]) -> str:
    done = 0
    for path, wanted in paths:
        try:
            os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & wanted)
            done += 1
        except OSError:
            continue
    return f"closed {done} of {len(paths)} files and folders to others"


def _remove(paths: list[str]) -> str:
    done = 0
    for path in paths:
        try:
            os.unlink(path)
            done += 1
        except OSError:
            continue
    return f"removed {done} of {len(paths)} temporary files"


CHECKS = (home_exists, configuration, permissions, disk, clock, links, leftovers, copies)
