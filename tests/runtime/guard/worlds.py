"""A memory for the guard, built from a case of ``evals/guard/moments.jsonl``: sessions, notes, texts of strangers."""

from __future__ import annotations

from evals.guard.invented import cases, payload
from evals.guard.invented import remember as remember

CASES = cases()
__all__ = ["CASES", "payload", "remember"]
