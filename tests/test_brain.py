"""The program as its callers meet it: what goes to stdout, to stderr, and into the exit code."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import brain as entry
from core import errors
from core.home import Home
from core.version import VERSION
from tests.conftest import Brain
from tests.ingest.transcripts import Script, save

ROOT = Path(__file__).resolve().parent.parent
_ENTRY = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
# The program with one command in the place of another: what it raises is what a fault of ours would raise.
_FAULTY = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import brain, cli.ask.recent
from core import errors
def run(args, context):
    context.fields["n_hits"] = 3
    {body}
cli.ask.recent.run = run
brain.entry()
"""


@pytest.fixture
def brain(program: Brain) -> Brain:
    return program


def _start(*words: str, code: str = _ENTRY, **options: Any) -> subprocess.Popen[bytes]:
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([sys.executable, "-c", code, str(ROOT), *words], **pipes)


def _faulty(body: str, *words: str) -> tuple[int, str, str]:
    with _start("recent", *words, code=_FAULTY.format(body=body)) as child:
        out, err = child.communicate(timeout=60)
    return child.returncode, out.decode(), err.decode()


def _rows(home: Home) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(home.usage).read_text().splitlines()]


def test_the_version_is_the_products(brain: Brain) -> None:
    for flag in ("--version", "-V"):
        done = brain(flag)
        assert (done.returncode, done.stderr) == (0, "")
        assert re.fullmatch(rf"brain {re.escape(VERSION)} \((checkout|pip|pipx|uv|Homebrew),? /.*\)\n", done.stdout)


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("help",)])
def test_the_overview_names_every_command(brain: Brain, words: tuple[str, ...]) -> None:
    done = brain(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")] == list(entry.COMMANDS)


def test_the_overview_touches_nothing(brain: Brain, tmp_path: Path) -> None:
    brain("--help", env={"BRAIN_HOME": str(tmp_path / "none")})
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "words", [("ask", "--help"), ("ask", "-h"), ("help", "ask"), ("--help", "ask"), ("ask", "x", "--help")]
)
def test_help_on_a_command_is_on_stdout_and_no_failure(brain: Brain, home: Home, words: tuple[str, ...]) -> None:
    done = brain(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: brain ask")
    assert not Path(home.usage).exists(), "help is no use of the memory"


@pytest.mark.parametrize(
    ("typed", "meant"), [("aks", "ask"), ("recnt", "recent"), ("Inbox", "inbox"), ("status", "explain")]
)
def test_a_misspelt_command_names_the_one_that_was_meant(brain: Brain, typed: str, meant: str) -> None:
    done = brain(typed)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == f"brain: unknown command '{typed}'\nfix: did you mean `brain {meant}`?\n"


@pytest.mark.parametrize("words", [("xyzzy",), ("",), ("help", "xyzzy"), ("render.py",), ("../core",)])
def test_an_unknown_command_points_to_the_help(brain: Brain, words: tuple[str, ...]) -> None:
    done = brain(*words)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("brain: unknown command ")
    assert done.stderr.endswith("fix: brain --help\n")


@pytest.mark.parametrize("name", ["spec", "context", "render", "__init__", "cli.ask.ask", "../ask"])
def test_a_module_that_is_no_command_is_not_run(brain: Brain, name: str) -> None:
    done = brain(name, "--json")
    assert (done.returncode, done.stderr) == (64, "")
    assert json.loads(done.stdout)["message"] == f"unknown command '{name}'"


_CLASSES = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.BrainError) and kind is not errors.BrainError
]


@pytest.mark.parametrize("kind", _CLASSES, ids=lambda kind: kind.__name__)
def test_each_class_of_failure_has_its_exit_code_and_one_line(home: Home, kind: type[errors.BrainError]) -> None:
    code, out, err = _faulty(f"raise errors.{kind.__name__}('what\\nhappened', 'do this')")
    assert (code, out, err) == (kind.code, "", "brain: what happened\nfix: do this\n")
    (row,) = _rows(home)
    assert (row["event"], row["exit_code"], row["n_hits"]) == ("recent", kind.code, 3)


