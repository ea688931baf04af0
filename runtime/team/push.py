"""``brain team push``: the documents of shared collections to the team's store, and out of it what went here.

A push compares what is here with what the server has, and sends the difference in batches that are whole or not there.
So it is resumed by being run again, and a connection that breaks loses and doubles nothing. Each text goes through the
present redaction policy before it leaves; the server refuses an older one. A machine removes only what it pushed.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from core import clock
from core.config import MACHINES
from core.engine import TEAM
from core.errors import BadInput, EngineMissing, LockContention
from core.redaction import shown
from core.redaction.outgoing import outgoing
from core.text import printable
from core.version import REDACTION
from qmd.index import catalogue, derived
from qmd.index.semantic import spaces, vectors
from qmd.index.store import is_complete, open_index, translate
from qmd.index.terms import Analyzer
from qmd.team import connection as connections
from qmd.team import writing
from qmd.team.writing import Held, Outgoing, Vector
from runtime.team.recovery import forgotten_before
from runtime.team.state import State, lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import psycopg

    from core.config import Collection, Config
    from core.engine import Engine
    from core.home import Home

    # Called with how many of how many documents are done, of which collection.
    Progress = Callable[[int, int, str], None]

CONNECT_S = 10.0
# Vectors of a space from which on the server keeps an approximate index of them.
APPROXIMATE_FROM = 50_000
# Seconds that the server may take for that index.
_TEND_S = 1800.0
# A batch ends with so many documents, or with so many characters of text.
_DOCUMENTS, _CHARACTERS = 64, 2_000_000
# So many times a push that lost its connection goes on by itself, after so many seconds and twice as many each time.
_ATTEMPTS, _PAUSE_S = 4, 0.25


class Sent(NamedTuple):
    """What became of one collection. ``withheld``: names that hold a secret; ``forgotten``: paths with a tombstone.

    ``elsewhere``: documents that other machines of the member pushed, and that are not here. ``too_large``: documents
    that stay here because the server takes none of their size. ``unagreed``: names of ``share`` to whom another machine
    of the member does not show the collection; ``trust`` is what all machines agree on.
    """

    collection: str
    share: list[str]
    sent: int
    embedded: int
    removed: int
    unchanged: int
    withheld: int
    forgotten: list[str]
    elsewhere: int
    too_large: int
    unagreed: list[str]
    trust: str


class Machine(NamedTuple):
    """The machine that pushes: ``device`` is its name, and all that the member has is its own if it is ``only`` one."""

    device: str
    only: bool

    def owns(self, held: Held) -> bool:
        """Return True if a document at the server is this machine's to remove."""
        return self.only or held.device == self.device


