"""The doctor's long look (``--deep``): documents against the archive they came from, answers against the answers "
"known."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from core.errors import BrainError
from ops.finding import Finding, Patient

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAMPLE = 25
# The share of questions that may find none of their documents.
_LOST = 0.6


def archive_makes_the_corpus(patient: Patient) -> Iterator[Finding]:
    """A sample of documents, made again from the archive, has the same bytes."""
    from ops.deep_sample import remade

    for name, path, reason in remade(patient.home, _SAMPLE, patient.now, {each.path for each in patient.broken}):
        yield Finding(
            f"archive:{name}",
            "warning",
            f"{path} is not what the archive makes: {reason}",
            f"brain index --source {name}",
        )


def full_text_is_sound(patient: Patient) -> Iterator[Finding]:
    """FTS5's own check of its tables, which writes nothing but needs to be allowed to."""
    import apsw

    from qmd.index.store import open_index, translate

    if not patient.has_index:
        return
    try:
        connection = open_index(patient.home.index, write=True)
    except BrainError as error:
        yield Finding("fts-unchecked", "notice", error.message, error.fix)
        return
    try:
        for table in ("documents_fts", "brain_passages"):
            try:
                connection.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')").fetchall()
            except apsw.Error as error:
                said = translate(error, patient.home.index).message
                yield Finding(f"fts-damaged:{table}", "error", f"{table}: {said}", "brain index --rebuild")
    finally:
        connection.close()


def answers_hold(patient: Patient) -> Iterator[Finding]:
    """Most of a sample of the personal question set still finds its documents."""
    from evals import arms_ask, personal
    from evals.arms import Place

    if not os.path.exists(personal.path(patient.home)):
        return
    questions = personal.load(patient.home)[0].questions[:_SAMPLE]
    with arms_ask.ask(Place(patient.home, patient.config, "", None)) as answer:
        missed = sum(question.relevant.keys().isdisjoint(answer(question.text, 10)) for question in questions)
    if missed > _LOST * len(questions):
        said = f"{missed} of {len(questions)} personal questions no longer find their document"
        yield Finding("recall", "warning", said, "brain eval run")


CHECKS = (full_text_is_sound, archive_makes_the_corpus, answers_hold)
