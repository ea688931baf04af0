"""``brain backup``: one private file that holds a whole memory, tested before it gets its name.

A snapshot (``ops.snapshot``) is packed (``ops.backup.packing``), unpacked into a scratch home, and asked questions
drawn from the corpus. ``ops.backup.restore`` restores it; ``forget`` removes forgotten text from it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import time
from collections.abc import Iterable, Iterator
from os.path import basename, join
from typing import TYPE_CHECKING, Any

from core import clock
from core.config import load
from core.errors import BrainError, Internal
from core.files import FileLock, read_or_none, remove_temporary, sweep_temporaries, sync_folder, write_atomic
from core.home import Home, make_private
from core.tombstones import Tombstones
from core.version import VERSION
from ingest import registry
from ingest.archive import verifier
from ingest.forgetting import archived_with
from ingest.pipeline.remade import ASIDE
from ops import snapshot
from ops.backup import packing, questions
from runtime.capture.indexing import index
from runtime.forgetting import verify_erasure
from runtime.forgetting.forget import obey
from runtime.forgetting.targets import holding
from runtime.forgetting.verify_erasure import holds

if TYPE_CHECKING:
    from core.config import Config
    from ingest.archive.verifier import Broken

FOLDER = "backups"
KIND = "brain-backup"
REPLACED = "replaced-"
_PREFIX = "brain-"
_LOCK = "backup.lock"
_WORK = "work"
_WAIT_S = 600.0
# The pending removal from backups: names, without any content.
_JOB = "forgetting-backups.json"
_NOTE = "last-backup.json"


def make(
    home: Home,
    config: Config,
    *,
    to: str = "",
    with_index: bool = True,
    verify: bool = True,
    progress: packing.Progress | None = None,
) -> dict[str, Any]:
    """Back the home up into the folder ``to`` (default ``backups/``); returns the envelope of ``brain backup --json``.

    ``verify`` restores the new file into a scratch home and asks it questions; a failure removes the file. ``broken``
    lists missing objects of the archive, and with ``verify`` damaged ones; ``accepted`` marks known losses. ``unnamed``
    counts objects without a catalogue entry. ``left`` names the older backups that still hold forgotten text. Raises
    LockContention if another backup runs, Internal if the test fails, OSError, apsw.Error.
    """
    started = time.perf_counter()
    folder = to or home.path(FOLDER)
    Tombstones(home)  # if they cannot be read, the error must name the home's file, not the copy's
    with working(home) as work:
        left = finish_forgetting(home)
        sweep_temporaries(folder)
        taken = snapshot.take(home, config, join(work, "snapshot"))
        had_index = questions.there(taken.home)
        asked = questions.draw(taken.home) if verify and had_index else []
        expected = questions.answers(taken.home, load(taken.home), asked) if asked else []
        if had_index and not with_index:
            if asked:
                # Files may be newer than the index: the restored home will find those, too.
                expected = _indexed_answers(taken.home, asked)
            os.unlink(taken.home.index)
        about = {
            "kind": KIND,
            "version": VERSION,
            "made_at": clock.iso(clock.now()),
            "machine": socket.gethostname(),
            "index": had_index and with_index,
            "tombstones": len(Tombstones(taken.home)),
            "outside": taken.outside,
        }
        target = _name(folder, clock.now())
        # It gets its name after the test; a killed run leaves a temporary file, which is swept.
        untried = join(folder, f".{basename(target)}.tmp")
        manifest = packing.pack(taken.home.root, untried, about, progress)
        try:
            shutil.rmtree(taken.home.root)
            alike, broken = 0, taken.missing
            if verify:
                alike, broken = _try_out(untried, join(work, "verify"), asked, expected, progress)
            os.rename(untried, target)
        except BaseException:
            remove_temporary(untried)
            raise
        sync_folder(folder)
        note = {"schema": 1, "at": about["made_at"], "path": target, "verified": verify}
        # Every folder that ever took a backup: forgetting must find all of them.
        if is_note_damaged(home):
            os.replace(join(home.state, _NOTE), join(home.state, _NOTE + ASIDE))  # the doctor reports it
        note["folders"] = list(dict.fromkeys([*_folders(home), folder]))
        write_atomic(join(home.state, _NOTE), json.dumps(note).encode())
    known, unnamed = verifier.accepted_losses(home), verifier.count_orphans(home)
    return {
        "schema": 1,
        "ok": True,
        "path": target,
        "bytes": os.stat(target).st_size,
        "files": len(manifest["files"]),
        "documents": sum(name.endswith(".md") for name, _, _ in manifest["files"]),
        "index": about["index"],
        "verified": verify,
        "questions": len(asked),
        "alike": alike,
        "outside": taken.outside,
        "broken": [
            {
                "object": f"raw/{each.name[:2]}/{each.name}.zst",
                "reason": each.reason,
                "source": each.source,
                "of": each.path,
                "accepted": each.name in known,
            }
            for each in broken
        ],
        "unnamed": unnamed.new if unnamed.is_lost else 0,
        "left": left,
        "took_ms": round((time.perf_counter() - started) * 1000, 1),
    }


def listed(folder: str) -> list[str]:
    """Return the backups in ``folder``, oldest first."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [join(folder, name) for name in names if name.startswith(_PREFIX) and name.endswith(packing.SUFFIX)]


