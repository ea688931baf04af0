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
    from collections.abc import Callable, Iterable

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
    """Index the home; says how many documents it has, and which modules had a part in making it.

    ``sources`` of the job are folders of raw files by source; ``made`` in the answer then maps each raw file, relative
    to ``base``, to the documents made of it.
    """
    from evals.sets.own import documents_of
    from runtime.capture.indexing import index as run

    home = Home(job["home"])
    transcripts = os.path.join(home.root, "transcripts")
    failed = 0
    for source, roots in job["sources"].items() or [(None, [transcripts])]:
        report = run(home, config.load(home), source=source, roots=roots, rebuild=job["rebuild"])
        failed += sum(len(report["sources"][name]["failed"]) for name in report["sources"])
        failed += sum(change["failed"] for change in report["collections"].values())
    made = _made(home, job["sources"], job["base"])
    say({"documents": len(documents_of(home)), "failed": failed, "made": made, "modules": _modules()})


def _made(home: Home, sources: Iterable[str], base: str) -> dict[str, list[str]]:
    """Return raw file, relative to ``base`` → ``collection/path`` of the documents made of it."""
    from ingest import registry
    from ingest.pipeline.state import State

    made: dict[str, list[str]] = {}
    state = State(home)
    try:
        for source in sources:
            units = state.units(source)
            collection = registry.source(source).collection
            for unit, paths in state.members(source).items():
                for path in paths if unit in units else ():
                    made.setdefault(os.path.relpath(path, base), []).append(f"{collection}/{units[unit].name}")
    finally:
        state.close()
    return {path: sorted(names) for path, names in sorted(made.items())}


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


def _answer(answer: Any, place: Place, question: list[Any], depth: int) -> dict[str, Any]:
    from evals.arms.registry import BUDGETS, ArmAnswer
    from evals.sets import spans

    identity, text, wanted = question
    row: dict[str, Any] = {"id": identity}
    started = time.perf_counter()
    try:
        found = answer(text, depth)
    except BrainError as error:
        found = []
        row["error"] = f"{error.error}: {error.message}"
    row["ms"] = round((time.perf_counter() - started) * 1000, 3)
    row["ranked"] = [place.identify(each) for each in found]
    if isinstance(found, ArmAnswer):
        if found.clock:
            row["clock"] = found.clock
        if found.nearest:
            row["nearest"] = [place.identify(each) for each in found.nearest]
        if found.is_marked:
            row["marked"] = True
        if wanted and found.snippets is not None:
            # Ranks alone are kept: a run's folder contains no text of the documents.
            row["shown"] = {str(budget): spans.first(wanted, found.snippets(budget), budget) for budget in BUDGETS}
    elif wanted and "error" in row:
        row["shown"] = dict.fromkeys(map(str, BUDGETS), 0)
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
