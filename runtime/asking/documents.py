"""Documents of the index, found by one of their names or by a selection."""

from __future__ import annotations

import os
from os.path import isabs, join

from core import jsonb
from core.errors import NO_RESULTS, BadInput, BrainError
from core.version import REDACTION
from qmd.index import catalogue
from runtime.asking.envelope import SCHEME, TEAM, uri, uri_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.config import Config
    from qmd.search.search import Hit

_DIGITS = 6  # qmd accepts any prefix of a hash from six digits on
_PREFIX = 4  # a shorter beginning of a file's name is a word, not a name
_NEAR = 5
# Its documents have the paths of the sessions that they were made of.
_DISTILLED = "distilled"
_HEX = frozenset("0123456789abcdef")


class NotFound(BrainError):
    """No document answers to a reference: a valid answer, exit code 67. ``near`` are uris that come close."""

    code = NO_RESULTS
    error = "no_results"

    def __init__(self, message: str, fix: str, near: list[str]) -> None:
        super().__init__(message, fix, quotes=bool(near))
        self.near = near

    def envelope(self) -> dict[str, object]:
        """As every empty answer: ``ok`` with ``error: no_results``."""
        return {**super().envelope(), "ok": True, "near": self.near}


class Ambiguous(BadInput):
    """Several documents answer to a reference. ``near`` are the uris of some of them."""

    def __init__(self, message: str, fix: str, near: list[str]) -> None:
        super().__init__(message, fix, quotes=True)
        self.near = near

    def envelope(self) -> dict[str, object]:
        """As of every failure, with ``near``."""
        return {**super().envelope(), "near": self.near}


class Row(catalogue.Document):
    """One active document, ``file`` its absolute path (None if the collection is not configured).

    ``line`` is the 1-based line that a reference named, or 0. A document of another member has its ``owner``, what that
    calls it (``trust``) and its ``text``; otherwise these are "" and None.
    """

    __slots__ = ("file", "line", "owner", "text", "trust")

    if TYPE_CHECKING:
        text: str | None

    def __init__(self, row: catalogue.Row, config: Config, line: int = 0) -> None:
        super().__init__(row)
        folder = config.collections.get(self.collection)
        self.file = join(folder.path, self.path) if folder else None
        self.line, self.owner, self.trust, self.text = line, "", "", None


def resolve(connection: apsw.Connection, config: Config, reference: str) -> Row:
    """Return the one document that ``reference`` names.

    A reference is a uri (``qmd://collection/path``), a docid (``#a1b2c3``, with or without ``#``), an absolute path,
    or a collection and path. It may also be a path's unique end (``5f0c.md``, ``5f0c``), or the unique beginning of a
    file's name, from four characters on; a session comes before its distillate. ``:42`` after any of them names a
    line. What the index lacks is looked up in the team's store: a docid, or ``team://owner/collection/path``.
    Raises NotFound (with near names), Ambiguous if several documents match, EngineMissing if the team's server fails.
    """
    text = own_name(config, reference.strip().strip("\"'"))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput("the name of the document is not valid UTF-8", 'brain ask "…" lists documents') from None
    name, line = _split_line(text)
    # A path may itself end in ":42": the whole of it is tried first.
    for candidate, at in ((text, 0), (name, line)) if line else ((text, 0),):
        row = _find(connection, config, candidate) if candidate else None
        if row is not None:
            return Row(row, config, at)
    if config.engine is not None and text.startswith((TEAM, "#")):
        from runtime.asking import team

        for candidate, at in ((text, 0), (name, line)) if line else ((text, 0),):
            found = team.find(connection, config, candidate)
            _only([uri_of(hit) for hit, _ in found], candidate)
            if found:
                return of_team(found[0][0], config, at, found[0][1])
    near = _near(connection, name)
    fix = f"did you mean {near[0]}?" if near else 'brain ask "…" lists documents and their docids'
    raise NotFound(f"no document {reference!r} in the index", fix, near)


def own_name(config: Config, name: str) -> str:
    """Return ``qmd://…`` for a ``team://…`` of the user's own; any other name as it is."""
    owner, _, rest = name.removeprefix(TEAM).partition("/")
    if config.engine is None or not name.startswith(TEAM):
        return name
    from qmd.team import connection

    return f"{SCHEME}{rest}" if owner == connection.member(config.engine) else name


def of_team(hit: Hit, config: Config, line: int = 0, text: str | None = None) -> Row:
    """Return a document of another member."""
    policy = REDACTION if hit.is_clean else 0
    facts = (hit.date, hit.ended, hit.dated, jsonb.pack(hit.fields), policy)
    row = Row((hit.id, hit.collection, hit.path, hit.title, hit.hash, *facts), config, line)
    row.file, row.owner, row.trust, row.text = None, hit.owner, hit.trust, text
    return row


def _find(connection: apsw.Connection, config: Config, name: str) -> catalogue.Row | None:
    if name.startswith(SCHEME):
        return _exact(connection, name[len(SCHEME) :])
    if isabs(name) or name.startswith("~"):
        return _by_file(connection, config, os.path.expanduser(name))
    digits = name.removeprefix("#").lower()
    if len(digits) >= _DIGITS and _HEX.issuperset(digits):
        row = _by_hash(connection, digits, name)
        if row is not None:
            return row
    if name.startswith("#"):
        return None
    return _exact(connection, name) or _by_end(connection, name) or _by_beginning(connection, name)


def _exact(connection: apsw.Connection, name: str) -> catalogue.Row | None:
    collection, _, path = name.partition("/")
    return catalogue.by_path(connection, collection, path)


