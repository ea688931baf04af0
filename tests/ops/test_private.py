"""Whatever writes into the home, nobody else can read what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from core import clock, telemetry
from core.home import Home
from tests.conftest import Brain
from tests.ops.backups import session, transcript

COMMANDS = (
    "index",
    "inbox prefer flock over pid files",
    "ask harvest",
    "distill",
    "rebuild",
    "index --source code --from {repository}",
    "index --source git --from {repository}",
    "add {page}",
    "eval build --each 3",
    "acceptance",
    "sync --dir {remote}",
    "backup --to {backups}",
    "export -c brain --out {exported}",
    "doctor",
    f"forget {session(3)} --yes",
    "qmd --brain update",
)


@pytest.fixture
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def _readable(*places: Path) -> list[str]:
    return sorted(
        str(path)
        for place in places
        for path in place.rglob("*")
        if path.lstat().st_mode & 0o077 and not path.is_symlink()
    )


@pytest.mark.long
@pytest.mark.usefixtures("_open_umask")
def test_no_command_writes_what_others_may_read(brain: Brain, claude_root: Path, tmp_path: Path) -> None:
    for number in range(22):
        transcript(claude_root, number)
    places = {name: tmp_path / name for name in ("repository", "page", "remote", "backups", "exported")}
    places["repository"].mkdir()
    (places["repository"] / "a.py").write_text("def walk(path):\n    return path\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-C", str(places["repository"])]
        subprocess.run([*git, *words], check=True)
    places["page"] = tmp_path / "report.md"
    places["page"].write_text("# A page\n\nThe heron lands on the valley.\n")
    home = Path(os.environ["BRAIN_HOME"])
    a_week_ago = clock.iso(clock.now() - 8 * clock.DAY)
    telemetry.append(Home(str(home)).usage, {"schema": 1, "ts": a_week_ago, "surface": "terminal", "event": "ask"})
    found: list[str] = []
    for command in COMMANDS:
        words = [word.format(**places) for word in command.split(" ")]
        done = brain(*words, env={"BRAIN_NOTIFY": "off"}, timeout=300)
        assert done.returncode in (0, 1), (command, done.stderr)
        opened = _readable(home, places["remote"], places["backups"], places["exported"])
        found += [f"{command}: {path}" for path in opened if not any(each.endswith(f": {path}") for each in found)]
    assert found == []
    assert list(home.glob("state/eval/runs/*/own.ask.jsonl")), "the verdict asked the personal questions"
    assert json.loads(brain("doctor", "--json", env={"BRAIN_NOTIFY": "off"}).stdout)["healthy"]