def last(home: Home) -> tuple[int, str] | None:
    """Return (when, path) of the last backup made of this home, None if there is none or its file is gone.

    A note names a backup in another folder; the folder of the home is listed.
    """
    found = [(at, path) for path in listed(home.path(FOLDER)) if (at := _made(path)) is not None]
    with contextlib.suppress(ValueError, KeyError, TypeError):
        held = _noted(home)
        at, path = clock.parse_iso(str(held["at"])), str(held["path"])
        if at is not None and os.path.isfile(path):
            found.append((at, path))
    return max(found, default=None)


def _made(path: str) -> int | None:
    """Return the time of a backup by its name, since forgetting changes the file's mtime."""
    return clock.parse_iso(basename(path).removeprefix(_PREFIX)[: len("20260428T091403Z")])


def known(home: Home) -> list[str]:
    """Return the backups that can be found again: those below the home, and in every folder that ever took one."""
    found = [path for folder in (home.path(FOLDER), *_folders(home)) for path in listed(folder)]
    return list(dict.fromkeys(os.path.realpath(path) for path in found))


def _folders(home: Home) -> list[str]:
    """Return the folders that have taken backups, as the note has them."""
    held = _noted(home)
    folders = held.get("folders")
    named = [each for each in folders if isinstance(each, str)] if isinstance(folders, list) else []
    path = held.get("path")
    return [*named, os.path.dirname(path)] if isinstance(path, str) else named


def carry_folders(home: Home, copy: Home) -> None:
    """Add the backup folders of ``home`` to the note of ``copy``: forgetting must reach all of them."""
    folders = list(dict.fromkeys([*_folders(copy), *_folders(home)]))
    if folders:
        note = {**_noted(copy), **_noted(home), "folders": folders}
        write_atomic(join(copy.state, _NOTE), json.dumps(note).encode())


def _noted(home: Home) -> dict[str, Any]:
    """Return the note on the last backup, {} if there is none or it cannot be read."""
    try:
        held = json.loads(read_or_none(join(home.state, _NOTE)) or b"{}")
    except ValueError:
        return {}
    return held if isinstance(held, dict) else {}


def is_note_damaged(home: Home) -> bool:
    """Return True if the note exists and names no folder."""
    path = join(home.state, _NOTE)
    return os.path.exists(path) and not _folders(home)


def replaced(home: Home) -> list[str]:
    """Return the folders in which restores have kept the former state."""
    folder = home.path(FOLDER)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [join(folder, name) for name in names if name.startswith(REPLACED) and os.path.isdir(join(folder, name))]


def forget(
    home: Home,
    documents: Iterable[tuple[str, str]],
    marks: Iterable[tuple[str, str]],
    probes: Iterable[bytes] = (),
    *,
    anywhere: bool = False,
    own: list[str] | None = None,
) -> list[str]:
    """Remove documents from every known backup by rewriting it; return the backups that could not be rewritten.

    ``anywhere``: no backup may hold the texts ``probes``, so documents that only a backup holds are removed, too.
    Without documents and marks, a backup without such a text stays as it is. ``own`` collects the user's own files in
    backups beyond the home that hold a text.

    A note of the job, without content, is written first: the next run or backup finishes the job of a killed run.
    Raises LockContention and OSError.
    """
    with working(home) as work:
        path = join(home.state, _JOB)
        job = _read_job(path)
        job["documents"] += [list(each) for each in documents]
        job["marks"] += [list(each) for each in marks]
        write_atomic(path, json.dumps(job).encode("utf-8", "surrogateescape"))
        return _forget(home, job, work, list(probes), anywhere=anywhere, own=own)


def forgetting(home: Home) -> bool:
    """Return True if a removal from backups is pending."""
    return os.path.exists(join(home.state, _JOB))


def job(home: Home) -> dict[str, Any]:
    """Return the pending removal from backups. Raises EngineMissing if its note is damaged."""
    return _read_job(join(home.state, _JOB))


