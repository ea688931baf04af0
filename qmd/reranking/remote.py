"""Rerankers behind HTTP: ``POST …/rerank`` of model, query, documents and top_n; the answer is scores with indexes.

https://docs.cohere.com/v2/reference/rerank; Jina, vLLM, llama.cpp's server and LiteLLM speak it too. Text Embeddings
Inference takes ``texts`` instead and answers with a bare list, which is tried where it asks for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from qmd.embedding.wire import Endpoint, Nonsense, TextRefused, check_url, header, openai_key, service_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Provider: (variable of its address, variables of its key, its own address, its model).
PROVIDERS: dict[str, tuple[str, tuple[str, ...], str, str]] = {
    "openai": ("OPENAI_BASE_URL", (), "", ""),
    "cohere": ("COHERE_BASE_URL", ("COHERE_API_KEY", "CO_API_KEY"), "https://api.cohere.com/v2", "rerank-v3.5"),
    "jina": ("JINA_BASE_URL", ("JINA_API_KEY",), "https://api.jina.ai/v1", "jina-reranker-v2-base-multilingual"),
}
_KEY = "QMD_RERANK_API_KEY"
# Text Embeddings Inference takes no more at once by default.
BATCH = 32
_ATTEMPTS = 3
_LARGEST = 8 << 20
# Up to here each whole number is a float, too; JSON has some that overflow one.
_MOST = 1 << 53
_FIX = "check that the endpoint reranks: docs/retrieval.md"


class Remote:
    """An endpoint. Raises BadInput where its address, or the key of a service that wants one, is missing.

    Address: ``QMD_RERANK_BASE_URL``, else ``base_url``, else the provider's own variable. Keys: ``QMD_RERANK_API_KEY``,
    else the provider's own by ``service_key``'s rule.
    """

    remote = True

    def __init__(self, provider: str, section: Mapping[str, Any], environ: Mapping[str, str], **options: Any) -> None:
        variable, keys, own, model = PROVIDERS[provider]
        given = str(environ.get("QMD_RERANK_BASE_URL") or section.get("base_url") or environ.get(variable) or own)
        if not given:
            raise BadInput("the reranker has no address", "rerank: {base_url: http://localhost:8080/v1}")
        base = check_url(given)
        if provider == "openai":
            key = openai_key(base, environ, _KEY)
        else:
            key = header(environ.get(_KEY) or "", _KEY) or service_key(base, environ, own, variable, keys)
        if not key and base == own:
            raise BadInput(f"{provider} wants a key", f"export {keys[0]}=…")
        self.model = str(section.get("model") or model)
        self.name = f"{provider}/{self.model}" if self.model else provider
        self.identity = f"{base}:{self.model}"
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = base if base.endswith("/rerank") else f"{base}/rerank"
        fix = "check rerank: base_url and model, and the key (QMD_RERANK_API_KEY)"
        self._endpoint = Endpoint(url, headers, key, fix, **{"attempts": _ATTEMPTS, "largest": _LARGEST, **options})
        self._field = "documents"
        # Four letters a token, as for embeddings; 0 leaves it to the endpoint.
        self._letters = 4 * int(section.get("window") or 0)

    def score(
        self, query: str, texts: Sequence[str], until: float, found: dict[int, float] | None = None
    ) -> list[float]:
        """Return the endpoint's own scores, which may be logits. Raises BrainError."""
        found = {} if found is None else found
        for start in range(0, len(texts), BATCH):
            part = [text[: self._letters or None] for text in texts[start : start + BATCH]]
            scores = scores_of(self._ask(query, part, until), len(part), self._endpoint.host)
            found.update(enumerate(scores, start))
        return [found[place] for place in range(len(texts))]

    def cancel(self) -> None:
        """Do nothing: each request knows its own end."""

    def close(self) -> None:
        """Close the connection."""
        self._endpoint.close()

    def _ask(self, query: str, texts: list[str], until: float) -> Any:
        body: dict[str, Any] = {"model": self.model} if self.model else {}
        body.update({"query": query, self._field: texts, "top_n": len(texts)})
        try:
            return self._endpoint.post(body, until)
        except TextRefused as refusal:
            if self._field == "documents" and "texts" in refusal.message:
                self._field = "texts"
                return self._ask(query, texts, until)
            raise Nonsense(refusal.message, "rerank: {window: …} makes texts shorter; check rerank: model") from None


def scores_of(answer: Any, count: int, host: str) -> list[float]:
    """Return the scores of ``count`` texts by their index: each once, finite. Raises Nonsense otherwise."""
    rows = answer
    if isinstance(answer, dict):
        rows = answer.get("results", answer.get("data"))
    wrong = Nonsense(f"{host} answered without one score for each text", _FIX)
    if not isinstance(rows, list) or len(rows) != count:
        raise wrong
    found: dict[int, float] = {}
    for row in rows:
        index: Any = row.get("index") if isinstance(row, dict) else None
        score: Any = row.get("relevance_score", row.get("score")) if isinstance(row, dict) else None
        if not _is_number(index) or not _is_number(score) or index != int(index):
            raise wrong
        found[int(index)] = float(score)
    if sorted(found) != list(range(count)):
        raise wrong
    return [found[index] for index in range(count)]


def _is_number(value: Any) -> bool:
    """Also NaN, the infinities and what is too large for a score or an index are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_MOST <= value <= _MOST
