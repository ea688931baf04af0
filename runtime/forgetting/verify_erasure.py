"""Proof of erasure: the bytes of every file below the home are searched for a forgotten text.

A person wrote some files below the home: ``collections.yml``, and whatever else is next to the folders and
files that Brain keeps there, except documents of Brain (a folder may have been a collection's once). Forgetting names
these files and does not change them.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import math
import os
import shutil
import tarfile
import time
from os.path import basename, dirname, join, relpath
from typing import TYPE_CHECKING, Any

from core.config import FILE as CONFIG
from core.config import load
from core.document import split
from core.errors import BrainError
from core.files import is_left_over, read_or_none, sweep_temporaries, write_atomic
from core.git import run as run_git
from core.home import CORPUS, LOCAL, RECORDS, Home
from core.tombstones import Tombstones
from ingest import forgetting, registry
from ingest.archive.keeping import STATES
from ingest.pipeline import pulse
from runtime import distill_queue

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from core.home import Home


_DATABASES = (".sqlite", ".sqlite-wal", ".sqlite-shm", ".sqlite-journal", ".lock")
# Files that repeat the schema of the database.
_WITH_SCHEMA = (".sqlite", ".sqlite-wal")
_CHUNK = 8 * 1024 * 1024
# An id that is shorter may stand anywhere.
_SHORT = 7
# Represents white space in a probe: no byte of any text in UTF-8.
_GAP = b"\xff"
# How much of it is found where a file is read in pieces.
_LONGEST_GAP = 1 << 16
_CONFIGURATION = "config.cache"
_KEPT = ("tombstones.json", "forgetting.json")
# Ledgers of runs, one file a source: ``ingest.pipeline.ledger``.
_LEDGERS = "ledger"
# Below state/ nothing else can be made again: settings stay, and are reported where the text is in them.
_CACHES = ("eval", "hooks", "copies", "scratch", "backup", _CONFIGURATION)


def spellings(text: str) -> list[bytes]:
    """How ``text`` may stand in files, for ``holds``.

    In lower, upper and folded case, with accents composed and apart, with markdown's escapes and without, each as it is
    and in JSON's two spellings; between its words white space of any kind and length, as it is or escaped.
    """
    import unicodedata

    found: dict[bytes, None] = {}
    for spaced in dict.fromkeys((" ".join(text.split()), " ".join(plain(text).split()))):
        for cased in (spaced, spaced.lower(), spaced.upper(), spaced.title(), spaced.casefold()):
            for form in ("NFC", "NFD"):
                written = unicodedata.normalize(form, cased)
                for each in (written, _escaped(written, "_*"), _escaped(written, "_*`~=+<>[]&|")):
                    for said in (each, json.dumps(each)[1:-1], json.dumps(each, ensure_ascii=False)[1:-1]):
                        found[said.encode("utf-8", "surrogatepass").lower().replace(b" ", _GAP)] = None
    return list(found)


def holds(data: bytes, probes: Iterable[bytes]) -> bool:
    """Return True if ``data`` (ASCII letters in lower case) holds one of ``probes``: of ``spellings``, or any bytes."""
    for probe in probes:
        if _GAP not in probe:
            if probe in data:
                return True
        elif all(word in data for word in probe.split(_GAP)) and _pattern(probe).search(data):
            return True
    return False


@functools.cache
def _white() -> bytes:
    """Return an expression for the white space of ``str.split``, in UTF-8 and in the escapes of JSON and shells.

    JSON inside JSON has its escapes escaped again.
    """
    import re

    spaces = [chr(code) for code in range(0x3001) if chr(code).isspace()]
    plainly = b"|".join(re.escape(space.encode()) for space in spaces)
    codes = [ord(space) for space in spaces]
    numbers = "|".join([*(f"u{code:04x}" for code in codes), *(f"x{code:02x}" for code in codes if code < 256)])
    return rb"(?:%b|\\+(?:[tnrfv]|%b))+" % (plainly, numbers.encode())


@functools.lru_cache(maxsize=1024)
def _pattern(probe: bytes) -> re.Pattern[bytes]:
    import re

    return re.compile(_white().join(re.escape(word) for word in probe.split(_GAP)))


def folded(text: str) -> str:
    """Return ``text`` for comparing: composed (NFC), case folded, white space as one blank, no markdown escapes."""
    import unicodedata

    # Folding may take a composed letter apart.
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", plain(text)).casefold()).split())


def plain(text: str) -> str:
    """Return ``text`` without the backslashes that markdown allows before punctuation."""
    if "\\" not in text:
        return text
    import re

    return re.sub(r"\\([!-/:-@\[\]-`{-~])", r"\1", text)


def _escaped(text: str, punctuation: str) -> str:
    return "".join(f"\\{each}" if each in punctuation else each for each in text)


def find(home: Home, probes: list[bytes]) -> list[str]:
    """Return paths below the home, relative to it, with one of ``probes`` (lower case) in their bytes or archives.

    The cache of the configuration does not count: it repeats the shipped configuration, or the home's own file, which
    is named itself.
    """
    return _found(home, probes, _files(home), math.inf)[0]


def _found(home: Home, probes: list[bytes], files: Iterable[str], most_s: float) -> tuple[list[str], list[str]]:
    """Return the paths of ``files`` as ``find`` does, and those for which ``most_s`` seconds were too short."""
    if not probes:
        return [], []
    end = time.monotonic() + most_s
    found: list[str] = []
    unread: list[str] = []
    for path in files:
        if os.path.basename(path) == _CONFIGURATION:
            continue
        try:
            if _is_in(path, probes, end):
                found.append(relpath(path, home.root))
        except TimeoutError:
            unread.append(relpath(path, home.root))
        except OSError:
            continue
    return found, unread


def _is_in(path: str, probes: list[bytes], end: float) -> bool:
    """Return True if a file holds one of ``probes`` beside the schema of a database. Raises OSError, TimeoutError.

    A schema is of Brain's own words, and its records have the names of a table one after the other: the end of one and
    the beginning of the next may be any word.
    """
    if not among(_until(end, _blocks(path)), probes):
        return False
    if not path.endswith(_WITH_SCHEMA):
        return True
    schema = _schema(path.removesuffix("-wal"))
    return among(_until(end, _blanked(_blocks(path), schema)), probes)


def _schema(path: str) -> list[bytes]:
    """Return the texts of a database's schema in lower case, the longest first; none if it cannot be read."""
    import apsw

    from core.sqlite import open_to_read

    try:
        with contextlib.closing(open_to_read(path)) as database:
            rows = database.execute("SELECT type || name || tbl_name, sql FROM sqlite_master").fetchall()
    except (apsw.Error, BrainError):
        return []
    return sorted({str(text).lower().encode() for row in rows for text in row if text}, key=len, reverse=True)


