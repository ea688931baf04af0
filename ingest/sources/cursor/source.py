"""Cursor: the editor's ``state.vscdb`` (global, and of each workspace), and agents' transcripts in ``~/.cursor``.

Formats: ``ingest.sources.cursor.storage`` (databases) and ``ingest.sources.cursor.parser`` (transcripts).

Since 3.0 the editor writes transcripts of its conversations, too, under the same id. A transcript has other records and
other names of tools than the database: copies are compared by their words. A place that knows less of a conversation
adds only what no better place has.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.session.session import COMMENTARY, PROMPT, TAKEN_BACK, TEXT
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile
    from ingest.session.session import Event, SessionBuilder
    from ingest.source import Composed


# Prompts that the editor made up (TAKEN_BACK) are compared, too.
_WORDS = (PROMPT, TEXT, COMMENTARY, TAKEN_BACK)


class Cursor(Source):
    """Databases of Cursor and transcripts of its agents; ``.txt`` files only in the transcripts' folders."""

    name = "cursor"
    patterns = ("*.vscdb", "store.db", "agent-transcripts/**")
    prefix = "cursor__"
    suffixes = (".vscdb", ".db", ".jsonl", ".txt")
    companion_names = ("meta.json",)
    roots = ROOTS["cursor"]
    resume = RESUME["cursor"]

    def wants(self, name: str) -> bool:
        return name.endswith((".vscdb", "store.db", ".jsonl", ".txt"))

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        files = super().discover(roots)
        return [file for file in files if not file.path.endswith(".txt") or "/agent-transcripts/" in file.path]

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.raw.store import DATABASES

        if path.endswith(DATABASES):
            from ingest.sources.cursor.storage import stream

            yield from stream(path, raw)
        else:
            from ingest.sources.cursor.parser import read

            yield read(path, raw)

    def compose(self, unit: str, parts: list[Any], link: str = "", mtime_ns: int = 0) -> Composed:
        """Compose a conversation without what one place repeats of a better one."""
        return super().compose(unit, _without_repeats(parts), link, mtime_ns)


def _without_repeats(parts: list[SessionBuilder]) -> list[SessionBuilder]:
    """Return the parts of one conversation, those of lower rank without what the higher ones say."""
    ranks = sorted({part.rank for part in parts}, reverse=True)
    if len(ranks) < 2:
        return parts
    from ingest.sources.cursor.parser import EDITOR

    found: list[SessionBuilder] = []
    known: dict[str, int] = {}
    for rank in ranks:
        group = [part for part in parts if part.rank == rank]
        if found:
            group = [part.showing(_unknown_events(part.events, dict(known))) for part in group]
            for part in group:
                if ranks[0] == EDITOR:
                    part.extra.pop("surface", None)  # the conversation is the editor's
        most: dict[str, int] = {}
        for part in group:
            for words, count in _count_words(part.events).items():
                most[words] = max(most.get(words, 0), count)
        for words, count in most.items():
            known[words] = known.get(words, 0) + count
        found += group
    return found


def _unknown_events(events: Iterable[Event], known: dict[str, int]) -> list[Event]:
    """Return the events that are not ``known``; a step of work belongs to the words before it."""
    left: list[Event] = []
    is_known = True
    for event in events:
        if event.kind in _WORDS:
            words = " ".join(event.text.split())
            is_known = known.get(words, 0) > 0
            if is_known:
                known[words] -= 1
        if not is_known:
            left.append(event)
    return left


def _count_words(events: Iterable[Event]) -> dict[str, int]:
    """Return each text of a conversation, white space folded → how often it is there."""
    counts: dict[str, int] = {}
    for event in events:
        if event.kind in _WORDS:
            words = " ".join(event.text.split())
            counts[words] = counts.get(words, 0) + 1
    return counts


SOURCE = Cursor()
