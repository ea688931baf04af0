"""Providers that texts leave the process for, and those of them that answer over HTTP: OpenAI's protocol, and Gemini.

https://platform.openai.com/docs/api-reference/embeddings/create (Ollama, LM Studio and vLLM speak it too),
https://ai.google.dev/api/embeddings#method:-models.batchembedcontents.
"""

from __future__ import annotations

import hashlib
import re
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, BrainError, EngineMissing, EngineTimeout
from core.processes.within import within
from core.redaction.outgoing import outgoing
from qmd.embedding import cutting, onnx
from qmd.embedding.wire import (
    OPENAI,
    Busy,
    Endpoint,
    Nonsense,
    TextRefused,
    check_url,
    openai_key,
    same_host,
    service_key,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from qmd.vectors.chunking import Break

GEMINI = "https://generativelanguage.googleapis.com/v1beta"
_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_WINDOWS = {"openai": 8191, "gemini": 2048, "llm": 512}
# Tokens of a chunk where the window has room for more: longer texts have vaguer vectors. The fork's size.
_CHUNK = 800
_PIECE = re.compile(r"[A-Za-z0-9_]+|[^\sA-Za-z0-9_]")
_LETTERS = 4
# The waits between are half a second and one.
_HASTY_ATTEMPTS = 3
# Fewer texts at once than that are not tried where an endpoint does not answer in time.
_LEAST_BATCH = 8


class Layout:
    """Cuts by an estimate, since a remote model's tokenizer is not here: four letters a token, each other sign one."""

    def __init__(self, window: int) -> None:
        # Estimates err: a window is filled to three fifths at most.
        chunk = max(4, min(_CHUNK, window * 3 // 5))
        self.sizes = cutting.Sizes(chunk, chunk * 135 // 900, chunk * 200 // 900)
        self.name = f"{cutting.VERSION}:estimate:{chunk}"

    def cut(self, text: str, more: Sequence[Break] = ()) -> list[tuple[int, int, int]]:
        """Return (start, end, kind) in characters of each chunk; ``more`` are further places to cut."""
        return cutting.cut(text, self.tokens, self.sizes, more)

    def tokens(self, text: str) -> cutting.Tokens:
        """About the tokens that a model would make of a text."""
        return tokens(text)


def tokens(text: str) -> cutting.Tokens:
    """About the tokens that a model would make of a text."""
    offsets: list[tuple[int, int]] = []
    words: list[int | None] = []
    for number, match in enumerate(_PIECE.finditer(text)):
        start, end = match.span()
        for at in range(start, end, _LETTERS):
            offsets.append((at, min(at + _LETTERS, end)))
            words.append(number)
    return cutting.Tokens(offsets, words)


class Remote(ABC):
    """A provider outside this process; ``dimensions`` asks the model if it is neither known nor configured."""

    name = ""
    batch = 64
    here, outside = False, True
    # True if questions are embedded otherwise than documents.
    distinguishes_questions = False
    tokenizer: Any = None

    def __init__(self, model: str, window: int, dimensions: int, identity: str) -> None:
        self.model = model
        self.window = window or _WINDOWS[self.name]
        self.layout = Layout(self.window)
        self.fingerprint = hashlib.sha256(f"{self.name}:{identity}:{model}:{dimensions}".encode()).hexdigest()[:16]
        self._asked_for = dimensions
        self._until: float | None = None
        self._known = dimensions or _DIMENSIONS.get(model, 0)

    @property
    def dimensions(self) -> int:
        """Return the length of a vector. Raises BrainError if the endpoint must be asked and cannot be."""
        if not self._known:
            try:
                self._known = int(self.embed(["dimensions"]).shape[1])
            except TextRefused as refusal:  # one word is not too much for any model
                raise BadInput(refusal.message, f"check the model's name: {self.model}") from None
        return self._known

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:
        """Return one row per text, of length 1; secrets and private spans are not sent. Raises BrainError."""
        import numpy as np

        if not texts:
            return np.zeros((0, self._known), dtype=np.float32)
        texts = list(map(outgoing, texts))
        size = min(self.batch, len(texts))
        while True:
            try:
                rows = self._all(texts, size, question)
            except Busy:
                raise
            except EngineTimeout:
                # A model on a slow machine takes minutes for what another does in a second.
                if size <= _LEAST_BATCH or (self._until is not None and time.monotonic() > self._until):
                    raise
                self.batch = size = size // 2
            else:
                return unit(rows, self._known, f"{self.name}/{self.model}")

    def patient_until(self, moment: float) -> None:
        """Ask nobody a second time after ``moment`` (``time.monotonic()``), nor wait much beyond it for an answer."""
        self._until = moment

    def hurry(self, seconds: float) -> None:
        """Somebody waits for what is asked for next: so long at most, and not for one that goes on failing."""
        self.patient_until(time.monotonic() + seconds)

    @property
    def cut_short(self) -> bool:
        """Return True if the last request failed for want of time alone: it would have been tried again."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Let go of what answers."""

    def _all(self, texts: Sequence[str], size: int, question: bool) -> list[Any]:
        """Return the vector of each text, ``size`` at once, or as many as the endpoint takes. Raises BrainError."""
        rows: list[Any] = []
        fewer = False
        while len(rows) < len(texts):
            part = texts[len(rows) : len(rows) + size]
            try:
                rows += self._rows(part, question)
            except TextRefused:
                # Either these are too many at once, or one of them is too long. The message does not say which
                # ("batch" is in both); the longest text alone does. If none is refused alone, it was their number.
                if len(part) == 1:
                    raise
                if not fewer:
                    self._rows([max(part, key=len)], question)
                fewer = True
                size = len(part) // 2
        if fewer:
            self.batch = size
        return rows

    @abstractmethod
    def _rows(self, texts: Sequence[str], question: bool) -> list[Any]:
        """Return the endpoint's vector of each text."""


class OverHttp(Remote):
    """A provider with an endpoint, which knows how long it may be waited for."""

    _endpoint: Endpoint

    def patient_until(self, moment: float) -> None:
        """Ask nobody a second time after ``moment`` (``time.monotonic()``), nor wait much beyond it for an answer."""
        super().patient_until(moment)
        self._endpoint.patience_until = moment

    def hurry(self, seconds: float) -> None:
        """Somebody waits for what is asked for next: so long at most, and not for one that goes on failing."""
        super().hurry(seconds)
        self._endpoint.attempts = _HASTY_ATTEMPTS

    @property
    def cut_short(self) -> bool:
        """Return True if the last request failed for want of time alone: it would have been tried again."""
        return self._endpoint.cut_short

    def close(self) -> None:
        """Close the connection."""
        self._endpoint.close()


class OpenAI(OverHttp):
    """An endpoint of OpenAI's protocol. Raises BadInput where OpenAI's own is meant and there is no key."""

    name = "openai"

    def __init__(self, section: Mapping[str, Any], environ: Mapping[str, str], model: str, **options: Any) -> None:
        base = check_url(environ.get("OPENAI_BASE_URL") or str(section.get("base_url") or OPENAI))
        key = openai_key(base, environ)
        if not key and base == OPENAI:
            raise BadInput(
                "OpenAI wants a key", "export OPENAI_API_KEY=…; or OPENAI_BASE_URL=http://localhost:11434/v1"
            )
        super().__init__(model, int(section.get("window") or 0), int(section.get("dimensions") or 0), base)
        fix = "check OPENAI_API_KEY, OPENAI_BASE_URL (the host that it is for) and the model's name"
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._endpoint = Endpoint(f"{base}/embeddings", headers, key, fix, **options)

    def _rows(self, texts: Sequence[str], question: bool) -> list[Any]:  # noqa: ARG002  # one space for both
        body: dict[str, Any] = {"model": self.model, "input": list(texts)}
        if self._asked_for:
            body["dimensions"] = self._asked_for
        answer = self._endpoint.post(body)
        try:
            entries = list(answer["data"])
            if len(entries) == len(texts) and not any("index" in entry for entry in entries):
                return [entry["embedding"] for entry in entries]  # some endpoints leave it out
            found = {int(entry["index"]): entry["embedding"] for entry in entries}
            return [found[index] for index in range(len(texts))]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise Nonsense(f"{self._endpoint.host} answered without a vector for each text", _FIX) from None


class Gemini(OverHttp):
    """Google's endpoint, where questions and documents are embedded differently. Raises BadInput where Google's own is
    meant and there is no key.
    """

    name = "gemini"
    distinguishes_questions = True

    def __init__(self, section: Mapping[str, Any], environ: Mapping[str, str], model: str, **options: Any) -> None:
        from urllib.parse import quote

        base = check_url(environ.get("GEMINI_BASE_URL") or str(section.get("base_url") or GEMINI))
        key = service_key(base, environ, GEMINI, "GEMINI_BASE_URL", ("GEMINI_API_KEY", "GOOGLE_API_KEY"))
        if not key and same_host(base, GEMINI):
            raise BadInput("Gemini wants a key", "export GEMINI_API_KEY=…")
        model = model.removeprefix("models/")
        super().__init__(model, int(section.get("window") or 0), int(section.get("dimensions") or 0), base)
        self._path = f"models/{quote(model, safe='')}"
        fix = "check GEMINI_API_KEY, GEMINI_BASE_URL (the host that it is for) and the model's name"
        headers = {"x-goog-api-key": key} if key else {}
        self._endpoint = Endpoint(f"{base}/{self._path}:batchEmbedContents", headers, key, fix, **options)

    def _rows(self, texts: Sequence[str], question: bool) -> list[Any]:
        shared: dict[str, Any] = {
            "model": self._path,
            "taskType": "RETRIEVAL_QUERY" if question else "RETRIEVAL_DOCUMENT",
        }
        if self._asked_for:
            shared["outputDimensionality"] = self._asked_for
        answer = self._endpoint.post({"requests": [{**shared, "content": {"parts": [{"text": t}]}} for t in texts]})
        try:
            rows = [entry["values"] for entry in answer["embeddings"]]
        except (KeyError, TypeError, AttributeError):
            rows = []
        if len(rows) != len(texts):
            raise Nonsense(f"{self._endpoint.host} answered without a vector for each text", _FIX)
        return rows


_FIX = "check that the address and the model's name are an embedding model's: docs/embedding.md"


def unit(rows: Sequence[Any], dimensions: int, name: str) -> NDArray[np.float32]:
    """Vectors of length 1. Raises Nonsense unless each is ``dimensions`` finite numbers (0: as many as the first)."""
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # what is too large for the type is infinite, and refused below
            vectors: NDArray[np.float32] = np.array(rows, dtype=np.float32)
    except (ValueError, TypeError, OverflowError):
        raise Nonsense(f"{name} answered with something else than vectors of one length", _FIX) from None
    if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
        raise Nonsense(f"{name} answered with something else than vectors of one length", _FIX)
    if dimensions and vectors.shape[1] != dimensions:
        raise Nonsense(
            f"{name} answered with vectors of {vectors.shape[1]} numbers instead of {dimensions}",
            "embedding: {dimensions: …} says how many are meant",
        )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise Nonsense(f"{name} answered with a vector of zeros", _FIX)
    scaled: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
    return scaled


class LlmEmbedder(Remote):
    """One model by its name in ``llm embed-models``. Raises EngineMissing without the package, BadInput without it."""

    name = "llm"
    batch = 16

    def __init__(self, section: Mapping[str, Any], model: str) -> None:
        onnx.refuse_telemetry()  # a plugin may run its models by it
        try:
            import llm
        except ImportError:
            raise EngineMissing("the package llm is not installed", "pip install 'brain-memory[llm]'") from None
        if not model:
            raise BadInput(
                "llm wants a model's name", "embedding: {provider: llm, model: …}; llm embed-models lists them"
            )
        find: Any = llm.get_embedding_model
        try:
            self._embedding: Any = find(model)
        except llm.UnknownModelError:
            raise BadInput(f"llm knows no embedding model {model!r}", "llm embed-models lists them") from None
        super().__init__(model, int(section.get("window") or 0), 0, str(self._embedding.model_id))
        self._hasty = False

    def hurry(self, seconds: float) -> None:
        """Somebody waits for what is asked for next, so long at most; what a plugin does has no other end."""
        super().hurry(seconds)
        self._hasty = True

    def close(self) -> None:
        """Do nothing: what a plugin loaded goes with the process."""

    def _rows(self, texts: Sequence[str], question: bool) -> list[Any]:  # noqa: ARG002  # llm makes no difference
        def embedded() -> list[list[float]]:
            return [list(map(float, row)) for row in self._embedding.embed_multi(list(texts))]

        try:
            if self._hasty and self._until is not None:
                left = max(0.0, self._until - time.monotonic())
                rows = within(left, embedded, f"llm's model {self.model} did not answer in time")
            else:
                rows = embedded()
        except BrainError:
            raise
        except Exception as error:  # noqa: BLE001  # a plugin's may be anything, and its text may hold a key
            reason = f"llm's model {self.model} failed: {type(error).__name__}"
            raise Nonsense(reason, f"try it: llm embed -m {self.model} -c hello") from None
        if len(rows) != len(texts):
            raise Nonsense(
                f"llm's model {self.model} gave {len(rows)} vectors for {len(texts)} texts", "ask its author"
            )
        return rows
