"""Update of the lexical index from the files of its collections, which are found by qmd's rules.

Files: no dot segments, no symlinks followed, build folders left out.

A file is read again if its size, mtime or inode changed. It is also read again if its mtime is so close to the last
reading that the same stat could hide a change (the racy-clean rule of git's index).
"""

from __future__ import annotations

import errno
import os
import time
from itertools import count
from os.path import join

import apsw

from core.errors import BadInput
from core.jsonio import dumps
from qmd.index import completeness
from qmd.index.schema import has_vectors, is_clean
from qmd.index.store import COUNT, Transaction, give_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol

    Progress = Callable[[int, int, str], None]

    class Folder(Protocol):
        """A collection to walk: name, absolute path, glob mask and further ignores."""

        @property
        def name(self) -> str: ...
        @property
        def path(self) -> str: ...
        @property
        def pattern(self) -> str: ...
        @property
        def ignore(self) -> Sequence[str]: ...


SKIPPED_FOLDERS = frozenset({"node_modules", ".git", ".cache", "vendor", "dist", "build"})
# Files from which on an update is large.
_MANY = 1000
# No file was read as late as this, in ns since 1970.
_NEVER = 1 << 63

_COUNTED = "SELECT value FROM brain_state WHERE key = 'documents'"


class Changes:
    """Changes of one collection by an update. ``failed``: (path, reason); ``missing``: there is no such folder."""

    added = updated = unchanged = removed = absent = 0
    missing = False

    def __init__(self) -> None:
        self.failed: list[tuple[str, str]] = []

    def count(self, outcome: str) -> None:
        """Count one document by what became of it: see ``qmd.index.writer.Writer.put``."""
        setattr(self, outcome, getattr(self, outcome) + 1)

    def precede(self, outcome: str) -> None:
        """Count a document that was indexed before the update, which found it as it was then: unchanged."""
        self.count(outcome)
        self.unchanged = max(0, self.unchanged - 1)

    def as_dict(self) -> dict[str, Any]:
        """Return the changes for JSON; at most 20 failures are listed, all are counted."""
        counts = {name: getattr(self, name) for name in ("added", "updated", "unchanged", "removed", "missing")}
        failures = [{"path": path, "reason": reason} for path, reason in self.failed[:20]]
        return {**counts, "failed": len(self.failed), "failures": failures}


def update(
    connection: apsw.Connection,
    collections: Iterable[Folder],
    *,
    trust_stat: bool = True,
    since_ns: int | None = None,
    keep: bool = False,
    redacts: bool = True,
    progress: Progress | None = None,
) -> dict[str, Changes]:
    """Walk each collection and index what changed; ``trust_stat=False`` reads and hashes every file.

    Args:
        since_ns: the stat of what was indexed since then (ns since 1970) is trusted in any case.
        keep: leave the row and the text of a file that is gone to a later cleanup, inactive, as qmd does.
        redacts: documents are shown under the redaction policy, so each is looked at under it.

    A collection with a missing folder keeps its documents. Raises what ``qmd.index.store.translate`` explains.
    """
    started = int(time.time())
    trusted_ns = 0 if trust_stat else _NEVER if since_ns is None else since_ns
    found: dict[str, Changes] = {}
    for folder in collections:
        found[folder.name] = changes = Changes()
        pending, vanished = _compare(connection, folder, trusted_ns, changes)
        if pending or vanished:
            _apply(connection, folder.name, pending, vanished, changes, keep, redacts, progress)
    changed = any(each.added or each.updated or each.removed for each in found.values())
    if completeness.is_foreign(connection):
        from qmd.index.writer import heal

        heal(connection)
        changed = True
    with Transaction(connection):
        rows = [(f"updated:{name}", started) for name, each in found.items() if not each.missing]
        connection.executemany("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", rows)
        # Readers have no time to count.
        before = connection.execute(_COUNTED).get
        connection.execute(COUNT)
        if has_vectors(connection) and (changed or connection.execute(_COUNTED).get != before):
            from qmd.index.semantic import vectors

            vectors.settle(connection)
    if changed:
        give_back(connection)
    return found


