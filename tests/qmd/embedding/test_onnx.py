from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
_EMBED = "from qmd.embedding.local import Local; print(len(Local(threads=1).embed(['tea'])))"


def test_a_running_model_leaves_and_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    user = tmp_path / "user"
    user.mkdir()
    said = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", _EMBED], cwd=ROOT, env={**said, "HOME": str(user)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert list(user.rglob("*")) == []


def test_the_library_is_loaded_through_one_door() -> None:
    rooms = ("core", "ingest", "qmd", "runtime", "evals", "ops", "cli", "bench")
    texts = {file: file.read_text() for room in rooms for file in (ROOT / room).rglob("*.py")}
    importing = {
        file.relative_to(ROOT).as_posix()
        for file, text in texts.items()
        for node in (ast.walk(ast.parse(text)) if "onnxruntime" in text else ())
        if (isinstance(node, ast.Import) and any(name.name.startswith("onnxruntime") for name in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("onnxruntime"))
    }
    assert importing == {"qmd/embedding/onnx.py"}
