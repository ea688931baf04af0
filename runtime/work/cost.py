"""``brain cost``: the tokens that sessions took, and their price where collections.yml has one."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from core.clock import day_iso, day_of
from core.counting import TOKENS, counted
from core.text import one_line
from qmd.index import catalogue
from runtime.asking.request import project_glob
from runtime.work.scope import answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from core.config import Config
    from core.home import Home
    from runtime.work.scope import Scope

GROUPS = "groups"
_FIELDS = ("tokens", "models", "project", "session_id", "parent", "title", "source")
_MILLION = 1_000_000
# A longer number is no count of tokens.
_DIGITS = 15
_Counts = tuple[int, ...]


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


class _Session:
    """One document with tokens: a session, or a subagent's part of one."""

    __slots__ = ("ended", "fields", "path")

    def __init__(self, path: str, ended: int, fields: Mapping[str, str]) -> None:
        self.path, self.ended, self.fields = path, ended, fields


# Key of the group that a session counts in.
BY: dict[str, Callable[[_Session, str], str]] = {
    "project": lambda session, _: session.fields["project"] or "no project",
    "model": lambda _, model: model,
    "session": lambda session, _: session.fields["parent"] or session.fields["session_id"] or session.path,
    "day": lambda session, _: day_iso(day_of(session.ended)),
}


class _Group:
    """The tokens of one group, by model."""

    def __init__(self) -> None:
        self.counts: dict[str, list[int]] = {}
        self.sessions: set[str] = set()
        self.title = ""
        self.last = 0

    def add(self, session: _Session, model: str, counts: _Counts) -> None:
        total = self.counts.setdefault(model, [0] * len(TOKENS))
        for place, count in enumerate(counts):
            total[place] += count
        self.sessions.add(BY["session"](session, model))
        self.last = max(self.last, session.ended)
        if not session.fields["parent"]:
            self.title = session.fields["title"]


def cost(home: Home, config: Config, by: str = "project", **within: Any) -> dict[str, Any]:
    """Return the envelope of ``brain cost``, the groups with the most output first; days newest first.

    ``by`` is a key of ``BY``. A group has a count for each of ``TOKENS``. ``price`` is None if a model has no price in
    collections.yml. Sessions whose tool logs no tokens are counted in ``without``.
    """
    prices: dict[str, Any] = config.section("prices")
    return answer(home, config, lambda scope: _cost(scope, by, prices), GROUPS, **within)


def price(model: str, counts: _Counts | list[int], prices: Mapping[str, Mapping[str, float]]) -> float | None:
    """Return what tokens of a model cost by the first pattern that it matches, None if there is none."""
    for pattern, rates in prices.items():
        if fnmatchcase(model, pattern):
            return sum(count * rates.get(kind, 0) for kind, count in zip(TOKENS, counts, strict=True)) / _MILLION
    return None


def parse(tokens: str, models: str) -> Iterator[tuple[str, _Counts]]:
    """Yield (model, counts) of a document's `tokens`, both lists as JSON; an item of another form is left out."""
    names = _texts(models)
    for item in _texts(tokens):
        numbers, _, model = item.partition(" ")
        counts = numbers.split("/")
        if len(counts) == len(TOKENS) and all(map(_is_count, counts)):
            yield model or (names[0] if len(names) == 1 else "unknown"), tuple(map(int, counts))


def _texts(value: str) -> list[str]:
    try:
        found = json.loads(value) if value else []
    except ValueError:
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _cost(scope: Scope, by: str, prices: Mapping[str, Any]) -> dict[str, Any]:
    groups: dict[str, _Group] = {}
    sessions: set[str] = set()
    without = 0
    kept = scope.config.trusting("session")
    ids: set[int] = set()
    for identity, collection, path, _, _, ended, _, *values in catalogue.walk(scope.connection, _FIELDS, scope.since):
        fields = dict(zip(_FIELDS, ("" if value is None else str(value) for value in values), strict=True))
        if collection not in kept or not fields["session_id"] or not scope.holds(identity):
            continue
        session = _Session(path, ended, fields)
        found = list(parse(fields["tokens"], fields["models"]))
        without += not found and not fields["parent"]
        for model, counts in found:
            groups.setdefault(BY[by](session, model), _Group()).add(session, model, counts)
            sessions.add(BY["session"](session, model))
            ids.add(identity)
    scope.load(ids)
    found_groups = [_row(name, group, prices) for name, group in groups.items()]
    if by == "day":
        found_groups.sort(key=lambda each: str(each["name"]), reverse=True)
    else:
        found_groups.sort(key=lambda each: (-each["output"], each["name"]))
    return {
        "by": by,
        "project": project_glob(scope.project) if scope.project else None,
        "sessions": len(sessions),
        "without": without,
        "different": len(found_groups),
        "total": _total(found_groups),
        GROUPS: found_groups[: scope.limit],
    }


def _row(name: str, group: _Group, prices: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": name,
        "title": group.title if len(group.sessions) == 1 else "",
        "sessions": len(group.sessions),
    }
    row |= {kind: sum(counts[place] for counts in group.counts.values()) for place, kind in enumerate(TOKENS)}
    each = [price(model, counts, prices) for model, counts in group.counts.items()]
    row["price"] = None if None in each else round(sum(filter(None, each)), 4)
    return row


def _total(groups: list[dict[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {kind: sum(each[kind] for each in groups) for kind in TOKENS}
    known = [each["price"] for each in groups]
    total["price"] = None if None in known or not known else round(sum(known), 4)
    return total


def lines(envelope: dict[str, Any]) -> list[str]:
    """Return the envelope as lines of text."""
    without = envelope["without"]
    left = [f"{counted(without, 'session')} without tokens in the log"] if without else []
    if not envelope[GROUPS]:
        return ["No session has its tokens in the log.", *left]
    has_prices = any(each["price"] is not None for each in envelope[GROUPS])
    heads = [*TOKENS, "price"] if has_prices else list(TOKENS)
    rows = [[f"{each[kind]:,}" for kind in TOKENS] + [_money(each["price"])] * has_prices for each in envelope[GROUPS]]
    total = envelope["total"]
    rows.append([f"{total[kind]:,}" for kind in TOKENS] + [_money(total["price"])] * has_prices)
    widths = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    names = [*(_name(envelope["by"], each) for each in envelope[GROUPS]), f"all {envelope['different']}"]
    said = ["  ".join(cell.rjust(width) for cell, width in zip(heads, widths, strict=True)) + f"  {envelope['by']}"]
    for name, row in zip(names, rows, strict=True):
        said.append("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + f"  {name}")
    return [*said, "", f"tokens of {counted(envelope['sessions'], 'session')}, as their tools logged them", *left]


def _name(by: str, group: dict[str, Any]) -> str:
    return one_line(f"{group['title']}  {group['name']}" if by == "session" else str(group["name"]), 70)


def _money(price: float | None) -> str:
    return "?" if price is None else f"{price:.2f}"
