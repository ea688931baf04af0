"""The run that embeds texts without vectors: the newest documents first, committed every few seconds.

Nothing committed is computed again, and a killed run loses only the seconds since. No lock is held between two commits,
so that indexing continues. During a renewal or a change of cuts the old vectors answer until the new ones are complete.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from core import clock
from core.errors import EngineMissing, EngineTimeout, LockContention, Refused
from core.files import FileLock
from core.processes.speed import Load
from core.redaction.outgoing import Outgoing
from qmd.embedding import targets
from qmd.embedding.provider import quantise
from qmd.embedding.remote import Remote
from qmd.embedding.wire import Busy, Faulty, Nonsense, TextRefused
from qmd.index import catalogue
from qmd.index.semantic import coarse, rechunking, renewal, spaces, vectors
from qmd.index.store import Transaction
from qmd.vectors import syntax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import apsw

    from qmd.embedding.provider import Provider
    from qmd.index.semantic.spaces import Space
    from qmd.index.semantic.vectors import Waiting

    # (tokens done, tokens in all, what).
    Progress = Callable[[int, int, str], None]

# Chunks between two commits: two or three seconds of a local model. They are sorted by length, so that the rows of a
# batch are of one length and little of it is padding.
_GROUP = 64
# After so many seconds what has come in meanwhile takes its turn: the newest comes first in a run of hours, too.
_REFRESH_S = 60.0
# Listing what waits, and counting what is embedded, read every document: once in so many times what they take.
_SELDOM = 20
# How often to look at what other processes take, and the tokens of a byte of text until some were counted.
_LOOK_S = 10.0
_TOKENS_PER_BYTE = 0.3
# So many texts refused before one was taken, or that break the provider one after the other: it is not the texts.
_REFUSALS = 5


class _Alone(FileLock):
    __slots__ = ()

    def __enter__(self) -> FileLock:
        try:
            return super().__enter__()
        except LockContention:
            raise LockContention(
                f"another run is embedding already (it holds {self.path})",
                "let it end: it does the same work",
            ) from None


def alone(path: str) -> FileLock:
    """Return the lock that excludes a second embedder: ``with`` it raises LockContention at once."""
    return _Alone(path, 0)


class _Work:
    """How much of the work is done and how much is left, in tokens: a model's time goes by tokens.

    Waiting texts are not cut yet; their tokens are estimated from their bytes and the rate so far.
    """

    __slots__ = ("_bytes", "_left", "_load", "_looked", "_next", "_progress", "_tokens", "_what", "load")

    def __init__(self, progress: Progress | None, *, local: bool) -> None:
        self._progress = progress
        self._tokens = 0.0
        self._bytes = 0.0
        self._left = 0.0
        # Only what is computed here is slowed by what others compute.
        self.load = Load() if local else None
        self._load = self.load
        self._looked = time.monotonic()
        self._next = 0.0
        self._what = "embedding"

    def expect(self, size: int) -> None:
        """Set how many bytes of text wait."""
        self._left = size
        self._say()

    def did(self, tokens: int, size: float) -> None:
        """Count so many tokens of ``size`` bytes as done."""
        self._tokens += tokens
        self._bytes += size
        self._left = max(0.0, self._left - size)
        self._say()

    def note(self, connection: apsw.Connection) -> None:
        """Note how much each space covers, inside the caller's transaction, unless it was noted a moment ago."""
        begun = time.monotonic()
        if begun >= self._next:
            vectors.note(connection)
            self._next = time.monotonic() + _SELDOM * (time.monotonic() - begun)

    def _say(self) -> None:
        if self._progress is None:
            return
        if self._load is not None and time.monotonic() - self._looked >= _LOOK_S:
            others = self._load.others()
            self._what = f"embedding: others take {others:.0%} of the machine" if others else "embedding"
            self._load, self._looked = Load(), time.monotonic()
        rate = self._tokens / self._bytes if self._bytes else _TOKENS_PER_BYTE
        self._progress(round(self._tokens), round(self._tokens + self._left * rate), self._what)


