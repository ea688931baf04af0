"""``brain restore``: a backup into a home; what was there is kept aside, what was forgotten since stays forgotten.

Everything is unpacked and checked beside its place first. Then whole folders are renamed, ``state/`` last, by a list
that is written down: a run that is killed is finished by the next one.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from os.path import basename, join
from typing import TYPE_CHECKING, Any

from core import clock
from core.config import load
from core.errors import BadInput, BrainError, Refused
from core.files import read_or_none, sync_folder, write_atomic
from core.home import Home, make_private
from core.locks import FileLock
from core.tombstones import Tombstones, is_by_content
from ingest.withheld import Withheld
from ops import backup, packing, questions, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_STAGE = ".restoring"
MOVES = ".restoring.json"
_WAIT_S = 60.0


def restore(
    path: str,
    home: Home,
    *,
    force: bool = False,
    beside: Home | None = None,
    progress: packing.Progress | None = None,
) -> dict[str, Any]:
    """Put what the backup at ``path`` holds into ``home``; returns the envelope of ``brain restore --json``.

    What was forgotten in ``home`` stays away, and what was in ``beside``, the one that it is restored beside.
    Raises Refused where the home holds something and ``force`` is not given, BadInput where the file is no whole backup
    (the home is then as it was), LockContention, OSError.
    """
    started = time.perf_counter()
    if not os.path.isfile(path):
        raise BadInput(f"there is no such backup: {path}", "brain backup makes one; they lie in BRAIN_HOME/backups")
    finished = finish(home)
    held = _held(home)
    if held and not force:
        raise Refused(
            f"{home.root} is not empty: it holds {', '.join(held[:4])}",
            "restore elsewhere with --to, or add --force: what is there is kept aside",
        )
    make_private(home.root)
    stage = home.path(_STAGE)
    shutil.rmtree(stage, ignore_errors=True)
    make_private(stage)
    try:
        manifest = packing.unpack(path, stage, progress)
        copy = Home(stage)
        copy.make()
        again = _stay_forgotten([home] if beside is None else [home, beside], copy)
        os.sync()
        aside = _swap(home, copy)
        if not held:  # a lock and a row of telemetry at most
            shutil.rmtree(aside)
            aside = ""
    except BaseException:
        if not os.path.exists(home.path(MOVES)):
            shutil.rmtree(stage, ignore_errors=True)
        raise
    _bring_inbox(home)
    return {
        "schema": 1,
        "ok": True,
        "path": path,
        "home": home.root,
        "made_at": manifest["made_at"],
        "files": len(manifest["files"]),
        "documents": sum(name.endswith(".md") for name, _, _ in manifest["files"]),
        "index": bool(manifest["index"]) and questions.there(home),
        "aside": aside,
        "finished": finished,
        "forgotten_again": again,
        "outside": manifest.get("outside") or [],
        "took_ms": round((time.perf_counter() - started) * 1000, 1),
    }


def _bring_inbox(home: Home) -> None:
    """Notes belong where the environment says that the inbox is; one that is there already stays as it is."""
    restored = home.path("inbox")
    if home.inbox == restored or not os.path.isdir(restored):
        return
    for place, _, names in os.walk(restored):
        for name in names:
            path = join(place, name)
            target = join(home.inbox, os.path.relpath(path, restored))
            if not os.path.lexists(target):
                with open(path, "rb") as stream:
                    write_atomic(target, stream.read())
    shutil.rmtree(restored)


def _held(home: Home) -> list[str]:
    """What of a memory lies in the home already, as names below it."""
    found = []
    for name in _places(home):
        for folder, folders, names in os.walk(home.path(name)):
            folders[:] = [each for each in folders if not each.startswith(".")]
            if any(not each.endswith((".lock", ".cache")) for each in names if not each.startswith(".")):
                # A command that looked at an empty home has left its row of telemetry there.
                if name != "logs" or folder != home.logs or names != ["usage.jsonl"]:
                    found.append(name)
                break
        if os.path.isfile(home.path(name)):
            found.append(name)
    return found


def _places(home: Home) -> list[str]:
    """The names below the home that make up a memory, ``state`` last."""
    try:
        inside, _ = snapshot.parts(home, load(home))
    except BrainError:
        inside = {}  # a configuration that does not hold is replaced like the rest
    tops = {name.split(os.sep)[0] for name in inside}
    return _state_last({*tops, snapshot.RAW, "logs", "collections.yml", *_index_files(), "state"})


def _index_files() -> tuple[str, ...]:
    return ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm")


def _state_last(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (name == "state", name))


def _stay_forgotten(homes: Sequence[Home], copy: Home) -> int:
    """Take out of the copy what was forgotten in ``homes`` since it was made; returns how many tombstones it lacked.

    What was excluded since stays known as well.
    """
    from runtime.forget import obey

    withheld = Withheld(copy)
    for home in homes:
        withheld.add(Withheld(home))
    withheld.save()
    there = Tombstones(copy)
    marks = dict.fromkeys(mark for home in homes for mark in Tombstones(home).marks())
    lacking = [mark for mark in marks if not there.covers(*mark)]
    if lacking:
        obey(copy, lacking)
    return sum(not is_by_content(mark) for mark in lacking)


def _swap(home: Home, copy: Home) -> str:
    """Move what is there aside and what is staged into place; returns where the former is now."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock.now()))
    aside = home.path(backup.FOLDER, f"{backup.REPLACED}{stamp}-{os.getpid()}")
    home.make()
    going = [name for name in _places(home) if os.path.lexists(home.path(name))]
    names = _state_last({*os.listdir(copy.root), *going})
    with FileLock(join(home.state, "index.lock"), _WAIT_S):
        job = {"schema": 1, "aside": aside, "going": going, "names": names}
        write_atomic(home.path(MOVES), json.dumps(job).encode("utf-8", "surrogateescape"))
        _move(home, job)
    return aside


def _move(home: Home, job: dict[str, Any]) -> None:
    """Every step may have been done before: what is staged moves once what stood in its place is aside."""
    stage = home.path(_STAGE)
    make_private(job["aside"])
    for name in job["names"]:
        staged, place, aside = join(stage, name), home.path(name), join(job["aside"], name)
        if name in job["going"] and os.path.lexists(place) and not os.path.lexists(aside):
            os.rename(place, aside)
        if os.path.lexists(staged):
            if os.path.lexists(place):  # a command that ran meanwhile has made it, to leave its row of telemetry
                os.rename(place, f"{aside}.{os.urandom(4).hex()}")
            os.rename(staged, place)
    sync_folder(home.root)
    os.unlink(home.path(MOVES))
    shutil.rmtree(stage, ignore_errors=True)


def finish(home: Home) -> bool:
    """Finish what a killed run had begun; whether there was anything."""
    data = read_or_none(home.path(MOVES))
    if data is None:
        return False
    _move(home, json.loads(data))
    return True


def newest(home: Home) -> str:
    """The backup made last below the home. Raises BadInput where there is none."""
    found = backup.listed(home.path(backup.FOLDER))
    if not found:
        raise BadInput(f"there is no backup in {home.path(backup.FOLDER)}", "brain backup")
    return max(found, key=basename)
