"""Running arms over sets: every answer is kept as it comes, so that a run that was cut short goes on where it was."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core import clock, config
from core.config_yaml import parse
from core.errors import BadInput
from core.files import FileLock, write_atomic
from core.home import make_private
from core.version import VERSION
from evals.arms import child
from evals.arms.registry import BASELINES
from evals.runs import metrics, store, tally
from evals.runs.cold import measure as measure_cold
from evals.runs.corpora import Built, build, sweep, without_table
from evals.sets.dataset import UNANSWERABLE, Question, digest, foreign, select

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.home import Home
    from evals.arms.registry import Chosen
    from evals.sets.dataset import Dataset

    Progress = Callable[[int, int, str], None]

FOREIGN = 200
_ROOMS = ("core", "ingest", "qmd", "runtime", "cli", "evals")
_KEPT_S = 30 * 86_400


class Settings(NamedTuple):
    """``split`` of the questions, at most ``sample`` of each set (0: all), ``cold`` whole-process questions an arm.

    ``half`` selects the half that the sets assign, "" for both.
    """

    split: str = "all"
    sample: int = 0
    cold: int = 0
    baseline: str = ""
    half: str = ""


def run(
    home: Home,
    datasets: Sequence[Dataset],
    arms: Sequence[Chosen],
    settings: Settings,
    *,
    fresh: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Ask every question of every arm; returns what is kept as ``state/eval/runs/ID/run.json``.

    An earlier run of the same questions, arms, settings and code that did not end is gone on with, unless ``fresh``.
    Raises BadInput where there is nothing to ask or nothing to compare with.
    """
    if not arms or len({arm.label for arm in arms}) < len(arms):
        raise BadInput("name each arm once", "brain eval run --help")
    baseline = _baseline([arm.label for arm in arms], settings.baseline)
    code = digest(_sources())
    configuration = _configuration(home)
    names = (*(d.key for d in datasets), *(arm.label for arm in arms))
    key = digest([code, json.dumps(configuration, sort_keys=True), *map(str, settings[:3]), settings.half, *names])
    partial = os.path.join(home.state, "eval", "partial", key)
    make_private(os.path.dirname(partial))
    with FileLock(f"{partial}.lock", 0):
        if fresh:
            shutil.rmtree(partial, ignore_errors=True)
        resumed = os.path.isdir(partial)
        make_private(partial)
        sets = [
            _run_set(home, d, datasets, arms, settings, baseline, partial, configuration, progress) for d in datasets
        ]
        result = {
            "schema": 1,
            "ok": True,
            "run": f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}",
            "ts": clock.iso(clock.now()),
            "version": VERSION,
            "code": code,
            "resumed": resumed,
            "split": settings.split,
            "half": settings.half or "all",
            "baseline": baseline,
            "sets": sets,
        }
        write_atomic(os.path.join(partial, "run.json"), json.dumps(result).encode())
        make_private(store.folder(home))
        os.rename(partial, os.path.join(store.folder(home), str(result["run"])))
    os.unlink(f"{partial}.lock")
    sweep(home)
    _sweep_partial(os.path.dirname(partial))
    return result


def _baseline(labels: Sequence[str], given: str) -> str:
    if given:
        if given not in labels:
            raise BadInput(f"the baseline {given!r} is not among the arms", f"--arm {given}")
        return given
    return next((name for name in BASELINES if name in labels), labels[0])


