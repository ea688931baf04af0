"""``qmd embed``, ``qmd provider`` and what ``qmd status`` says of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.files import FileLock
from qmd import trust
from qmd.index.semantic import spaces
from qmd.index.store import open_index
from qmd.settings import locate, read
from tests.qmd.app.world import Qmd, stand, write
from tests.qmd.embedding.endpoint import DIMENSIONS, Endpoint


@pytest.fixture
def endpoint(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return endpoint


def section(qmd: Qmd, name: str) -> list[str]:
    """The lines below a heading of ``qmd status``."""
    lines = qmd("status").out.splitlines()
    if name not in lines:
        return []
    start = lines.index(name) + 1
    return [line.strip() for line in lines[start : lines.index("", start)]]


def test_embedding_is_done_once_and_reported(notes: Path, qmd: Qmd) -> None:
    done = qmd("embed")
    assert (done.code, done.err) == (0, "")
    assert "✓ Done! Embedded 3 chunks from 3 documents" in done.out
    assert qmd("embed").out == "✓ All content hashes already have embeddings.\n"
    assert "Embedded 3 chunks" in qmd("embed", "-f").out
    assert section(qmd, "Embedding") == [
        "Active: local/all-MiniLM-L6-v2",
        "Versions:",
        "local/all-MiniLM-L6-v2: 3 vectors",
    ]
    said = qmd("status").out
    assert "need embedding" not in said
    assert "Vectors:  3 embedded" in said


def test_what_is_new_is_counted_as_waiting(notes: Path, qmd: Qmd) -> None:
    qmd("embed")
    write(notes, {"new.md": "# New\n\nA word that was not there.\n"})
    assert "(1 unique hashes need vectors)" in qmd("update").out
    assert "Pending:  1 need embedding" in qmd("status").out
    assert "Embedded 1 chunks from 1 documents" in qmd("embed").out


def test_providers_lie_side_by_side_and_switching_embeds_nothing(notes: Path, qmd: Qmd, endpoint: Endpoint) -> None:
    qmd("embed")
    assert qmd("provider").out.splitlines()[0] == "Active: local/all-MiniLM-L6-v2"
    config = Path(locate().config_path)
    config.write_text(
        f"{config.read_text()}embedding:\n  provider: openai  # mine\n  model: m\n  base_url: {endpoint.url}\n"
    )
    assert "Embedded 3 chunks" in qmd("embed").out
    asked = len(endpoint.requests)
    assert section(qmd, "Embedding")[0] == "Active: openai/m"
    assert qmd("provider", "local").out == "Active: local/all-MiniLM-L6-v2\n"
    assert "already have embeddings" in qmd("embed").out
    assert section(qmd, "Embedding") == [
        "Active: local/all-MiniLM-L6-v2",
        "Versions:",
        "local/all-MiniLM-L6-v2: 3 vectors",
        "openai/m: 3 vectors",
    ]
    assert len(endpoint.requests) == asked
    assert "base_url" not in config.read_text()


def test_a_provider_for_once_changes_nothing(
    notes: Path, qmd: Qmd, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    assert "(openai/other)" in qmd("embed", "--provider", "openai", "--model", "other").out
    assert {body["model"] for _, _, body in endpoint.requests} == {"other"}
    assert section(qmd, "Embedding") == [
        "Active: local/all-MiniLM-L6-v2",
        "Versions:",
        "openai/other: 3 vectors",
        "local/all-MiniLM-L6-v2: 0 vectors (run 'qmd embed')",
    ]
    connection = open_index(locate().database)
    (space,) = spaces.listed(connection)
    assert space.dimensions == DIMENSIONS
    connection.close()


def test_a_provider_is_set_with_its_model_and_an_unknown_one_is_not(notes: Path, qmd: Qmd) -> None:
    assert (
        qmd("provider", "openai", "--model", "text-embedding-3-large").out == "Active: openai/text-embedding-3-large\n"
    )
    assert qmd("provider", "gemini").out == "Active: gemini/gemini-embedding-001\n"
    unknown = qmd("provider", "oracle")
    assert (unknown.code, "Unknown provider: oracle" in unknown.err) == (1, True)
    assert "wants a model" in qmd("provider", "llm").err
    assert qmd("provider").out.splitlines()[0] == "Active: gemini/gemini-embedding-001"


def test_without_a_key_it_says_which(notes: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    done = qmd("embed", "--provider", "gemini")
    assert (done.code, done.err) == (1, "Gemini wants a key\n")


def test_two_runs_at_once_are_one_too_many(notes: Path, qmd: Qmd) -> None:
    with FileLock(f"{locate().database}.embed-lock", 0):
        done = qmd("embed")
    assert done.code == 1
    assert "another run is embedding already" in done.err


def test_a_checkouts_configuration_sends_nothing_anywhere_before_it_is_approved(
    place: Path, qmd: Qmd, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = place / "checkout"
    write(project, {"docs/a.md": "# A\n\nprivate words\n"})
    config = (
        f"collections:\n  docs: {{path: docs}}\nembedding: {{provider: openai, model: m, base_url: '{endpoint.url}'}}\n"
    )
    write(project, {".qmd/index.yml": config})
    stand(monkeypatch, project)
    assert qmd("update").code == 0
    done = qmd("embed")
    assert done.code == 0
    assert "embedding.base_url" in done.out
    assert "(local/all-MiniLM-L6-v2)" in done.out
    assert endpoint.requests == []
    settings = locate()
    trust.approve(settings, read(settings))
    assert "(openai/m)" in qmd("embed").out
    assert endpoint.requests
    write(project, {".qmd/index.yml": config.replace("model: m", "model: n")})
    count = len(endpoint.requests)
    assert "already have embeddings" in qmd("embed").out
    assert len(endpoint.requests) == count


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--timeout", "soon"], "--timeout must be"),
        (["--max-batch-mb", "0"], "maxBatchBytes must be"),
        (["--max-docs-per-batch"], "maxDocsPerBatch must be"),
        (["--chunk-strategy", "magic"], "--chunk-strategy must be"),
    ],
)
def test_options_that_make_no_sense_are_refused(notes: Path, qmd: Qmd, words: list[str], said: str) -> None:
    done = qmd("embed", *words)
    assert (done.code, done.out) == (1, "")
    assert said in done.err
    assert not os.path.exists(f"{locate().database}.embed-lock")


def test_code_is_cut_at_its_functions_when_asked_and_stays_so(notes: Path, place: Path, qmd: Qmd) -> None:
    code = "".join(f"def f{n}():\n" + f"    value{n} = compute(value{n}, {n})\n" * 6 for n in range(9))
    write(place / "code", {"a.py": code})
    assert qmd("collection", "add", "code", "--mask", "**/*.py").code == 0
    assert qmd("embed").code == 0
    assert "from 1 documents" in qmd("embed", "--chunk-strategy", "auto").out
    assert qmd("embed").out == "✓ All content hashes already have embeddings.\n"
    assert "from 1 documents" in qmd("embed", "--chunk-strategy", "regex").out
    assert section(qmd, "AST Chunking")[0] == "Status:   active"
    assert section(qmd, "AST Chunking")[1].startswith("Languages: typescript, tsx, javascript, python, go, rust")
