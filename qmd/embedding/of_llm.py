"""Embedding models of Simon Willison's ``llm``, where it is installed: every plugin of its ecosystem, with its keys.

https://llm.datasette.io/en/stable/embeddings/python-api.html
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, BrainError, EngineMissing
from core.within import within
from qmd.embedding.remote import Remote
from qmd.embedding.wire import Nonsense
from qmd.vectors import onnx

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Llm(Remote):
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
        """Nothing is held: what a plugin loaded goes with the process."""

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