@pytest.mark.parametrize("kind", _CLASSES, ids=lambda kind: kind.__name__)
def test_with_json_a_failure_is_one_object_on_stdout_and_nothing_else(kind: type[errors.BrainError]) -> None:
    code, out, err = _faulty(f"raise errors.{kind.__name__}('what \\ud800', 'do this')", "--json")
    assert (code, err) == (kind.code, "")
    assert out.count("\n") == 1
    assert json.loads(out) == kind("what \ufffd", "do this").envelope()


def test_json_after_two_dashes_is_a_word(brain: Brain) -> None:
    done = brain("recent", "--", "--json")
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("brain: ")


@pytest.mark.parametrize("words", [("ask", "--limt", "5"), ("ask", "x", "-n", "0"), ("recent", "extra"), ("nope",)])
def test_a_wrong_call_with_json_is_an_envelope(brain: Brain, words: tuple[str, ...]) -> None:
    done = brain(*words, "--json")
    assert (done.returncode, done.stderr) == (64, "")
    envelope = json.loads(done.stdout)
    assert (envelope["ok"], envelope["exit_code"]) == (False, 64)
    assert envelope["fix"]


@pytest.mark.parametrize("words", [("--json", "recent"), ("--verbose", "--json")])
def test_an_option_before_any_command_is_a_wrong_call(brain: Brain, words: tuple[str, ...]) -> None:
    done = brain(*words)
    assert (done.returncode, done.stderr) == (64, "")
    assert json.loads(done.stdout)["message"] == f"a command comes before {words[0]}"
    plain = brain("--verbose")
    assert (plain.returncode, plain.stdout) == (64, "")


@pytest.mark.parametrize("words", [(), ("bogus",), ("stop", "--bogus"), ("stop", "extra")])
def test_a_wrong_call_of_a_hook_says_nothing_to_the_agent(brain: Brain, words: tuple[str, ...]) -> None:
    for given in (words, (*words, "--json")):
        done = brain("hook", *given, stdin="{}")
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith("brain: ")


def test_an_escape_sequence_in_a_failure_does_not_reach_the_terminal() -> None:
    _, _, err = _faulty("raise errors.BadInput('no file \\x1b[2J\\u202etxt', 'look at \\x1b]0;x\\x07it')")
    assert err == "brain: no file txt\nfix: look at it\n"


def test_the_unexpected_leaves_its_trace_and_one_line(home: Home) -> None:
    Path(home.logs).rmdir()
    code, out, err = _faulty("raise ZeroDivisionError('boom \\udcff')")
    log = Path(home.logs, "crash.log")
    assert (code, out) == (99, "")
    assert err.splitlines()[1] == f"fix: the trace is in {log}"
    assert err.startswith("brain: ZeroDivisionError: boom")
    assert log.stat().st_mode & 0o777 == 0o600
    assert "Traceback" in log.read_text()
    assert "ZeroDivisionError" in log.read_text()
    assert [row["exit_code"] for row in _rows(home)] == [99]
    _faulty("raise KeyError('again')")
    assert log.read_text().count("Traceback") == 2


def test_a_fault_that_has_a_message_of_its_own_leaves_its_trace_too(home: Home) -> None:
    code, _, err = _faulty("raise errors.Internal('qmd gave no JSON', 'unset BRAIN_QMD')")
    assert (code, err) == (99, "brain: qmd gave no JSON\nfix: unset BRAIN_QMD\n")
    assert "Internal: qmd gave no JSON" in Path(home.logs, "crash.log").read_text()


@pytest.mark.parametrize("raised", ["errors.DiskFull('full')", "errors.BadInput('no day')", "errors.Refused('no')"])
def test_what_is_no_fault_of_ours_leaves_no_trace(home: Home, raised: str) -> None:
    _faulty(f"raise {raised}")
    assert not Path(home.logs, "crash.log").exists()