def _blanked(blocks: Iterable[bytes], texts: list[bytes]) -> Iterator[bytes]:
    for block in blocks:
        lower = block.lower()
        for text in texts:
            lower = lower.replace(text, bytes(len(text)))
        yield lower


def _until(end: float, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield ``blocks``. Raises TimeoutError if one is asked for after ``end``, by the monotonic clock."""
    for block in blocks:
        if time.monotonic() > end:
            raise TimeoutError
        yield block


def scrub(home: Home, documents: list[tuple[str, str]], probes: list[bytes], units: list[str]) -> None:
    """Take documents, and lines with ``probes`` in them, out of the queue, the logs and the caches. Raises OSError.

    Temporary files of killed writers are removed, too, once they are a minute old; ``unsettled`` names younger ones.
    """
    for place, _, _ in os.walk(home.root):
        sweep_temporaries(place)
    if os.path.isdir(states := join(home.state, STATES)):
        shutil.rmtree(states)  # a cache of parsers' states: which of them hold the text is not looked for
    uris = {f"qmd://{collection}/{path}" for collection, path in documents}
    names = {(collection, path) for collection, path in documents}
    telling = {is_json: _telling(documents, probes, units, is_json=is_json) for is_json in (False, True)}
    for top in (home.state, home.logs):
        for path in _below(top):
            name = os.path.basename(path)
            if name.endswith(_DATABASES) or name in _KEPT:
                continue
            if name.endswith(".jsonl"):
                # The queue's writers replace it, so that its own lock is not the file's.
                with distill_queue.locked(home) if path == distill_queue.path(home) else contextlib.nullcontext():
                    _rows(path, uris, names, probes)
                continue
            inside = relpath(path, home.state).split(os.sep)[0]
            if top == home.state and inside == _LEDGERS:
                _ledger(path, probes)
                continue
            wanted = telling[name.endswith(".json")] if inside in ("eval", "hooks") else probes
            if top == home.state and not _is_cache(inside):
                continue
            with contextlib.suppress(FileNotFoundError):
                if wanted and _contains(path, wanted):
                    os.unlink(path)

    def says(name: str) -> bool:
        return holds(name.lower().encode("utf-8", "surrogateescape"), probes)

    pulse.leave_out(home, says)
    forgetting.let_go(home, says)
    forgetting.forget_repositories(home, says)
    Tombstones(home).hide([each.name for each in registry.collectors() if each.hides_units], says)


def unsettled(home: Home) -> list[str]:
    """Return sentences about files that unknown processes are writing now: they may hold the forgotten text."""
    young = [relpath(path, home.root) for path in _files(home) if is_left_over(os.path.basename(path))]
    return [
        f"{path} was half written less than a minute ago, by a process that was killed or runs elsewhere: in a minute,"
        " brain forget --match TEXT takes it away"
        for path in young
        if path.endswith(".tmp")
    ]


def questions(home: Home, documents: list[tuple[str, str]], probes: list[bytes], units: list[str]) -> str | None:
    """Return the file of the user's own questions, below the home, if ``scrub`` would remove it, else None."""
    path = join(home.state, "eval", "personal.json")
    wanted = _telling(documents, probes, units, is_json=True)
    return relpath(path, home.root) if wanted and os.path.isfile(path) and _contains(path, wanted) else None


def _telling(documents: list[tuple[str, str]], probes: list[bytes], units: list[str], *, is_json: bool) -> list[bytes]:
    """Return what identifies a file that was made of documents: their text, their sessions' ids, and their names.

    A question that is drawn from a text holds only some of its words, but names its document. In JSON a name is
    a whole string: another collection's may end in the same letters.
    """
    names = [f"{collection}/{path}" for collection, path in documents]
    if is_json:
        strings = [*names, *(f"qmd://{name}" for name in names)]
        written = [json.dumps(name, ensure_ascii=each) for name in strings for each in (True, False)]
    else:
        written = [*names, *(json.dumps(name)[1:-1] for name in names if not name.isascii())]
    written += [unit.partition("\t")[0] for unit in units if len(unit) > _SHORT]
    return [*probes, *(text.lower().encode("utf-8", "replace") for text in written)]


def beyond(home: Home, originals: list[str]) -> list[str]:
    """Return sentences about places outside of Brain that may hold the text."""
    said: list[str] = []
    if originals:
        some = "s" * (len(originals) != 1)
        said.append(
            f"{len(originals)} raw file{some} of the tool itself still lie{'' if some else 's'} on disk; the brain will"
            " not read them again, and deletes nothing of other programs"
        )
    remotes = _git(home)
    if remotes is not None:
        said.append("the home lies in a git repository: its commits and reflogs hold what was committed")
        said += [f"the git remote {name} may hold what was pushed" for name in remotes]
    said.append(
        "backups moved elsewhere, copies of the home by other programs, and your shell's history are not reached"
    )
    return said


def _is_cache(name: str) -> bool:
    """Return True if what lies at ``name`` in ``state/`` may go: caches, and what an editor was given."""
    return name in _CACHES or name.startswith(("edit-", "piped-"))


def _rows(path: str, uris: set[str], names: set[tuple[str, str]], probes: list[bytes]) -> None:
    """Rewrite one ledger of JSON lines in place, under the lock that its writers take."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    with open(descriptor, "r+b") as stream:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        before = stream.read()
        kept: list[bytes] = []
        for line in before.splitlines(keepends=True):
            if holds(line.lower(), probes):
                continue
            kept.append(_row(line, uris, names))
        after = b"".join(kept)
        if after != before:
            stream.seek(0)
            stream.write(after)
            stream.truncate()
            os.fsync(descriptor)


def _ledger(path: str, probes: list[bytes]) -> None:
    """Take what holds ``probes`` out of what a run left: kinds of records and fields, failures. Counts stay."""
    try:
        ledger: Any = json.loads(read_or_none(path) or b"{}")
    except ValueError:
        return  # torn: the next run writes the file again, and verification names it
    if not isinstance(ledger, dict):
        return
    after = {key: _sifted(value, probes) for key, value in ledger.items()}
    if after != ledger:
        write_atomic(path, json.dumps(after, indent=1, ensure_ascii=False).encode("utf-8", "surrogateescape"))


def _sifted(value: Any, probes: list[bytes]) -> Any:
    def stays(*said: Any) -> bool:
        return not holds(json.dumps(said, ensure_ascii=False).lower().encode("utf-8", "surrogateescape"), probes)

    if isinstance(value, dict):
        return {key: each for key, each in value.items() if stays(key, each)}
    return [each for each in value if stays(each)] if isinstance(value, list) else value


def _row(line: bytes, uris: set[str], names: set[tuple[str, str]]) -> bytes:
    try:
        row: Any = json.loads(line)
    except ValueError:
        return line
    if not isinstance(row, dict):
        return line
    if (row.get("collection"), row.get("path")) in names:
        return b""
    changed = False
    for key, value in row.items():
        if isinstance(value, list) and any(isinstance(each, str) and each in uris for each in value):
            row[key] = [each for each in value if each not in uris]
            changed = True
        elif isinstance(value, str) and value in uris:
            row[key] = ""
            changed = True
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" if changed else line


def _files(home: Home) -> Iterator[str]:
    yield from _below(home.root)
    if not home.inbox.startswith(join(home.root, "")):
        yield from _below(home.inbox)


def _below(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = join(place, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def _contains(path: str, probes: list[bytes]) -> bool:
    return among(_blocks(path), probes)


def among(blocks: Iterable[bytes], probes: list[bytes]) -> bool:
    """Return True if what comes in ``blocks`` holds one of ``probes``, be it over the end of one."""
    longest = max(map(len, probes)) + _LONGEST_GAP
    tail = b""
    for block in blocks:
        data = tail + block.lower()
        if holds(data, probes):
            return True
        tail = data[-longest:]
    return False


def _blocks(path: str) -> Iterator[bytes]:
    with open(path, "rb") as stream:
        source: Any = stream
        if path.endswith(".zst"):
            import zstandard

            source = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
        try:
            while block := source.read(_CHUNK):
                yield block
        except Exception as error:
            if isinstance(error, OSError):
                raise
            raise OSError(f"damaged: {path}") from error  # zstd's own error


def _git(home: Home) -> list[str] | None:
    """Return the remotes of the repository that the home lies in, None if it lies in none."""
    place = home.root
    while not os.path.exists(join(place, ".git")):
        if dirname(place) == place:
            return None
        place = dirname(place)
    try:
        done = run_git(["-C", place, "remote"], environ=os.environ, timeout_s=10, most_bytes=_CHUNK)
    except OSError:
        return []
    return done.stdout.decode("utf-8", "replace").split()


_INDEX = "index.sqlite"
_BACKUPS = "backups"
_REPLACED = "replaced-"
_PACKED = ".tar.zst"
_LONGEST_LINE = 1 << 20
_MEMBER_CHUNK = 1 << 20
_MOST_OF_A_DOCUMENT = 1 << 16


def search(home: Home, probes: list[bytes]) -> tuple[list[str], list[str]]:
    """Return (paths of the brain's own, places of the person's) below the home that hold one of ``probes``.

    Paths are as ``leftovers.find`` gives them; a place is a path and, if known, ``:`` and a line.
    """
    return _sorted_out(home, find(home, probes), probes)


def preview(home: Home, probes: list[bytes], most_s: float) -> tuple[list[str], list[str], list[str]]:
    """Return what ``search`` finds within ``most_s`` seconds, and the paths that this was too short for.

    The smallest files are read first, so that few are left.
    """
    files = sorted(_files(home), key=lambda path: (_size(path), path))
    found, unread = _found(home, probes, files, most_s)
    return (*_sorted_out(home, sorted(found), probes), sorted(unread))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _sorted_out(home: Home, found: Iterable[str], probes: list[bytes]) -> tuple[list[str], list[str]]:
    left: list[str] = []
    own: list[str] = []
    places = brains(home)
    for path in found:
        if is_own(home, path, places):
            own.append(_with_line(home, path, probes))
        elif packed := _in_backup(home, path, probes):
            own += packed
        else:
            left.append(path)
    return left, own


def is_own(home: Home, path: str, places: frozenset[str]) -> bool:
    """Return True if a person wrote the file at ``path``, which is relative to the home; ``places``: of ``brains``."""
    parts = path.split(os.sep)
    if parts[0] == _BACKUPS and len(parts) > 2 and parts[1].startswith(_REPLACED):
        parts = parts[2:]  # a home that was put aside
    if parts == [CONFIG]:
        return True
    if parts[0] in places or parts[0].startswith(_INDEX) or parts[0] == os.pardir:
        return False
    if parts[-1].startswith(".") and parts[-1].endswith(".tmp"):
        return False  # as core.files calls what is half written
    return not (path.endswith(".md") and _is_made(home.path(path)))


def brains(home: Home) -> frozenset[str]:
    """Return the names below the home that are the brain's: its own, and the folders of collections."""
    try:
        folders = [folder.path for folder in load(home).collections.values()]
    except BrainError:
        folders = []
    below = (os.path.relpath(os.path.realpath(each), os.path.realpath(home.root)) for each in folders)
    return frozenset((*RECORDS, *LOCAL, *CORPUS, *(each.split(os.sep)[0] for each in below)))


def _is_made(path: str) -> bool:
    """Return True if a document says of itself what only the brain writes."""
    try:
        with open(path, "rb") as stream:
            fields, _ = split(stream.read(_MOST_OF_A_DOCUMENT).decode("utf-8", "replace"))
    except OSError:
        return True  # nobody knows
    return bool(fields.get("source") and fields.get("session_id"))


def _with_line(home: Home, path: str, probes: list[bytes]) -> str:
    with open(home.path(path), "rb") as stream:
        return path + _line(stream, probes)


def _line(stream: BinaryIO | Any, probes: Iterable[bytes]) -> str:
    wanted = list(probes)
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if holds(line.lower(), wanted):
            return f":{number}"
    return ""  # it goes over a line's end


def _in_backup(home: Home, path: str, probes: list[bytes]) -> list[str]:
    """Return a person's own files in a backup that hold the text; nothing if other files in it do, too."""
    if not (path.startswith(join(_BACKUPS, "")) and path.endswith(_PACKED)):
        return []
    own: list[str] = []
    try:
        for name, stream in _members(home.path(path)):
            if name == CONFIG:
                where = _line(stream, probes)
                own += [f"{path}: {name}{where}"] if where else []
            elif holds(name.lower().encode("utf-8", "surrogateescape"), probes) or among(_blocks_of(stream), probes):
                return []
    except (OSError, EOFError, tarfile.TarError):
        return []
    return own


def _blocks_of(stream: Any) -> Iterator[bytes]:
    while block := stream.read(_MEMBER_CHUNK):
        yield block


def _members(path: str) -> Iterator[tuple[str, Any]]:
    import zstandard

    with open(path, "rb") as packed:
        unpacked = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        try:
            with tarfile.open(fileobj=unpacked, mode="r|") as archive:
                for member in archive:
                    if (stream := archive.extractfile(member)) is not None:
                        yield member.name, stream
        except zstandard.ZstdError as error:
            raise OSError(f"damaged: {basename(path)}") from error
