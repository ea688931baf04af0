"""The installation in ``explain``: interpreter, home, engine, configuration, telemetry, sources, disk, and surfaces.

Surfaces are skills, hooks, scheduled jobs and the doctor's last lines. Each is looked for where it would be installed,
so "not installed" is a finding.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import plistlib
import shlex
import shutil
import subprocess
import sys
import time
from glob import escape, glob
from itertools import pairwise
from os.path import basename, dirname, expanduser, isfile, join
from stat import S_IMODE
from typing import TYPE_CHECKING, Any

from core import config, telemetry
from core.document import split
from core.errors import EngineMissing
from core.version import DOCUMENT, INDEX, PARSER, VERSION
from runtime.capture import inbox

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from core.home import Home


_LAST_EVENTS = 5


def product() -> dict[str, Any]:
    """Return the versions of the product and of the derived data."""
    return {"product": VERSION, "parser": PARSER, "document": DOCUMENT, "index": INDEX}


def interpreter() -> dict[str, Any]:
    """Return the Python that runs, and the machine it runs on."""
    return {
        "path": sys.executable,
        "version": platform.python_version(),
        "environment": sys.prefix,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def place(home: Home, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the home: its path, the origin of the path, and its octal mode. Raises OSError if it is unreadable."""
    origin = "BRAIN_HOME" if environ.get("BRAIN_HOME") else "default"
    return {"path": home.root, "origin": origin, **_folder(home.root)}


