"""What a provider that is not on this machine is given of texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qmd.embedding.embedder import embed
from qmd.search import semantic
from tests.qmd.corpus import indexed
from tests.qmd.embedding.clients import gemini, openai
from tests.qmd.embedding.endpoint import Endpoint
from tests.qmd.embedding.fake import Fake

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
NOTE = "\n\n".join(
    [
        *(f"The walrus rests at stone number {number}." for number in range(6)),
        f"Its key is {TOKEN} and nobody else's. <private>The diagnosis is",
        *(f"ailment number {number} of the walrus" for number in range(9)),
        "grave.</private> It swims again.",
        "password: Tr0ub4dor-and-3",
        *(f"The river runs below bridge number {number}." for number in range(6)),
    ]
)


def sent(endpoint: Endpoint) -> list[str]:
    """Every text that reached the endpoint."""
    bodies = [body for _, _, body in endpoint.requests]
    return [
        text
        for body in bodies
        for text in body.get("input") or [each["content"]["parts"][0]["text"] for each in body["requests"]]
    ]


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("client", [openai, gemini])
def test_no_endpoint_is_sent_a_secret_or_a_private_span_whatever_the_cuts(
    endpoint: Endpoint, tmp_path: Path, client: Any
) -> None:
    provider = openai(endpoint, section={"window": 60}) if client is openai else gemini(endpoint, window=60)
    connection, _ = indexed(tmp_path, {"note.md": NOTE})
    report = embed(connection, provider)
    assert (report.texts, report.failed) == (1, {})
    texts = sent(endpoint)
    said = "\n".join(texts)
    assert not any(
        part in said for part in (TOKEN[4:12], TOKEN[-8:], "Tr0ub4", "dor-and-3", "ailment", "diagnosis", "grave")
    )
    assert all(text.strip() for text in texts)
    assert all(f"stone number {n}." in said and f"bridge number {n}." in said for n in range(6))
    assert report.chunks == len([text for text in texts if text != "dimensions"])
    provider.embed([f"who has {TOKEN}?"], question=True)
    assert sent(endpoint)[-1] == "who has [redacted:github]?"


@pytest.mark.usefixtures("direct")
def test_a_question_by_meaning_is_sent_without_its_secret(endpoint: Endpoint, tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"note.md": "one walrus"})
    section = {"provider": "openai", "model": "m", "base_url": endpoint.url}
    source = openai(endpoint)
    embed(connection, source)
    meaning = semantic.opened(connection, section, {})
    assert not isinstance(meaning, str)
    meaning.search(f"who has {TOKEN}?", 3)
    meaning.prepare([(f"It is {TOKEN}.", True)])
    meaning.search(f"It is {TOKEN}.", 3, hyde=True)
    meaning.close()
    assert sent(endpoint)[-2:] == ["who has [redacted:github]?", "It is [redacted:github]."]


def test_a_local_model_reads_the_text_as_it_is(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"note.md": NOTE})
    provider = Fake()
    embed(connection, provider)
    assert TOKEN in " ".join(provider.seen)
    assert "ailment number 3" in " ".join(provider.seen)