def as_dicts(changes: dict[str, Changes]) -> dict[str, dict[str, Any]]:
    """Return the changes of each collection as JSON-like values."""
    return {name: each.as_dict() for name, each in changes.items()}


def register(connection: apsw.Connection, collections: Iterable[Any]) -> None:
    """Write the collections into ``store_collections``, where qmd looks for them.

    A collection that is no longer among them goes, and its documents leave the index.
    """
    wanted = {folder.name: _row(folder) for folder in collections}
    stored = {row[0]: row for row in connection.execute("SELECT * FROM store_collections")}
    if stored == wanted:
        return
    for name in stored:
        if name not in wanted:
            from qmd.index.writer import drop_collection

            drop_collection(connection, str(name))
    with Transaction(connection):
        connection.execute("DELETE FROM store_collections")
        connection.executemany("INSERT INTO store_collections VALUES(?, ?, ?, ?, ?, ?, ?)", list(wanted.values()))


def _row(folder: Any) -> tuple[Any, ...]:
    ignore = dumps(list(folder.ignore)) if folder.ignore else None
    default, context = int(folder.include_by_default), dumps(folder.context) if folder.context else None
    return folder.name, folder.path, folder.pattern, ignore, default, folder.update or None, context


def _compare(
    connection: apsw.Connection, folder: Folder, trusted_ns: int, changes: Changes
) -> tuple[list[Entry], list[str]]:
    """Return the files that have to be read, and the paths that are gone; count the others.

    ``trusted_ns``: the stat of what was indexed since then is trusted.
    """
    # (active, size, mtime_ns, inode, checked_ns) by path, as it was before the walk. Writing looks each path up again,
    # since a note may be indexed in between.
    known = {path: stat for _, path, *stat in completeness.files(connection, folder.name)}
    try:
        entries = list(walk(folder, lambda path, error: changes.failed.append((path, error.strerror or str(error)))))
    except OSError:
        changes.missing = True
        return [], []
    pending: list[Entry] = []
    for entry in entries:
        active, size, *when = known.pop(entry.relative, (False, None))
        if active and size is not None and when[-1] >= trusted_ns and is_clean(entry.status, size, *when):
            changes.unchanged += 1
        else:
            pending.append(entry)
    # A folder that could not be listed says nothing about the files in it.
    unlisted = tuple(os.path.relpath(path, folder.path) for path, _ in changes.failed)
    below = tuple(f"{path}/" for path in unlisted)
    return pending, [path for path, row in known.items() if row[0] and not (path in unlisted or path.startswith(below))]


def _apply(
    connection: apsw.Connection,
    collection: str,
    pending: list[Entry],
    vanished: list[str],
    changes: Changes,
    keep: bool,
    redacts: bool,
    progress: Progress | None,
) -> None:
    # Imported here: most runs find nothing to do, and pay for no hash, YAML or regular expression.
    from core.redaction import policy_of
    from qmd.index.writer import Writer, unknown

    if len(pending) > _MANY:
        from qmd.index import large_pages

        large_pages.ask()
    look = policy_of if redacts else unknown
    with Writer(connection) as writer:
        for done, entry in enumerate(pending, 1):
            checked = time.time_ns()
            try:
                data, status = _read_stable(entry)
            except FileNotFoundError:
                pass
            except OSError as error:
                changes.failed.append((entry.path, error.strerror or str(error)))
            else:
                relative = entry.relative
                outcome = writer.put(collection, relative, data, status, look=look, checked_ns=checked, keep=keep)
                changes.count(outcome)
            if progress:
                progress(done, len(pending), collection)
        for relative in vanished:
            changes.removed += writer.drop(collection, relative, keep=keep)


