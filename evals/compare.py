"""A against B: two arms asked the same questions, or two runs that are kept, and the questions that changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from core.errors import BadInput
from evals import kept, tally

if TYPE_CHECKING:
    from core.home import Home
    from evals.dataset import Question


class Side(NamedTuple):
    """A run that is kept: its folder, its figures, and the one arm that is meant ("" for every arm)."""

    place: str
    run: dict[str, Any]
    arm: str


def side(home: Home, text: str) -> Side | None:
    """``RUN``, ``RUN/ARM``, ``last`` or ``last~1``; None where no run is called so. Raises BadInput for its arm."""
    name, _, arm = text.partition("/")
    place = kept.find(home, name)
    if place is None:
        return None
    run = kept.read(home, os.path.basename(place))
    if arm and not any(row["arm"] == arm for each in run["sets"] for row in each["arms"]):
        raise BadInput(f"run {name} has no arm {arm!r}", f"arms: {', '.join(_arms(run))}")
    return Side(place, run, arm)


def compare(one: Side, other: Side) -> dict[str, Any]:
    """The differences, ``other`` less ``one``, set by set. Raises BadInput where they have nothing in common."""
    sets = []
    for each in one.run["sets"]:
        name = each["name"]
        if any(name == there["name"] for there in other.run["sets"]):
            asked = _common(kept.questions(one.place, name), kept.questions(other.place, name))
            for before, after in _pairs(one, other, name):
                answers = [
                    kept.answers(kept.answers_file(which.place, name, arm))[0]
                    for which, arm in ((one, before), (other, after))
                ]
                changed = tally.changed(asked, *answers)
                sets.append(
                    {"name": name, "a": before, "b": after, **tally.against(asked, *answers), "changed": changed}
                )
    if not any(each["questions"] for each in sets):
        raise BadInput("the two have no question in common", "compare runs of the same sets and arms")
    runs = {"a": one.run["run"], "b": other.run["run"]}
    return {"schema": 1, "ok": True, "runs": runs, "sets": sets}


def _arms(run: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["arm"] for each in run["sets"] for row in each["arms"] if "skipped" not in row))


def _pairs(one: Side, other: Side, name: str) -> list[tuple[str, str]]:
    """The arms to compare on a set: those that were named, else each that ran on both sides."""
    ran = [
        [
            row["arm"]
            for each in which.run["sets"]
            if each["name"] == name
            for row in each["arms"]
            if "skipped" not in row
        ]
        for which in (one, other)
    ]
    if one.arm or other.arm:
        pair = (one.arm or other.arm, other.arm or one.arm)
        return [pair] if pair[0] in ran[0] and pair[1] in ran[1] else []
    return [(arm, arm) for arm in ran[0] if arm in ran[1]]


def _common(one: list[Question], other: list[Question]) -> list[Question]:
    """The questions that are the same on both sides, their answers included."""
    known = {question.id: question for question in other}
    return [q for q in one if q.id in known and (q.text, q.relevant) == (known[q.id].text, known[q.id].relevant)]