class Report:
    """Results of a run: texts finished, chunks embedded, texts refused, and what is left.

    ``pending`` documents of each collection have no vectors, ``renewing`` have old ones. ``dimensions`` are those of
    the new vectors, which may not answer yet (``space``). ``others`` is the share (0-1) of the machine's CPU time that
    other processes took while none was left, 0.0 if that slowed nothing.
    """

    __slots__ = ("broken", "chunks", "dimensions", "failed", "others", "pending", "renewing", "space", "texts")

    def __init__(self, space: Space, dimensions: int) -> None:
        self.space = space
        self.dimensions = dimensions
        self.texts = 0
        self.chunks = 0
        # How many texts in a row broke the provider.
        self.broken = 0
        self.others = 0.0
        self.failed: dict[str, str] = {}
        self.pending: dict[str, int] = {}
        self.renewing: dict[str, int] = {}


class _Text:
    """A text on its way: its chunks, and how many of them have been embedded."""

    __slots__ = ("chunk", "cut", "done", "gone", "grammar", "hash", "moves", "size", "spans")

    def __init__(
        self, waiting: Waiting, chunk: Callable[[int, int, int], str], spans: list[tuple[int, int, int]], grammar: str
    ) -> None:
        self.hash = waiting.hash
        self.size = waiting.size
        self.cut = waiting.cut
        self.done = waiting.done
        self.moves = waiting.moves
        # Returns the text of a chunk (start, end, kind), as the provider gets it.
        self.chunk = chunk
        self.spans = spans
        self.grammar = grammar
        self.gone = False


class _Part:
    """Chunks of one text that are embedded together: those from ``first`` to ``last``."""

    __slots__ = ("first", "last", "text")

    def __init__(self, text: _Text, first: int, last: int) -> None:
        self.text = text
        self.first = first
        self.last = last

    def bytes(self) -> int:
        """Return how much of the text the chunks are, by their number."""
        return self.text.size * (self.last - self.first) // max(1, len(self.text.spans))

    def chunks(self) -> list[str]:
        return [self.text.chunk(*span) for span in self.text.spans[self.first : self.last]]


def embed(
    connection: apsw.Connection,
    provider: Provider,
    *,
    collections: Sequence[str] = (),
    force: bool = False,
    strategy: str = "",
    deadline: float | None = None,
    progress: Progress | None = None,
) -> Report:
    """Embed texts that lack vectors of ``provider``'s model, until ``deadline`` (``time.monotonic()``) or the end.

    Some are embedded however soon the deadline is: repeated runs get to the end.

    ``force`` computes existing vectors again, in ``collections`` or everywhere; the old ones answer until then, and the
    next run continues an interrupted one, with force or without. ``strategy`` sets the rule by which code is cut;
    without one it stays. The caller holds the lock that excludes a second run. Raises Refused if the vectors are by
    another model of the same name, and whatever the provider raises; what was committed before stays.
    """
    if deadline is not None and isinstance(provider, Remote):
        provider.patient_until(deadline)
    space, made = targets.settle_space(connection, provider, collections, force)
    rule = targets.settle_strategy(connection, provider.layout, strategy, lambda: _past(deadline))
    report = Report(space, space.dimensions if made is None else made.space.dimensions)
    run = _Run(connection, provider, rule, report, deadline, progress)
    fits = (space.fingerprint, space.layout) == (provider.fingerprint, provider.layout.name)
    try:
        if fits and (made is None or made.space.dimensions == space.dimensions):
            # Texts without vectors do not wait, and the renewal does not embed them once more.
            also = made.space if made is not None and renewal.is_compatible(space, made.space) else None
            run.through(space, collections, also)
            run.over(space, collections, also)
        if made is not None:
            names = made.within(collections)
            if names is not None and not (report.chunks and _past(run.deadline)):
                run.through(made.space, names)
            waiting = run.left(made.space, made.collections)
            # Where nothing at all was taken, it is rather the provider than the texts.
            if not waiting and (spaces.count(connection, made.space) or not report.failed):
                renewal.take(connection, space, made)
                report.space = space = spaces.find(connection, space.provider, space.model) or space
                made = None
                run.over(space, collections)
    finally:
        with Transaction(connection):
            vectors.note(connection)
    if fits or made is None:
        with Transaction(connection):
            vectors.stamp(connection, space, clock.now())
    report.others = run.others()
    coarse.keep(connection, space, late=lambda: _past(deadline))
    report.pending = vectors.pending(connection, space)
    report.renewing = renewal.pending(connection, space)
    return report


