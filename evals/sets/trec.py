"""TREC-style sets, BEIR's among them: queries, judgements (qrels) and the documents, each in one of several files.

- ``queries.tsv``: id, text, and optionally the question's type, tab-separated; or ``queries.jsonl``: an object a line
  with ``_id`` (or ``id``), ``text`` and optionally ``type``.
- ``qrels.tsv``: id, document, grade; or TREC's four fields, id, iteration, document, grade
  (https://trec.nist.gov/data/qrels_eng/). A grade of 0 or less is not relevant. BEIR has a folder ``qrels/`` with such
  files (``test.tsv``, ``dev.tsv``, ``train.tsv``), of which ``test.tsv`` is meant, else all.
- ``docs.jsonl`` or BEIR's ``corpus.jsonl``: an object a line with ``id`` (or ``_id``), ``title``, ``body`` (or
  ``text``), and optionally ``date`` and ``tags``.
- ``docs/``: files of any ending; the id is the path below the folder, with or without the ending.

Columns may have a line of headings, as BEIR's have (https://github.com/beir-cellar/beir/wiki/Load-your-custom-dataset),
and each file may be packed by gzip.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from evals.sets import files
from evals.sets.dataset import Corpus, Dataset, Question, clean, digest, repeated
from evals.sets.files import write_files, write_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_GRADES = ("grade", "label", "rel", "relevance", "relevant", "score")
_HEADINGS = ("query-id", "qid", "query_id", "id", "_id", "query", "question-id", "question_id", "topic")
_QUERIES = ("queries.tsv", "queries.jsonl")
_QRELS = "qrels"
_TEST = "test.tsv"
_RECORDS = ("docs.jsonl", "corpus.jsonl")


def is_set(folder: Path) -> bool:
    """Return True if ``folder`` holds such a set."""
    return _first(folder, _QUERIES) is not None and bool(_qrels(folder))


def is_qrels(path: Path) -> bool:
    """Return True if ``path`` is one of the files in a set's ``qrels/``."""
    return path.parent.name == _QRELS and files.plain(path).endswith(".tsv") and is_set(path.parent.parent)


def read(folder: Path, qrels: Path | None = None) -> Dataset:
    """The set in ``folder``, named after it; with ``qrels``, by that file of its folder of that name, and named after
    both. Raises BadInput, naming file and line, where it does not hold.
    """
    name = folder.absolute().name
    if qrels is not None:
        name += f"-{files.stem(qrels)}"
    corpus, known = _documents(folder, name)
    relevant: dict[str, dict[str, int]] = {}
    for path in [qrels] if qrels is not None else _qrels(folder):
        for query, document, grade in _judgements(path):
            if grade > 0:
                relevant.setdefault(query, {})[known.get(document, document)] = grade
    queries = _first(folder, _QUERIES)
    if queries is None:
        raise BadInput(f"{folder}: judgements without queries", "add queries.tsv or queries.jsonl")
    questions = []
    left_out = 0
    for identity, text, kind in _queries(queries):
        if identity in relevant and (text := clean(text)):
            questions.append(Question(identity, text, name, relevant[identity], kind))
        else:
            left_out += 1
    if not questions:
        raise BadInput(f"{folder}: no query has a relevant document", f"check the ids in {queries.name} and {_QRELS}")
    if twice := repeated(question.id for question in questions):
        raise BadInput(f"{queries}: two queries of the id {twice!r}", "give each an id of its own")
    key = digest([corpus.key, *(f"{q.id}\t{q.text}\t{q.kind}\t{sorted(q.relevant.items())}" for q in questions)])
    return Dataset(name, [corpus], questions, key, left_out)


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    return next((path for name in names if (path := files.there(folder, name)) is not None), None)


def _qrels(folder: Path) -> list[Path]:
    """The files of judgements that are meant where none is named."""
    one = files.there(folder, f"{_QRELS}.tsv") or files.there(folder / _QRELS, _TEST)
    if one is not None or not (folder / _QRELS).is_dir():
        return [one] if one is not None else []
    found = {files.plain(path): path for path in sorted((folder / _QRELS).iterdir(), reverse=True) if path.is_file()}
    return [path for name, path in sorted(found.items()) if name.endswith(".tsv") and not name.startswith(".")]