def notes(home: Home, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the inbox: its folder, where that comes from, and where a note of now would go."""
    origin = "BRAIN_INBOX_DIR" if environ.get("BRAIN_INBOX_DIR") else "home"
    return {"path": home.inbox, "origin": origin, "today": inbox.folder(home, time.time()), **_folder(home.inbox)}


def engine(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return which engine ``BRAIN_QMD`` names and what it resolves to (None if to nothing), with SQLite's versions."""
    import apsw

    setting = environ.get("BRAIN_QMD") or "builtin"
    memory = apsw.Connection(":memory:")
    return {
        "setting": setting,
        "resolved": setting if setting == "builtin" else shutil.which(os.path.expanduser(setting)),
        "sqlite": apsw.sqlite_lib_version(),
        "apsw": apsw.apsw_version(),
        "fts5": _version_of(memory, "fts5_source_id"),
        "sqlite_vec": _sqlite_vec(memory),
    }


def configuration(home: Home) -> dict[str, Any]:
    """Return the configuration file and its collections. Raises BadInput, naming file and line, if it is not valid."""
    loaded = config.load(home)
    return {"valid": True, "collections": list(loaded.collections)}


def config_file(home: Home) -> dict[str, Any]:
    """Return which file is in force, valid or not: the home's own or the shipped default."""
    path = config.locate(home)
    return {"path": path, "origin": "home" if path == home.path(config.FILE) else "shipped"}


def usage(home: Home) -> dict[str, Any]:
    """Return the telemetry file: path, octal mode, bytes, and its last events, oldest first."""
    return {"path": home.usage, **_status(home.usage), "last": telemetry.tail(home, _LAST_EVENTS)}


def ledger(home: Home) -> dict[str, Any]:
    """Return the counts of the last run over each source."""
    from ingest.pipeline.ledger import read

    counted: dict[str, Any] = read(home)
    return counted


def transcripts(home: Home, as_of: str | None) -> dict[str, Any]:
    """Return how many transcripts are new or have grown, in all and by source; ``as_of`` is of the last index run."""
    from ingest.pipeline.pulse import waiting

    sources = waiting(home)
    return {"waiting": sum(sources.values()), "sources": sources, "as_of": as_of}


def disk(home: Home, corpus: int | None) -> dict[str, Any]:
    """Bytes by purpose; ``corpus``, the collections' files, has been counted by their walk (None: it failed)."""
    index = sum(_size(home.index + suffix) for suffix in ("", "-wal", "-shm"))
    return {"corpus": corpus, "index": index, "state": weight(home.state), "logs": weight(home.logs)}


def _folder(path: str) -> dict[str, Any]:
    status = _status(path)
    return {"exists": status["exists"], "mode": status["mode"]}


def _status(path: str) -> dict[str, Any]:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return {"exists": False, "mode": None, "bytes": None}
    return {"exists": True, "mode": f"{S_IMODE(status.st_mode):04o}", "bytes": status.st_size}


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def weight(folder: str) -> int:
    """Bytes of the files below ``folder``; 0 where it is missing. Raises OSError if it cannot be listed."""

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    return sum(_size(os.path.join(path, name)) for path, _, names in os.walk(folder, onerror=fail) for name in names)


def _version_of(connection: Any, function: str) -> str | None:
    """Return the value of an SQL function without arguments, None if this SQLite lacks the function."""
    import apsw

    try:
        return str(connection.execute(f"SELECT {function}()").get)
    except apsw.SQLError:
        return None


def _sqlite_vec(connection: Any) -> dict[str, Any]:
    from qmd.index.semantic import spaces

    if spaces.extension_path() is None:
        return {"installed": False}
    try:
        spaces.load(connection)
    except EngineMissing as error:
        return {"installed": True, "error": str(error)}
    return {"installed": True, "version": _version_of(connection, "vec_version")}


def archive(home: Home) -> dict[str, Any]:
    """Return what is kept of raw files (``ingest.archive.verifier.summarize``)."""
    from ingest import registry
    from ingest.archive import verifier

    return dict(verifier.summarize(home, registry.settings(home)))


# Claude Code compares globs with paths below the folder it was started in (seen in 2.1.197): one that begins with ~
# or / matches nothing there, and a skill with no other would never be offered.
ROOTED = ("~", "/")
_TIMEOUT_S = 3
_DOCTOR_LINES = 5
_TAIL_BYTES = 8192


def claude_folder(environ: Mapping[str, str]) -> str:
    """Return where Claude Code keeps its settings and skills."""
    return expanduser(environ.get("CLAUDE_CONFIG_DIR") or "~/.claude")


def skills(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the installed ``brain-*`` skills with the globs that restrict them, [] for everywhere.

    ``agents`` is True for a copy in the open form, which other agents than Claude Code read.
    """
    roots = {join(claude_folder(environ), "skills"): False, expanduser("~/.agents/skills"): True}
    found = [
        {**_skill(path), "agents": agents}
        for root, agents in roots.items()
        for path in sorted(glob(join(escape(root), "brain-*", "SKILL.md")))
        if isfile(path)
    ]
    return {"installed": bool(found), "looked_in": list(roots), "skills": found}


def hooks(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the ``brain hook …`` commands in the settings of the user and of the current project, by event."""
    files = [join(claude_folder(environ), "settings.json")]
    with contextlib.suppress(FileNotFoundError):  # a working folder that is gone has no settings
        files += [join(os.getcwd(), ".claude", name) for name in ("settings.json", "settings.local.json")]
    found: list[dict[str, str]] = []
    broken: list[dict[str, str]] = []
    for path in files:
        try:
            with open(path, encoding="utf-8") as stream:
                settings = json.load(stream)
            found += [{"event": event, "command": command, "file": path} for event, command in _commands(settings)]
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, RecursionError) as error:
            broken.append({"file": path, "error": str(error)})
    return {"installed": bool(found), "looked_in": files, "hooks": found, "broken": broken}


def schedule() -> dict[str, Any]:
    """Return the scheduled jobs of whichever scheduler has any: launchd agents, systemd user timers, crontab lines.

    A job's ``loaded`` and ``last_exit`` are the scheduler's own word, None if it does not answer.
    """
    agents = expanduser("~/Library/LaunchAgents")
    units = join(expanduser(os.environ.get("XDG_CONFIG_HOME") or "~/.config"), "systemd", "user")
    plists = sorted(glob(join(escape(agents), "com.brain.*.plist")))
    timers = sorted(glob(join(escape(units), "brain-*.timer")))
    jobs = [*_launchd(plists), *_systemd(timers), *_crontab()]
    return {"installed": bool(jobs), "looked_in": [agents, units, "crontab -l"], "jobs": jobs}


def doctor(home: Home) -> dict[str, Any]:
    """Return the last lines of the doctor's log, oldest first."""
    path = join(home.logs, "doctor.log")
    try:
        with open(path, "rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - _TAIL_BYTES))
            lines = stream.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return {"installed": False, "looked_in": [path]}
    return {"installed": True, "path": path, "last": lines[-_DOCTOR_LINES:]}


def _skill(path: str) -> dict[str, Any]:
    skill: dict[str, Any] = {"name": basename(dirname(path)), "path": path}
    try:
        with open(path, encoding="utf-8") as stream:
            meta, _ = split(stream.read())
    except (OSError, ValueError) as error:
        return {**skill, "error": str(error)}
    if not meta:
        return {**skill, "error": "its frontmatter is missing or not YAML"}
    return {**skill, "scopes": scopes_of(meta)}


def scopes_of(meta: Mapping[str, Any]) -> list[str]:
    """Return the globs that somebody chose for a skill, by its frontmatter; [] for everywhere.

    The open form has no ``paths``: its globs are in ``metadata``.
    """
    extra = meta.get("metadata")
    given = meta.get("paths") or (extra.get("paths") if isinstance(extra, dict) else None) or []
    globs = (
        _globs(given) if isinstance(given, str) else [str(each) for each in given] if isinstance(given, list) else []
    )
    # ``brain skills install`` adds the last one only to have Claude Code offer the skill at all.
    return globs[:-1] if globs[-1:] == ["**"] and any(each.startswith(ROOTED) for each in globs) else globs


def _globs(text: str) -> list[str]:
    """Return the globs of a comma string; commas inside braces separate alternatives, not globs."""
    globs = [""]
    depth = 0
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth <= 0:
            globs.append("")
        else:
            globs[-1] += character
    return [stripped for glob in globs if (stripped := glob.strip())]


def _commands(settings: Any) -> Iterator[tuple[str, str]]:
    """Yield (event, command) of each hook of ours; settings of another shape than documented have none."""
    events = settings.get("hooks") if isinstance(settings, dict) else None
    for event, groups in events.items() if isinstance(events, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            entries = group.get("hooks") if isinstance(group, dict) else None
            for entry in entries if isinstance(entries, list) else ():
                if is_hook(entry):
                    yield str(event), shlex.join(_words(entry))


def is_hook(entry: Any) -> bool:
    """Return True if an entry of a settings file's hooks runs ``brain hook …``, of this installation or of another."""
    return runs_brain(_words(entry), ("hook",)) if isinstance(entry, dict) else False


def runs_brain(words: Iterable[str], verbs: Collection[str]) -> bool:
    """Return True if a command line has ``brain`` and one of ``verbs`` after it."""
    return any(basename(word) in ("brain", "brain.py") and after in verbs for word, after in pairwise(words))


def _words(entry: dict[str, Any]) -> list[str]:
    command = str(entry.get("command") or "")
    arguments = entry.get("args")
    if isinstance(arguments, list):
        return [command, *map(str, arguments)]
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _launchd(plists: list[str]) -> Iterator[dict[str, Any]]:
    # `launchctl list` prints PID, last exit status and label of each loaded job, tab-separated (launchctl(1)).
    listing = _ask(["launchctl", "list"]) if plists else None
    loaded = {row[2]: row[1] for line in (listing or "").splitlines() if len(row := line.split("\t")) == 3}
    for path in plists:
        try:
            with open(path, "rb") as stream:
                label = str(plistlib.load(stream)["Label"])
        except (OSError, ValueError, KeyError, TypeError, plistlib.InvalidFileException) as error:
            yield {"name": basename(path), "scheduler": "launchd", "file": path, "error": f"not a job: {error}"}
            continue
        yield _job(label, "launchd", path, None if listing is None else label in loaded, loaded.get(label))


def _systemd(timers: list[str]) -> Iterator[dict[str, Any]]:
    for path in timers:
        name = basename(path).removesuffix(".timer")
        show = ["systemctl", "--user", "show"]
        timer = _ask([*show, "--property=ActiveState", f"{name}.timer"])
        service = _ask([*show, "--property=ExecMainStatus", f"{name}.service"])
        active = None if timer is None else timer.strip() == "ActiveState=active"
        yield _job(name, "systemd", path, active, (service or "").strip().removeprefix("ExecMainStatus="))


def _crontab() -> Iterator[dict[str, Any]]:
    for line in (_ask(["crontab", "-l"]) or "").splitlines():
        text = line.strip()
        words = text.split()
        if not text.startswith("#") and any(basename(word) in ("brain", "brain.py", "doctor.sh") for word in words):
            yield _job(text, "cron", "crontab -l", True, None)


def _job(name: str, scheduler: str, file: str, loaded: bool | None, last_exit: str | None) -> dict[str, Any]:
    number = last_exit if last_exit and last_exit.lstrip("-").isdigit() else None
    return {
        "name": name,
        "scheduler": scheduler,
        "file": file,
        "loaded": loaded,
        "last_exit": None if number is None else int(number),
    }


def _ask(command: list[str]) -> str | None:
    """Return the output of a scheduler's own tool, None if there is no such tool or it does not answer."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed words and file names, no shell
            command, capture_output=True, timeout=_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
