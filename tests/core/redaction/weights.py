"""Compute the weights of ``core.redaction.likely``: logistic regression over the lists of this folder and plain text.

``python -m tests.core.redaction.weights FOLDER…`` reads the labelled lines, the blind lists that rules may be made for,
and the texts of the folders, in which every candidate counts as harmless unless a rule finds it. It writes
``core/redaction/likely.json``. numpy is needed, an hour is not.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from core.redaction import likely
from tests.core.redaction import labelled

HERE = Path(__file__).parent
# Lists that nothing was made from are for measuring.
HELD_BACK = frozenset(("fifteenth", "sixteenth"))
_TEXT = (".py", ".md", ".txt", ".json", ".jsonl", ".toml", ".yml", ".yaml", ".cfg", ".js", ".ts", ".css", ".rst", ".sh")
# How often the values of a line are drawn.
_DRAWS = 4
_MOST = 400_000  # bytes of a file that are read


class Example:
    """A candidate: its features, if it is a secret, how much it counts, and where it is from."""

    __slots__ = ("features", "is_secret", "shown", "weight")

    def __init__(self, features: list[str], *, is_secret: bool, weight: float, shown: str) -> None:
        self.features = features
        self.is_secret = is_secret
        self.weight = weight
        self.shown = shown


def filled(lines: list[str], seed: int) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield each line with its marks filled in, and the places of its secrets."""
    make = labelled.Maker(seed)
    for line in lines:
        places: list[tuple[int, int]] = []
        text, done = "", 0
        for mark in re.finditer("⟪(\\w+)⟫|⟦(\\w+|=[^⟧]+)⟧", line):
            text += line[done : mark.start()]
            done = mark.end()
            name = mark[1] or mark[2]
            value = name[1:] if name[0] == "=" else make.drawn(name)
            if mark[2]:
                places.append((len(text), len(text) + len(value)))
            text += value
        yield text + line[done:], places


def swapped(lines: list[str], seed: int) -> Iterator[str]:
    """Yield the lines with literal secrets once more, each secret replaced by one of another line that looks alike.

    So looks and surroundings are learned apart: the lists have few lines for what both can be.
    """
    draw = random.Random(seed)
    alike: dict[tuple[bool, bool], list[str]] = {}
    for value in _literals(lines):
        alike.setdefault(_looks(value), []).append(value)
    for line in lines:
        if any(_literals([line])):
            yield _LITERAL.sub(lambda mark: f"⟦={draw.choice(alike.get(_looks(mark[1]), [mark[1]]))}⟧", line)


_LITERAL = re.compile("⟦=((?=[^⟧]*[0-9])(?=[^⟧]*[A-Za-z])[^⟧⟪\\s]+)⟧")


def _literals(lines: list[str]) -> Iterator[str]:
    return (value for line in lines for value in _LITERAL.findall(line))


def _looks(value: str) -> tuple[bool, bool]:
    return len(value) > 20, value.isalnum()


def of_lines(lines: list[str], seed: int, weight: float) -> Iterator[Example]:
    for text, places in filled(lines, seed):
        for start, end, features, _ in likely.judged(text):
            is_secret = any(start < last and end > first for first, last in places)
            yield Example(features, is_secret=is_secret, weight=weight, shown=f"{text[start:end]} | {text[:200]}")


def of_folder(folder: Path, weight: float) -> Iterator[Example]:
    """Yield the candidates of the texts in a folder, those with the same features once."""
    seen: set[int] = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix not in _TEXT or not path.is_file() or path.is_symlink():
            continue
        with path.open("rb") as stream:
            data = stream.read(_MOST) if path.suffix != ".jsonl" else stream.read()
        for text in _strings(data.decode("utf-8", "replace"), path.suffix):
            for start, end, features, _ in likely.judged(text):
                key = hash(tuple(features))
                if key not in seen:
                    seen.add(key)
                    shown = f"{text[start:end]} | {text[max(0, start - 100) : end + 100]}"
                    yield Example(features, is_secret=False, weight=weight, shown=shown)


def _strings(text: str, suffix: str) -> Iterator[str]:
    if suffix != ".jsonl":
        yield text
        return
    for line in text.split("\n"):
        try:
            yield from _leaves(json.loads(line))
        except ValueError:
            continue


def _leaves(value: Any) -> Iterator[str]:
    if type(value) is str:
        yield value
    elif type(value) is dict or type(value) is list:
        for item in value.values() if type(value) is dict else value:
            yield from _leaves(item)


def lists(*, without: frozenset[str]) -> Iterator[tuple[list[str], float]]:
    """Yield lists of labelled lines, and how much each of their candidates counts."""
    blind = [json.loads(line) for line in (HERE / "blind.jsonl").read_text(encoding="utf-8").splitlines()]
    yield [line["text"] for line in blind if line["list"] not in without], 1.0
    for name in ("lines", "classes", "examples", "stays"):
        with (HERE / f"{name}.jsonl").open(encoding="utf-8") as stream:
            yield [json.loads(line)["text"] for line in stream], 0.5
    others = [case.text for case in labelled.negatives()]
    yield list(dict.fromkeys(others)), 0.3


def fit(
    examples: list[Example], *, least: int = 6, decay: float = 1.0, rounds: int = 400
) -> tuple[dict[str, float], float]:
    """Return the weights of features that ``least`` examples have, and the bias: Adam on the logistic loss.

    ``decay``: how much a weight's square costs, against the loss summed over all examples.
    """
    counted = Counter(feature for example in examples for feature in set(example.features))
    index = {feature: place for place, feature in enumerate(sorted(f for f, n in counted.items() if n >= least))}
    rows, columns = [], []
    for place, example in enumerate(examples):
        for feature in example.features:
            if feature in index:
                rows.append(place)
                columns.append(index[feature])
    row, column = np.array(rows), np.array(columns)
    wanted = np.array([float(example.is_secret) for example in examples])
    share = np.array([example.weight for example in examples])
    total = share.sum()
    weights = np.zeros(len(index) + 1)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, rounds + 1):
        score = np.bincount(row, weights[:-1][column], len(examples)) + weights[-1]
        error = (1 / (1 + np.exp(-score)) - wanted) * share
        gradient = np.append(np.bincount(column, error[row], len(index)) + decay * weights[:-1], error.sum()) / total
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        weights -= 0.05 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-9)
    return {feature: float(weights[place]) for feature, place in index.items()}, float(weights[-1])


def main(folders: list[str]) -> None:
    examples = [
        example
        for seed in range(1, _DRAWS + 1)
        for lines, weight in lists(without=HELD_BACK)
        for example in of_lines(lines, seed, weight / _DRAWS)
    ]
    for seed, (lines, weight) in enumerate(lists(without=HELD_BACK)):
        for draw in range(1, 3):
            examples += of_lines(list(swapped(lines, 10 * seed + draw)), draw, weight / 2)
    for example in examples:
        example.weight *= 1 if example.is_secret else 3
    for folder in folders:
        examples += of_folder(Path(folder), 1.0)
    weights, bias = fit(examples)
    write(weights, bias)
    print(len(examples), "candidates,", len(weights), "features")


def write(weights: dict[str, float], bias: float, margin: float = 1.5) -> None:
    """Write the weights; ``margin``: what a candidate's sum has to be above even odds."""
    kept = {feature: round(weight, 2) for feature, weight in sorted(weights.items()) if abs(weight) >= 0.05}
    stored = {"threshold": round(margin - bias, 2), "weights": kept}
    path = Path(os.path.dirname(likely.__file__)) / "likely.json"
    path.write_text(json.dumps(stored, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