def _judgements(path: Path) -> Iterator[tuple[str, str, int]]:
    """(query, document, grade) of each line."""
    for number, fields in _rows(path, 3):
        query, document, grade = (fields[0], fields[2], fields[3]) if len(fields) > 3 else fields[:3]
        if number == 1 and grade.casefold() in _GRADES:
            continue
        try:
            value = _grade(grade)
        except ValueError:
            raise BadInput(f"{path}:{number}: {grade!r} is no grade", "a whole number") from None
        yield query, document, value


def _queries(path: Path) -> Iterator[tuple[str, Any, str]]:
    """(id, text, type) of each line."""
    if files.plain(path).endswith(".jsonl"):
        for record in _records(path, "query"):
            kind = record.get("type")
            yield record["id"], record.get("text"), kind if isinstance(kind, str) else ""
        return
    for _, fields in _rows(path, 2, most=2):
        yield fields[0], fields[1], fields[2] if len(fields) > 2 else ""


def _grade(text: str) -> int:
    """A grade, also one written ``1.0``. Raises ValueError for what is no whole number."""
    value = float(text)
    if not value.is_integer():  # nor are NaN and infinity
        raise ValueError(text)
    return int(value)


def _rows(path: Path, least: int, most: int = 0) -> list[tuple[int, list[str]]]:
    """(line, fields) of each line that is not empty; a first line of headings is none.

    Fields are parted by tabs; in a line without one by spaces, into no more than ``most`` (0: any number).
    """
    rows = []
    for number, line in enumerate(files.text(path).split("\n"), 1):
        if not line.strip():
            continue
        parts = line.split("\t") if "\t" in line else line.split(maxsplit=most - 1)
        fields = [field.strip() for field in parts]
        while len(fields) > least and not fields[-1]:
            fields.pop()  # what a spreadsheet leaves at the end of a line
        if number == 1 and fields[0].lower() in _HEADINGS:
            continue
        if len(fields) < least:
            raise BadInput(f"{path}:{number}: expected {least} fields, separated by tabs", f"edit {path}")
        rows.append((number, fields))
    return rows


def _documents(folder: Path, name: str) -> tuple[Corpus, dict[str, str]]:
    """The corpus, and the id for each name that qrels may use."""
    jsonl, below = _first(folder, _RECORDS), folder / "docs"
    if jsonl is not None:
        records = _records(jsonl, "document")
        key = digest(["records", *(json.dumps(record, sort_keys=True) for record in records)])
        return Corpus(name, key, "documents", lambda place: write_records(records, place)), {}
    if below.is_dir():
        return file_corpus(below, name)
    raise BadInput(f"{folder}: queries without documents", "add docs.jsonl, corpus.jsonl, or a folder docs/")


def file_corpus(folder: Path, name: str) -> tuple[Corpus, dict[str, str]]:
    """A corpus of the files below a folder, and the id (the path) for each path with and without its ending."""
    below = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    data = {
        relative.as_posix(): path
        for relative, path in below.items()
        if not any(part.startswith(".") for part in relative.parts)
    }
    if not data:
        raise BadInput(f"{folder} holds no documents", "put the documents there")
    key = digest(part for relative, path in data.items() for part in (relative, path.read_bytes().hex()))
    known: dict[str, str] = {}
    for relative in data:
        known.setdefault(relative.rpartition(".")[0] or relative, relative)
    return Corpus(name, key, "files", lambda place: write_files(data, place)), known


def _records(path: Path, what: str) -> list[dict[str, Any]]:
    records = []
    seen: set[str] = set()
    for number, line in enumerate(files.text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path}:{number}: not JSON: {error}", f"edit {path}") from None
        identity = record.get("id", record.get("_id")) if isinstance(record, dict) else None
        if not isinstance(identity, str | int) or str(identity) in seen:
            raise BadInput(f"{path}:{number}: a {what} needs an `id` of its own", f"edit {path}")
        seen.add(str(identity))
        records.append({**record, "id": str(identity)})
    return records
