"""The user's own brain as a corpus: looked at, never written to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core import config
from core.errors import BadInput
from evals.sets.dataset import Corpus, digest
from qmd.index import catalogue
from qmd.index.store import open_index

if TYPE_CHECKING:
    from core.home import Home

OWN = "own"


def corpus_of(home: Home, collection: str = "") -> Corpus:
    """The brain at ``home``, or one collection of it. Raises BadInput where there is no such collection."""
    known = config.load(home).collections
    if collection and collection not in known:
        raise BadInput(f"there is no collection {collection!r}", f"one of: {', '.join(known)}")
    state = (f"{document}\t{content}" for document, content in _rows(home, collection))
    return Corpus(OWN, digest(["home", home.root, *state]), "home", _nothing, collection)


def documents_of(home: Home, collection: str = "") -> list[str]:
    """``collection/path`` of every document, in order. Raises EngineMissing where there is no index."""
    return [document for document, _ in _rows(home, collection)]


def _rows(home: Home, collection: str) -> list[tuple[str, str]]:
    connection = open_index(home.index)
    try:
        rows = list(catalogue.entries(connection))
    finally:
        connection.close()
    return sorted((f"{name}/{path}", str(content)) for _, name, path, _, content in rows if collection in ("", name))


def _nothing(_: Path) -> dict[str, str]:
    return {}
