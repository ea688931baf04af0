"""``brain index --source code``: 50,000 symbols from nothing, with nothing new, and with one file changed."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

from bench.indexing.index import paired_with_floor
from bench.measure import DATA, Failed, Run, environment, program, run
from bench.report import Report, Row, ms

SYMBOLS = 50_000
_IN_A_FILE = 25
_WORDS = (
    "token session router parser window archive profile cluster trail passage ledger budget signal lock cache".split()
)


def measure(report: Report, *, quick: bool) -> None:
    """Rows for a repository made here, of Python, TypeScript and Go in equal parts."""
    root = repository(5_000 if quick else SYMBOLS)
    count = 5_000 if quick else SYMBOLS
    home = DATA / "home-code"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    words = [*program(), "index", "--source", "code", "--from", str(root), "--json"]
    done = run(words, environment(home))
    held = done.answer()["sources"]["code"]["documents"]
    if held != count:
        raise Failed(f"{held} symbols, {count} expected")
    name = f"code, {count:,} symbols in {count // _IN_A_FILE:,} files"
    report.add(Row(f"{name}: from nothing", f"{done.wall_s:.1f} s", f"{done.cpu_s:.1f} s of cpu"))
    report.add(Row(f"{name}: peak memory", f"{done.peak / 1e6:.0f} MB"))
    least, taken = paired_with_floor(home, lambda: _nothing_new(run([*words, "--new"], environment(home))), 3)
    report.add(Row(f"{name}: --new, nothing new", ms(taken), f"floor {ms(least)}", taken / least))
    changed = root / "pkg0" / "file0.py"
    text = changed.read_text(encoding="utf-8")
    changed.write_text(text + "\n\ndef added():\n    return 1\n", encoding="utf-8")
    try:
        least, taken = paired_with_floor(home, lambda: run([*words, "--new"], environment(home)), 1)
    finally:
        changed.write_text(text, encoding="utf-8")
    report.add(Row(f"{name}: --new, one file changed", ms(taken), f"floor {ms(least)}", taken / least))


def repository(count: int) -> Path:
    """The repository, made once."""
    root = DATA / f"repository-{count}"
    if (root / ".whole").exists():
        return root
    sys.stderr.write(f"making {count:,} symbols in {root}\n")
    shutil.rmtree(root, ignore_errors=True)
    draw = random.Random(count)  # noqa: S311  # the same code every time
    for number in range(count // _IN_A_FILE):
        kind = ("py", "ts", "go")[number % 3]
        path = root / f"pkg{number % 40}" / f"file{number}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "package p\n\n" if kind == "go" else ""
        path.write_text(
            text + "\n".join(_function(kind, f"{draw.choice(_WORDS)}_{number}_{n}", draw) for n in range(_IN_A_FILE))
        )
    (root / ".whole").touch()
    return root


def _function(kind: str, name: str, draw: random.Random) -> str:
    lines = [f"{draw.choice(_WORDS)} = {draw.choice(_WORDS)}({draw.randrange(99)})" for _ in range(draw.randint(3, 9))]
    if kind == "py":
        return (
            f"# About {name}.\ndef {name}(value):\n" + "".join(f"    {line}\n" for line in lines) + "    return value\n"
        )
    head = f"export function {name}(value: number) {{" if kind == "ts" else f"func {name}(value int) int {{"
    return f"// About {name}.\n{head}\n" + "".join(f"  {line}\n" for line in lines) + "  return value\n}\n"


def _nothing_new(done: Run) -> Run:
    if done.answer()["sources"]["code"]["written"]:
        raise Failed("nothing was new, but documents were written")
    return done
