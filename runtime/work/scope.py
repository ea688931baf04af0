"""Restrictions of a question about the work, and the frame of its answer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import apsw

from core import clock
from core.redaction import shown_value
from core.text import printable_value
from qmd.index.actions import table
from qmd.index.store import translate
from runtime.asking import absence
from runtime.asking.envelope import Freshness, age, uri, uri_of
from runtime.asking.own_index import open_own
from runtime.asking.request import project_glob
from runtime.validity import CONTRADICTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from core.config import Config
    from core.home import Home
    from qmd.index.actions.action import Action
    from qmd.index.actions.table import Origin
    from qmd.search.search import Hit

    class Done(Protocol):
        """Something in a session's document: an action, or an attempt."""

        @property
        def document(self) -> int: ...
        @property
        def at(self) -> int: ...
        @property
        def line(self) -> int: ...
        @property
        def turn(self) -> int: ...


DEFAULT_LIMIT = 10


class Scope:
    """One question: the index, and the projects, days and number of results that were asked for.

    ``since`` is epoch seconds, 0 for all. ``folder`` is where the question was asked: its project comes first.
    ``shared`` are documents of other members of a team by id: ``connection`` has their rows as well.
    """

    def __init__(self, home: Home, config: Config, connection: apsw.Connection, now: int) -> None:
        self.home, self.config, self.connection, self.now = home, config, connection, now
        self.since, self.limit = 0, DEFAULT_LIMIT
        self.folder = ""
        self.project = ""
        self.shared: dict[int, Hit] = {}
        self._documents: set[int] | None = None
        self._origins: dict[int, Origin] = {}

    def holds(self, document: int) -> bool:
        """Return True if a document is of the projects that were asked for."""
        if not self.project:
            return True
        if self._documents is None:
            self._documents = table.within(self.connection, project_glob(self.project))
        return document in self._documents

    def load(self, documents: Iterable[int]) -> None:
        """Read the origins of documents at once."""
        unknown = {document for document in documents if document not in self._origins}
        if unknown:
            for document, origin in table.origins(self.connection, unknown).items():
                hit = self.shared.get(document)
                # Two members may have sessions of one id.
                session = f"{hit.owner}/{origin.session}" if hit else origin.session
                self._origins[document] = origin._replace(session=session)

    def origin(self, document: int) -> Origin:
        """Return the origin of a document."""
        if document not in self._origins:
            self.load((document,))
        return self._origins[document]

    def uri(self, document: int) -> str:
        """Return the uri of a document."""
        if document in self.shared:
            return uri_of(self.shared[document])
        origin = self.origin(document)
        return uri(origin.collection, origin.path)

    def is_here(self, project: str) -> bool:
        """Return True if the question was asked inside a project, or above it."""
        here = f"{self.folder}/"
        return bool(project and self.folder) and (here.startswith(f"{project}/") or f"{project}/".startswith(here))

    def place(self, done: Done, at: int = 0) -> dict[str, Any]:
        """Return where and when something was done, as a result has it; ``at`` (epoch seconds) if it is given."""
        return self.place_of(done.document, at or done.at, done.line, done.turn)

    def place_of(self, document: int, at: int, line: int, turn: int = 0) -> dict[str, Any]:
        """Return a place in a document and a time (epoch seconds) as the fields of a result.

        One of another member of the team has the ``owner`` as well, and ``trust``.
        """
        origin, shared = self.origin(document), self.shared.get(document)
        days, text = age(at, self.now)
        return {
            "uri": self.uri(document),
            "line": line,
            "turn": turn,
            "title": origin.title,
            "project": origin.project,
            "source": origin.source,
            "date": clock.iso(at),
            "age_days": days,
            "age": text,
            **({"owner": shared.owner, "trust": shared.trust} if shared else {}),
        }

    def contradicted(self, later: Action) -> dict[str, Any]:
        """Return the ``validity`` of what a later failure contradicts."""
        place, date = self.uri(later.document), clock.iso(later.at)
        side = {"uri": place, "line": later.line, "date": date, "text": later.note or f"failed: {later.subject}"}
        return {"state": CONTRADICTED, "by": [side]}

    def is_clean(self) -> bool:
        """Return True if the redaction policy hides nothing of any document that was looked at."""
        return all(origin.is_clean for origin in self._origins.values())


def answer(
    home: Home,
    config: Config,
    ask: Callable[[Scope], dict[str, Any]],
    results: str,
    *,
    project: str = "",
    since: int = 0,
    limit: int = DEFAULT_LIMIT,
    about: str = "",
) -> dict[str, Any]:
    """Return the envelope of a question: what ``ask`` returns, framed, fit to be shown to people and agents.

    ``results`` names the list that is empty if nothing was found; ``error`` is then ``no_results``. With ``about``,
    what a team shares about these words takes part, and ``freshness.team`` says so. Raises EngineMissing, and what
    SQLite's failures are translated into.
    """
    connection = open_own(home, config)
    try:
        scope = Scope(home, config, connection, clock.now())
        shared: dict[str, Any] = {}
        if about and config.engine is not None:
            from runtime.asking import team

            scope.shared, shared["team"] = team.lay_over(connection, config, team.about(connection, about))
        connection.execute("BEGIN")
        scope.project, scope.since, scope.limit = project, since, limit
        scope.folder = os.getcwd()
        found = ask(scope)
        connection.execute("COMMIT")
        fresh = Freshness(home, config, connection)
        if fresh.complete and not found[results]:
            absence.require_indexed(home, config, connection)
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
    cleaned = printable_value(found) if scope.is_clean() else shown_value(found)
    envelope: dict[str, Any] = {"schema": 1, "ok": True}
    if not found[results]:
        envelope["error"] = "no_results"
    return {**envelope, **cleaned, "freshness": {**fresh.envelope(), **shared}}


def where(found: dict[str, Any]) -> str:
    """Return the place of a result in one line."""
    project = str(found["project"]).rstrip("/").rpartition("/")[2]
    said = (found.get("owner"), found["age"], found.get("trust"), project, f"{found['uri']}:{found['line']}")
    return " · ".join(filter(None, said))
