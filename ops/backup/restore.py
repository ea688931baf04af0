"""``brain restore``: a backup into a home; the former state is kept, and what was forgotten since stays forgotten.

A backup may come from anybody, so ``snapshot.tops`` names what may come out of it: documents and the brain's records,
nothing of this machine's. Everything is unpacked and checked in ``.restoring/`` first. Then whole folders are renamed,
``state/`` last, by a journal: the next run finishes what a killed one began.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from os.path import basename, join
from shlex import quote
from typing import TYPE_CHECKING, Any

from core import access_token, clock
from core.config import MACHINES, load
from core.errors import BadInput, BrainError, EngineMissing, Refused
from core.files import FileLock, read_or_none, remove_temporary, sync_folder, write_atomic
from core.home import CORPUS, FILES, RECORDS, Home, is_collection_folder, make_private
from core.tombstones import Tombstones, is_by_content
from ingest.policy.withheld import Withheld
from ops import snapshot
from ops.backup import backup, packing, questions
from ops.sync import state as sync_state
from ops.sync.git import masked
from runtime.forgetting.forget import obey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# In lower case, because some file systems ignore case: `.git`, its short name on FAT, and HEAD of a bare repository.
_OF_REPOSITORIES = (".git", "git~1", "head")
_STAGE = ".restoring"
MOVES = ".restoring.json"
_WAIT_S = 60.0
# Sections of collections.yml that may send documents to another machine or program.
_OUTWARD = ("engine", "embedding", "generation", "rerank", "distill")
# Records of the machine or of a run: they name files outside the home, and a backup could name any.
_OF_THE_MACHINE = (
    "installed.json",
    "team.json",
    "schedule.json",
    "forgetting.json",
    "forgetting-backups.json",
    "serve.pid",
    access_token.NAME,
)


def restore(
    path: str,
    home: Home,
    *,
    force: bool = False,
    current: Home | None = None,
    progress: packing.Progress | None = None,
) -> dict[str, Any]:
    """Put what the backup at ``path`` holds into ``home``; returns the envelope of ``brain restore --json``.

    Text that was forgotten in ``home`` or in ``current``, the home in use if it is another, is not restored. Raises
    Refused if the home holds something and ``force`` is not given, BadInput where the file is no whole backup (the home
    is then as it was), LockContention, OSError.
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
        _require_known(path, home, copy)
        copy.make()
        _leave_out_repositories(copy)
        _keep_records_of_machine(home, copy)
        address = sync_state.restored(home, copy)
        settings = _new_settings(home, copy)
        again = _stay_forgotten([home] if current is None else [home, current], copy)
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
        "remote_left_out": masked(address),
        "new_settings": settings,
        "took_ms": round((time.perf_counter() - started) * 1000, 1),
    }


def _bring_inbox(home: Home) -> None:
    """Move the restored notes to the inbox of the environment; existing notes stay."""
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
    """Return the names below the home that hold parts of a memory."""
    found = []
    for name in _state_last(snapshot.tops(home)):
        for folder, folders, names in os.walk(home.path(name)):
            folders[:] = [each for each in folders if not each.startswith(".")]
            if any(not each.endswith((".lock", ".cache")) for each in names if not each.startswith(".")):
                # A command on an empty home has left a row of telemetry.
                if name != "logs" or folder != home.logs or names != ["usage.jsonl"]:
                    found.append(name)
                break
        if os.path.isfile(home.path(name)):
            found.append(name)
    return found


def _require_known(path: str, home: Home, copy: Home) -> None:
    """Raise BadInput if the unpacked backup holds a top-level name that no backup of this home may have.

    A collection's folder may be new to the home; it may not replace a folder that is no collection there.
    """
    allowed = snapshot.tops(copy)
    replaceable = {*CORPUS, *snapshot.tops(home)}
    for name in sorted(os.listdir(copy.root)):
        if name not in allowed or os.path.isfile(copy.path(name)) != (name in FILES):
            raise BadInput(
                f"{path} is refused: it holds {name[:100]!r}, which is no part of a memory",
                "restore a file that `brain backup` made",
            )
        if name not in replaceable and os.path.lexists(home.path(name)):
            raise BadInput(
                f"{path} is refused: its {name!r} would replace {home.path(name)}, which is no collection here",
                "restore elsewhere: brain restore FILE --to HOME",
            )


def _leave_out_repositories(copy: Home) -> None:
    """Remove what makes a folder of documents a git repository: its settings name programs that git runs there."""
    for folder, folders, names in os.walk(copy.root):
        for name in [each for each in folders if each.lower() in _OF_REPOSITORIES]:
            folders.remove(name)
            shutil.rmtree(join(folder, name))
        for name in names:
            if name.lower() in _OF_REPOSITORIES:
                os.unlink(join(folder, name))


def _keep_records_of_machine(home: Home, copy: Home) -> None:
    """Leave the records of this machine as the home has them, whatever the backup has."""
    for name in (*snapshot.NOT_KEPT, *_OF_THE_MACHINE):
        place = join(copy.state, name)
        shutil.rmtree(place) if os.path.isdir(place) else remove_temporary(place)
    for name in _OF_THE_MACHINE:
        held = read_or_none(join(home.state, name))
        if held is not None:
            write_atomic(join(copy.state, name), held)
    backup.carry_folders(home, copy)


def _state_last(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (name == "state", name))


