"""The run that gives vectors to what lacks them: the newest documents first, committed every few seconds.

What is committed is never computed again, and a run that is killed loses the seconds since. Between two commits no lock
is held, so that indexing goes on beside it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import LockContention, Refused
from core.locks import FileLock
from qmd import coarse, syntax, vectors
from qmd.embedding import strategies
from qmd.embedding.provider import TextRefused, quantise
from qmd.embedding.wire import Faulty, Nonsense
from qmd.store import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import apsw

    from qmd.embedding.provider import Provider
    from qmd.vectors import Space, Waiting

    # (bytes of text done, bytes that wait, what).
    Progress = Callable[[int, int, str], None]

# Chunks between two commits: two or three seconds of a local model. They are sorted by length, so that the rows of a
# batch are of one length and little of it is padding.
_GROUP = 64
# After so many seconds what has come in meanwhile takes its turn: the newest comes first in a run of hours, too.
_REFRESH_S = 60.0
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
    """The lock that keeps a second embedder away: ``with`` it raises LockContention at once."""
    return _Alone(path, 0)


class Report:
    """What a run did: texts finished, chunks embedded, documents that still wait, and texts that were refused."""

    __slots__ = ("broken", "chunks", "failed", "pending", "space", "texts")

    def __init__(self, space: Space) -> None:
        self.space = space
        self.texts = 0
        self.chunks = 0
        # How many texts in a row broke the provider.
        self.broken = 0
        self.failed: dict[str, str] = {}
        self.pending: dict[str, int] = {}


class _Text:
    """A text on its way: its chunks, and how many of them have been embedded."""

    __slots__ = ("cut", "done", "gone", "grammar", "hash", "size", "spans", "text")

    def __init__(self, waiting: Waiting, text: str, spans: list[tuple[int, int, int]], grammar: str) -> None:
        self.hash = waiting.hash
        self.size = waiting.size
        self.cut = waiting.cut
        self.done = waiting.done
        self.text = text
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
        """How much of the text they are, by their number."""
        return self.text.size * (self.last - self.first) // max(1, len(self.text.spans))

    def chunks(self) -> list[str]:
        return [self.text.text[start:end] for start, end, _ in self.text.spans[self.first : self.last]]


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
    """Embed what lacks vectors of ``provider``'s model, until ``deadline`` (``time.monotonic()``) or the end.

    However soon the deadline, some are: a run that is called again and again gets to the end.

    ``force`` embeds anew what has them, in ``collections`` or everywhere. ``strategy`` says by which rule code is cut,
    from now on; without one it is as it was. The caller holds the lock that keeps a second
    run away. Raises Refused where the vectors that are there were made by another model of the same name, and whatever
    the provider raises; what was committed before stays.
    """
    space = _space(connection, provider, collections, force)
    rule = strategies.settle(connection, provider.layout, strategy, lambda: _past(deadline))
    report = Report(space)
    done = 0
    while True:
        waiting = [each for each in vectors.waiting(connection, space, collections) if each.hash not in report.failed]
        if not waiting:
            break
        total = done + sum(each.size for each in waiting)
        if progress:
            progress(done, total, "embedding")
        until = time.monotonic() + _REFRESH_S
        before = (report.texts, report.chunks, len(report.failed))
        for group in _groups(_texts(connection, provider, waiting, rule), max(_GROUP, provider.batch)):
            _do(connection, provider, space, group, report)
            done += sum(part.bytes() for part in group)
            if progress:
                progress(min(done, total), total, "embedding")
            if _past(deadline) or _past(until):
                break
        if _past(deadline) or before == (report.texts, report.chunks, len(report.failed)):
            break  # the time is up, or nothing of what waits can be embedded
    with Transaction(connection):
        vectors.note(connection)
        vectors.stamp(connection, space, clock.now())
    coarse.keep(connection, space, late=lambda: _past(deadline))
    report.pending = vectors.pending(connection, space)
    return report


def _space(connection: apsw.Connection, provider: Provider, collections: Sequence[str], force: bool) -> Space:
    known = vectors.find(connection, provider.name, provider.model)
    changed = known is not None and known.fingerprint != provider.fingerprint
    if known is not None and changed and (collections or not force):
        raise Refused(
            f"the vectors of {known.name} here were made by another model or endpoint of that name",
            "brain embed -f makes all of them anew; or give the model another name",
        )
    anew = known is not None and force and not collections
    # A provider that must ask how long its vectors are is asked only where that is not known.
    dimensions = known.dimensions if known is not None and not anew else provider.dimensions
    with Transaction(connection):
        if known is not None and anew:
            vectors.drop(connection, known)
        space = vectors.ensure(
            connection, provider.name, provider.model, dimensions, provider.fingerprint, provider.layout.name
        )
        if force and collections:
            vectors.clear(connection, space, collections)
        vectors.drop_orphans(connection)
        vectors.drop_strays(connection, space)
        coarse.mend(connection, space)
        vectors.note(connection)
    return space


def _texts(
    connection: apsw.Connection, provider: Provider, waiting: Sequence[Waiting], strategy: str
) -> Iterator[_Text]:
    for each in waiting:
        text: Any = connection.execute("SELECT doc FROM content WHERE hash = ?", (each.hash,)).get
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
        yield _Text(each, text, spans, syntax.mark(language))


def _groups(texts: Iterator[_Text], size: int) -> Iterator[list[_Part]]:
    """Parts of about ``size`` chunks together; a long text goes through several groups in order."""
    group: list[_Part] = []
    held = 0
    for text in texts:
        first = text.done
        while True:
            last = min(len(text.spans), first + size - held)
            group.append(_Part(text, first, last))
            held += last - first
            if held >= size:
                yield group
                group, held = [], 0
            if last >= len(text.spans) or text.gone:
                break
            first = last
    if group:
        yield group


def _do(connection: apsw.Connection, provider: Provider, space: Space, group: Sequence[_Part], report: Report) -> None:
    try:
        embedded = _vectors(provider, space.dimensions, group)
    except (TextRefused, Nonsense, Faulty) as refusal:
        # Some models have no vector for some text: NaN, zeros or HTTP 500. What is behind it must not wait for ever.
        if len(group) > 1:
            for part in group:
                _do(connection, provider, space, [part], report)
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
            text.cut = text.cut or vectors.put_cut(connection, space, text.hash, text.spans, text.grammar)
            if not text.cut or not vectors.add(connection, space, text.cut, part.first, found):
                text.gone = True
                continue
            text.done = part.last
            report.chunks += len(found)
            finished += text.done == len(text.spans)
        if finished:
            vectors.note(connection)
        vectors.stamp(connection, space, clock.now())
    report.texts += finished


def _vectors(provider: Provider, dimensions: int, group: Sequence[_Part]) -> list[list[bytes]]:
    """The vectors of each part's chunks, as they are stored; chunks of like length go to the model together."""
    chunks = [chunk for part in group for chunk in part.chunks()]
    order = sorted(range(len(chunks)), key=lambda index: len(chunks[index]))
    found: list[bytes] = [b""] * len(chunks)
    for start in range(0, len(order), provider.batch):
        batch = order[start : start + provider.batch]
        for index, vector in zip(batch, quantise(provider.embed([chunks[i] for i in batch])), strict=True):
            if len(vector) != dimensions:
                raise Refused(
                    f"{provider.name}/{provider.model} gives vectors of {len(vector)} numbers, where its others have"
                    f" {dimensions}",
                    "brain embed -f makes all of them anew",
                )
            found[index] = vector
    result = []
    position = 0
    for part in group:
        count = part.last - part.first
        result.append(found[position : position + count])
        position += count
    return result


def _past(moment: float | None) -> bool:
    return moment is not None and time.monotonic() > moment
