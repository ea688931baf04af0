"""A source of another distribution, the one of docs/adding-a-source.md, is read by an installed Brain.

Everything else that a source promises: tests/ingest/sources/conformance.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from core.home import Home
from ingest import registry
from tests.conftest import ROOT, Brain

PAGE = (ROOT / "docs" / "adding-a-source.md").read_text(encoding="utf-8")


def block(language: str, number: int = 1) -> str:
    """Return a block of the page in a language, the first by default."""
    return PAGE.split(f"```{language}\n")[number].partition("```")[0]


MODULE = block("python")
ENTRIES = tomllib.loads(block("toml"))["project"]["entry-points"][registry.GROUP]
SECRET = "ghp_" + "Zk3Qw9Lx2Vb7Nc5Mt8Rj4Hf6Gd1Ps0Ya2Ue9"
RECORDS = [
    {"kind": "session", "text": "The song of the walrus", "folder": "/home/me/sea"},
    {"kind": "user", "text": "Why does the walrus sing?", "at": "2026-05-04T10:00:00Z"},
    {"kind": "agent", "text": f"The walrus sings because token {SECRET}", "at": "2026-05-04T10:01:00Z"},
    {"kind": "command", "text": "sing --loud", "exit": 3, "at": "2026-05-04T10:01:02Z"},
    {"kind": "oracle", "text": "?"},
]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of distributions with the source, and a session where its tool keeps them."""
    packages = tmp_path / "site-packages"
    about = packages / "toy_source-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-source\nVersion: 1.0\n")
    entries = "".join(f"{name} = {place}\n" for name, place in ENTRIES.items())
    (about / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{entries}")
    (packages / "toy.py").write_text(MODULE)
    save("abc")
    monkeypatch.setenv("PYTHONPATH", str(packages))
    return packages


def save(session: str) -> None:
    folder = Path(os.environ["HOME"]) / ".toy"
    folder.mkdir(exist_ok=True)
    (folder / f"{session}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in RECORDS))


def test_the_toy_source_is_short() -> None:
    assert len(MODULE.splitlines()) <= 60


def test_what_the_page_says_to_read_first_is_there_and_short() -> None:
    total = len(PAGE.splitlines())
    ranges = re.findall(r"^\| `([\w/]+\.py)` \| (?:`([\w.]+)`|its docstring)[^|]*\| (\d+) \|$", PAGE, re.MULTILINE)
    for file, symbol, lines in ranges:
        body: list[ast.stmt] = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
        end = body[0].end_lineno or 0  # of the docstring
        for name in filter(None, symbol.split(".")):
            (found,) = (each for each in body if isinstance(each, ast.ClassDef | ast.FunctionDef) and each.name == name)
            body, end = found.body, found.end_lineno or 0
        assert int(lines) - 10 < end <= int(lines), f"{file}: {symbol or 'the docstring'} ends in line {end}"
        total += int(lines)
    assert len(ranges) == 3
    assert total < 450


def conformance(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the suite as the author of a plugin does."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    place = "tests/ingest/sources/conformance"
    return subprocess.run([*command, place, *words], capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)


def test_the_source_passes_the_conformance_suite_with_a_row_of_its_own(installed: Path, tmp_path: Path) -> None:
    row = tmp_path / "row.jsonl"
    row.write_text(block("json"))
    ran = conformance("--samples", str(row), "-k", "toy")
    assert ran.returncode == 0, ran.stdout
    passed = re.search(r"^(\d+) passed,(?: \d+ skipped,)? \d+ deselected in", ran.stdout, re.MULTILINE)
    assert passed, ran.stdout
    assert int(passed[1]) > 10


def test_the_tests_of_the_page_pass_where_the_source_is_installed(installed: Path, tmp_path: Path) -> None:
    own = tmp_path / "test_toy.py"
    own.write_text(block("python", 2))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", "pyproject.toml"]
    ran = subprocess.run(
        [*command, "--rootdir", ".", str(own)], capture_output=True, text=True, cwd=ROOT, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout


@pytest.mark.parametrize(("number", "name"), [(1, "ingest/toy.py"), (2, "tests/test_toy.py")])
def test_the_code_of_the_page_follows_the_rules_of_this_repository(number: int, name: str) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--stdin-filename", name, "-"]
    code = block("python", number)
    ran = subprocess.run(command, input=code, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_conformance_suite_says_which_source_has_no_row_and_how_to_give_one(installed: Path) -> None:
    ran = conformance("-k", "toy")
    assert ran.returncode == 1, ran.stdout
    assert "the source 'toy' has no row of samples: give one by --samples FILE" in ran.stdout


@pytest.mark.parametrize(
    ("field", "instead", "needed"),
    [("lines", "line", "one of lines, json, "), ("lines", "json", "grows "), ("place", "places", "place ")],
)
def test_the_conformance_suite_says_what_a_row_lacks(tmp_path: Path, field: str, instead: str, needed: str) -> None:
    row = tmp_path / "row.jsonl"
    row.write_text(block("json").replace(f'"{field}"', f'"{instead}"'))
    ran = conformance("--samples", str(row))
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"{row}: ValueError: the row of 'toy' needs {needed}" in ran.stderr


def test_brains_own_sources_are_registered_by_entry_points() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert declared[registry.GROUP] == {name: f"ingest.sources.{name}.source:SOURCE" for name in registry.BUILTIN}
    for name in registry.BUILTIN:
        source = registry.source(name)
        assert (source.name, source.on_request) == (name, name in registry.ON_REQUEST)


def test_a_source_of_another_distribution_is_indexed_asked_and_counted(
    home: Home, installed: Path, brain: Brain
) -> None:
    ran = brain("index", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["sources"]["toy"]["unknown"]["kind oracle"]["count"] == 1
    document = Path(home.path("brain", "toy__abc.md")).read_text(encoding="utf-8")
    assert "[redacted:github]" in document
    assert "# The song of the walrus" in document
    assert "project: /home/me/sea" in document
    assert "- Bash: sing --loud\n  ! Exit code 3" in document
    save("new")
    answer = json.loads(brain("ask", "--json", "walrus").stdout)
    assert (answer["hits"][0]["source"], answer["hits"][0]["path"]) == ("toy", home.path("brain", "toy__abc.md"))
    assert answer["hits"][0]["resume"] == "toy open abc"
    assert json.loads(brain("recent", "--since", "2026-05-01", "--json").stdout)["items"][0]["resume"] == "toy open abc"
    assert answer["freshness"]["lexical"]["pending"] == 1


def test_a_fault_has_its_line_and_the_doctor_names_the_package_to_upgrade(
    home: Home, installed: Path, brain: Brain
) -> None:
    folder = Path(os.environ["HOME"]) / ".toy"
    (folder / "torn.jsonl").write_text(f'{json.dumps(RECORDS[1])}\n{{"kind": "us\n{json.dumps(RECORDS[2])}\n')
    ledger = json.loads(brain("index", "--json").stdout)["sources"]["toy"]
    (failed,) = ledger["failed"]
    assert (failed["path"], failed["reason"], failed["line"]) == (str(folder / "torn.jsonl"), "malformed line", 2)
    assert ledger["unknown"]["kind oracle"]["example"] == f"{folder / 'abc.jsonl'}:5"
    fixes = {each["id"]: each["fix"] for each in json.loads(brain("doctor", "--no-wedge", "--json").stdout)["findings"]}
    assert fixes["drift:toy"] == "upgrade the package toy-source; brain explain --json shows examples"


def test_a_source_that_cannot_be_loaded_is_named_and_ends_nothing(home: Home, installed: Path, brain: Brain) -> None:
    (installed / "toy.py").write_text("raise RuntimeError('broken')\n")
    ran = brain("index", "--json")
    assert ran.returncode == 0
    assert "the source 'toy' cannot be loaded: broken (docs/adding-a-source.md)" in ran.stderr
