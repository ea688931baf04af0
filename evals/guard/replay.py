"""Replay the later half of sessions against a memory of those before, and judge each line that the guard gives.

Each session is played as it was: before each command and edit, and after each failure, the guard is asked with the
memory of that moment. ``labels.jsonl`` has moments that a person judged by reading: the document, its lines, and which
kinds of line would have been right there. No text of the sessions is in it. Lines are counted below the frontmatter,
which grows with the product.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import config
from core.document import bounds
from core.errors import BadInput
from core.home import Home
from ingest import registry
from qmd.index import catalogue
from qmd.index.actions import history
from qmd.index.catalogue import Document, Filters
from qmd.index.store import open_index
from runtime.capture.indexing import index
from runtime.guard import guard, moment
from runtime.guard.memory import Memory
from runtime.injections.ledger import BUDGET

if TYPE_CHECKING:
    import apsw

    from core.config import Config
    from qmd.index.actions.action import Action

LABELS = Path(__file__).parent / "labels.jsonl"
PRECISION, FALSE_SHARE, FORESEEN = 0.9, 0.02, 0.4
_SESSIONS = "brain"
_ALL = 1_000_000
Label = tuple[str, int, str]


@dataclass(slots=True)
class Tally:
    """Result of a replay: counts, and each line with its verdict (``right``, ``wrong`` or ``unlabelled``)."""

    sessions: int = 0
    replayed: int = 0
    calls: int = 0
    repeats: int = 0
    foreseen: int = 0
    similar: int = 0
    labelled: int = 0
    controls: int = 0
    fired_on_controls: int = 0
    items: list[dict[str, Any]] = field(default_factory=list)

    def count(self, verdict: str) -> int:
        """Return how many lines have a verdict."""
        return sum(item["verdict"] == verdict for item in self.items)

    def as_dict(self) -> dict[str, Any]:
        """Return the envelope, with the bars and whether each is met; None where nothing could be counted."""
        right, wrong = self.count("right"), self.count("wrong")
        precision = right / (right + wrong) if right + wrong else None
        false_share = wrong / self.calls if self.calls else None
        foreseen = self.foreseen / self.repeats if self.repeats else None
        return {
            "schema": 1,
            "ok": True,
            "sessions": self.sessions,
            "replayed": self.replayed,
            "calls": self.calls,
            "lines": len(self.items),
            "right": right,
            "wrong": wrong,
            "unlabelled": self.count("unlabelled"),
            "precision": _figure(precision, PRECISION, precision is not None and precision >= PRECISION),
            "false_share": _figure(false_share, FALSE_SHARE, false_share is not None and false_share <= FALSE_SHARE),
            "repeats": self.repeats,
            "foreseen": self.foreseen,
            "foreseen_share": _figure(foreseen, FORESEEN, foreseen is not None and foreseen >= FORESEEN),
            "similar": self.similar,
            "labelled": self.labelled,
            "controls": self.controls,
            "fired_on_controls": self.fired_on_controls,
            "items": self.items,
        }


def _figure(value: float | None, bar: float, met: bool) -> dict[str, Any]:
    return {"value": None if value is None else round(value, 4), "bar": bar, "met": met if value is not None else None}


def remember(data: Path, home: Home) -> Config:
    """Index the sessions below ``data`` into a scratch home: folders named ``SOURCE`` or ``SOURCE-…``.

    Raises BadInput if there are none.
    """
    settings = config.load(home)
    found = False
    for name in registry.names():
        for folder in sorted(data.iterdir()) if data.is_dir() else ():
            if folder.is_dir() and (folder.name == name or folder.name.startswith(f"{name}-")):
                index(home, settings, source=name, roots=[str(folder)])
                found = True
    if not found:
        raise BadInput(
            f"{data} has no folder of sessions", f"name folders after sources: {', '.join(registry.names())}"
        )
    return settings


def labels(path: Path = LABELS) -> dict[Label, list[str]]:
    """Return the kinds of line that are right at each labelled moment: (document, line, when) → kinds, [] for none."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return {(row["document"], row["lines"][0], row["when"]): row["right"] for row in rows}


