"""The share of redaction in an ingest, and the size of the archive, on real transcripts."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from bench.indexing.index import SAMPLES
from bench.measure import DATA, ROOT, Run, environment, median, program, relative, run
from bench.report import Report, Row, megabytes

_SHARE_BAR = 0.25
_ARCHIVE_BAR = 0.2
_SAMPLED = ("claude", "codex", "gemini", "cursor", "opencode", "pi", "chrome")
_EVERYTHING = """
collections: {brain: {path: brain}, chrome-history: {path: chrome-history}}
sources: {chrome: {mode: all}}
"""
# In a process of its own, so that loading the automaton and making its states count; decoding does not.
_REDACTION = """
import json, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
lines = [line for path in sorted(Path(sys.argv[2]).rglob("*.jsonl")) for line in path.open("rb")]
records = []
for line in lines:
    try:
        records.append((line, json.loads(line)))
    except ValueError:
        pass
size = sum(len(line) for line, _ in records)
begun = time.process_time()
from core.redaction import clean_record
counts = {}
for line, record in records:
    clean_record(line, record, counts)
print(json.dumps({"bytes": size, "cpu_s": time.process_time() - begun, "counts": counts}))
"""


def measure_redaction(report: Report, *, quick: bool) -> None:
    """MB/s of redaction alone, and its share of the processor time of an ingest with archive and index."""
    if not SAMPLES.is_dir():
        report.skip("redaction", f"no {relative(SAMPLES)}")
        return
    argv = [sys.executable, "-c", _REDACTION, str(ROOT), str(SAMPLES)]
    home = DATA / "home-safety"
    alone: list[float] = []
    whole: list[float] = []
    size = 0
    for _ in range(2 if quick else 5):
        done = json.loads(run(argv, environment(home)).output)
        size = done["bytes"]
        alone.append(done["cpu_s"])
        whole.append(_index(home).cpu_s)
    cost, total = median(alone), median(whole)
    report.add(Row(f"redaction, {size / 1e6:.0f} MB of transcripts", f"{size / 1e6 / cost:.0f} MB/s"))
    share = cost / total
    report.add(
        Row(
            "redaction: share of an ingest",
            f"{share:.0%}",
            f"brain index {total:.2f} s of cpu",
            share,
            f"≤ {_SHARE_BAR:.0%}",
            share <= _SHARE_BAR,
        )
    )


def measure_archive(report: Report, *, quick: bool) -> None:
    """Compare the bytes of the archive with those of its raw files."""
    del quick
    if not SAMPLES.is_dir():
        report.skip("archive", f"no {relative(SAMPLES)}")
        return
    home = DATA / "home-safety"
    _index(home)
    raw = sum(path.stat().st_size for path in SAMPLES.rglob("*.jsonl"))
    kept = sum(path.stat().st_size for path in (home / "raw").rglob("*") if path.is_file())
    share = kept / raw
    report.add(
        Row(
            "archive, bytes vs raw",
            megabytes(kept),
            f"raw {megabytes(raw)}",
            share,
            f"≤ {_ARCHIVE_BAR:.0%}",
            share <= _ARCHIVE_BAR,
        )
    )
    again = run([*program(), "index", "--from-archive", "--json"], environment(home))
    report.add(Row("index --from-archive", f"{raw / 1e6 / again.wall_s:.1f} MB/s"))
    _measure_all(report)


def _measure_all(report: Report) -> None:
    """The samples of every source in one archive, and what differs of the corpus once nothing else is left."""
    home = DATA / "home-archive"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (home / "collections.yml").write_text(_EVERYTHING, encoding="utf-8")
    raw = 0
    for source in _SAMPLED:
        places = [place for place in sorted(SAMPLES.parent.iterdir()) if place.name.split("-")[0] == source]
        raw += sum(path.stat().st_size for place in places for path in place.rglob("*") if path.is_file())
        words = [word for place in places for word in ("--from", str(place))]
        run([*program(), "index", "--source", source, *words, "--json"], environment(home))
    kept = sum(path.stat().st_size for path in (home / "raw").rglob("*") if path.is_file())
    share = kept / raw
    name = "archive of every source's samples"
    report.add(
        Row(
            f"{name}, bytes vs raw",
            megabytes(kept),
            f"raw {megabytes(raw)}",
            share,
            f"≤ {_ARCHIVE_BAR:.0%}",
            share <= _ARCHIVE_BAR,
        )
    )
    before = _documents(home)
    for gone in ("brain", "chrome-history", "state"):
        shutil.rmtree(home / gone)
    (home / "index.sqlite").unlink()
    run([*program(), "index", "--from-archive", "--json"], environment(home))
    after = _documents(home)
    differ = sum(before.get(path) != after.get(path) for path in {*before, *after})
    report.add(
        Row(f"{name}: documents that a rebuild makes otherwise", f"{differ} of {len(before)}", bar="0", met=not differ)
    )


def _documents(home: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for name in ("brain", "chrome-history") for path in (home / name).glob("*.md")}


def _index(home: Path) -> Run:
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    return run([*program(), "index", "--source", "claude", "--from", str(SAMPLES), "--json"], environment(home))
