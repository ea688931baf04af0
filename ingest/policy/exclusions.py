"""Rules for what the memory excludes, and for what no person wrote: by folder, by raw file, by a marker file.

``exclude:`` and ``synthetic:`` of collections.yml, and ``.brain-ignore`` in a project's folder or one above it. A
session is judged by the folder that it was begun in; a folder that is gone counts as marked where it was when it was
last seen.
"""

from __future__ import annotations

import os
from os.path import dirname, expanduser, isabs, join, normpath, realpath

from core.errors import EngineMissing, from_os
from core.files import read_or_none, write_atomic
from core.locks import FileLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.home import Home
    from ingest.session.project_ids import Signs
    from ingest.source import Settings

    # Source and unit.
    Unit = tuple[str, str]

MARKER = ".brain-ignore"
EXCLUDED = "excluded: "
EXCLUDED_PROJECT = f"{EXCLUDED}project"
EXCLUDED_PATH = f"{EXCLUDED}path"
EXCLUDED_MARKER = f"{EXCLUDED}{MARKER}"

# A prompt that begins so was written by a program of ours, or by another that marks its prompts.
SYNTHETIC_PROMPT = "<!-- brain:synthetic -->"
# Temporary folders of all platforms. Fixed, so that a document is the same on every machine.
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
    """The rules of one home, for one run. ``settings``: collections.yml as plain data."""

    __slots__ = ("_judged", "_marked", "_paths", "_projects", "_synthetic", "_told", "fingerprint", "withheld")

    def __init__(self, home: Home, settings: Settings) -> None:
        exclude, synthetic = settings.get("exclude") or {}, settings.get("synthetic") or {}
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
        """Return why a unit that was excluded still is, "" if it is not; its file may be gone by now."""
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
        if project and (_below(project, _TEMPORARY) or _WINDOWS_TEMPORARY in project.lower()):
            return True
        if self._synthetic.covering(project):
            return True
        return SYNTHETIC_PROMPT in body[:4096]

    def _marking(self, folder: str) -> str:
        """Return the nearest folder with a marker, ``folder`` or one above; "" if there is none."""
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


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


FILE = "excluded.json"
UNITS = "excluded-units.json"
_LOCK_WAIT_S = 10.0


