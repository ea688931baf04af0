"""The files of a collection, by qmd's rules: no dot segments, no symlinks followed, build folders left out."""

from __future__ import annotations

import errno
import os
from os.path import join

from core.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol

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


class Entry:
    """One file: ``relative`` to the collection with ``/``, ``path`` absolute, ``status`` its stat."""

    __slots__ = ("path", "relative", "status")

    def __init__(self, relative: str, path: str, status: os.stat_result) -> None:
        self.relative = relative
        self.path = path
        self.status = status


def walk(folder: Folder, failed: Callable[[str, OSError], None] | None = None) -> Iterator[Entry]:
    """Yield the matching regular files below ``folder.path``, in a fixed order; ``failed`` gets what cannot be read.

    Files that vanish while walking are left out. Raises OSError if the folder itself cannot be listed.
    """
    wanted = matcher(folder.pattern)
    ignored = matcher(",".join(folder.ignore)) if folder.ignore else None
    pending = [("", folder.path)]
    first = True
    while pending:
        prefix, path = pending.pop()
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if first:
                raise
            if failed and not isinstance(error, FileNotFoundError):
                failed(path, error)
            continue
        first = False
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
