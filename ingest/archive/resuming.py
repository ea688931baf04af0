"""Where the reading of a growing journal goes on: what its parser knew after the last whole line.

A tool appends to its journal all day, and each reading would parse it from the start. Instead the state of the parser
is kept in a folder of the home (``Keeping.states``), a file a journal, and the next reading parses the lines that came
since. The result is that of a reading from the start, because the state is used only if

- the journal still begins with the bytes that were read: their SHA-256 is computed again;
- the archive has these bytes, recorded under the present policy, and has not lost any of them;
- the same code wrote the state (``_mark``).

Otherwise the journal is read from the start. The files are a cache: one that is damaged, old or gone costs time alone.
Records are redacted before a parser sees them, so a state holds what the documents of its policy hold: a state that
does not fit is deleted, a run deletes those of other policies and exclusions, and forgetting deletes all.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import sys
from os.path import join
from types import FunctionType
from typing import TYPE_CHECKING, Any

from core.files import write_atomic
from core.version import DOCUMENT, PARSER, VERSION
from ingest.session.session import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.archive.recording import Recorder
    from ingest.pipeline.reading import Journal, Reading
    from ingest.raw.records import Records
    from ingest.raw.store import RawFile

# Journals whose state is kept, those that were read last: nobody works in more sessions at once.
_MOST = 16
# A state is written after each so many bytes: fewer are parsed in the time that writing one takes.
STEP = 128 * 1024
_BLOCK = 1024 * 1024
# The fields of a reading that are filled while records are added.
_FIELDS = ("skipped", "failed", "failures", "failed_reasons", "unknown", "marks", "dropped", "parts")
# Modules with the classes that a state is made of, and a few classes from elsewhere.
_PACKAGES = ("ingest.session.", "ingest.sources.")
_OTHERS = {
    ("builtins", "set"), ("builtins", "frozenset"), ("collections", "deque"), ("core.document", "Failure"),
    ("core.redaction.carried", "Carried"),
}  # fmt: skip
# What a state that cannot be read causes.
_UNREADABLE = (
    pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError, KeyError, TypeError, ValueError,
)  # fmt: skip


class ResumePoint:
    """One journal's reading: ``resume`` before its records are added, ``note`` after the last, ``end`` after it.

    Args:
        folder: where states are kept.
        source: the name of the source.
        file: the open journal, not compressed.
        records: its lines.
        recorder: what archives them; None if nothing is archived.
        reading: the reading.
    """

    def __init__(
        self, folder: str, source: str, file: RawFile, records: Records, recorder: Recorder | None, reading: Reading
    ) -> None:
        name = hashlib.sha256(os.fsencode(f"{source}\0{reading.path}")).hexdigest()[:32]
        self._path = join(folder, name)
        self._file, self._records, self._recorder, self._reading = file, records, recorder, reading
        # How many bytes the kept state is of; the state to be kept.
        self._held = 0
        self._mark = self._noted = b""

    def resume(self, made: Journal) -> None:
        """Give ``made``, a journal without records, and the reading the kept state, and leave out the lines it is of.

        A state that does not fit the file is deleted: it may hold what the file, or the present policy, leaves out.
        Raises OSError if the file cannot be read.
        """
        self._mark = _mark(made)
        held = self._load() if self._mark else None
        if held is None:
            _remove(self._path)
            return
        consumed, digest, lines, recorded, fields, state = held
        if consumed > self._reading.size or not vars(made).keys() >= state.keys():
            _remove(self._path)
            return
        stream = self._file.lines
        head, hashed = _hashed(stream.read, consumed)
        is_same = hashed.hexdigest() == digest
        if is_same and self._recorder is not None:
            is_same = recorded is not None and self._recorder.go_on(recorded, digest, hashed)
        if not is_same:
            _remove(self._path)
            stream.seek(0)
            return
        self._held = consumed
        self._records.go_on(lines, hashed, consumed, head)
        for name in _FIELDS:
            setattr(self._reading, name, fields[name])
        vars(made).update(state)

    def note(self, made: Journal) -> None:
        """Take the state of a journal that has all records; before it finishes, since it may then take no more."""
        records, reading = self._records, self._reading
        if not self._mark or not records.is_settled or records.consumed < self._held + STEP:
            return
        if self._recorder is not None and self._recorder.again:
            return  # the journal was rewritten: what the archive has of it is not known yet
        recorded = None if self._recorder is None else self._recorder.state()
        # Functions that a journal was given are no state of it: the next one is given its own.
        state = {name: value for name, value in vars(made).items() if type(value) is not FunctionType}
        fields = {name: getattr(reading, name) for name in _FIELDS}
        held = (records.consumed, records.digest(), records.state(), recorded, fields, state)
        stream = io.BytesIO()
        pickler = pickle.Pickler(stream, 5)
        pickler.dispatch_table = {type(reading): _as_placeholder, Event: _as_call}
        try:
            pickler.dump(held)
        except (pickle.PicklingError, AttributeError, TypeError, RecursionError):
            return
        data = stream.getvalue()
        self._noted = b"\n".join((self._mark, hashlib.sha256(data).hexdigest().encode(), data))

    def end(self, *, is_kept: bool) -> None:
        """Keep the noted state if the file was read before: most files of a first reading never grow again.

        Without ``is_kept`` the journal has nothing that may be kept, and its state is deleted.
        """
        if not is_kept:
            _remove(self._path)
        elif self._noted and (self._recorder is None or self._recorder.before is not None):
            with contextlib.suppress(OSError):  # a full disk is reported when the document is written
                write_atomic(self._path, self._noted, sync=False)
                _trim(os.path.dirname(self._path))

    def _load(self) -> Any:
        try:
            with open(self._path, "rb") as stream:
                data = stream.read()
        except OSError:  # most journals have no state
            return None
        written, _, rest = data.partition(b"\n")
        digest, _, data = rest.partition(b"\n")
        if written != self._mark or hashlib.sha256(data).hexdigest().encode() != digest:
            return None
        try:
            return _Unpickler(data, self._reading).load()
        except _UNREADABLE:
            return None


class _Unpickler(pickle.Unpickler):
    """Reads a state: finds the classes of parsers, sessions, events and plain values, and no others."""

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(io.BytesIO(data))
        self._reading = reading

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (__name__, _this_reading.__name__):
            return lambda: self._reading
        found = getattr(sys.modules.get(module), name, None)
        # A module of ours also has the classes that it imports: a state names each by the module that defines it.
        is_own = module.startswith(_PACKAGES) and getattr(found, "__module__", "") == module
        if isinstance(found, type) and (is_own or (module, name) in _OTHERS):
            return found
        raise pickle.UnpicklingError(f"{module}.{name}")


def _this_reading() -> Reading:
    """Stand in a state for the reading that the state is given to."""
    raise NotImplementedError


def _as_placeholder(_: Reading) -> tuple[Callable[[], Reading], tuple[()]]:
    return _this_reading, ()


def _as_call(event: Event) -> tuple[type[Event], tuple[str, ...]]:
    """Return an event in a form that is written in half the time of the usual one: most of a state is events."""
    return Event, (event.kind, event.text, event.at, event.record, event.message, event.call, event.chain)


def _mark(made: Journal) -> bytes:
    """Return what identifies the code that writes a parser's state: versions, and the files of the parser's classes.

    Empty for a plugin's parser, since only classes of ours are read from a state, and where a file has gone.
    """
    names = {each.__module__ for each in type(made).__mro__[:-1]}
    if not all(name.startswith(_PACKAGES) for name in names):
        return b""
    stamps = []
    for name in sorted({*names, Event.__module__, __name__}):
        try:
            status = os.stat(sys.modules[name].__file__ or "")
        except OSError:
            return b""
        stamps.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    versions = (VERSION, PARSER, DOCUMENT, *sys.version_info[:2])
    return " ".join((*map(str, versions), *stamps)).encode()


def _hashed(read: Callable[[int], bytes], length: int) -> tuple[bytes, Any]:
    """Return the first block of a stream, and the SHA-256 object of its first ``length`` bytes, or of fewer."""
    head, digest = b"", hashlib.sha256()
    while length:
        block = read(min(length, _BLOCK))
        if not block:
            break
        head = head or block
        digest.update(block)
        length -= len(block)
    return head, digest


def _trim(folder: str) -> None:
    """Delete the states of the journals that were not read for longest."""
    with os.scandir(folder) as entries:
        found = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries)
    for _, path in found[:-_MOST]:
        _remove(path)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
