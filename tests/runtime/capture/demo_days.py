"""The demo set's days of commits, commands, visits and notes, as the product's own functions make them.

``data/demo_days.jsonl`` has a row an event, in order of time. ``python -m tests.runtime.capture.demo_days`` writes the
documents below ``demo/documents``, in a folder a collection.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlsplit
from zoneinfo import ZoneInfo

from core.document import render
from core.home import Home
from ingest.session.zones import Zones, day_number
from ingest.sources.git.log import Commit
from ingest.sources.git.source import days
from ingest.sources.shell.formats import How
from ingest.sources.shell.parser import Day, compose
from ingest.web import day as browsing
from runtime.capture import entries, inbox

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = ROOT / "demo" / "documents"
EVENTS = Path(__file__).parent / "data" / "demo_days.jsonl"
_NAME, _PROJECT, _AUTHOR = "ferrypost", "/Users/mira/code/ferrypost", "Mira"
_ZONE = "Europe/Stockholm"
# A result of a search was visited within so many seconds.
_LED_S = 120
_SECOND_US = 1_000_000


def made() -> dict[str, bytes]:
    """Return the documents by their paths below ``demo/documents``."""
    rows = [json.loads(line) for line in EVENTS.read_text("utf-8").splitlines()]
    found = dict(_commits([row for row in rows if "commit" in row]))
    found |= _commands([row for row in rows if "run" in row])
    found |= _visits([row for row in rows if "visit" in row or "search" in row])
    with tempfile.TemporaryDirectory() as folder:
        found |= _notes(Home(folder), [row for row in rows if "note" in row])
    return found


def _seconds(row: dict[str, Any]) -> int:
    return int(datetime.fromisoformat(row["at"]).timestamp())


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _commits(rows: list[dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
    found = [
        Commit(
            row.get("hash", "") + _digest(row["at"])[len(row.get("hash", "")) :],
            row["at"],
            _AUTHOR,
            "\n\n".join(filter(None, (row["commit"], row.get("body")))),
            tuple(row["files"]),
            len(row["files"]),
        )
        for row in rows
    ]
    for document in days(found, _NAME, _PROJECT, {}):
        yield f"git/{document.name}", document.render()


def _commands(rows: list[dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
    for number, events in groupby(rows, lambda row: _seconds(row) // 86_400):
        day = Day("", knows_more=True)
        day.commands = [(_seconds(row), row["run"], _PROJECT, How(row.get("exit", 0))) for row in events]
        name = datetime.fromtimestamp(number * 86_400, ZoneInfo("UTC")).date().isoformat()
        composed = compose(name, [day])
        assert not isinstance(composed, str)
        meta, body = composed
        yield f"brain/shell__{_NAME}-{name}.md", render({**meta, "session_id": f"{_NAME}:{name}"}, body)


def _visits(rows: list[dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
    for name, events in groupby(rows, lambda row: row["at"][:10]):
        visits: list[browsing.Row] = []
        searched: dict[str, Any] | None = None
        for row in events:
            if "search" in row:
                searched = row
                url = f"https://www.google.com/search?q={quote_plus(row['search'])}"
            led = searched is not None and "visit" in row and _seconds(row) - _seconds(searched) <= _LED_S
            visits.append(
                browsing.Row(
                    at=_seconds(row) * _SECOND_US,
                    url=row.get("url", "") or url,
                    domain=urlsplit(row["url"]).netloc.removeprefix("www.") if "url" in row else "google.com",
                    title=row.get("visit", ""),
                    term=row.get("search", ""),
                    label="",
                    reload=False,
                    dwell=row["s"] * _SECOND_US,
                    led_at=_seconds(searched) * _SECOND_US if led and searched else 0,
                    led_term=searched["search"] if led and searched else "",
                )
            )
        composed = browsing.compose(day_number(name), visits, Zones([(0, _ZONE)]))
        assert composed is not None
        meta, body = composed
        yield f"chrome-history/{_NAME}-{name}.md", render({**meta, "session_id": f"{_NAME}:{name}"}, body)


def _notes(home: Home, rows: list[dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
    home.make()
    by_time: dict[str, str] = {}
    draw = inbox.new_id
    for row in rows:
        inbox.new_id = lambda instant, text=row["note"]: f"{draw(instant)[:-8]}{_digest(text)[:8]}"  # type: ignore[misc]
        try:
            older = by_time.get(row.get("supersedes", ""), "")
            entry = inbox.write(
                home,
                row["note"],
                type=row["type"],
                title=row.get("title", ""),
                project=_PROJECT,
                tags=row.get("tags", ()),
                why=row.get("why", ""),
                alternatives=row.get("alternatives", ()),
                supersedes=older,
                now=_seconds(row),
            )
        finally:
            inbox.new_id = draw
        if older:
            entries.mark_superseded(home, entries.find(home, older), entry.entry_id)
        by_time[row["at"]] = entry.entry_id
    for path in sorted(Path(home.inbox).rglob("*.md")):
        yield f"inbox/{path.relative_to(home.inbox)}", path.read_bytes()


def main() -> None:
    """Write the documents, and remove those that are no longer made."""
    found = made()
    for path in DOCUMENTS.rglob("*.md"):
        if str(path.relative_to(DOCUMENTS)) not in found:
            path.unlink()
    for name, data in found.items():
        path = DOCUMENTS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
