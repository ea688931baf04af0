"""Write synthetic sessions as transcripts, index them in a scratch home, and ask questions whose answer changed.

Each row of ``questions.jsonl`` has what was said first, what was said later in another session, and a question. For an
``update`` or a ``contradiction``, the hit with the newer statement has to stand above the older one, and the older one
has to carry the newer as its other side. For a ``look-alike`` neither may be marked. Constants were chosen on the half
``choose``; ``exam`` is the check.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import config
from runtime.asking.ask import Asker
from runtime.asking.request import Request
from runtime.capture.indexing import index
from runtime.validity import CONTRADICTED, SUPERSEDED

if TYPE_CHECKING:
    from core.home import Home

QUESTIONS = Path(__file__).parent / "questions.jsonl"
BAR = 0.9
LOOK_ALIKE = "look-alike"
_FIRST_DAY, _SECOND_DAY = "2026-03-02", "2026-05-04"
_LIMIT = 10
# Work around the statements: what was asked, the call, and what the agent said of it.
_WORK = (
    (
        "Why does the build warn about unused imports?",
        "ruff check src",
        "Two imports were left over from a refactoring.",
    ),
    ("Show me the slowest tests.", "pytest --durations=5 -q", "The five slowest tests all start a server."),
    ("Clean up the branch names.", "git branch --merged", "Three merged branches can go."),
    ("Is the disk full on the runner?", "df -h /", "The disk is half empty."),
    ("Rename the helper in utils.", "grep -rn helper src", "Four callers use the helper."),
    ("Add a docstring to the loader.", "sed -n 1,40p src/loader.py", "The loader has a docstring."),
    ("Look at the last failing run.", "gh run view --log-failed", "A mirror was down; the next run passed."),
)


def rows(half: str = "all") -> list[dict[str, Any]]:
    """Return the questions of a half: ``choose``, ``exam`` or ``all``."""
    found = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines() if line.strip()]
    return [row for row in found if half in ("all", row["half"])]


def write(folder: Path, questions: list[dict[str, Any]]) -> None:
    """Write two transcripts for each question, as Claude Code logs them."""
    for number, row in enumerate(questions):
        for day, side in ((_FIRST_DAY, "older"), (_SECOND_DAY, "newer")):
            path = folder / "projects" / row["project"].replace("/", "-") / f"{_session(number, side)}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            records = list(_records(row, number, side, day))
            path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


def measure(home: Home, folder: Path, half: str = "all") -> dict[str, Any]:
    """Index the sessions of all questions in ``home``, ask those of a half, and return the envelope."""
    every = rows()
    write(folder, every)
    settings = config.load(home)
    index(home, settings, source="claude", roots=[str(folder)])
    items: list[dict[str, Any]] = []
    with Asker(home, settings) as asker:
        for number, row in enumerate(every):
            if half in ("all", row["half"]):
                answer = asker.ask(row["question"], Request(limit=_LIMIT, project=row["project"]))
                right, saw = _judge(row, answer["hits"], _session(number, "older"), _session(number, "newer"))
                kept = {name: row[name] for name in ("kind", "half", "question", "older", "newer")}
                items.append({**kept, "right": right, "saw": saw})
    kinds = {
        kind: _share([each for each in items if each["kind"] == kind])
        for kind in dict.fromkeys(each["kind"] for each in items)
    }
    changed = _share([each for each in items if each["kind"] != LOOK_ALIKE])
    return {
        "schema": 1,
        "ok": True,
        "questions": len(items),
        "half": half,
        "kinds": kinds,
        "newer_first": {**changed, "bar": BAR, "met": changed["share"] is not None and changed["share"] >= BAR},
        "items": items,
    }


def _judge(row: dict[str, Any], hits: list[dict[str, Any]], older: str, newer: str) -> tuple[bool, str]:
    """Return (True if the answer is right, what it shows)."""
    places = {name: at for at, hit in enumerate(hits) for name in (older, newer) if hit["uri"].endswith(f"{name}.md")}
    marked = {name: hits[at]["validity"] for name, at in places.items()}
    states = ", ".join(
        f"{side} {marked[name]['state']} at {places[name] + 1}" if name in marked else f"no {side}"
        for side, name in (("newer", newer), ("older", older))
    )
    if row["kind"] == LOOK_ALIKE:
        return not any(each["state"] in (SUPERSEDED, CONTRADICTED) for each in marked.values()), states
    if older not in places or newer not in places or places[newer] > places[older]:
        return False, states
    by = [side["uri"] for side in marked[older]["by"]]
    return any(uri.endswith(f"{newer}.md") for uri in by), states


def _share(items: list[dict[str, Any]]) -> dict[str, Any]:
    right = sum(each["right"] for each in items)
    return {"right": right, "of": len(items), "share": round(right / len(items), 4) if items else None}


def _session(number: int, side: str) -> str:
    return f"{number:08x}-{'0' if side == 'older' else '1'}000-4000-8000-000000000000"


def _records(row: dict[str, Any], number: int, side: str, day: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a session: some work, the statement, some more work."""
    base = {
        "sessionId": _session(number, side),
        "cwd": row["project"],
        "version": "2.1.0",
        "gitBranch": "main",
        "isSidechain": False,
        "userType": "external",
    }
    first, last = _WORK[number % len(_WORK)], _WORK[(number + 3 + (side == "newer")) % len(_WORK)]
    parent: str | None = None
    steps: list[tuple[str, Any]] = []
    for asked, command, said in (first, (row[side], "git status --short", "All right."), last):
        call = f"toolu_{len(steps):04}"
        steps += [
            ("user", asked),
            ("assistant", [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}]),
            ("user", [{"type": "tool_result", "tool_use_id": call, "content": "done"}]),
            ("assistant", [{"type": "text", "text": said}]),
        ]
    for at, (role, content) in enumerate(steps):
        identity = f"{number:08x}-0000-4000-8{'0' if side == 'older' else '1'}00-{at:012}"
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            message |= {"id": f"msg_{at}", "type": "message", "model": "claude-sonnet-4-5", "stop_reason": None}
        yield {
            **base,
            "type": role,
            "uuid": identity,
            "parentUuid": parent,
            "timestamp": f"{day}T09:{at:02}:00.000Z",
            "message": message,
        }
        parent = identity
