"""The corpora: folders of markdown, made once below ``bench/data``, and brains that index them."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import shutil
import sys
import time
from pathlib import Path
from typing import NamedTuple

from bench.measure import DATA, ROOT, SHARED, environment, program, run
from core import clock

GENERATOR = SHARED / "tools" / "gen_corpus.py"

# The two published corpora: files, mean KiB of a file, seed.
LARGE = (6_751, 11.0, 7)
MANY = (50_000, 1.0, 11)

# As people ask, in the generator's vocabulary; two of them name dates.
SPOKEN = (
    "why did the token refresh of the gateway fail during the rollback",
    "what was the decision about the vector index and its embedding model",
    "how much latency did the new cache save on the search server",
    "which feature flag did we run in the ranking experiment",
    "where is the migration that changed the session database",
    "who wanted the encryption of the backup and why",
    "did the deploy pipeline ever hold a lock across a transaction",
    "the build was slow until we found the garbage collector problem",
    "what did the postmortem of the network outage say about alert noise",
    "list the open questions about the customer research meeting",
    "how do I restore a schema from the backup without a restart",
    "best price estimate for the cluster budget and the invoice",
    "what did we learn about typography and palette last week",
    "notes on the compiler and the parser from three months ago",
    "is the shortest path traversal of the graph fast enough",
)
_YEARS_S = 2 * 365 * 86_400
# Knuth's multiplicative hash spreads numbers.
_SPREAD = 2_654_435_761
_SYLLABLES = [
    head + tail for head in ("b", "dr", "f", "gl", "k", "m", "pr", "s", "t", "v") for tail in ("a", "en", "i", "or")
]


class Corpus(NamedTuple):
    """Markdown files below ``folder``: their number, their bytes, and questions about them."""

    name: str
    folder: Path
    files: int
    size: int
    questions: list[str]


def published(shape: tuple[int, float, int]) -> Corpus | None:
    """The corpus that the peer's published figures were measured on; None where its generator is not at hand."""
    if not GENERATOR.is_file():
        return None
    files, mean, seed = shape
    folder = DATA / f"corpus-{files}"
    asked = DATA / f"questions-{files}.txt"
    if not _whole(folder, files) or not asked.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        sys.stderr.write(f"making {files:,} files in {folder}\n")
        DATA.mkdir(parents=True, exist_ok=True)
        sizes = ["--files", str(files), "--mean-kb", f"{mean:g}", "--seed", str(seed)]
        run([sys.executable, str(GENERATOR), str(folder), *sizes, "--queries", str(asked)], environment(DATA))
        _seal(folder)
    questions = asked.read_text(encoding="utf-8").splitlines()
    return _corpus(folder, [*questions, *SPOKEN])


def own(files: int = 2_000) -> Corpus:
    """A smaller corpus of our own, for where the published one cannot be made."""
    return _drawn(f"own-{files}", files, (4, 24), (30, 120))


def cards(files: int) -> Corpus:
    """Notes of one short paragraph, each one passage, and questions in a person's own words."""
    corpus = _drawn(f"cards-{files}", files, (1, 1), (20, 40))
    return corpus._replace(questions=[question for question in SPOKEN if "last week" not in question])


def dated(corpus: Corpus) -> Corpus:
    """The same files, each with a date of its own, evenly in the two years before they were made."""
    folder = corpus.folder.with_name(f"{corpus.folder.name}-dated")
    if not _whole(folder, corpus.files):
        shutil.rmtree(folder, ignore_errors=True)
        now = int(time.time())
        for number, path in enumerate(sorted(corpus.folder.rglob("*.md"))):
            began = now - _YEARS_S + number * _SPREAD % _YEARS_S
            times = f"---\ndate: {clock.iso(began)}\nended: {clock.iso(began + 1800)}\n"
            text = path.read_text(encoding="utf-8")
            copy = folder / path.relative_to(corpus.folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            # Some files have a frontmatter already.
            rest = text.removeprefix("---\n") if text.startswith("---\n") else f"---\n\n{text}"
            copy.write_text(times + rest, encoding="utf-8")
        _seal(folder)
    return _corpus(folder, corpus.questions)


def _drawn(name: str, files: int, paragraphs: tuple[int, int], length: tuple[int, int]) -> Corpus:
    folder = DATA / name
    if not _whole(folder, files):
        shutil.rmtree(folder, ignore_errors=True)
        draw = random.Random(files)  # noqa: S311  # the same files every time
        words = " ".join(SPOKEN).split()
        words += ["".join(draw.choices(_SYLLABLES, k=3)) for _ in range(20_000)]
        # As in any language, few words are most of the text (Zipf's law).
        weights = list(itertools.accumulate(1 / rank for rank in range(3, len(words) + 3)))
        for number in range(files):
            text = [
                " ".join(draw.choices(words, cum_weights=weights, k=draw.randint(*length))).capitalize() + "."
                for _ in range(draw.randint(*paragraphs))
            ]
            path = folder / f"area{number % 12:02}" / f"note-{number:05}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            title = " ".join(draw.choices(words, cum_weights=weights, k=4)).capitalize()
            path.write_text(f"# {title}\n\n" + "\n\n".join(text) + "\n", encoding="utf-8")
        _seal(folder)
    return _corpus(folder, [*SPOKEN, *(" ".join(line.split()[-3:]) for line in SPOKEN)])


def configure(home: Path, corpus: Corpus) -> None:
    """Make ``home`` a brain with the corpus as its only collection, ``notes``."""
    home.mkdir(parents=True, exist_ok=True)
    config = {"collections": {"notes": {"path": str(corpus.folder), "trust": "note"}}}
    # JSON is YAML.
    (home / "collections.yml").write_text(json.dumps(config), encoding="utf-8")


def brain(corpus: Corpus, *, keep: bool = False) -> Path:
    """The home of a brain that has indexed the corpus, as this version of the code indexes it.

    With ``keep`` an existing index is rebuilt, which keeps its vectors, instead of deleted first.
    """
    home = DATA / f"home-{corpus.name}"
    key = home / "made-by"
    if not key.is_file() or key.read_text(encoding="utf-8") != _code():
        again = keep and (home / "index.sqlite").is_file()
        if not again:
            shutil.rmtree(home, ignore_errors=True)
        sys.stderr.write(f"indexing {corpus.files:,} files\n")
        configure(home, corpus)
        run([*program(), "index", *(["--rebuild"] if again else []), "--json"], environment(home))
        key.write_text(_code(), encoding="utf-8")
    return home


def _code() -> str:
    """A digest of the code that decides what an index holds."""
    digest = hashlib.sha256()
    for room in ("core", "qmd", "ingest", "runtime"):
        for path in sorted((ROOT / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _corpus(folder: Path, questions: list[str]) -> Corpus:
    files, size = _measure(folder)
    return Corpus(folder.name, folder, files, size, questions)


def _seal(folder: Path) -> None:
    folder.with_suffix(".sealed").write_text("{} {}".format(*_measure(folder)), encoding="utf-8")


def _whole(folder: Path, files: int) -> bool:
    """Return True if the folder is complete and no file in it has changed size."""
    seal = folder.with_suffix(".sealed")
    if not seal.is_file() or not folder.is_dir():
        return False
    measured = _measure(folder)
    return measured[0] == files and seal.read_text(encoding="utf-8") == "{} {}".format(*measured)


def _measure(folder: Path) -> tuple[int, int]:
    """(number of files, bytes) below a folder."""
    files = size = 0
    for place, _, names in os.walk(folder):
        files += len(names)
        size += sum(os.stat(os.path.join(place, name)).st_size for name in names)
    return files, size
