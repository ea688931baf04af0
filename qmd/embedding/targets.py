"""Which vectors a run is to make: those of a model's own space, and those that take their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import Refused
from qmd.index import coarse, renewal, spaces, vectors
from qmd.index.store import Transaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from qmd.embedding.provider import Provider
    from qmd.index.spaces import Renewal, Space


def settle(
    connection: apsw.Connection, provider: Provider, collections: Sequence[str], force: bool
) -> tuple[Space, Renewal | None]:
    """The space that questions are asked of, and what is being made in the place of its vectors, new or gone on with.

    Vectors are made anew by ``force``, of ``collections`` or all, and where texts are cut otherwise than they were.
    What was begun by another state of the model, or of other collections, is given up. Raises Refused where the
    vectors that are there were made by another model of the same name, and whatever the provider raises.
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
        coarse.mend(connection, space)
        vectors.note(connection)
    return space, begun