class Withheld:
    """Folders that held a marker, and (source, unit) → (why, by what: the digest of the folder with the marker, or
    ``exclusions.Rules``' word for its rules).

    Read when it is first asked; what is noted lasts once it is saved. A file that is damaged raises EngineMissing: what
    it knew is not to be read for want of it.
    """

    __slots__ = ("_changed_folders", "_changed_units", "_folders", "_home", "_units")

    def __init__(self, home: Home) -> None:
        self._home = home
        self._folders: set[str] | None = None
        self._units: dict[Unit, tuple[str, str]] | None = None
        self._changed_folders: dict[str, bool] = {}
        self._changed_units: dict[Unit, tuple[str, str] | None] = {}

    def has_folder(self, folder: str) -> bool:
        """Return True if a folder held a marker when it was last looked at."""
        return digest(folder) in self._marked()

    def note_folder(self, folder: str, *, marked: bool) -> None:
        """Remember that a folder holds a marker, or that it is there and holds none."""
        name, folders = digest(folder), self._marked()
        if marked is not (name in folders):
            self._changed_folders[name] = marked
            (folders.add if marked else folders.discard)(name)

    def unit(self, source: str, unit: str) -> tuple[str, bool]:
        """Return (why a unit was excluded or "", True if the folder that excluded it still counts as marked)."""
        why, folder = self._kept_out().get((source, unit), ("", ""))
        return why, folder in self._marked()

    def rules(self, source: str, unit: str) -> str:
        """Return the noted rules that excluded a unit, "" if none are known."""
        return self._kept_out().get((source, unit), ("", ""))[1]

    def note_unit(self, source: str, unit: str, why: str, folder: str = "", *, rules: str = "") -> None:
        """Remember why a unit is excluded (``folder``: where the marker lies), or with "" that it is not."""
        self._note((source, unit), (why, digest(folder) if folder else rules) if why else None)

    def inherit(self, source: str, unit: str, parent: str) -> None:
        """Remember that a unit is excluded as its parent is."""
        self._note((source, unit), self._kept_out().get((source, parent)))

    def save(self, *, wait_s: float = _LOCK_WAIT_S) -> None:
        """Write the notes to the disk, merged with those of other processes. Raises OSError and LockContention."""
        if not (self._changed_folders or self._changed_units):
            return
        with FileLock(join(self._home.state, "excluded.lock"), wait_s):
            if self._changed_folders:
                self._folders = None
                folders = self._marked()
                for name, marked in self._changed_folders.items():
                    (folders.add if marked else folders.discard)(name)
                self._write(FILE, {"schema": 1, "folders": sorted(folders)})
            if self._changed_units:
                self._units = None
                units = self._kept_out()
                for key, value in self._changed_units.items():
                    _put(units, key, value)
                rows = [[*key, *value] for key, value in sorted(units.items())]
                self._write(UNITS, {"schema": 1, "units": rows})
        self._changed_folders, self._changed_units = {}, {}

    def add(self, other: Withheld) -> None:
        """Note what another home remembers as well, as far as either can be read."""
        from contextlib import suppress  # a run with nothing new does without it

        with suppress(EngineMissing):
            self._changed_folders |= dict.fromkeys(other._marked() - self._marked(), True)
        with suppress(EngineMissing):
            units = self._kept_out()
            self._changed_units |= {key: value for key, value in other._kept_out().items() if key not in units}

    def check(self) -> None:
        """Read all of it. Raises EngineMissing if it is damaged."""
        self._marked()
        self._kept_out()

    def _note(self, key: Unit, now: tuple[str, str] | None) -> None:
        units = self._kept_out()
        if units.get(key) != now:
            self._changed_units[key] = now
            _put(units, key, now)

    def _marked(self) -> set[str]:
        if self._folders is None:
            names = self._read(FILE, "folders")
            if not all(isinstance(name, str) for name in names):
                raise _damaged(join(self._home.state, FILE))
            self._folders = {str(name) for name in names}
        return self._folders

    def _kept_out(self) -> dict[Unit, tuple[str, str]]:
        if self._units is None:
            units: dict[Unit, tuple[str, str]] = {}
            for row in self._read(UNITS, "units"):
                if not (isinstance(row, list) and len(row) == 4 and all(isinstance(cell, str) for cell in row)):
                    raise _damaged(join(self._home.state, UNITS))
                source, unit, why, folder = row
                units[source, unit] = (why, folder)
            self._units = units
        return self._units

    def _read(self, name: str, key: str) -> list[object]:
        """Return the list in one file, empty if there is no file. An empty file is damaged: none is ever written so."""
        path = join(self._home.state, name)
        if not os.path.lexists(path):
            return []
        try:
            data = read_or_none(path)
        except OSError as error:
            raise from_os(error) or _damaged(path) from None
        if data is None:
            return []
        import json  # a run without any does without it

        try:
            said = json.loads(data)
        except (ValueError, RecursionError):
            raise _damaged(path) from None
        found = said.get(key) if isinstance(said, dict) else None
        if not isinstance(found, list):
            raise _damaged(path)
        return found

    def _write(self, name: str, said: dict[str, object]) -> None:
        import json

        write_atomic(join(self._home.state, name), json.dumps(said, indent=0).encode())


def _damaged(path: str) -> EngineMissing:
    from shlex import quote

    return EngineMissing(
        f"{path} cannot be read: it says what was excluded, so nothing is read without it",
        "put it back from a backup (brain restore BACKUP --to FOLDER unpacks one); only where no folder with a"
        f" .brain-ignore was deleted: mv {quote(path)} {quote(f'{path}.damaged')}",
    )


def digest(folder: str) -> str:
    """Return the key under which a folder is remembered."""
    import hashlib  # a run that finds nothing new does without it

    try:
        name = os.fsencode(folder)
    except UnicodeEncodeError:  # a record may say any string; half a character is in no folder's name
        name = folder.encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()


def _put(units: dict[Unit, tuple[str, str]], key: Unit, value: tuple[str, str] | None) -> None:
    if value is None:
        units.pop(key, None)
    else:
        units[key] = value


_WILD = "*?["
# No system has longer paths; a record may say any string.
_MAX_PATH = 4096


class Globs:
    """Rules as a person wrote them (``given``), and what each covers: what it names, and all that lies below.

    A rule without a slash is any folder of that name; one that does not begin with a slash is looked for at any depth.
    The real place of a rule or a path counts as well as its spelling.
    """

    __slots__ = ("_forms", "_known", "given")

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
