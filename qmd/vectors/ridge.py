"""Ridge regression of token vectors: their weighted mean comes near a model's vector of the text they are in.

It minimises ‖XT − Y‖² + λ‖T − T₀‖² by conjugate gradients, one column a dimension. A row of X is a text's tokens, each
weighted a/(a + p) by its share p of all tokens. The weights are divided by their sum (Arora, Liang and Ma, ICLR 2017).
Y are the texts' vectors; T₀ is the table known before.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Whole = NDArray[np.int64]
    Progress = Callable[[int, int, str], None]

# a, λ, and when to stop.
_SMOOTHING = 3e-3
_RIDGE = 0.03
_STEPS = 25
_ENOUGH = 1e-3


def weights(counts: Whole) -> Matrix:
    """Return the weight of each token, by how often it occurs."""
    import numpy as np

    found: Matrix = (_SMOOTHING / (_SMOOTHING + counts / counts.sum())).astype(np.float32)
    return found


def fit(
    rows: Sequence[Whole],
    wanted: Matrix,
    counted: Matrix,
    table: Matrix,
    deadline: float | None,
    progress: Progress | None,
) -> Matrix | None:
    """Return ``table`` with new rows for the tokens in ``rows``, the texts with the vectors ``wanted``.

    ``counted`` is the weight of each token. None past the deadline (``time.monotonic()``).
    """
    counts = _Counts(rows, counted)
    solved = _solve(counts, wanted, table[counts.tokens], deadline, progress)
    if solved is None:
        return None
    result = table.copy()
    result[counts.tokens] = solved
    return result


def past(deadline: float | None) -> bool:
    """Return True if ``deadline`` (``time.monotonic()``) is over; None never is."""
    return deadline is not None and time.monotonic() > deadline


class _Counts:
    """X, sparse, by rows and by columns; ``tokens`` are the ids that occur, in order, and columns count those only."""

    def __init__(self, rows: Sequence[Whole], weights: Matrix) -> None:
        import numpy as np

        self.rows = len(rows)
        owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        flat = np.concatenate(rows)
        self.tokens, column = np.unique(flat, return_inverse=True)
        # One entry a (row, token), with the sum of its occurrences.
        key, number = np.unique(owner * len(self.tokens) + column, return_counts=True)
        row, column = key // len(self.tokens), key % len(self.tokens)
        value = number.astype(np.float32) * weights[self.tokens[column]]
        value /= np.bincount(row, weights=value, minlength=len(rows)).astype(np.float32)[row]
        order = np.argsort(column, kind="stable")
        self._by_row = (_bounds(row, self.rows), column, value)
        self._by_column = (_bounds(column[order], len(self.tokens)), row[order], value[order])
        self.diagonal = np.bincount(column, weights=value * value, minlength=len(self.tokens)).astype(np.float32)

    def times(self, matrix: Matrix) -> Matrix:
        """XM."""
        return _product(*self._by_row, matrix)

    def transposed_times(self, matrix: Matrix) -> Matrix:
        """XᵀM."""
        return _product(*self._by_column, matrix)


def _bounds(target: Whole, size: int) -> list[int]:
    """Return where each of ``size`` rows begins in ``target``, which is sorted, and where the last ends."""
    import numpy as np

    found: list[int] = np.searchsorted(target, np.arange(size + 1)).tolist()
    return found


def _product(bounds: Sequence[int], source: Whole, value: Matrix, matrix: Matrix) -> Matrix:
    """Return rows of sums of ``value[i] * matrix[source[i]]``, each over the entries between two of ``bounds``.

    A product of a vector and the rows gathered for it, one a row, takes a seventh of the time of sums over blocks.
    """
    import numpy as np

    result: Matrix = np.empty((len(bounds) - 1, matrix.shape[1]), dtype=np.float32)
    for row, (start, end) in enumerate(itertools.pairwise(bounds)):
        np.dot(value[start:end], matrix[source[start:end]], out=result[row])
    return result


def _solve(
    counts: _Counts,
    wanted: Matrix,
    prior: Matrix,
    deadline: float | None,
    progress: Progress | None,
) -> Matrix | None:
    """T, by conjugate gradients on (XᵀX + λ)(T − T₀) = Xᵀ(Y − XT₀), preconditioned by the diagonal."""
    import numpy as np

    scale = (1.0 / (counts.diagonal + _RIDGE))[:, None]
    step = np.zeros_like(prior)
    residual = counts.transposed_times(wanted - counts.times(prior))
    first = float(np.linalg.norm(residual)) or 1.0
    direction = residual * scale
    energy = (residual * direction).sum(axis=0)
    for index in range(_STEPS):
        if past(deadline):
            return None
        if progress:
            progress(index, _STEPS, "fitting the query table")
        image = counts.transposed_times(counts.times(direction)) + np.float32(_RIDGE) * direction
        length = energy / np.maximum((direction * image).sum(axis=0), 1e-20)
        step += length * direction
        residual -= length * image
        if float(np.linalg.norm(residual)) < _ENOUGH * first:
            break
        conditioned = residual * scale
        following = (residual * conditioned).sum(axis=0)
        direction = conditioned + following / np.maximum(energy, 1e-20) * direction
        energy = following
    if progress:
        progress(_STEPS, _STEPS, "fitting the query table")
    table: Matrix = prior + step
    return table
