"""From an answer back to its record, and forward to what has changed since."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from runtime.validity.file_changes import since
from tests.conftest import Brain

SESSION = "0ccccccc-0000-4000-8000-000000000001"


def git(folder: Path, *words: str, when: int = 1_780_000_000) -> None:
    stamp = f"@{when} +0000"
    environ = {**os.environ, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp, "GIT_CONFIG_GLOBAL": "/dev/null"}
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(folder), *words],
        check=True,
        capture_output=True,
        env=environ,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Three committed files of one moment; one of them committed again later, one changed and not committed."""
    folder = tmp_path / "api"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for name in ("same.py", "later.py", "dirty.py", "gone.py"):
        (folder / name).write_text("1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    (folder / "later.py").write_text("2\n")
    git(folder, "commit", "-q", "-a", "-m", "second", when=1_780_010_000)
    (folder / "dirty.py").write_text("2\n")
    (folder / "gone.py").unlink()
    for name in ("same.py", "later.py"):
        os.utime(folder / name, (1_780_000_000, 1_780_000_000))
    return folder


def test_git_says_what_has_changed_since(repository: Path, tmp_path: Path) -> None:
    loose = tmp_path / "loose.txt"
    loose.write_text("x")
    names = ["same.py", "later.py", "dirty.py", "gone.py"]
    found = since([*(str(repository / name) for name in names), str(loose), "/nowhere/at/all.py"], 1_780_005_000)
    assert [each["state"] for each in found] == ["unchanged", "changed", "changed", "gone", "unknown", "unknown"]
    assert [each["commits"] for each in found] == [0, 1, 0, 0, None, None]
    assert [each["state"] for each in since([str(repository / "later.py")], int(time.time()) + 5)] == ["unchanged"]


def test_looking_at_a_repository_runs_nothing_of_its_own(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(script))
    git(repository, "config", "core.pager", str(script))
    git(repository, "config", "filter.x.clean", str(script))
    (repository / ".git" / "info" / "attributes").write_text("* filter=x\n")
    mark.unlink(missing_ok=True)
    since([str(repository / "same.py")], 1_780_005_000)
    assert not mark.exists()


def transcript(root: Path, repository: Path) -> Path:
    def record(number: int, role: str, content: Any) -> dict[str, Any]:
        message = {"role": role, "content": content, **({"id": f"msg_{number}"} if role == "assistant" else {})}
        return {
            "type": role,
            "uuid": f"u-{number}",
            "parentUuid": f"u-{number - 1}" if number else None,
            "timestamp": f"2026-05-28T20:27:{number:02}.000Z",
            "sessionId": SESSION,
            "cwd": str(repository),
            "version": "2.1.98",
            "isSidechain": False,
            "message": message,
        }

    edit: dict[str, Any] = {
        "type": "tool_use",
        "id": "t1",
        "name": "Edit",
        "input": {"file_path": str(repository / "later.py")},
    }
    edit["input"] |= {"old_string": "1", "new_string": "2"}
    records = [
        record(0, "user", 'why does the turnstile "click" so often'),
        record(1, "assistant", [{"type": "text", "text": "Its rotary encoder bounces; a debounce of 5 ms is enough."}]),
        record(2, "assistant", [edit]),
    ]
    path = root / "projects" / "-api" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


def test_an_answer_leads_back_to_its_record(brain: Brain, home: Home, claude_root: Path, repository: Path) -> None:
    raw = transcript(claude_root, repository)
    assert brain("index").returncode == 0
    (hit,) = json.loads(brain("ask", "--json", "rotary encoder debounce").stdout)["hits"]
    text = Path(hit["path"]).read_text().splitlines()
    line = next(number for number, each in enumerate(text, 1) if "rotary encoder" in each)
    found = json.loads(brain("trace", f"{hit['uri']}:{line}", "--json").stdout)
    assert found["turn"]["number"] == 2
    assert [(each["path"], each["line"], each["message_id"]) for each in found["sources"]] == [(str(raw), 2, "u-1")]
    assert found["resume"] == f"claude --resume {SESSION}"
    assert [(Path(each["path"]).name, each["commits"]) for each in found["files"]["items"]] == [("later.py", 1)]
    assert found["summary"] == "1 of 1 file that it wrote to has changed since this memory"
    quoted = next(
        number for number, each in enumerate(text, 1) if "turnstile" in each and not each.startswith(("#", "t"))
    )
    found = json.loads(brain("trace", f"{hit['uri']}:{quoted}", "--json").stdout)
    assert found["sources"][0]["line"] == 1
    raw.unlink()
    shown = brain("trace", hit["docid"])
    assert shown.returncode == 0
    assert "(gone)" in shown.stdout


def test_a_file_of_another_machine_has_not_changed(brain: Brain, home: Home, claude_root: Path) -> None:
    transcript(claude_root, Path("/Users/nobody-here/api"))
    brain("index")
    found = json.loads(brain("trace", SESSION, "--json").stdout)
    assert found["files"]["changed"] == 0
    assert found["summary"] == "0 of 1 file that it wrote to have changed since this memory; of 1 it is not known"


def test_a_hit_that_is_none_is_said_to_be(brain: Brain, home: Home, claude_root: Path, repository: Path) -> None:
    transcript(claude_root, repository)
    brain("index")
    assert brain("trace", "#ffffff").returncode == 67
    assert brain("trace").returncode == 64
