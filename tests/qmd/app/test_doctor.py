"""``qmd doctor``: what there is, what overrides it, and what a user of both programs looks for."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from qmd.index.schema import SPAN
from qmd.vectors import models
from tests.qmd.app.world import Qmd, write

CUSTOM = "hf:example/custom/custom.gguf"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the variables that doctor names, but those of the places."""
    from qmd.app import doctor

    for name in doctor._MEANINGS:
        if name not in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)


def _line(text: str, label: str) -> str:
    """A finding, its mark included."""
    return next(line for line in text.split("\n") if line[2:].startswith(f"{label}: "))


def test_each_part_that_qmd_checks_has_a_finding(notes: Path, qmd: Qmd) -> None:
    done = qmd("doctor")
    assert done.code == 0
    for label in (
        *("SQLite runtime", "sqlite-vec", "index config", "environment overrides", "model defaults", "model cache"),
        *("device mode", "device probe", "embedding freshness", "embedding fingerprints", "embedding vector sample"),
    ):
        assert _line(done.out, label)
    assert _line(done.out, "models") == "✓ models: embed local/all-MiniLM-L6-v2; generate none; rerank none"
    assert "⚠ embedding vector sample: no vector table to test; please run qmd embed again" in done.out


def test_paths_are_shown_of_the_index_and_what_overrides_it_only(notes: Path, qmd: Qmd, tmp_path: Path) -> None:
    lines = [line for line in qmd("doctor").out.split("\n") if str(tmp_path) in line]
    assert len(lines) == 3
    assert {line.split("=")[0].split(": ")[0] for line in lines} == {
        "Index",
        "  - XDG_CONFIG_HOME",
        "  - XDG_CACHE_HOME",
    }


def test_variables_are_named_with_what_they_change(place: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QMD_FORCE_CPU", "1")
    monkeypatch.setenv("QMD_EMBED_MODEL", CUSTOM)
    monkeypatch.setenv("QMD_DOCTOR_DEVICE_PROBE", "0")
    done = qmd("doctor")
    assert "⚠ environment overrides: 5 set" in done.out
    assert "  - QMD_FORCE_CPU=1: forces llama.cpp to bypass GPU backends (in the real qmd" in done.out
    assert f"  - QMD_EMBED_MODEL={CUSTOM}: sets the active embed model to {CUSTOM}\n" in done.out
    assert f"embedding: env QMD_EMBED_MODEL={CUSTOM} (default {models.EMBED}; might be ok)" in done.out
    assert "✓ device mode: CPU forced (QMD_FORCE_CPU)\n" in done.out
    assert "device probe: skipped by QMD_DOCTOR_DEVICE_PROBE=0" in done.out


def test_a_model_of_the_configuration_counts_more_than_the_environments(
    place: Path, qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "config/qmd", {"index.yml": f"collections: {{}}\nmodels:\n  embed: {CUSTOM}\n"})
    assert f"embedding: index {CUSTOM} (default {models.EMBED}; might be ok)" in qmd("doctor").out
    monkeypatch.setenv("QMD_EMBED_MODEL", "other")
    done = qmd("doctor")
    assert f"QMD_EMBED_MODEL is set to other, but the configuration's {CUSTOM} counts" in done.out
    assert f"  - QMD_EMBED_MODEL=other: set but ignored: the configuration's models.embed is {CUSTOM}\n" in done.out


@pytest.mark.parametrize(
    ("files", "finding"),
    [
        ({}, "⚠ missing 1/1: custom.gguf. Next: `qmd pull` of the real qmd"),
        (
            {"custom.gguf": "<!doctype html>"},
            "⚠ invalid 1: custom.gguf: HTML page, not a GGUF model. Next",
        ),
        (
            {"custom.gguf": b"\0\1"},
            "⚠ invalid 1: custom.gguf: not a GGUF model. Next: `qmd pull --refresh`",
        ),
        (
            {"custom.gguf.etag": "x", "hf_custom.gguf": b"GGUF\3"},
            "✓ 1 active model is downloaded and valid",
        ),
    ],
)
def test_models_of_the_real_qmd_are_looked_at(
    place: Path, qmd: Qmd, tmp_path: Path, files: dict[str, str | bytes], finding: str
) -> None:
    write(tmp_path / "config/qmd", {"index.yml": f"collections: {{}}\nmodels:\n  embed: {CUSTOM}\n"})
    write(tmp_path / "cache/qmd/models", files)
    line = _line(qmd("doctor").out, "model cache").replace("model cache: ", "")
    assert line.startswith(finding)


def test_vectors_of_several_fingerprints_are_a_finding(notes: Path, qmd: Qmd, tmp_path: Path) -> None:
    database = apsw.Connection(str(tmp_path / "cache/qmd/index.sqlite"))
    digest = database.execute("SELECT hash FROM documents LIMIT 1").get
    for seq, mark in enumerate(("old1", "old2")):
        database.execute(
            "INSERT INTO content_vectors VALUES(?, ?, 0, ?, ?, 2, '2026')", (digest, seq, models.EMBED, mark)
        )
    database.close()
    done = qmd("doctor")
    assert "⚠ mixed named embedding fingerprints: content_vectors has 2: old1, old2." in done.out
    assert _line(done.out, "embedding fingerprints").startswith("⚠")


def test_a_sample_of_vectors_is_looked_at(notes: Path, qmd: Qmd, tmp_path: Path) -> None:
    from core.config import embedder
    from qmd.index.semantic import spaces, vectors
    from qmd.index.store import open_index

    connection = open_index(str(tmp_path / "cache/qmd/index.sqlite"), write=True)
    provider, model = embedder({})
    spaces.load(connection)
    connection.execute("BEGIN")
    space = vectors.ensure(connection, provider, model, 8, "f", "layout")
    digest: str = connection.execute("SELECT hash FROM documents LIMIT 1").get
    cut = vectors.put_cut(connection, space, digest, [(0, 3, 0)])
    vectors.add(connection, space, cut, 0, [bytes([127, 0, 0, 0, 0, 0, 0, 0])])
    connection.execute("COMMIT")
    assert "✓ embedding vector sample: 1 sampled chunk has its vector, of length 1" in qmd("doctor").out
    connection.execute(f'DELETE FROM "{space.table}" WHERE rowid = ?', (cut * SPAN,))
    connection.close()
    assert "⚠ embedding vector sample: 1/1 sampled chunks have no sound vector." in qmd("doctor").out


def test_an_index_that_cannot_be_read_is_a_finding_among_the_others(place: Path, qmd: Qmd, tmp_path: Path) -> None:
    write(tmp_path / "cache/qmd", {"index.sqlite": os.urandom(9000)})
    done = qmd("doctor")
    assert done.code == 0
    assert _line(done.out, "index").startswith("⚠")
    assert _line(done.out, "model defaults").startswith("✓")
