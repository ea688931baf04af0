"""The file a backup is: a tar of private files in zstd, and as its last member a manifest with a hash of each.

The manifest stands last because it is made while the rest is written; a file that was cut short has none, and is none.
Reading takes nothing on trust: names, kinds, sizes and hashes are checked before anything is put in place.
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
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from core.files import remove_temporary, sync_folder
from core.home import PRIVATE_FILE, make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Progress = Callable[[int, int, str], None]

MANIFEST = "manifest.json"
SUFFIX = ".tar.zst"
_LEVEL = 9
_PIECE = 1 << 20
_MANIFEST_BYTES = 1 << 30


def pack(folder: str, target: str, about: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """Write everything below ``folder`` to the new file ``target``, mode 0600; returns the manifest.

    It has its name only when it is whole and on the disk. Raises OSError; nothing is then left.
    """
    import zstandard

    names = sorted(_below(folder))
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
        os.rename(temporary, target)
    except BaseException:
        remove_temporary(temporary)
        raise
    sync_folder(dirname(target))
    return manifest


def unpack(path: str, folder: str, progress: Progress | None = None) -> dict[str, Any]:
    """Put what the backup at ``path`` holds below ``folder``, which is empty; returns its manifest.

    Raises BadInput where the file is no backup, is cut short or damaged, or holds what no backup holds; OSError.
    """
    seen: dict[str, tuple[int, str]] = {}
    manifest: dict[str, Any] | None = None
    size = max(1, os.stat(path).st_size)
    with _sound(path):
        for name, stream, done in _members(path):
            if manifest is not None:
                raise _damaged(path, "something follows its manifest")
            if name == MANIFEST:
                manifest = _manifest(path, stream.read(_MANIFEST_BYTES))
                continue
            target = join(folder, name)
            make_private(dirname(target))
            seen[name] = _write(stream, target)
            if progress is not None:
                progress(done, size, "unpacking")
    if manifest is None:
        raise _damaged(path, "it has no manifest")
    expected = {str(name): (int(length), str(digest)) for name, length, digest in manifest["files"]}
    if seen != expected:
        wrong = sorted(set(seen.items()) ^ set(expected.items()))[0][0]
        raise _damaged(path, f"{wrong} is not what its manifest says")
    return manifest


def read_manifest(path: str) -> dict[str, Any]:
    """The manifest of the backup at ``path``; the whole file is read. Raises BadInput and OSError."""
    with _sound(path):
        for name, stream, _ in _members(path):
            if name == MANIFEST:
                return _manifest(path, stream.read(_MANIFEST_BYTES))
    raise _damaged(path, "it has no manifest")


@contextlib.contextmanager
def _sound(path: str) -> Iterator[None]:
    """What zstd, tar and the file system make of damage, said as damage."""
    import zstandard

    try:
        yield
    except (zstandard.ZstdError, tarfile.TarError, EOFError, UnicodeError) as error:
        raise _damaged(path, str(error)) from error
    except OSError as error:
        if error.errno not in (errno.ENAMETOOLONG, errno.EINVAL):
            raise
        raise _damaged(path, "it holds a name that cannot be one") from error


def _members(path: str) -> Iterator[tuple[str, Any, int]]:
    """(name, stream, bytes of the file read so far) of each member; all are regular files with a harmless name."""
    import zstandard

    with (
        open(path, "rb") as raw,
        zstandard.ZstdDecompressor().stream_reader(raw, closefd=False) as plain,
        tarfile.open(fileobj=plain, mode="r|", errorlevel=2) as tar,
    ):
        names: set[str] = set()
        for member in tar:
            parts = member.name.split("/")
            if not member.isreg() or "\0" in member.name or {"", ".", ".."}.intersection(parts):
                raise _damaged(path, "it holds what no backup holds")
            if member.name in names:
                raise _damaged(path, "it holds a file twice")
            names.add(member.name)
            stream = tar.extractfile(member)
            if stream is not None:
                yield member.name, stream, raw.tell()


def _manifest(path: str, data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
        if found["schema"] != 1 or found["kind"] != "brain-backup":
            raise BadInput(f"{path} is a backup of another version", "restore it with the version that made it")
        for name, size, digest in found["files"]:
            if not (isinstance(name, str) and isinstance(size, int) and isinstance(digest, str)):
                raise TypeError(name)
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


def _write(stream: Any, target: str) -> tuple[int, str]:
    digest = hashlib.sha256()
    size = 0
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    with open(descriptor, "wb") as out:
        while piece := stream.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            out.write(piece)
    return size, digest.hexdigest()
