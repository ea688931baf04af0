"""Prior of the query tables of a model: its vectors of single tokens, fitted to prose.

A single token says little of what it adds to a text, and a home's own chunks have few of the words of future questions.
The prose is what every installation has: paragraphs of the documentation of Python's standard library.
docs/retrieval.md has the measurements.

The default model's prior is a file of this package, because it costs a minute: ``python -m qmd.embedding.make_prior``
makes it. A model of the user's own gets its prior with the first table.
"""

from __future__ import annotations

import hashlib
import os
import re
import sysconfig
from os.path import dirname, isfile, join
from typing import TYPE_CHECKING, Any

from qmd.vectors import ridge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from qmd.index.semantic.spaces import Space
    from qmd.vectors.ridge import Matrix, Progress, Whole

# Bump with whatever makes another prior of the same model.
_VERSION = 1
# They take the model as long as all single tokens do.
_PARAGRAPHS = 3_000
_WORDS = range(5, 61)
_DOCUMENTATION = re.compile(r'"""(.+?)"""', re.DOTALL)
_NOT_THE_LIBRARY = frozenset(("test", "tests", "site-packages", "dist-packages", "__pycache__"))
_TOKENS_BATCH = 64
_PROSE_BATCH = 8
# Bytes of each number of the prior on the disk while it is fitted: three of float16.
BYTES = 6
# Four bits cover three standard deviations either way: the least error of 1.5 to 4.
_SPREAD = 3.0
# Batches between two writes of what is done.
_OFTEN = 64


def prior(
    provider: Any, tokens: int, space: Space, folder: str, deadline: float | None, progress: Progress | None
) -> Matrix | None:
    """Return a row for each token of the vocabulary, from ``folder`` as far as it has them; None past the deadline.

    Raises OSError, and what the provider raises if it fails.
    """
    import numpy as np

    from core.files import write_atomic

    known = _shipped(space, tokens)
    if known is not None:
        return known
    path = _path(space, folder)
    known = _read(path, tokens, space.dimensions)
    if known is not None:
        return known
    singles = os.path.join(folder, f"tokens-{space.fingerprint}.f16")

    def of_tokens(start: int, end: int) -> Matrix:
        found: Matrix = provider.embed_ids([[index] for index in range(start, end)])
        return found

    table = _grown(singles, (tokens, space.dimensions), _TOKENS_BATCH, of_tokens, deadline, progress, "the vocabulary")
    if table is None:
        return None
    library = paragraphs(_PARAGRAPHS)
    found = [(text, ids) for text, ids in zip(library, encoded(provider, library), strict=True) if len(ids)]
    texts, rows = [text for text, _ in found], [ids for _, ids in found]
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    prose = os.path.join(folder, f"prose-{digest}-{space.fingerprint}.f16")

    def of_prose(start: int, end: int) -> Matrix:
        found: Matrix = provider.embed(texts[start:end])
        return found

    wanted = _grown(prose, (len(texts), space.dimensions), _PROSE_BATCH, of_prose, deadline, progress, "prose")
    if wanted is None:
        return None
    if rows:
        counts = np.bincount(np.concatenate(rows), minlength=tokens)
        fitted = ridge.fit(rows, wanted, ridge.weights(counts), table, deadline, progress)
        if fitted is None:
            return None
        table = fitted
    write_atomic(path, table.astype(np.float16).tobytes())
    for done in (singles, prose):
        if os.path.exists(done):
            os.unlink(done)
    return table


def exists(space: Space, folder: str) -> bool:
    """Return True if this package or ``folder`` has the prior of a space's model."""
    return isfile(package_path(space)) or isfile(_path(space, folder))


def pack(matrix: Matrix) -> bytes:
    """Return a matrix in four bits a number: a float16 scale for each row, then two columns a byte, the left one low.

    A number is (digit - 7.5) * scale. Its cosine with the full prior is 0.99.
    """
    import numpy as np

    scales = (_SPREAD / 7.5 * np.sqrt((matrix**2).mean(axis=1)) + 1e-9).astype(np.float16)
    digits = np.clip(np.floor(matrix / scales[:, None].astype(np.float32)) + 8, 0, 15).astype(np.uint8)
    packed: bytes = scales.tobytes() + (digits[:, ::2] | digits[:, 1::2] << 4).tobytes()
    return packed