def finish_forgetting(home: Home) -> list[str]:
    """Finish a pending ``forget``; return the backups that still could not be rewritten. The caller is ``working``."""
    return _forget(home, job(home), join(home.state, _WORK), []) if forgetting(home) else []


def _read_job(path: str) -> dict[str, Any]:
    from runtime.forgetting.unfinished import note

    return note(path) or {"schema": 1, "documents": [], "marks": []}


def _forget(
    home: Home,
    job: dict[str, Any],
    work: str,
    probes: list[bytes],
    *,
    anywhere: bool = False,
    own: list[str] | None = None,
) -> list[str]:
    documents = [(str(collection), str(path)) for collection, path in job["documents"]]
    marks = [(str(source), str(unit)) for source, unit in job["marks"]]
    failed: list[str] = []
    for place in replaced(home):
        try:
            obey(Home(place), marks, documents, probes)
            if anywhere:
                obey(Home(place), *_still(Home(place), probes), probes)
        except (BrainError, OSError) as error:
            failed.append(f"{place}: {error}")
    for path in known(home):
        place = join(work, "forget")
        make_private(place)
        try:
            manifest = packing.unpack(path, place)
            copy = Home(place)
            left, theirs = verify_erasure.search(copy, probes) if anywhere or not (documents or marks) else ([], [])
            if documents or marks or left:
                obey(copy, marks, documents, probes)
                if anywhere:
                    obey(copy, *_still(copy, probes), probes)
                    left, theirs = verify_erasure.search(copy, probes)
                    failed += [f"{path}: {each}" for each in left]
                _tidy(copy)
                about = {key: value for key, value in manifest.items() if key not in ("schema", "files")}
                packing.pack(place, path, {**about, "tombstones": len(Tombstones(copy))})
            if own is not None and not path.startswith(os.path.realpath(home.root) + os.sep):
                own += [f"{path}: {each}" for each in theirs]
        except (BrainError, OSError) as error:
            failed.append(f"{path}: {error}")
        finally:
            shutil.rmtree(place, ignore_errors=True)
    if not failed:
        os.unlink(join(home.state, _JOB))
    return failed


def _still(copy: Home, probes: list[bytes]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return (marks, documents) with a text that the unpacked backup holds and the home no longer does."""

    documents = holding(((name, folder.path) for name, folder in load(copy).collections.items()), probes)
    marks = archived_with(copy, lambda data: holds(data.lower(), probes))
    for each in registry.collectors():
        named = ((path, path.removesuffix(".md")) for name, path in documents if name == each.collection)
        marks |= {(each.name, unit) for path, unit in named if each.names_of([unit]) == [path]}
    return sorted(marks), documents


@contextlib.contextmanager
def working(home: Home) -> Iterator[str]:
    """Yield a private folder below the home, for one process at a time; remove the leftovers of a killed one first."""
    home.make()
    with FileLock(join(home.state, _LOCK), _WAIT_S):
        work = join(home.state, _WORK)
        shutil.rmtree(work, ignore_errors=True)
        make_private(work)
        make_private(join(work, "snapshot"))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _name(folder: str, now: int) -> str:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    target = join(folder, f"{_PREFIX}{stamp}{packing.SUFFIX}")
    number = 1
    while os.path.exists(target):
        number += 1
        target = join(folder, f"{_PREFIX}{stamp}-{number}{packing.SUFFIX}")
    return target


def _try_out(
    path: str, place: str, asked: list[str], expected: list[Any], progress: packing.Progress | None
) -> tuple[int, list[Broken]]:
    """Restore the file into ``place`` and ask the questions; return the number of equal answers, and the archive's
    missing or damaged objects. Raises Internal.
    """
    from ingest.archive.verifier import broken

    make_private(place)
    manifest = packing.unpack(path, place, progress)
    copy = Home(place)
    lost = broken(copy, contents=True)
    if not asked:
        return 0, lost
    found = questions.answers(copy, load(copy), asked) if manifest["index"] else _indexed_answers(copy, asked)
    alike = questions.same(expected, found)
    if alike != len(asked):
        raise Internal(
            f"the backup, restored for a trial, answered {len(asked) - alike} of {len(asked)} questions otherwise",
            "brain rebuild, then make it again",
        )
    return alike, lost


def _indexed_answers(copy: Home, asked: list[str]) -> list[Any]:
    index(copy, load(copy), markdown_only=True)
    return questions.answers(copy, load(copy), asked)


def _tidy(copy: Home) -> None:
    """Remove locks, logs and temporary folders, which no backup holds."""
    for name in os.listdir(copy.state):
        if name.endswith(".lock") or name in snapshot.NOT_KEPT:
            path = join(copy.state, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(copy.index + suffix)
