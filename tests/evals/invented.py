"""An invented set in LoCoMo's form: two friends by the sea, two bakers, eight sessions each, and small talk between.

The conversations of ``data/invented.json`` say each thing once or twice; the talk around them, drawn by number and
never by chance, makes sessions of different lengths with several passages each, in which the questions' words
stand too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent / "data"
# Turns of small talk in each session: short ones and long ones, with and without the answers.
_TURNS = (12, 55, 20, 70, 8, 34, 48, 16)


def dialogs() -> list[dict[str, Any]]:
    """The set, as ``evals.sets.locomo`` reads it."""
    found: list[dict[str, Any]] = json.loads((_DATA / "invented.json").read_text(encoding="utf-8"))
    talk = [line.split("|") for line in (_DATA / "talk.txt").read_text(encoding="utf-8").splitlines()]
    for number, dialog in enumerate(found):
        conversation = dialog["conversation"]
        speakers = (conversation["speaker_a"], conversation["speaker_b"])
        for session, count in enumerate(_TURNS, 1):
            told = conversation[f"session_{session}"]
            # A walk through all of the talk whose step has no divisor in common with its length.
            start = 11 * session + 5 * number
            idle = [line for step in range(count // 3 + 1) for line in talk[(start + 9 * step) % len(talk)]]
            turns: list[dict[str, str]] = []
            gap = max(1, len(idle) // (len(told) + 1))
            for place, text in enumerate(idle):
                turns.append({"speaker": speakers[place % 2], "dia_id": f"D{session}:t{place}", "text": text})
                if place % gap == gap - 1 and told:
                    turns.append(told.pop(0))
            conversation[f"session_{session}"] = turns + told
    return found
