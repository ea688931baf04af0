"""The checkout runs as it stands, under its own environment, or says how to make it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.version import VERSION

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the first steps of ``brain.py`` need."""
    copy = tmp_path / "a checkout"
    copy.mkdir()
    for name in ("brain.py", "pyproject.toml", "Makefile", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(ROOT / name, copy)
    for name in ("core", "cli", "bin"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture
def environment(checkout: Path) -> Path:
    """A ``.venv`` in it whose interpreter says on stderr who it is."""
    place = checkout / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    packages = next((place / "lib").glob("python3.*/site-packages"))
    (packages / "sitecustomize.py").write_text("import sys\n\nsys.stderr.write(f'prefix: {sys.prefix}\\n')\n")
    # Compiled now: an interpreter that starts there later changes nothing.
    subprocess.run([sys.executable, "-m", "compileall", "-q", packages], check=True)
    return place


def python(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=cwd, timeout=60)


def test_another_interpreter_goes_on_under_the_checkouts_own(checkout: Path, environment: Path) -> None:
    done = python(checkout / "brain.py", "--version")
    assert (done.returncode, done.stdout) == (0, f"brain {VERSION} (checkout {checkout})\n")
    assert done.stderr == f"prefix: {environment}\n"


def test_its_own_interpreter_does_not_start_twice(checkout: Path, environment: Path) -> None:
    done = subprocess.run(
        [environment / "bin" / "python", checkout / "brain.py", "--version"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == f"brain {VERSION} (checkout {checkout})\n"
    assert done.stderr.count("prefix:") == 1


def test_a_link_in_the_home_leads_to_the_checkouts_environment(
    checkout: Path, environment: Path, tmp_path: Path
) -> None:
    home = tmp_path / ".brain"
    home.mkdir()
    (home / "brain.py").symlink_to(checkout / "brain.py")
    done = python(home / "brain.py", "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"brain {VERSION} (checkout {checkout})\n")
    assert done.stderr == f"prefix: {environment}\n"


def test_a_home_that_is_a_link_to_the_checkout_works_from_anywhere(
    checkout: Path, environment: Path, tmp_path: Path
) -> None:
    (tmp_path / ".brain").symlink_to(checkout)
    done = python(Path(".brain") / "brain.py", "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"brain {VERSION} (checkout {checkout})\n")
    assert done.stderr == f"prefix: {environment}\n"


def test_arguments_arrive_as_they_were_given(checkout: Path, environment: Path) -> None:
    done = python(checkout / "brain.py", "no such command", "--json", "a  b")
    assert done.returncode == 64
    assert json.loads(done.stdout)["message"] == "unknown command 'no such command'"


@pytest.mark.parametrize("state", ["none", "dangling"])
def test_without_an_environment_it_ends_with_65_and_the_fix(checkout: Path, state: str) -> None:
    if state == "dangling":  # what is left of an environment whose Python has been upgraded away
        (checkout / ".venv" / "bin").mkdir(parents=True)
        (checkout / ".venv" / "bin" / "python").symlink_to(checkout / "python-gone")
    done = python(checkout / "brain.py", "--version")
    assert (done.returncode, done.stdout) == (65, "")
    message, fix = done.stderr.splitlines()
    assert message == f"brain: {checkout} has no environment yet"
    assert fix == f"fix: make venv  (in {checkout})"


def test_without_an_environment_json_asks_for_json(checkout: Path) -> None:
    done = python(checkout / "brain.py", "ask", "x", "--json")
    assert done.returncode == 65
    assert done.stderr == ""
    envelope = json.loads(done.stdout)
    assert envelope == {
        "schema": 1,
        "ok": False,
        "error": "qmd_missing",
        "message": f"{checkout} has no environment yet",
        "fix": f"make venv  (in {checkout})",
        "exit_code": 65,
    }


def make(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return subprocess.run(
        ["make", "-C", checkout, *words], capture_output=True, text=True, check=False, timeout=60, env=environ
    )


def test_make_names_the_fix_where_python_is_too_old(checkout: Path, tmp_path: Path) -> None:
    old = tmp_path / "python3.8"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = make(checkout, "venv", f"PYTHON={old}")
    assert done.returncode != 0
    assert f"no Python 3.11 or later that can make environments at {old}" in done.stderr
    assert "fix: " in done.stderr
    assert not (checkout / ".venv").exists()


def test_make_leaves_an_environment_alone_that_is_up_to_date(checkout: Path, environment: Path) -> None:
    (environment / "bin" / "brain").write_text("#!/bin/sh\nexit 0\n")
    (environment / "bin" / "brain").chmod(0o755)
    names = ("requirements.lock", "requirements-dev.lock", "pyproject.toml", "bin/brain", "bin/environment")
    everything = b"".join((checkout / name).read_bytes() for name in names)
    key = subprocess.run(["cksum"], input=everything, capture_output=True, check=True).stdout.decode().strip()
    (environment / ".installed").write_text(f"{checkout}\n{key}\nrun\n")
    before = sorted(path.stat().st_mtime_ns for path in environment.rglob("*"))
    done = make(checkout, "venv")
    assert done.returncode == 0, done.stderr
    assert "installing" not in done.stdout
    assert sorted(path.stat().st_mtime_ns for path in environment.rglob("*")) == before
