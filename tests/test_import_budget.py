"""What ``ask`` imports is a list: each module on it costs every question its time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.home import Home
from tests.conftest import Brain
from tests.ingest.transcripts import Script, save, text

ROOT = Path(__file__).resolve().parent.parent

OURS = {
    "brain",
    "cli",
    "cli.ask",
    "cli.ask.ask",
    "cli.context",
    "cli.spec",
    "core",
    "core.clock",
    "core.config",
    "core.engine",
    "core.errors",
    "core.home",
    "core.jsonb",
    "core.jsonio",
    "core.sqlite",
    "core.telemetry",
    "core.text",
    "core.version",
    "ingest",
    "ingest.pipeline",
    "ingest.pipeline.pulse",
    "ingest.roots",
    "qmd",
    "qmd.index",
    "qmd.search",
    "qmd.index.catalogue",
    "qmd.index.exchanges",
    "qmd.search.scoring",
    "qmd.search.search",
    "qmd.search.stems",
    "qmd.index.store",
    "qmd.index.terms",
    "runtime",
    "runtime.asking",
    "runtime.asking.ask",
    "runtime.asking.envelope",
    "qmd.search.quoting",
    "runtime.asking.deciding",
    "runtime.asking.request",
    "runtime.validity",
}
# What a question imports where a resident process answers it.
WARM = (
    {name for name in OURS if name.partition(".")[0] in ("brain", "cli", "core")} - {"core.jsonb", "core.sqlite"}
) | {
    "_socket",
    "runtime",
    "runtime.asking",
    "runtime.asking.request",
    "runtime.resident",
    "runtime.resident.answer",
    "runtime.resident.client",
}
# Needed only to compare several hits, as most questions have them.
OF_SEVERAL = {"runtime.asking.judging", "runtime.validity.validity"}
# Needed only before an answer is empty: the kind of the question, and why nothing was found.
BEFORE_NOTHING = {"core.counting", "runtime.asking.absence", "runtime.asking.route"}
# fcntl is the lock of the telemetry row.
STANDARD = {"__future__", "_bisect", "_json", "bisect", "fcntl", "gc", "math"}
# What apsw would import besides itself, `collections` and all that imports, `core.jsonb` spares it.
OF_APSW = {"apsw"}
OF_RE = {
    "_collections", "_functools", "_operator", "_sre", "array", "collections", "copyreg", "enum", "functools",
    "itertools", "keyword", "operator", "re", "reprlib", "types",
}  # fmt: skip
HEAVY = {
    "argparse", "ast", "collections", "contextlib", "dataclasses", "datetime", "decimal", "difflib", "enum", "hashlib",
    "inspect", "json", "locale", "logging", "pathlib", "random", "re", "rich", "shutil", "sqlite3", "subprocess",
    "tempfile", "threading", "tokenize", "traceback", "typing", "unicodedata", "urllib", "warnings", "weakref", "yaml",
    "zoneinfo",
}  # fmt: skip

# os._exit ends the program before anything registered for the exit runs, so the list is taken there.
_LIST = (
    "import os, sys; sys.path.insert(0, sys.argv.pop(1)); end = os._exit\n"
    "def listed(code):\n"
    "    sys.stderr.write('\\n'.join(sorted(sys.modules))); sys.stderr.flush(); end(code)\n"
    "os._exit = listed\n"
)


def modules(code: str, *words: str, codes: tuple[int, ...] = (0,), given: str = "") -> set[str]:
    """The modules that a fresh interpreter has imported when the program ends; ``given`` is its input."""
    done = subprocess.run(
        [sys.executable, "-c", _LIST + code, str(ROOT), *words],
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in codes, done.stdout + done.stderr
    return set(done.stderr.split())


def of_brain(*words: str, codes: tuple[int, ...] = (0,), given: str = "") -> set[str]:
    """What the program imports beyond what the interpreter does by itself (which differs between machines)."""
    return modules("import brain; brain.entry()", *words, codes=codes, given=given) - modules("os._exit(0)")


@pytest.fixture(autouse=True)
def _short_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A home whose socket's path is short enough: a longer one is hashed, and that is an import.

    A test's own folder is longer after a thousand runs, or on another system. The name is not drawn: some letters are
    how a token begins, and what an answer shows would be looked at closely.
    """
    folder = Path(f"/tmp/brain-{os.getpid()}")
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("BRAIN_HOME", str(folder))
    try:
        yield
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def brain(program: Brain) -> Brain:
    return program


