"""Frozen output of the product: documents, answers, and what the engine's commands print.

``python -m tests.golden.frozen`` freezes all of it again, after a change that is meant to change output; a change of
structure must not. The samples are in ``../shared``, so only digests of them are kept. The demo set is in every
checkout: ``demo.jsonl`` has readable answers about it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.golden.moves import Answer

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
SAMPLES = ROOT.parent / "shared" / "samples"
DEMO = FOLDER / "demo.jsonl"
# How many hits of an answer about the demo set are frozen.
_DEMO_HITS = 3
# Folder of the samples -> source.
SOURCES = {
    "claude": "claude",
    "claude-fragments": "claude",
    "claude-growing-chains": "claude",
    "claude-synthetic": "claude",
    "codex": "codex",
    "codex-synthetic": "codex",
    "cursor-synthetic": "cursor",
    "gemini": "gemini",
    "gemini-synthetic": "gemini",
    "opencode": "opencode",
    "pi": "pi",
    "other-synthetic": "copilot",
    "chrome": "chrome",
}
# Documents without a date of their own take their file's: 2025-06-01.
_MTIME = 1_748_736_000
# Fields that a clock or a place decides.
_VOLATILE = ("took_ms", "age", "age_days", "stale", "warning", "as_of", "docid", "path")
FILES = {
    "notes/alpha.md": "# Alpha Project\n\nThe authentication flow uses OAuth tokens.\n\nA second paragraph, café.\n",
    "notes/beta.md": "# Beta\n\nhello world\nAuthentication tokens expire hourly.\n\n## Details\n\n- one\n- two\n",
    "notes/notes.md": "# Notes\n\n## Weekly sync\n\nhello 'quoted' & <tagged> \"text\", with a comma\n",
    "notes/sub/deep/gamma.md": "---\ntitle: FM\ntags: [a, b]\n---\n\nno heading here, tokens again\n",
    "notes/sub/space name.md": "## Second level\n\nAuthentication in a file with a space\n",
    "notes/sub/emoji 🎉.md": "# Party 🎉\n\n🎉🎉 hello emoji authentication\n",
    "notes/cjk.md": "# 検索\n\n全文検索 engine と テスト\n한국어 문서\n",
    "notes/long.md": "# Long\n\n" + "".join(f"line {n} filler words here\n" for n in range(200)) + "\nneedle tokens\n",
    "notes/crlf.md": "# Win\r\n\r\nhello\r\nworld\r\n",
    "notes/empty.md": "  \n\n",
    "notes/node_modules/skip.md": "# skipped tokens\n",
    "work/todo.md": "# Todo\n\ntokens for work\n",
    "work/alpha.md": "# Alpha two\n\nwork alpha\n",
}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _run(words: list[str], environ: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], env=environ, cwd=cwd, capture_output=True, text=True, timeout=600, check=False
    )


def _environ(world: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(world / "user"),
        "BRAIN_HOME": str(world / "home"),
        "BRAIN_SERVE": "off",
        "TZ": "UTC",
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
    }


def _brain(world: Path, *words: str) -> str:
    """Run a command over the home below ``world`` and return what it printed."""
    done = _run([str(ROOT / "brain.py"), *words], _environ(world), world)
    if done.returncode:
        raise RuntimeError(f"brain {shlex.join(words)}: {done.stderr}")
    return done.stdout


def _copy(samples: Path, to: Path) -> None:
    shutil.copytree(samples, to)
    for folder, _, files in os.walk(to):
        for name in files:
            os.utime(os.path.join(folder, name), (_MTIME, _MTIME))


def documents(world: Path) -> dict[str, str]:
    """Index every sample into a home below ``world`` and return the digest of each document by its path."""
    (world / "user").mkdir(parents=True)
    for folder, source in SOURCES.items():
        place = world / "samples" / folder
        _copy(SAMPLES / folder, place)
        _brain(world, "index", "--source", source, "--from", str(place))
    home = world / "home"
    made = {}
    for collection in ("brain", "chrome-history"):
        for path in sorted((home / collection).rglob("*.md")):
            made[path.relative_to(home).as_posix()] = _digest(path.read_bytes())
    return made


def _steady(value: Any, world: str) -> Any:
    """``value`` without what a clock or a place decides."""
    if isinstance(value, dict):
        return {key: _steady(each, world) for key, each in value.items() if key not in _VOLATILE}
    if isinstance(value, list):
        return [_steady(each, world) for each in value]
    return value.replace(world, "WORLD") if isinstance(value, str) else value


def answers(world: Path) -> dict[str, list[str]]:
    """Ask every question of the home that ``documents`` made: the envelope's digest, then the uris of its hits."""
    made = {}
    for envelope in _ask(world, FOLDER / "questions.txt"):
        steady = json.dumps(_steady(envelope, str(world)), sort_keys=True)
        made[envelope["query"]] = [_digest(steady.encode()), *(hit["uri"] for hit in envelope["hits"][:5])]
    return made


