"""``brain share`` and ``brain resume``: what leaves is redacted and counted, and a session opens in its own folder."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import stat
import sys
from pathlib import Path

import pytest

from core.home import Home
from runtime.explaining import sharing
from tests.conftest import Brain

ROOT = Path(__file__).resolve().parents[2]
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
DOCUMENT = """\
---
session_id: 5f0c2a1e-0000-4000-8000-000000000001
source: claude
title: Fix <script>alert(1)</script> in {home}/api
date: 2026-04-28T09:14:03Z
ended: 2026-04-28T10:02:51Z
project: {project}
---

# Fix it

## [1] user · 2026-04-28 09:14

Open {home}/api/.env with <private>our customer Walrus Inc</private> and <img src=x onerror=alert(1)>

## [2] assistant · 2026-04-28 09:15

It says {key}, I stop.

```sh
### reasoning
echo kept
```

- Bash: make test
  ! Exit code 1

### reasoning

The key looks real. I must not say it: SECRET-THOUGHT

## [3] user · 2026-04-28 09:16

[a link](https://example.com/x) and [redacted:jwt]
"""


@pytest.fixture
def held(brain: Brain, home: Home, tmp_path: Path) -> Path:
    """The project of an indexed session."""
    project = tmp_path / "it's here"
    project.mkdir()
    path = Path(home.path("brain", "5f0c2a1e-0000-4000-8000-000000000001.md"))
    path.parent.mkdir(parents=True)
    path.write_text(DOCUMENT.format(key=KEY, home=os.path.expanduser("~"), project=json.dumps(str(project))))
    assert brain("index", "--json").returncode in (0, 64)
    return project


def test_a_page_has_no_secret_no_private_span_no_reasoning_and_no_script(
    brain: Brain, held: Path, tmp_path: Path
) -> None:
    file = tmp_path / "session.html"
    done = brain("share", "5f0c2a1e", "-o", str(file))
    assert done.returncode == 0, done.stderr
    assert "3 turns; withheld: " in done.stdout
    assert "the reasoning of 1 turn" in done.stdout
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    page = file.read_text()
    for gone in (
        "sk-ant-",
        "Walrus",
        "SECRET-THOUGHT",
        os.path.expanduser("~"),
        "<script",
        "<img",
        "onerror=alert(1)>",
    ):
        assert gone not in page
    assert "echo kept" in re.sub(r"<[^>]*>", "", page)
    for kept in ("make test", "[redacted:", "Content-Security-Policy", "~/api"):
        assert kept in page
    assert re.findall(r"<[^>]*(?:src|href)=[^>]*>", page) == [
        '<a href="https://example.com/x" rel="noreferrer noopener" target="_blank">'
    ]
    assert brain("share", "5f0c2a1e", "-o", str(file)).returncode == 71, "no file is overwritten"


def test_the_count_of_what_is_withheld_names_kinds(brain: Brain, held: Path) -> None:
    found = json.loads(brain("share", "5f0c2a1e", "--json").stdout)
    assert found["withheld"]["reasoning"] == 1
    assert found["withheld"]["jwt"] == 1
    assert found["turns"] == 3
    assert "SECRET-THOUGHT" not in found["text"]
    assert "## user · 2026-04-28 09:14" in found["text"]


def test_what_the_policy_finds_in_an_old_document_is_withheld_and_counted() -> None:
    shared = sharing.share(DOCUMENT.format(key=KEY, home="/h", project='"/p"'))
    assert shared.withheld == {"github": 1, "jwt": 1, "private": 1, "reasoning": 1}
    text = sharing.markdown(shared)
    assert not [gone for gone in (KEY, "Walrus", "SECRET-THOUGHT") if gone in text]
    assert "3 secrets and private spans (1 github, 1 jwt, 1 private) and the reasoning of 1 turn" in text


@pytest.mark.parametrize(
    "before",
    [
        "```npm i``` installs it",
        "```\n```python\nprint()\n```",
        "- Bash: cat README.md\n  ! Exit code 1\n  ```",
        "~~~\n```\n~~~",
    ],
)
def test_marks_of_code_before_it_let_no_reasoning_through(before: str) -> None:
    first = f"## [1] assistant · 2026-04-28 09:15\n\n{before}\n\n### reasoning\n\nSECRET-THOUGHT\n"
    shared = sharing.share(f"---\nsource: claude\n---\n\n{first}\n## [2] user · 2026-04-28 09:16\n\nGo on\n")
    assert shared.withheld == {"reasoning": 1}
    assert "SECRET-THOUGHT" not in sharing.markdown(shared)
    assert [turn.text for turn in shared.turns] == [before, "Go on"]


def test_a_document_without_turns_is_not_shared(brain: Brain, home: Home) -> None:
    brain("inbox", "--type", "idea", "A wheel for the walrus", "--json")
    brain("index")
    place = next(Path(home.inbox).rglob("*.md"))
    done = brain("share", str(place))
    assert (done.returncode, "no session" in done.stderr) == (64, True)


def test_the_command_that_resumes_is_printed_where_there_is_no_terminal(brain: Brain, held: Path) -> None:
    identity = "5f0c2a1e-0000-4000-8000-000000000001"
    wanted = ["cd", str(held), "&&", "claude", "--resume", identity]
    for words in (("resume",), ("resume", "5f0c2a1e"), ("resume", "--print", "5f0c2a1e-0000")):
        done = brain(*words)
        assert shlex.split(done.stdout) == wanted, done.stderr
    found = json.loads(brain("resume", "--json").stdout)
    assert (found["command"], found["folder"]) == (f"claude --resume {identity}", str(held))
    assert brain("resume", "nothing-like-it").returncode == 67


def test_a_terminal_gets_the_agent_itself_in_the_sessions_folder(held: Path, home: Home, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s|%s|%s" "$PWD" "$1" "$2" > "$OUT"\nexit 3\n')
    program.chmod(0o755)
    out = tmp_path / "out"
    child, _ = pty.fork()
    if not child:
        environ = {**os.environ, "PATH": f"{program.parent}:/usr/bin:/bin", "OUT": str(out)}
        os.execve(sys.executable, [sys.executable, str(ROOT / "brain.py"), "resume"], environ)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    assert out.read_text() == f"{held}|--resume|5f0c2a1e-0000-4000-8000-000000000001"


def test_a_session_of_an_agent_without_such_a_command_says_so(brain: Brain, home: Home) -> None:
    path = Path(home.path("brain", "aider1.md"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(DOCUMENT.format(key=KEY, home="/h", project="/p").replace("source: claude", "source: aider"))
    brain("index", "--json")
    done = brain("resume", "aider1")
    assert done.returncode == 64
    assert "has no command" in done.stderr
