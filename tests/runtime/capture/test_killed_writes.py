"""A command that is killed while it writes a document is repaired by its repetition, or by the next index run."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from core.home import Home
from tests.conftest import Brain
from tests.runtime.distill.session import REFRESH, body
from tests.runtime.index_fixture import Shelf

# The program dies when it calls one function: before or after it, or when it renames a document.
KILLED = """
import importlib, os, signal
module, name, when = "{point}".split()
place = importlib.import_module(module)
real = getattr(place, name)
def killed(*given):
    if module == "os" and not os.fspath(given[-1]).endswith(".md"):
        return real(*given)
    if when == "after":
        real(*given)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(place, name, killed)
"""
RENAME = ["os rename before", "os rename after"]
INDEX = [
    "runtime.capture.documents index_file before",
    "runtime.capture.documents index_file after",
    "runtime.capture.documents _remove before",
]
ADDED = ["runtime.capture.articles _index before", "runtime.capture.articles _index after"]
COMMANDS = {
    "inbox": (["inbox", "tokens refresh sixty seconds early, under one lock"], [*RENAME, *INDEX]),
    "capture": (["inbox", "retries wait", "--type", "decision", "--why", "a lock"], [*RENAME, *INDEX]),
    "distill": (["distill", "qmd://brain/one.md", "--llm", "extractive"], [*RENAME, *INDEX]),
    "add": (["add", "{article}"], [*RENAME, *ADDED]),
}
# The command itself repairs each of its points. What an index run finds differs only by the kind of document.
CASES = [
    (name, point, by)
    for name, (_, points) in COMMANDS.items()
    for point in points
    for by in (("itself", "index") if point == points[-1] else ("itself",))
]
FOLDERS = {"inbox": "inbox", "capture": "inbox", "distill": "distilled", "add": "kb-raw"}


@pytest.mark.parametrize(("name", "point", "repaired_by"), CASES)
def test_a_killed_write_leaves_no_twin_and_nothing_that_no_index_knows(
    home: Home, tmp_path: Path, brain: Brain, name: str, point: str, repaired_by: str
) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "one.md", body(REFRESH).partition("\n\n")[2], session_id="one", source="claude")
    article = tmp_path / "walrus.md"
    article.write_text("# The walrus\n\nIt sleeps on the ice.\n")
    words = [word.format(article=article) for word in COMMANDS[name][0]]
    done = brain(*words, code=KILLED.replace("{point}", point))
    assert done.returncode == -signal.SIGKILL, (done.returncode, done.stdout, done.stderr)

    if repaired_by == "index":
        assert brain("index", "--source", "claude").returncode == 0
    brain(*words)
    folder = home.path(FOLDERS[name])
    files = sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*.md"))
    rows = shelf.sql("SELECT path FROM documents WHERE collection = ? AND active = 1", FOLDERS[name])
    assert len(files) == 1
    assert [str(path) for (path,) in rows] == files
    notes = Path(home.state, "unindexed")
    assert not notes.exists() or not os.listdir(notes)
