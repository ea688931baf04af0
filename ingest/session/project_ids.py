"""Folders that a tool names by a sign alone, and which rules cover what they stand for.

Cursor calls the place of an agent's transcripts as the folder, with dashes for all that is neither letter nor digit
(``slug:``); Gemini CLI called its own by the SHA-256 of the path (``sha256:``). Neither can be turned back: a slug is
looked for among the folders of this machine, a digest among those that rules name and a few levels below these.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import deque
from fnmatch import fnmatchcase
from os.path import isabs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.policy.globs import Globs

SLUG, DIGEST = "slug:", "sha256:"
_HEX = re.compile("[0-9a-f]{64}")
_APART = re.compile("[^A-Za-z0-9]+")
_APART_IN_GLOB = re.compile(r"[^A-Za-z0-9*?\[\]]+")
# Folders below one that a rule names: so many levels, and so many in all.
_LEVELS, _MOST = 3, 5_000


def slug_of(place: str) -> str:
    """What Cursor calls a folder, in lower case."""
    return _APART.sub("-", place).strip("-").lower()


def of_slug(slug: str) -> str:
    """The sign of a slug, "" where it says nothing."""
    found = slug_of(slug)
    return f"{SLUG}{found}" if found else ""


def of_digest(*digests: str) -> str:
    """The sign of the first that is a SHA-256 in hexadecimal digits, "" where none is."""
    return next((f"{DIGEST}{each}" for each in digests if _HEX.fullmatch(each)), "")


def of_folders(path: str, digest: str = "") -> str:
    """Return the id that the nearest folder above ``path`` has as a name, else that of ``digest``, else ""."""
    return of_digest(*reversed(os.path.dirname(path).split("/")), digest)


def digest_of(place: str) -> str:
    """What Gemini CLI called a folder."""
    return hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()


class Signs:
    """What is told of signs by one set of rules, each looked for once."""

    __slots__ = ("_digests", "_globs", "_places")

    def __init__(self, globs: Globs) -> None:
        self._globs = globs
        self._digests: dict[str, frozenset[str]] = {}
        self._places: dict[str, tuple[str, ...]] = {}

    def covering(self, sign: str) -> tuple[str, ...]:
        """The rules that cover what a sign stands for; where that cannot be told, those that may."""
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
        """The folders of this machine that a slug may stand for."""
        if not sign.startswith(SLUG):
            return ()
        if sign not in self._places:
            self._places[sign] = tuple(_called("/", sign.removeprefix(SLUG)))
        return self._places[sign]

    def _below(self, glob: str) -> frozenset[str]:
        if glob not in self._digests:
            self._digests[glob] = _digests_below(self._globs.places(glob))
        return self._digests[glob]


def _called(folder: str, slug: str) -> Iterator[str]:
    """The folders below one whose path from there gives a slug."""
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
            yield from _called(path, slug[len(own) + 1 :])


def _may_be(glob: str, named: tuple[str, ...], slug: str) -> bool:
    """Whether a slug may be of a folder that a rule covers: a dash may stand for any sign, a slash among them."""
    forms = {slug_of(place) for place in named}
    if any(form and (slug == form or slug.startswith(f"{form}-")) for form in forms):
        return True
    if isabs(glob) and named:
        return False
    form = _APART_IN_GLOB.sub("-", glob).strip("-").lower()
    form = f"-{form}" if isabs(glob) or form.startswith("*") else f"*-{form}"
    return fnmatchcase(f"-{slug}", form) or fnmatchcase(f"-{slug}", f"{form}-*")


def _digests_below(named: tuple[str, ...]) -> frozenset[str]:
    """The signs of folders, and of those below that are there."""
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
