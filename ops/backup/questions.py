"""Questions drawn from the corpus itself, and what they are answered: how one state of a memory is held to another."""

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


def draw(home: Home, count: int = COUNT) -> list[str]:
    """Return up to ``count`` questions: words of documents that lie evenly through the index, the same ones each time.

    Raises EngineMissing if there is no index. The questions are not to be written anywhere: they quote documents.
    """
    connection = open_index(home.index)
    try:
        hashes = sorted({digest for *_, digest in catalogue.entries(connection)})
        step = max(1, len(hashes) // count)
        questions = dict.fromkeys(filter(None, (_question(connection, digest) for digest in hashes[::step])))
        return list(questions)[:count]
    finally:
        connection.close()


def answers(home: Home, config: Config, questions: list[str]) -> list[Answer | str]:
    """What each question is answered: (uri, docid, line, snippet) a hit, in order; the error's name where it is none.

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
    """Return how many questions are answered alike. Hits are compared as a set: equal scores may
    stand in either order.
    """
    return sum(_set(one) == _set(other) for one, other in zip(before, after, strict=True))


def there(home: Home) -> bool:
    """Return True if there is an index to ask."""
    return os.path.isfile(home.index)


def _set(answer: Answer | str) -> object:
    return answer if isinstance(answer, str) else sorted(answer)


def _question(connection: apsw.Connection, digest: str) -> str:
    lines = (catalogue.text(connection, digest) or "").splitlines()
    # From the middle outwards: frontmatter and headings look alike in many documents.
    for line in sorted(lines, key=lambda each: (-min(_WORDS, len(_words(each))), each))[:1]:
        return " ".join(_words(line)[:_WORDS])
    return ""


def _words(line: str) -> list[str]:
    return [word for word in line.split() if len(word) >= _LONG and word.isalnum()]
