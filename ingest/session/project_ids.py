"""Ids that tools record instead of a project's folder, and the folders that have such an id.

A slug (``slug:``, Cursor) is the folder's path with a dash for each run of characters that are neither letters nor
digits. A digest (``sha256:``, Gemini CLI) is the SHA-256 of the path. Neither can be reversed: slugs are looked for
among the folders of this machine, digests among the folders that rules name and a few levels below. A conversation may
also mention its folder.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter, deque
from fnmatch import fnmatchcase
from os.path import isabs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ingest.policy.exclusions import Globs

SLUG, DIGEST = "slug:", "sha256:"
_HEX = re.compile("[0-9a-f]{64}")
_APART = re.compile("[^A-Za-z0-9]+")
_APART_IN_GLOB = re.compile(r"[^A-Za-z0-9*?\[\]]+")
# Folders below one that a rule names: so many levels, and so many in all.
_LEVELS, _MOST = 3, 5_000
_REST = r"[^\s\"'`<>|*?;:,()\[\]{}]{2,400}"
_PATHS, _WINDOWS_PATHS = re.compile(f"/{_REST}"), re.compile(rf"(?:/|\b[A-Za-z]:\\){_REST}")
# Punctuation and markup that may follow a path; the name of a folder may end in them all the same.
_AFTER_PATH = "/\\.!_~#&=%^$@…’”»–—-。！，、；："


def slug_of(place: str) -> str:
    """Return the slug of a folder, in lower case."""
    return _APART.sub("-", place).strip("-").lower()


def of_slug(slug: str) -> str:
    """Return the id of a slug, "" for an empty one."""
    found = slug_of(slug)
    return f"{SLUG}{found}" if found else ""


def of_digest(*digests: str) -> str:
    """Return the id of the first SHA-256 in hexadecimal digits, "" if there is none."""
    return next((f"{DIGEST}{each}" for each in digests if _HEX.fullmatch(each)), "")


def of_folders(path: str, digest: str = "") -> str:
    """Return the id that the nearest folder above ``path`` has as a name, else that of ``digest``, else ""."""
    return of_digest(*reversed(os.path.dirname(path).split("/")), digest)


def digest_of(place: str) -> str:
    """Return the digest of a folder."""
    return hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()


class Signs:
    """The folders of ids, and the rules that cover them; each id is looked for once."""

    __slots__ = ("_digests", "_globs", "_places")

    def __init__(self, globs: Globs) -> None:
        self._globs = globs
        self._digests: dict[str, frozenset[str]] = {}
        self._places: dict[str, tuple[str, ...]] = {}

    def covering(self, sign: str) -> tuple[str, ...]:
        """Return the rules that cover an id's folder; if the folder is unknown, those that may cover it."""
        if not sign:
            return ()
        globs = self._globs
        if sign.startswith(DIGEST):
            return tuple(glob for glob in globs.given if sign in self._below(glob))
        there = self.places(sign)
        if there:
            covered = {glob for place in there for glob in globs.covering(place)}
            return tuple(glob for glob in globs.given if glob in covered)
        return tuple(glob for glob in globs.given if _may_be(glob, globs.places(glob), sign.removeprefix(SLUG)))

    def places(self, sign: str) -> tuple[str, ...]:
        """Return the folders of this machine that have a slug."""
        if not sign.startswith(SLUG):
            return ()
        if sign not in self._places:
            self._places[sign] = tuple(_folders_of("/", sign.removeprefix(SLUG)))
        return self._places[sign]

    def _below(self, glob: str) -> frozenset[str]:
        if glob not in self._digests:
            self._digests[glob] = _digests_below(self._globs.places(glob))
        return self._digests[glob]


def _folders_of(folder: str, slug: str) -> Iterator[str]:
    """Yield the folders below ``folder`` that have a slug, relative to it."""
    try:
        with os.scandir(folder) as found:
            names = sorted((entry.name, entry.path) for entry in found if entry.is_dir())
    except (OSError, ValueError):
        return
    for name, path in names:
        own = slug_of(name)
        if own and own == slug:
            yield path
        elif own and slug.startswith(f"{own}-"):
            yield from _folders_of(path, slug[len(own) + 1 :])


def _may_be(glob: str, named: tuple[str, ...], slug: str) -> bool:
    """Return True if a rule may cover a folder of a slug: a dash may replace any character, a slash as well."""
    forms = {slug_of(place) for place in named}
    if any(form and (slug == form or slug.startswith(f"{form}-")) for form in forms):
        return True
    if isabs(glob) and named:
        return False
    form = _APART_IN_GLOB.sub("-", glob).strip("-").lower()
    form = f"-{form}" if isabs(glob) or form.startswith("*") else f"*-{form}"
    return fnmatchcase(f"-{slug}", form) or fnmatchcase(f"-{slug}", f"{form}-*")


def _digests_below(named: tuple[str, ...]) -> frozenset[str]:
    """Return the ids of folders and of existing folders below them."""
    found = {f"{DIGEST}{digest_of(place)}" for place in named}
    ahead = deque((place, 0) for place in named)
    while ahead and len(found) < _MOST:
        folder, level = ahead.popleft()
        try:
            with os.scandir(folder) as entries:
                below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        except (OSError, ValueError):
            continue
        found.update(f"{DIGEST}{digest_of(place)}" for place in below)
        if level + 1 < _LEVELS:
            ahead.extend((place, level + 1) for place in sorted(below) if not place.rpartition("/")[2].startswith("."))
    return frozenset(found)


def mentioned_folder(texts: Iterable[str], is_it: Callable[[str], bool]) -> str:
    """Return the absolute path in ``texts``, or folder above one, for which ``is_it`` is true; or "".

    The most frequent of several spellings counts. At most 5,000 folders are looked at.
    """
    found = Counter(_mentions(texts, is_it)).most_common(1)
    return found[0][0] if found else ""


def _mentions(texts: Iterable[str], is_it: Callable[[str], bool]) -> Iterator[str]:
    """Yield each mention: the path without punctuation after it, the path, or the topmost folder above it."""
    known: dict[str, str] = {}
    for text in texts:
        for match in (_WINDOWS_PATHS if ":\\" in text else _PATHS).finditer(text):
            path = match[0].rstrip("/\\.")
            if path and path not in known:
                cut = "/" if path.startswith("/") else "\\"
                above, chain = path.rpartition(cut)[0], [path]
                if path[-1] in _AFTER_PATH:
                    chain.append(path.rstrip(_AFTER_PATH))
                while len(above) > 1 and above not in known:
                    chain.append(above)
                    above = above.rpartition(cut)[0]
                found = known.get(above, "")
                for place in reversed(chain):
                    if place not in known:
                        if len(known) >= _MOST:
                            return
                        known[place] = found or (place if len(place) > 1 and is_it(place) else "")
                    found = known[place]
            if known.get(path):
                yield known[path]
