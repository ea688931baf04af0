"""How much of a session a choice of sentences is like: facility location over the local model's vectors.

Lin and Bilmes, "A Class of Submodular Functions for Document Summarization" (2011). Vectors are rounded to int8, as the
index keeps them, and everything after that is done in whole numbers, so that the order of a sum decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import BrainError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    # Texts to vectors of length 1, one row each.
    Encode = Callable[[Sequence[str]], NDArray[np.float32]]

# So many sentences of a session are read by the model, those with the most telling words: at 7 ms of one core each no
# session takes it longer than a second. Measured with up to all of them: more change nothing for the better.
LIMIT = 128
_SCALE = 127
# Sentences on one subject have a cosine of 0.2 to 0.4 by this kind of model, those that say the same one above this.
_ALIKE = _SCALE * _SCALE // 2


class Likeness:
    """``texts`` that may be chosen or are to be stood for; ``told`` says which of them are the latter."""

    __slots__ = ("_best", "_likes", "_total", "_weights")

    def __init__(self, texts: Sequence[str], told: Sequence[bool], encode: Encode) -> None:
        import numpy as np

        # Whole numbers of at most 22 bits, which float64 adds up without rounding, by whatever instructions.
        vectors = np.rint(np.asarray(encode(texts), dtype=np.float64) * _SCALE)
        stood = [at for at, is_told in enumerate(told) if is_told]
        likes = vectors @ vectors[stood].T
        likes[likes < _ALIKE] = 0
        self._likes = likes.astype(np.int64)
        # By the logarithm of its length: a long sentence says more than a short one, and not ten times as much.
        self._weights = np.asarray([len(texts[at]).bit_length() for at in stood], dtype=np.int64)
        self._best = np.zeros(len(stood), dtype=np.int64)
        self._total = int(self._weights.sum()) * _SCALE * _SCALE

    def gain(self, at: int) -> float:
        """The share (0 to 1) of what was told that text ``at`` stands for beyond those taken."""
        import numpy as np

        if not self._total:
            return 0.0
        more = np.maximum(self._likes[at] - self._best, 0)
        return int((more * self._weights).sum()) / self._total

    def take(self, at: int) -> None:
        """From now on, what text ``at`` is like is stood for."""
        import numpy as np

        np.maximum(self._best, self._likes[at], out=self._best)


class Reader:
    """The local model as a distiller uses it: loaded with the first text, and only ever the one on this machine.

    ``section`` is the configuration's ``embedding``, whose local model is used where it names one.
    """

    def __init__(self, section: Mapping[str, Any]) -> None:
        self._section = section
        self._local: Any = None
        self._failure = ""

    @property
    def failure(self) -> str:
        """Why there is no model, "" while nothing is known against it."""
        return self._failure

    def open(self) -> tuple[str, Encode] | None:
        """The model's name, and what encodes by it; None where it cannot be used, and ``failure`` says why."""
        if self._local is None and not self._failure:
            from core.config import embedder
            from qmd.embedding.local import Local
            from qmd.embedding.provider import LOCAL

            section = dict(self._section)
            own = section if embedder(section)[0] == LOCAL else {}
            try:
                local = Local(str(own.get("path") or ""), embedder(own)[1], int(own.get("window") or 0), threads=1)
                local.embed(["one sentence"])
            except BrainError as error:
                self._failure = error.message
            except ImportError as error:
                self._failure = f"{error.name} is not installed"
            else:
                self._local = local
        return None if self._local is None else (self._local.model, self._encode)

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        # Texts of one length are read together: a batch costs as much as its longest.
        order = sorted(range(len(texts)), key=lambda at: (len(texts[at]), at))
        found = self._local.embed([texts[at] for at in order])
        result: NDArray[np.float32] = np.empty_like(found)
        result[order] = found
        return result
