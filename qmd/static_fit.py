"""Fitting the query table: tokens' vectors whose weighted mean comes near the model's vector of the text they are in.

Minimises ‖XT − Y‖² + λ‖T − T₀‖² over the chunks of a space: a row of X is a chunk's tokens, each weighted a/(a + p) by
its share p of all tokens (Arora, Liang and Ma, ICLR 2017) and divided by their sum; Y are the chunks' vectors; T₀ the
model's vectors of single tokens. Conjugate gradients, one column a dimension. docs/retrieval.md has the measurements.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from core import clock
from qmd import static_query, vectors
from qmd.schema import SPAN
from qmd.store import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from qmd.vectors import Space

    Matrix = NDArray[np.float32]
    Whole = NDArray[np.int64]

# The smoothing of token frequencies, λ, and when to stop.
_SMOOTHING = 3e-3
_RIDGE = 0.03
_STEPS = 25
_ENOUGH = 1e-3
# More chunks than this are drawn from: the fit is no better, and takes longer.
_CHUNKS = 12_000
# Fewer chunks say too little about words.
LEAST = 200
# Every so manyth chunk is kept out, to say what the table is worth.
_HELD_OUT = 20
# A table is made anew once so much more has been embedded.
_GROWTH = 1.2
_BATCH = 64
# Rows of a sparse product at a time, so that what is gathered stays in the processor's cache.
_BLOCK = 4096


def can(provider: Any) -> bool:
    """Whether the provider's model cuts texts as ``qmd/wordpiece.py`` does, and gives vectors of single tokens."""
    tokenizer = getattr(provider, "tokenizer", None)
    if tokenizer is None:
        return False
    settings = json.loads(tokenizer.to_str())
    normalizer = settings.get("normalizer") or {}
    return bool(
        settings["model"].get("type") == "WordPiece"
        and settings["model"].get("continuing_subword_prefix") == "##"
        and normalizer.get("type") == "BertNormalizer"
        and normalizer.get("lowercase")
        and (settings.get("pre_tokenizer") or {}).get("type") == "BertPreTokenizer"
    )


def exists(connection: apsw.Connection, space: Space) -> bool:
    """Whether a space has a table that questions are asked by. Raises apsw.Error."""
    return not isinstance(static_query.of(connection, space), str)


def due(connection: apsw.Connection, space: Space) -> bool:
    """Whether a space has no table, or has grown well past the one it has. Raises apsw.Error."""
    count = vectors.count(connection, space)
    if count < LEAST:
        return False
    connection.execute(static_query.TABLES)
    row: Any = connection.execute(
        "SELECT version, fingerprint, vectors FROM brain_static_fits WHERE model = ?", (space.id,)
    ).fetchone()
    return row is None or row[:2] != (static_query.VERSION, space.fingerprint) or count > _GROWTH * row[2]