def _stay_forgotten(homes: Sequence[Home], copy: Home) -> int:
    """Remove from the copy what was forgotten in ``homes`` after it was made; return how many tombstones it lacked.

    Later exclusions are kept, too.
    """

    withheld = Withheld(copy)
    for home in homes:
        withheld.add(Withheld(home))
    withheld.save()
    rows = [row for home in homes for row in _removed(home)]
    there = Tombstones(copy)
    marks = dict.fromkeys(mark for home in homes for mark in Tombstones(home).marks())
    lacking = [mark for mark in marks if not there.covers(*mark)]
    documents = [(collection, f"{MACHINES}/{machine}/{path}") for machine, collection, path in rows]
    if lacking or documents:
        obey(copy, lacking, documents)
    return sum(not is_by_content(mark) for mark in lacking)


def _new_settings(home: Home, copy: Home) -> list[str]:
    """Return the settings of the backup's configuration, as text, that reach out of the home and that it has not set.

    Each sends texts to a model, a service or a team, writes a log, or runs a command.
    """
    try:
        here, theirs = load(home), load(copy)
    except BrainError:
        return []  # whoever loads it names the damage
    found = {name: theirs.section(name) for name in _OUTWARD if theirs.section(name) != here.section(name)}
    if "log" in theirs.section("doctor") and theirs.section("doctor") != here.section("doctor"):
        found["doctor"] = {"log": theirs.section("doctor")["log"]}
    known = {each.update for each in here.collections.values()}
    updates = {
        each.name: each.update for each in theirs.collections.values() if each.update and each.update not in known
    }
    shares = {
        each.name: each.share
        for each in theirs.collections.values()
        if each.share and (each.name not in here.collections or here.collections[each.name].share != each.share)
    }
    return [
        *(f"{name}: {json.dumps(section, ensure_ascii=False)}" for name, section in found.items() if section),
        *(f"collections.{name}.update: {command}" for name, command in updates.items()),
        *(f"collections.{name}.share: {', '.join(names)}" for name, names in shares.items()),
    ]


def _removed(home: Home) -> list[list[str]]:
    """Return [machine, collection, path] of other machines' documents that were forgotten in ``home``."""
    try:
        return sync_state.State(home).removed
    except BrainError:
        return []  # the doctor names the damage


def _swap(home: Home, copy: Home) -> str:
    """Move the present files aside and the staged ones into place; return the folder of the former files."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock.now()))
    aside = home.path(backup.FOLDER, f"{backup.REPLACED}{stamp}-{os.getpid()}")
    home.make()
    going = [name for name in _state_last(snapshot.tops(home)) if os.path.lexists(home.path(name))]
    names = _state_last({*os.listdir(copy.root), *going})
    with FileLock(join(home.state, "index.lock"), _WAIT_S):
        job = {"schema": 1, "aside": aside, "going": going, "names": names}
        write_atomic(home.path(MOVES), json.dumps(job).encode("utf-8", "surrogateescape"))
        _move(home, job)
    return aside


def _move(home: Home, job: dict[str, Any]) -> None:
    """Carry out the journal; each step may have been done before: a staged folder moves once its place is free."""
    stage = home.path(_STAGE)
    aside = home.path(backup.FOLDER, basename(job["aside"]))
    make_private(aside)
    for name in job["names"]:
        staged, place, kept = join(stage, name), home.path(name), join(aside, name)
        if name in job["going"] and os.path.lexists(place) and not os.path.lexists(kept):
            os.rename(place, kept)
        if os.path.lexists(staged):
            if os.path.lexists(place):  # a command that ran meanwhile made it for its row of telemetry
                os.rename(place, f"{kept}.{os.urandom(4).hex()}")
            os.rename(staged, place)
    sync_folder(home.root)
    os.unlink(home.path(MOVES))
    shutil.rmtree(stage, ignore_errors=True)


def finish(home: Home) -> bool:
    """Finish the restore of a killed run; return True if there was one. Raises as ``journal``."""
    job = journal(home)
    if job is None:
        return False
    _move(home, job)
    return True


def journal(home: Home) -> dict[str, Any] | None:
    """Return the journal of a restore that has not ended: {"aside", "going", "names"}; None if there is none.

    Raises EngineMissing if the journal is not one that ``restore`` writes: its names are moved, so each must be a
    top-level name of a memory.
    """
    path = home.path(MOVES)
    data = read_or_none(path)
    if data is None:
        return None
    try:
        job: dict[str, Any] = json.loads(data)
        if not basename(job["aside"]).startswith(backup.REPLACED):
            raise ValueError("it keeps the former state in a folder of another name")
        for name in (*job["going"], *job["names"]):
            if not (name in (*RECORDS, *FILES) or is_collection_folder(name)):
                raise ValueError(f"it would move {str(name)[:100]!r}")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise EngineMissing(
            f"{path} is damaged, or was not written by `brain restore`: {error}",
            f"mv {quote(path)} {quote(path + '.damaged')}; then brain restore FILE --force",
        ) from None
    return job


def newest(home: Home) -> str:
    """Return the backup made last below the home. Raises BadInput if there is none."""
    found = backup.listed(home.path(backup.FOLDER))
    if not found:
        raise BadInput(f"there is no backup in {home.path(backup.FOLDER)}", "brain backup")
    return max(found, key=basename)
