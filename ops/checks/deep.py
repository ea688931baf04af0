"""The checks of ``--deep``: documents against their archive, and known questions against their documents."""

from __future__ import annotations

import os
import random
import tempfile
from contextlib import closing
from os.path import join
from typing import TYPE_CHECKING

import apsw

from core.files import read_or_none
from core.home import Home
from core.sqlite import connect
from ingest import registry
from ingest.archive import archive
from ingest.pipeline import state as known
from ingest.pipeline.run import run
from ops.checks.finding import CheckContext, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAMPLE = 25
# The share of questions that may miss their documents.
_LOST = 0.6


def archive_makes_the_corpus(context: CheckContext) -> Iterator[Finding]:
    """A sample of documents, made again from the archive, has the same bytes."""
    for name, path, reason in _differing(context.home, _SAMPLE, context.now, {each.path for each in context.broken}):
        yield Finding(
            f"archive:{name}",
            "warning",
            f"{path} is not what the archive makes: {reason}",
            f"brain index --source {name}",
        )


def answers_hold(context: CheckContext) -> Iterator[Finding]:
    """Most questions of the personal set still find their documents."""
    from evals.arms import asking
    from evals.arms.registry import Place
    from evals.questions import drawing

    if not os.path.exists(drawing.path(context.home)):
        return
    questions = drawing.load(context.home)[0].questions[:_SAMPLE]
    with asking.ask(Place(context.home, context.config, "", None)) as answer:
        missed = sum(question.relevant.keys().isdisjoint(answer(question.text, 10)) for question in questions)
    if missed > _LOST * len(questions):
        said = f"{missed} of {len(questions)} personal questions no longer find their document"
        yield Finding("recall", "warning", said, "brain eval run")


def _differing(home: Home, count: int, now: float, broken: set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (source, document, difference) for each sampled document that the archive does not reproduce.

    The sample holds up to ``count`` documents per source. Every raw file of a sampled document is archived and not
    in ``broken``. The day seeds the sample, so every document is checked at some time.
    """
    for name in archive.sources(home):
        collection = registry.source(name).collection
        sample = _sample(home, name, broken, count, random.Random(int(now // 86_400)))  # noqa: S311  # nothing secret is drawn
        if not sample:
            continue
        with tempfile.TemporaryDirectory(prefix="brain-deep-") as folder:
            scratch = Home(join(folder, "home"))
            _shelve(home, scratch, name, {path for paths in sample.values() for path in paths})
            _describe(home, scratch, name)
            run(scratch, name, trust_stat=True, rebuild=True, from_archive=True)
            for document in sorted(sample):
                there = read_or_none(home.path(collection, document))
                again = read_or_none(scratch.path(collection, document))
                if again is None:
                    yield name, document, "the archive makes no such document"
                elif there is not None and there != again:
                    yield name, document, f"{len(there)} bytes here, {len(again)} from the archive"


def _sample(home: Home, source: str, broken: set[str], count: int, draw: random.Random) -> dict[str, set[str]]:
    """Return document → raw files for up to ``count`` documents that the archive holds completely."""
    archived = set(archive.read(home, source)) - broken
    with closing(known.State(home)) as state:
        rows = {row.name: row.unit for row in state.units(source).values()}
        members = state.members(source)
    whole = sorted(name for name, unit in rows.items() if members.get(unit) and members[unit] <= archived)
    return {name: members[rows[name]] for name in draw.sample(whole, min(count, len(whole)))}


def _shelve(home: Home, scratch: Home, source: str, paths: set[str]) -> None:
    """Make an archive in ``scratch`` that names only ``paths`` and companion files, with links to the real objects."""
    raw, shelf = home.path(archive.FOLDER), scratch.path(archive.FOLDER)
    os.makedirs(shelf, 0o700)
    for entry in os.scandir(raw):
        if not entry.name.startswith(archive.CATALOGUE):
            os.symlink(entry.path, join(shelf, entry.name))
    real = connect(join(raw, archive.CATALOGUE), apsw.SQLITE_OPEN_READWRITE)
    copy = connect(join(shelf, archive.CATALOGUE))
    try:
        with copy.backup("main", real, "main") as backup:
            backup.step()
        kept = [(source, os.fsencode(path)) for path in paths]
        copy.execute("create temp table kept(source, path, primary key(source, path))")
        copy.executemany("insert or ignore into kept values(?, ?)", kept)
        copy.execute(
            "delete from files where version != ? and (source, path) not in (select source, path from kept)",
            (archive.COMPANION,),
        )
    finally:
        copy.close()
        real.close()


def _describe(home: Home, scratch: Home, source: str) -> None:
    """Note in ``scratch`` what sessions say of the subagents that they started: a sample may lack the sessions."""
    changes = known.Changes()
    with closing(known.State(home)) as state:
        changes.links = state.links(source)
    with closing(known.State(scratch)) as state:
        state.save(source, changes)


CHECKS = (archive_makes_the_corpus, answers_hold)
