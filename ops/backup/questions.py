"""Questions drawn from the corpus and their answers: a comparison of two states of a memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from qmd.index import catalogue
from qmd.index.store import open_index
from runtime.asking.ask import Asker, Request, batch

if TYPE_CHECKING:
    import apsw

    from core.config import Config
    from core.home import Home

COUNT = 20
_WORDS = 6
_LONG = 4
_TIMEOUT_S = 30.0

Answer = list[tuple[str, str, int, str]]


def draw(home: Home) -> list[str]:
    """Return up to ``COUNT`` questions: words of evenly spaced documents of the index, the same ones each time.

    Raises EngineMissing if there is no index. Do not store the questions: they quote documents.
    """
    connection = open_index(home.index)
    try:
        hashes = sorted({digest for *_, digest in catalogue.entries(connection)})
        step = max(1, len(hashes) // COUNT)
        questions = dict.fromkeys(filter(None, (_question(connection, digest) for digest in hashes[::step])))
        return list(questions)[:COUNT]
    finally:
        connection.close()


def answers(home: Home, config: Config, questions: list[str]) -> list[Answer | str]:
    """Return the answer to each question: (uri, docid, line, snippet) per hit, in order, or the error's name.

    Raises EngineMissing if there is no index.
    """
    found: list[Answer | str] = []
    request = Request(limit=10, mode="lex", literal=True, min_score=0.0, timeout_s=_TIMEOUT_S, rerank=False)
    with Asker(home, config, _TIMEOUT_S) as asker:
        for envelope in batch(asker, questions, request):
            hits: list[dict[str, Any]] = envelope.get("hits") or []
            found.append(
                [(hit["uri"], hit["docid"], hit["line"], hit["snippet"]) for hit in hits]
                if envelope["ok"]
                else str(envelope["error"])
            )
    return found


def same(before: list[Answer | str], after: list[Answer | str]) -> int:
    """Return the number of equal answers. Hits are compared as a set: hits with equal scores have no order."""
    return sum(_set(one) == _set(other) for one, other in zip(before, after, strict=True))


def there(home: Home) -> bool:
    """Return True if there is an index to ask."""
    return os.path.isfile(home.index)


def _set(answer: Answer | str) -> object:
    return answer if isinstance(answer, str) else sorted(answer)


def _question(connection: apsw.Connection, digest: str) -> str:
    lines = (catalogue.text(connection, digest) or "").splitlines()
    # Take the line with the most words: frontmatter and headings are alike in many documents.
    for line in sorted(lines, key=lambda each: (-min(_WORDS, len(_words(each))), each))[:1]:
        return " ".join(_words(line)[:_WORDS])
    return ""


def _words(line: str) -> list[str]:
    return [word for word in line.split() if len(word) >= _LONG and word.isalnum()]
