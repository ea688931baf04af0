"""Models that qmd 2.8.3 names by default, its prompts and fingerprints, and how many texts still lack vectors.

No model is loaded here.
"""

from __future__ import annotations

import apsw

from core import clock
from core.config import embedder
from qmd.index import catalogue, collections, completeness
from qmd.index.semantic import spaces, vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from qmd.settings import Config

EMBED = "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf"
RERANK = "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf"
GENERATE = "hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf"
DEFAULTS = {"embed": EMBED, "rerank": RERANK, "generate": GENERATE}

CHUNK_TOKENS = 900
CHUNK_OVERLAP_TOKENS = 135


def resolve(configured: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the URI in force for ``embed``, ``rerank`` and ``generate``: configured, the environment's, or qmd's."""
    return {
        slot: configured.get(slot) or environ.get(f"QMD_{slot.upper()}_MODEL") or default
        for slot, default in DEFAULTS.items()
    }


def query_prompt(query: str, model: str) -> str:
    """Return the text that is embedded for a query."""
    if _is_qwen(model):
        return f"Instruct: Retrieve relevant documents for the given query\nQuery: {query}"
    return f"task: search result | query: {query}"


def document_prompt(text: str, title: str | None, model: str) -> str:
    """Return the text that is embedded for a piece of a document."""
    if _is_qwen(model):
        return f"{title}\n{text}" if title else text
    return f"title: {title or 'none'} | text: {text}"


def fingerprint(model: str = EMBED) -> str:
    """Six hex digits that change with the model, its prompts and the size of chunks."""
    import hashlib

    query = query_prompt("__qmd_embedding_query_probe__", model)
    document = document_prompt("__qmd_embedding_document_probe__", "__qmd_embedding_title_probe__", model)
    significant = (
        f"model:{model}\nquery:{query}\ndoc:{document}\n"
        f"chunk_tokens:{CHUNK_TOKENS}\nchunk_overlap_tokens:{CHUNK_OVERLAP_TOKENS}"
    )
    return hashlib.sha256(significant.encode()).hexdigest()[:6]


def cache_key(purpose: str, body: Mapping[str, str]) -> str:
    """Return the key of ``llm_cache`` for an answer of a model."""
    import hashlib
    import json

    packed = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(f"{purpose}{packed}".encode()).hexdigest()


def pending(connection: apsw.Connection, model: str = EMBED, collection: str = "") -> int:
    """Return how many distinct texts of documents lack a vector of ``model``, or some of their chunks."""
    return completeness.lacking_vectors(connection, model, fingerprint(model), collection)


def waiting(connection: apsw.Connection, config: Config) -> int:
    """Return how many documents wait for vectors of the configured provider, if the index has vectors of ours.

    Otherwise, return how many texts wait for qmd's own.
    """
    import os

    known = spaces.listed(connection)
    if not known:
        return pending(connection, resolve(config.models, os.environ)["embed"])
    active = "/".join(embedder(config.embedding))
    space = next((each for each in known if each.name == active), None)
    return sum(vectors.pending(connection, space).values())


def status(connection: apsw.Connection, model: str = "", embedding: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return totalDocuments, needsEmbedding, hasVectorIndex, and collections, the last updated first.

    If the index has vectors of ours, those of the section ``embedding`` count; else qmd's own, of ``model`` (its URI,
    the default one if it is empty).
    """
    configured = {each.name: each for each in collections.stored(connection)}
    found: list[dict[str, Any]] = []
    for name, (count, latest) in catalogue.totals(connection).items():
        folder = configured.get(name)
        found.append(
            {
                "name": name,
                "path": folder.path if folder else None,
                "pattern": folder.pattern if folder else None,
                "documents": count,
                "lastUpdated": latest or f"{clock.iso(clock.now())[:-1]}.000Z",
            }
        )
    found.sort(key=lambda row: str(row["lastUpdated"]), reverse=True)
    if spaces.listed(connection):
        space = spaces.find(connection, *embedder(embedding or {}))
        lacking = sum(vectors.pending(connection, space).values())
        there = space is not None and spaces.count(connection, space)
    else:
        lacking = pending(connection, model or EMBED)
        there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'vectors_vec'").fetchone() is not None
    return {
        "totalDocuments": sum(row["documents"] for row in found),
        "needsEmbedding": lacking,
        "hasVectorIndex": bool(there),
        "collections": found,
    }


def short_name(uri: str) -> str:
    """Return a model's file name, or its URI cut to 56 characters."""
    if uri.startswith("hf:"):
        return uri.rpartition("/")[2] or uri
    return f"{uri[:53]}..." if len(uri) > 56 else uri


def _is_qwen(model: str) -> bool:
    lowered = model.lower()
    at, other = lowered.find("qwen"), lowered.find("embed")
    return at >= 0 and other >= 0 and (lowered.rfind("embed") > at or lowered.rfind("qwen") > other)
