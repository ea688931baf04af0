"""What each tool does: arguments, one call into ``runtime``, its envelope. The same envelopes as the commands'."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

import apsw

from core import clock, redaction, telemetry
from core.config import load
from core.errors import INTERNAL, BadInput, BrainError, Internal
from qmd.index.store import damaged, open_index, translate
from runtime.asking import withhold
from runtime.dates.dates import parse_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.home import Home

_MOST_HITS = 50
_MOST_LISTED = 200
_MOST_CONTEXT = 200


class Calls:
    """The tools over one home."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def run(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """The envelope of one call, recorded in the telemetry. Raises BrainError."""
        started = time.perf_counter()
        fields: dict[str, Any] = {}
        code = INTERNAL
        event, method = _RUN[name]
        try:
            withhold.require(self._home)
            envelope: dict[str, Any] = redaction.shown_value(method(self, given, fields))
            code = 67 if envelope.get("error") == "no_results" else 0
        except BrainError as error:
            code = error.code
            raise
        except apsw.Error as error:
            failure = translate(error, self._home.index)
            code = failure.code
            raise failure from error
        except OSError as error:
            from core.errors import from_os

            known = from_os(error) or Internal(f"{type(error).__name__}: {error}")
            known.quotes = True  # the name of a file
            code = known.code
            raise known from error
        except Exception as error:
            fault = damaged(error, self._home.index)
            if fault is None:
                raise
            code = fault.code
            raise fault from error
        finally:
            latency = round((time.perf_counter() - started) * 1000, 1)
            telemetry.record(self._home, event, "mcp", latency_ms=latency, exit_code=code, tool=name, **fields)
        return envelope

    def _ask(self, given: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
        return self._search(given["question"], given, fields, mode=given["mode"], source=given.get("source", ""))

    def _sessions(self, given: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
        return self._search(given["query"], self._of_sessions(given), fields, mode="lex")

    def _meaning(self, given: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
        return self._search(given["query"], self._of_sessions(given), fields, mode="hybrid")

    def _of_sessions(self, given: dict[str, Any]) -> dict[str, Any]:
        folders = load(self._home).collections.items()
        names = [name for name, folder in folders if folder.trust in ("session", "distilled")]
        return {**given, "limit": given["top_k"], "collections": names}

    def _search(
        self, question: str, given: dict[str, Any], fields: dict[str, Any], *, mode: str, source: str = ""
    ) -> dict[str, Any]:
        from runtime.asking.answer import answer
        from runtime.asking.request import Request

        now = clock.now()
        since, until = given.get("since"), given.get("until")
        request = Request(
            limit=_between(given["limit"], 1, _MOST_HITS),
            collections=given.get("collections") or (),
            source=source,
            project=given.get("project") or "",
            since=parse_day(since, now, end=False) if since else None,
            until=parse_day(until, now, end=True) if until else None,
            literal=True,  # a question that comes as JSON has met no shell
            mode=mode,
        )
        fields["query_len"] = len(question)
        envelope, fields["warm"] = answer(self._home, load(self._home), question, request, os.environ)
        fields.update(n_hits=len(envelope["hits"]), hits=[redaction.shown(hit["uri"]) for hit in envelope["hits"]])
        return envelope

    def _recent(self, given: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
        from runtime.asking.recent import recent

        now = clock.now()
        envelope = recent(
            self._home,
            load(self._home),
            since=parse_day(given["since"], now, end=False),
            now=now,
            collections=given.get("collections") or (),
            limit=_between(given["limit"], 1, _MOST_LISTED),
        )
        fields["n_hits"] = len(envelope["items"])
        return envelope

    def _get(self, given: dict[str, Any], _fields: dict[str, Any]) -> dict[str, Any]:
        from runtime.explaining.show import show

        line = _between(given.get("line", 0), 0, 10**9)
        context = _between(given["context"], 0, _MOST_CONTEXT)
        with self._index() as connection:
            return show(
                connection,
                load(self._home),
                given["hit"],
                now=clock.now(),
                line=line,
                context=context,
                full=given["full"],
                redact=True,
            )

    def _trace(self, given: dict[str, Any], _fields: dict[str, Any]) -> dict[str, Any]:
        from runtime.explaining.trace import trace

        with self._index() as connection:
            return trace(self._home, load(self._home), connection, given["hit"], now=clock.now())

    def _why(self, given: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
        from runtime.asking.why import why

        limit = _between(given["limit"], 1, _MOST_HITS)
        envelope = why(self._home, load(self._home), given["topic"], project=given.get("project") or "", limit=limit)
        fields["n_hits"] = len(envelope["decisions"]) + len(envelope["evidence"])
        return envelope

    def _inbox(self, given: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
        from runtime.capture.capture import capture

        entry = capture(
            self._home,
            given["text"],
            supersedes=given["supersedes"],
            **{name: given[name] for name in ("type", "title", "why", "alternatives", "project", "tags")},
        )
        fields.update(entry_id=entry.entry_id, path=entry.path, type=entry.type, indexed=entry.indexed)
        return entry.envelope()

    def _explain(self, given: dict[str, Any], _fields: dict[str, Any]) -> dict[str, Any]:
        if bool(given["hit"]) != bool(given["question"].strip()):
            raise BadInput("hit and question go together", "give both, or neither for the state of the whole")
        if given["hit"]:
            from runtime.explaining.hit import explain

            return explain(self._home, load(self._home), given["hit"], given["question"])
        from runtime.explaining.explain import report

        return report(self._home, "mcp", os.environ)

    @contextlib.contextmanager
    def _index(self) -> Iterator[apsw.Connection]:
        connection = open_index(self._home.index)
        try:
            yield connection
        finally:
            connection.close()


def _between(value: float, least: int, most: int) -> int:
    return max(least, min(most, int(value)))


# Tool → the telemetry event of the command that does the same, and what answers.
_RUN: dict[str, tuple[str, Callable[[Calls, dict[str, Any], dict[str, Any]], dict[str, Any]]]] = {
    "brain_ask": ("ask", Calls._ask),
    "brain_recent": ("recent", Calls._recent),
    "brain_get": ("show", Calls._get),
    "brain_trace": ("trace", Calls._trace),
    "brain_why": ("why", Calls._why),
    "brain_inbox": ("inbox_write", Calls._inbox),
    "brain_explain": ("explain", Calls._explain),
    "search_sessions": ("ask", Calls._sessions),
    "semantic_search": ("ask", Calls._meaning),
}
