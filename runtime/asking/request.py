"""A question and its options: plain values, validated, that another process can be given."""

from __future__ import annotations

import os

from core.errors import BadQuery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.config import Config


DEFAULT_LIMIT = 5
MAX_CHARACTERS = 2000
# The essay's list: what a careless wrapper would hand to a shell.
_SHELL = (";", "`", "$(")


class Request:
    """The options of a question. ``since`` and ``until`` are epoch seconds, ``until`` exclusive."""

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


def reranks(request: Request, config: Config) -> bool:
    """Return True if the answer is to be reranked: as requested, else as configured."""
    return config.reranks if request.rerank is None else request.rerank


def resident_share(request: Request, config: Config) -> str:
    """Return what a resident process is asked to do: ``answer``, or only ``encode`` (see ``runtime.resident.served``).

    "" if the configuration turns the resident process off.
    """
    if config.serve == "off":
        return ""
    return "encode" if reranks(request, config) else "answer"


def project_glob(pattern: str) -> str:
    """Return the SQLite GLOB for a project: a path with wildcards as it is, a bare name as any folder of that name."""
    if pattern in (".", "..") or pattern.startswith(("./", "../")):
        pattern = os.path.abspath(pattern)
    pattern = os.path.expanduser(pattern).rstrip("/") or "/"
    if any(mark in pattern for mark in "*?["):
        return pattern
    return pattern if pattern.startswith("/") else f"*/{pattern}"


def validate(query: str, *, literal: bool = False) -> str:
    """Return ``query`` without surrounding space. Raises BadQuery if it is empty, too long, or holds what it must not.

    ``literal`` permits the shell-shaped characters, for questions about exact commands.
    """
    query = query.strip()
    if not query:
        raise BadQuery("the question is empty", 'brain ask "what did I decide about the auth flow?"')
    if len(query) > MAX_CHARACTERS:
        raise BadQuery(
            f"the question has {len(query)} characters, at most {MAX_CHARACTERS} are taken", "ask a sharper question"
        )
    if not query.isprintable():
        _refuse_unprintable(query)
    if not literal:
        for mark in _SHELL:
            if mark in query:
                raise BadQuery(
                    f"the question holds {mark!r}, which a shell would act on",
                    f"take it out, or, where you mean it literally: brain ask --literal …{mark}…",
                )
    return query


def _refuse_unprintable(query: str) -> None:
    for character in query:
        point = ord(character)
        if point < 32 or 127 <= point < 160:
            raise BadQuery(
                f"the question holds the control character U+{point:04X}", "take it out; a question is one line of text"
            )
        if 0xD800 <= point < 0xE000:
            raise BadQuery("the question is not valid UTF-8", "check the terminal's locale, e.g. export LC_ALL=C.UTF-8")
