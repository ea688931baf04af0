"""The file format of a backup: a tar of private files in zstd; its last member is a manifest with a hash of each.

The manifest is last because it is made while the rest is written; a file that was cut short has none.
An archive may come from anybody. It is read twice. The first time names, kinds, sizes and the manifest are checked, and
nothing is written. Then each file is written with exactly the size that the manifest declares.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import tarfile
from os.path import dirname, join
from typing import TYPE_CHECKING, Any, cast

from core.errors import BadInput
from core.files import remove_temporary, sync_folder
from core.home import PRIVATE_FILE, make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

    Progress = Callable[[int, int, str], None]

MANIFEST = "manifest.json"
SUFFIX = ".tar.zst"
_LEVEL = 9
_PIECE = 1 << 20
_MANIFEST_BYTES = 1 << 28
# An archive may unpack to this many times its size, or to `ALWAYS_BYTES`. Text shrinks to a tenth, a zip bomb to less
# than a thousandth.
MOST_TIMES = 1000
ALWAYS_BYTES = 256 << 20
# Folders in a path. Removing a tree recurses once per folder, and Python allows about a thousand calls.
MOST_PARTS = 100
# The headers of one member: names are shorter than a page.
_HEADER_BYTES = 1 << 20


def pack(folder: str, target: str, about: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """Write everything below ``folder`` to the new file ``target``, mode 0600; returns the manifest.

    The file gets its name when it is whole and on the disk.
    Raises BadInput for what ``unpack`` would refuse, OSError; nothing is then left.
    """
    import zstandard

    names = sorted(_below(folder))
    for name in names:
        if not _is_plain(name):
            raise BadInput(
                f"{name} lies more than {MOST_PARTS} folders deep, so nothing was backed up", "move it further up"
            )
    total = sum(os.stat(join(folder, name)).st_size for name in names)
    done = 0
    files: list[list[Any]] = []
    make_private(dirname(target))
    temporary = join(dirname(target), f".{os.getpid()}-{os.urandom(4).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        with open(descriptor, "wb") as out:
            compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
            with (
                compressor.stream_writer(out, closefd=False) as packed,
                tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                for name in names:
                    size, digest = _add(tar, join(folder, name), name)
                    files.append([name, size, digest])
                    done += size
                    if progress is not None:
                        progress(done, total, "packing")
                manifest = {"schema": 1, **about, "files": files}
                data = json.dumps(manifest, ensure_ascii=True, separators=(",", ":")).encode()
                tar.addfile(_member(MANIFEST, len(data), 0), io.BytesIO(data))
            out.flush()
            os.fsync(out.fileno())
            if done > _most_bytes(os.fstat(out.fileno()).st_size):
                name = max(files, key=lambda each: int(each[1]))[0]
                raise BadInput(
                    f"no restore would take it, as it shrinks to less than a {MOST_TIMES}th; {name} is the largest",
                    f"move {name} out of the home",
                )
        os.rename(temporary, target)
    except BaseException:
        remove_temporary(temporary)
        raise
    sync_folder(dirname(target))
    return manifest


def unpack(path: str, folder: str, progress: Progress | None = None) -> dict[str, Any]:
    """Put the files of the backup at ``path`` below the empty ``folder``; return the manifest.

    Nothing is written before the manifest is read and agrees with the names and sizes of all members.
    Raises BadInput if the file is no backup, is damaged, breaks a limit or is larger than the free disk; OSError.
    """
    manifest = read_manifest(path, progress)
    expected = _expected(manifest)
    _require_room(path, folder, sum(size for size, _ in expected.values()))
    with _sound(path):
        for member, stream, read in _members(path):
            if member.name == MANIFEST:
                continue
            size, digest = expected.pop(member.name, (-1, ""))
            target = join(folder, member.name)
            make_private(dirname(target))
            if size != member.size or _write(stream, target) != digest:
                raise _damaged(path, f"{member.name} is not what its manifest says")
            if progress is not None:
                progress(read, max(1, os.stat(path).st_size), "unpacking")
    return manifest


def take(path: str, name: str, target: str) -> bool:
    """Put the file ``name`` of the backup at ``path`` at ``target``; returns False if the backup has no such file.

    Raises BadInput as ``unpack``; OSError.
    """
    wanted = _expected(read_manifest(path)).get(name)
    if wanted is None:
        return False
    with _sound(path):
        for member, stream, _ in _members(path):
            if member.name == name:
                if _write(stream, target) != wanted[1]:
                    raise _damaged(path, f"{name} is not what its manifest says")
                return True
    return False


def read_manifest(path: str, progress: Progress | None = None) -> dict[str, Any]:
    """Return the manifest of the backup at ``path``; the whole file is read and nothing is written.

    Raises BadInput if the members are not those that the manifest declares, OSError.
    """
    manifest: dict[str, Any] | None = None
    seen: dict[str, int] = {}
    total = max(1, os.stat(path).st_size)
    with _sound(path):
        for member, stream, read in _members(path):
            if manifest is not None:
                raise _damaged(path, "something follows its manifest")
            if member.name == MANIFEST:
                manifest = _manifest(path, stream.read(_MANIFEST_BYTES))
            elif member.name in seen:
                raise _damaged(path, "it holds a file twice")
            else:
                seen[member.name] = member.size
            if progress is not None:
                progress(read, total, "checking")
    if manifest is None:
        raise _damaged(path, "it has no manifest")
    declared = {name: size for name, (size, _) in _expected(manifest).items()}
    if seen != declared or len(declared) != len(manifest["files"]):
        wrong = sorted(set(seen.items()) ^ set(declared.items())) or [("a name that is there twice", 0)]
        raise _damaged(path, f"{wrong[0][0]} is not what its manifest says")
    if folder := next((each for name in seen for each in _parents(name) if each in seen), ""):
        raise _damaged(path, f"{folder} is a file and a folder")
    return manifest


def _expected(manifest: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """Name → (size in bytes, SHA-256) of each file that a manifest declares."""
    return {name: (size, digest) for name, size, digest in manifest["files"]}


def _parents(name: str) -> Iterator[str]:
    while name := dirname(name):
        yield name


def _require_room(path: str, folder: str, size: int) -> None:
    make_private(folder)
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    if size > free:
        raise BadInput(
            f"{path} unpacks to {size / 1e6:.0f} MB, and the disk of {folder} has {free / 1e6:.0f} MB free",
            "make room there, or restore elsewhere: brain restore FILE --to HOME",
        )


def _most_bytes(packed: int) -> int:
    """Return how many bytes an archive of ``packed`` bytes may unpack to."""
    return max(ALWAYS_BYTES, packed * MOST_TIMES)


@contextlib.contextmanager
def _sound(path: str) -> Iterator[None]:
    """Raise BadInput for every error by which zstd, tar, JSON or the file system reports damage."""
    import zstandard

    try:
        yield
    except (zstandard.ZstdError, tarfile.TarError, EOFError, ValueError, ArithmeticError, LookupError) as error:
        raise _damaged(path, str(error)) from error
    except RecursionError as error:
        raise _damaged(path, "its headers do not end") from error
    except FileExistsError as error:
        raise _damaged(path, f"{error.filename} has two spellings in it that are one on this disk") from error
    except OSError as error:
        if error.errno not in (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ):
            raise
        raise _damaged(path, "it holds a name that cannot be one") from error


class _Metered:
    """A stream that refuses to yield more than ``allowed`` bytes, of which headers may take no more than a megabyte."""

    __slots__ = ("_most", "_path", "_stream", "allowed", "taken")

    def __init__(self, path: str, stream: Any) -> None:
        self._path = path
        self._stream = stream
        self._most = _most_bytes(os.stat(path).st_size)
        self.taken = 0
        self.allowed = 0
        self.allow(0)

    def allow(self, size: int) -> None:
        """Allow a body of ``size`` bytes and the header after it."""
        self.allowed = self.taken + size + _HEADER_BYTES

    def read(self, size: int) -> bytes:
        data: bytes = self._stream.read(size)
        self.taken += len(data)
        if self.taken > self._most:
            raise _damaged(self._path, f"it unpacks to more than {MOST_TIMES} times its size")
        if self.taken > self.allowed:
            raise _damaged(self._path, "it holds a header that is too large")
        return data


def _members(path: str) -> Iterator[tuple[tarfile.TarInfo, Any, int]]:
    """Yield (member, stream, bytes of the archive read so far) of each member: regular files with harmless names."""
    import zstandard

    with open(path, "rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw, closefd=False) as plain:
        metered = _Metered(path, plain)
        with tarfile.open(fileobj=cast("IO[bytes]", metered), mode="r|", errorlevel=2) as tar:
            for member in tar:
                if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse() or member.size < 0:
                    raise _damaged(path, f"{member.name[:100]} is no plain file")
                if not _is_plain(member.name):
                    raise _damaged(path, f"it holds the name {member.name[:100]!r}")
                metered.allow(member.size)
                stream = tar.extractfile(member)
                if stream is not None:
                    yield member, stream, raw.tell()


def _is_plain(name: str) -> bool:
    """Return True if a member's name leads to a place below the folder, at most ``MOST_PARTS`` deep."""
    parts = name.split("/")
    return "\0" not in name and len(parts) <= MOST_PARTS and {"", ".", ".."}.isdisjoint(parts)


