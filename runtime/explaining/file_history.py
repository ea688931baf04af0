"""History of a file: the sessions that changed, read or discussed it, the commits and notes that name it.

Documents name a file in many ways: by its whole path, from the home folder (``~/``), or from the folder of their
project. A name that is not a whole path stands for every file whose path ends with it.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import closing
from os.path import basename, expanduser, isabs, join, normpath
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import BadInput
from core.redaction import shown
from core.text import one_line
from ingest.session.tool_calls import KINDS
from qmd.index import catalogue
from qmd.index.store import open_index
from runtime.asking.documents import Row
from runtime.asking.envelope import Freshness
from runtime.asking.recent import item, sessions
from runtime.distill.transcript import TURN, called
from runtime.explaining.activity import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.config import Config
    from core.home import Home

# How a document took part, the strongest first.
DEEDS = ("changed", "committed", "read", "ran", "mentioned")
_MOST_DOCUMENTS = 200
_MOST_EVENTS = 8
_LENGTH = 200
# Characters of texts that are looked through: a tenth of a second.
_MOST_TEXT = 20_000_000
_READS = frozenset(("read", "read_file", "view", "notebookread", "read_many_files"))
# A character that continues a path or a name; a dot does only before another one.
_WITHIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_SESSIONS = 40
_MOST_FILES = 60


def file_history(home: Home, config: Config, path: str) -> dict[str, Any]:
    """Return the documents that name a file, those that dealt with it last first.

    ``items`` are as in ``recent``, with ``kind``, ``touched`` (when it was named last), ``deeds`` (how often, by
    ``DEEDS``) and ``events`` (``at``, ``line``, ``deed``, ``text``), the strongest deeds first. ``more``: older
    documents may name the file as well. Raises BadInput, and what opening the index raises.
    """
    name = path.strip().rstrip("/")
    wanted = normpath(expanduser(name)) if name else ""
    if not any(map(str.isalnum, basename(wanted))) or "\n" in wanted:
        raise BadInput(f"{path!r} names no file", "a path such as ~/code/app/main.py, or an end of one: app/main.py")
    listed = tuple(each for each, folder in config.collections.items() if folder.trust != "distilled")
    phrase = basename(wanted).replace('"', '""')
    now = clock.now()
    items: list[dict[str, Any]] = []
    left = _MOST_TEXT
    with closing(open_index(home.index)) as connection:
        found = catalogue.mentioning(connection, f'"{phrase}"', catalogue.Filters(listed), _MOST_DOCUMENTS + 1)
        more = len(found) > _MOST_DOCUMENTS
        for row in (Row(each, config) for each in found[:_MOST_DOCUMENTS]):
            kind = kind_of(row, config)
            text = (catalogue.text(connection, row.hash) or "") if kind else ""
            left -= len(text)
            if left < 0:
                more = True
                break
            names = spellings(wanted, row.field("project") or "")
            events = list(_events(text, names, whole=isabs(wanted)))
            if kind == "commit":
                events = _commits(text, events)
            if events:
                items.append(_item(row, config, kind, events, now))
        fresh = Freshness(home, config, connection).envelope()
    items.sort(key=lambda each: (each["touched"], each["uri"]), reverse=True)
    totals = Counter[str]()
    for each in items:
        totals.update(each["deeds"])
    answer: dict[str, Any] = {"schema": 1, "ok": True, "file": wanted, "deeds": dict(totals), "freshness": fresh}
    if not items:
        answer["error"] = "no_results"
    return {**answer, "items": items, "more": more}


def changed_lately(home: Home, config: Config) -> dict[str, Any]:
    """Return the files that the newest sessions changed, the last first: ``path``, ``changes``, ``project``, ``at``."""
    known: dict[str, dict[str, Any]] = {}
    with closing(open_index(home.index)) as connection:
        for row in sessions(connection, config, 0, _SESSIONS):
            project = row.field("project") or ""
            for _, at, argument in _changes(catalogue.text(connection, row.hash) or ""):
                place = _path(argument, project)
                if not isabs(place):
                    continue
                entry = known.setdefault(place, {"path": place, "changes": 0, "project": project or None, "at": ""})
                entry["changes"] += 1
                entry["at"] = max(entry["at"], _instant(at, row))
        fresh = Freshness(home, config, connection).envelope()
    items = sorted(known.values(), key=lambda each: (each["at"], each["path"]), reverse=True)[:_MOST_FILES]
    # A path may hold a secret.
    items = [each for each in items if shown(each["path"]) == each["path"]]
    return {"schema": 1, "ok": True, "freshness": fresh, **({} if items else {"error": "no_results"}), "items": items}


def mentions(text: str, names: Iterable[str]) -> tuple[int, str]:
    """Return the number and the text of the last line that names a file by one of its whole paths; (0, "") if none."""
    lines = text.split("\n")
    for number in range(len(lines), 0, -1):
        if any(has_name(lines[number - 1], name, whole=True) for name in names):
            return number, lines[number - 1]
    return 0, ""


def spellings(wanted: str, project: str) -> tuple[str, ...]:
    """Return how a document of ``project`` may write a path."""
    found = [wanted]
    for folder, mark in ((os.environ.get("HOME", ""), "~/"), (expanduser(project), "")):
        above = join(folder, "")
        if isabs(folder) and wanted.startswith(above) and wanted != above:
            found.append(mark + wanted[len(above) :])
    return tuple(found)


def _events(text: str, spellings: Iterable[str], *, whole: bool) -> Iterator[tuple[str, int, str, str]]:
    """Yield (deed, line, "YYYY-MM-DD HH:MM" of its turn or "", text) of the lines that name a file."""
    at = role = ""
    names = tuple(spellings)
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## ["):
            opened = TURN.match(line)
            if opened is not None:
                role, at = opened[2], (opened[3] or "").removeprefix(" · ")
                continue
        if not any(has_name(line, name, whole=whole) for name in names):
            continue
        call = called(role, line) if role else None
        yield _deed(call[0] if call is not None else ""), number, at, line


def _commits(text: str, events: Iterable[tuple[str, int, str, str]]) -> list[tuple[str, int, str, str]]:
    """Return the commits of a day that list a file: each once, by its heading, in place of the lines of ``events``."""
    lines = text.split("\n")
    found: dict[int, tuple[str, int, str, str]] = {}
    for _, number, at, _ in events:
        heading = next((each for each in range(number, 0, -1) if lines[each - 1].startswith("## ")), number)
        found[heading] = ("committed", heading, at, lines[heading - 1].removeprefix("## "))
    return list(found.values())


def has_name(line: str, name: str, *, whole: bool = False) -> bool:
    """Return True if a line has a path that is ``name``, or unless it must be ``whole`` ends with it."""
    start = line.find(name)
    while start >= 0:
        before, after = line[start - 1 : start], line[start + len(name) : start + len(name) + 2]
        begins = before not in _WITHIN and before not in (".", "~")
        if whole and before == "/":
            # `./` is the folder of the project.
            begins = line[start - 2 : start] == "./" and line[start - 3 : start - 2] not in {*_WITHIN, ".", "/"}
        ends = after[:1] not in _WITHIN and after[:1] != "/" and not (after[:1] == "." and after[1:] in _WITHIN)
        if begins and ends:
            return True
        start = line.find(name, start + 1)
    return False


def _deed(tool: str) -> str:
    if not tool:
        return "mentioned"
    kind = KINDS.get(tool.lower(), "other")
    return "changed" if kind == "change" else "read" if tool.lower() in _READS else "ran"


def _item(row: Row, config: Config, kind: str, events: list[tuple[str, int, str, str]], now: int) -> dict[str, Any]:
    deeds = Counter(deed for deed, *_ in events)
    ranked = sorted(events, key=lambda event: (DEEDS.index(event[0]), event[1]))[:_MOST_EVENTS]
    return {
        **item(row, config, now),
        "kind": kind,
        "touched": max(_instant(at, row) for _, _, at, _ in events),
        "deeds": {deed: deeds[deed] for deed in DEEDS if deeds[deed]},
        "events": [
            {
                "at": _instant(at, row),
                "line": line,
                "deed": deed,
                "text": one_line(text if row.is_clean else shown(text), _LENGTH),
            }
            for deed, line, at, text in ranked
        ],
    }


def _instant(at: str, row: Row) -> str:
    """Return when a turn began (ISO 8601, UTC); the document's end if the turn has no time."""
    return f"{at.replace(' ', 'T')}:00Z" if at else clock.iso(row.ended)


def _changes(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, time of its turn, argument) of the tool calls that change a file."""
    at = role = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## ["):
            opened = TURN.match(line)
            if opened is not None:
                role, at = opened[2], (opened[3] or "").removeprefix(" · ")
        elif role and line.startswith("- "):
            call = called(role, line)
            if call is not None and KINDS.get(call[0].lower()) == "change" and call[1]:
                yield number, at, call[1]


def _path(argument: str, project: str) -> str:
    """Return the path that a change names, without the number of edits that follows it."""
    path = argument.strip()
    if path.endswith(")") and " (" in path:
        path = path[: path.rindex(" (")]
    path = expanduser(path)
    if not isabs(path) and isabs(expanduser(project)):
        path = join(expanduser(project), path)
    return normpath(path)
