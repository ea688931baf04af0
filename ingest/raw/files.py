"""Raw files on disk: found by walking, compared with what is known of them. Imported by every run: keep it light."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ingest.pipeline.state import FileRow

# How the names of databases end.
DATABASES = (".vscdb", ".sqlite", ".db")


class SourceFile:
    """A file as ``discover`` saw it; ``skip`` is the reason why it is not to be read, or ""."""

    __slots__ = ("inode", "mtime_ns", "path", "size", "skip")

    def __init__(self, path: str, size: int, mtime_ns: int, inode: int, skip: str) -> None:
        self.path = path
        self.size = size
        self.mtime_ns = mtime_ns
        self.inode = inode
        self.skip = skip


def walk(
    roots: Iterable[str],
    suffix: str | tuple[str, ...] | Callable[[str], bool],
    skipped_files: Mapping[str, str],
    skipped_folders: Mapping[str, str],
) -> list[SourceFile]:
    """Return every file below ``roots`` with a name that ends in ``suffix``, or passes it, sorted by path, each once.

    A root may be a file or a symbolic link; links to folders further down are not followed, so there are no loops.
    A file that is not regular, or that ``skipped_…`` names by its folder or name, is listed with the reason.
    """
    wanted = suffix if callable(suffix) else lambda name: name.endswith(suffix)
    found: dict[str, SourceFile] = {}
    for root in roots:
        root = os.path.abspath(root)
        folders = [(root, "")]
        if not os.path.isdir(root):
            folders = []
            _one(root, found)
        while folders:
            folder, reason = folders.pop()
            try:
                entries = list(os.scandir(folder))
            except OSError as error:
                found[folder] = SourceFile(folder, 0, 0, 0, f"unreadable folder: {error.strerror}")
                continue
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append((entry.path, reason or skipped_folders.get(entry.name, "")))
                        continue
                    if not wanted(entry.name):
                        continue
                    status = entry.stat()
                except OSError as error:
                    if wanted(entry.name):
                        found[entry.path] = SourceFile(entry.path, 0, 0, 0, f"unreadable: {error.strerror}")
                    continue
                if stat.S_ISDIR(status.st_mode):
                    continue
                why = reason or skipped_files.get(entry.name, "")
                if not stat.S_ISREG(status.st_mode):
                    why = "not a regular file"
                found[entry.path] = SourceFile(entry.path, status.st_size, status.st_mtime_ns, status.st_ino, why)
    return [found[path] for path in sorted(found)]


def changed(file: SourceFile, known: FileRow | None, *, trust_stat: bool) -> bool:
    """Return True if the file must be read again.

    Append-only is the rule and not a law: without ``trust_stat`` the recorded prefix is hashed again, so that a file
    rewritten in place under the same stat is noticed. Unreadable ones are always tried again.
    """
    if known is None or known.size != file.size or known.status in ("vanished", "unreadable"):
        return True
    if trust_stat:
        return known.mtime_ns != file.mtime_ns or known.inode != file.inode
    if not file.size:
        return False
    if known.consumed != file.size and (known.mtime_ns != file.mtime_ns or known.inode != file.inode):
        return True  # the line that was still being written may have been finished
    from ingest.raw.records import prefix_digest

    try:
        return prefix_digest(file.path, known.consumed) != known.digest
    except OSError:
        return True


def pending(files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool) -> list[SourceFile]:
    """Return those of ``files`` that are new, or changed since ``known`` was recorded: the default of
    ``Source.pending``."""
    return [file for file in files if not file.skip and changed(file, known.get(file.path), trust_stat=trust_stat)]


def _one(path: str, found: dict[str, SourceFile]) -> None:
    try:
        status = os.stat(path)
    except OSError as error:
        found[path] = SourceFile(path, 0, 0, 0, f"unreadable: {error.strerror}")
        return
    why = "" if stat.S_ISREG(status.st_mode) else "not a regular file"
    found[path] = SourceFile(path, status.st_size, status.st_mtime_ns, status.st_ino, why)