def push(
    home: Home,
    config: Config,
    *,
    let_in: Sequence[tuple[str, str]] = (),
    only_machine: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Bring the team's store to what is shared here; return the envelope of ``brain team push``.

    ``left``: what the server still holds of what was forgotten, in words. The next push asks it again.
    ``let_in`` are (collection, path) of documents that were forgotten, and are to be pushed again. ``only_machine``:
    what the server has of the member from any machine is of this one, and goes unless it is here. ``first``: this home
    has never pushed before, so that what stays ``elsewhere`` may be its own.

    Raises EngineMissing without an engine or an index, or if the server stays away, Refused for an older policy,
    BadInput for a ``share`` of nobody, LockContention.
    """
    engine = required(config)
    with lock(home):
        state = State(home)
        state.forget = [each for each in state.forget if each not in let_in]
        state.save()
        index = open_index(home.index)
        try:
            if not is_complete(index):
                # What an index that was just made lacks is not gone.
                raise EngineMissing("nothing was pushed: no index run has ended yet", "brain index; brain team push")
            spaces.load(index) if spaces.listed(index) else None
            for attempt in range(_ATTEMPTS):
                try:
                    report = _push(home, index, config, state, let_in, only_machine, progress)
                    break
                except (EngineMissing, LockContention):
                    if attempt == _ATTEMPTS - 1 or (attempt == 0 and not _is_there(engine)):
                        raise
                    time.sleep(_PAUSE_S * 2**attempt)
        except apsw.Error as error:
            raise translate(error, home.index) from error
        finally:
            index.close()
        first = not state.pushed_at
        state.pushed_at = clock.now()
        if not report["left"]:
            state.forget = []
        state.save()
    return {"schema": 1, "ok": True, "space": engine.space, "policy": REDACTION, "first": first, **report}


def required(config: Config) -> Engine:
    """Return the team's engine. Raises EngineMissing if the configuration has none."""
    if config.engine is None:
        raise EngineMissing(
            "no team is configured", "brain team join --dsn postgresql://NAME@HOST/DATABASE --space TEAM"
        )
    return config.engine


def _is_there(engine: Engine) -> bool:
    """Return True if the server answers: a push that broke goes on."""
    try:
        connections.open_writer(engine, CONNECT_S).close()
    except EngineMissing:
        return False
    return True


def _push(
    home: Home,
    index: apsw.Connection,
    config: Config,
    state: State,
    let_in: Sequence[tuple[str, str]],
    only_machine: bool,
    progress: Progress | None,
) -> dict[str, Any]:
    with connections.closing(connections.open_writer(required(config), CONNECT_S)) as server:
        if not state.pushed_at:
            known = dict.fromkeys([*state.forget, *forgotten_before(home, index, server, state.device)])
            state.forget = [each for each in known if each not in let_in]
            state.save()
        _, left = forget(server, state.forget)
        for collection, path in let_in:
            writing.lift(server, collection, [path])
        mine = Machine(state.device, only_machine)
        shared = [each for each in config.collections.values() if each.share]
        unshared = _withdraw(server, {each.name for each in shared}, mine)
        grantees, unknown = _grantees(server, shared)
        for name in unknown:
            writing.narrow(server, name, state.device, grantees[name])
        space = _space(index, server, config)
        found = [
            _push_collection(index, server, each, grantees[each.name], mine, space, progress)
            for each in shared
            if each.name not in unknown
        ]
        with server.given(_TEND_S):
            server.execute("SELECT tend(%s)", (APPROXIMATE_FROM,))
        # Raised last, so that the other collections are pushed.
        if unknown:
            collection, name = next(iter(unknown.items()))
            raise BadInput(
                f"collection {collection!r} was not pushed: share: {name!r} is neither a member nor a group",
                "brain team members lists both",
            )
        return {
            "member": connections.me(server),
            "collections": [each._asdict() for each in found],
            "withdrawn": unshared,
            "left": left,
        }


def forget(server: psycopg.Connection[Any], documents: Sequence[tuple[str, str]]) -> tuple[int, list[str]]:
    """Forget (collection, path) at the server; return how many there were, and what it still holds, in words."""
    total, left = 0, list[str]()
    for collection in dict.fromkeys(collection for collection, _ in documents):
        for paths in _batches([path for each, path in documents if each == collection]):
            removed, proof = writing.forget(server, collection, paths)
            total += removed
            if proof is not None and any(proof):
                told = ", ".join(f"{count} {name}" for name, count in proof._asdict().items() if count)
                left.append(f"the team's server, collection {collection}: {told}")
    return total, left


def _grantees(
    server: psycopg.Connection[Any], shared: Sequence[Collection]
) -> tuple[dict[str, list[tuple[str, str]]], dict[str, str]]:
    """Return (kind, name) of those who may see each collection, and of some collections a name that is nobody's.

    Nothing of these collections is sent: only who is no longer named stops seeing them.
    """
    members = {name for (name,) in server.execute("SELECT name FROM members")}
    groups = {name for (name,) in server.execute("SELECT DISTINCT name FROM groups")}
    kinds = dict.fromkeys(groups, "group") | dict.fromkeys(members, "member") | {TEAM: TEAM}
    # `team` covers every other name.
    seen = {each.name: [TEAM] if TEAM in each.share else each.share for each in shared}
    found = {name: [(kinds[each], each) for each in names if each in kinds] for name, names in seen.items()}
    unknown = {each.name: name for each in shared for name in each.share if name not in kinds}
    return found, unknown


class _Space(NamedTuple):
    """The space of vectors that questions use: ``local`` in the index, ``number`` at the server; text → cut."""

    local: spaces.Space
    number: int
    complete: dict[str, int]


def _space(index: apsw.Connection, server: psycopg.Connection[Any], config: Config) -> _Space | None:
    provider, _, model = config.space.partition("/")
    local = spaces.find(index, provider, model)
    if local is None:
        return None
    return _Space(local, writing.ensure_space(server, local), vectors.complete(index, local))


def _push_collection(
    index: apsw.Connection,
    server: psycopg.Connection[Any],
    collection: Collection,
    grantees: list[tuple[str, str]],
    machine: Machine,
    space: _Space | None,
    progress: Progress | None,
) -> Sent:
    name = collection.name
    code = index.execute("SELECT value FROM brain_state WHERE key = ?", (f"code:{name}",)).get
    unit = writing.ensure_unit(server, name, collection.trust, float(code or 0.0), REDACTION)
    held = writing.held(server, unit)
    ours = [row for row in catalogue.judged(index, name) if not row[0].startswith(f"{MACHINES}/")]
    # Who sends nothing has no say: the next push of another machine would not know of it.
    agreed = writing.share(server, unit, machine.device, grantees if ours else None, collection.trust)
    forgotten = writing.forgotten(server, name, [path for path, _, _ in ours])
    sending = _Sending(index, server, name, unit, machine.device, space)
    withheld, kept = 0, set[str]()
    for number, (path, digest, is_clean) in enumerate(ours):
        if progress is not None:
            progress(number, len(ours), f"pushing {name}")
        if path in forgotten:
            continue
        if shown(printable(path)) != printable(path):
            withheld += 1
            continue
        if sending.offer(path, digest, is_clean, held.get(path)):
            kept.add(path)
    sending.flush()
    absent = [path for path in held if path not in kept]
    gone = [path for path in absent if machine.owns(held[path]) or path in forgotten]
    removed = sum(writing.remove(server, unit, batch) for batch in _batches(gone))
    server.execute("UPDATE units SET pushed_at = now() WHERE id = %s", (unit,))
    return Sent(
        name, list(collection.share), sending.sent, sending.embedded, removed, sending.unchanged, withheld,
        sorted(forgotten), len(absent) - len(gone), sending.too_large,
        [name for _, name in grantees if ours and name not in {seen for _, seen in agreed.grantees}], agreed.trust,
    )  # fmt: skip


class _Sending:
    """The documents of one collection on their way: compared, cleaned, gathered into batches."""

    def __init__(
        self,
        index: apsw.Connection,
        server: psycopg.Connection[Any],
        collection: str,
        unit: int,
        device: str,
        space: _Space | None,
    ) -> None:
        self._index, self._server, self._collection, self._unit = index, server, collection, unit
        self._device, self._space, self._analyzer = device, space, Analyzer(index)
        self._documents: list[Outgoing] = []
        self._vectors: list[tuple[int, list[Vector]]] = []
        self._same: list[str] = []
        self._characters = 0
        self.sent = self.embedded = self.unchanged = self.too_large = 0

    def offer(self, path: str, digest: str, is_clean: bool, held: Held | None) -> bool:
        """Send a document unless the server has it as it is; return False if it is too large to be there."""
        if not is_clean:
            return self._offer_cleaned(path, digest, held)
        cut = None if self._space is None else self._space.complete.get(digest)
        if held is None or held.hash != digest:
            row = catalogue.by_path(self._index, self._collection, path)
            text = catalogue.text(self._index, digest)
            if row is None or text is None:
                return True
            document = catalogue.Document(row)
            return self._put(
                Outgoing(
                    path, str(row[3]), digest, document.date, document.ended, document.dated, document.fields, text,
                    self._vectors_of(cut),
                )
            )  # fmt: skip
        self._keep(path, held)
        if self._space is not None and cut is not None and self._space.number not in held.embedded:
            self._vectors.append((held.id, self._vectors_of(cut)))
            self.embedded += 1
            self._full(0)
        return True

    def _offer_cleaned(self, path: str, digest: str, held: Held | None) -> bool:
        """Send a document that was cleaned under another policy: everything is derived from the text as it may leave.

        It has no vectors unless its text stays the same: they are of what was hidden.
        """
        row = catalogue.by_path(self._index, self._collection, path)
        text = catalogue.text(self._index, digest)
        if row is None or text is None:
            return True
        cleaned = outgoing(text)
        known = hashlib.sha256(cleaned.encode("utf-8", "replace")).hexdigest()
        if held is not None and held.hash == known:
            self._keep(path, held)
            return True
        document = catalogue.Document(row)
        facts = derived.read(cleaned, document.date)
        cut = self._space.complete.get(digest) if self._space is not None and known == digest else None
        return self._put(
            Outgoing(
                path, derived.title(cleaned, path), known, facts.date, facts.ended, facts.dated, facts.fields, cleaned,
                self._vectors_of(cut),
            )
        )  # fmt: skip

    def _keep(self, path: str, held: Held) -> None:
        self.unchanged += 1
        if (held.policy, held.device) != (REDACTION, self._device):
            self._same.append(path)

    def _vectors_of(self, cut: int | None) -> list[Vector]:
        if cut is None or self._space is None:
            return []
        stored = vectors.stored(self._index, self._space.local, cut)
        spans = vectors.spans(self._index, cut)
        if len(stored) != len(spans):
            return []
        return [Vector(*span, vector) for span, vector in zip(spans, stored, strict=True)]

    def _put(self, document: Outgoing) -> bool:
        if not writing.fits(document):
            self.too_large += 1
            return False
        self._documents.append(document)
        self.sent += 1
        self.embedded += bool(document.vectors)
        self._full(len(document.text))
        return True

    def _full(self, characters: int) -> None:
        self._characters += characters
        if len(self._documents) + len(self._vectors) >= _DOCUMENTS or self._characters >= _CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Send what was gathered. Raises psycopg.Error."""
        number = None if self._space is None else self._space.number
        if self._documents:
            writing.put(
                self._server,
                self._analyzer,
                self._documents,
                unit=self._unit,
                collection=self._collection,
                device=self._device,
                policy=REDACTION,
                space=number,
            )
        if self._vectors and number is not None:
            writing.embed(self._server, self._unit, number, self._vectors)
        if self._same:
            writing.keep(self._server, self._unit, self._device, REDACTION, self._same)
        self._documents, self._vectors, self._same, self._characters = [], [], [], 0


def _withdraw(server: psycopg.Connection[Any], shared: set[str], machine: Machine) -> list[dict[str, Any]]:
    """Remove what this machine pushed of collections that are private now, and units that are empty then.

    Returns for each how many documents were ``removed``, and how many stay that were pushed ``elsewhere``.
    """
    found: list[dict[str, Any]] = []
    query = "SELECT id, collection FROM units WHERE owner = session_user ORDER BY collection"
    for unit, collection in server.execute(query).fetchall():
        if collection in shared:
            continue
        held = writing.held(server, unit)
        paths = [path for path, each in held.items() if machine.owns(each)]
        removed = sum(writing.remove(server, unit, batch) for batch in _batches(paths))
        server.execute(
            "DELETE FROM units u WHERE id = %s AND NOT EXISTS (SELECT FROM documents WHERE unit = u.id)", (unit,)
        )
        if held:
            found.append({"collection": collection, "removed": removed, "elsewhere": len(held) - len(paths)})
    return found


def _batches(paths: Sequence[str], size: int = 500) -> Iterator[Sequence[str]]:
    for start in range(0, len(paths), size):
        yield paths[start : start + size]
