"""How ``brain explain --hit`` reads: the sentence first, then what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.render import table
from core.text import one_line
from runtime.asking.wording import without_team

if TYPE_CHECKING:
    from collections.abc import Iterable

_OTHERS = 3
_SUMMANDS = {
    "document": "the whole document",
    "passage": "its best passage",
    "span": "terms close together",
    "date": "the date named",
    "name": "the name asked for",
}
_MEANING = {"cosine": "cosine with the question", "blend": "blended, which ranks it"}


def lines(found: dict[str, Any]) -> Iterable[str]:
    """Return the envelope of ``runtime.explaining.hit`` for people."""
    yield one_line(found["why"])
    if found.get("fix"):
        yield f"fix: {one_line(found['fix'])}"
    yield from without_team(found.get("freshness", {}))
    if found["verdict"] == "not_indexed":
        others = [near for near in found["near"] if near not in found.get("fix", "")]
        if others:
            yield f"also close: {', '.join(others)}"
        return
    yield ""
    yield from _facts(found)
    if found["terms"]:
        yield ""
        yield "Terms"
        yield from (f"  {line}" for line in _terms(found["terms"]))
    summands = {name: value for name, value in found["parts"].items() if name not in _MEANING}
    meaning = [(said, f"{found['parts'][name]:.3f}") for name, said in _MEANING.items() if name in found["parts"]]
    if any(summands.values()):
        yield ""
        what = "score by words" if meaning else "score"
        yield f"Summands of its {what}, which is {found['score']:.2f} of the 1 that a perfect match would have"
        named = [(_SUMMANDS.get(name, name), f"{value:.3f}") for name, value in summands.items()]
        yield from (f"  {line}" for line in table(named, right=(1,)))
    if meaning:
        yield ""
        yield "Words and meaning together"
        yield from (f"  {line}" for line in table(meaning, right=(1,)))
    if found["above"]:
        yield ""
        yield "Outranked by"
        rows = [
            (f"{hit['rank']}.", f"{hit['score']:.2f}", one_line(hit["title"], 60), hit["uri"]) for hit in found["above"]
        ]
        yield from (f"  {line}" for line in table(rows, right=(0,)))


def _facts(found: dict[str, Any]) -> Iterable[str]:
    rank = f"{found['rank']}, of {found['candidates']:,} candidates" if found["rank"] else "none"
    rows = [
        *([("owner", found["owner"])] if "owner" in found else []),
        ("title", one_line(found["title"])),
        ("uri", f"{found['uri']}  {found['docid']}"),
        ("date", found["date"]),
        ("rank", rank),
        ("route", found["route"]),
    ]
    transcript = found.get("transcript")
    if transcript:
        rows.append(("transcript", transcript["path"]))
        others = transcript["documents"][1:]
        rows += [("", f"became {other} too") for other in others[:_OTHERS]]
        if len(others) > _OTHERS:
            rows.append(("", f"and {len(others) - _OTHERS:,} more"))
    return (f"{name:<10}  {value}" for name, value in rows)


def _terms(terms: list[dict[str, Any]]) -> Iterable[str]:
    rows = [("term", "weight", "passages that have it", "times in this document, its title twice")]
    rows += [
        (one_line(term["term"]), f"{term['weight']:.3f}", f"{term['passages']:,}", f"{term['in_document']:,}")
        for term in terms
    ]
    return table(rows, right=(1, 2, 3))
