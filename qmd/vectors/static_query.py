"""A question's vector from a cold process: the sum of a few rows of a table that was fitted to the model.

docs/retrieval.md says how the table is made (``qmd/vectors/static_fit.py``) and what it is worth. Reading it needs
neither numpy nor the model: a row a token, and the tokens are cut here (``qmd/vectors/py``).
"""

from __future__ import annotations

from math import log10

import apsw

from core.errors import EngineMissing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from qmd.index.semantic.spaces import Space
    from qmd.vectors.knn import Look

    class Encoder(Protocol):
        """Turns a question into a vector of one space.

        ``kind`` is ``static`` or ``model``; ``level`` is the cosine that questions reach even where there is no answer,
        None if that is not known. ``fingerprint`` is that of the space with comparable vectors.
        """

        kind: str
        level: float | None
        fingerprint: str

        def begin(self, question: str, look: Look | None = None) -> Begun | None:
            """Begin to encode; return None if the question has nothing that the encoder knows.

            An encoder that has the vectors of a space in memory also finds the nearest to the question's.
            """
            ...

    class Begun(Protocol):
        """A question that is being encoded."""

        def vector(self) -> bytes:
            """Return the question's vector, int8 of length 127."""
            ...

        def chunks(self) -> list[tuple[int, float]] | None:
            """Return the answer to ``look``, as ``qmd.vectors.knn.chunks``; None if the caller must look."""
            ...

    from collections.abc import Callable

    # True for a piece of the model.
    IsPiece = Callable[[str], bool]

# Bump with whatever makes tables of before unusable.
VERSION = 3
# A table that says less about unseen texts is not used.
LEAST_QUALITY = 0.5
# Cosines that the best passage has for questions of another corpus (docs/retrieval.md). A table comes nearer to what
# it was fitted to: from a thousand chunks on its level is higher by so much for each tenfold.
STATIC_LEVEL = 0.38
_LEVEL_STEP, _LEVEL_CHUNKS = 0.11, 1_000
MODEL_LEVEL = 0.28
# No row's scale comes near: a damaged one would drown all others.
_MOST = 1e9
_INFINITE = float("inf")
# Words of a long question that are read.
_WORDS = 96

TABLES = """
CREATE TABLE IF NOT EXISTS brain_static_fits (
  model INTEGER PRIMARY KEY,
  version INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  vectors INTEGER NOT NULL,
  quality REAL NOT NULL,
  as_of INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS brain_static (
  model INTEGER NOT NULL,
  token TEXT NOT NULL,
  scale REAL NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (model, token)
) WITHOUT ROWID;
"""


class QueryVector:
    """A question with its vector known at once; nothing is looked up for it."""

    __slots__ = ("_vector",)

    def __init__(self, vector: bytes) -> None:
        self._vector = vector

    def vector(self) -> bytes:
        """Return the vector."""
        return self._vector

    def chunks(self) -> None:
        """Return None: the caller looks."""


class StaticQuery:
    """The table of a space that was fitted when that had so many ``chunks``.

    ``quality`` is its mean cosine with the model over texts it was not fitted to.
    """

    __slots__ = (
        "_connection",
        "_damage",
        "_damaged",
        "_dimensions",
        "_model",
        "fingerprint",
        "kind",
        "level",
        "quality",
    )

    def __init__(self, connection: apsw.Connection, space: Space, quality: float, chunks: int) -> None:
        self._connection = connection
        self._damage = EngineMissing(f"the query table of {space.name} is damaged", "brain embed")
        self._damaged = False
        self._model = space.id
        self._dimensions = space.dimensions
        self.quality = quality
        self.kind = "static"
        self.fingerprint = space.fingerprint
        self.level: float | None = STATIC_LEVEL + _LEVEL_STEP * max(0.0, log10(max(1, chunks) / _LEVEL_CHUNKS))

    def begin(self, question: str, look: Look | None = None) -> QueryVector | None:  # noqa: ARG002  # it has no other vectors
        """Return the question's vector, None if ``encode`` gives none.

        Raises as ``encode`` does, and EngineMissing if damage is why there is none.
        """
        vector = self.encode(question)
        if self._damaged and not vector:
            raise self._damage
        return QueryVector(vector) if vector else None

    def encode(self, question: str) -> bytes:
        """Return the question's vector, int8, of length 127; empty if no token of it is in the table.

        A damaged row is skipped: the tokens that are whole answer. Raises EngineMissing if there are no rows at all,
        apsw.Error.
        """
        self._damaged = False
        rows: dict[str, tuple[float, Any] | None] = {}

        def known(piece: str) -> bool:
            if piece not in rows:
                row = self._row(piece)
                if row is not None and not self._is_whole(row):
                    self._damaged, row = True, None
                rows[piece] = None if row is None else (row[0], memoryview(row[1]).cast("b"))
            return rows[piece] is not None

        total = [0.0] * self._dimensions
        found = False
        for word in words(question)[:_WORDS]:
            for piece in pieces(word, known):
                row = rows[piece]
                if row is not None:
                    scale, vector = row
                    total = [sum_ + scale * value for sum_, value in zip(total, vector, strict=True)]
                    found = True
        return unit(total) if found else b""

    def _row(self, token: str) -> Any:
        try:
            return self._connection.execute(
                "SELECT scale, vector FROM brain_static WHERE model = ? AND token = ?", (self._model, token)
            ).fetchone()
        except apsw.SQLError:  # there is no such table
            raise self._damage from None

    def _is_whole(self, row: tuple[Any, Any]) -> bool:
        scale, vector = row
        return (
            type(scale) is float
            and -_MOST < scale < _MOST
            and type(vector) is bytes
            and len(vector) == self._dimensions
        )


