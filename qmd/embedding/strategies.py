"""By which rule code is cut, and what it takes to go over to the other one.

The rule holds for all models of a layout, since they share its cuts, and stays in force until another is asked for.
Only texts whose cuts it moves are embedded anew, and their old vectors answer until then (``qmd.index.rechunking``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.index import catalogue, rechunking, spaces, vectors
from qmd.index.store import Transaction
from qmd.vectors import syntax

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from qmd.embedding.provider import Layout

# Texts between two commits, so that indexing goes on beside it.
_GROUP = 100


def settle(connection: apsw.Connection, layout: Layout, asked: str, late: Callable[[], bool]) -> str:
    """The rule in force (``auto`` or ``regex``), after what was cut by another has been told to go over to it.

    Without ``asked`` it is the one of before. One group of texts is looked at however late it is; what is left is for
    the next run, whatever that one asks for.
    """
    known = _noted(connection, layout.name)
    name = asked or known.partition(":")[0]
    wanted = f"{name}:{syntax.VERSION}{_absent()}" if name == syntax.AUTO else name
    if wanted == known:
        return name
    _note(connection, layout.name, f"{name}:unfinished")
    moved = [
        (cut, hash, language)
        for cut, hash, path, grammar in vectors.cuts(connection, layout.name)
        if syntax.mark(language := syntax.language_of(path, name)) != grammar.removeprefix(spaces.MOVES)
    ]
    for start in range(0, len(moved), _GROUP):
        if start and late():
            return name
        _group(connection, layout, moved[start : start + _GROUP])
    _note(connection, layout.name, wanted)
    return name


def _group(connection: apsw.Connection, layout: Layout, texts: list[tuple[int, str, str]]) -> None:
    changed = []
    for cut, hash, language in texts:
        text = catalogue.text(connection, hash)
        same = text is not None and layout.cut(text, syntax.breaks(text, language)) == vectors.spans(connection, cut)
        changed.append((cut, hash, syntax.mark(language), same))
    with Transaction(connection):
        for cut, hash, grammar, same in changed:
            if same:
                rechunking.give_up(connection, layout.name, hash)
                connection.execute("UPDATE brain_cuts SET grammar = ? WHERE id = ?", (grammar, cut))
            elif _answers(connection, cut):
                rechunking.begin(connection, layout.name, cut, hash, grammar)
            else:
                vectors.drop_cut(connection, cut)
        vectors.note(connection)


def _answers(connection: apsw.Connection, cut: int) -> bool:
    row = connection.execute("SELECT 1 FROM brain_embedded WHERE cut = ? AND model > 0 AND done > 0", (cut,)).fetchone()
    return row is not None


def _absent() -> str:
    """The grammars that cannot be used, as a note: once they can, there is something to settle."""
    return "".join(f"-{language}" for language, fault in syntax.languages().items() if fault)


def _noted(connection: apsw.Connection, layout: str) -> str:
    found: Any = connection.execute("SELECT strategy FROM brain_layouts WHERE layout = ?", (layout,)).get
    return str(found or syntax.REGEX)


def _note(connection: apsw.Connection, layout: str, strategy: str) -> None:
    with Transaction(connection):
        connection.execute("INSERT OR REPLACE INTO brain_layouts VALUES(?, ?)", (layout, strategy))
