"""What is not to be remembered, and what no person wrote: by folder, by raw file, by a marker file.

``exclude:`` and ``synthetic:`` of collections.yml, and ``.brain-ignore`` in a project's folder or one above it. A
session is judged by the folder that it was begun in; a folder that is gone counts as marked where it was when it was
last seen.
"""

from __future__ import annotations

import os
from os.path import dirname, join

from core.errors import BrainError
from ingest.policy.exclusion_log import Withheld, digest
from ingest.policy.globs import Globs, spellings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.home import Home
    from ingest.session.project_ids import Signs

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

    __slots__ = ("_judged", "_marked", "_paths", "_projects", "_synthetic", "_told", "fingerprint", "withheld")

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
        self._told: Signs | None = None
        self._judged: dict[str, str] = {}
        self._marked: dict[str, str] = {}
        self.withheld = Withheld(home)
        # Changes when a run must look again at files that it passed over.
        self.fingerprint = "|".join([*self._projects.given, "", *self._paths.given, "", *self._synthetic.given])

    def excluded(self, path: str, project: str, sign: str = "") -> str:
        """Why a session of ``project`` in the raw file ``path`` is not to be remembered, "" where it is.

        ``sign``: what stands for the project's folder where nothing tells it (``ingest.session.project_ids``).
        """
        if self._paths.covering(path):
            return EXCLUDED_PATH
        if self._covering(project, sign):
            return EXCLUDED_PROJECT
        return EXCLUDED_MARKER if self._marker(project, sign) else ""

    def marked_by(self, project: str) -> str:
        """The folder whose marker excludes a project, "" where none does."""
        if not project or not os.path.isabs(project):
            return ""
        if project not in self._judged:
            ways = spellings(project)
            self._judged[project] = next(filter(None, (self._marking(way.rstrip("/") or "/") for way in ways)), "")
        return self._judged[project]

    def _covering(self, project: str, sign: str) -> tuple[str, ...]:
        if project or not sign:
            return self._projects.covering(project)
        return self._signs().covering(sign)

    def _marker(self, project: str, sign: str) -> str:
        if project or not sign:
            return self.marked_by(project)
        return next(filter(None, map(self.marked_by, self._signs().places(sign))), "")

    def _signs(self) -> Signs:
        if self._told is None:
            from ingest.session.project_ids import Signs

            self._told = Signs(self._projects)
        return self._told

    def remembered(self, source: str, unit: str) -> str:
        """Why a unit that was excluded still is, whatever can be told of it by now; "" where it is not."""
        why, is_marked = self.withheld.unit(source, unit)
        if why == EXCLUDED_MARKER:
            return why if is_marked else ""
        globs = {EXCLUDED_PROJECT: self._projects, EXCLUDED_PATH: self._paths}.get(why)
        return why if globs is not None and _still(globs.given, self.withheld.rules(source, unit)) else ""

    def remember(self, source: str, unit: str, why: str, path: str, project: str, sign: str = "") -> None:
        """Remember that a unit is excluded, and by what, for when neither its file nor its folder can be asked."""
        rules = ""
        if why in (EXCLUDED_PATH, EXCLUDED_PROJECT):
            globs = self._paths if why == EXCLUDED_PATH else self._projects
            rules = _word(globs, globs.covering(path) if why == EXCLUDED_PATH else self._covering(project, sign))
        self.withheld.note_unit(source, unit, why, "" if rules else self._marker(project, sign), rules=rules)

    def is_synthetic(self, project: str, body: str) -> bool:
        """Whether no person had this session: it ran in a temporary folder, was configured so, or says so itself."""
        if project and (_below(project, _TEMPORARY) or _WINDOWS_TEMPORARY in project.lower()):
            return True
        if self._synthetic.covering(project):
            return True
        return SYNTHETIC_PROMPT in body[:4096]

    def _marking(self, folder: str) -> str:
        """The folder of the marker that keeps ``folder`` out: its own or one above; "" where there is none."""
        passed = []
        known = self._marked.get(folder)
        while known is None:
            passed.append(folder)
            above = dirname(folder)
            known = folder if self._has_marker(folder) else "" if above == folder else self._marked.get(above)
            folder = above
        self._marked.update(dict.fromkeys(passed, known))
        return known

    def _has_marker(self, folder: str) -> bool:
        if os.path.lexists(join(folder, MARKER)):
            self.withheld.note_folder(folder, marked=True)
            return True
        if not self.withheld.has_folder(folder):
            return False
        if not os.path.lexists(folder):
            return True
        self.withheld.note_folder(folder, marked=False)
        return False


def _globs(given: object) -> Globs:
    return Globs(str(glob) for glob in given) if isinstance(given, list) else Globs(())


def _short(glob: str) -> str:
    # There are a handful of rules, and a row for each session.
    return digest(glob)[:12]


def _word(globs: Globs, covering: Sequence[str]) -> str:
    """Digests of the rules that exclude something, a slash, and those of the rules that were there and do not."""
    its = [_short(glob) for glob in covering]
    others = [_short(glob) for glob in globs.given if glob not in covering]
    return f"{','.join(its)}/{','.join(others)}"


def _still(globs: Sequence[str], word: str) -> bool:
    """Whether the rules of now exclude what those of ``word`` did: one of these, or one of which that is not known."""
    its, _, others = word.partition("/")
    now = {_short(glob) for glob in globs}
    return not now.isdisjoint(its.split(",")) or not now <= set(others.split(","))


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
