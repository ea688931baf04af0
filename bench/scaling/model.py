"""Vectors of a million chunks without a model's hours: the mean of the query table's rows of a text's tokens.

The cuts, the size of the vectors, how alike they are, and the way from a question to its vector are those of the local
model, so what is asked and stored takes the time that it takes with the model. What is found is worth less.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from core.home import make_private
from qmd.embedding import embedder
from qmd.embedding.local import Local
from qmd.index.semantic.spaces import Space
from qmd.index.store import open_index
from qmd.vectors import static_fit, static_prior

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


# Two means of rows have a cosine of 0.93, two real texts 0.35 by the model, and the nearest of 150 one of 0.70. Without
# so much of the mean of all it is 0.39 and 0.68.
_IN_COMMON = 0.7


class Drawn(Local):
    """The local model without its inference: ``embed`` adds up the rows that the product ships of each token."""

    batch = 512

    def __init__(self) -> None:
        super().__init__()
        space = Space(0, self.name, self.model, 384, self.fingerprint, self.layout.name, "")
        rows = static_prior.prior(self, self._tokenizer.get_vocab_size(), space, "", None, None)
        if rows is None:
            raise AssertionError("the default model's prior is shipped")
        self._rows = rows
        self._common: NDArray[np.float32] | None = None

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        return int(self._rows.shape[1])

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:  # noqa: ARG002  # all alike
        """Return one row per text, of length 1."""
        import numpy as np

        found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        result: NDArray[np.float32] = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, encoding in enumerate(found):
            result[row] = self._rows[encoding.ids].mean(axis=0) if encoding.ids else self._rows[0]
        if self._common is None:  # as the first texts have it
            self._common = _IN_COMMON * result.mean(axis=0)
        result -= self._common
        lengths: NDArray[np.float32] = np.linalg.norm(result, axis=1, keepdims=True)
        result /= np.maximum(lengths, np.float32(1e-12))
        return result


def main(home: str) -> None:
    """Embed everything in the index of ``home``, and fit the table by which cold questions are encoded."""
    folder = os.path.join(home, "state", "models")
    make_private(folder)
    provider = Drawn()
    connection = open_index(os.path.join(home, "index.sqlite"), write=True)
    try:
        report = embedder.embed(connection, provider)
        if report.pending or report.failed:
            raise SystemExit(f"{report.pending} documents wait, {len(report.failed)} failed")
        static_fit.fit(connection, report.space, provider, folder)
        print(json.dumps({"chunks": report.chunks}))
    finally:
        connection.close()


if __name__ == "__main__":
    main(sys.argv[1])
