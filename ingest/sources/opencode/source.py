"""OpenCode: ``~/.local/share/opencode/``: ``opencode.db``; before it a tree of JSON files; exported sessions.

A tree holds ``storage/session/<project>/<id>.json``, ``message/<id>/<message>.json`` and
``part/<message>/<part>.json``; before that ``session/info/<id>.json``, ``session/message/<id>/…`` and
``session/part/<id>/<message>/…``. A session's own file counts with the size of all its files and their latest mtime.

Formats: ``ingest.sources.opencode.parser``.
"""

from __future__ import annotations

import os
from os.path import basename, dirname, join

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile

_INSIDE = ("message", "part")
_ASIDE = {
    "project": "project's description",
    "session_diff": "changes to files",
    "session_share": "shared link",
    "todo": "list of tasks",
    "permission": "permissions",
    "share": "shared link",
}


class OpenCode(Source):
    """Databases, exported sessions, and sessions in trees of JSON files. Tools made from OpenCode are subclasses."""

    name = "opencode"
    prefix = "opencode__"
    suffixes: tuple[str, ...] = (".db", ".json", ".jsonl")
    roots = ROOTS["opencode"]
    resume = RESUME["opencode"]

    def __init__(self) -> None:
        # Session's file → (size, mtime in ns) of all its files, as discovered last.
        self._stats: dict[str, tuple[int, int]] = {}

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        return self._fold(super().discover(roots))

    def may_hold_any(self, path: str) -> bool:
        """Return True for an exported session: a person chooses the name of the file."""
        return path.endswith((".json", ".jsonl")) and not _tree_of(path)

    def companions(self, path: str, raw: RawStore) -> list[str]:
        """Return the messages and parts of a session in a tree of JSON files."""
        root = _tree_of(path)
        if not root:
            return []
        from ingest.sources.opencode.parser import tree_files

        return tree_files(path, raw, root)

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.raw.store import DATABASES
        from ingest.sources.opencode.parser import read, read_tree, stream

        if path.endswith(DATABASES):
            yield from stream(path, raw, self.name)
        elif root := _tree_of(path):
            yield read_tree(path, raw, root, self._stat, self.name)
        else:
            yield read(path, raw, self.name)

    def _stat(self, path: str) -> tuple[int, int]:
        """Return (size, mtime in ns) of all files of a session in a tree, as ``discover`` saw them last.

        The next run then notices everything that was written since. Raises OSError.
        """
        if path not in self._stats:
            from ingest.raw.store import walk

            self._fold(walk([_tree_of(path)], ".json", {}, {}))
        if path not in self._stats:
            raise FileNotFoundError(path)
        return self._stats[path]

    def _fold(self, files: list[SourceFile]) -> list[SourceFile]:
        """Return ``files`` with each session's messages and parts added to its own file; those of none are skipped."""
        kept: list[SourceFile] = []
        inside: dict[str, list[SourceFile]] = {}
        sessions: dict[str, list[SourceFile]] = {}
        for file in files:
            kind, root = _place(file.path)
            if kind in _INSIDE:
                inside.setdefault(root, []).append(file)
                continue
            kept.append(file)
            if kind == "session":
                sessions.setdefault(root, []).append(file)
            elif kind:
                file.skip = file.skip or _ASIDE[kind]
        for root, found in inside.items():
            kept += _add_to_sessions(root, found, sessions.get(root, []))
        self._stats.update((file.path, (file.size, file.mtime_ns)) for group in sessions.values() for file in group)
        return sorted(kept, key=lambda file: file.path)


def _tree_of(path: str) -> str:
    """Return the root of the tree in which a session's file lies, "" for any other file."""
    kind, root = _place(path)
    return root if kind == "session" else ""


def _add_to_sessions(root: str, found: list[SourceFile], sessions: list[SourceFile]) -> list[SourceFile]:
    """Add the messages and parts of one tree to their sessions; return those of no session, with the reason."""
    by_id = {_stem(file.path): file for file in sessions}
    owner: dict[str, SourceFile] = {}
    orphans: list[SourceFile] = []
    parts: list[tuple[SourceFile, list[str]]] = []
    for file in found:
        names = file.path[len(root) + 1 :].split(os.sep)
        if names[0] != "message" or len(names) != 3:
            parts.append((file, names))
            continue
        session = by_id.get(names[1]) or by_id.get(f"ses_{names[1]}")
        if session is None:
            file.skip = "message of no session"
            orphans.append(file)
        else:
            owner[_stem(file.path)] = session
            _add(session, file)
    for file, names in parts:
        owned = next((owner[name] for name in names[1:-1] if name in owner), None)
        # A message may be called otherwise than the folder of its parts: only reading shows the part's session.
        for session in [owned] if owned is not None else sessions:
            _add(session, file)
        if not sessions:
            file.skip = "part of no session"
            orphans.append(file)
    return orphans


def _add(session: SourceFile, file: SourceFile) -> None:
    session.size += file.size
    session.mtime_ns = max(session.mtime_ns, file.mtime_ns)


def _place(path: str) -> tuple[str, str]:
    """Return (kind, root of the tree) of a file in a tree of JSON files, ("", "") of any other."""
    if not path.endswith(".json"):
        return "", ""
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
    return "", ""


def _is_storage(folder: str) -> bool:
    return os.path.isdir(join(folder, "session")) or basename(folder) == "storage"


def _stem(path: str) -> str:
    return basename(path).removesuffix(".json")


SOURCE = OpenCode()
