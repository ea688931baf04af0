"""What runs in the child: ``index`` a scratch home, or ``ask`` an arm. A job on stdin, JSON lines on stdout."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from core import config
from core.errors import BrainError
from core.home import Home

if TYPE_CHECKING:
    from evals.arms import Place


def main() -> None:
    """Read the job and do it."""
    # What libraries print must not mix with what is said here.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job = json.load(sys.stdin)
    for value in index(job) if job["op"] == "index" else ask(job):
        out.write(json.dumps(value) + "\n")
        out.flush()


def index(job: dict[str, Any]) -> Any:
    """Index the home; yields its number of documents and the modules that had a part in making it."""
    from evals.own import documents_of
    from runtime.indexing import index as run

    home = Home(job["home"])
    transcripts = os.path.join(home.root, "transcripts")
    report = run(home, config.load(home), roots=[transcripts], rebuild=job["rebuild"])
    yield {
        "documents": len(documents_of(home)),
        "failed": sum(len(report["sources"][name]["failed"]) for name in report["sources"])
        + sum(change["failed"] for change in report["collections"].values()),
        "modules": sorted(
            module.__file__
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] in ("core", "ingest", "qmd", "runtime") and getattr(module, "__file__", None)
        ),
    }


def ask(job: dict[str, Any]) -> Any:
    """Ask the arm; yields an answer a question, then what it took, or why the arm cannot run."""
    from evals.arms import ARMS, Unavailable

    arm = ARMS[job["arm"]]
    asked = 0
    for spec in job["corpora"]:
        place = _place(spec)
        try:
            with arm.open(place, job["options"]) as answer:
                for question in spec["questions"]:
                    yield _answer(answer, place, question, job["depth"])
                    asked += 1
        except Unavailable as reason:
            yield {"unavailable": str(reason)}
            return
    times = os.times()
    yield {"asked": asked, "peak_bytes": peak(), "cpu_s": round(times.user + times.system, 3)}


def _place(spec: dict[str, Any]) -> Place:
    from evals.arms import Place

    ids = None
    if spec["ids"]:
        with open(spec["ids"], encoding="utf-8") as stream:
            ids = json.load(stream)
    home = Home(spec["home"], spec["inbox"])
    return Place(home, config.load(home), spec["scope"], ids)


def _answer(answer: Any, place: Place, question: list[str], depth: int) -> dict[str, Any]:
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
