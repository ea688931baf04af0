"""Articles are read in a child process: a hostile file may crash, flood or stall it, and nothing else."""

from __future__ import annotations

from typing import Any

from core.worker import Ended, Exceeded, Worker
from ingest.sources.articles.reading import MAX_CHARACTERS, Article, Unreadable, read

_MEMORY = 3 << 30
_OTHERWISE = "convert it to text with another program, then add that"


class Reader:
    """Reads files in a process of its own; ``worker.close`` ends that."""

    def __init__(self, timeout_s: float) -> None:
        self.worker = Worker("ingest.sources.articles.worker:answer", memory=_MEMORY, timeout_s=timeout_s)
        self._timeout_s = timeout_s

    def read(self, path: str, name: str, url: str) -> Article:
        """Return the article of the file at ``path``, which is called ``name``. Raises Unreadable."""
        try:
            found: Any = self.worker.ask({"path": path, "name": name, "url": url})
        except Exceeded:
            raise Unreadable(f"not read within {self._timeout_s:g} s", _OTHERWISE) from None
        except Ended:
            raise Unreadable("damaged: the reader ended", _OTHERWISE) from None
        if "reason" in found:
            raise Unreadable(found["reason"], found["fix"])
        return Article(found["kind"], found["body"], **found["fields"])


def answer(asked: dict[str, str]) -> dict[str, Any]:
    """Read a file, in the child: {"path", "name", "url"} → {"kind", "body", "fields"}, or {"reason", "fix"}."""
    try:
        with open(asked["path"], "rb") as stream:
            article = read(stream.read(), asked["name"], asked["url"])
    except Unreadable as error:
        return {"reason": error.reason, "fix": error.fix}
    except OSError as error:
        return {"reason": f"unreadable: {error.strerror}", "fix": "check its permissions"}
    except MemoryError:
        return {"reason": "needs too much memory", "fix": _OTHERWISE}
    except Exception as error:  # noqa: BLE001  # libraries stumble over hostile files in ways of their own
        return {"reason": f"damaged: {type(error).__name__}", "fix": "get the file again"}
    body = article.body
    left_out = len(body) - MAX_CHARACTERS
    fields = dict(article.fields)
    if left_out > 0:
        body, fields["truncated"] = body[:MAX_CHARACTERS], left_out
    return {"kind": article.kind, "body": body, "fields": fields}
