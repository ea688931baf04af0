"""Finding the sets in a file or folder, whatever their form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from evals.sets import bench_fixture, files, locomo, raw_files, trec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.home import Home
    from evals.sets.dataset import Dataset

_FORMS = (
    "LoCoMo JSON, a qmd bench fixture, questions about raw sessions, or a folder with queries, qrels and documents as"
    " TREC or BEIR has them"
    " (docs/evaluation.md)"
)


def load(paths: Sequence[str], home: Home) -> list[Dataset]:
    """Every set in ``paths``, in order of their names. Raises BadInput where a path holds none."""
    found: list[Dataset] = []
    for path in map(Path, paths):
        if not path.exists():
            raise BadInput(f"there is nothing at {path}", f"--data takes {_FORMS}")
        here = list(_sets(path, home))
        if not here:
            raise BadInput(f"{path} holds no question set", f"--data takes {_FORMS}")
        found += here
    if len({dataset.name for dataset in found}) < len(found):
        raise BadInput("two sets of one name", "rename a file or folder, or evaluate them one after the other")
    return sorted(found, key=lambda dataset: dataset.name)


def _sets(path: Path, home: Home) -> Iterator[Dataset]:
    if path.is_file():
        yield _of_file(path, home)
    elif trec.is_set(path):
        yield trec.read(path)
    else:
        for child in sorted(path.iterdir()):
            if child.is_dir() and trec.is_set(child):
                yield trec.read(child)
            elif files.plain(child).endswith(".json") and child.is_file():
                data = _json(child)
                if locomo.is_set(data) or bench_fixture.is_set(data) or raw_files.is_set(data):
                    yield _read(child, data, home)


def _of_file(path: Path, home: Home) -> Dataset:
    whole = path.absolute()
    if trec.is_qrels(whole):
        return trec.read(whole.parent.parent, whole)
    return _read(path, _json(path), home)


def _read(path: Path, data: Any, home: Home) -> Dataset:
    if locomo.is_set(data):
        return locomo.read(path, data)
    if bench_fixture.is_set(data):
        return bench_fixture.read(path, data, home)
    if raw_files.is_set(data):
        return raw_files.read(path, data)
    raise BadInput(f"{path} is no question set", f"--data takes {_FORMS}")


def _json(path: Path) -> Any:
    try:
        return json.loads(files.text(path))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"cannot read {path}: {error}", f"--data takes {_FORMS}") from None
