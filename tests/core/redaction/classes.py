"""Lines by the class of secret they show: ``classes.jsonl``, in the form of ``lines`` (``⟦…⟧`` is a secret).

A line without such a mark only looks like one of its class.
"""

from __future__ import annotations

import json
from pathlib import Path

_LINES = [json.loads(line) for line in Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()]
KINDS = sorted({line["kind"] for line in _LINES})


def lines(kind: str, *, secret: bool) -> list[str]:
    """The texts of a kind that hold a secret, or those that only look like it."""
    return [line["text"] for line in _LINES if line["kind"] == kind and ("⟦" in line["text"]) is secret]


SECRETS = [text for kind in KINDS for text in lines(kind, secret=True)]
OTHERS = [text for kind in KINDS for text in lines(kind, secret=False)]
