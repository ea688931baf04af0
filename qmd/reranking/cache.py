"""Judgements that were made before, in qmd's ``llm_cache``, under qmd's keys: of question, model and text.

The table holds hashes and numbers of ours, no text.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING

from qmd.search import llm_cache
from qmd.vectors.models import cache_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import apsw


def keys(query: str, model: str, texts: Sequence[str]) -> list[str]:
    """The key of each text's score."""
    return [cache_key("rerank", {"query": query, "model": model, "chunk": text}) for text in texts]


def scale_key(model: str) -> str:
    """The key under which stands that a model's scores are logits."""
    return cache_key("rerankLogits", {"model": model})


def read(connection: apsw.Connection, wanted: Sequence[str]) -> dict[str, float]:
    """The scores that are known, by key. Raises apsw.Error."""
    found: dict[str, float] = {}
    for key in wanted:
        with contextlib.suppress(ValueError):  # another program's answer to the same question, in its own form
            score = float(llm_cache.get(connection, key) or "nan")
            if math.isfinite(score):
                found[key] = score
    return found


def write(connection: apsw.Connection, scores: Mapping[str, float]) -> bool:
    """Keep scores by key, as far as that can be done at once; returns whether they are kept."""
    return bool(scores) and llm_cache.put(connection, {key: repr(score) for key, score in scores.items()})