class _Run:
    """One run's way through what waits, of one space after the other."""

    __slots__ = ("_connection", "_provider", "_rate", "_report", "_rule", "_work", "deadline")

    def __init__(
        self,
        connection: apsw.Connection,
        provider: Provider,
        rule: str,
        report: Report,
        deadline: float | None,
        progress: Progress | None,
    ) -> None:
        self._connection = connection
        self._provider = provider
        self._rule = rule
        self._report = report
        # Past, too, where an endpoint wants to be left alone for longer than there is time.
        self.deadline = deadline
        self._work = _Work(progress, local=provider.here)
        # Chunks a second, of the last group.
        self._rate = 0.0

    def left(self, space: Space, collections: Sequence[str]) -> list[Waiting]:
        """Return what waits and was not refused."""
        waiting = vectors.waiting(self._connection, space, collections)
        return [each for each in waiting if each.hash not in self._report.failed]

    def through(self, space: Space, collections: Sequence[str], also: Space | None = None) -> None:
        """Embed what waits; ``also`` is given the same vectors, where it has none of a text."""
        # These texts will be cut otherwise before they are embedded.
        moving = {each.hash for each in rechunking.waiting(self._connection, space)} if space.id > 0 else ()
        self._all(lambda: [each for each in self.left(space, collections) if each.hash not in moving], space, also)

    def over(self, space: Space, collections: Sequence[str], also: Space | None = None) -> None:
        """Embed what goes over to another cut, unless the time is up; ``also`` is given the same vectors."""

        def left() -> list[Waiting]:
            waiting = rechunking.waiting(self._connection, space, collections)
            return [each for each in waiting if each.hash not in self._report.failed]

        if not (self._report.chunks and _past(self.deadline)):
            self._all(left, space, also)

    def _all(self, left: Callable[[], list[Waiting]], space: Space, also: Space | None) -> None:
        report = self._report
        while True:
            begun = time.monotonic()
            waiting = left()
            self._work.expect(sum(each.size for each in waiting))
            if not waiting:
                break
            until = time.monotonic() + max(_REFRESH_S, _SELDOM * (time.monotonic() - begun))
            before = (report.texts, report.chunks, len(report.failed))
            texts = _texts(self._connection, self._provider, waiting, self._rule)
            for group in _groups(texts, self._size):
                begun, had = time.monotonic(), report.chunks
                try:
                    spaces = [space, also] if also else [space]
                    _do(self._connection, self._provider, spaces, group, report, self._work)
                except (EngineTimeout, EngineMissing) as error:
                    # Not the endpoint's fault, where it had answered before: what was left of the time was too little.
                    silent = isinstance(error, EngineTimeout) and not isinstance(error, Busy) and _past(self.deadline)
                    if not (report.chunks and (silent or _is_cut_short(self._provider))):
                        raise
                    self.deadline = float("-inf")
                self._rate = (report.chunks - had) / max(time.monotonic() - begun, 1e-3)
                if _past(self.deadline) or _past(until):
                    break
            if _past(self.deadline) or before == (report.texts, report.chunks, len(report.failed)):
                break  # the time is up, or nothing of what waits can be embedded

    def _size(self) -> int:
        """Return how many chunks are a group: on this machine as many as there is time for, at least a batch."""
        whole = max(_GROUP, self._provider.batch)
        if self.deadline is None or isinstance(self._provider, Remote):
            return whole
        batches = int((self.deadline - time.monotonic()) * self._rate) // self._provider.batch
        return min(whole, max(1, batches) * self._provider.batch)

    def others(self) -> float:
        """Return the share of the machine's CPU time that others took since the run began, 0.0 if nothing slowed it."""
        return self._work.load.others() if self._work.load is not None else 0.0


