"""Was it of use? Look for what an agent was given in what the agent did and said afterwards.

A session's document has its turns with their times. A text counts as used if a path, a command or a name of it, or two
pairs of its words, come up in the agent's turns after the injection and nowhere before it.
"""

from __future__ import annotations

import contextlib
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from core import clock
from core.files import read_or_none
from runtime.injections import ledger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.config import Config
    from core.home import Home

# "## [3] assistant · 2026-05-02 08:00", as ``ingest.session.document`` writes it; the time is UTC.
_TURN = re.compile(r"^## \[(\d+)\] (\w+)(?: · (\d{4}-\d\d-\d\d \d\d:\d\d))?.*$", re.MULTILINE)
# Roles of turns that the agent did not write.
_OTHERS = ("user", "command", "task", "compaction", "recap")
# Something that one does not write by chance: a path, a flag, a name with a digit, an underscore or inner capitals.
_NAMES = re.compile(
    r"[\w@~.-]*[/\\][\w@~./\\-]+|--?[a-z][\w-]{2,}|\w*[a-z]_\w+|\w+\.\w{1,5}\b|[a-z]+[A-Z]\w+|\w*[a-z]\d\w*"
)
_WORDS = re.compile(r"[^\W\d_]{4,}")
_COMMAND = re.compile(r"`([^`\n]{4,200})`")
_LEAST_NAME = 5
_LEAST_PAIRS = 2
# Parts of an answer of the memory itself.
_OURS = re.compile(r"qmd://\S+|\(\d+ \w+ ago[^)]*\)|\d{4}-\d\d-\d\d")
_ASKS = re.compile(r"^- (?:mcp__\w*brain\w*|.*\bbrain (?:ask|why|show|recent|pack|handoff)\b)", re.MULTILINE)


def note_use(home: Home, config: Config, documents: Iterable[tuple[str, str]]) -> None:
    """``judge`` and drop what is old, for whoever indexes: a verdict that cannot be written costs no memory."""
    with contextlib.suppress(OSError):
        judge(home, config, documents)
        ledger.expire(home)


def judge(home: Home, config: Config, documents: Iterable[tuple[str, str]], now: float | None = None) -> int:
    """Judge what the sessions with these documents (collection, path) were given; return how many verdicts are new.

    Raises OSError.
    """
    wanted = set(documents)
    rows = ledger.unsettled(home) if wanted else []
    if not rows:
        return 0
    verdicts = []
    for collection, name in sorted(wanted):
        folder = config.collections.get(collection)
        session = name.removesuffix(".md")
        if folder is None:
            continue
        own = [row for row in rows if row["session"] and session.endswith(row["session"])]
        unnamed = [row for row in rows if not row["session"]]
        if not own and not unnamed:
            continue
        data = read_or_none(f"{folder.path}/{name}")
        if data is None:
            continue
        text = data.decode("utf-8", "replace")
        spans = turns(text)
        own += [{**row, "session": session} for row in unnamed if _asked_then(text, spans, row)]
        for row in own:
            before, after = _split(text, spans, row["ts"])
            if not after.strip():
                continue
            by = sign_of_use(row["text"], before + "\n" + row["about"], after)
            if by or row["used"] is None:
                verdicts.append((row, bool(by), by))
    ledger.settle(home, verdicts, now)
    return len(verdicts)


def turns(text: str) -> list[tuple[int, str, str]]:
    """Return (offset, role, minute) of each turn of a session's document; the minute is "" if it is not known."""
    return [(found.start(), found[2], found[3] or "") for found in _TURN.finditer(text)]


def sign_of_use(text: str, before: str, after: str) -> str:
    """Return what shows that a text was used: what it has in common with ``after`` alone; "" if nothing does."""
    said = _OURS.sub(" ", text)
    for command in _COMMAND.findall(said):
        if command in after and command not in before:
            return f"command: {command}"
    earlier, later = before.casefold(), after.casefold()
    names = sorted({each.strip(".-/") for each in _NAMES.findall(said)}, key=len, reverse=True)
    for name in names:
        folded = name.casefold()
        if len(name) >= _LEAST_NAME and folded in later and folded not in earlier:
            return f"name: {name}"
    words = _WORDS.findall(said.casefold())
    pairs = {f"{first} {second}" for first, second in pairwise(words)}
    past, new = " ".join(_WORDS.findall(earlier)), " ".join(_WORDS.findall(later))
    shared = sorted(pair for pair in pairs if pair in new and pair not in past)
    return f"words: {', '.join(shared[:_LEAST_PAIRS])}" if len(shared) >= _LEAST_PAIRS else ""


def _split(text: str, spans: list[tuple[int, str, str]], ts: str) -> tuple[str, str]:
    """Return (what was said before the injection, what the agent did and said after it).

    Times have minutes: turns that began in the minute of the injection count as after it. If none did, so does the
    agent's turn that was under way. A person's turns count as before it.
    """
    minute = ts[:16].replace("T", " ")
    at = next((number for number, (_, _, began) in enumerate(spans) if began >= minute), len(spans))
    if at and spans[at - 1][1] not in _OTHERS and (at == len(spans) or spans[at][2] > minute):
        at -= 1
    starts = [start for start, _, _ in spans] + [len(text)]
    after = [text[starts[each] : starts[each + 1]] for each in range(at, len(spans)) if spans[each][1] not in _OTHERS]
    prompts = [text[starts[each] : starts[each + 1]] for each in range(at, len(spans)) if spans[each][1] in _OTHERS]
    return text[: starts[at]] + "".join(prompts), "".join(after)


def _asked_then(text: str, spans: list[tuple[int, str, str]], row: ledger.Row) -> bool:
    """Return True if a session asked the memory in the minutes in which an answer without a session was given."""
    instant = clock.parse_iso(row["ts"]) or 0
    near = {clock.iso(instant + minutes * 60)[:16].replace("T", " ") for minutes in (-1, 0)}
    starts = [start for start, _, _ in spans] + [len(text)]
    begun = [began for _, _, began in spans if began]
    if not begun or not begun[0] <= max(near):
        return False
    for number, (start, role, began) in enumerate(spans):
        following = next((each for _, _, each in spans[number + 1 :] if each), "9")
        is_then = bool(began) and began <= max(near) and following >= min(near)
        if is_then and role not in _OTHERS and _ASKS.search(text[start : starts[number + 1]]):
            return True
    return False
