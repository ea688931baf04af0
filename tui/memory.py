"""The memory as the screens ask it: each question opens the index by itself, so that any thread may ask.

Every answer may be shown: secrets are redacted and hidden characters removed, as in ``--json``.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from core import clock, telemetry
from core.errors import NO_RESULTS, OK, BrainError, Internal, from_os
from core.text import printable_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.config import Config
    from core.home import Home
    from runtime.capture.inbox import Entry

SURFACE = "tui"
HITS = 20
_LATEST = 40
_AROUND = 30
_BEGINNING = 60
_LONGEST_FRONTMATTER = 60


class Memory:
    """One home."""

    def __init__(self, home: Home, config: Config, environ: Mapping[str, str]) -> None:
        self.home, self.config, self.environ = home, config, environ

    def ask(self, question: str) -> dict[str, Any]:
        """Return what `brain ask` answers; what happened lately, if nothing is asked."""
        if not question.strip():
            from runtime.asking.recent import lately

            return self._shown(lately(self.home, self.config, now=clock.now(), limit=_LATEST))
        from runtime.asking.request import PERSON, Request
        from runtime.resident.answer import answer

        # Text of a field has met no shell.
        request = Request(limit=HITS, budget=PERSON, literal=True)
        return self._shown(answer(self.home, self.config, question, request, self.environ)[0])

    def passage(self, reference: str, line: int = 0) -> dict[str, Any]:
        """Return the envelope of `brain show`: lines around ``line``, else the beginning of a document's body."""
        from runtime.explaining.show import body_start

        # Where the frontmatter may be near, the passage begins with it, so that it is known and left out.
        is_near = line <= _AROUND + _LONGEST_FRONTMATTER
        found = self._show(reference, line, context=line if line and is_near else _AROUND, full=not line)
        lines = found["text"].split("\n")
        start = body_start(lines) if is_near else 0
        start, end = (max(start, line - _AROUND - 1), line + _AROUND) if line and is_near else (start, None)
        end = end if line else start + _BEGINNING
        found.update(first_line=found["first_line"] + start, text="\n".join(lines[start:end]))
        return found

    def document(self, reference: str) -> dict[str, Any]:
        """Return the envelope of `brain show` with the whole text."""
        return self._show(reference, 0, context=0, full=True)

    def _show(self, reference: str, line: int, *, context: int, full: bool) -> dict[str, Any]:
        from runtime.asking.own_index import open_own
        from runtime.explaining.show import show

        with closing(open_own(self.home, self.config)) as connection:
            found = show(
                connection, self.config, reference, now=clock.now(), line=line, context=context, full=full, redact=True
            )
        return self._shown(found)

    def near_day(self, name: str, step: int) -> dict[str, Any]:
        """Return a day (``YYYY-MM-DD``) as ``activity.day`` does: the nearest before (-1) or after it (1), or itself.

        If there is none that way, the day itself; "" is the last day with a document.
        """
        from runtime.explaining import activity

        if not name:
            name, step = time.strftime("%Y-%m-%d", time.localtime(clock.now() + clock.DAY)), -1
        found = self._nearest(name, step) if step else name
        return self._shown(activity.day(self.home, self.config, found or name))

    def _nearest(self, name: str, step: int) -> str:
        """Return the nearest day with a document, "" if there is none that way."""
        from runtime.explaining import activity

        year = int(name[:4])
        while True:
            found = activity.year(self.home, self.config, year)
            days = [day for day in found["days"] if (day < name if step < 0 else day > name)]
            if days:
                return str(days[-1] if step < 0 else days[0])
            years = [each for each in found["years"] if (each < year if step < 0 else each > year)]
            if not years:
                return ""
            year = years[-1] if step < 0 else years[0]

    def note(self, text: str, *, why: str, type: str, project: str, force: bool) -> Entry:
        """Note a text. Raises Refused with the gate's verdict, and what else ``capture`` raises."""
        from runtime.capture.capture import capture

        started = time.perf_counter()
        entry = capture(self.home, text, force=force, type=type, project=project, why=why)
        fields = {"entry_id": entry.entry_id, "type": entry.type, "indexed": entry.indexed}
        self.record("inbox_write", started, OK, **fields)
        return entry

    def record(self, event: str, started: float, code: int, **fields: object) -> None:
        """Add a row to the telemetry; ``started`` is when the work began (``time.perf_counter``)."""
        latency = round((time.perf_counter() - started) * 1000, 1)
        telemetry.record(self.home, event, SURFACE, latency_ms=latency, exit_code=code, **fields)

    def record_question(self, question: str, envelope: Mapping[str, Any]) -> None:
        """Add a question that somebody went on with to the telemetry; what is asked while typing is none."""
        hits = envelope.get("hits") or []
        uris = [hit["uri"] for hit in hits]
        fields: dict[str, object] = {"query_len": len(question), "n_hits": len(hits), "hits": uris}
        if self.config.keeps_questions:
            from core.redaction import shown

            fields["query"] = shown(question)
        code = OK if hits else NO_RESULTS
        telemetry.record(self.home, "ask", SURFACE, latency_ms=envelope.get("took_ms", 0.0), exit_code=code, **fields)

    def failure(self, error: Exception) -> dict[str, Any]:
        """Return the envelope of an error, as it may be shown."""
        from core.redaction import shown_value

        return self._shown(shown_value(self._known(error).envelope()))

    def _known(self, error: Exception) -> BrainError:
        """Return an error as one that its user can act on."""
        if isinstance(error, BrainError):
            return error
        if type(error).__module__ == "apsw":
            from qmd.index.store import translate

            return translate(error, self.home.index)  # type: ignore[arg-type]
        from qmd.index.store import damaged

        known = (from_os(error) if isinstance(error, OSError) else None) or damaged(error, self.home.index)
        return known or Internal(f"{type(error).__name__}: {error}", "report it")

    def _shown(self, value: dict[str, Any]) -> dict[str, Any]:
        shown: dict[str, Any] = printable_value(value)
        return shown