def _ask(world: Path, questions: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _brain(world, "ask", "--batch", str(questions)).splitlines()]


def demo(world: Path) -> dict[str, Answer]:
    """Index the demo set into a home below ``world`` and answer every question of ``demo.jsonl``."""
    (world / "user").mkdir(parents=True)
    _brain(world, "init", "--demo")
    questions = world / "questions.txt"
    questions.write_text("".join(f"{question}\n" for question in frozen_demo()))
    made = {}
    for envelope in _ask(world, questions):
        best = envelope["hits"][:_DEMO_HITS]
        scores = tuple(round(hit["score"], 3) for hit in best)
        made[envelope["query"]] = Answer(tuple(hit["uri"] for hit in best), scores, envelope["route"]["mode"])
    return made


def frozen_demo() -> dict[str, Answer]:
    """Return the frozen answers about the demo set; a row without ``mode`` is a question that was not asked yet."""
    made = {}
    for row in map(json.loads, DEMO.read_text().splitlines()):
        hits = row.get("hits", [])
        made[row["question"]] = Answer(
            tuple(uri for uri, _ in hits), tuple(score for _, score in hits), row.get("mode", "")
        )
    return made


def digested(stored: dict[str, list[str]]) -> dict[str, Answer]:
    """Return ``answers`` in the form that is compared."""
    return {question: Answer(tuple(uris), digest=digest) for question, (digest, *uris) in stored.items()}


def engine(world: Path) -> dict[str, str]:
    """Run every command of ``qmd`` over a small corpus: exit code and digest of what it printed."""
    files = world / "files"
    for number, (name, text) in enumerate(FILES.items()):
        path = files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        os.utime(path, (_MTIME + number, _MTIME + number))
    environ = {
        **_environ(world),
        "XDG_CONFIG_HOME": str(world / "config"),
        "XDG_CACHE_HOME": str(world / "cache"),
        "INDEX_PATH": "",
    }

    def qmd(*words: str) -> subprocess.CompletedProcess[str]:
        return _run(["-m", "qmd", *words], environ, files)

    for setup in (
        ("collection", "add", "notes", "--name", "notes", "--mask", "**/*.md"),
        ("collection", "add", "work"),
        ("context", "add", "/", 'Everything: "mine"'),
        ("context", "add", "qmd://notes/sub", "Below sub, with a comma"),
    ):
        done = qmd(*setup)
        if done.returncode:
            raise RuntimeError(f"{setup}: {done.stderr}")
    made = {}
    for line in (FOLDER / "commands.txt").read_text().splitlines():
        done = qmd(*(shlex.split(line) if '"' in line else line.split()))
        printed = f"{done.stdout}\0{done.stderr}".replace(str(world), "WORLD")
        if line == "status" or line.startswith(("ls", "collection list")):
            # Sizes and ages.
            printed = "".join(each for each in printed if not each.isdigit())
        made[line] = f"{done.returncode} {_digest(printed.encode())}"
    return made


def frozen(name: str) -> Any:
    """Return what was frozen under ``name``: ``markdown``, ``answers`` or ``engine``."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def main() -> None:
    """Freeze the output of today; without ``../shared``, that of the demo set and the engine alone."""
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder).resolve()
        made: dict[str, Any] = {"engine": engine(world / "engine")}
        if SAMPLES.is_dir():
            made.update(markdown=documents(world), answers=answers(world))
        else:
            sys.stderr.write(f"{SAMPLES} is missing: markdown.json and answers.json stay as they are\n")
        for name, value in made.items():
            (FOLDER / f"{name}.json").write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
        write_demo(demo(world / "demo"))


def write_demo(made: dict[str, Answer]) -> None:
    """Freeze answers about the demo set, a row a question."""
    rows = (
        {"question": question, "mode": answer.mode, "hits": list(zip(answer.uris, answer.scores, strict=True))}
        for question, answer in made.items()
    )
    DEMO.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


if __name__ == "__main__":
    main()
