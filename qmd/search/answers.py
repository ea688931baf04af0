"""What goes into a search besides the question, and what comes out: filters, hits, candidates, explanations."""

from __future__ import annotations

from core.jsonb import unpack
from core.version import REDACTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw


class Filters:
    """Which documents may answer. ``fields`` are (name, "=" or "GLOB", value) over the frontmatter, any item of a list.

    ``since`` and ``until`` (exclusive) are epoch seconds and test overlap with a document's ``date``…``ended``.
    """

    __slots__ = ("collections", "fields", "since", "until")

    def __init__(
        self,
        collections: tuple[str, ...] = (),
        *,
        since: int | None = None,
        until: int | None = None,
        fields: tuple[tuple[str, str, str], ...] = (),
    ) -> None:
        self.collections = collections
        self.since = since
        self.until = until
        self.fields = fields

    def within(self, collections: tuple[str, ...]) -> Filters:
        """The same of ``collections`` alone."""
        return Filters(collections, since=self.since, until=self.until, fields=self.fields)

    def restrict(self, connection: apsw.Connection) -> bool:
        """Whether there is a document that they leave out, as far as a glance can tell. Raises apsw.Error."""
        if self.since is not None or self.until is not None or self.fields:
            return True
        if not self.collections:
            return False
        # Most collections of a configuration are empty, among them those that are asked by name alone.
        others = [
            name for (name,) in connection.execute("SELECT name FROM store_collections") if name not in self.collections
        ]
        held = "SELECT 1 FROM documents WHERE collection = ? AND active = 1 LIMIT 1"
        return any(connection.execute(held, (name,)).get for name in others)

    def sql(self) -> tuple[str, list[Any]]:
        """A condition over ``documents d JOIN brain_facts f``, and its bindings."""
        clauses = ["d.active = 1"]
        bindings: list[Any] = []
        if self.collections:
            clauses.append(f"d.collection IN ({','.join('?' * len(self.collections))})")
            bindings += self.collections
        if self.since is not None:
            clauses.append("f.ended >= ?")
            bindings.append(self.since)
        if self.until is not None:
            clauses.append("f.date < ?")
            bindings.append(self.until)
        for name, operator, value in self.fields:
            # One row a scalar, one an item of a list; what is written true or 3 is compared as it is written.
            clauses.append(
                "EXISTS (SELECT 1 FROM json_each(f.fields, ?)"
                " WHERE CASE WHEN type IN ('true', 'false') THEN type ELSE CAST(value AS TEXT) END"
                f" {'GLOB' if operator == 'GLOB' else '='} ?)"
            )
            bindings += [f'$."{name}"', value]
        return " AND ".join(clauses), bindings


# Of ``documents d JOIN brain_facts f``, what makes a hit.
COLUMNS = "d.id, d.collection, d.path, d.title, d.hash, f.date, f.ended, f.dated, f.fields, f.policy"


class Hit:
    """One answer. ``score`` is 0–1: the share of the evidence that a perfect match would give. ``line`` is 1-based.

    ``is_clean``: the present redaction policy hides nothing of the document, so that its text is shown as it is.
    ``piece`` is the passage where the evidence stands, (start, end) in characters; (0, 0) where there is none.
    """

    __slots__ = (
        "collection", "date", "dated", "document_id", "ended", "fields", "hash", "is_clean", "line", "parts", "path",
        "piece", "score", "snippet", "title",
    )  # fmt: skip

    def __init__(self, row: tuple[Any, ...], score: float, parts: dict[str, Any]) -> None:
        self.document_id, self.collection, self.path, _, self.hash, self.date, self.ended = row[:7]
        self.dated = bool(row[7])
        self.fields: dict[str, Any] = _fields(row[8])
        self.is_clean = row[9] == REDACTION
        self.title = title_of(self.fields, row[3])
        self.score = score
        self.parts = parts
        self.line = 1
        self.snippet = ""
        self.piece = (0, 0)

    def field(self, name: str) -> str | None:
        """A field of the frontmatter as text, None where it has none."""
        return text_of(self.fields.get(name))


class Scored:
    """A candidate's score and where its evidence stands (``passage`` is a passage's rowid, 0 for none)."""

    __slots__ = ("best", "date", "document", "name", "passage", "passage_score", "span", "token")

    def __init__(self) -> None:
        self.document = 0.0
        self.passage_score = 0.0
        self.span = 0.0
        self.date = 0.0
        self.name = 0.0
        self.best = 0.0
        self.passage = 0
        self.token = 0

    @property
    def lexical(self) -> float:
        return self.document + self.passage_score + self.span

    @property
    def sum(self) -> float:
        """All summands: what matches, when it was, and whether it has the name that is asked for."""
        return self.lexical + self.date + self.name

    def total(self, ceiling: float) -> float:
        """The score as a share (0–1) of what a perfect match would have."""
        return min(1.0, self.sum / ceiling)

    def parts(self) -> dict[str, float]:
        """The summands, for people."""
        found = {
            "document": round(self.document, 3),
            "passage": round(self.passage_score, 3),
            "span": round(self.span, 3),
            "date": round(self.date, 3),
        }
        return {**found, "name": round(self.name, 3)} if self.name else found


class Explanation:
    """Why a document ranks where it does.

    ``rank`` is 1-based among the ``candidates`` that were scored; ``nominated`` is False for a document that was
    scored only because it was asked about. ``terms`` has a row a term: its name, the passages that have it, its weight
    and how often the document has it.
    """

    __slots__ = ("candidates", "nominated", "parts", "rank", "score", "terms")

    def __init__(self) -> None:
        self.rank = 0
        self.candidates = 0
        self.nominated = False
        self.score = 0.0
        self.parts: dict[str, float] = {}
        self.terms: list[dict[str, Any]] = []


def text_of(value: Any) -> str | None:
    """A frontmatter value as text: what a person wrote into a field may be of any type."""
    if value is None or value == "":
        return None
    if isinstance(value, list):
        return ", ".join(map(str, value)) or None
    return str(value)


def title_of(fields: dict[str, Any], otherwise: str) -> str:
    """A document's title: its frontmatter's own, else the one that qmd's rules find in it."""
    own = fields.get("title")
    return own if isinstance(own, str) and own.strip() else otherwise


def _fields(packed: bytes) -> dict[str, Any]:
    value = unpack(packed)
    return value if isinstance(value, dict) else {}
