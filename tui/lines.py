"""Envelopes and documents as lines of a terminal: each a few pieces of text with the name of a style.

Nothing here knows of a screen. Every text of a document passes `printable`, so that no line can drive the terminal, and
is never read as markup. Styles are ``""``, ``title``, ``soft``, ``good``, ``warn``, ``bad``, ``person``, ``agent``,
``code``, ``added``, ``removed`` and ``here``.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, chop_cells

from core import clock
from core.counting import counted
from core.text import printable
from runtime.asking.wording import (
    LESS_CLEAR,
    about,
    begins_rest,
    line,
    nothing,
    preface,
    project_name,
    snippet,
    where,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from runtime.explaining.reading import Part, Turn

_LEAST_WIDTH = 20
_PERSON = frozenset(("user", "command"))


class Line(NamedTuple):
    """``item`` is the place in a list of what the line stands for, -1 for nothing; ``number`` a document's line."""

    pieces: tuple[tuple[str, str], ...] = ()
    item: int = -1
    number: int = 0

    @property
    def plain(self) -> str:
        """The text without its styles."""
        return "".join(text for text, _ in self.pieces)


def fit(text: str, width: int) -> str:
    """Return ``text`` cut to ``width`` columns, with an ellipsis where something went."""
    if cell_len(text) <= width:
        return text
    return chop_cells(text, width - 1)[0].rstrip() + "…" if width > 1 else "…"[:width]


def wrap(text: str, width: int) -> list[str]:
    """Return ``text`` in lines of at most ``width`` columns, broken between words where that can be.

    Lines of their own keep their indentation; tabs become spaces.
    """
    width = max(width, _LEAST_WIDTH)
    found: list[str] = []
    for raw in text.expandtabs(4).split("\n"):
        if len(raw) <= width and (raw.isascii() or cell_len(raw) <= width):
            found.append(raw)
        else:
            found += _wrapped(raw, width)
    return found


