"""OpenCode's tree of JSON files: which files make a session, and what tells that one of them has changed.

``storage/session/<project>/<id>.json``, ``message/<id>/<message>.json``, ``part/<message>/<part>.json``; before that
``session/info/<id>.json``, ``session/message/<id>/…``, ``session/part/<id>/<message>/…``. A session's file stands for
all of them: its size is their sum, its mtime the latest. Imported by ``discover``: keep it light.
"""

from __future__ import annotations

import os
from os.path import basename, dirname, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.raw.files import SourceFile

# Session's file → (size, mtime in ns), as discovered last.
_STAMPS: dict[str, tuple[int, int]] = {}
_INSIDE = ("message", "part")
_ASIDE = {
    "project": "project's description",
    "session_diff": "changes to files",
    "session_share": "shared link",
    "todo": "list of tasks",
    "permission": "permissions",
    "share": "shared link",
}


def fold(files: list[SourceFile]) -> list[SourceFile]:
    """``files`` without messages and parts, each session's file grown by its own; those of no session are skipped."""
    kept: list[SourceFile] = []
    inside: dict[str, list[SourceFile]] = {}
    sessions: dict[str, list[SourceFile]] = {}
    for file in files:
        place = _place(file.path)
        if place is None:
            kept.append(file)
            continue
        kind, root = place
        if kind in _INSIDE:
            inside.setdefault(root, []).append(file)
            continue
        kept.append(file)
        if kind == "session":
            sessions.setdefault(root, []).append(file)
        else:
            file.skip = file.skip or _ASIDE[kind]
    for root, found in inside.items():
        _share(root, found, sessions.get(root, []), kept)
    _STAMPS.update((file.path, (file.size, file.mtime_ns)) for group in sessions.values() for file in group)
    return sorted(kept, key=lambda file: file.path)


def _share(root: str, found: list[SourceFile], sessions: list[SourceFile], kept: list[SourceFile]) -> None:
    by_id = {_stem(file.path): file for file in sessions}
    owner: dict[str, SourceFile] = {}
    loose: list[SourceFile] = []
    for file in found:
        names = file.path[len(root) + 1 :].split(os.sep)
        if names[0] == "message" and len(names) == 3:
            session = by_id.get(names[1]) or by_id.get(f"ses_{names[1]}")
            if session is None:
                file.skip = "message of no session"
                kept.append(file)
                continue
            owner[_stem(file.path)] = session
            _grow(session, file)
        else:
            loose.append(file)
    for file in loose:
        names = file.path[len(root) + 1 :].split(os.sep)
        owned = next((owner[name] for name in names[1:-1] if name in owner), None)
        # A part whose message is named otherwise than its folder: whose it is only reading tells.
        for session in [owned] if owned is not None else sessions:
            _grow(session, file)
        if not sessions:
            file.skip = "part of no session"
            kept.append(file)


def _grow(session: SourceFile, file: SourceFile) -> None:
    session.size += file.size
    session.mtime_ns = max(session.mtime_ns, file.mtime_ns)


def storage(path: str) -> str:
    """The root of the tree that a session's file lies in, or "" where it lies in none."""
    place = _place(path)
    return place[1] if place is not None and place[0] == "session" else ""


def look(path: str) -> tuple[int, int]:
    """(size, mtime in ns) of a session's file with all that it stands for, as ``fold`` counted them. Raises OSError.

    What ``discover`` saw is told again: what was written since is then noticed by the next run.
    """
    if path not in _STAMPS:
        from ingest.raw.files import walk

        fold(walk([storage(path)], ".json", {}, {}))
    if path not in _STAMPS:
        raise FileNotFoundError(path)
    return _STAMPS[path]


def may_hold(path: str, session: str, messages: list[str]) -> bool:
    """Whether a file of a tree that is gone may have been a session's, by its place; ``messages``: those it has."""
    folder, kind = basename(dirname(path)), basename(dirname(dirname(path)))
    if kind == "message":
        return folder in (session, session.removeprefix("ses_"))
    return folder == "part" or kind == session or any(_stem(message) == folder for message in messages)


def flat(root: str) -> Iterator[str]:
    """Parts that lie in no message's folder, sorted: they name their message."""
    yield from _listed(join(root, "part"))


def messages(root: str, session: str, stem: str) -> list[str]:
    """The paths of a session's message files, sorted."""
    names = dict.fromkeys((session, stem, stem.removeprefix("ses_")))
    return next(filter(None, (_listed(join(root, "message", name)) for name in names)), [])


def parts(root: str, session: str, *names: str) -> list[str]:
    """The paths of a message's part files, sorted; ``names``: what the message may be called."""
    folders = (folder for name in dict.fromkeys(names) for folder in ((name,), (session, name)))
    return next(filter(None, (_listed(join(root, "part", *folder)) for folder in folders)), [])


def _listed(folder: str) -> list[str]:
    from ingest.raw.rawfiles import listed

    return [path for path in listed(folder) if path.endswith(".json")]


def _place(path: str) -> tuple[str, str] | None:
    """(kind, root of the tree) of a file in a tree of JSON files; None where it lies in none."""
    if not path.endswith(".json"):
        return None
    folder = dirname(path)
    for _ in range(3):
        above, name = dirname(folder), basename(folder)
        if name in _ASIDE and _is_storage(above):
            return name, above
        if name == "info" and basename(above) == "session":
            return "session", above
        if name in _INSIDE and (_is_storage(above) or basename(above) == "session"):
            return name, above
        if name == "session" and folder != dirname(path):
            return "session", above
        folder = above
    if basename(dirname(path)) == "part" and _is_storage(dirname(dirname(path))):
        return "part", dirname(dirname(path))
    return None


def _is_storage(folder: str) -> bool:
    return os.path.isdir(join(folder, "session")) or basename(folder) == "storage"


def _stem(path: str) -> str:
    return basename(path).removesuffix(".json")
