"""The sections of collections.yml that decide what a run reads and keeps: ``exclude:``, ``synthetic:``, ``archive:``.

A session is excluded by its folder, by its raw file, or by a ``.brain-ignore`` in the project's folder or one above it.
A session is judged by the folder that it was begun in; a folder that is gone counts as marked where it was when it was
last seen. ``Withholding`` is the raw store of a run that leaves out what is excluded or was forgotten.
"""

from __future__ import annotations

import os
from os.path import expanduser, isabs, join, normpath, realpath

from core.version import REDACTION
from ingest.policy import FILE, FORGETTING, UNITS
from ingest.raw.store import RawStore
from ingest.roots import added
from ingest.session.units import split_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from core.home import Home
    from core.tombstones import Tombstones
    from ingest.pipeline.reading import Reading
    from ingest.pipeline.state import FileRow, UnitRow
    from ingest.policy.withheld import Withheld
    from ingest.raw.store import SourceFile
    from ingest.session.project_ids import Signs
    from ingest.session.transcripts import Lineage, Transcripts
    from ingest.source import Settings, Source

    Holds = Callable[[Home, str, str], bool]

MARKER = ".brain-ignore"
EXCLUDED = "excluded: "
EXCLUDED_PROJECT = f"{EXCLUDED}project"
EXCLUDED_PATH = f"{EXCLUDED}path"
EXCLUDED_MARKER = f"{EXCLUDED}{MARKER}"

# A prompt that begins so was written by a program of ours, or by another that marks its prompts.
SYNTHETIC_PROMPT = "<!-- brain:synthetic -->"
# Temporary folders of all platforms. Fixed, so that a document is the same on every machine.
_TEMPORARY = (
    "/tmp/",  # noqa: S108  # compared with, not written to
    "/private/tmp/",
    "/var/tmp/",  # noqa: S108
    "/private/var/tmp/",
    "/var/folders/",
    "/private/var/folders/",
    "/dev/shm/",  # noqa: S108
)
_WINDOWS_TEMPORARY = "\\appdata\\local\\temp"
FORGOTTEN = "forgotten"
DEFAULT_GB = 20.0
# An excluded session is looked for among the parents of an agent, so many generations up.
_DEEP = 64


class Policy:
    """``archive:`` of collections.yml: ``enabled``, ``redact`` (False: lines are kept as found), ``max_bytes``.

    ``state/redaction`` holds the ``mark`` if everything that is to be redacted is, in the archive too.
    """

    def __init__(self, settings: Settings) -> None:
        section = settings.get("archive") or {}
        self.enabled = section.get("enabled") is not False
        self.redact = section.get("redact") is not False
        self.max_bytes = int(float(section.get("max_gb") or DEFAULT_GB) * 1e9)
        self.mark = f"{REDACTION}\n".encode() if self.redact else f"{REDACTION} raw\n".encode()