def test_a_home_that_any_command_makes_is_private(
    brain: Brain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: dict[str, Callable[[], object]] = {
        "crash": lambda: _faulty("raise ValueError('x')"),
        "doctor": lambda: brain("doctor", "--no-wedge"),
        "job": lambda: brain("schedule", "run", "doctor"),
        "inbox": lambda: brain("inbox", "the pelican landed"),
    }
    mask = os.umask(0o022)
    try:
        for name, call in calls.items():
            place = tmp_path / name / "home"
            monkeypatch.setenv("BRAIN_HOME", str(place))
            call()
            made = [place, *(path for path in place.rglob("*") if path.is_dir())]
            assert [path for path in made if path.stat().st_mode & 0o777 != 0o700] == [], name
    finally:
        os.umask(mask)


def test_the_unexpected_with_json_is_an_envelope(home: Home) -> None:
    code, out, err = _faulty("raise RecursionError('deep')", "--json")
    assert (code, err) == (99, "")
    assert json.loads(out)["error"] == "internal"


def test_a_trace_that_cannot_be_kept_says_so(home: Home) -> None:
    Path(home.logs, "crash.log").mkdir()
    code, _, err = _faulty("raise ValueError('x')")
    assert code == 99
    assert "fix: the trace could not be kept" in err


@pytest.mark.parametrize("obstacle", ["file for the folder", "folder for the file"])
def test_telemetry_that_fails_does_not_fail_the_command(brain: Brain, home: Home, obstacle: str) -> None:
    if obstacle == "file for the folder":
        Path(home.logs).rmdir()
        Path(home.logs).write_text("")
    else:
        Path(home.usage).mkdir()
    done = brain("explain", "--json")
    assert (done.returncode, done.stderr) == (0, "")


def test_each_command_is_one_private_row_without_the_question(brain: Brain, home: Home) -> None:
    question = "where is the purple walrus"
    done = brain("ask", question, env={"BRAIN_SURFACE": "mcp"})
    assert done.returncode == 65
    brain("recent", env={"BRAIN_SURFACE": "elsewhere"})
    first, second = _rows(home)
    assert list(first)[:4] == ["schema", "ts", "surface", "event"]
    assert (first["surface"], first["event"], first["exit_code"]) == ("mcp", "ask", 65)
    assert first["latency_ms"] > 0
    assert second["surface"] == "terminal"
    assert "walrus" not in Path(home.usage).read_text()
    assert os.stat(home.usage).st_mode & 0o777 == 0o600


def test_a_reader_that_has_gone_is_no_failure(home: Home) -> None:
    body = "from cli.context import write\n    while True: write('x' * 5000 + '\\n')"
    with _start("recent", code=_FAULTY.format(body=body)) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.read(100)
        child.stdout.close()
        assert child.wait(60) == 0
        assert child.stderr.read() == b""
    assert [row["exit_code"] for row in _rows(home)] == [0]


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("ask", "--help"), ("nope", "--json")])
def test_a_reader_that_was_never_there_is_no_trace(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with _start(*words, stdout=writing) as child:
            assert child.wait(60) == (64 if "nope" in words else 0)
            assert child.stderr is not None
            assert child.stderr.read() == b""
    finally:
        os.close(writing)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("words", [("--version",), ("ask", "--help"), ("nope", "--json")])
def test_a_full_disk_ends_without_a_trace(words: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full, _start(*words, stdout=full) as child:
        assert child.wait(60) == (64 if "nope" in words else 99)
        assert child.stderr is not None
        said = child.stderr.read()
    assert said.startswith(b"brain: unknown command" if "nope" in words else b"brain: the disk is full\nfix: free some")
    assert said.count(b"brain: ") == 1


@pytest.mark.parametrize("words", [("--version",), ("ask", "--help"), ("nope",), ("ask", "x", "--json")])
def test_closed_streams_end_without_a_trace(words: tuple[str, ...], home: Home) -> None:
    expected = {"nope": 64, "x": 65}.get(words[1] if len(words) > 2 else words[0], 0)
    shell = 'exec "$0" -c "$@" >&- 2>&-'
    done = subprocess.run(["sh", "-c", shell, sys.executable, _ENTRY, str(ROOT), *words], check=False, timeout=60)
    assert done.returncode == expected
    assert not Path(home.logs, "crash.log").exists()


def test_an_interrupt_ends_with_130_and_nothing_on_stdout(home: Home) -> None:
    body = "import sys, time; sys.stderr.write('running\\n'); sys.stderr.flush(); time.sleep(60)"
    with _start("recent", "--json", code=_FAULTY.format(body=body)) as child:
        assert child.stderr is not None
        assert child.stdout is not None
        assert child.stderr.readline() == b"running\n"
        started = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == 130
        assert time.monotonic() - started < 20
        assert (child.stdout.read(), child.stderr.read()) == (b"", b"brain: interrupted\n")
    assert [row["exit_code"] for row in _rows(home)] == [130]


def test_a_home_that_is_a_file_is_told(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = brain("recent", env={"BRAIN_HOME": str(tmp_path / "file")})
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("brain: BRAIN_HOME is a file")


def test_a_folder_that_is_gone_does_not_matter_to_a_home_elsewhere(tmp_path: Path, home: Home) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    shell = 'cd "$0" && rmdir "$0" && exec "$1" -c "$2" "$3" ask x'
    done = subprocess.run(
        ["sh", "-c", shell, str(gone), sys.executable, _ENTRY, str(ROOT)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.splitlines()[1:]) == (65, ["fix: brain index"])


def checkout(place: Path) -> Path:
    """Return a copy of what brain.py imports before it runs a command."""
    copy = place / "checkout"
    for room in ("core", "cli"):
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("brain.py", "pyproject.toml"):
        shutil.copy(ROOT / name, copy / name)
    return copy


def test_an_environment_that_does_not_know_itself_is_not_started_for_ever(tmp_path: Path) -> None:
    copy = checkout(tmp_path)
    (copy / ".venv" / "bin").mkdir(parents=True)
    python = copy / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [sys.executable, copy / "brain.py", "--version"], capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, done.stdout) == (65, "")
    assert done.stderr == f"brain: {copy}/.venv is damaged\nfix: rm -r .venv && make venv (in {copy})\n".replace(
        "venv (", "venv  ("
    )


def test_an_environment_that_is_a_link_is_started_once(tmp_path: Path) -> None:
    copy = checkout(tmp_path)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "elsewhere"], check=True)
    (copy / ".venv").symlink_to(tmp_path / "elsewhere")
    done = subprocess.run(
        [sys.executable, copy / "brain.py", "--version"], capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"brain {VERSION} (checkout {copy})\n", "")


def test_a_damaged_index_is_65_to_every_command_that_reads_it(brain: Brain, home: Home, claude_root: Path) -> None:
    for number in range(30):
        script = Script(f"s{number}")
        save(claude_root / "projects" / "-p" / f"s{number}.jsonl", script.user(f"walrus {number} " * 200))
    assert brain("index").returncode == 0
    raw = bytearray(Path(home.index).read_bytes())
    for page in range(4, len(raw) // 4096):
        raw[page * 4096 : page * 4096 + 64] = b"\xa5" * 64
    Path(home.index).write_bytes(raw)
    for words in (
        ("ask", "walrus"),
        ("recent", "--since", "9000d"),
        ("show", "s1"),
        ("export", "--out", home.path("o.jsonl")),
    ):
        done = brain(*words, "--json")
        assert done.returncode == 65, (words, done.stdout, done.stderr)
        assert "brain index --rebuild" in done.stdout
    assert brain("index", "--rebuild").returncode == 0
    assert brain("ask", "walrus").returncode == 0
