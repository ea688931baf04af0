"""LoCoMo: long conversations, session by session, and questions with the turns that answer them.

A dialog is a corpus; each of its sessions becomes a transcript of Claude Code with one user record a turn
(``Speaker: text``) and the session's own date, so that it goes through the product as a user's sessions do. A session
is relevant where a question's evidence (``D<session>:<turn>``) lies in it. The data set is Maharana et al., 2024
(https://arxiv.org/abs/2402.17753).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from core.errors import BadInput
from evals.dataset import Corpus, Dataset, Question, digest

_NAMESPACE = uuid.UUID("8d7f1f0e-5f0c-4c3e-9a1b-6f0a5b9f2c11")
_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def is_set(data: Any) -> bool:
    """Whether parsed JSON is such a set."""
    return isinstance(data, list) and bool(data) and all(isinstance(d, dict) and "conversation" in d for d in data)


def read(path: Path, data: list[dict[str, Any]]) -> Dataset:
    """The set in ``path``, parsed as ``data``. Raises BadInput where it does not hold."""
    corpora: list[Corpus] = []
    asked: list[Question] = []
    try:
        for dialog in data:
            name = str(dialog["sample_id"])
            key = digest(["locomo", json.dumps(dialog["conversation"], sort_keys=True), name])
            corpora.append(Corpus(name, key, "transcripts", _Writer(dialog)))
            asked += questions(dialog)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path}: not LoCoMo's form: {type(error).__name__}: {error}", f"check {path}") from None
    if not asked or len({corpus.name for corpus in corpora}) < len(corpora):
        raise BadInput(f"{path}: no question with evidence, or two dialogs of one name", f"check {path}")
    key = digest([*(c.key for c in corpora), *(f"{q.id}\t{q.text}\t{sorted(q.relevant)}\t{q.kind}" for q in asked)])
    return Dataset(path.stem, corpora, asked, key)


def session_id(dialog: str, number: int) -> str:
    """The id that the transcript of a dialog's session carries."""
    return str(uuid.uuid5(_NAMESPACE, f"{dialog}/{number}"))


def sessions(dialog: dict[str, Any]) -> Iterator[tuple[int, datetime, list[dict[str, str]]]]:
    """(number, start, turns) of each session; the data's clock has no zone, so UTC stands for it."""
    conversation = dialog["conversation"]
    for number in range(1, 1000):
        turns = conversation.get(f"session_{number}")
        if turns is None and f"session_{number}_date_time" not in conversation:
            return
        if turns:
            stamp = conversation[f"session_{number}_date_time"]
            yield number, datetime.strptime(stamp, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC), turns


def questions(dialog: dict[str, Any]) -> Iterator[Question]:
    """The questions that name evidence."""
    name = str(dialog["sample_id"])
    for index, entry in enumerate(dialog["qa"]):
        cited = " ".join(entry.get("evidence") or ()).replace(";", " ").replace(",", " ").split()
        numbers = {int(head[1:]) for item in cited if (head := item.partition(":")[0])[1:].isdigit()}
        if numbers:
            kind = _KINDS.get(int(entry["category"]), str(entry["category"]))
            yield Question(f"{name}/{index}", str(entry["question"]), name, {f"D{n}": 1 for n in sorted(numbers)}, kind)


class _Writer:
    """Writes a dialog's transcripts, one ``<session id>.jsonl`` a session, a minute between its turns."""

    def __init__(self, dialog: dict[str, Any]) -> None:
        self._dialog = dialog

    def __call__(self, folder: Path) -> dict[str, str]:
        name = str(self._dialog["sample_id"])
        known = {}
        for number, start, turns in sessions(self._dialog):
            identity = session_id(name, number)
            known[f"{identity}.md"] = f"D{number}"
            parent = None
            lines = []
            for index, turn in enumerate(turns):
                record = {
                    "parentUuid": parent,
                    "isSidechain": False,
                    "userType": "external",
                    "cwd": f"/locomo/{name}",
                    "sessionId": identity,
                    "version": "2.1.0",
                    "type": "user",
                    "message": {"role": "user", "content": f"{turn['speaker']}: {turn['text']}"},
                    "uuid": str(uuid.uuid5(_NAMESPACE, f"{identity}/{index}")),
                    "timestamp": (start + timedelta(minutes=index)).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                }
                parent = record["uuid"]
                lines.append(json.dumps(record))
            (folder / f"{identity}.jsonl").write_text("\n".join(lines) + "\n")
        return known