def unpack(data: bytes, rows: int, columns: int) -> Matrix:
    """Return the matrix that ``pack`` wrote. Raises ValueError if the size differs."""
    import numpy as np

    if len(data) != rows * (2 + columns // 2):
        raise ValueError(f"{len(data)} bytes are no matrix of {rows} × {columns}")
    scales = np.frombuffer(data, dtype=np.float16, count=rows).astype(np.float32)
    pairs = np.frombuffer(data, dtype=np.uint8, offset=2 * rows).reshape(rows, columns // 2)
    digits = np.stack((pairs & 15, pairs >> 4), axis=2).reshape(rows, columns)
    matrix: Matrix = (digits.astype(np.float32) - np.float32(7.5)) * scales[:, None]
    return matrix


def _shipped(space: Space, tokens: int) -> Matrix | None:
    path = package_path(space)
    if not isfile(path):
        return None
    with open(path, "rb") as file:
        return unpack(file.read(), tokens, space.dimensions)


def package_path(space: Space) -> str:
    """Return where this package has the prior of a space's model, if it has one."""
    return join(dirname(__file__), f"prior-{space.fingerprint}.q4")


def _path(space: Space, folder: str) -> str:
    return os.path.join(folder, f"prior-{_VERSION}-{space.fingerprint}.f16")


def encoded(provider: Any, texts: Sequence[str]) -> list[Whole]:
    """Return the token ids of each text."""
    import numpy as np

    found = provider.tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return [np.asarray(each.ids, dtype=np.int64) for each in found]


def paragraphs(most: int) -> list[str]:
    """Return at most ``most`` paragraphs of some words each, the shortest first; the same ones of the same library.

    There are none if Python came without the sources of its library.
    """
    found: dict[str, None] = {}
    for path in _library():
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                source = stream.read()
        except OSError:  # distributions link some of it to where it need not be
            continue
        for documentation in _DOCUMENTATION.findall(source):
            for paragraph in re.split(r"\n\s*\n", documentation):
                text = " ".join(paragraph.split())
                if len(text.split()) in _WORDS and text[0].isupper() and text[-1] in ".?!:":
                    found[text] = None
        if len(found) >= most:
            break
    return sorted(list(found)[:most], key=len)


def _library() -> Iterator[str]:
    """Return the library's files, in an order that mixes the packages."""
    root = sysconfig.get_paths()["stdlib"]
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in _NOT_THE_LIBRARY]
        files += [os.path.relpath(os.path.join(folder, name), root) for name in names if name.endswith(".py")]
    for name in sorted(files, key=lambda name: hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()):
        yield os.path.join(root, name)


def _read(path: str, tokens: int, dimensions: int) -> Matrix | None:
    """Return the matrix, None if it is missing or incomplete."""
    import numpy as np

    found = np.fromfile(path, dtype=np.float16) if os.path.isfile(path) else np.empty(0, dtype=np.float16)
    return found.reshape(tokens, dimensions).astype(np.float32) if found.size == tokens * dimensions else None


def _grown(
    path: str,
    shape: tuple[int, int],
    batch: int,
    embed: Callable[[int, int], Matrix],
    deadline: float | None,
    progress: Progress | None,
    what: str,
) -> Matrix | None:
    """Return all rows of a matrix that begins with those in ``path``; None past the deadline, with the work written."""
    import numpy as np

    from core.files import write_atomic

    rows, dimensions = shape
    result = np.empty(shape, dtype=np.float32)
    known = np.fromfile(path, dtype=np.float16) if os.path.isfile(path) else np.empty(0, dtype=np.float16)
    done = kept = min(rows, known.size // dimensions)
    result[:done] = known[: done * dimensions].reshape(done, dimensions)
    while done < rows and not ridge.past(deadline):
        if progress:
            progress(done, rows, f"reading {what}")
        end = min(rows, done + batch)
        result[done:end] = embed(done, end)
        done = end
        if done - kept >= _OFTEN * batch:
            write_atomic(path, result[:done].astype(np.float16).tobytes())
            kept = done
    if done > kept:
        write_atomic(path, result[:done].astype(np.float16).tobytes())
    return result if done == rows else None
