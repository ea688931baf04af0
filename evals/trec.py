"""TREC-style sets: ``queries.tsv``, ``qrels.tsv`` and the documents, as ``docs.jsonl`` or as a folder ``docs/``.

- ``queries.tsv``: id, text, and optionally the question's type, tab-separated.
- ``qrels.tsv``: id, document, grade; or TREC's four fields, id, iteration, document, grade
  (https://trec.nist.gov/data/qrels_eng/). A grade of 0 or less is not relevant.
- ``docs.jsonl``: an object a line with ``id``, ``title``, ``body`` (or ``text``), and optionally ``date`` and ``tags``.
- ``docs/``: files of any ending, whose id is the path below the folder, with or without its ending.

Columns may have a line of headings, as BEIR's have.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.errors import BadInput
from evals.dataset import Corpus, Dataset, Question, clean, digest, repeated
from evals.documents import write_files, write_records

_GRADES = ("grade", "label", "rel", "relevance", "relevant", "score")
_HEADINGS = ("query-id", "qid", "query_id", "id", "_id", "query", "question-id", "question_id", "topic")


def is_set(folder: Path) -> bool:
    """Whether ``folder`` holds such a set."""
    return (folder / "queries.tsv").is_file() and (folder / "qrels.tsv").is_file()


def read(folder: Path) -> Dataset:
    """The set in ``folder``, named after it. Raises BadInput, naming file and line, where it does not hold."""
    name = folder.name
    corpus, known = _documents(folder, name)
    relevant: dict[str, dict[str, int]] = {}
    for number, fields in _rows(folder / "qrels.tsv", 3):
        query, document, grade = (fields[0], fields[2], fields[3]) if len(fields) > 3 else fields[:3]
        if number == 1 and grade.casefold() in _GRADES:
            continue
        try:
            value = _grade(grade)
        except ValueError:
            raise BadInput(f"{folder}/qrels.tsv:{number}: {grade!r} is no grade", "a whole number") from None
        if value > 0:
            relevant.setdefault(query, {})[known.get(document, document)] = value
    questions = []
    left_out = 0
    for _, fields in _rows(folder / "queries.tsv", 2, most=2):
        kind = fields[2] if len(fields) > 2 else ""
        if fields[0] in relevant and (text := clean(fields[1])):
            questions.append(Question(fields[0], text, name, relevant[fields[0]], kind))
        else:
            left_out += 1
    if not questions:
        raise BadInput(f"{folder}: no query has a relevant document", "check the ids in queries.tsv and qrels.tsv")
    if twice := repeated(question.id for question in questions):
        raise BadInput(f"{folder}/queries.tsv: two queries of the id {twice!r}", "give each an id of its own")
    key = digest([corpus.key, *(f"{q.id}\t{q.text}\t{q.kind}\t{sorted(q.relevant.items())}" for q in questions)])
    return Dataset(name, [corpus], questions, key, left_out)


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
    for number, line in enumerate(_text(path).split("\n"), 1):
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
    jsonl, files = folder / "docs.jsonl", folder / "docs"
    if jsonl.is_file():
        records = _records(jsonl)
        key = digest(["records", *(json.dumps(record, sort_keys=True) for record in records)])
        return Corpus(name, key, "documents", lambda place: write_records(records, place)), {}
    if files.is_dir():
        return file_corpus(files, name)
    raise BadInput(f"{folder}: queries without documents", "add docs.jsonl, or a folder docs/")


def file_corpus(files: Path, name: str) -> tuple[Corpus, dict[str, str]]:
    """A corpus of the files below a folder, and the id (the path) for each path with and without its ending."""
    below = {path.relative_to(files): path for path in sorted(files.rglob("*")) if path.is_file()}
    data = {
        relative.as_posix(): path
        for relative, path in below.items()
        if not any(part.startswith(".") for part in relative.parts)
    }
    if not data:
        raise BadInput(f"{files} holds no documents", "put the documents there")
    key = digest(part for relative, path in data.items() for part in (relative, path.read_bytes().hex()))
    known: dict[str, str] = {}
    for relative in data:
        known.setdefault(relative.rpartition(".")[0] or relative, relative)
    return Corpus(name, key, "files", lambda place: write_files(data, place)), known


def _records(path: Path) -> list[dict[str, Any]]:
    records = []
    seen: set[str] = set()
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise BadInput(f"{path}:{number}: not JSON: {error}", f"edit {path}") from None
        identity = record.get("id", record.get("_id")) if isinstance(record, dict) else None
        if not isinstance(identity, str | int) or str(identity) in seen:
            raise BadInput(f"{path}:{number}: a document needs an `id` of its own", f"edit {path}")
        seen.add(str(identity))
        records.append({**record, "id": str(identity)})
    return records


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {error}", f"check it: file {path}") from None
