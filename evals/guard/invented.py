"""Invented moments: a small memory, a call, and the line that the guard owes it, or silence.

``moments.jsonl`` has the memory of each moment (sessions, notes, texts of strangers), the call, and what the line says:
its kind and a part of its text. Near copies vary a call that deserves a line; look-alikes, superseded, contradictory
and hostile memories deserve none.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from core import clock, config, document
from core.home import Home
from qmd.index.store import open_index
from runtime.capture.indexing import index
from runtime.guard import guard, moment
from runtime.guard.memory import Memory

MOMENTS = Path(__file__).parent / "moments.jsonl"


def cases() -> list[dict[str, Any]]:
    """Return the invented moments: ``name``, ``memory``, ``call`` and ``says`` ("" for silence)."""
    return [json.loads(line) for line in MOMENTS.read_text("utf-8").splitlines() if line.strip()]


def measure() -> dict[str, Any]:
    """Ask the guard at each invented moment; return the confusion table, and the moments that went wrong."""
    table = {"right": 0, "wrong": 0, "missed": 0, "silent": 0, "false": 0}
    items: list[dict[str, Any]] = []
    for case in cases():
        said = _said(case)
        verdict = _verdict(case["says"], said)
        table[verdict] += 1
        if verdict not in ("right", "silent"):
            items.append({"name": case["name"], "verdict": verdict, "wanted": case["says"], "said": said})
    spoken = table["right"] + table["wrong"] + table["false"]
    wanted = table["right"] + table["wrong"] + table["missed"]
    return {
        **table,
        "moments": sum(table.values()),
        "precision": round(table["right"] / spoken, 4) if spoken else None,
        "recall": round(table["right"] / wanted, 4) if wanted else None,
        "items": items,
    }


def _said(case: dict[str, Any]) -> str:
    """Return "kind: text" of the line at a moment, "" for silence."""
    with tempfile.TemporaryDirectory(prefix="brain-moment-") as folder:
        home = Home(folder)
        home.make()
        remember(home, case["memory"])
        found = moment.read(json.loads(payload(case["call"])))
        connection = open_index(home.index)
        try:
            lines = (
                [] if found is None else guard.lines(found, Memory(connection, config.load(home), "live", clock.now()))
            )
        finally:
            connection.close()
    return f"{lines[0].kind}: {lines[0].text}" if lines else ""


def _verdict(wanted: str, said: str) -> str:
    if not wanted:
        return "false" if said else "silent"
    kind, _, part = wanted.partition(": ")
    if not said:
        return "missed"
    return "right" if said.startswith(f"{kind}: ") and part in said else "wrong"


def remember(home: Home, memory: list[dict[str, Any]]) -> None:
    """Write the documents of a case and index them."""
    for number, held in enumerate(memory):
        name = f"{held.get('session') or f'm{number}'}"
        collection = held.get("collection") or ("inbox" if "title" in held else "brain")
        path = Path(home.path(collection, f"{name}.md"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_note(held, name) if "title" in held else _session(held, name))
    index(home, config.load(home), markdown_only=True)


def payload(call: dict[str, Any], session: str = "live") -> str:
    """Return the hook's input for the call of a case."""
    given = {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "transcript_path": f"/transcripts/{session}.jsonl",
        **call,
    }
    return json.dumps(given)


def _note(held: dict[str, Any], name: str) -> bytes:
    fields = {
        "session_id": name,
        "source": "note",
        "title": held["title"],
        "date": f"{held['day']}T08:00:00Z",
        "type": held["type"],
        "project": held["project"],
        "why": held["why"] or None,
        "superseded_by": held.get("superseded_by"),
    }
    return document.render(fields, f"# {held['title']}\n")


def _session(held: dict[str, Any], name: str) -> bytes:
    turns = ["## [1] user · {day} 08:00\n\nPlease go on."]
    for turn in held["turns"]:
        role, text = ("user", turn["user"]) if isinstance(turn, dict) else ("assistant", turn)
        turns.append(f"## [{len(turns) + 1}] {role} · {{day}} 08:0{len(turns)}\n\n{text}")
    fields = {
        "session_id": name,
        "source": "claude",
        "title": "Go on",
        "date": f"{held['day']}T08:00:00Z",
        "ended": f"{held['day']}T09:00:00Z",
        "project": held["project"],
        "turns": len(turns),
        "parent": held.get("parent"),
        "synthetic": held.get("synthetic"),
    }
    body = "\n\n".join(turns).replace("{day}", held["day"])
    return document.render(fields, f"# Go on\n\n{body}\n")
