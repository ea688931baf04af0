"""``brain forget``: whole documents and all that was made of them, gone; and nothing brings them back.

Tombstones are written first, then a note of what is to be done (``state/forgetting.json``, names and no text), then it
is done, and the note is taken away: a run that is killed is finished by the next one, or by ``brain index``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any

import apsw

from core.errors import BadInput
from core.files import FileLock, read_or_none, sync_folder
from core.tombstones import Tombstones, digests, is_by_content
from ingest import forgetting, identity, registry
from ingest.session.units import stem
from qmd.index import catalogue
from qmd.index.store import open_index, translate
from runtime.asking.documents import Row, Selection, select
from runtime.asking.envelope import SCHEME, uri
from runtime.forgetting import targets, verify_erasure
from runtime.forgetting import unfinished as notes
from runtime.forgetting.targets import body_of, is_distilled, is_session, partly, selected, with_relatives

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.config import Config
    from core.home import Home

    Elsewhere = Callable[[list[tuple[str, str]], list[tuple[str, str]], list[bytes]], tuple[list[str], list[str]]]

_LOCK_WAIT_S = 60.0
_BUSY_MS = 30_000
_UNDATED = "undated"


class Plan:
    """The documents to forget, and all that was made of them.

    ``rows``: documents, also derived ones; ``outside``: uris of documents with files that are not Brain's to delete;
    ``marks``: (source, unit) of the tombstones; ``originals``: raw files that are still where their tools put them;
    ``shared``: how many other sessions are in the same raw files; ``unseen``: how many tombstones have no document.
    ``shorter``: for documents that share commits with the selected ones, how their other commits come back.
    ``probes``: texts that must not be found afterwards, in lower case. ``questions``: the file of the user's own
    questions, below the home, if it is removed, too; it is useful only as a whole.
    """

    __slots__ = ("marks", "originals", "outside", "probes", "questions", "rows", "shared", "shorter", "unseen")

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.outside: list[str] = []
        self.marks: list[tuple[str, str]] = []
        self.originals: list[str] = []
        self.shorter: list[str] = []
        self.shared = 0
        self.unseen = 0
        self.probes: list[bytes] = []
        self.questions: str | None = None


def growing(found: Plan) -> list[tuple[str, str]]:
    """Return (source, unit) of growing units that are no session (a day, a shell's history, a file of code).

    Histories without times, for which something comes with every command, are first.
    """
    marks = {
        mark
        for mark in found.marks
        if (found_by := registry.find(mark[0])) is not None and found_by.grows and not is_by_content(mark)
    }
    return sorted(marks, key=lambda mark: (not mark[1].startswith(_UNDATED), mark))


class Outcome:
    """The result: ``documents`` removed, ``left``: places that still hold some of it, ``beyond``: where to look.

    ``own``: places in a person's own files, which Brain does not change.
    """

    __slots__ = ("beyond", "documents", "left", "own")

    def __init__(self, documents: int, left: list[str], beyond: list[str], own: list[str]) -> None:
        self.documents = documents
        self.left = left
        self.beyond = beyond
        self.own = own


def plan(home: Home, config: Config, chosen: Selection, match: str = "") -> Plan:
    """Find what is to be forgotten: the selected documents, or those with ``match`` in them or in their raw files.

    Text is compared as ``leftovers.folded`` gives it: without regard to case, composition of accents, kinds of white
    space and markdown's escapes. Raises BadInput, EngineMissing, and NotFound for an unknown reference.
    """
    found = Plan()
    connection = open_index(home.index)
    try:
        everything = {row.id: row for row in select(connection, config, Selection())}
        if match:
            picked = _matching(home, connection, list(everything.values()), match)
            found.probes = verify_erasure.spellings(match)
        else:
            picked = selected(home, connection, config, chosen, everything)
        rows = with_relatives(picked, list(everything.values()))
        # Their documents go, and are made of the rest when they are read next.
        again = partly(picked, rows)
        for row in rows:
            if row.file is None or not _is_ours(home, row.file):
                found.outside.append(uri(row.collection, row.path))
            else:
                found.rows.append(row)
        if not match:
            found.probes = _telling(connection, found.rows, everything.values())
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
    found.shorter = [_shorter(row) for row in found.rows if row.id in again]
    marks = _marks(home, [row for row in found.rows if row.id not in again])
    if match:
        unseen = _marks_in_archive(home, found.probes) - marks.keys()
        _add(home, config, found, unseen)
        own = _marks(home, [row for row in found.rows if row.id not in again])
        found.unseen = len(unseen - own.keys())
        marks |= dict.fromkeys(sorted(unseen)) | own
    found.marks = list(marks)
    for source in {source for source, _ in found.marks if registry.find(source) is not None}:
        held = forgetting.look(home, source, {unit for each, unit in found.marks if each == source})
        found.originals += sorted(path for path in held.files | held.companions if os.path.exists(path))
        found.shared += len(held.shared)
    if found.rows or found.marks:
        documents = [(row.collection, row.path) for row in found.rows]
        found.questions = verify_erasure.questions(home, documents, found.probes, [unit for _, unit in found.marks])
    return found


def _shorter(row: Row) -> str:
    """How what nobody picked of a document comes again: it was made of a repository, which may be elsewhere by now."""
    project = str(row.fields.get("project") or "")
    place = "" if not project or os.path.isdir(project) else f", once {project} is there again"
    document = uri(row.collection, row.path)
    again = f"`brain index --source {row.fields.get('source')}` makes it again of those{place}"
    return f"{document} had other commits as well: {again}"


def carry_out(home: Home, found: Plan, elsewhere: Elsewhere | None = None, *, wait_s: float = _LOCK_WAIT_S) -> Outcome:
    """Forget. Raises LockContention, OSError, EngineMissing; what was begun is finished by the next run.

    ``wait_s`` is how long to wait for each lock before anything is begun.

    ``elsewhere`` forgets (documents, marks, probes) in what lies outside this room (backups, other machines), and
    returns what still holds some of it, and where to look.
    """
    with _alone(home, wait_s):
        Tombstones(home).add(found.marks)
        job = {
            "schema": 1,
            "documents": [[row.collection, row.path] for row in found.rows],
            "files": [row.file for row in found.rows],
            "marks": found.marks,
        }
        if elsewhere is not None:
            job["elsewhere"] = {"documents": job["documents"], "marks": job["marks"]}
        notes.keep(home, job)
        _finish(home, job, found.probes)
    failed: list[str] = []
    beyond: list[str] = []
    if elsewhere is not None:
        failed, beyond = finish_elsewhere(home, elsewhere, found.probes)
    left, own = verify_erasure.search(home, found.probes)
    beyond += found.shorter + verify_erasure.unsettled(home) + forgetting.beyond(home)
    beyond += verify_erasure.beyond(home, found.originals)
    return Outcome(len(found.rows), failed + left, beyond, own)


def pending(home: Home) -> bool:
    """Return True if something that was forgotten is still to be taken out of backups and other machines' reach."""
    return "elsewhere" in notes.noted(home)


def unfinished(home: Home) -> bool:
    """Return True if a run was cut short here, which the next index run repairs, or elsewhere, which it cannot."""
    return os.path.exists(join(home.state, notes.JOB))


def finish_elsewhere(home: Home, elsewhere: Elsewhere, probes: Sequence[bytes] = ()) -> tuple[list[str], list[str]]:
    """Take what is noted out of what lies outside this room; returns what ``elsewhere`` does.

    The note goes when ``elsewhere`` has come to its end: killed or refused a lock, it is called again by the next run.
    Raises as ``elsewhere``, LockContention, OSError, EngineMissing.
    """
    with _alone(home):
        waiting = notes.noted(home).get("elsewhere")
    if waiting is None:
        return [], []
    documents = [(str(collection), str(path)) for collection, path in waiting["documents"]]
    marks = [(str(source), str(unit)) for source, unit in waiting["marks"]]
    said = elsewhere(documents, marks, list(probes))
    with _alone(home):
        if notes.noted(home).get("elsewhere") == waiting:
            os.unlink(join(home.state, notes.JOB))
    return said


def obey(
    home: Home,
    marks: Iterable[tuple[str, str]],
    documents: Iterable[tuple[str, str]] = (),
    probes: Sequence[bytes] = (),
) -> int:
    """Forget in this home (another machine's, an unpacked backup) what was forgotten in another; returns how many.

    ``marks`` are that one's tombstones, ``documents`` (collection, path) what it removed; what of them this home does
    not hold is passed over, and so is what lies outside its collection. Marks of sources that this version does not
    know are kept, and nothing else. No index is needed. Raises LockContention, OSError, EngineMissing.
    """
    from core.config import load

    held = list(dict.fromkeys(marks))
    named = dict.fromkeys(documents)
    with _alone(home):
        known = [mark for mark in held if registry.find(mark[0]) is not None]
        for source in {source for source, _ in known}:
            units = {unit for each, unit in known if each == source}
            collection, names = forgetting.documents_of(home, source, units)
            named |= dict.fromkeys((collection, name) for name in names)
            # A distillate has the name of what it was made from.
            named |= dict.fromkeys(("distilled", name) for name in names)
        folders = load(home).collections
        ours = [(name, folder.path) for name, folder in folders.items() if _is_ours(home, folder.path)]
        # Some commits of the day may have been forgotten before.
        before = [mark for mark in Tombstones(home).marks() if is_by_content(mark)]
        named |= dict.fromkeys(targets.find(ours, [*held, *before]))
        files = {each: join(folders[each[0]].path, each[1]) for each in named if each[0] in folders}
        there = [
            each for each, path in files.items() if os.path.lexists(path) and _is_below(folders[each[0]].path, path)
        ]
        there = [each for each in there if _is_ours(home, files[each])]
        Tombstones(home).add(held)
        job = {
            "schema": 1,
            "documents": [list(each) for each in named],
            "files": [files[each] for each in there],
            "marks": [list(each) for each in known],
        }
        notes.keep(home, job)
        _finish(home, job, list(probes))
    return len(there)


def resume(home: Home) -> bool:
    """Finish what a killed run had begun; returns whether there was anything. The caller holds the index's lock."""
    with _sources_locked(home, _LOCK_WAIT_S):
        return _resume(home)


def sweep(home: Home, match: str, *, for_good: bool = False) -> tuple[list[str], list[str]]:
    """Take a text out of what no document accounts for: logs, caches, free pages, and ``for_good`` objects of the
    archive that no catalogue names.

    Returns where it still is, and where a person's own files say it.
    """
    probes = verify_erasure.spellings(match)
    with _alone(home):
        forgetting.let_go(home)
        if for_good:
            forgetting.sweep(home, lambda data: verify_erasure.holds(data.lower(), probes))
        verify_erasure.scrub(home, [], probes, [])
        _erase(home, [])
    return verify_erasure.search(home, probes)


def forgotten(home: Home) -> list[tuple[str, str]]:
    """Return (source, unit) of everything that is forgotten, sorted."""
    return [mark for mark in Tombstones(home).marks() if not is_by_content(mark)]


def unforget(home: Home, references: Sequence[str]) -> list[tuple[str, str]]:
    """Lift tombstones, so that the next ``brain index`` reads what is still there; returns which.

    A reference is a session's id, an agent's, a day, or the uri that the document had. Tombstones of
    documents that were made of the same are lifted, too, since either alone would exclude both. Raises BadInput for a
    reference that names nothing forgotten.
    """
    lifted: list[tuple[str, str]] = []
    with _alone(home):
        held = Tombstones(home)
        there = held.marks()
        for reference in references:
            name = basename(reference.removeprefix("#")).removesuffix(".md")
            marks = [mark for mark in there if name in _names(mark) or _is_named(mark, reference)]
            if not marks:
                raise BadInput(f"{reference!r} is not forgotten", "brain forget --unforget lists what is")
            lifted += marks
        lifted = list(dict.fromkeys([*lifted, *_of_the_same(lifted, there)]))
        held.lift(lifted)
        forgetting.read_again(home, {source for source, _ in lifted})
    return [mark for mark in lifted if not is_by_content(mark)]


def _of_the_same(lifted: Collection[tuple[str, str]], there: Collection[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the tombstones of what shares a commit, a symbol or a file with what is lifted: a clone's day, a copy."""
    for source in {source for source, _ in lifted}:
        lifted_digests = digests(lifted, source)
        alike = {
            mark[1].partition("\t")[0]
            for mark in there
            if mark[0] == source and is_by_content(mark) and not lifted_digests.isdisjoint(digests([mark], source))
        }
        if alike:
            yield from (mark for mark in there if mark[0] == source and mark[1].partition("\t")[0] in alike)


def _is_named(mark: tuple[str, str], reference: str) -> bool:
    """Return True if the uri or the path of a document names the unit of a tombstone."""
    source = registry.find(mark[0])
    if source is None:
        return False
    return not source.units_named(reference.removeprefix(f"{SCHEME}{source.collection}/")).isdisjoint(_names(mark))


def _names(mark: tuple[str, str]) -> tuple[str, ...]:
    """Return the names of a tombstone: its unit, an agent's own id, and the document's name."""
    source, unit = mark
    found = registry.find(source)
    prefix = found.prefix if found is not None else ""
    if is_by_content(mark):
        return (unit.partition("\t")[0],)
    return unit, stem(unit), unit.partition("\t")[2], prefix + stem(unit)


def _matching(home: Home, connection: apsw.Connection, rows: Iterable[Row], match: str) -> list[Row]:
    wanted = verify_erasure.folded(match)
    raw = verify_erasure.spellings(match)
    picked: list[Row] = []
    for row in rows:
        text = catalogue.text(connection, row.hash)
        held = wanted in verify_erasure.folded(str(text or "")) or wanted in verify_erasure.folded(
            f"{row.title}\n{row.path}"
        )
        if not held and row.file is not None and _is_ours(home, row.file):
            with contextlib.suppress(OSError):
                held = verify_erasure.holds((read_or_none(row.file) or b"").lower(), raw)
        if held:
            picked.append(row)
    return picked


def _mark(home: Home, row: Row) -> tuple[str, str] | None:
    """Return the tombstone of a document; None for one that is made of others."""
    source = str(row.fields.get("source") or "")
    if is_distilled(row):
        return None
    if registry.find(source) is None:
        return identity.mark(row.fields, row.hash)
    unit = forgetting.unit_of(home, source, row.path)
    if unit is None:
        session, agent = row.fields.get("parent"), row.fields.get("agent_id")
        unit = f"{session}\t{agent}" if session and agent else str(row.fields.get("session_id") or "")
    return (source, unit) if unit else None


def _marks(home: Home, rows: Collection[Row]) -> dict[tuple[str, str], None]:
    found = dict.fromkeys(mark for row in rows if (mark := _mark(home, row)) is not None)
    return found | dict.fromkeys(mark for row in rows if not is_distilled(row) for mark in _others(row))


def _others(row: Row) -> list[tuple[str, str]]:
    return identity.others(row.fields, lambda: body_of(row))


def _marks_in_archive(home: Home, needles: list[bytes]) -> set[tuple[str, str]]:
    """Return the units with one of ``needles`` in their raw files, even if their documents omit the text."""
    return forgetting.archived_with(home, lambda data: verify_erasure.holds(data.lower(), needles))


def _add(home: Home, config: Config, found: Plan, unseen: set[tuple[str, str]]) -> None:
    """Add the documents of these units, and their relatives, to the plan."""
    if not unseen:
        return
    connection = open_index(home.index)
    try:
        everything = select(connection, config, Selection())
    finally:
        connection.close()
    there = {row.id for row in found.rows}
    picked = [row for row in everything if is_session(row) and _mark(home, row) in unseen]
    for row in with_relatives(picked, everything):
        if row.id not in there and row.file is not None and _is_ours(home, row.file):
            found.rows.append(row)


def _telling(connection: apsw.Connection, rows: list[Row], everything: Iterable[Row]) -> list[bytes]:
    """Return lines of the documents that stand in no other one: what verification looks for."""
    going = {row.hash for row in rows}
    lines: dict[str, None] = {}
    for row in rows:
        text = catalogue.text(connection, row.hash)
        body = sorted({line.strip() for line in str(text or "").splitlines()}, key=len, reverse=True)
        lines.update(dict.fromkeys(line.lower() for line in body[:3] if 24 <= len(line) <= 2000))
    staying = {row.hash for row in everything} - going
    for digest in staying:
        if not lines:
            break
        text = (catalogue.text(connection, digest) or "").lower()
        lines = {line: None for line in lines if line not in text}
    return [line.encode("utf-8", "replace") for line in lines]


def _is_ours(home: Home, path: str) -> bool:
    return any(_is_below(root, path) for root in (home.root, home.inbox))


def _may_hold(home: Home, path: str) -> bool:
    """Return True if the file at ``path`` may be a document: it lies in the home, or in the folder of a collection."""
    from core.config import load

    return _is_ours(home, path) or any(_is_below(folder.path, path) for folder in load(home).collections.values())


def _is_below(root: str, path: str) -> bool:
    return os.path.realpath(path).startswith(join(os.path.realpath(root), ""))


def _finish(home: Home, job: dict[str, Any], probes: list[bytes]) -> None:
    """Every step may have been done before, in part or whole."""
    documents = [(str(collection), str(path)) for collection, path in job["documents"]]
    marks = [(str(source), str(unit)) for source, unit in job["marks"]]
    for path in job["files"]:
        if not _may_hold(home, path):
            continue  # no run of this home has noted it
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
            sync_folder(dirname(path))
            forgetting.leave_no_empty_folder(home, dirname(path))
    for source in {source for source, _ in marks if registry.find(source) is not None}:
        units = {unit for each, unit in marks if each == source}
        names = [path for collection, path in documents if collection == registry.source(source).collection]
        forgetting.forget(home, source, units, names)
    forgetting.let_go(home)
    if probes:
        forgetting.sweep(home, lambda data: verify_erasure.holds(data.lower(), probes))
    _erase(home, documents)
    verify_erasure.scrub(home, documents, probes, [unit for _, unit in marks])
    if "elsewhere" in job:
        notes.write(home, {"schema": 1, "here": "done", "elsewhere": job["elsewhere"]})
    else:
        os.unlink(join(home.state, notes.JOB))


def _resume(home: Home) -> bool:
    job = notes.noted(home)
    if not job or job.get("here") == "done":
        return False
    _finish(home, job, [])
    return True


def _erase(home: Home, documents: list[tuple[str, str]]) -> None:
    from qmd.index.cleanup import erase

    if not os.path.exists(home.index):
        return
    connection = open_index(home.index, write=True, busy_ms=_BUSY_MS)
    try:
        erase(connection, documents)
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()


@contextlib.contextmanager
def _alone(home: Home, wait_s: float = _LOCK_WAIT_S) -> Iterator[None]:
    """Nobody indexes and nothing is read meanwhile."""
    home.make()
    with FileLock(join(home.state, "index.lock"), wait_s), _sources_locked(home, wait_s):
        _resume(home)
        yield


@contextlib.contextmanager
def _sources_locked(home: Home, wait_s: float) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for name in registry.names():
            stack.enter_context(FileLock(join(home.state, f"ingest-{name}.lock"), wait_s))
        yield
