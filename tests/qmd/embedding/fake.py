"""A provider that computes nothing: what reaches it is kept, and a text's vector tells its length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import Internal
from qmd.embedding.cutting import Sizes, Tokens, cut
from qmd.embedding.wire import TextRefused
from qmd.vectors.chunking import Break


class Words:
    """Chunks of ten words."""

    name = "words:10"

    def cut(self, text: str, more: Sequence[Break] = ()) -> list[tuple[int, int, int]]:
        return cut(text, self.tokens, Sizes(10, 0, 3), more)

    def tokens(self, text: str) -> Tokens:
        offsets = []
        end = 0
        for word in text.split():
            start = text.index(word, end)
            end = start + len(word)
            offsets.append((start, end))
        return Tokens(offsets, list(range(len(offsets))))


class Fake:
    """``refused``: texts with this word are not taken; ``breaks_at``: the call that fails; ``then``: called by each."""

    name = "local"
    window = 12
    batch = 4
    tokenizer: Any = None
    here, outside = True, False

    def __init__(self, model: str = "fake", fingerprint: str = "f", dimensions: int = 8) -> None:
        self.model = model
        self.fingerprint = fingerprint
        self.dimensions = dimensions
        self.layout = Words()
        self.calls: list[list[str]] = []
        self.refused = ""
        self.breaks_at = 0
        self.then: Callable[[], None] = lambda: None

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:
        if self.refused and any(self.refused in text for text in texts):
            raise TextRefused("too long for the model")
        self.calls.append(list(texts))
        if len(self.calls) == self.breaks_at:
            raise Internal("the machine is on fire")
        self.then()
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row, len(text) % self.dimensions] = 1.0
        return vectors

    def close(self) -> None:
        pass

    @property
    def seen(self) -> list[str]:
        """Every text that was embedded."""
        return [text for call in self.calls for text in call]
