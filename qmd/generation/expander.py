"""Expanding a question: by what was kept, else by the generator, within its time; a failure is a reason, no error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from core.errors import BrainError
from core.text import one_line
from qmd.generation import expansion
from qmd.generation.choice import choose
from qmd.generation.generator import make
from qmd.search import llm_cache
from qmd.vectors import models

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import apsw

    from qmd.generation.generator import Generator
    from qmd.search.structured import Search

    # JSON-like text as it may leave; raises BrainError where it may not (``Settings.outgoing``).
    Outgoing = Callable[[Any], Any]

_SAID = 300


class Expander:
    """``name`` is the generator's; ``why`` says of the last question why it was not expanded, "" where it was."""

    __slots__ = ("_connection", "_generator", "_outgoing", "_timeout_s", "name", "why")

    def __init__(
        self,
        connection: apsw.Connection,
        generator: Generator,
        name: str,
        timeout_s: float,
        outgoing: Outgoing | None = None,
    ) -> None:
        self._connection = connection
        self._generator = generator
        self._timeout_s = timeout_s
        self._outgoing = outgoing
        self.name = name
        self.why = ""

    def expand(self, query: str, intent: str = "") -> list[Search]:
        """What to search for besides ``query``; nothing, and ``why``, where the generator has no use. Raises
        apsw.Error.
        """
        self.why = ""
        key = self._key(query, intent)
        kept = _kept(llm_cache.get(self._connection, key), query)
        if kept:
            return kept
        try:
            asked = [query, intent] if self._outgoing is None else self._outgoing([query, intent])
            answer = self._generator.ask(expansion.SYSTEM, expansion.prompt(*asked), self._timeout_s)
            found = expansion.read(answer, query)
        except (BrainError, expansion.Unusable) as error:
            self.why = one_line(f"{self.name}: {error}", _SAID)
            return []
        lines = [{"type": search.kind, "query": search.query} for search in found]
        llm_cache.put(self._connection, {key: json.dumps(lines, ensure_ascii=False, separators=(",", ":"))})
        return found

    def _key(self, query: str, intent: str) -> str:
        """qmd's key. Its model is a file's address, which ours never looks like: neither finds what the other keeps."""
        model = f"{self._generator.identity}#{expansion.VERSION}"
        body = {"query": query, "model": model}
        return models.cache_key("expandQuery", {**body, "intent": intent} if intent else body)


def opened(
    connection: apsw.Connection,
    section: Mapping[str, Any],
    configured: Mapping[str, str],
    environ: Mapping[str, str],
    most_s: float = 0.0,
    outgoing: Outgoing | None = None,
) -> Expander | str:
    """What expands questions, or why nothing does.

    ``section`` is the configuration's ``generation``, ``configured`` its ``models``; ``most_s`` bounds the section's
    ``timeout_s`` where the caller has less time. ``outgoing`` is what a question passes before it is sent.
    """
    try:
        choice = choose(section, configured, environ)
        if isinstance(choice, str):
            return choice
        generator = make(choice, environ)
    except BrainError as error:
        return error.message
    return Expander(connection, generator, choice.name, min(choice.timeout_s, most_s or choice.timeout_s), outgoing)


def _kept(stored: str | None, query: str) -> list[Search]:
    """An answer out of the cache, which anybody may have written; nothing where it is none."""
    if stored is None:
        return []
    try:
        lines: Any = json.loads(stored)
        typed = [(str(line["type"]), str(line["query"])) for line in lines]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return expansion.usable(typed, query)