def _wrapped(text: str, width: int) -> list[str]:
    """Return one long line in pieces, each with the indentation of the first, up to half the width."""
    body = text.lstrip(" ")
    indent = " " * min(len(text) - len(body), width // 2)
    room = width - len(indent)
    found: list[str] = []
    current, size = "", 0
    for word in body.split(" "):
        cells = cell_len(word)
        if current and size + 1 + cells > room:
            found.append(indent + current)
            current, size = "", 0
        elif current:
            current, size = f"{current} ", size + 1
        if cells > room:
            *whole, word = chop_cells(word, room)
            found += [indent + part for part in whole]
            cells = cell_len(word)
        current, size = current + word, size + cells
    return [*found, indent + current]


def _styled(text: str, width: int, style: str = "", *, indent: str = "", item: int = -1, number: int = 0) -> list[Line]:
    """Return a text of a document or of ours, wrapped, in one style."""
    return [Line(((indent + part, style),), item, number) for part in wrap(printable(text), width - len(indent))]


def hits(envelope: Mapping[str, Any], width: int) -> list[Line]:
    """Return what a question found, or what happened lately: two lines an item, then why there are none."""
    found: list[Line] = []
    items = listed(envelope)
    for before in preface(dict(envelope)):
        found += [Line(((fit(before, width), "warn"),)), Line()]
    for index, item in enumerate(items):
        if "rank" in item and begins_rest(dict(item), dict(envelope)):
            found.append(Line(((fit(LESS_CLEAR, width), "warn"),)))
        rank = f"{item['rank']:>2}. " if "rank" in item else ""
        found.append(Line(((rank, "soft"), (fit(line(item["title"]), width - len(rank)), "title")), index))
        style = "warn" if item.get("warning") else "soft"
        found.append(Line(((fit(f"{' ' * len(rank)}{about(item)}", width), style),), index))
    if items and not envelope.get("nearest"):
        return found
    if "items" in envelope:
        return [
            Line((("Nothing is in memory yet.", "title"),)),
            Line(),
            *_styled("`brain index` reads the sessions of your tools, `brain init` sets everything up.", width),
        ]
    said = [part for text in nothing(dict(envelope)) for part in _styled(text, width)]
    return [*said, Line(), *found] if found else said


def listed(envelope: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the items that an envelope lists: hits, else the nearest, else those of a listing."""
    items: list[dict[str, Any]] = envelope.get("hits") or envelope.get("nearest") or envelope.get("items") or []
    return items


def failure(envelope: Mapping[str, Any], width: int) -> list[Line]:
    """Return the envelope of an error: what happened, and the command that helps."""
    said = _styled(str(envelope.get("message") or envelope.get("error")), width, "bad")
    fix = envelope.get("fix")
    return [*said, Line(), *_styled(f"fix: {fix}", width)] if fix else said


def preview(item: Mapping[str, Any], passage: Mapping[str, Any] | None, width: int) -> list[Line]:
    """Return a hit's lines that answer, where they are from, and the ``passage`` that ``show`` gives around them."""
    found: list[Line] = []
    if item.get("snippet"):
        for text in snippet(dict(item)):
            found += _styled(text, width, indent="│ ")
        found.append(Line())
    found += _styled(line(item["title"]), width, "title")
    found += _styled(about(dict(item)), width, "soft")
    if "line" in item:
        found += _styled(where(dict(item)), width, "soft")
    if item.get("resume"):
        found += _styled(f"> {item['resume']}", width, "good")
    if item.get("warning"):
        found += _styled(f"! {item['warning']}", width, "warn")
    if passage is not None:
        found.append(Line((("─" * width, "soft"),)))
        for number, text in enumerate(passage["text"].split("\n"), passage["first_line"]):
            is_here = number == passage.get("line")
            style = "here" if is_here else "person" if text.startswith("## [") else "soft" if text == "" else ""
            found += _styled(text, width, style, number=number)
    return found


def day(rows: Sequence[Mapping[str, Any]], width: int, since: str = "") -> list[Line]:
    """Return the entries of a day (``activity.rows``), a line each: its local time, its kind, what it says, where.

    What began before ``since`` (ISO 8601), the day's beginning, has no time of this day.
    """
    from runtime.explaining.activity import WORDS

    found: list[Line] = []
    for index, row in enumerate(rows):
        item = row["item"]
        kind = WORDS.get(item["kind"], item["kind"])
        at = time.strftime("%H:%M", time.localtime(clock.parse_iso(row["at"]) or 0)) if row["at"] >= since else "  …  "
        place = " · ".join(filter(None, (line(project_name(item["project"])), line(item.get("machine") or ""))))
        room = width - 16
        said = line(row["text"])
        title = fit(said, room - len(place) - 2 if place and room > 40 else room)
        end = (f"  {place}", "soft") if place and cell_len(title) + cell_len(place) + 2 <= room else ("", "")
        style = {"session": "title", "note": "good"}.get(item["kind"], "")
        found.append(Line(((f"{at}  ", "soft"), (f"{kind:<8} ", "agent"), (title, style), end), index))
    if not rows:
        return [Line((("Nothing is dated on this day.", "soft"),))]
    more = sum(item["more"] for item in {id(row["item"]): row["item"] for row in rows}.values())
    return [*found, Line(((f"       {more:,} more", "soft"),))] if more else found


def tally(counts: Mapping[str, int]) -> str:
    """Return the counts of a day's kinds as a sentence: ``3 sessions, 12 commands``."""
    from runtime.explaining.activity import WORDS

    return ", ".join(counted(count, WORDS.get(kind, kind)) for kind, count in counts.items()) or "nothing"


def session(turns: Iterable[Turn], width: int, *, here: int = 0, unfolded: bool = False) -> list[Line]:
    """Return the turns of a piece of a document; calls and reasoning are folded, except where ``here`` is in them."""
    found: list[Line] = []
    for turn in turns:
        if turn.number:
            at = f" · {_local(turn.at)}" if turn.at else ""
            style = "person" if turn.role in _PERSON else "agent"
            found += [Line(), Line(((fit(f"{turn.role} [{turn.number}]{at}", width), style),), number=turn.line)]
        for part in turn.parts:
            found += _part(part, width, here, unfolded or part.line <= here <= part.last)
    # One blank line separates; more of them, and one at the beginning, show nothing.
    return [each for before, each in zip([Line(), *found], found, strict=False) if each.plain or before.plain]


def _local(stamp: str) -> str:
    """Return the time of a turn, which is UTC, as it was where the reader is."""
    at = clock.parse_iso(stamp)
    return stamp if at is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _part(part: Part, width: int, here: int, is_open: bool) -> list[Line]:
    if part.calls:
        if not is_open:
            names = Counter(call.name for call in part.calls)
            said = ", ".join(f"{name} × {count}" if count > 1 else name for name, count in names.items())
            failed = f" · {part.failed} failed" if part.failed else ""
            folded = fit(printable(f"  ▸ {said}"), width - len(failed))
            return [Line(((folded, "code"), (failed, "bad")), number=part.line)]
        return _calls(part, width, here)
    if part.kind == "reasoning" and not is_open:
        return [Line(((f"  ▸ reasoning, {counted(len(part.lines), 'line')}", "code"),), number=part.line)]
    return _text(part, width, here)


def _calls(part: Part, width: int, here: int) -> list[Line]:
    found: list[Line] = []
    for call in part.calls:
        style = "here" if call.line == here else "bad" if call.failed else "code"
        found += _styled(f"▾ {call.name}: {call.argument}", width, style, indent="  ", number=call.line)
        for offset, note in enumerate(call.notes, 1):
            style = "here" if call.line + offset == here else "bad" if note.startswith("! ") else "soft"
            found += _styled(note, width, style, indent="      ", number=call.line + offset)
    return found


def _text(part: Part, width: int, here: int) -> list[Line]:
    found: list[Line] = []
    fence, is_diff = "", False
    style = "soft" if part.kind == "reasoning" else ""
    for number, text in enumerate(part.lines, part.line):
        mark = text.lstrip()[:3]
        kind = style
        if mark in ("```", "~~~") and (not fence or mark == fence):
            is_diff = not fence and "diff" in text
            fence = "" if fence else mark
            kind = "soft"
        elif fence:
            kind = {"+": "added", "-": "removed"}.get(text[:1], "code") if is_diff else "code"
        elif text.startswith("#"):
            kind = "title"
        found += _styled(text, width, "here" if number == here else kind, number=number)
    return found
