"""The table of scheduled jobs, from which every scheduler's files are made.

Times are the machine's local ones, as launchd, systemd and cron read them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import LOCKED, MISSING, OK, REFUSED, TIMEOUT, BadInput
from ingest import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

# The exit code of a check that has something to report.
FINDINGS = 1
_HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a job: the words after ``brain``, and its time limit in seconds.

    A step that is not ``cheap`` waits while the machine runs on its battery. ``fine`` are exit codes that are no
    failure: another run holds the lock, or there is nothing to judge yet.
    """

    words: tuple[str, ...]
    timeout_s: int
    cheap: bool = True
    fine: tuple[int, ...] = (OK,)


@dataclass(frozen=True, slots=True)
class Job:
    """Steps at the given ``minutes`` of every hour, or of one ``hour`` of the day.

    ``script`` is a file of the checkout that does the same without a working Python; it is preferred to the steps.
    """

    name: str
    summary: str
    minutes: tuple[int, ...]
    steps: tuple[Step, ...]
    hour: int | None = None
    script: str = ""


# The minutes are odd on purpose: jobs of many programs start on the hour.
_BEFORE = (
    Job(
        "doctor",
        "is everything as it should be; a finding becomes a notification",
        minutes=(7,),
        steps=(Step(("doctor",), 600, fine=(OK, FINDINGS)),),
        script="doctor.sh",
    ),
    Job(
        "background",
        "new sessions into the corpus and the index, vectors for what lacks them, distillates",
        minutes=(19, 49),
        steps=(
            Step(("index", "--new", "--queue"), 3600, fine=(OK, LOCKED)),
            Step(("embed", "--budget", "15m"), 1800, cheap=False, fine=(OK, LOCKED)),
            Step(("distill", "--from-pending", "--limit", "50"), 1800, cheap=False, fine=(OK, LOCKED)),
        ),
    ),
)
_AFTER = (
    Job(
        "sync",
        "this machine's documents to the others, and theirs to this one, where a remote is known",
        minutes=(33,),
        steps=(Step(("sync", "--if-remote"), 1800, fine=(OK, LOCKED)),),
    ),
    Job(
        "team",
        "what is shared to the team's server, where a team is configured",
        minutes=(53,),
        # A server out of reach is no failure of the job: the doctor says since when nothing was pushed.
        steps=(Step(("team", "push", "--if-shared"), 3000, fine=(OK, LOCKED, MISSING, TIMEOUT)),),
    ),
    Job(
        "acceptance",
        "the verdict on a week that is over: continue, pivot or teardown",
        hour=9,
        minutes=(43,),
        steps=(Step(("acceptance",), 600, fine=(OK, FINDINGS, REFUSED)),),
    ),
)


def every_job() -> tuple[Job, ...]:
    """Return all jobs: Brain's own, and one for each source that is read daily (``Collector.daily``)."""
    sources = (
        Job(
            source.name,
            source.daily.summary,
            hour=source.daily.hour,
            minutes=(source.daily.minute,),
            steps=(Step(("index", "--source", source.name), 1800, fine=(OK, LOCKED)),),
        )
        for source in registry.collectors()
        if source.daily is not None
    )
    return (*_BEFORE, *sources, *_AFTER)


def job(name: str) -> Job:
    """Return the job of that name. Raises BadInput."""
    known = every_job()
    for each in known:
        if each.name == name:
            return each
    raise BadInput(f"there is no job {name!r}", f"one of: {', '.join(each.name for each in known)}")


def previous(which: Job, now: float) -> float:
    """Return the latest instant at or before ``now`` at which the job was to run (epoch seconds)."""
    return max(instant for instant in _around(which, now) if instant <= now)


def upcoming(which: Job, now: float) -> float:
    """Return the first instant after ``now`` at which the job is to run (epoch seconds)."""
    return min(instant for instant in _around(which, now) if instant > now)


def due(which: Job, last: float | None, now: float) -> bool:
    """Return True if a run is due; ``last`` is the start of the last one. A start in the future means a clock that was
    set back.
    """
    return last is None or last > now or last < previous(which, now)


def _around(which: Job, now: float) -> Iterator[float]:
    local = time.localtime(now)
    if which.hour is None:
        # Whole hours are counted from the local one, as some zones are half an hour off.
        top = now - local.tm_min * 60 - local.tm_sec - now % 1
        for hours in (-1, 0, 1):
            for minute in which.minutes:
                yield top + hours * _HOUR_S + minute * 60
        return
    for days in (-1, 0, 1):
        for minute in which.minutes:
            # mktime takes days beyond a month's, and asks the zone whether it is summer.
            day = (local.tm_year, local.tm_mon, local.tm_mday + days, which.hour, minute, 0, 0, 0, -1)
            yield time.mktime(day)
