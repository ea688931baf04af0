"""A year of work with agents in figures that can be shown to strangers: prompts by day, tools, the longest streak.

Nothing that a document says is among the figures. Projects are counted, and named only on request.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from contextlib import closing
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import BadInput
from core.redaction import shown_value
from core.text import one_line, printable
from ingest import registry
from qmd.index import catalogue
from qmd.index.store import open_index
from runtime.explaining.activity import COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import apsw

    from core.config import Config
    from core.home import Home

# Tools by the names that their makers give them; a source without a row keeps its own.
_TOOLS = {
    "claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "cursor": "Cursor", "opencode": "OpenCode",
    "copilot": "Copilot CLI", "amp": "Amp", "pi": "Pi", "openclaw": "OpenClaw",
}  # fmt: skip
OTHER = "other tools"
_FIELDS = ("source", "project", "synthetic", "parent", *COUNTED)
_MOST_TOOLS = 6
_MOST_PROJECTS = 5
_NAME_LENGTH = 28
# A prompt's heading (docs/documents.md) and its first line, which tells it from another of the same minute.
_PROMPT = re.compile(r"^## \[\d+\] user · (\d{4}-\d\d-\d\d \d\d:\d\d)$(?=\s*(.{0,200}))", re.MULTILINE)


class _Session:
    """One session: its tool, its project, and the times (epoch seconds) of the prompts that no other session has."""

    __slots__ = ("began", "project", "prompts", "tool")

    def __init__(self, tool: str, project: str, began: int, prompts: list[int]) -> None:
        self.tool, self.project, self.began, self.prompts = tool, project, began, prompts


def card(home: Home, config: Config, year: int | None = None, *, projects: bool = False) -> dict[str, Any]:
    """Return the figures of a year, by default of the last one with a session.

    ``days`` counts prompts by local day (``YYYY-MM-DD``). ``tools`` and ``projects`` have ``name``, ``sessions`` and
    ``prompts``, most prompts first; ``projects`` is None unless asked for, and has the names of folders, not paths.
    ``error`` is ``no_results`` if the year has no session. Raises BadInput, and what opening the index raises.
    """
    if year is not None and not 1970 <= year < 9999:
        raise BadInput(f"there is no year {year}", "a year from 1970 to 9998")
    with closing(open_index(home.index)) as connection:
        sessions = list(_sessions(connection, config))
    years = sorted({_year(at) for session in sessions for at in session.prompts or (session.began,)})
    wanted = year if year is not None else years[-1] if years else time.localtime(clock.now()).tm_year
    days: Counter[str] = Counter()
    tools: dict[str, Counter[str]] = {}
    folders: dict[str, Counter[str]] = {}
    count = 0
    for session in sessions:
        prompts = [at for at in session.prompts if _year(at) == wanted]
        if not prompts and (session.prompts or _year(session.began) != wanted):
            continue
        count += 1
        days.update(time.strftime("%Y-%m-%d", time.localtime(at)) for at in prompts)
        of_session = Counter(sessions=1, prompts=len(prompts))
        tools.setdefault(session.tool, Counter()).update(of_session)
        if session.project:
            folders.setdefault(session.project, Counter()).update(of_session)
    envelope: dict[str, Any] = {
        "schema": 1,
        "ok": True,
        "year": wanted,
        "years": years,
        "sessions": count,
        "prompts": days.total(),
        "active_days": len(days),
        "longest_streak": longest_streak(days),
        "busiest_day": _busiest(days),
        "n_projects": len(folders),
        "tools": _largest(tools, _MOST_TOOLS, OTHER),
        "projects": _largest(_by_name(folders), _MOST_PROJECTS) if projects else None,
        "days": dict(sorted(days.items())),
    }
    return envelope if count else {**envelope, "error": "no_results"}


def longest_streak(days: Mapping[str, int]) -> dict[str, Any] | None:
    """Return the longest run of days in a row: ``days`` (how many), ``since``, ``until``; the last of several."""
    best: tuple[int, date] | None = None
    length, before = 0, date.min
    for name in sorted(days):
        this = date.fromisoformat(name)
        length = length + 1 if this - before == timedelta(days=1) else 1
        before = this
        if best is None or length >= best[0]:
            best = length, this
    if best is None:
        return None
    since = best[1] - timedelta(days=best[0] - 1)
    return {"days": best[0], "since": since.isoformat(), "until": best[1].isoformat()}


def _sessions(connection: apsw.Connection, config: Config) -> Iterator[_Session]:
    """Yield the sessions that a person had; a fork repeats the prompts of its origin, which count once."""
    trusted = config.trusting("session")
    known = frozenset(registry.names())
    seen: set[int] = set()
    rows = [row for row in catalogue.walk(connection, _FIELDS) if row[1] in trusted]
    for _, _, _, digest, began, _, dated, source, project, synthetic, parent, *counted in reversed(rows):
        if synthetic == 1 or parent is not None or any(each is not None for each in counted):
            continue  # no person had it, or it is no session
        prompts: list[int] = []
        for at, words in _PROMPT.findall(catalogue.text(connection, digest) or ""):
            key = hash((at, words))
            instant = _instant(at)
            if instant is not None and key not in seen:
                seen.add(key)
                prompts.append(instant)
        if prompts or dated:
            tool = _TOOLS.get(str(source), str(source)) if source in known else OTHER
            yield _Session(tool, project if isinstance(project, str) else "", began, prompts)


def _instant(stamp: str) -> int | None:
    """Return epoch seconds of a heading's time, which is UTC; None for a day that no calendar has."""
    try:
        return int(datetime.fromisoformat(f"{stamp}+00:00").timestamp())
    except ValueError:
        return None


def _year(instant: int) -> int:
    return time.localtime(instant).tm_year


def _busiest(days: Mapping[str, int]) -> dict[str, Any] | None:
    if not days:
        return None
    day = max(sorted(days), key=lambda name: days[name])
    return {"day": day, "prompts": days[day]}


def _by_name(folders: Mapping[str, Counter[str]]) -> dict[str, Counter[str]]:
    """Return the counts by the last part of each path, as it may be shown: the rest of it says where somebody lives."""
    found: dict[str, Counter[str]] = {}
    for path, counts in folders.items():
        name = re.split(r"[/\\]", path.rstrip("/\\"))[-1]
        said = one_line(printable(str(shown_value(name))), _NAME_LENGTH) or "(no name)"
        found.setdefault(said, Counter()).update(counts)
    return found


def _largest(counts: Mapping[str, Counter[str]], most: int, rest: str = "") -> list[dict[str, Any]]:
    """Return the largest; what is beyond ``most`` is added up under the name ``rest``, if there is one."""
    ordered = sorted(counts, key=lambda name: (name == rest, -counts[name]["prompts"], -counts[name]["sessions"], name))
    if rest and len(ordered) > most:
        ordered, beyond = ordered[: most - 1], ordered[most - 1 :]
        counts = {**counts, rest: sum((counts[name] for name in beyond), Counter())}
        ordered.append(rest)
    return [
        {"name": name, "sessions": counts[name]["sessions"], "prompts": counts[name]["prompts"]}
        for name in ordered[:most]
    ]
