"""The same session gives the same distillate in every process, however Python hashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CODE = """
import random, sys
sys.path.insert(0, sys.argv[1])
from runtime.distill import central
draw = random.Random(5)
words = [f"word{number}" for number in range(60)]
weight = {central.stem(word): draw.random() for word in words}
print([repr(central.math.fsum(weight.get(each, 0.0) for each in {central.stem(word) for word in words}))])
class Told:
    sections = {}
class Sentence:
    def __init__(self, place):
        self.words = draw.choices(words, k=12)
        self.text = " ".join(self.words)
        self.place = self.turn = place
        self.thought, self.role, self.voice = False, "user", "own"
print([each.text for each in central.points([Sentence(place) for place in range(200)], weight, set(), Told())])
"""


def test_the_order_of_sets_decides_nothing() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", CODE, str(ROOT)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2", "3", "4")
    }
    assert len(said) == 1
    assert "word" in said.pop()