def _by_file(connection: apsw.Connection, config: Config, path: str) -> catalogue.Row | None:
    for spelling in dict.fromkeys((os.path.normpath(path), os.path.realpath(path))):
        for folder in config.collections.values():
            for root in dict.fromkeys((folder.path, os.path.realpath(folder.path))):
                if spelling.startswith(root + os.sep):
                    row = _exact(connection, f"{folder.name}/{spelling[len(root) + 1 :]}")
                    if row is not None:
                        return row
    return None


def _by_hash(connection: apsw.Connection, digits: str, name: str) -> catalogue.Row | None:
    """Return the document with this hash of its content, the first one if there are copies."""
    rows = catalogue.by_hash(connection, digits)
    _one([row for index, row in enumerate(rows) if row[4] not in {other[4] for other in rows[:index]}], name)
    return rows[0] if rows else None


def _by_end(connection: apsw.Connection, name: str) -> catalogue.Row | None:
    for end in (name, f"{name}.md"):
        rows = _sessions_first(catalogue.by_end(connection, end))
        _one(rows, name)
        if rows:
            return rows[0]
    return None


def _by_beginning(connection: apsw.Connection, name: str) -> catalogue.Row | None:
    if len(name) < _PREFIX or "/" in name:
        return None
    rows = _sessions_first(catalogue.by_beginning(connection, name))
    _one(rows, name)
    return rows[0] if rows else None


def _sessions_first(rows: list[catalogue.Row]) -> list[catalogue.Row]:
    """Leave out distillates of sessions that have the same name: it is the session's."""
    sessions = {row[2] for row in rows if row[1] != _DISTILLED}
    return [row for row in rows if row[1] != _DISTILLED or row[2] not in sessions]


def _one(rows: list[catalogue.Row], name: str) -> None:
    _only([uri(row[1], row[2]) for row in rows], name)


def _only(uris: list[str], name: str) -> None:
    if len(uris) > 1:
        near = uris[:_NEAR]
        more = " and more" if len(uris) > _NEAR else ""
        raise Ambiguous(f"{name!r} names several documents: {', '.join(near)}{more}", f"name one: {near[0]}", near)


def _near(connection: apsw.Connection, name: str) -> list[str]:
    """Return uris of documents with the name in their path, else with a similar file name; none for a docid."""
    if name.startswith("#"):
        return []
    stem = name.removeprefix(SCHEME).rpartition("/")[2].removesuffix(".md")
    if not stem:
        return []
    rows = catalogue.containing(connection, stem, _NEAR)
    if not rows:
        import difflib

        alike: dict[str, tuple[str, str]] = {}
        for _, collection, path, *_ in catalogue.entries(connection):
            other = path.rpartition("/")[2].removesuffix(".md")
            if abs(len(other) - len(stem)) < 4 and other[:2].lower() == stem[:2].lower():
                alike.setdefault(other, (collection, path))
        rows = [alike[match] for match in difflib.get_close_matches(stem, list(alike)[:2000], n=_NEAR)]
    return [uri(collection, path) for collection, path in rows]


def _split_line(text: str) -> tuple[str, int]:
    name, colon, digits = text.rpartition(":")
    if colon and name and digits.isascii() and digits.isdigit() and len(digits) < 10:
        return name, int(digits)
    return text, 0


class Selection:
    """Which documents: ``references`` name them, else the filters do (all are met; none given is every document).

    ``since`` and ``until`` (exclusive, epoch seconds) test overlap with the document's date to end; ``project`` is an
    SQLite GLOB on its path; ``within`` covers as a rule of ``exclude: projects`` does.
    """

    __slots__ = ("collections", "project", "references", "since", "source", "until", "within")

    def __init__(
        self,
        *,
        references: Sequence[str] = (),
        collections: Sequence[str] = (),
        source: str = "",
        project: str = "",
        within: str = "",
        since: int | None = None,
        until: int | None = None,
    ) -> None:
        self.references = references
        self.collections = collections
        self.source = source
        self.project = project
        self.within = within
        self.since = since
        self.until = until


def select(connection: apsw.Connection, config: Config, chosen: Selection) -> list[Row]:
    """Return the selected documents by collection and path, or in the order of the references.

    Raises BadInput on an unknown collection or source, NotFound on an unknown reference.
    """
    if chosen.references:
        rows = [resolve(connection, config, reference) for reference in chosen.references]
        return list({row.id: row for row in rows}.values())
    for name in chosen.collections:
        if name not in config.collections:
            raise BadInput(f"there is no collection {name!r}", f"one of: {', '.join(config.collections)}")
    fields = (("source", "=", chosen.source), ("project", "GLOB", chosen.project))
    filters = catalogue.Filters(
        chosen.collections,
        since=chosen.since,
        until=chosen.until,
        fields=tuple((name, operator, value) for name, operator, value in fields if value),
    )
    rows = [Row(row, config) for row in catalogue.rows(connection, filters)]
    if not rows and chosen.source:
        from runtime.asking import absence

        absence.require_source(connection, chosen.source)
    return _within(rows, chosen.within) if chosen.within else rows


def _within(rows: list[Row], rule: str) -> list[Row]:
    """Return rows of work that was begun, run or committed below a folder of the rule, and of code in such a folder."""
    from ingest.policy.exclusions import Globs
    from ingest.session import project_ids

    globs = Globs([rule])
    signs = project_ids.Signs(globs)
    held: list[Row] = []
    for row in rows:
        folder, file = row.fields.get("project"), row.fields.get("filePath")
        if not isinstance(folder, str):
            slug = row.fields.get("project_slug")
            if isinstance(slug, str) and signs.covering(project_ids.of_slug(slug)):
                held.append(row)
            continue
        if row.fields.get("nodeId") and isinstance(file, str):  # a symbol of code
            folder = os.path.dirname(join(folder, file))
        if globs.covering(os.path.expanduser(folder)):  # a person's own note may say ~
            held.append(row)
    return held
