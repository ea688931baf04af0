"""A phrase that is everywhere, and was asked for before, is nowhere below the home once it is forgotten."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from core.config import locate
from core.home import Home
from ops.backup import backup, packing
from tests.conftest import Brain
from tests.ingest.history import MORNING, History
from tests.ingest.sources.test_git import Repository
from tests.ingest.transcripts import OTHER, SESSION, Script, save, text, tool

PHRASE = "amaranth-cipher"


@pytest.fixture
def full(home: Home, claude_root: Path, tmp_path: Path, brain: Brain) -> Home:
    """The phrase in prompts, titles, paths, addresses, searches, tags, symbols, commits, commands, names of records."""
    home.make()
    shipped = Path(locate(home)).read_text(encoding="utf-8")
    Path(home.path("collections.yml")).write_text(f"{shipped}\ntelemetry: {{query_text: true}}\n", encoding="utf-8")
    place = claude_root / "projects" / f"-home-me-{PHRASE}"
    script = Script(cwd=f"/home/me/{PHRASE}")
    path = save(
        place / f"{SESSION}.jsonl",
        script.user(f"Where is the {PHRASE}?"),
        script.assistant(text("Look into it."), tool("Read", "t1", file_path=f"/home/me/{PHRASE}/plan.png")),
        {"type": PHRASE, "sessionId": SESSION, "x": 1},
        {"type": "ai-title", "aiTitle": f"On the {PHRASE}", "sessionId": SESSION},
    )
    (place / "torn.jsonl").write_text(f"{PHRASE}\n", encoding="utf-8")
    other = Script(OTHER, cwd="/home/me/web")
    save(claude_root / "projects" / "-home-me-web" / f"{OTHER}.jsonl", other.user("Of walruses."))
    history = History(tmp_path / "browser" / "History")
    history.visit(f"https://github.com/me/{PHRASE}", f"The {PHRASE}")
    history.visit("https://github.com/me/walrus", "The walrus", MORNING + 86_400)
    (Path(os.environ["HOME"]) / ".zsh_history").write_text(
        f": 1777360440:0;ls {PHRASE}\n: 1777460440:0;ls walrus\n", encoding="utf-8"
    )
    repository = Repository(tmp_path / PHRASE)
    repository.commit(f"Begin the {PHRASE}", name="a.py")
    (repository.root / "a.py").write_text("def walrus():\n    return 1\n", encoding="utf-8")
    (tmp_path / "article.md").write_text(f"# On the {PHRASE}\n\nThe {PHRASE} it is.\n", encoding="utf-8")
    payload = json.dumps(
        {"session_id": SESSION, "transcript_path": str(path), "cwd": f"/home/me/{PHRASE}", "prompt": f"the {PHRASE}"}
    )
    for words in (
        ("index",),
        ("index", "--source", "chrome", "--from", history.save()),
        ("index", "--source", "git", "--from", str(repository.root)),
        ("index", "--source", "code", "--from", str(repository.root)),
        ("add", str(tmp_path / "article.md")),
        ("inbox", f"we keep the {PHRASE}", "--tags", PHRASE),
        ("ask", PHRASE),
        ("ask", f"where is the {PHRASE.upper()}", "--json"),
        ("ask", f"{PHRASE} of walruses that nobody knows"),
        ("why", PHRASE),
        ("eval", "build"),
        ("backup",),
    ):
        done = brain(*words)
        assert done.returncode in (0, 67), (words, done.stderr)
    for event in ("prompt", "session-start", "stop", "session-end"):
        assert brain("hook", event, stdin=payload).returncode == 0
    brain("doctor", "--no-wedge", env={"BRAIN_NOTIFY": "off"})
    return home


def grep(folder: str) -> list[str]:
    done = subprocess.run(["grep", "-rlai", PHRASE, folder], capture_output=True, text=True, check=False)
    return [os.path.relpath(path, folder) for path in done.stdout.split("\n") if path]


@pytest.mark.long
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_what_was_everywhere_is_nowhere(full: Home, brain: Brain, tmp_path: Path) -> None:
    before = {path.split("/")[0] for path in grep(full.root)}
    assert before >= {"brain", "chrome-history", "code", "git", "inbox", "kb-raw", "logs", "state", "index.sqlite"}
    assert {"logs/doctor.log", "logs/usage.jsonl", "state/ledger/claude.json"} <= set(grep(full.root))
    done = brain("forget", "--match", PHRASE, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert grep(full.root) == []
    assert not [path for path in Path(full.root).rglob("*") if PHRASE in path.name]
    (kept,) = backup.listed(full.path(backup.FOLDER))
    packing.unpack(kept, str(tmp_path / "unpacked"))
    assert grep(str(tmp_path / "unpacked")) == []
    for words in (("index",), ("index", "--source", "git"), ("doctor", "--no-wedge"), ("explain",), ("backup",)):
        brain(*words, env={"BRAIN_NOTIFY": "off"})
    assert grep(full.root) == []
    assert brain("ask", "walruses").returncode == 0