class Rules:
    """The rules of one home, for one run. ``settings``: collections.yml as plain data."""

    def __init__(self, home: Home, settings: Settings) -> None:
        exclude, synthetic = settings.get("exclude") or {}, settings.get("synthetic") or {}
        self._projects = _globs(exclude.get("projects"))
        self._paths = _globs(exclude.get("paths"))
        self._synthetic = _globs(synthetic.get("projects"))
        self._signs: Signs | None = None
        self._judged: dict[str, str] = {}
        self._home = home
        self._withheld: Withheld | None = None
        # True if anything was ever excluded.
        self._remembers = any(os.path.lexists(join(home.state, name)) for name in (FILE, UNITS))
        # Changes when a run must look again at files that it passed over.
        self.fingerprint = "|".join([*self._projects.given, "", *self._paths.given, "", *self._synthetic.given])

    @property
    def withheld(self) -> Withheld:
        """What was excluded before."""
        if self._withheld is None:
            from ingest.policy.withheld import Withheld

            self._withheld = Withheld(self._home)
            self._remembers = True
        return self._withheld

    def admit(self, source: str, unit: str) -> None:
        """Forget that a unit was excluded."""
        if self._remembers:
            self.withheld.note_unit(source, unit, "")

    def save(self, *, wait_s: float = 10.0) -> None:
        """Write what was noted to the disk: see ``Withheld.save``."""
        if self._withheld is not None:
            self._withheld.save(wait_s=wait_s)

    def excluded(self, path: str, project: str, sign: str = "") -> str:
        """Return why a session of ``project`` in the raw file ``path`` is excluded, "" if it is not.

        ``sign``: replaces an unknown project folder (``ingest.session.project_ids``).
        """
        if self._paths.covering(path):
            return EXCLUDED_PATH
        if self._covering(project, sign):
            return EXCLUDED_PROJECT
        return EXCLUDED_MARKER if self._marker(project, sign) else ""

    def marked_by(self, project: str) -> str:
        """Return the folder of the marker that excludes a project, "" if there is none."""
        if not os.path.isabs(project):
            return ""
        if project not in self._judged:
            folders = (folder for way in spellings(project) for folder in _upwards(way))
            self._judged[project] = next(filter(self._has_marker, folders), "")
        return self._judged[project]

    def _covering(self, project: str, sign: str) -> tuple[str, ...]:
        if project or not sign:
            return self._projects.covering(project)
        return self._known_signs().covering(sign)

    def _marker(self, project: str, sign: str) -> str:
        if project or not sign:
            return self.marked_by(project)
        return next(filter(None, map(self.marked_by, self._known_signs().places(sign))), "")

    def _known_signs(self) -> Signs:
        if self._signs is None:
            from ingest.session.project_ids import Signs

            self._signs = Signs(self._projects)
        return self._signs

    def remembered(self, source: str, unit: str) -> str:
        """Return why a unit that was excluded still is, "" if it is not; its file may be gone by now."""
        if not self._remembers:
            return ""
        why, is_marked = self.withheld.unit(source, unit)
        if why == EXCLUDED_MARKER:
            return why if is_marked else ""
        globs = {EXCLUDED_PROJECT: self._projects, EXCLUDED_PATH: self._paths}.get(why)
        return why if globs is not None and _still(globs.given, self.withheld.rules(source, unit)) else ""

    def remember(self, source: str, unit: str, why: str, path: str, project: str, sign: str = "") -> None:
        """Remember that a unit is excluded, and why, for the time when its file and folder are gone."""
        rules = ""
        if why in (EXCLUDED_PATH, EXCLUDED_PROJECT):
            globs = self._paths if why == EXCLUDED_PATH else self._projects
            rules = _word(globs, globs.covering(path) if why == EXCLUDED_PATH else self._covering(project, sign))
        self.withheld.note_unit(source, unit, why, "" if rules else self._marker(project, sign), rules=rules)

    def is_synthetic(self, project: str, body: str) -> bool:
        """Return True if no person had this session: it ran in a temporary folder, or a rule or a mark in it says
        so."""
        if project and (f"{project}/".startswith(_TEMPORARY) or _WINDOWS_TEMPORARY in project.lower()):
            return True
        if self._synthetic.covering(project):
            return True
        return SYNTHETIC_PROMPT in body[:4096]

    def _has_marker(self, folder: str) -> bool:
        """Return True if a folder has a marker, or had one when it was last there."""
        if os.path.lexists(join(folder, MARKER)):
            self.withheld.note_folder(folder, marked=True)
            return True
        if not self._remembers or not self.withheld.has_folder(folder):
            return False
        if not os.path.lexists(folder):
            return True
        self.withheld.note_folder(folder, marked=False)
        return False


def _upwards(folder: str) -> list[str]:
    """Return an absolute folder and those above it, the nearest first."""
    names = folder.rstrip("/").split("/")
    return ["/".join(names[:count]) or "/" for count in range(len(names), 0, -1)]


def _globs(given: object) -> Globs:
    return Globs(str(glob) for glob in given) if isinstance(given, list) else Globs(())


def _short(glob: str) -> str:
    from ingest.policy.withheld import digest

    # There are a handful of rules, and a row for each session.
    return digest(glob)[:12]


def _word(globs: Globs, covering: Sequence[str]) -> str:
    """Return digests of the rules that exclude a path, a slash, and digests of the other rules."""
    its = [_short(glob) for glob in covering]
    others = [_short(glob) for glob in globs.given if glob not in covering]
    return f"{','.join(its)}/{','.join(others)}"


def _still(globs: Sequence[str], word: str) -> bool:
    """Return True if the present rules exclude a unit: one rule of ``word`` is present, or one that ``word`` does not
    know."""
    its, _, others = word.partition("/")
    now = {_short(glob) for glob in globs}
    return not now.isdisjoint(its.split(",")) or not now <= set(others.split(","))


