"""What only a terminal shows: links into an editor, coloured scores, terms that stand out."""

from __future__ import annotations

import os

from qmd import ecma

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from qmd.app.output import Output
    from qmd.app.results import Result
    from qmd.app.session import Session

_GOOD = 0.7
_FAIR = 0.4
# Shorter words stand everywhere.
_HIGHLIGHTED = 3


def link(session: Session, result: Result, name: str, line: int) -> str:
    """``name:line`` (no line where it is 0), on a terminal a link to the file (OSC 8)."""
    out = session.out
    where = f":{line}" if line else ""
    if out.terminal and result.path:
        from qmd.app.editor import uri
        from qmd.index.retrieve import on_disk
        from qmd.settings import EDITOR_URI

        path = on_disk(session.index, result.collection, result.path)
        if path:
            template = os.environ.get("QMD_EDITOR_URI", "").strip() or session.config.editor_uri or EDITOR_URI
            return out.paint("cyan", f"\x1b]8;;{uri(template, path, line or 1, 1)}\x07{name}{where}\x1b]8;;\x07")
    if not out.color:
        return f"{name}{where}"
    return f"\x1b[36m{name}\x1b[2m{where}\x1b[0m"


def score(out: Output, value: float) -> str:
    """A score in percent, three places wide."""
    text = f"{ecma.to_fixed(value * 100, 0):>3}%"
    return out.paint("green" if value >= _GOOD else "yellow" if value >= _FAIR else "dim", text)


def highlight(out: Output, text: str, query: str) -> str:
    """``text`` with the query's longer words marked, where colours are wanted."""
    if not out.color:
        return text
    import re

    for term in ecma.words(query.lower()):
        if len(term) >= _HIGHLIGHTED:
            text = re.sub(f"({re.escape(term)})", "\x1b[33m\x1b[1m\\1\x1b[0m", text, flags=re.IGNORECASE)
    return text


def explain(trace: dict[str, Any]) -> Iterator[str]:
    """The lines of ``--explain`` for people."""
    rrf = trace["rrf"]
    fts, vectors = (", ".join(map(_four, trace[name])) or "none" for name in ("ftsScores", "vectorScores"))
    yield f"Explain: fts=[{fts}] vec=[{vectors}]"
    yield (
        f"  RRF: total={_four(rrf['totalScore'])} base={_four(rrf['baseScore'])}"
        f" bonus={_four(rrf['topRankBonus'])} rank={rrf['rank']}"
    )
    weight = float(rrf["weight"])
    yield (
        f"  Blend: {ecma.round_half_up(weight * 100)}%*{_four(rrf['positionScore'])}"
        f" + {ecma.round_half_up((1 - weight) * 100)}%*{_four(trace['rerankScore'])} = {_four(trace['blendedScore'])}"
    )
    best = sorted(rrf["contributions"], key=lambda item: -float(item["rrfContribution"]))[:3]
    if best:
        shown = (f"{one['source']}/{one['queryType']}#{one['rank']}:{_four(one['rrfContribution'])}" for one in best)
        yield f"  Top RRF contributions: {' | '.join(shown)}"


def _four(value: float) -> str:
    return ecma.to_fixed(float(value), 4)
