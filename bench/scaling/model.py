"""Vectors of a million chunks without a model's hours: the mean of the query table's rows of a text's tokens.

The cuts, the size of the vectors, how alike they are, and the way from a question to its vector are those of the local
model, so what is asked and stored takes the time that it takes with the model. What is found is worth less. Texts that
are left after some minutes get cuts of those before them, and vectors around theirs: tokens alone would take hours.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from core.home import make_private
from qmd.embedding import embedder
from qmd.embedding.local import Local
from qmd.index.schema import SPAN
from qmd.index.semantic import coarse, vectors
from qmd.index.semantic.spaces import Space
from qmd.index.store import Transaction, open_index
from qmd.vectors import static_fit, static_prior

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw
    import numpy as np
    from numpy.typing import NDArray


# Two means of rows have a cosine of 0.93, two real texts 0.35 by the model, and the nearest of 150 one of 0.70. Without
# so much of the mean of all it is 0.39 and 0.68.
_IN_COMMON = 0.7
# So many seconds go to tokens; then texts get the vectors of so many others, each number up to 3 of the 127 that a
# vector is long away, by one of so many differences, in so many texts a transaction.
_TOKENS_S = 300.0
_ORIGINALS = 10_000
_NOISE, _NOISES, _TEXTS = 3, 4_096, 500


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
        report = embedder.embed(connection, provider, deadline=time.monotonic() + _TOKENS_S)
        if report.failed:
            raise SystemExit(f"{len(report.failed)} texts failed")
        chunks = report.chunks + _around(connection, report.space)
        coarse.keep(connection, report.space)
        static_fit.fit(connection, report.space, provider, folder)
        if left := vectors.pending(connection, report.space):
            raise SystemExit(f"documents wait: {left}")
        print(json.dumps({"chunks": chunks}))
    finally:
        connection.close()


def _around(connection: apsw.Connection, space: Space) -> int:
    """Give each text that waits the cut of one that has vectors, and vectors around that one's; return how many."""
    import numpy as np

    waiting = vectors.waiting(connection, space)
    cuts: Any = connection.execute(
        "SELECT cut, done FROM brain_embedded WHERE model = ? ORDER BY cut LIMIT ?", (space.id, _ORIGINALS)
    ).fetchall()
    originals = [(vectors.spans(connection, cut)[:done], _stored(connection, space, cut, done)) for cut, done in cuts]
    noise = np.random.default_rng(1).integers(-_NOISE, _NOISE + 1, (_NOISES, space.dimensions)).astype(np.float32)
    turn, stored = itertools.count(), 0
    source = itertools.cycle(originals)
    for start in range(0, len(waiting), _TEXTS):
        with Transaction(connection):
            for text, (spans, rows) in zip(waiting[start : start + _TEXTS], source, strict=False):
                last = max(1, text.size - 1)
                fitting = [(min(begin, last - 1), min(end, last), kind) for begin, end, kind in spans]
                cut = text.cut or vectors.put_cut(connection, space, text.hash, fitting)
                wanted = len(vectors.spans(connection, cut)) - text.done
                moved = np.resize(rows, (wanted, space.dimensions)).astype(np.float32)
                moved += noise[[next(turn) * 977 % _NOISES for _ in range(wanted)]]
                moved *= 127 / np.linalg.norm(moved, axis=1, keepdims=True)
                packed = [row.tobytes() for row in np.rint(moved).astype(np.int8)]
                if not vectors.add(connection, space, cut, text.done, packed):
                    raise SystemExit(f"{text.hash} has changed meanwhile")
                stored += wanted
    with Transaction(connection):
        vectors.note(connection)
        vectors.stamp(connection, space, int(time.time()))
    return stored


def _stored(connection: apsw.Connection, space: Space, cut: int, done: int) -> NDArray[np.int8]:
    import numpy as np

    # vec0 finds one row at once; for a range it looks at all of them.
    query = f'SELECT embedding FROM "{space.table}" WHERE rowid = ?'  # noqa: S608
    rows: Any = [connection.execute(query, (cut * SPAN + number,)).get for number in range(done)]
    return np.frombuffer(b"".join(rows), dtype=np.int8).reshape(done, space.dimensions)


if __name__ == "__main__":
    main(sys.argv[1])