class Withholding(RawStore):
    """The raw files on disk, without what is excluded or was forgotten.

    ``rules``: the exclusions. ``holds(home, source, path)``: True if another source made a document of a file.
    """

    def __init__(self, home: Home, source: str, settings: Settings, *, holds: Holds = lambda *_: False) -> None:
        self._home, self._source, self._settings, self._holds = home, source, settings, holds
        self.rules = Rules(home, settings)
        self._forgotten = _tombstones(home)
        # Unit → why it is excluded, of those that this run has judged; and where a parent may be looked up.
        self._judged: dict[str, str] = {}
        self._depth = 0
        self._lookup: tuple[Source, list[str], Mapping[str, UnitRow]] | None = None
        self._lineage: Lineage | None = None
        self._sessions: tuple[Any, ...] | None = None
        self._transcripts: Transcripts | None = None

    def expect(
        self,
        source: Source,
        paths: list[str] | None,
        units: Mapping[str, UnitRow],
        members: Mapping[str, set[str]],
        seen: tuple[Sequence[SourceFile], Mapping[str, FileRow]] | None = None,
    ) -> None:
        """Set what the run knows: it decides about agents, and prompts, that depend on another session.

        Args:
            source: the source.
            paths: the files that the run is to read, among which a session may be looked up; None for none.
            units: the run's own, which change while it reads, like ``members``.
            members: unit → paths.
            seen: the files that are there, and the rows of the last run; None if only one file was looked at.
        """
        self._lookup = (source, paths, units) if paths is not None else None
        self._sessions = (source, *seen, units, members) if seen is not None else None

    @property
    def transcripts(self) -> Transcripts | None:  # type: ignore[override]
        """The sessions that have transcripts; None if the run does not know."""
        if self._transcripts is None and self._sessions is not None:
            from ingest.session.transcripts import Transcripts

            self._transcripts = Transcripts(*self._sessions)
        return self._transcripts

    def is_of(self, source: str, path: str, unit: str) -> bool:
        """Return True if another source made a document of a file, or a session of it with this id was forgotten."""
        return (self._forgotten is not None and self._forgotten.covers(source, unit)) or self._holds(
            self._home, source, path
        )

    def section(self, source: str) -> Mapping[str, Any]:
        """Return what collections.yml says of a source."""
        return (self._settings.get("sources") or {}).get(source) or {}

    def configured(self, source: str) -> list[str]:
        """Return the folders that collections.yml adds to those of a source's tool."""
        return added(self._settings.get("sources") or {}, source)

    def excluded(self, folder: str) -> str:
        """Return why work in a folder is excluded, "" if it is not."""
        return self.rules.excluded("", folder)

    def mark(self) -> str:
        """Return what changes when files have to be read again; "" if nothing is recorded."""
        return ""

    def commit(self) -> None:
        """Make durable what was noted. Raises OSError and BrainError."""
        self.rules.save()

    def close(self) -> None:
        """Close what is open; exclusions stay known even if nothing was written. Raises as ``commit``."""
        self.rules.save()

    def withhold(self, reading: Reading) -> bool:
        """Do ``remove`` for a reading that has ended; if nothing is left, drop its failures as well."""
        any_removed = self.remove(reading)
        if any_removed and not reading.parts and not reading.taken:
            reading.skipped = reading.withheld
            reading.unknown.clear()
            reading.failures.clear()
            reading.failed_reasons.clear()
        return any_removed

    def remove(self, reading: Reading) -> bool:
        """Take out of a reading what was forgotten or is excluded; return True if it ever had any."""
        for unit in [unit for unit, part in reading.parts.items() if reading.passed.get(unit) is not part]:
            reason = self._withheld(unit, reading)
            if reason:
                reading.withheld = reason
                if reason.startswith(EXCLUDED):
                    reading.excluded.add(unit)
                del reading.parts[unit]
            else:
                reading.passed[unit] = reading.parts[unit]
        return bool(reading.withheld)

    def withholds(self, unit: str, reading: Reading) -> bool:
        """Return True if the part of a unit was forgotten or is excluded."""
        return bool(self._withheld(unit, reading))

    def forgot(self, unit: str) -> bool:
        """Return True if a unit of this source was forgotten."""
        return self._forgotten is not None and self._forgotten.covers(self._source, unit)

    def _withheld(self, unit: str, reading: Reading) -> str:
        if self.forgot(unit):
            return FORGOTTEN
        part = reading.parts[unit]
        if part.partial and self.transcripts is not None and self.transcripts.covers(unit):
            from ingest.session.transcripts import PROMPT_HISTORY

            return PROMPT_HISTORY
        reason = self._excluded(unit, part, reading)
        if reason or not self._judged.get(unit):
            self._judged[unit] = reason  # one of its copies is enough
        return reason

    def _excluded(self, unit: str, part: Any, reading: Reading) -> str:
        """Return why a unit is excluded, by itself or with the session that it worked for; remember the reason."""
        project, sign = part.cwd, part.sign
        reason = self.rules.excluded(reading.path, project, sign)
        if reason:
            self.rules.remember(self._source, unit, reason, reading.path, project, sign)
            return reason
        session, agent = split_key(unit)
        parent = session if agent else part.parent
        if parent and parent != unit:
            reason = self._of_session(parent, reading)
        if reason:
            self.rules.withheld.inherit(self._source, unit, parent)
        elif part.partial:
            return self.rules.remembered(self._source, unit)
        elif not self._judged.get(unit):
            self.rules.admit(self._source, unit)
        return reason

    def _of_session(self, unit: str, reading: Reading) -> str:
        """Return why a session is excluded that another unit worked for; look the session up if it is not known."""
        if unit in self._judged:
            return self._judged[unit]
        if self._depth >= _DEEP:
            return self.rules.remembered(self._source, unit)
        self._depth += 1
        try:
            self._look_up(unit, reading)
        finally:
            self._depth -= 1
        return self._judged.get(unit) or self.rules.remembered(self._source, unit)

    def _look_up(self, unit: str, reading: Reading) -> None:
        if unit in reading.parts:
            self._judged[unit] = ""  # two units that name each other as parents are not looked up for ever
            self._judged[unit] = self._excluded(unit, reading.parts[unit], reading)
        elif not self.rules.remembered(self._source, unit) and self._lookup is not None:
            if self._lineage is None:
                from ingest.session.transcripts import Lineage

                self._lineage = Lineage(*self._lookup)
            self._judged[unit] = ""
            for found in self._lineage.look_up(unit, reading.path):
                if unit in found.parts and not self._judged[unit]:
                    self._judged[unit] = self._excluded(unit, found.parts[unit], found)


