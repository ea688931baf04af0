"""``brain index --source chrome``: a hundred days of browsing from nothing, then with nothing new; whole processes."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import apsw

from bench.indexing.index import paired_with_floor
from bench.measure import DATA, Failed, Run, environment, median, program, run
from bench.report import Report, Row, ms

DAYS = 100
VISITS = 100_000

_COLD_BAR_S = 5.0
_WARM_BAR_S = 0.3
# Microseconds between 1601, whence Chromium counts, and 1970; the first day is 2026-01-01.
_EPOCH_US = 11_644_473_600_000_000
_FIRST_S = 1_767_225_600

_SCHEMA = """
create table meta(key longvarchar not null unique primary key, value longvarchar);
create table urls(id integer primary key autoincrement, url longvarchar, title longvarchar, visit_count integer,
  typed_count integer, last_visit_time integer not null, hidden integer default 0 not null);
create table visits(id integer primary key autoincrement, url integer not null, visit_time integer not null,
  from_visit integer, transition integer default 0 not null, segment_id integer,
  visit_duration integer default 0 not null, opener_visit integer);
create table visit_source(id integer primary key, source integer not null);
create table keyword_search_terms(keyword_id integer not null, url_id integer not null, term longvarchar not null,
  normalized_term longvarchar not null);
create table content_annotations(visit_id integer primary key, search_terms longvarchar);
create table context_annotations(visit_id integer primary key, total_foreground_duration integer,
  response_code integer);
create table clusters(cluster_id integer primary key, label varchar not null, raw_label varchar not null);
create table clusters_and_visits(cluster_id integer not null, visit_id integer not null,
  score numeric default 0 not null);
create table cluster_keywords(cluster_id integer not null, keyword varchar not null, score numeric not null);
"""
_HOSTS = (
    "github.com docs.python.org stackoverflow.com developer.mozilla.org sqlite.org en.wikipedia.org "
    "news.ycombinator.com arxiv.org docs.rs go.dev shop.example.com video.example.net localhost:3000"
).split()
_WORDS = (
    "journal rollback tokenizer index vector fusion lock cache schema migration deadline router retry token stream "
    "parser window archive profile cluster trail passage ledger budget signal"
).split()


def measure(report: Report, *, quick: bool) -> None:
    """Rows for a database made here; it says nothing of a browser's own speed."""
    database = history()
    home = DATA / "home-chrome"
    words = [*program(), "index", "--source", "chrome", "--from", str(database), "--json"]
    runs = [_from_nothing(home, words) for _ in range(1 if quick else 3)]
    taken = median([done.wall_s for done in runs])
    name = f"chrome, {VISITS:,} visits on {DAYS} days"
    bar = f"≤ {_COLD_BAR_S:g} s"
    spent = f"{median([done.cpu_s for done in runs]):.1f} s of cpu"
    report.add(Row(f"{name}: from nothing", f"{taken:.2f} s", spent, None, bar, taken <= _COLD_BAR_S))
    report.add(Row(f"{name}: peak memory", f"{max(done.peak for done in runs) / 1e6:.0f} MB"))
    again = 3 if quick else 9
    least, warm = paired_with_floor(home, lambda: _nothing_new(run([*words, "--new"], environment(home))), again)
    _warm(report, f"{name}: --new, nothing new", least, warm)
    least, warm = paired_with_floor(home, lambda: _nothing_new(run(words, environment(home))), again)
    _warm(report, f"{name}: nothing new, all verified", least, warm)


def _warm(report: Report, name: str, least: float, warm: float) -> None:
    met = warm <= _WARM_BAR_S
    report.add(Row(name, ms(warm), f"floor {ms(least)}", warm / least, f"≤ {_WARM_BAR_S:g} s", met))


def history() -> Path:
    """The database, made once: the same bytes of content every time."""
    path = DATA / f"history-{VISITS}" / "Default" / "History"
    if path.is_file():
        return path
    sys.stderr.write(f"making {VISITS:,} visits in {path}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name("making")
    made.unlink(missing_ok=True)
    connection = apsw.Connection(str(made))
    connection.execute(_SCHEMA)
    draw = random.Random(VISITS)  # noqa: S311  # the same visits every time
    with connection:
        _fill(connection, draw)
    connection.close()
    made.rename(path)
    return path


def _fill(connection: apsw.Connection, draw: random.Random) -> None:
    pages: dict[str, int] = {}
    urls: list[tuple[object, ...]] = []
    visits: list[tuple[object, ...]] = []
    terms: list[tuple[object, ...]] = []
    at = 0
    for number in range(1, VISITS + 1):
        day, place = divmod(number - 1, VISITS // DAYS)
        at = (_FIRST_S + day * 86_400 + 28_800 + place * 40_000 // (VISITS // DAYS)) * 1_000_000 + draw.randrange(10**6)
        several = " ".join(draw.choices(_WORDS, k=3))
        kind = draw.random()
        if kind < 0.08:
            url, title = (
                f"https://www.google.com/search?q={several.replace(' ', '+')}&ei={number}",
                f"{several} - Google Search",
            )
        else:
            host = draw.choice(_HOSTS)
            url = f"https://{host}/{draw.choice(_WORDS)}/{draw.randrange(4000)}"
            url += f"?ref={number % 7}&token={number:x}" if kind > 0.9 else "#section" if kind > 0.8 else ""
            title = f"{several.title()} · {host}"
        page = pages.get(url)
        if page is None:
            page = pages[url] = len(pages) + 1
            urls.append((page, url, title, 1, 0, at + _EPOCH_US, 0))
            if kind < 0.08:
                terms.append((2, page, several, several))
        core = 5 if kind < 0.08 else 8 if kind > 0.97 else 0
        chain = 0x1000_0000 if kind > 0.95 else 0x3000_0000
        visits.append(
            (number, page, at + _EPOCH_US, number - 1 if kind > 0.3 else 0, core | chain, 0, draw.randrange(10**8), 0)
        )
    many = connection.executemany
    many("insert into urls values(?, ?, ?, ?, ?, ?, ?)", urls)
    many("insert into visits values(?, ?, ?, ?, ?, ?, ?, ?)", visits)
    many("insert into keyword_search_terms values(?, ?, ?, ?)", terms)
    many("insert into context_annotations values(?, ?, 200)", [(row[0], draw.randrange(10**8)) for row in visits])
    many("insert into clusters values(?, ?, ?)", [(n, draw.choice(_WORDS), "") for n in range(1, VISITS // 20)])
    many("insert into clusters_and_visits values(?, ?, 1)", [(1 + n // 20, n) for n in range(1, VISITS, 2)])
    connection.execute("create index visits_url_index on visits(url)")


def _from_nothing(home: Path, words: list[str]) -> Run:
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    done = run(words, environment(home))
    ledger = done.answer()["sources"]["chrome"]
    if ledger["documents"] != DAYS or ledger["failed_files"]:
        raise Failed(f"{ledger['documents']} days, {DAYS} expected")
    return done


def _nothing_new(done: Run) -> Run:
    ledger = done.answer()["sources"]["chrome"]
    if ledger["written"] or ledger["ingested"]:
        raise Failed("nothing was new, but documents were written")
    return done
