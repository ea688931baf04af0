"""Has something new appeared? Answered by stat alone, within the time of a question (``ask``, the MCP tools).

The last run leaves in ``state/pulse/<source>`` where it looked and what it saw. A folder whose mtime is the same has
no new files; the files most recently at work are the ones that may have grown. A session that is resumed after weeks
in a folder without any new file is missed here, and found by the next run.
"""

from __future__ import annotations

import os
from os.path import dirname, join

from core import jsonb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from core.home import Home
    from ingest.files import SourceFile

_FOLDERS = 256
_FILES = 64
_DATABASES = (".vscdb", ".sqlite", ".db")


def write(
    home: Home,
    source: str,
    roots: Sequence[str],
    files: Iterable[SourceFile],
    started_ns: int,
    suffixes: Sequence[str] = (".jsonl",),
) -> None:
    """Leave the pulse of a run that began at ``started_ns`` (epoch nanoseconds). Raises OSError.

    ``suffixes``: how the names of the source's files end, by which a new one is known.
    """
    from core.files import write_atomic

    # A file name that is no UTF-8 cannot be stored in JSON; it is left to the next run.
    seen = sorted((file for file in files if file.size or file.mtime_ns), key=lambda file: -file.mtime_ns)
    plain = [file for file in seen if _storable(file.path)]
    folders: dict[str, int] = {}
    for folder in [*roots, *(dirname(file.path) for file in plain)]:
        if len(folders) >= _FOLDERS:
            break
        if folder not in folders and _storable(folder):
            mtime = _mtime(folder)
            # What changed while the run was looking may have been missed: to be looked at again.
            folders[folder] = mtime if mtime < started_ns else 0
    pulse = {
        "at": started_ns,
        "roots": [root for root in roots if root in folders],
        "folders": [[folder, mtime] for folder, mtime in folders.items()],
        "files": [[file.path, *_seen(file, started_ns)] for file in plain[:_FILES]],
        "known": sorted({dirname(file.path) for file in plain}),
        "suffixes": list(suffixes),
    }
    write_atomic(join(home.state, "pulse", source), jsonb.pack(pulse))


def _seen(file: SourceFile, started_ns: int) -> tuple[int, int]:
    """What a file was like: one that stands for others counts here by itself, unless it may have changed meanwhile."""
    try:
        now = _look(file.path)
    except OSError:
        return file.size, file.mtime_ns
    return now if now[1] < started_ns else (file.size, file.mtime_ns)


def touch(home: Home, source: str, file: SourceFile) -> None:
    """Let the pulse know ``file`` as it is now, because it was read on its own. Raises OSError.

    Nothing is left where no run has left a pulse yet.
    """
    from core.files import write_atomic

    place = join(home.state, "pulse", source)
    pulse = _read(place)
    if pulse is None or not _storable(file.path):
        return
    others = [known for known in pulse["files"] if known[0] != file.path]
    pulse["files"] = [[file.path, file.size, file.mtime_ns], *others[: _FILES - 1]]
    write_atomic(place, jsonb.pack(pulse), sync=False)


def leave_out(home: Home, test: Callable[[str], bool]) -> None:
    """Let no pulse name a path that passes ``test``; what is there comes again with the next run. Raises OSError."""
    folder = join(home.state, "pulse")
    if not os.path.isdir(folder):
        return
    from core.files import write_atomic

    for source in os.listdir(folder):
        found = None if source.startswith(".") else _read(join(folder, source))
        if found is None:
            continue
        try:
            after = {
                **found,
                "roots": [path for path in found["roots"] if not test(path)],
                "folders": [each for each in found["folders"] if not test(each[0])],
                "files": [each for each in found["files"] if not test(each[0])],
                "known": [path for path in found["known"] if not test(path)],
            }
        except (KeyError, TypeError, IndexError):
            os.unlink(join(folder, source))  # of another version
            continue
        if after != found:
            write_atomic(join(folder, source), jsonb.pack(after))


def news(home: Home) -> set[str]:
    """The files that look new or grown since the last runs."""
    return set().union(*(found for _, found in _looks(home)))


def pending(home: Home) -> tuple[int, int | None]:
    """(files that look new or grown, epoch seconds of the oldest source's last run or None before the first)."""
    count = 0
    oldest: int | None = None
    for at, found in _looks(home):
        count += len(found)
        seconds = at // 1_000_000_000
        oldest = seconds if oldest is None or seconds < oldest else oldest
    return count, oldest


def _looks(home: Home) -> Iterator[tuple[int, set[str]]]:
    """For each source that has run: when (epoch nanoseconds), and what looks new or grown since."""
    folder = join(home.state, "pulse")
    try:
        sources = os.listdir(folder)
    except OSError:
        return
    for source in sources:
        if source.startswith("."):
            continue
        pulse = _read(join(folder, source))
        if pulse is None:
            continue
        try:
            look = (pulse["at"], _news(pulse, pulse["at"]))
        except (ValueError, KeyError, TypeError):
            continue  # of another version: as if that source had never run
        yield look


def _read(path: str) -> Any:
    """A pulse, None where there is none, or one that is torn or of another version."""
    try:
        with open(path, "rb") as stream:
            pulse = jsonb.unpack(stream.read())
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pulse if isinstance(pulse, dict) else None


def _news(pulse: Any, at: int) -> set[str]:
    found: set[str] = set()
    same: set[str] = set()
    for path, size, mtime_ns in pulse["files"]:
        try:
            now = _look(path)
        except OSError:
            continue
        grown = now != (size, mtime_ns)
        (found if grown else same).add(path)
    suffixes = tuple(pulse["suffixes"])
    known: set[str] | None = None
    for folder, mtime in pulse["folders"]:
        if _mtime(folder) == mtime:
            continue
        fresh = _newer(folder, suffixes, at, found)
        if folder in pulse["roots"]:
            known = set(pulse["known"]) if known is None else known
            for project in fresh:
                if project not in known:
                    _newer(project, suffixes, at, found)
    return found - same


def _newer(folder: str, suffixes: tuple[str, ...], at: int, found: set[str]) -> list[str]:
    """Add the transcripts in ``folder`` written after ``at``; returns its folders changed since then."""
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(suffixes):
                    if entry.stat().st_mtime_ns > at:
                        found.add(entry.path)
                elif entry.is_dir(follow_symlinks=False) and entry.stat().st_mtime_ns > at:
                    folders.append(entry.path)
    except OSError:
        return folders
    return folders


def _look(path: str) -> tuple[int, int]:
    """(size, mtime in ns) of a file; of a database with its write-ahead log, as ``ingest.databases`` counts them."""
    status = os.stat(path)
    size, mtime_ns = status.st_size, status.st_mtime_ns
    if path.endswith(_DATABASES):
        try:
            log = os.stat(path + "-wal")
        except OSError:
            return size, mtime_ns
        size += log.st_size
        mtime_ns = max(mtime_ns, log.st_mtime_ns) if log.st_size else mtime_ns
    return size, mtime_ns


def _mtime(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return -1


def _storable(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