def _manifest(path: str, data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
        if found["schema"] != 1 or found["kind"] != "brain-backup":
            raise BadInput(f"{path} is a backup of another version", "restore it with the version that made it")
        for name, size, digest in found["files"]:
            if not (isinstance(name, str) and type(size) is int and isinstance(digest, str)):
                raise TypeError(f"an entry of another shape: {str(name)[:100]}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(path, f"its manifest cannot be read: {error}") from error
    manifest: dict[str, Any] = found
    return manifest


def _damaged(path: str, why: str) -> BadInput:
    return BadInput(f"{path} is no whole backup: {why}", "take another one: ls -l the folder it lies in")


def _below(folder: str) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(join(place, name), folder)


def _add(tar: tarfile.TarFile, path: str, name: str) -> tuple[int, str]:
    try:
        stream = open(path, "rb")  # noqa: SIM115  # closed by the with below
    except PermissionError:
        raise BadInput(
            f"{name} may not be read, so nothing was backed up", f"chmod u+r {name}  (in the home)"
        ) from None
    with stream:
        status = os.fstat(stream.fileno())
        hashed = _Hashed(stream, status.st_size)
        tar.addfile(_member(name, status.st_size, int(status.st_mtime)), hashed)
        return status.st_size, hashed.digest.hexdigest()


def _member(name: str, size: int, mtime: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mtime = mtime
    member.mode = PRIVATE_FILE
    return member


class _Hashed(io.RawIOBase):
    """A file that is hashed as tar reads it, and of the size it was: what an editor cuts meanwhile reads as zeros."""

    def __init__(self, stream: Any, size: int) -> None:
        self._stream = stream
        self._left = size
        self.digest = hashlib.sha256()

    def read(self, count: int = -1) -> bytes:
        wanted = self._left if count < 0 else min(count, self._left)
        data: bytes = self._stream.read(wanted)
        data += bytes(wanted - len(data))
        self._left -= len(data)
        self.digest.update(data)
        return data


def _write(stream: Any, target: str) -> str:
    """Write a member to the new file ``target``; returns its SHA-256."""
    digest = hashlib.sha256()
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    with open(descriptor, "wb") as out:
        while piece := stream.read(_PIECE):
            digest.update(piece)
            out.write(piece)
    return digest.hexdigest()
