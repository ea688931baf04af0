"""The corpus on disk: markdown files that are whole or not there, and are not touched when nothing changed.

A disk that takes milliseconds to sync one file syncs many in hardly more: documents are put into temporary files, which
a few threads sync while the next are made, and are renamed into place, in order, once they are synced.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from os.path import join
from typing import TYPE_CHECKING, NamedTuple

from core.files import (
    read_or_none,
    remove_temporary,
    sweep_temporaries,
    sync_and_close,
    sync_folder,
    write_temporary,
)
from core.home import Home, make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container

    from core.syncs import Syncs

# Bounds of what waits: open files (macOS permits a process 256), and bytes held until they have landed.
_GROUP = 64
_GROUP_BYTES = 4 * 1024 * 1024
# Looking for so many files costs less than listing some thousands.
_FEW = 100


class _Staged(NamedTuple):
    """A document that waits in a temporary file."""

    data: bytes
    digest: str
    temporary: str


class Corpus:
    """One collection's folder below the home. ``sweep``: files that killed writers left are removed when it is opened.

    ``landed(name, data, status)`` is called, in the thread and the order of ``put``, for each document once it is in
    its place. ``flush()`` puts all that waits into place; ``with`` ends by removing what was not flushed. Threads start
    with the second document: a hook writes one.
    """

    def __init__(
        self,
        home: Home,
        collection: str,
        landed: Callable[[str, bytes, os.stat_result], None],
        *,
        sweep: bool = True,
    ) -> None:
        self.folder = home.path(collection)
        make_private(self.folder)
        if sweep:
            sweep_temporaries(self.folder)
        self._landed = landed
        self._staged: dict[str, _Staged] = {}
        self._bytes = 0
        # The name and descriptor of a document that waits alone; then the threads, and what they have synced.
        self._alone: tuple[str, int] | None = None
        self._syncs: Syncs | None = None
        self._synced: dict[str, os.stat_result] = {}
        # True if names in the folder have changed since it was synced.
        self._is_dirty = False

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        if self._alone is not None:
            os.close(self._alone[1])
        if self._syncs is not None:
            self._syncs.close()
        for staged in self._staged.values():
            remove_temporary(staged.temporary)

    def put(self, name: str, data: bytes) -> str:
        """Have ``data`` written as ``name`` unless that is what it holds; returns its SHA-256, hex. Raises OSError."""
        digest = hashlib.sha256(data).hexdigest()
        staged = self._staged.get(name)
        if staged is not None:
            if staged.digest == digest:
                return digest
            self.flush()
        if read_or_none(join(self.folder, name)) == data:
            return digest
        temporary, descriptor = write_temporary(self.folder, data)
        self._staged[name] = _Staged(data, digest, temporary)
        self._bytes += len(data)
        if self._syncs is None and len(self._staged) == 1:
            self._alone = name, descriptor
        else:
            self._sync(name, descriptor)
        return digest

    def _sync(self, name: str, descriptor: int) -> None:
        """Have a document synced while the next are made; put into place what is synced by now."""
        if self._syncs is None:
            from core.syncs import Syncs

            self._syncs = Syncs()
        if self._alone is not None:
            self._syncs.add(*self._alone)
            self._alone = None
        self._syncs.add(name, descriptor)
        self._land(self._syncs.ready())
        while len(self._staged) >= _GROUP or self._bytes >= _GROUP_BYTES:
            self._land(self._syncs.some())

    def flush(self) -> None:
        """Put every document that waits into its place, and sync its name. Raises OSError, after which no more is
        put."""
        if self._alone is not None:
            (name, descriptor), self._alone = self._alone, None
            status = sync_and_close(descriptor)
            staged = self._staged[name]
            os.rename(staged.temporary, join(self.folder, name))
            sync_folder(self.folder)
            self._staged.clear()
            self._bytes, self._is_dirty = 0, False
            self._landed(name, staged.data, status)
            return
        if self._syncs is not None:
            self._land(self._syncs.wait())
        if self._is_dirty:
            sync_folder(self.folder)
            self._is_dirty = False

    def _land(self, synced: dict[str, os.stat_result]) -> None:
        """Put those documents into place that are ``synced`` by now, up to the first that is not."""
        self._synced |= synced
        for name in list(self._staged):
            if name not in self._synced:
                return
            staged = self._staged[name]
            os.rename(staged.temporary, join(self.folder, name))
            del self._staged[name]
            self._is_dirty = True
            self._bytes -= len(staged.data)
            self._landed(name, staged.data, self._synced.pop(name))

    def rename(self, old: str, new: str) -> tuple[bytes, os.stat_result] | None:
        """Move a document; returns its bytes and stat, or None if it is no longer there. Raises OSError."""
        self.flush()
        path = join(self.folder, new)
        self._is_dirty = True
        try:
            os.rename(join(self.folder, old), path)
        except FileNotFoundError:
            return None
        with open(path, "rb") as stream:
            return stream.read(), os.fstat(stream.fileno())

    def remove(self, name: str) -> None:
        """Remove a document that no unit claims any more."""
        self.flush()
        self._is_dirty = True
        with contextlib.suppress(FileNotFoundError):
            os.unlink(join(self.folder, name))

    def there(self, names: Collection[str]) -> Container[str]:
        """Return those of ``names`` that are files in the folder: looked for one by one, or many of them all at
        once."""
        if len(names) > _FEW:
            return set(os.listdir(self.folder))
        return {name for name in names if os.path.lexists(join(self.folder, name))}

    def digest(self, name: str) -> str:
        """Return the SHA-256 of a document, hex; "" if it is missing or unreadable."""
        staged = self._staged.get(name)
        if staged is not None:
            return staged.digest
        try:
            data = read_or_none(join(self.folder, name))
        except OSError:
            return ""
        return "" if data is None else hashlib.sha256(data).hexdigest()