def _read_stable(entry: Entry) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a file and their stat; a file that changes while it is read is read again."""
    for attempt in count():
        # O_NOFOLLOW and O_NONBLOCK: what was a regular file a moment ago may be a symlink or a fifo now.
        descriptor = os.open(entry.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            before = os.fstat(descriptor)
            data = _read(descriptor, before.st_size)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(data) == after.st_size
        if same or attempt == 3:
            return data, after
    raise AssertionError("unreachable")


def _read(descriptor: int, size: int) -> bytes:
    """Return all bytes of a file that had ``size`` of them a moment ago."""
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    parts = [data]
    while data:
        data = os.read(descriptor, 1 << 20)
        parts.append(data)
    return b"".join(parts)


class Entry:
    """One file: ``relative`` to the collection with ``/``, ``path`` absolute, ``status`` its stat."""

    __slots__ = ("path", "relative", "status")

    def __init__(self, relative: str, path: str, status: os.stat_result) -> None:
        self.relative, self.path, self.status = relative, path, status


def walk(folder: Folder, failed: Callable[[str, OSError], None] | None = None) -> Iterator[Entry]:
    """Yield the matching regular files below ``folder.path``, in a fixed order; ``failed`` gets what cannot be read.

    Files that vanish while walking are left out. Raises OSError if the folder itself cannot be listed.
    """
    wanted = matcher(folder.pattern)
    ignored = matcher(",".join(folder.ignore)) if folder.ignore else None
    pending = [("", folder.path)]
    while pending:
        prefix, path = pending.pop()
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if not prefix:
                raise
            if failed and not isinstance(error, FileNotFoundError):
                failed(path, error)
            continue
        folders = []
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            relative = prefix + name
            if not name.isascii() and not _is_text(name):
                if failed:
                    shown = entry.path.encode("utf-8", "backslashreplace").decode()
                    failed(shown, OSError(errno.EILSEQ, "the file name is not valid UTF-8"))
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if name not in SKIPPED_FOLDERS and not (ignored and ignored(relative + "/")):
                        folders.append((relative + "/", join(path, name)))
                elif wanted(relative) and not (ignored and ignored(relative)) and entry.is_file(follow_symlinks=False):
                    yield Entry(relative, join(path, name), entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue
            except OSError as error:
                if failed:
                    failed(entry.path, error)
        pending.extend(reversed(folders))


def _is_text(name: str) -> bool:
    """Return True if the index can hold a name; a name with other bytes than UTF-8 has lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def split_mask(mask: str) -> list[str]:
    """Return the globs of a mask, split at commas outside ``{}`` and ``[]``; a mask of commas alone is one glob."""
    parts: list[str] = []
    depth = start = 0
    for index, character in enumerate(mask):
        if character in "{[":
            depth += 1
        elif character in "}]":
            depth = max(0, depth - 1)
        elif character == "," and not depth:
            parts.append(mask[start:index])
            start = index + 1
    parts.append(mask[start:])
    return [part for raw in parts if (part := raw.strip())] or [mask]


def matcher(mask: str) -> Callable[[str], bool]:
    """Return a function that tests a relative path (a folder's ends with ``/``) against the globs of ``mask``.

    A glob that begins with ``!`` excludes what the others match. Raises BadInput if a glob cannot be read.
    ``**/*.ext``, which nearly every collection uses, is a suffix test; the rest are regular expressions.
    """
    if _is_suffix(mask):
        suffix = mask[4:]
        return lambda relative: relative.endswith(suffix)
    globs = [glob.removeprefix("./") for glob in split_mask(mask)]
    wanted = [glob for glob in globs if not _is_negative(glob)]
    suffixes = tuple(glob[4:] for glob in wanted if _is_suffix(glob))
    if len(suffixes) == len(globs):
        return lambda relative: relative.endswith(suffixes)
    others = _compile(mask, [glob for glob in wanted if not _is_suffix(glob)])
    unwanted = _compile(mask, [glob[1:].removeprefix("./") for glob in globs if _is_negative(glob)])
    return lambda relative: (relative.endswith(suffixes) or others(relative)) and not unwanted(relative)


def _is_suffix(glob: str) -> bool:
    return glob.startswith("**/*.") and not any(character in "*?[]{}()!/, \\" for character in glob[4:])


def _is_negative(glob: str) -> bool:
    return glob.startswith("!") and not glob.startswith("!(")


