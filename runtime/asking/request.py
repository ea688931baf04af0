"""What is asked besides the question: plain values, so that they can be handed to another process."""

from __future__ import annotations

import os
import time

from core.errors import NO_RESULTS, OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.config import Config
    from core.home import Home

DEFAULT_LIMIT = 5
DEFAULT_TIMEOUT_S = 10.0


class Request:
    """What is asked besides the question. ``since`` and ``until`` are epoch seconds, ``until`` exclusive."""

    __slots__ = (
        "collections", "explain", "limit", "literal", "min_score", "mode", "project", "rerank", "since", "source",
        "strict", "timeout_s", "until",
    )  # fmt: skip

    def __init__(self, **given: Any) -> None:
        self.limit: int = given.get("limit") or DEFAULT_LIMIT
        self.collections: Sequence[str] = given.get("collections") or ()
        self.source: str = given.get("source") or ""
        self.project: str = given.get("project") or ""
        self.since: int | None = given.get("since")
        self.until: int | None = given.get("until")
        self.strict: bool = bool(given.get("strict"))
        self.literal: bool = bool(given.get("literal"))
        self.explain: bool = bool(given.get("explain"))
        self.mode: str = given.get("mode") or "auto"
        # None: the default, where there is enough to judge by.
        self.min_score: float | None = given.get("min_score")
        # None: as the configuration has it.
        self.rerank: bool | None = given.get("rerank")
        self.timeout_s: float | None = given.get("timeout_s")


def reranks(request: Request, section: dict[str, Any]) -> bool:
    """Whether the answer is to be reranked: as asked for, else as the configuration's section ``ask`` has it."""
    return section.get("rerank") is True if request.rerank is None else request.rerank


def serving(request: Request, section: dict[str, Any]) -> str:
    """What is asked of a resident process: ``answer``, or only to ``encode`` (``runtime.resident.served`` says why).

    "" where the section ``ask`` says that it is not to be asked at all.
    """
    if section.get("serve") == "off":
        return ""
    return "encode" if reranks(request, section) else "answer"


def ask_there(
    home: Home, config: Config, question: str, request: Request, share: str, timeout_s: float
) -> tuple[dict[str, Any] | None, bool]:
    """(the envelope, whether the resident process had its ``share`` in it), where a socket is there.

    (None, False) where that process gives no answer: ``request`` then has the time that is left. Raises as
    ``Asker.ask`` where the rest is done here.
    """
    if share == "encode":
        from runtime.resident import served

        return served.ask(home, config, question, request, timeout_s)
    from runtime.resident import client

    started = time.monotonic()
    envelope = client.ask(home, question, request, timeout_s)
    if envelope is None:
        request.timeout_s = max(0.001, timeout_s - (time.monotonic() - started))
    return envelope, envelope is not None


def project_glob(pattern: str) -> str:
    """The SQLite GLOB for a project: a path with wildcards as it is, a bare name as any folder of that name."""
    if pattern in (".", "..") or pattern.startswith(("./", "../")):
        pattern = os.path.abspath(pattern)
    pattern = os.path.expanduser(pattern).rstrip("/") or "/"
    if any(mark in pattern for mark in "*?["):
        return pattern
    return pattern if pattern.startswith("/") else f"*/{pattern}"


def exit_code(envelope: dict[str, Any]) -> int:
    """0 for an answer, 67 for a valid empty one."""
    return OK if envelope["hits"] else NO_RESULTS
