"""What is not to be remembered, and what no person wrote: by folder, by raw file, by a marker file.

``exclude:`` and ``synthetic:`` of collections.yml, and ``.brain-ignore`` in a project's folder or one above it. A
session is judged by the folder that it was begun in.
"""

from __future__ import annotations

import os
from os.path import dirname, expanduser, join

from core.errors import BrainError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.home import Home

MARKER = ".brain-ignore"
EXCLUDED = "excluded: "
EXCLUDED_PROJECT = f"{EXCLUDED}project"
EXCLUDED_PATH = f"{EXCLUDED}path"
EXCLUDED_MARKER = f"{EXCLUDED}{MARKER}"

# A prompt that begins so was written by a program of ours, or by one that wants to be taken for no person.
SYNTHETIC_PROMPT = "<!-- brain:synthetic -->"
# Folders for what nobody wants to keep, by platform. Fixed, so that a document is the same on every machine.
_TEMPORARY = (
    "/tmp",  # noqa: S108  # compared with, not written to
    "/private/tmp",
    "/var/tmp",  # noqa: S108
    "/private/var/tmp",
    "/var/folders",
    "/private/var/folders",
    "/dev/shm",  # noqa: S108
)
_WINDOWS_TEMPORARY = "\\appdata\\local\\temp"


class Rules:
    """The rules of one home, for one run."""

    __slots__ = ("_marked", "_paths", "_projects", "_synthetic", "fingerprint")

    def __init__(self, home: Home) -> None:
        from core.config import load

        try:
            config = load(home)
            exclude: dict[str, Any] = config.section("exclude")
            synthetic: dict[str, Any] = config.section("synthetic")
        except BrainError:
            exclude, synthetic = {}, {}  # an invalid configuration is reported by those who need it
        self._projects = _globs(exclude.get("projects"))
        self._paths = _globs(exclude.get("paths"))
        self._synthetic = _globs(synthetic.get("projects"))
        self._marked: dict[str, bool] = {}
        # Changes when a run must look again at files that it passed over.
        self.fingerprint = "|".join([*self._projects, "", *self._paths, "", *self._synthetic])

    def excluded(self, path: str, project: str) -> str:
        """Why a session of ``project`` in the raw file ``path`` is not to be remembered, "" where it is."""
        if _matches(path, self._paths):
            return EXCLUDED_PATH
        if project and _matches(project, self._projects):
            return EXCLUDED_PROJECT
        if project and os.path.isabs(project) and self._is_marked(project.rstrip("/") or "/"):
            return EXCLUDED_MARKER
        return ""

    def is_synthetic(self, project: str, body: str) -> bool:
        """Whether no person had this session: it ran in a temporary folder, was configured so, or says so itself."""
        if project and (_below(project, _TEMPORARY) or _WINDOWS_TEMPORARY in project.lower()):
            return True
        if project and _matches(project, self._synthetic):
            return True
        return SYNTHETIC_PROMPT in body[:4096]

    def _is_marked(self, folder: str) -> bool:
        known = self._marked.get(folder)
        if known is None:
            above = dirname(folder)
            known = os.path.lexists(join(folder, MARKER)) or (above != folder and self._is_marked(above))
            self._marked[folder] = known
        return known


def _globs(given: object) -> tuple[str, ...]:
    return tuple(expanduser(str(glob)).rstrip("/") or "/" for glob in given) if isinstance(given, list) else ()


def _matches(path: str, globs: Sequence[str]) -> bool:
    """Whether a path is, or lies below, what one of the globs names. A bare name is any folder of that name."""
    if not globs:
        return False
    from fnmatch import fnmatchcase  # a run with nothing new, and one without rules, does without `re`

    return any(
        fnmatchcase(path, glob) or fnmatchcase(path, f"{glob}/*")
        if "/" in glob
        else any(fnmatchcase(part, glob) for part in path.split("/"))
        for glob in globs
    )


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
