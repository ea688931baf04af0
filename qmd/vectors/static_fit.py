"""Fitting the query table: what all tables of a model begin with, and then a space's own chunks
(``qmd/vectors/ridge.py``).

docs/retrieval.md has the measurements.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from core import clock
from qmd.index import catalogue
from qmd.index.schema import SPAN
from qmd.index.semantic import spaces, vectors
from qmd.index.store import Transaction
from qmd.vectors import ridge, static_prior, static_query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from qmd.index.semantic.spaces import Space

    Matrix = NDArray[np.float32]
    Whole = NDArray[np.int64]

# More chunks than this are drawn from: the fit is no better, and takes longer.
_CHUNKS = 12_000
# With fewer chunks, words find everything.
LEAST = 20
# Every so manyth chunk is kept out, to say what the table is worth; of few chunks more, so that these are some.
_HELD_OUT = 20
_SOME = 8
# A table is fitted again once so much more has been embedded.
_GROWTH = 1.2


def can(provider: Any) -> bool:
    """Return True if the provider's model cuts texts as ``qmd/vectors/static_query.py`` and embeds single tokens."""
    tokenizer = provider.tokenizer
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
    """Return True if a space has a table for questions. Raises apsw.Error."""
    return not isinstance(static_query.table_of(connection, space), str)


def due(connection: apsw.Connection, space: Space) -> bool:
    """Return True if a space has no whole table, or has grown well past its table. Raises apsw.Error."""
    count = spaces.count(connection, space)
    if count < LEAST:
        return False
    connection.execute(static_query.TABLES)
    row: Any = connection.execute(
        "SELECT version, fingerprint, quality, vectors FROM brain_static_fits WHERE model = ?", (space.id,)
    ).fetchone()
    if row is None or row[:2] != (static_query.VERSION, space.fingerprint) or not static_query.is_whole(row):
        return True
    rows: Any = connection.execute(
        "SELECT count(*), sum(typeof(scale) <> 'real' OR abs(scale) >= 1e9 OR typeof(vector) <> 'blob'"
        " OR length(vector) <> ?) FROM brain_static WHERE model = ?",
        (space.dimensions, space.id),
    ).fetchone()
    return not rows[0] or bool(rows[1]) or count > _GROWTH * row[3]


def room(space: Space, provider: Any, folder: str) -> int:
    """About how many bytes of the disk it takes to ``fit`` a table: its own, and those that lead to it."""
    numbers: int = provider.tokenizer.get_vocab_size() * space.dimensions
    # A row of int8 goes into SQLite's log, then into the file.
    return 2 * numbers + (0 if static_prior.exists(space, folder) else static_prior.BYTES * numbers)


def fit(
    connection: apsw.Connection,
    space: Space,
    provider: Any,
    folder: str,
    deadline: float | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> float | None:
    """Fit and store the table of a space; returns its quality (the mean cosine over the chunks kept out).

    ``folder`` keeps what does not depend on the space (``qmd/vectors/static_prior.py``): it costs a minute. Past
    ``deadline`` (``time.monotonic()``) it returns None, and the next call goes on from there. Raises apsw.Error,
    OSError, and BrainError where the provider fails.
    """
    import numpy as np

    spaces.load(connection)
    connection.execute(static_query.TABLES)
    tokens = [token for token, _ in sorted(provider.tokenizer.get_vocab().items(), key=lambda item: item[1])]
    known = static_prior.prior(provider, len(tokens), space, folder, deadline, progress)
    if known is None:
        return None
    count = spaces.count(connection, space)
    texts, wanted = _sample(connection, space)
    rows = static_prior.encoded(provider, texts)
    filled = [index for index, ids in enumerate(rows) if len(ids)]
    rows, wanted = [rows[index] for index in filled], wanted[filled]
    if not rows:  # nothing here that the model reads; nor does it read questions, then
        _store(connection, space, tokens, known, count, 0.0)
        return 0.0

    counted = ridge.weights(np.bincount(np.concatenate(rows), minlength=len(tokens)))
    every = max(2, min(_HELD_OUT, len(rows) // _SOME))
    outside = np.arange(len(rows)) % every == every - 1
    inside = [row for row, out in zip(rows, outside, strict=True) if not out]
    table = ridge.fit(inside, wanted[~outside], counted, known, deadline, progress)
    if table is None:
        return None
    kept_out = [row for row, out in zip(rows, outside, strict=True) if out]
    quality = _quality(table, counted, kept_out, wanted[outside])
    if every < _HELD_OUT:  # too much was kept out to do without
        table = ridge.fit(rows, wanted, counted, known, deadline, progress)
        if table is None:
            return None
    _store(connection, space, tokens, table * counted[:, None], count, quality)
    return quality


def _quality(table: Matrix, weights: Matrix, rows: Sequence[Whole], wanted: Matrix) -> float:
    import numpy as np

    cosines = []
    for row, vector in zip(rows, wanted, strict=True):
        found = (table[row] * weights[row, None]).sum(axis=0)
        lengths = float(np.linalg.norm(found) * np.linalg.norm(vector))
        cosines.append(float(found @ vector) / lengths if lengths else 0.0)
    return sum(cosines) / len(cosines) if cosines else 0.0


def _sample(connection: apsw.Connection, space: Space) -> tuple[list[str], Matrix]:
    """Return the texts of at most ``_CHUNKS`` chunks, whole documents spread over all, and their vectors."""
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
        text = catalogue.text(connection, digest)
        if text is None:
            continue
        for number, (start, end, kind) in enumerate(vectors.spans(connection, cut)[:done]):
            rowid = cut * SPAN + number
            vector: Any = connection.execute(f'SELECT embedding FROM "{space.table}" WHERE rowid = ?', (rowid,)).get
            if vector is not None:
                texts.append(vectors.chunk_text(text, start, end, kind))
                found.append(vector)
    packed = np.frombuffer(b"".join(found), dtype=np.int8).reshape(len(found), space.dimensions)
    return texts, packed.astype(np.float32) / np.float32(127)


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
