"""qmd's ``bench`` fixtures: questions with the files that are expected (``qmd.app.bench`` has their form).

``corpus.json`` and a folder ``corpus/`` or ``docs/`` next to it form a set. Without such a folder the user's brain is
asked, in the collection that the fixture names.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from evals.sets import files
from evals.sets.dataset import Corpus, Dataset, Question, clean, digest, repeated
from evals.sets.own import corpus_of, documents_of
from evals.sets.trec import file_corpus
from qmd.app import bench

if TYPE_CHECKING:
    from core.home import Home


def is_set(data: Any) -> bool:
    """Return True if parsed JSON looks like a fixture; ``read`` reports its faults."""
    return isinstance(data, dict) and isinstance(data.get("queries"), list)


def read(path: Path, data: dict[str, Any], home: Home) -> Dataset:
    """The fixture in ``path``, parsed as ``data``. Raises BadInput; EngineMissing where it needs an index."""
    try:
        queries = bench.check(data)
    except bench.FixtureError as error:
        raise BadInput(f"{path}: {error}", f"edit {path}") from None
    beside = next((folder for name in (files.stem(path), "docs") if (folder := path.with_name(name)).is_dir()), None)
    corpus: Corpus
    if beside is not None:
        corpus, names = file_corpus(beside, files.stem(path))
        known = sorted(set(names.values()))
    else:
        corpus = corpus_of(home, str(data.get("collection") or ""))
        known = documents_of(home, corpus.scope)
    questions = []
    for index, query in enumerate(queries):
        relevant = {}
        for expected in map(str, query["expected_files"]):
            # One that is not there stays expected: it is missed, as it is in qmd's own count.
            same = [document for document in known if bench.is_same(document, expected)]
            relevant.update(dict.fromkeys(same or [expected], 1))
        if relevant and (text := clean(query["query"])):
            kind = str(query.get("type") or "")
            questions.append(Question(str(query.get("id") or index), text, corpus.name, relevant, kind))
    if not questions:
        raise BadInput(f"{path}: no query expects a file", f"edit {path}: expected_files")
    if twice := repeated(question.id for question in questions):
        raise BadInput(f"{path}: two queries of the id {twice!r}", "give each an id of its own")
    key = digest([corpus.key, *(f"{q.id}\t{q.text}\t{sorted(q.relevant)}\t{q.kind}" for q in questions)])
    return Dataset(files.stem(path), [corpus], questions, key, len(queries) - len(questions))
