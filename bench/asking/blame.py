"""``brain blame`` on real edits: which lines are whose, and how long an answer takes.

The edits of the samples are replayed in order on files that a session wrote whole: the truth is which call wrote each
line of the result. A line that cannot be recognised (``}``) is not counted.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from difflib import SequenceMatcher
from typing import NamedTuple

from bench.measure import DATA, SHARED, environment, floor, median, percentile, program, relative, run
from bench.report import Report, Row
from core.home import Home
from ingest.pipeline import edit_log
from ingest.pipeline.edit_log import Change
from qmd.index import catalogue
from qmd.index.store import open_index
from runtime.work.present import Present, owners
from runtime.work.traces import is_telling, key, trace

SAMPLES = SHARED / "samples"
_SOURCES = ("claude", "codex", "opencode", "pi", "gemini")
_RIGHT, _KNOWN = 0.99, 0.97
# Files that are asked for, and the bar of a question whose sessions were asked for before, over the floor.
_FILES, _CACHED = 20, 20.0


class _Made(NamedTuple):
    """A file as replayed edits left it: its lines, each with the number of the change that wrote it, None for none."""

    path: str
    changes: list[Change]
    lines: list[str]
    owners: list[int | None]


def measure(report: Report, *, quick: bool) -> None:
    """Index the samples, replay their edits, ask for the files."""
    if not SAMPLES.is_dir():
        report.skip("blame", f"no {relative(SAMPLES)}")
        return
    home = DATA / "home-blame"
    shutil.rmtree(home, ignore_errors=True)  # it has the traces of the last run
    environ = environment(home)
    for source in _SOURCES:
        if (SAMPLES / source).is_dir():
            run([*program(), "index", "--source", source, "--from", str(SAMPLES / source), "--json"], environ)
    made = list(_replayed(Home(str(home))))
    _attribute(report, made)
    first: list[float] = []
    again: list[float] = []
    nothing: list[float] = []
    for number, each in enumerate(made[: 5 if quick else _FILES]):
        # Below a folder of its own: sessions of another machine are found by the end of the path.
        file = DATA / "blamed" / str(number) / each.path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(each.lines))
        command = [*program(), "blame", str(file), "--json"]
        for times in (first, again, again):
            nothing.append(floor(environ))
            times.append(run(command, environ, ok=(0, 67)).wall_s)
    base = median(nothing)
    for name, times, bar in (("first", first, None), ("again", again, _CACHED)):
        ratio = median(times) / base
        value = f"p50 {median(times) * 1000:.0f} ms, p95 {percentile(times, 0.95) * 1000:.0f} ms"
        row = Row(f"brain blame of {len(first)} files, {name}", value, f"python -c pass {base * 1000:.0f} ms", ratio)
        report.add(row if bar is None else row._replace(bar=f"≤ {bar:g} × the floor", met=ratio <= bar))


def _replayed(home: Home) -> list[_Made]:
    """Return the files that a session wrote whole, and that later edits apply to; those with most edits first."""
    by_path: dict[str, list[Change]] = {}
    with closing(open_index(home.index)) as connection:
        rows = [(row[7], row[8], row[2]) for row in catalogue.walk(connection, ("source", "project"), 0)]
    for source, project, name in rows:
        if source not in _SOURCES:
            continue
        for change in edit_log.read(home, {}, source, [name]).get(name, ()):
            path = change.path if change.path.startswith("/") else f"{project}/{change.path}"
            by_path.setdefault(path, []).append(change)
    found = [_replay(path, sorted(changes, key=lambda each: each.at)) for path, changes in by_path.items()]
    return sorted((each for each in found if each is not None), key=lambda each: -len(each.changes))


def _replay(path: str, changes: list[Change]) -> _Made | None:
    lines: list[str] = []
    owners: list[int | None] = []
    applied = 0
    # Lines are known from the first write of the whole file on.
    begun = next((number for number, change in enumerate(changes) if change.is_whole), len(changes))
    changes = changes[begun:]
    for number, change in enumerate(changes):
        if change.is_whole:
            known = (change.before or "").split("\n") if change.before is not None else []
            nobody: list[int | None] = [None] * len(known)
            before, whose = (lines, owners) if lines else (known, nobody)
            lines, owners = _merged(before, whose, change.after.split("\n"), number)
            applied += 1
        elif change.before and (text := "\n".join(lines)).count(change.before) == 1:
            after = text.replace(change.before, change.after).split("\n")
            lines, owners = _merged(lines, owners, after, number)
            applied += 1
    return _Made(path, changes, lines, owners) if applied > 1 and lines else None


def _merged(
    before: list[str], whose: list[int | None], after: list[str], number: int
) -> tuple[list[str], list[int | None]]:
    owners: list[int | None] = [number] * len(after)
    matcher = SequenceMatcher(None, [line.strip() for line in before], [line.strip() for line in after], autojunk=False)
    for first, second, count in matcher.get_matching_blocks():
        owners[second : second + count] = whose[first : first + count]
    return after, owners


def _attribute(report: Report, made: list[_Made]) -> None:
    right = wrong = unknown = 0
    place = DATA / "blamed" / "file"
    place.parent.mkdir(parents=True, exist_ok=True)
    for each in made:
        place.write_text("\n".join(each.lines))
        present = Present(str(place))
        pairs = [(trace(change), number) for number, change in reversed(list(enumerate(each.changes)))]
        looked = [(change, found, at) for change, at in pairs if (found := present.look(change)) is not None]
        taken = {line: looked[at][2] for line, at in owners([(change, found) for change, found, _ in looked]).items()}
        for line, (text, owner) in enumerate(zip(each.lines, each.owners, strict=True), 1):
            if owner is None or not is_telling(key(text)):
                wrong += owner is None and is_telling(key(text)) and line in taken
            elif line not in taken:
                unknown += 1
            else:
                right += taken[line] == owner
                wrong += taken[line] != owner
    said, total = right + wrong, right + wrong + unknown
    name = f"brain blame: lines of {len(made)} replayed files"
    precise, known = right / max(said, 1), said / max(total, 1)
    for whose, share, lines, least in (
        ("the right call's", precise, said, _RIGHT),
        ("anybody's", known, total, _KNOWN),
    ):
        value, bar = f"{share:.1%} of {lines:,}", f"≥ {100 * least:g} %"
        report.add(Row(f"{name} that are {whose}", value, bar=bar, met=share >= least))
