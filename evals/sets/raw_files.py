"""Questions about raw sessions: the files of each tool, the file that answers, and the span that is the answer.

The set is a JSON file. ``files`` is the folder of the raw files, relative to the set. ``sources`` maps folders below
it to the source that reads them. A question has ``id``, ``type``, ``half`` and ``question``. An answerable one has
``file`` (or a list of files with the same session) and ``spans`` (``evals.sets.spans``), each of which is the answer.
The type of a question without ``file`` is one of ``UNANSWERABLE``.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from evals.sets import files, spans
from evals.sets.dataset import HALVES, UNANSWERABLE, Corpus, Dataset, Question, clean, digest, repeated
from ingest import registry

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_set(data: Any) -> bool:
    """Return True if parsed JSON looks like such a set; ``read`` reports its faults."""
    return isinstance(data, dict) and isinstance(data.get("questions"), list) and isinstance(data.get("sources"), dict)


def folder(path: Path, data: Mapping[str, Any]) -> Path:
    """Return the folder of the raw files of the set in ``path``. Raises BadInput if it is not there."""
    found = Path(path.absolute().parent, str(data.get("files") or "."))
    if not found.is_dir():
        raise BadInput(f"{path}: the raw files are not there: {found}", "put them there, or correct `files`")
    return found.resolve()


def read(path: Path, data: Mapping[str, Any]) -> Dataset:
    """Return the set in ``path``, parsed as ``data``. Raises BadInput, naming the question."""
    place = folder(path, data)
    name = files.stem(path)
    sources: dict[str, list[str]] = {}
    for below, source in data["sources"].items():
        if source not in registry.names():
            raise BadInput(f"{path}: there is no source {source!r}", f"one of: {', '.join(registry.names())}")
        if not (place / below).is_dir():
            raise BadInput(f"{path}: there is no folder {place / below}", "correct `sources`")
        sources.setdefault(source, []).append(str(place / below))
    asked = []
    for number, entry in enumerate(data["questions"], 1):
        try:
            asked.append(_question(place, name, entry))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path}: question {number}: {type(error).__name__}: {error}", f"edit {path}") from None
        except BadInput as error:
            raise BadInput(f"{path}: question {entry.get('id')}: {error.message}", error.fix) from None
    if not any(question.relevant for question in asked):
        raise BadInput(f"{path}: no question has a file that answers it", f"edit {path}")
    if twice := repeated(question.id for question in asked):
        raise BadInput(f"{path}: two questions of the id {twice!r}", "give each an id of its own")
    corpus = Corpus(name, _state(place, sources), "raw files", _nothing, sources=sources, base=str(place))
    said = (f"{q.id}\t{q.text}\t{sorted(q.relevant)}\t{q.kind}\t{q.half}\t{q.spans}" for q in asked)
    return Dataset(name, [corpus], asked, digest([corpus.key, *said]))


def _question(place: Path, corpus: str, entry: Mapping[str, Any]) -> Question:
    identity, kind, half, text = (str(entry[name]) for name in ("id", "type", "half", "question"))
    if half not in HALVES:
        raise BadInput(f"half {half!r} is none", f"one of: {', '.join(HALVES)}")
    given = entry.get("file") or []
    paths: list[str] = [given] if isinstance(given, str) else list(given)
    if bool(paths) == (kind in UNANSWERABLE):
        raise BadInput(f"type {kind!r} does not fit: {len(paths)} files", f"without a file: {', '.join(UNANSWERABLE)}")
    for each in paths:
        if not (place / each).is_file():
            raise BadInput(f"there is no file {place / each}", "correct `file`")
    texts = [spans.read(place / paths[0], locator) for locator in entry["spans"]] if paths else []
    answers = tuple(dict.fromkeys(form for said in texts for form in spans.variants(said)))
    return Question(identity, clean(text), corpus, dict.fromkeys(paths, 1), kind, half, answers)


def _state(place: Path, sources: Mapping[str, list[str]]) -> str:
    """Return a digest of the raw files: their names and bytes."""
    parts = []
    for source, folders in sorted(sources.items()):
        for each in folders:
            for path in sorted(path for path in Path(each).rglob("*") if path.is_file()):
                raw = hashlib.sha256(path.read_bytes()).hexdigest()
                parts.append(f"{source}\t{path.relative_to(place)}\t{raw}")
    return digest(parts)


def _nothing(_: Path) -> dict[str, str]:
    return {}
