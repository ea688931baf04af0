"""LoCoMo: long conversations, session by session, and questions with the turns that answer them.

A dialog is a corpus. Each of its sessions becomes a transcript of Claude Code, so that it goes through the product as a
user's sessions do: one user record a turn (``Speaker: text``), with the session's own date. A session is relevant if a
question's evidence (``D<session>:<turn>``) lies in it. The data set is Maharana et al., 2024
(https://arxiv.org/abs/2402.17753).
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from core.errors import BadInput
from evals.sets import files
from evals.sets.dataset import Corpus, Dataset, Question, clean, digest
from evals.sets.files import write

_NAMESPACE = uuid.UUID("8d7f1f0e-5f0c-4c3e-9a1b-6f0a5b9f2c11")
_SESSION = re.compile(r"session_(\d{1,6})")
# ``D8:6; D9:17`` and ``D:11:26`` occur; a bare ``D`` names nothing.
_EVIDENCE = re.compile(r"\b[Dd]\s*:?\s*(\d{1,6})\b")
_CLOCKS = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %B %Y", "%d %B, %Y", "%d %B %Y", "%B %d, %Y", "%Y/%m/%d (%a) %H:%M")
_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def is_set(data: Any) -> bool:
    """Return True if parsed JSON is such a set, or one dialog of a set."""
    return any(isinstance(dialog, dict) and "conversation" in dialog for dialog in _dialogs(data))


def read(path: Path, data: Any) -> Dataset:
    """The set in ``path``, parsed as ``data``. Raises BadInput, naming the dialog, where it does not hold.

    Questions without evidence, without words, or of a dialog in which nobody says anything are left out and counted.
    """
    corpora: list[Corpus] = []
    asked: list[Question] = []
    left_out = 0
    names: set[str] = set()
    for number, dialog in enumerate(_dialogs(data), 1):
        name = _name(dialog, number)
        if name in names:
            raise BadInput(f"{path}: two dialogs of the name {name!r}", "give each a `sample_id` of its own")
        names.add(name)
        try:
            entries = dialog.get("qa") or []
            told = list(sessions(dialog))
            here = list(_questions(name, entries)) if told else []
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path}: {name}: not LoCoMo's form: {_said(error)}", f"check {path}") from None
        if told:
            key = digest(["locomo 2", json.dumps(dialog["conversation"], sort_keys=True), name])
            corpora.append(Corpus(name, key, "transcripts", _Writer(name, dialog)))
        asked += here
        left_out += len(entries) - len(here)
    if not asked:
        raise BadInput(f"{path}: no question with evidence", f"check {path}: D<session>:<turn> in `evidence`")
    key = digest([*(c.key for c in corpora), *(f"{q.id}\t{q.text}\t{sorted(q.relevant)}\t{q.kind}" for q in asked)])
    return Dataset(files.stem(path), corpora, asked, key, left_out)


def _dialogs(data: Any) -> list[Any]:
    if isinstance(data, dict):
        return [data]
    return data if isinstance(data, list) else []


def _name(dialog: Any, number: int) -> str:
    given = dialog.get("sample_id") if isinstance(dialog, dict) else None
    return f"dialog-{number}" if given is None else str(given)


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def session_id(dialog: str, number: int) -> str:
    """The id that the transcript of a dialog's session carries."""
    return str(uuid.uuid5(_NAMESPACE, f"{dialog}/{number}"))


def sessions(dialog: dict[str, Any]) -> Iterator[tuple[int, datetime | None, list[tuple[int, str]]]]:
    """(number, start, [(place, text)]) of each session in which something is said, in the order of their numbers.

    The data names no time zone and is read as UTC; a session without a clock has no date. Turns that say nothing
    (pictures) keep their place. Raises ValueError where a date cannot be read.
    """
    conversation = dialog["conversation"]
    numbers = sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key)))
    for number in numbers:
        told = [
            (place, said) for place, turn in enumerate(conversation[f"session_{number}"] or ()) if (said := _turn(turn))
        ]
        if told:
            yield number, _start(conversation.get(f"session_{number}_date_time")), told


def _turn(turn: Any) -> str:
    """``Speaker: text``, "" for a turn without a word."""
    if isinstance(turn, str):
        return turn
    text = turn.get("text") or ""
    words = " ".join(map(str, text)) if isinstance(text, list) else str(text)
    return f"{turn['speaker']}: {words}" if words and "speaker" in turn else words


def _start(stamp: Any) -> datetime | None:
    if stamp in (None, ""):
        return None
    text = " ".join(str(stamp).split())
    for form in _CLOCKS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no date such as '1:56 pm on 8 May, 2023'") from None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _questions(name: str, entries: list[dict[str, Any]]) -> Iterator[Question]:
    """The questions that name evidence."""
    for index, entry in enumerate(entries):
        numbers = sorted({int(number) for number in _EVIDENCE.findall(" ".join(_flat(entry.get("evidence"))))})
        text = clean(entry.get("question"))
        if numbers and text:
            yield Question(f"{name}/{index}", text, name, {f"D{n}": 1 for n in numbers}, _kind(entry.get("category")))


def _kind(category: Any) -> str:
    try:
        return _KINDS.get(int(category), str(category))
    except (TypeError, ValueError):
        return str(category or "")


def _flat(value: Any) -> Iterator[str]:
    """The strings of a list of them, of lists of lists, or of one alone: the data has all three."""
    if isinstance(value, list):
        for each in value:
            yield from _flat(each)
    elif value is not None:
        yield str(value)


class _Writer:
    """Writes a dialog's transcripts, one ``<session id>.jsonl`` a session, a minute between its turns."""

    def __init__(self, name: str, dialog: dict[str, Any]) -> None:
        self._name = name
        self._dialog = dialog

    def __call__(self, folder: Path) -> dict[str, str]:
        known = {}
        for number, start, turns in sessions(self._dialog):
            identity = session_id(self._name, number)
            known[f"{identity}.md"] = f"D{number}"
            parent = None
            lines = []
            for index, said in turns:
                record = {
                    "parentUuid": parent,
                    "isSidechain": False,
                    "userType": "external",
                    "cwd": f"/locomo/{self._name}",
                    "sessionId": identity,
                    "version": "2.1.0",
                    "type": "user",
                    "message": {"role": "user", "content": said},
                    "uuid": str(uuid.uuid5(_NAMESPACE, f"{identity}/{index}")),
                }
                if start is not None:
                    record["timestamp"] = (start + timedelta(minutes=index)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
                parent = record["uuid"]
                lines.append(json.dumps(record))
            write(folder / f"{identity}.jsonl", "\n".join(lines).encode() + b"\n")
        return known
