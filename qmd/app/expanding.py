"""What a generator adds to a plain ``query``, shown on stderr as qmd shows it; where it adds nothing, why."""

from __future__ import annotations

import os

from core.errors import BadInput
from qmd import ecma, trust
from qmd.generation import choice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from qmd.app.session import Session
    from qmd.generation.expander import Expander
    from qmd.search.semantic import Semantic
    from qmd.search.structured import Search

_SHOWN = 72


def configured(session: Session) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """The sections ``generation`` and ``models``; empty where they came with a project and are not approved: they would
    choose where questions are sent.
    """
    config = session.config
    return (config.generation, config.models) if trust.is_approved(session.settings, config) else ({}, {})


def chosen(session: Session) -> choice.Choice | str:
    """The generator that is meant, or why there is none. Raises BadInput."""
    return choice.choose(*configured(session), os.environ)


def name(session: Session) -> str:
    """The generator's, "" where there is none that could be used."""
    try:
        found = chosen(session)
    except BadInput:
        return ""
    return "" if isinstance(found, str) else found.name


def opened(session: Session) -> Expander | str:
    """What expands questions, or why nothing does."""
    from qmd.generation import expander

    return expander.opened(session.index, *configured(session), os.environ, outgoing=session.settings.outgoing)


class Expansion:
    """One query's. ``intent`` is what its asker is after."""

    __slots__ = ("_asked", "_session", "_why", "found", "intent", "query")

    def __init__(self, session: Session, query: str, intent: str) -> None:
        self._session = session
        self.query = query
        self.intent = intent
        self._asked = False
        self._why = choice.NONE
        self.found: list[Search] = []

    def expand(self) -> list[Search]:
        """What is searched for besides; nobody is asked again for that. Raises apsw.Error."""
        if self._asked:
            return self.found
        self._asked = True
        out = self._session.out
        source = opened(self._session)
        if isinstance(source, str):
            self._why = source
            return []
        out.error(out.paint("dim", f"Expanding query by {source.name}..."))
        self.found, self._why = source.expand(self.query, self.intent), source.why
        lines = [self.query, *(f"{search.kind}: {search.query}" for search in self.found)] if self.found else []
        for number, line in enumerate(lines, 1):
            flat = " ".join(line.split())
            text = flat if ecma.length(flat) <= _SHOWN else ecma.cut(flat, 0, _SHOWN - 3) + "..."
            out.error(out.paint("dim", f"{'└─' if number == len(lines) else '├─'} {text}"))
        return self.found

    def tell(self, meaning: Semantic | str) -> None:
        """Say what was not done."""
        out = self._session.out
        unexpanded = "" if self.found else f"Not expanded: {self._why}"
        if not isinstance(meaning, str):
            if unexpanded:
                out.error(out.paint("dim", f"{unexpanded}; by keywords and by meaning"))
            return
        if self.found:
            out.error(f"Warning: answered by keywords alone, not by meaning: {meaning}.")
            return
        out.error(f"Warning: answered by these keywords alone, unexpanded: {meaning}.")
        if self._why != choice.NONE:
            out.error(out.paint("dim", unexpanded))
