"""Differences between frozen answers and today's: one line for each question that moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import pytest


@dataclass(frozen=True, slots=True)
class Answer:
    """The frozen part of one answer.

    Args:
        uris: the best hits, best first.
        scores: their scores (0-1), rounded; () if scores are not frozen.
        mode: the mode of the route, "" if it is not frozen.
        digest: the digest of the whole envelope, "" if it is not frozen.
    """

    uris: tuple[str, ...]
    scores: tuple[float, ...] = ()
    mode: str = ""
    digest: str = ""


def moved(before: Mapping[str, Answer], after: Mapping[str, Answer]) -> list[str]:
    """Return ``question: what moved`` for each question with another answer; frozen questions come first."""
    lines = []
    for question in dict.fromkeys((*before, *after)):
        if question not in after:
            lines.append(f"{question}: no longer asked")
        elif question not in before:
            lines.append(f"{question}: not frozen yet")
        elif before[question] != after[question]:
            lines.append(f"{question}: {', '.join(_changes(before[question], after[question]))}")
    return lines


def require_unmoved(before: Mapping[str, Answer], after: Mapping[str, Answer]) -> None:
    """Fail the test with one line for each question that moved."""
    if lines := moved(before, after):
        pytest.fail("\n".join([f"{len(lines)} of {len(before)} frozen answers moved:", *lines]), pytrace=False)


def _changes(before: Answer, after: Answer) -> list[str]:
    found = [f"route {before.mode} → {after.mode}"] if before.mode != after.mode else []
    for uri in dict.fromkeys((*before.uris, *after.uris)):
        name, ranks = PurePosixPath(uri).stem, (_rank(before.uris, uri), _rank(after.uris, uri))
        if ranks[0] != ranks[1]:
            found.append(f"{name} rank {ranks[0]} → {ranks[1]}")
        elif before.scores and (scores := (_score(before, uri), _score(after, uri)))[0] != scores[1]:
            found.append(f"{name} score {scores[0]} → {scores[1]}")
    return found or ["the same hits, but scores, excerpts or other fields changed"]


def _rank(uris: Sequence[str], uri: str) -> str:
    return str(uris.index(uri) + 1) if uri in uris else "none"


def _score(answer: Answer, uri: str) -> float:
    return answer.scores[answer.uris.index(uri)]