def _texts(
    connection: apsw.Connection, provider: Provider, waiting: Sequence[Waiting], strategy: str
) -> Iterator[_Text]:
    for each in waiting:
        text = catalogue.text(connection, each.hash)
        if text is None:
            continue
        language = "" if each.cut else syntax.language_of(each.path, strategy)
        spans = (
            vectors.spans(connection, each.cut)
            if each.cut
            else provider.layout.cut(text, syntax.breaks(text, language))
        )
        if each.cut and not spans:
            continue  # it has gone since
        piece = Outgoing(text).piece if provider.outside else None
        yield _Text(each, partial(vectors.chunk_text, text, piece=piece), spans, syntax.mark(language))


def _groups(texts: Iterator[_Text], sized: Callable[[], int]) -> Iterator[list[_Part]]:
    """Parts of so many chunks together; a long text goes through several groups in order."""
    group: list[_Part] = []
    held = 0
    size = sized()
    for text in texts:
        first = text.done
        while True:
            last = min(len(text.spans), first + size - held)
            group.append(_Part(text, first, last))
            held += last - first
            if held >= size:
                yield group
                group, held, size = [], 0, sized()
            if last >= len(text.spans) or text.gone:
                break
            first = last
    if group:
        yield group


def _do(
    connection: apsw.Connection,
    provider: Provider,
    spaces: Sequence[Space],
    group: Sequence[_Part],
    report: Report,
    work: _Work,
) -> None:
    space, *others = spaces
    try:
        embedded = _vectors(provider, space, group, work)
    except (TextRefused, Nonsense, Faulty) as refusal:
        if report.chunks and _is_cut_short(provider):
            raise  # nobody knows yet whether it is the text
        # Some models have no vector for some text: NaN, zeros or HTTP 500. The texts after it must not wait for ever.
        if len(group) > 1:
            for part in group:
                _do(connection, provider, spaces, [part], report, work)
            return
        group[0].text.gone = True
        report.failed[group[0].text.hash] = refusal.message
        report.broken += not isinstance(refusal, TextRefused)
        if (not report.chunks and len(report.failed) >= _REFUSALS) or report.broken >= _REFUSALS:
            raise
        return
    report.broken = 0
    finished = 0
    with Transaction(connection):
        for part, found in zip(group, embedded, strict=True):
            text = part.text
            cut_of = rechunking.following(space) if text.moves else space
            text.cut = text.cut or vectors.put_cut(connection, cut_of, text.hash, text.spans, text.grammar)
            if not text.cut or not vectors.add(connection, space, text.cut, part.first, found):
                text.gone = True
                continue
            for other in others:
                vectors.add(connection, other, text.cut, part.first, found)
            text.done = part.last
            report.chunks += len(found)
            if text.done == len(text.spans):
                finished += 1
                if text.moves:
                    rechunking.end(connection, space.layout, text.hash, text.cut)
        if finished:
            work.note(connection)
        if space.id > 0:  # what is made in its place answers nothing yet
            vectors.stamp(connection, space, clock.now())
    report.texts += finished


def _is_cut_short(provider: Provider) -> bool:
    return isinstance(provider, Remote) and provider.cut_short


def _vectors(provider: Provider, space: Space, group: Sequence[_Part], work: _Work) -> list[list[bytes]]:
    """Return the vectors of each part's chunks, as they are stored; chunks of like length go to the model together."""
    chunks = [chunk for part in group for chunk in part.chunks()]
    tokens = [len(provider.layout.tokens(chunk).offsets) for chunk in chunks]
    size = sum(part.bytes() for part in group) / max(1, sum(tokens))
    order = sorted(range(len(chunks)), key=lambda index: len(chunks[index]))
    found: list[bytes] = [b""] * len(chunks)
    for start in range(0, len(order), provider.batch):
        batch = order[start : start + provider.batch]
        for index, vector in zip(batch, quantise(provider.embed([chunks[i] for i in batch])), strict=True):
            if len(vector) != space.dimensions:
                others = "its others" if space.id > 0 else "those that are being made in place of its others"
                raise Refused(
                    f"{space.name} gives vectors of {len(vector)} numbers, where {others} have {space.dimensions}",
                    "brain embed -f makes all of them anew",
                )
            found[index] = vector
        done = sum(tokens[index] for index in batch)
        work.did(done, done * size)
    result = []
    position = 0
    for part in group:
        count = part.last - part.first
        result.append(found[position : position + count])
        position += count
    return result


def _past(moment: float | None) -> bool:
    return moment is not None and time.monotonic() > moment