def _tombstones(home: Home) -> Tombstones | None:
    """Return what was forgotten, None if nothing ever was. Raises EngineMissing if the file cannot be read."""
    if not any(os.path.lexists(join(home.state, name)) for name in FORGETTING):
        return None
    from core.tombstones import Tombstones

    return Tombstones(home)


_WILD = "*?["
# No system has longer paths; a record may say any string.
_MAX_PATH = 4096


class Globs:
    """Rules as a person wrote them (``given``), and what each covers: what it names, and all that lies below.

    A rule without a slash is any folder of that name; one that does not begin with a slash is looked for at any depth.
    The real place of a rule or a path counts as well as its spelling.
    """

    def __init__(self, given: Iterable[str]) -> None:
        self.given = tuple(spelled(glob) for glob in given)
        self._forms: list[tuple[str, ...]] | None = None
        self._known: dict[str, tuple[str, ...]] = {}

    def covering(self, path: str) -> tuple[str, ...]:
        """Return the rules that cover a path; each path is looked at once."""
        if not self.given or not path:
            return ()
        known = self._known.get(path)
        if known is None:
            if self._forms is None:
                self._forms = [_forms(glob) for glob in self.given]
            ways = spellings(path)
            known = tuple(
                glob
                for glob, forms in zip(self.given, self._forms, strict=True)
                if any(_covers(form, way) for form in forms for way in ways)
            )
            self._known[path] = known
        return known

    @staticmethod
    def places(glob: str) -> tuple[str, ...]:
        """Return the folder that a rule names by its whole path, as written and as its real path; () for other
        rules."""
        return spellings(glob) if isabs(glob) and not any(sign in glob for sign in _WILD) else ()


def spelled(glob: str) -> str:
    """Return a rule with ``~`` expanded, without the slash at its end."""
    return expanduser(glob).rstrip("/") or "/"


def spellings(path: str) -> tuple[str, ...]:
    """Return a path as it is written, without ``..``, and as its real path, each once."""
    if not isabs(path) or len(path) > _MAX_PATH:
        return (path,)
    try:
        return tuple(dict.fromkeys((path, normpath(path), realpath(path))))
    except (OSError, ValueError):  # half a character, or a NUL: no system has such a folder
        return path, normpath(path)


def _forms(glob: str) -> tuple[str, ...]:
    """Return a rule, and the same rule with the real path of the folders before its first wildcard."""
    if not isabs(glob):
        return (glob, f"*/{glob}") if "/" in glob and not glob.startswith("*") else (glob,)
    at = min((at for sign in _WILD if (at := glob.find(sign)) >= 0), default=-1)
    head, rest = (glob, "") if at < 0 else (glob[: glob.rindex("/", 0, at)], glob[glob.rindex("/", 0, at) + 1 :])
    return tuple(dict.fromkeys((glob, *(join(way, rest) if rest else way for way in spellings(head or "/")))))


def _covers(glob: str, path: str) -> bool:
    """Return True if a path is, or lies below, what a glob names; a folder may be called like a glob."""
    if path == glob or (glob != "/" and path.startswith(f"{glob}/")):
        return True
    if not any(sign in glob for sign in _WILD):
        return "/" not in glob and glob in path.split("/")
    from fnmatch import fnmatchcase  # a run with nothing new, and one without such rules, does without `re`

    if "/" not in glob:
        return any(fnmatchcase(part, glob) for part in path.split("/"))
    return fnmatchcase(path, glob) or fnmatchcase(path, f"{glob}/*")
