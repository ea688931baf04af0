"""Targets of a run: the space that it fills with vectors, and the rule by which code is cut.

The rule holds for all models of a layout, since they share its cuts, and stays in force until another is asked for.
Only texts with cuts that it moves are embedded again (``qmd.index.semantic.rechunking``); their old vectors answer
until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import Refused
from qmd.index import catalogue
from qmd.index.semantic import coarse, rechunking, renewal, spaces, vectors
from qmd.index.store import Transaction
from qmd.vectors import syntax

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from qmd.embedding.provider import Layout, Provider
    from qmd.index.semantic.spaces import Renewal, Space


def settle_space(
    connection: apsw.Connection, provider: Provider, collections: Sequence[str], force: bool
) -> tuple[Space, Renewal | None]:
    """Return the space that questions are asked of, and the renewal of its vectors, new or continued.

    Vectors are computed again by ``force``, of ``collections`` or all, and if texts are cut otherwise than before. A
    renewal by another state of the model, or of other collections, is dropped. Raises Refused if the vectors are by
    another model of the same name, and whatever the provider raises.
    """
    known = spaces.find(connection, provider.name, provider.model)
    begun = spaces.renewal_of(connection, known) if known is not None else None
    state = (provider.fingerprint, provider.layout.name)
    if begun is not None and (begun.space.fingerprint, begun.space.layout) != state:
        begun = None
    changed = known is not None and known.fingerprint != provider.fingerprint
    if known is not None and changed and (collections if force else begun is None):
        raise Refused(
            f"the vectors of {known.name} here were made by another model or endpoint of that name",
            "brain embed -f makes all of them anew; or give the model another name",
        )
    everything = force and not collections
    # A provider that must ask how long its vectors are is asked only where that is not known.
    dimensions = known.dimensions if known is not None and not everything else provider.dimensions
    if begun is not None and force:
        other = everything and begun.space.dimensions != dimensions
        begun = begun if begun.covers(collections) and not other else None
    with Transaction(connection):
        vectors.prepare(connection)
        if known is not None and begun is None:
            vectors.give_up_renewal(connection, known)
            if not spaces.count(connection, known):  # nothing answers that would have to be kept
                if everything:
                    vectors.drop(connection, known)
                known = None
            elif force or known.layout != provider.layout.name:
                begun = renewal.begin(connection, known, dimensions, *state, collections if force else ())
        space = known or vectors.ensure(connection, provider.name, provider.model, dimensions, *state)
        vectors.drop_orphans(connection)
        vectors.drop_strays(connection, space)
        if begun is not None:
            vectors.drop_strays(connection, begun.space)
        coarse.drop_incomplete(connection, space)
        vectors.note(connection)
    return space, begun


# Texts between two commits, so that indexing continues.
_GROUP = 100


def settle_strategy(connection: apsw.Connection, layout: Layout, asked: str, late: Callable[[], bool]) -> str:
    """Return the rule in force (``auto`` or ``regex``), and mark texts that another rule has cut for a change of cuts.

    Without ``asked`` the rule stays. One group of texts is looked at however late it is; the rest is for the next run,
    whatever that one asks for.
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
    """Return the grammars that cannot be used, as a note: once they can be used, the cuts change."""
    return "".join(f"-{language}" for language, fault in syntax.languages().items() if fault)


def _noted(connection: apsw.Connection, layout: str) -> str:
    found: Any = connection.execute("SELECT strategy FROM brain_layouts WHERE layout = ?", (layout,)).get
    return str(found or syntax.REGEX)


def _note(connection: apsw.Connection, layout: str, strategy: str) -> None:
    with Transaction(connection):
        connection.execute("INSERT OR REPLACE INTO brain_layouts VALUES(?, ?)", (layout, strategy))
