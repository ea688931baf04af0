"""Has something new appeared since the last runs? Answered within the time of a question (``ask``, the MCP tools).

Each run leaves in ``state/pulse/<source>`` which folders it read and what they looked like. A folder with the same
mtime has no new files; the files most recently at work are the ones that may have grown. A place of a source that no
run has read yet is read exactly. A session that is resumed after weeks in a folder without any new file is found by the
next run alone.
"""

from __future__ import annotations

import os
from os.path import dirname, exists, join

from core import jsonb
from core.errors import BrainError
from ingest import roots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from core.config import Config
    from core.home import Home
    from ingest.pipeline.state import FileRow
    from ingest.raw.store import SourceFile

_FOLDERS = 256
_FILES = 64
_DATABASES = (".vscdb", ".sqlite", ".db")


def path(home: Home, source: str) -> str:
    """Return where the pulse of a source's last run is."""
    return join(home.state, "pulse", source)


def encoded(
    roots: Sequence[str],
    files: Iterable[SourceFile],
    started_ns: int,
    suffixes: Sequence[str] = (".jsonl",),
    *,
    with_empty: bool = True,
) -> bytes:
    """Return the pulse of a run that began at ``started_ns`` (epoch nanoseconds), as its file has it.

    ``suffixes``: how the names of the source's files end, by which a new one is known. ``with_empty``: name folders
    without a transcript, too; False if a folder's name may be a forgotten one.
    """
    # A file name that is no UTF-8 cannot be stored in JSON; it is left to the next run.
    seen = sorted((file for file in files if file.size or file.mtime_ns), key=lambda file: -file.mtime_ns)
    plain = [file for file in seen if _storable(file.path)]
    within = dict.fromkeys(root for root in roots if _storable(root))
    own = list(within)
    for file in plain:
        top = next((root for root in own if file.path.startswith(join(root, ""))), "")
        folder = dirname(file.path)
        # A new day's folder changes the mtime of the folder above it alone.
        while folder not in within:
            within[folder] = None
            folder = dirname(folder) if top else folder
    if with_empty:
        _add_empty(within)
    # A change while the run was looking may have been too late for the run: look at the folder again.
    folders = [[each, mtime if (mtime := _mtime(each)) < started_ns else 0] for each in list(within)[:_FOLDERS]]
    pulse = {
        "at": started_ns,
        "roots": own,
        "folders": folders,
        "files": [[file.path, *_seen(file, started_ns)] for file in plain[:_FILES]],
        "within": list(within),
        "suffixes": list(suffixes),
    }
    return jsonb.pack(pulse)


def _add_empty(within: dict[str, None]) -> None:
    """Add folders that hold no transcript yet: the first one changes the mtime of its own folder alone."""
    queue = list(within)
    for folder in queue:
        if len(within) >= _FOLDERS:
            return
        try:
            with os.scandir(folder) as entries:
                below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        added = [path for path in below if path not in within and _storable(path)]
        within.update(dict.fromkeys(added))
        queue += added


def _seen(file: SourceFile, started_ns: int) -> tuple[int, int]:
    """Return (size, mtime) of a file itself, unless it may have changed meanwhile: ``file`` may add up several
    files."""
    now = _look(file.path)
    return now if now is not None and now[1] < started_ns else (file.size, file.mtime_ns)


def touch(home: Home, source: str, file: SourceFile) -> None:
    """Let the pulse know ``file`` as it is now, because it was read on its own. Raises OSError.

    Nothing is left where no run has left a pulse yet.
    """
    from core.files import write_atomic

    place = path(home, source)
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
                "within": [path for path in found["within"] if not test(path)],
            }
        except (KeyError, TypeError, IndexError):
            os.unlink(join(folder, source))  # of another version
            continue
        if after != found:
            write_atomic(join(folder, source), jsonb.pack(after))


def news(home: Home, config: Config | None) -> set[str]:
    """Return the files that look new or grown since the last runs.

    ``config``: where it adds places to those of the sources.
    """
    places = roots.places(home, config, os.environ)
    if places is None:
        from ingest import registry

        places = registry.every_root(home, config)
    found: set[str] = set()
    for source in {**places, **dict.fromkeys(_names(home))}:
        read, paths = _since(join(home.state, "pulse", source))
        if paths:
            found |= _transcripts(source, paths)
        unread = [place for place in places.get(source, ()) if place not in read and _storable(place)]
        if unread:
            found.update(_waiting(home, source, unread))
    return found


