"""Removal of everything that was installed, proved by a second look at each place.

Outside the home, the record (``ops.install.installed``) names what to remove. Inside, the index and derived files are
removed; the documents too, unless the user keeps them. Backups and files of other programs stay.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from os.path import dirname, isdir, join, lexists
from typing import TYPE_CHECKING, Any

from core.config import FILE, load
from core.errors import BrainError
from core.files import FileLock, read_or_none
from ops.install import hooks, installed, skills, wired_files
from ops.schedule import files as schedule_files
from ops.schedule import schedule
from ops.schedule.jobs import every_job
from runtime.explaining import installation
from runtime.resident import control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from core.home import Home

_LOCK_WAIT_S = 30
_INDEX = ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "index.sqlite-journal")
# Folders that runs write, whether or not the configuration still names them as collections.
_WRITTEN = ("brain", "distilled", "chrome-history", "raw")
# Steps that are no paths.
_ACTS = ("schedules", "the resident process")
# Derived, though it lies in state/: made again by whatever needs it.
_CACHES = ("config.cache", "pulse", "schedule.json")


def plan(home: Home, *, keep_corpus: bool) -> dict[str, list[str]]:
    """Return the paths to remove: {"outside": settings, skills, schedules, completions; "inside": paths below the home;
    "kept": paths that stay there}. Raises EngineMissing if the record is damaged, BadInput for the configuration.
    """
    record = installed.read(home)
    inside = list(_inside(home, keep_corpus=keep_corpus))
    kept = [] if not isdir(home.root) else [join(home.root, name) for name in sorted(os.listdir(home.root))]
    gone = set(inside)
    return {
        "outside": [path for kind in installed.KINDS for path in record[kind]],
        "inside": inside,
        "kept": [path for path in kept if path not in gone],
    }


def carry_out(home: Home, environ: Mapping[str, str], *, keep_corpus: bool) -> dict[str, Any]:
    """Remove it all and return {"removed", "kept", "left"}; a second look found ``left``: [{"what", "path", "why"}].

    A failure does not stop the other removals. Raises LockContention during an index run.
    """
    where = schedule_files.setting(home, environ)
    planned = plan(home, keep_corpus=keep_corpus)
    record = installed.read(home)
    removed: list[str] = []
    failures: dict[str, str] = {}

    def attempt(path: str, act: Callable[[], object]) -> None:
        try:
            act()
            removed.append(path)
        except (BrainError, OSError) as error:
            failures[path] = str(error)

    for path in record["hooks"]:
        attempt(path, lambda path=path: hooks.uninstall(home, path))  # type: ignore[misc]
    for folder in sorted({dirname(dirname(path)) for path in record["skills"]}):
        attempt(folder, lambda folder=folder: skills.uninstall(home, folder))  # type: ignore[misc]
    for path in record["files"]:
        attempt(path, lambda path=path: wired_files.settle(home, path, []))  # type: ignore[misc]
    attempt("schedules", lambda: removed.extend(file["path"] for file in schedule.uninstall(home, where)))
    for path, details in record["completions"].items():
        attempt(path, lambda path=path, details=details: _remove_ours(home, path, details))  # type: ignore[misc]
    edited = [path for path in installed.read(home)["skills"] if lexists(path)]
    outside = {kind: list(record[kind]) for kind in installed.KINDS}
    if isdir(home.state):
        attempt("the resident process", lambda: control.stop(home))
        with FileLock(join(home.state, "index.lock"), _LOCK_WAIT_S):
            for path in planned["inside"]:
                attempt(path, lambda path=path: _remove(path))  # type: ignore[misc]
    with contextlib.suppress(OSError):  # other files in it are the user's
        os.rmdir(home.root)
    if control.holder(home) is not None:
        failures.setdefault("the resident process", "one runs still, or again")
    left = list(_left(outside, record, planned["inside"], where, edited, failures))
    removed = [
        path for path in dict.fromkeys(removed) if path not in _ACTS and path not in {each["path"] for each in left}
    ]
    return {"removed": removed, "kept": [path for path in planned["kept"] if lexists(path)], "left": left}


def _inside(home: Home, *, keep_corpus: bool) -> Iterator[str]:
    places = [home.path(name) for name in _INDEX] + [join(home.state, name) for name in _CACHES]
    yield from (path for path in places if lexists(path))
    if keep_corpus:
        yield from _sockets(home)
        return
    folders = [collection.path for collection in load(home).collections.values()]
    below = [path for path in folders if os.path.realpath(path).startswith(os.path.realpath(home.root) + os.sep)]
    # The checkout may be the home; its collections.yml and its logs/README.md are the product's, not the user's.
    product = os.path.isfile(home.path("pyproject.toml"))
    own = [*(home.path(name) for name in _WRITTEN), *([] if product else [home.path(FILE)])]
    logs = [join(home.logs, name) for name in _names(home.logs) if name != "README.md"] if product else [home.logs]
    yield from (path for path in dict.fromkeys([*below, *own, *logs]) if lexists(path))
    if lexists(home.state):
        yield home.state  # last of all: it holds the record of everything else


def _sockets(home: Home) -> Iterator[str]:
    for folder in (home.root, home.state):
        for name in _names(folder):
            path = join(folder, name)
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.lstat(path).st_mode):
                    yield path


def _names(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if isdir(folder) else []


def _remove(path: str) -> None:
    if isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _remove_ours(home: Home, path: str, details: Mapping[str, Any]) -> None:
    data = read_or_none(path)
    if data is not None and hashlib.sha256(data).hexdigest() == details.get("sha256"):
        os.unlink(path)
    installed.drop(home, "completions", path)


def _left(
    outside: Mapping[str, list[str]],
    record: Mapping[str, Mapping[str, Any]],
    inside: list[str],
    where: schedule_files.Setting,
    edited: list[str],
    failures: Mapping[str, str],
) -> Iterator[dict[str, str]]:
    """Look at each place again, whatever the removals reported."""
    for path in outside["hooks"]:
        if path in failures or hooks.events_of(path):  # a file that cannot be read cannot be shown to be clean
            yield _still("hook", path, failures)
    for path in outside["skills"]:
        if lexists(path):
            why = "edited by you; remove it by hand" if path in edited else failures.get(path, "still there")
            yield {"what": "skill", "path": path, "why": why}
    for path, details in record["files"].items():
        if path in failures or wired_files.is_wired(path, details):
            yield _still("agent's file", path, failures)
    for path in outside["completions"]:
        if lexists(path):
            yield {"what": "completion", "path": path, "why": "edited by you; remove it by hand"}
    ours = {schedule_files.label(job, where) for job in every_job()}
    ours |= {schedule_files.unit(job, where) for job in every_job()}
    commands = {" ".join(schedule_files.command_line(job, where)) for job in every_job()}
    for job in installation.schedule()["jobs"]:
        if job["name"] in ours or any(command in job["name"] for command in commands):
            yield _still("schedule", job["file"], failures)
    if "the resident process" in failures:
        yield _still("process", "the resident process", failures)
    for path in inside:
        if lexists(path):
            yield _still("file", path, failures)


def _still(what: str, path: str, failures: Mapping[str, str]) -> dict[str, str]:
    return {"what": what, "path": path, "why": failures.get(path) or failures.get(f"{what}s") or "still there"}