def replay(home: Home, settings: Config, known: dict[Label, list[str]]) -> Tally:
    """Play the later half of the sessions of a home, and judge the lines by the labels ``known``."""
    connection = open_index(home.index)
    try:
        sessions = with_actions(connection)
        later = sessions[len(sessions) // 2 :]
        tally = Tally(sessions=len(sessions), replayed=len(later))
        for document in later:
            _play(connection, settings, document, known, tally)
    finally:
        connection.close()
    return tally


def with_actions(connection: apsw.Connection) -> list[Document]:
    """Return the sessions that did something, by their dates."""
    found = map(Document, catalogue.rows(connection, Filters((_SESSIONS,))))
    acting = [each for each in found if history.between(connection, each.id, 0, _ALL)]
    return sorted(acting, key=lambda each: (each.date, each.path))


def moments(connection: apsw.Connection, document: Document) -> Iterator[tuple[Action, moment.Moment]]:
    """Yield each moment of a session at which a hook would have fired, in order, with the action that it was."""
    project = document.field("project") or ""
    for action in history.between(connection, document.id, 0, _ALL):
        for when in (moment.BEFORE, moment.FAILED):
            if when == moment.BEFORE or action.outcome == "failed":
                found = moment.replayed(action, project, when)
                if found is not None:
                    yield action, found


def memory_of(connection: apsw.Connection, settings: Config, document: Document) -> Memory:
    """Return the memory as it was when a session began."""
    return Memory(connection, settings, document.field("session_id") or document.path, document.date)


def _play(
    connection: apsw.Connection, settings: Config, document: Document, known: dict[Label, list[str]], tally: Tally
) -> None:
    memory = memory_of(connection, settings, document)
    given: set[str] = set()
    warned: set[int] = set()
    room = BUDGET
    head = _head(connection, document)
    for action, found in moments(connection, document):
        is_before = found.when == moment.BEFORE
        tally.calls += is_before
        line = action.line - head
        label = known.get((document.path, line, found.when))
        tally.labelled += label is not None
        tally.controls += label == []
        if not is_before:
            is_repeat = _repeats(action, found, memory)
            tally.repeats += is_repeat
            tally.foreseen += is_repeat and found.key in warned
            tally.similar += _is_similar(action, memory)
        lines = [each for each in guard.lines(found, memory) if each.key not in given]
        item = guard.as_item(lines[0], found) if lines else None
        if item is None or item.characters > room:
            continue
        given.add(item.key)
        warned.add(found.key)
        room -= item.characters
        tally.fired_on_controls += label == []
        verdict = "unlabelled" if label is None else "right" if item.kind in label else "wrong"
        where = {"document": document.path, "line": line, "when": found.when}
        tally.items.append({**where, "kind": item.kind, "verdict": verdict, "text": item.text})


def _head(connection: apsw.Connection, document: Document) -> int:
    """Return the number of lines of a document's frontmatter."""
    text = catalogue.text(connection, document.hash) or ""
    found = bounds(text)
    return text.count("\n", 0, found[2]) if found else 0


def _repeats(action: Action, found: moment.Moment, memory: Memory) -> bool:
    """Return True if an earlier session had this very failure: the same command in the same folder, or the same error
    of the same tool at the same file or with the same arguments."""
    if action.kind == "command":
        runs = memory.own(history.runs(memory.connection, action.key))
        here = moment.place(found.folder)
        return any(past.outcome == "failed" and moment.place(past.folder) == here for past, _ in runs)
    same = memory.own(history.with_error(memory.connection, (action.error,)))
    return any(past.key == action.key and past.kind == action.kind for past, _ in same)


def _is_similar(action: Action, memory: Memory) -> bool:
    """Return True if an earlier session, in any folder, had the same error of the same program or kind of call."""
    same = memory.own(history.with_error(memory.connection, (action.error,)))
    return any(past.kind == action.kind and (past.kind != "command" or past.name == action.name) for past, _ in same)
