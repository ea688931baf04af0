"""A memory for the guard, built from a case of ``data/moments.jsonl``: sessions, notes, and texts of strangers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core import config, document
from core.home import Home
from runtime.capture.indexing import index

CASES = [json.loads(line) for line in (Path(__file__).parent / "data" / "moments.jsonl").read_text().splitlines()]


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
    given = {"hook_event_name": "PreToolUse", "session_id": session, "transcript_path": f"/tmp/{session}.jsonl", **call}
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
