"""The folder that a session of Gemini CLI's worked in: sessions name it by its SHA-256 alone.

It stands beside the sessions, in the context that the harness gives the model (packages/core/src/utils/
environmentContext.ts: ``getDirectoryContextString``), or it is one of the folders that are spoken of: the digest tells.
"""

from __future__ import annotations

import json
from os.path import basename, dirname, join
from typing import TYPE_CHECKING

from ingest.raw import rawfiles
from ingest.session import places
from ingest.session.project_ids import digest_of, of_digest
from ingest.session.values import mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What the context says of folders, until 2025 and since; the first that it lists is the session's.
_ONE, _FOLDERS = "I'm currently working in the directory: ", "- **Workspace Directories:**\n"
_SEVERAL = "I'm currently working in the following directories:\n"
_STRUCTURE = ("- **Directory Structure:**", "Here is the folder structure of the current working directories:")


def beside(path: str, digest: str, later: list[Callable[[], None]]) -> str:
    """The project's folder, from what lies beside the sessions: its marker, or the registry of names; or "".

    ``later`` takes what has the archive keep that.
    """
    chats = dirname(path)
    while chats and basename(chats) != "chats" and dirname(chats) != chats:
        chats = dirname(chats)
    folder = dirname(chats)
    if basename(chats) != "chats":
        return ""
    try:
        return rawfiles.load(join(folder, ".project_root"), 65536, later=later).decode("utf-8", "replace").strip()
    except OSError:
        known = _registry(join(dirname(dirname(folder)), "projects.json"), later)
    for place, slug in known.items():
        if slug == basename(folder) or digest_of(place) == digest:
            return place
    return ""


def _registry(path: str, later: list[Callable[[], None]]) -> dict[str, str]:
    try:
        found = mapping(mapping(json.loads(rawfiles.load(path, 16 * 1024 * 1024, later=later))).get("projects"))
    except (OSError, ValueError, RecursionError):
        return {}
    return {place: slug for place, slug in sorted(found.items()) if type(slug) is str}


def is_context(text: str) -> bool:
    """Whether a text is what the harness says of a folder that was added to a session."""
    return text.startswith((_ONE, _SEVERAL, _FOLDERS)) and any(mark in text for mark in _STRUCTURE)


def in_context(text: str) -> str:
    """The session's folder as the harness's own text names it, or ""."""
    for mark in (_ONE, _FOLDERS, _SEVERAL):
        head, found, rest = text.partition(mark)
        if found and (not head or head.endswith("\n")):
            return rest.partition("\n")[0].strip().removeprefix("- ")
    return ""


def named(digest: str, texts: Iterable[str]) -> str:
    """The folder among those that ``texts`` speak of, and their parents, whose SHA-256 is ``digest``; or ""."""
    if len(digest) != 64:
        return ""
    return places.spoken_of(texts, lambda place: digest_of(place) == digest)


def sign(path: str, digest: str = "") -> str:
    """What stands for the project of a file in a project's folder: of an old one its name, else the ``digest``."""
    return of_digest(*reversed(dirname(path).split("/")), digest)