def table_of(connection: apsw.Connection, space: Space) -> StaticQuery | str:
    """Return the table of a space, or why none can be used. Raises apsw.Error."""
    try:
        row: Any = connection.execute(
            "SELECT version, fingerprint, quality, vectors FROM brain_static_fits WHERE model = ?", (space.id,)
        ).fetchone()
    except apsw.SQLError:
        row = None
    if row is None and space.provider != "local":
        return f"{space.name} is asked only by brain serve: a cold process has no query table for it"
    if row is None or row[0] != VERSION or row[1] != space.fingerprint:
        return f"no query table is fitted to {space.name} yet"
    if not is_whole(row):
        return f"the query table of {space.name} is damaged (brain embed)"
    if row[2] < LEAST_QUALITY:
        return f"the query table of {space.name} is too weak yet ({row[2]:.2f})"
    return StaticQuery(connection, space, row[2], row[3])


def is_whole(row: tuple[Any, ...]) -> bool:
    """Return True if (…, …, quality, vectors) of ``brain_static_fits`` are possible numbers."""
    quality, count = row[2:]
    return type(quality) is float and -1 <= quality <= 2 and type(count) is int and 0 <= count < 1 << 62


def unit(vector: list[float]) -> bytes:
    """Return ``vector`` at length 127 as int8; empty if it has no length."""
    length = sum(value * value for value in vector) ** 0.5
    if not 0 < length < _INFINITE:
        return b""
    scale = 127.0 / length
    return bytes([round(value * scale) & 255 for value in vector])


# A longer word is unknown as a whole, as in the models' own configuration.
LONGEST = 100
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
# The ideographs that BERT takes one by one: first and last code points.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def words(text: str) -> list[str]:
    """Lower-case words and single punctuation marks, accents taken off."""
    return _ascii_words(text) if text.isascii() else _words(text)


def pieces(word: str, known: IsPiece) -> list[str]:
    """Return the longest known pieces of a word from its left, later ones with ``##``; none if one is unknown."""
    if len(word) > LONGEST:
        return []
    found: list[str] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            piece = prefix + word[start:end]
            if known(piece):
                found.append(piece)
                start = end
                break
        else:
            return []
    return found


def _ascii_words(text: str) -> list[str]:
    found: list[str] = []
    start = -1
    for index, character in enumerate(text.lower()):
        if character.isalnum():
            if start < 0:
                start = index
            continue
        if (character < " " and character not in "\t\n\r") or character == "\x7f":
            # A control character is dropped: the text on its two sides is one word.
            return _words(text)
        if start >= 0:
            found.append(text[start:index].lower())
            start = -1
        if character in _PUNCTUATION:
            found.append(character)
    if start >= 0:
        found.append(text[start:].lower())
    return found


def _words(text: str) -> list[str]:
    from unicodedata import category, normalize

    clean: list[str] = []
    for character in text:
        if character in "\t\n\r":
            clean.append(" ")
        elif character == "\ufffd" or category(character)[0] == "C":
            continue
        elif _is_ideograph(ord(character)):
            clean += (" ", character, " ")
        else:
            clean.append(" " if character.isspace() else character)
    bare = "".join(each for each in normalize("NFD", "".join(clean)) if category(each) != "Mn")
    # One character at a time, so that no letter depends on its neighbours (a final sigma).
    lower = "".join(each.lower() for each in bare)
    found: list[str] = []
    held = ""
    for character in lower:
        mark = character in _PUNCTUATION or category(character)[0] == "P"
        if mark or character.isspace():
            if held:
                found.append(held)
            held = ""
            if mark:
                found.append(character)
        else:
            held += character
    if held:
        found.append(held)
    return found


def _is_ideograph(point: int) -> bool:
    return point >= 0x3400 and any(first <= point <= last for first, last in _IDEOGRAPHS)
