"""The child process: ``index`` or ``embed`` a home, or ``ask`` an arm. A job on stdin, JSON lines on stdout."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from core import config
from core.errors import BrainError, LockContention
from core.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable

    from evals.arms.registry import Place

    Say = Callable[[dict[str, Any]], None]


_LEFTOVER_S = 60


def main() -> None:
    """Read the job and do it."""
    # Output of libraries must not mix with the JSON lines.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job = json.load(sys.stdin)

    def say(value: dict[str, Any]) -> None:
        out.write(json.dumps(value) + "\n")
        out.flush()

    {"index": index, "embed": embed, "ask": ask}[job["op"]](job, say)


def index(job: dict[str, Any], say: Say) -> None:
    """Index the home; says how many documents it has, and which modules had a part in making it."""
    from evals.sets.own import documents_of
    from runtime.capture.indexing import index as run

    home = Home(job["home"])
    transcripts = os.path.join(home.root, "transcripts")
    report = run(home, config.load(home), roots=[transcripts], rebuild=job["rebuild"])
    failed = sum(len(report["sources"][name]["failed"]) for name in report["sources"])
    failed += sum(change["failed"] for change in report["collections"].values())
    say({"documents": len(documents_of(home)), "failed": failed, "modules": _modules()})


def embed(job: dict[str, Any], say: Say) -> None:
    """Give the home's documents vectors of the local model; says how far it is, then which modules had a part in it."""
    from runtime.watching.embedding import be_nice
    from runtime.watching.embedding import embed as run

    be_nice()
    home = Home(job["home"])

    def progress(done: int, total: int, _: str) -> None:
        say({"done": done, "total": total})

    # A process that still embeds here was left by a killed run; it ends once it finds its parent gone.
    until = time.monotonic() + _LEFTOVER_S
    while True:
        try:
            report = run(home, config.load(home), os.environ, progress=progress)
            break
        except LockContention:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
    say({"pending": report["pending"], "model": f"{report['provider']}/{report['model']}", "modules": _modules()})


def _modules() -> list[str]:
    return sorted(
        file
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in ("core", "ingest", "qmd", "runtime")
        and (file := getattr(module, "__file__", None))
    )


def ask(job: dict[str, Any], say: Say) -> None:
    """Ask the arm; says an answer a question, then what it took, or why the arm cannot run."""
    from evals.arms.registry import ARMS, Unavailable

    arm = ARMS[job["arm"]]
    asked = 0
    for spec in job["corpora"]:
        place = _place(spec, job.get("configuration") or {})
        try:
            with arm.open(place, job["options"]) as answer:
                for question in spec["questions"]:
                    say(_answer(answer, place, question, job["depth"]))
                    asked += 1
        except Unavailable as reason:
            say({"unavailable": str(reason)})
            return
    times = os.times()
    say({"asked": asked, "peak_bytes": peak(), "cpu_s": round(times.user + times.system, 3)})


def _place(spec: dict[str, Any], configuration: dict[str, Any]) -> Place:
    from evals.arms.registry import Place

    ids = None
    if spec["ids"]:
        with open(spec["ids"], encoding="utf-8") as stream:
            ids = json.load(stream)
    home = Home(spec["home"], spec["inbox"])
    found = config.load(home)
    found.data.update(configuration)
    return Place(home, found, spec["scope"], ids)


def _answer(answer: Any, place: Place, question: list[str], depth: int) -> dict[str, Any]:
    from evals.arms.registry import Found

    identity, text = question
    row: dict[str, Any] = {"id": identity}
    started = time.perf_counter()
    try:
        found = answer(text, depth)
    except BrainError as error:
        found = []
        row["error"] = f"{error.error}: {error.message}"
    row["ms"] = round((time.perf_counter() - started) * 1000, 3)
    row["ranked"] = [place.identify(each) for each in found]
    if isinstance(found, Found):
        row["clock"] = found.clock
    return row


def peak() -> int:
    """Peak resident bytes of this process, or of the greatest of its children where that is more."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024  # getrusage(2)
    return max(_own_peak(unit), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit)


def _own_peak(unit: int) -> int:
    # The kernel's ru_maxrss is handed on by exec(2), so it may be the parent's; VmHWM is not.
    status = "/proc/self/status"
    if os.path.exists(status):
        with open(status, encoding="ascii") as stream:
            for line in stream:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