def _compile(mask: str, globs: list[str]) -> Callable[[str], bool]:
    import re

    try:
        # A folder is ignored as a whole where the glob covers it (`drafts`) or all below it (`drafts/**`).
        compiled = [re.compile(f"(?s:{_regex(glob)[0]})/?\\Z") for glob in globs]
    except (re.error, RecursionError, IndexError) as error:  # IndexError: a bracket closed inside another kind
        raise BadInput(f"{mask!r} is no glob: {error}", "edit collections.yml: pattern, ignore") from None
    return lambda relative: any(pattern.match(relative) for pattern in compiled)


def _regex(glob: str, at: int = 0, closers: str = "") -> tuple[str, int]:
    """Return a regular expression for ``glob`` from ``at`` to one of ``closers``, and the position of that.

    The language is that of picomatch 4 without number ranges and POSIX classes: ``*`` ``**`` ``?`` ``[…]`` ``{a,b}``
    ``@(a|b)`` ``?(…)`` ``*(…)`` ``+(…)`` ``!(…)`` and the backslash.
    """
    from re import escape

    out = ""
    while at < len(glob) and glob[at] not in closers:
        character = glob[at]
        begins = at == 0 or glob[at - 1] in "/{,(|"
        if character == "\\" and at + 1 < len(glob):
            out += escape(glob[at + 1])
            at += 2
        elif character in "?*+@!" and glob.startswith("(", at + 1) and (end := _closing(glob, at + 1)) > 0:
            parts = _alternatives(glob, at + 2, "|)")
            at = end + 1
            if character == "!":
                rest, at = _regex(glob, at, closers)
                return f"{out}(?!{parts}{rest}/?\\Z)[^/]*{rest}", at
            out += parts + ("" if character == "@" else character)
        elif character == "{" and (end := _closing(glob, at)) > 0 and "," in glob[at:end]:
            out += _alternatives(glob, at + 1, ",}")
            at = end + 1
        elif character == "[" and (end := glob.find("]", at + 2 + (glob[at + 1 : at + 2] in "!^"))) > 0:
            negated = glob[at + 1] in "!^"
            out += f"(?!/)[{'^' if negated else ''}{_members(glob[at + 1 + negated : end])}]"
            at = end + 1
        elif character == "/" and glob.startswith("**", at + 1) and _ends(glob, at + 3, closers):
            out += "(?:/.*)?"
            at += 3
        elif begins and glob.startswith("**", at) and _ends(glob, at + 2, closers):
            out += ".*"
            at += 2
        elif begins and glob.startswith("**/", at):
            out += "(?:[^/]+/)*"
            at += 3
        elif character == "*":
            whole = begins and (_ends(glob, at + 1, closers) or glob[at + 1] == "/")
            at += 1
            while glob.startswith("*", at) and not glob.startswith("(", at + 1):
                at += 1
            out += "[^/]+" if whole else "[^/]*"
        else:
            out += "[^/]" if character == "?" else escape(character)
            at += 1
    return out, at


def _members(listed: str) -> str:
    """Return the inside of the brackets of ``[a-c_]`` as a regular expression; a dash that joins no two signs is
    literal.
    """
    from re import escape

    return "".join(
        each
        if each == "-" and 0 < at < len(listed) - 1 and "-" not in (listed[at - 1], listed[at + 1])
        else escape(each)
        for at, each in enumerate(listed)
    )


def _alternatives(glob: str, at: int, separator_and_closer: str) -> str:
    parts: list[str] = []
    while True:
        part, at = _regex(glob, at, separator_and_closer)
        parts.append(part)
        if glob[at] == separator_and_closer[1]:
            return f"(?:{'|'.join(parts)})"
        at += 1


def _closing(glob: str, at: int) -> int:
    """Return the position of the bracket that closes the one at ``at``, -1 if there is none."""
    opener, closer = glob[at], {"(": ")", "{": "}"}[glob[at]]
    depth = 0
    while at < len(glob):
        if glob[at] == "\\":
            at += 1
        elif glob[at] == opener:
            depth += 1
        elif glob[at] == closer:
            depth -= 1
            if not depth:
                return at
        at += 1
    return -1


def _ends(glob: str, at: int, closers: str) -> bool:
    return at >= len(glob) or glob[at] in closers
