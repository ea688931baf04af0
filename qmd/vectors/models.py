"""The models that qmd 2.8.3 names by default, its prompts, and how it tells one model's vectors from another's.

No model is loaded here: an index says which vectors it has, and these functions say which it lacks.
"""

from __future__ import annotations

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from qmd.settings import Config

EMBED = "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf"
RERANK = "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf"
GENERATE = "hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf"
DEFAULTS = {"embed": EMBED, "rerank": RERANK, "generate": GENERATE}

CHUNK_TOKENS = 900
CHUNK_OVERLAP_TOKENS = 135
CHUNK_WINDOW_TOKENS = 200


def resolve(configured: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The URI in force for ``embed``, ``rerank`` and ``generate``: configured, else the environment's, else qmd's."""
    return {
        slot: configured.get(slot) or environ.get(f"QMD_{slot.upper()}_MODEL") or default
        for slot, default in DEFAULTS.items()
    }


def query_prompt(query: str, model: str) -> str:
    """The text that is embedded for a query."""
    if _is_qwen(model):
        return f"Instruct: Retrieve relevant documents for the given query\nQuery: {query}"
    return f"task: search result | query: {query}"


def document_prompt(text: str, title: str | None, model: str) -> str:
    """The text that is embedded for a piece of a document."""
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
    """The key of ``llm_cache`` for an answer of a model."""
    import hashlib
    import json

    packed = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(f"{purpose}{packed}".encode()).hexdigest()


def pending(connection: apsw.Connection, model: str = EMBED, collection: str = "") -> int:
    """How many distinct contents of active documents lack a vector of ``model``, or some of its chunks."""
    condition, bindings = (" AND d.collection = ?", [collection]) if collection else ("", [])
    count: int = connection.execute(
        "SELECT count(DISTINCT d.hash) FROM documents d LEFT JOIN ("
        "  SELECT hash, count(*) AS chunks, max(total_chunks) AS expected FROM content_vectors"
        "  WHERE model = ? AND embed_fingerprint = ? GROUP BY hash"
        f") v ON v.hash = d.hash WHERE d.active = 1 AND (v.hash IS NULL OR v.chunks < v.expected){condition}",
        (model, fingerprint(model), *bindings),
    ).get
    return count


def waiting(connection: apsw.Connection, config: Config) -> int:
    """How many documents or texts wait for vectors: of the provider in force where the index has vectors of ours, else
    of qmd's own.
    """
    import os

    from core.config import embedder
    from qmd.vectors import vectors

    spaces = vectors.spaces(connection)
    if not spaces:
        return pending(connection, resolve(config.models, os.environ)["embed"])
    active = "/".join(embedder(config.embedding))
    space = next((each for each in spaces if each.name == active), None)
    return sum(vectors.pending(connection, space).values())


def orphaned(connection: apsw.Connection) -> int:
    """How many chunks have vectors of contents that no active document has."""
    count: int = connection.execute(
        "SELECT count(*) FROM content_vectors v"
        " WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.hash = v.hash AND d.active = 1)"
    ).get
    return count


def short_name(uri: str) -> str:
    """A model's file name, or its URI cut to 56 characters."""
    if uri.startswith("hf:"):
        return uri.rpartition("/")[2] or uri
    return f"{uri[:53]}..." if len(uri) > 56 else uri


def _is_qwen(model: str) -> bool:
    lowered = model.lower()
    at, other = lowered.find("qwen"), lowered.find("embed")
    return at >= 0 and other >= 0 and (lowered.rfind("embed") > at or lowered.rfind("qwen") > other)
