"""``brain rebuild``: make the index again from the corpus, and compare its answers with the former index's."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ops.backup import questions
from qmd.index import catalogue
from qmd.index.store import open_index
from runtime.capture.indexing import index

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.config import Config
    from core.home import Home


def rebuild(home: Home, config: Config, progress: Callable[[int, int, str], None] | None = None) -> dict[str, Any]:
    """Rebuild the index and return the envelope of ``brain rebuild --json``.

    ``alike`` of ``questions`` were answered as before; ``before`` is the reason if the former index could not be asked.
    Raises BadInput, LockContention and EngineMissing.
    """

    started = time.perf_counter()
    asked: list[str] = []
    expected: list[Any] = []
    before = ""
    try:
        asked = questions.draw(home)
        expected = questions.answers(home, config, asked)
    except Exception as error:  # noqa: BLE001  # a rebuild does not need the old index: it may fail in any way
        asked, before = [], str(error)
    report = index(home, config, rebuild=True, markdown_only=True, progress=progress)
    alike = questions.same(expected, questions.answers(home, config, asked)) if asked else 0
    return {
        "schema": 1,
        "ok": True,
        "documents": _count(home),
        "collections": report["collections"],
        "questions": len(asked),
        "alike": alike,
        "before": before,
        "unread": report.get("unread", []),
        "took_ms": round((time.perf_counter() - started) * 1000, 1),
    }


def _count(home: Home) -> int:
    connection = open_index(home.index)
    try:
        return catalogue.total(connection)[0]
    finally:
        connection.close()
