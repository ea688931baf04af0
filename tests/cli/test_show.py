"""``brain show``, the program."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from core import clock
from core.home import Home
from qmd.index.store import open_index
from qmd.index.writer import put
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    body = "\n".join(f"line {number}" for number in range(1, 31)) + "\nred \x1b[31malert\x1b[0m"
    shelf.put("brain", "s1.md", body, session_id="s1", source="claude", project="/u/x/api", date=clock.now())
    return shelf


def test_a_document_under_a_header_of_its_facts(shelf: Shelf, brain: Brain) -> None:
    done = brain("show", "s1")
    assert done.returncode == 0
    head, _, body = done.stdout.partition("\n\n")
    assert head.startswith("qmd://brain/s1.md  #")
    assert "claude  /u/x/api" in head
    assert head.endswith("claude --resume s1")
    assert body.startswith("# s1\n")
    assert "session_id" not in done.stdout
    assert "red alert" in done.stdout, "escape sequences of a document never reach the terminal"
    assert "\x1b" not in done.stdout


def test_a_passage_has_its_lines_numbered(shelf: Shelf, brain: Brain) -> None:
    whole = brain("show", "s1", "--full").stdout.splitlines()
    assert whole[0] == "---"
    number = whole.index("line 20") + 1
    done = brain("show", f"qmd://brain/s1.md:{number}", "--context", "1")
    assert done.stdout.splitlines()[-3:] == [
        f"  {number - 1}  line 19",
        f"> {number}  line 20",
        f"  {number + 1}  line 21",
    ]
    assert brain("show", "s1", "--line", str(number), "--context", "0").stdout.endswith(f"> {number}  line 20\n")


def program(*words: str, **streams: Any) -> CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "import brain; brain.entry()", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        check=True,
        timeout=60,
        **streams,
    )


@pytest.mark.parametrize(
    "body",
    [
        b"trailing  \nspaces\t\n\n\n",
        b"no end of line",
        b"dos\r\nlines\r\n",
        b"caf\xe9 \x1b[31mred",
        b"\xef\xbb\xbfmark",
    ],
)
def test_full_is_the_file_byte_for_byte(shelf: Shelf, body: bytes) -> None:
    file = Path(shelf.config.collections["kb-wiki"].path, "odd.md")
    file.parent.mkdir()
    file.write_bytes(body)
    connection = open_index(shelf.home.index, write=True)
    try:
        put(connection, "kb-wiki", "odd.md", body, file.stat())
    finally:
        connection.close()
    assert program("show", "odd", "--full", stdout=subprocess.PIPE).stdout == body
    file.write_bytes(b"other since")
    assert program("show", "odd", "--full", stdout=subprocess.PIPE).stdout == body.decode("utf-8", "replace").encode()


def test_full_on_a_terminal_cannot_drive_it(shelf: Shelf) -> None:
    controller, terminal = pty.openpty()
    try:
        program("show", "s1", "--full", stdout=terminal)
        said = os.read(controller, 10_000)
    finally:
        os.close(terminal)
        os.close(controller)
    assert b"red alert" in said
    assert b"\x1b" not in said


def test_json_is_one_object_with_the_text(shelf: Shelf, brain: Brain) -> None:
    done = brain("show", "s1:2", "--context=0", "--json")
    envelope = json.loads(done.stdout)
    assert (envelope["ok"], envelope["line"], envelope["text"]) == (True, 2, "session_id: s1")
    assert (envelope["collection"], envelope["source"], envelope["trust"]) == ("brain", "claude", "session")


def test_nothing_of_that_name_exits_67(shelf: Shelf, brain: Brain) -> None:
    done = brain("show", "s7", "--json")
    envelope = json.loads(done.stdout)
    assert (done.returncode, envelope["ok"], envelope["error"]) == (67, True, "no_results")


def test_open_needs_an_editor(shelf: Shelf, brain: Brain) -> None:
    done = brain("show", "s1", "--open")
    assert (done.returncode, done.stderr) == (64, "brain: neither VISUAL nor EDITOR is set\nfix: export EDITOR=vi\n")
    done = brain("show", "s1:7", "--open", env={"EDITOR": "echo opened"})
    assert (done.returncode, done.stdout) == (0, f"opened {shelf.config.collections['brain'].path}/s1.md\n")


def test_bad_input_says_what_to_write(shelf: Shelf, brain: Brain) -> None:
    for words in ([], ["s1", "s2"], ["s1", "--line", "0"], ["s1:999"], ["s1", "--open", "--json"]):
        done = brain("show", *words)
        assert done.returncode == 64
        assert "fix" in done.stderr + done.stdout


@pytest.mark.parametrize("words", [(), ("--full",), ("--line", "2")])
def test_an_agent_is_shown_no_secret_of_a_folder_that_is_indexed_as_it_is(
    shelf: Shelf, brain: Brain, words: tuple[str, ...]
) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    shelf.put("brain", "own.md", f"# Own\nkey {token} end", session_id="s2", source="claude", date=clock.now())
    shown = brain("show", "qmd://brain/own.md", *words, env={"BRAIN_SURFACE": "claude-code"})
    assert shown.returncode == 0
    assert token not in shown.stdout
    assert "[redacted:github]" in shown.stdout
    assert token in brain("show", "qmd://brain/own.md", *words).stdout
