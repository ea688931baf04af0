"""``History`` databases as browsers make them, for tests."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import apsw

from core.home import Home
from ingest.sources.chrome.history import EPOCH_US

LINK, TYPED, SUBFRAME, GENERATED, RELOAD = 0, 1, 3, 5, 8
START, END, CLIENT_REDIRECT, SERVER_REDIRECT = 0x1000_0000, 0x2000_0000, 0x4000_0000, -0x8000_0000
WHOLE = START | END

# 2026-04-28 07:14:00 UTC
MORNING = 1_777_360_440

_OLD = """
create table meta(key text primary key, value text);
create table urls(id integer primary key, url text, title text, visit_count int, typed_count int, last_visit_time int,
  hidden int);
create table visits(id integer primary key, url int, visit_time int, from_visit int, transition int, segment_id int,
  visit_duration int);
create table keyword_search_terms(keyword_id int, url_id int, lower_term text, term text);
create table visit_source(id integer primary key, source int);
"""
_NEW = """
alter table visits add column opener_visit int;
create table content_annotations(visit_id integer primary key, search_terms text);
create table context_annotations(visit_id integer primary key, total_foreground_duration int, response_code int);
create table clusters(cluster_id integer primary key, label text, raw_label text);
create table clusters_and_visits(cluster_id int, visit_id int, score real);
create table cluster_keywords(cluster_id int, keyword text, score real);
"""


class History:
    """A database at ``path``; ``visit`` adds to it, ``save`` writes it and makes it look a minute old."""

    def __init__(self, path: Path, *, old: bool = False) -> None:
        self.path = path
        self.old = old
        path.parent.mkdir(parents=True, exist_ok=True)
        self._open()
        self.connection.execute(_OLD if old else _OLD + _NEW)
        self._pages: dict[str, int] = {}
        self._visits = 0

    def visit(
        self,
        url: str,
        title: str = "",
        at: float = MORNING,
        transition: int = LINK | WHOLE,
        seconds: float = 0,
        *,
        parent: int = 0,
        opener: int = 0,
        term: str = "",
        foreground: float | None = None,
        label: str = "",
        hidden: bool = False,
        written: float | None = None,
    ) -> int:
        """Add one visit at ``at`` (epoch seconds); returns its id."""
        execute = self.connection.execute
        when = int(at * 1_000_000) + EPOCH_US
        if url not in self._pages:
            self._pages[url] = len(self._pages) + 1
            last = int((at if written is None else written) * 1_000_000) + EPOCH_US
            row = (self._pages[url], url, title, 1, 0, last, int(hidden))
            execute("insert into urls values(?, ?, ?, ?, ?, ?, ?)", row)
            if term:
                execute("insert into keyword_search_terms values(2, ?, ?, ?)", (row[0], term.lower(), term))
        self._visits += 1
        signed = transition - (1 << 32) if transition >= 1 << 31 else transition
        values: list[Any] = [self._visits, self._pages[url], when, parent, signed, 0, int(seconds * 1_000_000)]
        if not self.old:
            values.append(opener)
            known = -1_000_000 if foreground is None else int(foreground * 1_000_000)
            execute("insert into context_annotations values(?, ?, 200)", (self._visits, known))
            if label:
                execute("insert into clusters values(?, ?, '')", (self._visits, label))
                execute("insert into clusters_and_visits values(?, ?, 1)", (self._visits, self._visits))
        execute(f"insert into visits values({', '.join('?' * len(values))})", values)
        return self._visits

    def forget(self, *visits: int) -> None:
        """Remove visits as clearing and ageing do."""
        self.connection.executemany("delete from visits where id = ?", [(visit,) for visit in visits])

    def save(self) -> str:
        """Close what was written; returns the path. More can be added."""
        self.connection.close()
        past = time.time() - 60.5 - self._visits
        os.utime(self.path, (past, past))
        self._open()
        return str(self.path)

    def _open(self) -> None:
        self.connection = apsw.Connection(str(self.path))
        # Nobody's memory: a crash of the machine may take it.
        self.connection.execute("pragma synchronous=off; pragma journal_mode=memory").fetchall()


def configure(home: Home, section: str) -> None:
    """Set ``sources.chrome``; a file of another length is another file, also within one tick of the clock."""
    text = f"collections: {{chrome-history: {{path: chrome-history}}}}\nsources: {{chrome: {section}}}\n"
    path = Path(home.path("collections.yml"))
    path.write_text(text + "#" * (os.path.getsize(path) if path.exists() else 0), encoding="utf-8")


def days(home: Home) -> dict[str, str]:
    folder = Path(home.path("chrome-history"))
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
