"""The arm that asks distilled documents alone: what is left to find once the sessions themselves are not there."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from core import document
from core.files import open_regular
from core.home import Home
from evals.arms.registry import Unavailable
from qmd.index.catalogue import Filters
from qmd.index.store import open_index
from qmd.index.writer import put
from qmd.search.search import Searcher
from runtime.distill.central import SentenceReader
from runtime.distill.distiller import TERMS
from runtime.distill.extractive import distil

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evals.arms.registry import Answer, Place


@contextmanager
def distilled(place: Place, centrality: str = "embedding") -> Iterator[Answer]:
    """The engine's lexical ranking over extractive distillates of every session, in an index of their own.

    ``centrality`` is ``embedding`` (the local model, as the product has it by default) or ``terms``.
    """
    folder = next((each for each in place.config.collections.values() if each.trust == "session"), None)
    if folder is None:
        raise Unavailable("there are no sessions to distil")
    opened = None if centrality == TERMS else SentenceReader(place.config.section("embedding")).open()
    if opened is None and centrality != TERMS:
        raise Unavailable("there is no local model: distilled:centrality=terms does without")
    encode = None if opened is None else opened[1]
    with tempfile.TemporaryDirectory(prefix="brain-eval-") as scratch:
        home = Home(scratch)
        connection = open_index(home.index, write=True)
        try:
            connection.execute("BEGIN IMMEDIATE")
            for name in sorted(os.listdir(folder.path)):
                if not name.endswith(".md"):
                    continue
                path = os.path.join(folder.path, name)
                with open_regular(path) as stream:
                    meta, body = document.split(stream.read().decode("utf-8", "replace"))
                found = distil(body, str(meta.get("project") or ""), encode)
                if found.cited():
                    data = document.render(meta, found.body(str(meta.get("title") or name)))
                    put(connection, folder.name, name, data, os.stat(path))
            connection.execute("COMMIT")
            searcher = Searcher(connection)
            asked = Filters((folder.name,))

            def answer(question: str, limit: int) -> list[str]:
                hits = searcher.search(question, limit=limit, filters=asked)
                return [f"{hit.collection}/{hit.path}" for hit in hits]

            yield answer
        finally:
            connection.close()