def _run_set(
    home: Home,
    dataset: Dataset,
    datasets: Sequence[Dataset],
    arms: Sequence[Chosen],
    settings: Settings,
    baseline: str,
    partial: str,
    configuration: dict[str, Any],
    progress: Progress | None,
) -> dict[str, Any]:
    built = {}
    for number, corpus in enumerate(dataset.corpora):
        _tell(progress, number, len(dataset.corpora), f"{dataset.name}: corpora")
        built[corpus.name] = build(home, corpus, vectors=any(arm.vectors for arm in arms), progress=progress)
    _tell(progress, len(built), len(built), f"{dataset.name}: corpora")
    selected = select(dataset.questions, settings.split, settings.sample, settings.half)
    questions = [built[q.corpus].resolve(q) for q in selected if q.relevant]
    if not questions:
        which = " of ".join(filter(None, (settings.half, f"the split {settings.split!r}")))
        raise BadInput(f"{dataset.name}: no question in {which}", "--split all, --half all")
    strangers = [q for q in selected if q.kind in UNANSWERABLE]
    strangers += foreign(datasets, dataset, settings.split, FOREIGN)
    store.write_questions(partial, dataset.name, questions)
    rows: dict[str, dict[str, Any]] = {}
    answers: dict[str, dict[str, dict[str, Any]]] = {}
    for arm in arms:
        asked = select(questions, "all", arm.arm.most) + _few(strangers, arm.arm.most)
        file = store.answers_file(partial, dataset.name, arm.label)
        given, end = _ask(arm, asked, built, file, progress, f"{dataset.name}: {arm.label}", configuration)
        if "unavailable" in end:
            rows[arm.label] = {"arm": arm.label, "skipped": end["unavailable"]}
            continue
        answers[arm.label] = given
        rows[arm.label] = {"arm": arm.label, **tally.row(asked, given), "peak_bytes": end.get("peak_bytes")}
        if settings.cold:
            rows[arm.label].update(measure_cold(arm, questions, built, settings.cold))
    if baseline in answers:
        for label, given in answers.items():
            if label != baseline:
                rows[label]["against"] = {"arm": baseline, **tally.against(questions, answers[baseline], given)}
    # A cold process encodes questions by this table. Without it a set is asked by words, whatever the arm's name.
    cold = any(arm.arm.cold for arm in arms)
    reasons = {name: without_table(each) for name, each in built.items()} if cold else {}
    return {
        "name": dataset.name,
        "key": dataset.key,
        "corpora": len(built),
        "documents": sum(each.documents for each in built.values()),
        "questions": len(questions),
        "left_out": dataset.left_out,
        **dataset.about,
        "without_query_table": {name: why for name, why in reasons.items() if why},
        "arms": list(rows.values()),
    }


def _few(strangers: Sequence[Question], most: int) -> list[Question]:
    kinds = dict.fromkeys(question.kind for question in strangers)
    return [q for kind in kinds for q in select([s for s in strangers if s.kind == kind], "all", most)]


def _ask(
    arm: Chosen,
    asked: Sequence[Question],
    built: dict[str, Built],
    file: str,
    progress: Progress | None,
    what: str,
    configuration: dict[str, Any],
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """(answer by question, how it ended): what ``file`` has of an earlier run, and the rest asked now.

    ``configuration`` is what of the user's own holds in scratch homes, too.
    """
    given, end = store.answers(file, cut=True)
    _tell(progress, len(given), len(asked), what)
    if end and ("unavailable" in end or len(given) == len(asked)):
        return given, end
    todo: dict[str, list[Question]] = {}
    for question in asked:
        if question.id not in given:
            todo.setdefault(question.corpus, []).append(question)
    end = {"peak_bytes": 0}
    for is_scratch in (True, False):
        corpora = [name for name in todo if built[name].is_scratch == is_scratch]
        if not corpora:
            continue
        job = {
            "op": "ask",
            "arm": arm.arm.name,
            "options": arm.options,
            "depth": metrics.DEPTH,
            "configuration": configuration,
            "corpora": [{**built[n].spec(), "questions": [[q.id, q.text, q.spans] for q in todo[n]]} for n in corpora],
        }
        with open(file, "ab") as stream:
            for value in child.work(job, built[corpora[0]].environment()):
                stream.write(json.dumps(value).encode() + b"\n")
                stream.flush()
                if "id" in value:
                    given[value["id"]] = value
                    _tell(progress, len(given), len(asked), what)
                else:
                    end = value
    return given, end


def _configuration(home: Home) -> dict[str, Any]:
    """The user's own reranker and generator: arms need them, and a scratch home names none."""
    found = parse(config.locate(home))  # its cache is no part of an evaluation
    return {name: found[name] for name in ("generation", "models", "rerank") if found.get(name)}


def _sources() -> Iterable[str]:
    for room in _ROOMS:
        for path in sorted(Path(child.ROOT, room).rglob("*.py")):
            yield path.read_text(encoding="utf-8")


def _sweep_partial(parent: str) -> None:
    for path in Path(parent).iterdir():
        if time.time() - path.stat().st_mtime > _KEPT_S:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _tell(progress: Progress | None, done: int, total: int, what: str) -> None:
    if progress is not None:
        progress(done, total, what)
