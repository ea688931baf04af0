"""The wheel: what is in it, and that it works in an empty environment, outside the checkout."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from core.version import VERSION

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("core", "ingest", "qmd", "runtime", "web", "tui", "cli", "ops", "evals")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from this checkout, without the network."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``brain`` command in an environment that holds the wheel and what its metadata asks for, nothing else."""
    place = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=120)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    install = [*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    packages = next((place / "lib").glob("python3.*/site-packages"))
    for name in _closure(_requirements(wheel)):
        found = distribution(name)
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(found.locate_file(top))))
    return place / "bin" / "brain"


def _requirements(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"brain_memory-{VERSION}.dist-info/METADATA").decode()
    return [line.split(": ", 1)[1] for line in metadata.splitlines() if line.startswith("Requires-Dist: ")]


def _closure(requirements: list[str]) -> set[str]:
    names: set[str] = set()
    waiting = list(requirements)
    while waiting:
        requirement, _, marker = waiting.pop().partition(";")
        name = re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0]
        if marker or name in names:
            continue
        names.add(name)
        waiting += distribution(name).requires or []
    return names


def _run(command: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    keep = ("HOME", "BRAIN_HOME", "CLAUDE_CONFIG_DIR", "TZ", "LANG")
    environ = {name: os.environ[name] for name in keep if name in os.environ}
    return subprocess.run(
        [command, *words],
        cwd=cwd,
        env={**environ, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _json(command: Path, *words: str, cwd: Path) -> dict[str, object]:
    done = _run(command, *words, "--json", cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def _transcript(folder: Path) -> str:
    """One session of two records in Claude Code's format; returns its id."""
    session = "4c1f6d0e-5b7a-4c55-9d33-0a8be4f1c7d2"
    common = {
        "isSidechain": False,
        "userType": "external",
        "cwd": "/Users/ana/code/atlas",
        "sessionId": session,
        "version": "2.1.98",
        "gitBranch": "main",
    }
    question = {"role": "user", "content": "Why do two tiles get the same cache key?"}
    answer = {
        "id": "msg_01a",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "text", "text": "The zoom level is missing from the cache key."}],
    }
    records: list[dict[str, object]] = [
        {
            "type": "user",
            "uuid": "a1",
            "parentUuid": None,
            "timestamp": "2026-05-02T08:00:00.000Z",
            "message": question,
        },
        {
            "type": "assistant",
            "uuid": "a2",
            "parentUuid": "a1",
            "timestamp": "2026-05-02T08:00:09.000Z",
            "message": answer,
        },
    ]
    path = folder / "projects" / "-Users-ana-code-atlas" / f"{session}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps({**record, **common}) + "\n" for record in records))
    return session


def test_the_wheel_holds_every_room_and_what_ships_with_them(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    modules = {str(path.relative_to(ROOT)) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules | {"brain.py"}
    shipped = {
        f"core/shipped/{path.relative_to(ROOT)}"
        for folder in ("demo", "plugins", "skills")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }
    assert {name for name in names if name.startswith("core/shipped/")} == shipped | {"core/shipped/collections.yml"}
    assert f"brain_memory-{VERSION}.data/scripts/brain" in names
    assert f"brain_memory-{VERSION}.dist-info/licenses/LICENSE" in names


def test_the_wheel_holds_nothing_of_the_workshop(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    info = {f"brain_memory-{VERSION}.data", f"brain_memory-{VERSION}.dist-info"}
    assert tops == {"brain.py", *ROOMS, *info}


def test_the_installed_command_imports_nothing_before_the_product(installed: Path, tmp_path: Path) -> None:
    first, *rest = installed.read_text().splitlines()
    assert first == f"#!{installed.parent / 'python'}" or first.startswith(f"#!{installed.parent}/python3")
    assert [line for line in rest if line.startswith(("import", "from"))] == ["import brain"]
    done = _run(installed, "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"brain {VERSION} (pip, {installed.parent.parent})\n")


def test_init_index_ask_from_the_wheel_outside_the_checkout(installed: Path, claude_root: Path, tmp_path: Path) -> None:
    session = _transcript(claude_root)
    assert _json(installed, "init", "--no-index", cwd=tmp_path)["ok"] is True
    assert _json(installed, "index", cwd=tmp_path)["ok"] is True
    answer = _json(installed, "ask", "why do two tiles share a cache key", cwd=tmp_path)
    hits = answer["hits"]
    assert isinstance(hits, list)
    assert hits[0]["uri"] == f"qmd://brain/{session}.md"
    assert hits[0]["resume"] == f"claude --resume {session}"
    assert "zoom level is missing" in Path(hits[0]["path"]).read_text()


def test_a_machine_without_sessions_gets_the_demo_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    report = _json(installed, "init", cwd=tmp_path)
    assert report["demo"] is True
    answer = _json(installed, "ask", "why did the permission hook fail", cwd=tmp_path)
    hits = answer["hits"]
    assert isinstance(hits, list)
    assert "permission hook" in hits[0]["title"]


def test_the_installed_code_runs_from_its_own_environment(installed: Path, tmp_path: Path) -> None:
    code = "import brain, core.home; print(brain.__file__, core.home.checkout(), core.home.shipped('collections.yml'))"
    done = subprocess.run(
        [installed.parent / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    module, checkout, shipped = done.stdout.split()
    packages = str(next((installed.parent.parent / "lib").glob("python3.*/site-packages")))
    assert checkout == "None"
    assert module == f"{packages}/brain.py"
    assert shipped == f"{packages}/core/shipped/collections.yml"


def test_the_module_runs_where_its_interpreter_found_it(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [installed.parent / "python", "-m", "brain", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, f"brain {VERSION} (pip, {installed.parent.parent})\n")


def test_a_projects_search_is_installed_beside_it(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "a.md").write_text("# A\n\nwalrus\n")
    (tmp_path / "semantic-search.yml").write_text("collections: {notes: {path: kb}}\n")
    done = {
        verb: _run(installed.parent / f"commonplace-search-{verb}", *words, cwd=tmp_path)
        for verb, words in {
            "update": (),
            "keyword": ("walrus", "--collection", "notes", "-n", "3"),
            "get": ("kb/a.md#file",),
            "status": (),
            "query": ("--help",),
        }.items()
    }
    assert {verb: each.returncode for verb, each in done.items()} == dict.fromkeys(done, 0), done
    assert "kb/a.md#file" in done["keyword"].stdout
    assert done["get"].stdout == "# A\n\nwalrus\n"