def _transcripts(source: str, paths: set[str]) -> set[str]:
    """Return ``paths`` without histories of prompts, which grow with each prompt of a transcript."""
    from ingest.registry import is_history

    return {path for path in paths if not is_history(source, path)}


def _names(home: Home) -> list[str]:
    try:
        return [name for name in os.listdir(join(home.state, "pulse")) if not name.startswith(".")]
    except OSError:
        return []


def _waiting(home: Home, source: str, unread: list[str]) -> list[str]:
    """Return the files of a source that the next run would read; the ``unread`` places if that cannot be known."""
    import apsw

    try:
        return paths(home, source)
    except (apsw.Error, BrainError, OSError):
        return unread


def _read(path: str) -> Any:
    """Return a pulse, None if there is none, or one that is torn or of another version."""
    pulse = roots.read(path)
    return pulse if isinstance(pulse, dict) else None


def _since(path: str) -> tuple[list[str], set[str]]:
    """Return the places that the run of a pulse read, and the files that look new or grown since.

    Without a pulse of this version it is as if the source had never run.
    """
    pulse: Any = roots.read(path)
    try:
        return pulse["roots"], _news(pulse, pulse["at"])
    except (ValueError, KeyError, TypeError):
        return [], set()


def _news(pulse: Any, at: int) -> set[str]:
    found: set[str] = set()
    same: set[str] = set()
    for path, size, mtime_ns in pulse["files"]:
        now = _look(path)
        if now is not None:
            (same if now == (size, mtime_ns) else found).add(path)
    changed = [folder for folder, mtime in pulse["folders"] if _mtime(folder) != mtime]
    if changed:
        suffixes, within = tuple(pulse["suffixes"]), set(pulse["within"])
        for folder in changed:
            _newer(folder, suffixes, at, within, found)
    return found - same


def _newer(folder: str, suffixes: tuple[str, ...], at: int, within: set[str], found: set[str]) -> None:
    """Add the transcripts that came into ``folder`` after ``at``, and all those in its new folders, to ``found``."""
    fresh: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(suffixes):
                    if _changed(entry.stat()) > at:
                        found.add(entry.path)
                elif entry.path not in within and entry.is_dir(follow_symlinks=False) and _changed(entry.stat()) > at:
                    fresh.append(entry.path)
    except OSError:
        return
    for place in fresh[:_FOLDERS]:
        for top, _, names in os.walk(place):
            found.update(join(top, name) for name in names if name.endswith(suffixes))


def _changed(status: os.stat_result) -> int:
    """Return when a file or folder was written or put in its place (epoch nanoseconds): a copy may keep its old
    mtime."""
    return max(status.st_mtime_ns, status.st_ctime_ns)


def _look(path: str) -> tuple[int, int] | None:
    """Return (size, mtime in ns) of a file, of a database with its write-ahead log; None if the file is gone."""
    try:
        status = os.stat(path)
        log = os.stat(path + "-wal") if path.endswith(_DATABASES) and exists(path + "-wal") else None
    except OSError:
        return None
    if log is None or not log.st_size:
        return status.st_size, status.st_mtime_ns
    return status.st_size + log.st_size, max(status.st_mtime_ns, log.st_mtime_ns)


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


def waiting(home: Home, source_name: str | None = None) -> dict[str, int]:
    """Return for each source how many files below its own folders are new, grown or changed since they were read.

    ``source_name``: that source alone. Before the first run, and after a change of the parser, all files wait. Raises
    BadInput for an unknown source, apsw.Error if the recorded state cannot be read.
    """
    from ingest import registry

    names = registry.present(home) if source_name is None else (source_name,)
    return {name: len(paths(home, name)) for name in names}


def paths(home: Home, source_name: str) -> list[str]:
    """Return the paths of the files of one source that the next run would read. Raises as ``waiting``."""
    from ingest import registry
    from ingest.pipeline.state import known, with_hidden

    source = registry.source(source_name)
    files = source.discover(source.default_roots(settings=registry.settings(home)))
    rows = with_hidden(known(home, source_name), files)
    new: list[SourceFile] = source.pending(files, rows, trust_stat=True)
    # Every run retries an unreadable file; that file waits only if its stat has changed.
    # A history of prompts grows with each prompt of a transcript, which is counted already.
    return [file.path for file in new if not (_same(file, rows.get(file.path)) or source.is_history(file.path))]


def _same(file: SourceFile, row: FileRow | None) -> bool:
    if row is None or row.status != "unreadable":
        return False
    return (file.size, file.mtime_ns, file.inode) == (row.size, row.mtime_ns, row.inode)
