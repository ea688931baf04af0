"""LoCoMo through the product itself: dialogs as Claude Code transcripts, then ``brain index`` and ``brain ask``.

    python -m evals.locomo ../shared/evals/locomo-dev.json

Each dialog is a brain of its own; each of its sessions a transcript with one user record a turn (``Speaker: text``) and
the session's own date. A question is a hit at k when a session of its evidence is among the first k answers. The data
set is Maharana et al., 2024 (https://arxiv.org/abs/2402.17753); no language model takes part.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

_NAMESPACE = uuid.UUID("8d7f1f0e-5f0c-4c3e-9a1b-6f0a5b9f2c11")
_ENTRY = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
_CHECKOUT = str(Path(__file__).resolve().parent.parent)
_DEPTH = 20


class Question(NamedTuple):
    """A question of one dialog and the numbers of the sessions that hold its evidence."""

    text: str
    category: int
    sessions: frozenset[int]


class Outcome(NamedTuple):
    """Where the first session of the evidence stood (1-based), 0 where it did not appear."""

    dialog: str
    question: Question
    rank: int


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
    """The questions that name evidence (``D<session>:<turn>``)."""
    for entry in dialog["qa"]:
        cited = " ".join(entry.get("evidence") or ()).replace(";", " ").replace(",", " ").split()
        numbers = {int(head[1:]) for item in cited if (head := item.partition(":")[0])[1:].isdigit()}
        if numbers:
            yield Question(entry["question"], int(entry["category"]), frozenset(numbers))


def write_transcripts(dialog: dict[str, Any], folder: Path) -> None:
    """One ``<session id>.jsonl`` a session, a minute between its turns."""
    name = dialog["sample_id"]
    folder.mkdir(parents=True)
    for number, start, turns in sessions(dialog):
        identity = session_id(name, number)
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


def evaluate(dialog: dict[str, Any], folder: Path) -> list[Outcome]:
    """Index one dialog in a home below ``folder`` and ask all of its questions in one batch.

    Raises RuntimeError where the program fails or answers fewer lines than it was asked.
    """
    name = dialog["sample_id"]
    write_transcripts(dialog, folder / "transcripts")
    asked = list(questions(dialog))
    environ = {**os.environ, "BRAIN_HOME": str(folder / "home"), "CLAUDE_CONFIG_DIR": str(folder / "none"), "TZ": "UTC"}
    _brain(["index", "--source", "claude", "--from", str(folder / "transcripts"), "--json"], "", environ)
    lines = "".join(" ".join(question.text.split()) + "\n" for question in asked)
    answers = _brain(["ask", "--batch", "-", "-n", str(_DEPTH)], lines, environ).splitlines()
    if len(answers) != len(asked):
        raise RuntimeError(f"{name}: {len(asked)} questions, {len(answers)} answers")
    number_of = {f"{session_id(name, number)}.md": number for number, _, _ in sessions(dialog)}
    outcomes = []
    for question, line in zip(asked, answers, strict=True):
        hits = json.loads(line).get("hits", [])
        ranked = [number_of.get(hit["path"].rpartition("/")[2]) for hit in hits]
        rank = next((place for place, number in enumerate(ranked, 1) if number in question.sessions), 0)
        outcomes.append(Outcome(name, question, rank))
    return outcomes


def metrics(outcomes: list[Outcome]) -> dict[str, float]:
    """hit@1 and hit@5 in percent, MRR in 0–1, and the number of questions."""
    count = len(outcomes)
    return {
        "questions": count,
        "hit@1": round(100 * sum(outcome.rank == 1 for outcome in outcomes) / count, 2),
        "hit@5": round(100 * sum(0 < outcome.rank <= 5 for outcome in outcomes) / count, 2),
        "mrr": round(sum(1 / outcome.rank for outcome in outcomes if outcome.rank) / count, 4),
    }


def _brain(words: list[str], stdin: str, environ: dict[str, str]) -> str:
    done = subprocess.run(  # noqa: S603  # this program, arguments of our own
        [sys.executable, "-c", _ENTRY, _CHECKOUT, *words],
        input=stdin,
        capture_output=True,
        text=True,
        env=environ,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(
            f"brain {words[0]} ended with {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"
        )
    return done.stdout


def main(argv: list[str] | None = None) -> int:
    """Print the figures of each dialog and of all together."""
    parser = argparse.ArgumentParser(prog="python -m evals.locomo", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="a LoCoMo JSON file")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args(argv)
    dialogs = json.loads(arguments.data.read_text())
    with tempfile.TemporaryDirectory(prefix="brain-locomo-") as scratch, ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda dialog: evaluate(dialog, Path(scratch) / dialog["sample_id"]), dialogs)
        outcomes = [outcome for run in runs for outcome in run]
    table = {
        name: metrics([o for o in outcomes if o.dialog == name]) for name in dict.fromkeys(o.dialog for o in outcomes)
    }
    table["all"] = metrics(outcomes)
    if arguments.json:
        print(json.dumps(table))
    else:
        print(f"{'dialog':<12}{'questions':>10}{'hit@1':>8}{'hit@5':>8}{'MRR':>8}")
        for name, row in table.items():
            print(f"{name:<12}{row['questions']:>10.0f}{row['hit@1']:>8.1f}{row['hit@5']:>8.1f}{row['mrr']:>8.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