def fit(
    connection: apsw.Connection,
    space: Space,
    provider: Any,
    cache: str,
    deadline: float | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> float | None:
    """Fit and store the table of a space; returns its quality (the mean cosine over the chunks kept out).

    ``cache`` is a folder that keeps the single tokens' vectors between fits: they cost half a minute. Past
    ``deadline`` (``time.monotonic()``) it returns None, and the next call goes on from there. Raises apsw.Error, and
    BrainError where the provider fails.
    """
    import numpy as np

    vectors.load(connection)
    connection.execute(static_query.TABLES)
    tokens = [token for token, _ in sorted(provider.tokenizer.get_vocab().items(), key=lambda item: item[1])]
    prior = _prior(provider, len(tokens), space, cache, deadline, progress)
    if prior is None:
        return None
    count = vectors.count(connection, space)
    texts, wanted = _sample(connection, space)
    rows = [np.asarray(each.ids, dtype=np.int64) for each in _encode(provider, texts)]
    filled = [index for index, ids in enumerate(rows) if len(ids)]
    rows, wanted = [rows[index] for index in filled], wanted[filled]

    frequency = np.bincount(np.concatenate(rows), minlength=len(tokens)).astype(np.float64)
    weights = (_SMOOTHING / (_SMOOTHING + frequency / frequency.sum())).astype(np.float32)
    outside = np.arange(len(rows)) % _HELD_OUT == _HELD_OUT - 1
    inside = _Counts([row for row, out in zip(rows, outside, strict=True) if not out], weights)
    table = prior.copy()
    solved = _solve(inside, wanted[~outside], prior[inside.tokens], deadline, progress)
    if solved is None:
        return None
    table[inside.tokens] = solved
    kept_out = [row for row, out in zip(rows, outside, strict=True) if out]
    quality = _quality(table, weights, kept_out, wanted[outside])
    _store(connection, space, tokens, table * weights[:, None], count, quality)
    return quality


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
        self._by_row = (row, column, value)
        self._by_column = (column[order], row[order], value[order])
        self.diagonal = np.bincount(column, weights=value * value, minlength=len(self.tokens)).astype(np.float32)

    def times(self, matrix: Matrix) -> Matrix:
        """XM."""
        return _product(*self._by_row, matrix, self.rows)

    def transposed_times(self, matrix: Matrix) -> Matrix:
        """XᵀM."""
        return _product(*self._by_column, matrix, len(self.tokens))


def _product(target: Whole, source: Whole, value: Matrix, matrix: Matrix, size: int) -> Matrix:
    """The sum of ``value[i] * matrix[source[i]]`` in row ``target[i]``; ``target`` is sorted."""
    import numpy as np

    result = np.zeros((size, matrix.shape[1]), dtype=np.float32)
    for start in range(0, len(target), _BLOCK):
        part = slice(start, start + _BLOCK)
        rows, firsts = np.unique(target[part], return_index=True)
        result[rows] += np.add.reduceat(matrix[source[part]] * value[part, None], firsts)
    return result


def _solve(
    counts: _Counts,
    wanted: Matrix,
    prior: Matrix,
    deadline: float | None,
    progress: Callable[[int, int, str], None] | None,
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
        if _past(deadline):
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


def _quality(table: Matrix, weights: Matrix, rows: Sequence[Whole], wanted: Matrix) -> float:
    import numpy as np

    cosines = []
    for row, vector in zip(rows, wanted, strict=True):
        found = (table[row] * weights[row, None]).sum(axis=0)
        lengths = float(np.linalg.norm(found) * np.linalg.norm(vector))
        cosines.append(float(found @ vector) / lengths if lengths else 0.0)
    return sum(cosines) / len(cosines) if cosines else 0.0


def _prior(
    provider: Any,
    tokens: int,
    space: Space,
    cache: str,
    deadline: float | None,
    progress: Callable[[int, int, str], None] | None,
) -> Matrix | None:
    """T₀, from the cache as far as it goes; None past the deadline."""
    import numpy as np

    from core.files import write_atomic

    path = os.path.join(cache, f"tokens-{space.fingerprint}.f16")
    result = np.empty((tokens, space.dimensions), dtype=np.float32)
    known = np.fromfile(path, dtype=np.float16) if os.path.isfile(path) else np.empty(0, dtype=np.float16)
    done = min(tokens, known.size // space.dimensions)
    result[:done] = known[: done * space.dimensions].reshape(done, space.dimensions)
    if done == tokens:
        return result
    while done < tokens and not _past(deadline):
        if progress:
            progress(done, tokens, "reading the vocabulary")
        ids = [[index] for index in range(done, min(tokens, done + _BATCH))]
        result[done : done + len(ids)] = provider.embed_ids(ids)
        done += len(ids)
    write_atomic(path, result[:done].astype(np.float16).tobytes())
    return result if done == tokens else None


def _sample(connection: apsw.Connection, space: Space) -> tuple[list[str], Matrix]:
    """The texts of at most ``_CHUNKS`` chunks, whole documents at a time and spread over all, and their vectors."""
    import numpy as np

    texts: list[str] = []
    found: list[bytes] = []
    # Hashes are as good as a draw, and the same one each time.
    cuts: Any = connection.execute(
        "SELECT t.id, t.hash, e.done FROM brain_cuts t JOIN brain_embedded e ON e.cut = t.id AND e.model = ?"
        " ORDER BY t.hash",
        (space.id,),
    ).fetchall()
    for cut, digest, done in cuts:
        if len(texts) >= _CHUNKS:
            break
        text: Any = connection.execute("SELECT doc FROM content WHERE hash = ?", (digest,)).get
        if text is None:
            continue
        for number, (start, end, _) in enumerate(vectors.spans(connection, cut)[:done]):
            rowid = cut * SPAN + number
            vector: Any = connection.execute(f'SELECT embedding FROM "{space.table}" WHERE rowid = ?', (rowid,)).get
            if vector is not None:
                texts.append(text[start:end])
                found.append(vector)
    packed = np.frombuffer(b"".join(found), dtype=np.int8).reshape(len(found), space.dimensions)
    return texts, packed.astype(np.float32) / np.float32(127)


def _encode(provider: Any, texts: Sequence[str]) -> list[Any]:
    encoded: list[Any] = provider.tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return encoded


def _store(
    connection: apsw.Connection, space: Space, tokens: Sequence[str], table: Matrix, count: int, quality: float
) -> None:
    import numpy as np

    scales = np.maximum(np.abs(table).max(axis=1), 1e-9) / 127.0
    rounded = np.rint(table / scales[:, None]).astype(np.int8)
    with Transaction(connection):
        connection.execute("DELETE FROM brain_static WHERE model = ?", (space.id,))
        connection.executemany(
            "INSERT INTO brain_static(model, token, scale, vector) VALUES(?, ?, ?, ?)",
            sorted(
                (space.id, token, float(scale), row.tobytes())
                for token, scale, row in zip(tokens, scales, rounded, strict=True)
            ),
        )
        connection.execute(
            "INSERT OR REPLACE INTO brain_static_fits VALUES(?, ?, ?, ?, ?, ?)",
            (space.id, static_query.VERSION, space.fingerprint, count, quality, clock.now()),
        )


def _past(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() > deadline
