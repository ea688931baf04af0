"""The real qmd in benchmarks: found where it is, installed where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import measure
from bench.indexing import peer

NODE = '#!/bin/sh\n[ "$1" = --version ] && echo v22.1.0 || echo "qmd 2.8.3"\n'
NPM = """#!/bin/sh
echo "$@" > "$WITNESS"
[ -n "$npm_config_cafile" ] || { echo "self-signed certificate" >&2; exit 1; }
[ "$(command -v node)" = "$BRAIN_NODE" ] || exit 2
mkdir -p "$3/node_modules/@tobilu/qmd/dist/cli" && touch "$3/node_modules/@tobilu/qmd/dist/cli/qmd.js"
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the benchmark keeps its data; node and npm are stand-ins."""
    for name, text in {"node/node": NODE, "bin/npm": NPM}.items():
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("BRAIN_NODE", str(tmp_path / "node/node"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("WITNESS", str(tmp_path / "witness"))
    monkeypatch.delenv("BRAIN_REAL_QMD", raising=False)
    for module in (measure, peer):
        monkeypatch.setattr(module, "DATA", tmp_path / "data")
    monkeypatch.setattr(peer, "_PLACE", tmp_path / "data/real-qmd")
    return tmp_path


def test_it_is_installed_once_with_the_users_own_settings_of_npm(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("npm_config_cafile", "mine.pem")
    script = place / "data/real-qmd/node_modules/@tobilu/qmd/dist/cli/qmd.js"
    assert peer.find() == [str(place / "node/node"), str(script)]
    assert (place / "witness").read_text().split()[-1] == "@tobilu/qmd@2.8.3"
    (place / "witness").unlink()
    assert isinstance(peer.find(), list)
    assert not (place / "witness").exists()


def test_why_it_cannot_be_installed_is_told_and_nothing_is_left(place: Path) -> None:
    said = peer.find()
    assert isinstance(said, str)
    assert said.startswith("npm could not install @tobilu/qmd@2.8.3: ")
    assert "self-signed certificate" in said
    assert not (place / "data/real-qmd").exists()