@pytest.fixture
def indexed(home: Home, tmp_path: Path, brain: Brain) -> Home:
    script = Script()
    # The names that are asked for are there: those that are missing cost the rules of redaction as well.
    said = text("The walrus swam – and sang… getUserName of src/auth/token.py failed with ECONNREFUSED")
    save(tmp_path / "t" / "a.jsonl", script.user("Where is the walrus?"), script.assistant(said))
    done = brain("index", "--from", str(tmp_path / "t"), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return home


def test_what_apsw_is_spared_everybody_else_still_gets_whole() -> None:
    code = (
        "import core.jsonb, collections.abc, apsw\n"
        "assert isinstance({}, collections.abc.Mapping) and collections.Counter('aa')['a'] == 2\n"
        "class Given(collections.abc.Mapping):\n"
        "    __getitem__, __iter__, __len__ = (lambda s, k: 7), (lambda s: iter('a')), (lambda s: 1)\n"
        "assert apsw.Connection(':memory:').execute('SELECT :a', Given()).get == 7\n"
        "os._exit(0)"
    )
    assert "collections.abc" in modules(code)


@pytest.mark.parametrize(
    "words",
    [
        ("walrus swam",),
        ("--literal", "echo `walrus`; ls"),
        ("-n", "3", "-c", "brain", "--source", "claude", "walrus"),
        ("unheardof",),
        ("Why did the Walrus swim, and where to?",),
        ("--", "src/auth/token.py --no-verify ECONNREFUSED"),
    ],
)
def test_a_question_imports_nothing_that_is_not_on_the_list(indexed: Home, words: tuple[str, ...]) -> None:
    imported = of_brain("ask", "--json", *words, codes=(0, 67))
    assert "apsw" in imported
    assert imported - OURS - STANDARD - OF_APSW - BEFORE_NOTHING == set()


@pytest.mark.parametrize("question", ["getUserName", "海象在哪里"])
def test_words_that_must_be_taken_apart_cost_re_and_no_more(indexed: Home, question: str) -> None:
    imported = of_brain("ask", "--json", question, codes=(0, 67))
    extra = imported - OURS - STANDARD - OF_APSW - BEFORE_NOTHING
    assert {name.partition(".")[0] for name in extra} <= OF_RE | {"qmd"}


def test_the_list_names_nothing_that_is_no_longer_imported(indexed: Home) -> None:
    imported = of_brain("ask", "--json", "walrus")
    assert OURS - imported == set()


def test_the_list_has_nothing_heavy_on_it() -> None:
    assert HEAVY.isdisjoint(OURS | STANDARD | OF_APSW)
    # What apsw brings along is not a licence to use it: our modules name none of it but apsw.
    for name in sorted((OURS | OF_SEVERAL) - {"brain"}):
        path = ROOT.joinpath(*name.split("."))
        source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
        for line in source.splitlines():
            first, _, rest = line.partition(" ")
            if first in ("import", "from"):
                module = rest.split()[0].rstrip(",")
                allowed = (
                    module
                    in OURS | OF_SEVERAL | STANDARD | {"_collections_abc", "apsw", "os", "os.path", "sys", "time"}
                    or module in sys.builtin_module_names
                )
                assert allowed, f"{name}: {line}"


def test_a_warm_question_imports_no_engine_and_a_cold_one_no_socket(indexed: Home, brain: Brain) -> None:
    assert "_socket" not in of_brain("ask", "--json", "walrus")
    assert brain("serve", "--start").returncode == 0
    try:
        imported = of_brain("ask", "--json", "walrus")
    finally:
        assert brain("serve", "--stop").returncode == 0
    assert "runtime.resident.client" in imported
    assert imported - WARM - STANDARD == set()


def test_a_question_in_a_pipe_does_not_import_what_a_terminal_needs(indexed: Home) -> None:
    imported = of_brain("ask", "walrus")
    assert imported - OURS - STANDARD - OF_APSW == {"cli.ask_output", "runtime.asking.wording"}


def test_a_run_that_finds_nothing_new_imports_nothing_to_read_with(indexed: Home, tmp_path: Path) -> None:
    imported = of_brain("index", "--new", "--source", "claude", "--from", str(tmp_path / "t"), "--json")
    assert "ingest.pipeline.run" in imported
    assert imported.isdisjoint(("contextlib", "dataclasses", "hashlib", "typing", "yaml", "zstandard"))


@pytest.mark.parametrize(
    ("call", "patterns"),
    [
        ({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git status"}}, "command"),
        ({"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "/p/a.py"}}, ""),
        (
            {
                "hook_event_name": "PostToolUseFailure",
                "tool_name": "mcp__db__query",
                "tool_input": {},
                "error": "no such table: walrus",
            },
            "error",
        ),
    ],
    ids=["command", "file", "failure"],
)
def test_the_guard_imports_what_the_moment_needs(indexed: Home, call: dict[str, object], patterns: str) -> None:
    imported = of_brain("hook", "guard", given=json.dumps({"session_id": "s", "cwd": "/p", **call}))
    assert "runtime.guard.rules" in imported
    # A hook reads JSON, and that takes ``re``.
    assert imported & HEAVY <= {"collections", "contextlib", "enum", "json", "re"}
    forms = {f"qmd.index.actions.{name}_forms" for name in ("command", "error")}
    assert imported & forms == ({f"qmd.index.actions.{patterns}_forms"} if patterns else set())


def test_the_brief_imports_nothing_heavy(indexed: Home) -> None:
    assert HEAVY.isdisjoint(of_brain())


@pytest.mark.parametrize("words", [("--help",), ("ask", "--help"), ("help", "ask"), ("--version",)])
def test_help_needs_no_engine(home: Home, words: tuple[str, ...]) -> None:
    imported = of_brain(*words)
    assert "brain" in imported
    assert not {name for name in imported if name.partition(".")[0] in ("apsw", "yaml", "rich", "qmd")}


def test_the_first_question_reads_the_configuration_and_the_second_its_cache(indexed: Home) -> None:
    cache = os.path.join(indexed.state, "config.cache")
    os.unlink(cache)
    assert "yaml" in of_brain("ask", "--json", "walrus")
    assert os.path.isfile(cache)
    assert "yaml" not in of_brain("ask", "--json", "walrus")
