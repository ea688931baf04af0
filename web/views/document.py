"""`/s/…`: a document to read, a session as its turns; `/trace/…`: where it came from."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from core.redaction import shown_value
from core.text import printable_value
from qmd.index import catalogue
from runtime.asking.documents import resolve
from runtime.asking.envelope import SCHEME, uri, uri_of
from runtime.asking.own_index import open_own
from runtime.distill.distillate import DISTILLED
from runtime.explaining import reading
from runtime.explaining.show import show
from runtime.explaining.trace import touched, trace
from web import markdown
from web.visit import Page

if TYPE_CHECKING:
    import apsw

    from web.visit import Visit

_MOST_LINES = 10**9 - 1
_MOST_TOUCHED = 40
# Characters of one text that are shown.
_LONGEST = 200_000
# Roles of which line ends mean something: people type them.
_TYPED = frozenset(("user", "task", "teammate"))


def view(visit: Visit) -> Page:
    """Show the piece of a document that has the line ``line``, or that begins at the line ``from``."""
    line = visit.number("line", 0, _MOST_LINES)
    with closing(open_own(visit.home, visit.config)) as connection:
        envelope = show(
            connection,
            visit.config,
            visit.path["reference"],
            now=visit.now,
            line=line,
            full=True,
            redact=True,
        )
        related = _related(connection, envelope)
    lines: list[str] = envelope["text"].split("\n")
    line = envelope["line"] or 0
    opened = reading.headings(lines)
    piece = reading.cut(lines, line or visit.number("from", 0, _MOST_LINES), opened)
    envelope.update(first_line=piece.first, last_line=piece.last, text="\n".join(lines[piece.first - 1 : piece.last]))
    envelope = printable_value(envelope)
    lines[piece.first - 1 : piece.last] = envelope["text"].split("\n")
    turns = reading.turns(lines, piece, envelope["title"] if piece.number == 1 else "")
    prompts = reading.prompts(lines, opened=opened)
    written = touched(lines, str(envelope["project"] or ""))[:_MOST_TOUCHED] if envelope["trust"] == "session" else []
    more = {
        "touched": written,
        "aside": len(prompts) > 2 or bool(written),
        "piece": piece,
        "turns": turns,
        "prompts": prompts,
        "spoken": reading.count_prompts(opened),
        "here": line,
        "html": _Html(line),
        "related": related,
    }
    return Page("document", envelope["title"], envelope, more, "show", {"uri": envelope["uri"]})


def _related(connection: apsw.Connection, envelope: dict[str, Any]) -> dict[str, str]:
    """Return uris of the documents that belong to this one: its distillate, or its session; a subagent's parent."""
    collection, _, path = envelope["uri"].removeprefix(SCHEME).partition("/")
    fields = envelope["fields"]
    found: dict[str, str] = {}
    if collection != DISTILLED and catalogue.by_path(connection, DISTILLED, path):
        found["distilled"] = uri(DISTILLED, path)
    if isinstance(fields.get("source_uri"), str):
        found["session"] = fields["source_uri"]
    if fields.get("parent") and fields.get("agent_id"):
        prefix = path.partition("__")[0] + "__" if "__" in path and not path.startswith("agent-") else ""
        parent = f"{prefix}{fields['parent']}.md"
        if catalogue.by_path(connection, collection, parent):
            found["parent"] = uri(collection, parent)
    return found


class _Html:
    """The parts of a turn as HTML; ``here`` is the line that the address names, 0 for none."""

    def __init__(self, here: int) -> None:
        self._here = here

    def text(self, turn: reading.Turn, part: reading.Part) -> Any:
        """Return a text: markdown, or line by line as it was typed if the turn lists commands."""
        text = part.text
        if len(text) > _LONGEST:
            # A line has no place where a piece could end.
            text = f"{text[:_LONGEST]}…\n\n({len(text) - _LONGEST:,} more characters)"
        if turn.verbatim:
            return markdown.code(text.strip("\n"))
        return markdown.render(text, first=part.line, here=self._here, breaks=turn.role in _TYPED)

    def is_open(self, part: reading.Part) -> bool:
        """Return True if a folded part holds the line that the address names."""
        return part.line <= self._here <= part.last

    def is_here(self, call: reading.Call) -> bool:
        """Return True if a call holds the line that the address names."""
        return call.line <= self._here <= call.line + len(call.notes)

    def notes(self, call: reading.Call) -> Any:
        """Return what is below a call: code as code."""
        return markdown.code("\n".join(call.notes))


def trace_view(visit: Visit) -> Page:
    """Follow a document to its raw record."""
    line = visit.number("line", 0, _MOST_LINES)
    with closing(open_own(visit.home, visit.config)) as connection:
        # The end of a path may look like a line: the document is resolved first.
        row = resolve(connection, visit.config, visit.path["reference"])
        reference = uri_of(row) + (f":{line}" if line or row.line else "")
        found = trace(visit.home, visit.config, connection, reference, now=visit.now)
    envelope = printable_value(shown_value(found))
    return Page("trace", envelope["title"], envelope, {}, "trace", {"uri": envelope["uri"]})
