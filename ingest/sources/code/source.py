"""Code as symbols: one small document a function, class or their like, of repositories that were named.

The state is ``state/code.sqlite``. One reading of the repositories makes a lost one again.
"""

from __future__ import annotations

import hashlib
import os
from os.path import abspath, dirname, isdir, join
from typing import TYPE_CHECKING, Any

from core.document import Document
from core.errors import BadInput
from core.grammars import MAX_TEXT, language_of
from core.redaction import clean as redact
from core.sqlite import open_to_read
from core.text import clean
from core.tombstones import Tombstones, by_content, digests, without_digests
from core.version import DOCUMENT, REDACTION
from ingest import repositories
from ingest.pipeline.collecting import Collecting
from ingest.raw.store import SourceFile
from ingest.repositories import RepositoryCollector, places
from ingest.source import configured
from ingest.sources.code.symbols import Symbol, SymbolReader, Tangled, fence
from ingest.sources.code.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import apsw

    from core.home import Home
    from ingest.collector import Options
    from ingest.pipeline.corpus import Corpus
    from ingest.pipeline.ledger import Ledger
    from ingest.pipeline.shadow import Shadow
    from ingest.source import Environ, Settings

NAME = "code"
COLLECTION = "code"
FILE = "code.sqlite"
# Bump when the same code gives other documents.
VERSION = 4
_LONGEST_NAME = 120
_KEY = "sha256:"
_BATCH = 128
_PROGRESS_EVERY = 64
_TOO_LARGE = "too large"
_BINARY = "no text"
_TANGLED = "too tangled"
_FIX = "brain index --source code --from REPOSITORY"

_SCHEMA = f"""{repositories.SCHEMA}
create table if not exists files(
  repository text not null, path text not null, size int not null, mtime_ns int not null, inode int not null,
  digest text not null, version text not null, primary key(repository, path)) without rowid;
create table if not exists documents(
  repository text not null, path text not null, name text not null, digest text not null,
  primary key(repository, path, name)) without rowid;
"""


class Code(RepositoryCollector):
    """Files of repositories, a document a symbol."""

    name = NAME
    collection = COLLECTION
    state_file = FILE
    by_repository = (("documents", "repository"), ("files", "repository"))

    def default_roots(
        self, home: Home | None = None, environ: Environ | None = None, settings: Settings | None = None
    ) -> list[str]:
        """Return the repositories that were named before, and those configured (``sources.code.roots``), that exist."""
        del environ, settings  # no variable names repositories
        return [] if home is None else [root for root in _named(home) if isdir(root)]

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return each file of the repositories that has a grammar and is not ignored, sorted by path."""
        found: list[SourceFile] = []
        for root in map(abspath, roots):
            for path, status in walk(root, lambda name: bool(language_of(name))):
                why = _TOO_LARGE if status.st_size > MAX_TEXT else ""
                found.append(SourceFile(join(root, path), status.st_size, status.st_mtime_ns, status.st_ino, why))
        return sorted(found, key=lambda file: file.path)

    def made_of(self, fields: Mapping[str, Any], body: Callable[[], str]) -> list[str]:
        """Return the digest of the symbol's name, place and text."""
        return [same(str(fields.get("nodeId")), body())]

    def shared_name(self, fields: Mapping[str, Any], path: str) -> str:
        del path
        return str(fields.get("nodeId") or "")

    def run(self, home: Home, roots: Sequence[str] | None, options: Options) -> Ledger:
        """Bring the symbols of the repositories up to date.

        Raises BadInput if no repository was ever named, or none of those exists.
        """
        chosen = [abspath(root) for root in roots] if roots else self.default_roots(home)
        for root in chosen:
            if not isdir(root):
                raise BadInput(f"not a folder: {root}", _FIX)
        if not chosen:
            gone = ", ".join(_named(home))
            raise BadInput(f"what was named is not there: {gone}" if gone else "no repository was named yet", _FIX)
        run = Collecting(self, home, roots, options)
        reader = SymbolReader()
        with reader.worker, run.state(_SCHEMA) as connection:
            for root in dict.fromkeys(chosen):
                reason = _excluded(run, root)
                if reason:
                    run.ledger.seen += 1
                    run.ledger.skip(reason)
                else:
                    _Repository(run, connection, root, reader).bring_up_to_date()
        return run.ledger


SOURCE = Code()


def _named(home: Home) -> list[str]:
    """Return the repositories that were named before, and those configured."""
    found = configured(NAME, home)
    path = join(home.state, FILE)
    if os.path.exists(path):
        connection = open_to_read(path)
        try:
            found += [root for root, _ in repositories.registered(connection)]
        finally:
            connection.close()
    return list(dict.fromkeys(found))


def _excluded(run: Collecting, root: str) -> str:
    """Return why a repository is excluded, by itself or as a work tree of an excluded one; "" if it is not."""
    found, _ = places([root], below=False)
    folders = (root, *(place.path for place in found))
    return next(filter(None, (run.rules.excluded(each, each) for each in folders)), "")


class _Repository:
    """One repository's part of a run."""

    def __init__(self, run: Collecting, connection: apsw.Connection, root: str, reader: SymbolReader) -> None:
        self._run = run
        self._ledger = run.ledger
        self._connection = connection
        self._root = root
        self._reader = reader
        self._name = repositories.registered_name(connection, root)
        self._tombstones = Tombstones(run.home)
        self._forgotten = self._tombstones.of(NAME)
        self._gone = digests(self._tombstones.marks(), NAME)
        # Symbols that were forgotten while their text could not be read: a clone has the same.
        self._lacking, self._marks = without_digests(self._forgotten), list[tuple[str, str]]()
        self._version = f"{VERSION}.{DOCUMENT}.{REDACTION}{repositories.forgotten_digest(self._forgotten)}"
        self._rows: list[tuple[str, tuple[Any, ...], dict[str, str]]] = []

    def bring_up_to_date(self) -> None:
        """Write the documents of the files that changed, and remove those of files that are gone."""
        run = self._run
        known, held = self._known(), self._held()
        found = list(walk(self._root, lambda name: bool(language_of(name))))
        there = {f"{self._name}/{name}" for name in run.listed(self._name)}
        trust_stat = run.options.trust_stat
        with run.corpus() as corpus:
            for number, (path, status) in enumerate(found, 1):
                key = path_key(path)
                row, mine = known.pop(key, None), held.pop(key, {})
                self._ledger.seen += 1
                place = join(self._root, path)
                reason = run.rules.excluded(place, dirname(place))
                if reason:  # its earlier documents stay
                    self._ledger.skip(reason)
                    continue
                is_whole = there.issuperset(mine) and (
                    trust_stat or all(corpus.digest(name) == digest for name, digest in mine.items())
                )
                is_current = row is not None and row[4] == self._version and is_whole and not run.options.rebuild
                self._file(corpus, path, status, row[:4] if is_current and row else None, mine)
                if number % _PROGRESS_EVERY == 0:
                    run.progress(number, len(found), f"{self._name}: files")
            # The others are gone, renamed or ignored by now.
            for key in {*known, *held}:
                self._remove(corpus, key, held.get(key, {}))
            self._save(corpus)
        if self._marks and run.shadow is None:
            self._tombstones.add(self._marks)

    def _known(self) -> dict[str, tuple[Any, ...]]:
        """Return key of a file → (size, mtime, inode, digest, version) of its last reading."""
        query = "select path, size, mtime_ns, inode, digest, version from files where repository = ?"
        return {str(path): tuple(rest) for path, *rest in self._connection.execute(query, (self._name,))}

    def _held(self) -> dict[str, dict[str, str]]:
        """Return key of a file → its documents' names → their digests."""
        held: dict[str, dict[str, str]] = {}
        query = "select path, name, digest from documents where repository = ?"
        for path, name, digest in self._connection.execute(query, (self._name,)):
            held.setdefault(str(path), {})[str(name)] = str(digest)
        return held

    def _file(
        self,
        corpus: Corpus | Shadow,
        path: str,
        status: os.stat_result,
        before: tuple[Any, ...] | None,
        mine: dict[str, str],
    ) -> None:
        """Bring the documents of one file up to date; ``before``: its last stat and digest, None to read it again."""
        ledger, place = self._ledger, join(self._root, path)
        now = (status.st_size, status.st_mtime_ns, status.st_ino)
        if before is not None and self._run.options.trust_stat and before[:3] == now:
            ledger.unchanged += 1
            return
        if status.st_size > MAX_TEXT:
            ledger.skip(_TOO_LARGE)
            self._remove(corpus, path_key(path), mine)
            return
        try:
            with open(place, "rb") as stream:
                data = stream.read(MAX_TEXT)
        except OSError as error:
            ledger.fail(place, "unreadable", error.strerror or "")
            return
        digest = hashlib.sha256(data).hexdigest()
        if before is not None and before[3] == digest:
            ledger.unchanged += 1
            made = mine
        elif b"\0" in data:
            ledger.skip(_BINARY)
            self._remove(corpus, path_key(path), mine)
            return
        else:
            made = self._write(corpus, path, data)
            for name in mine.keys() - made.keys():
                corpus.remove(name)
                ledger.removed += 1
        self._rows.append((path, (*now, digest, self._version), made))
        if len(self._rows) >= _BATCH:
            self._save(corpus)

    def _write(self, corpus: Corpus | Shadow, path: str, data: bytes) -> dict[str, str]:
        """Write the documents of one file; return name → digest."""
        try:
            found = self._reader.symbols(data, language_of(path))
        except Tangled:
            # Recorded like any other file, so that it is not parsed again before it changes.
            self._ledger.skip(_TANGLED)
            return {}
        self._ledger.ingested += 1
        self._ledger.bytes += len(data)
        self._run.note_read(join(self._root, path), len(data))
        made: dict[str, str] = {}
        for document in documents(found, self._name, self._root, path, self._ledger.redacted):
            unit, node = str(document.meta["session_id"]), str(document.meta["nodeId"])
            if unit in self._forgotten:
                if unit in self._lacking:
                    self._marks.append(by_content(NAME, unit, [same(node, document.body)]))
            elif not self._gone or same(node, document.body) not in self._gone:
                made[document.name] = corpus.put(document.name, document.render())
        return made

    def _save(self, corpus: Corpus | Shadow) -> None:
        """Record the files that were read, after their documents are on disk: a killed run reads them again."""
        corpus.flush()
        rows, self._rows = self._rows, []
        many = self._connection.executemany
        with self._connection:
            keys = [(self._name, path_key(path)) for path, _, _ in rows]
            for table in ("documents", "files"):
                many(f"delete from {table} where repository = ? and path = ?", keys)
            many(
                "insert into documents values(?, ?, ?, ?)",
                [(self._name, path_key(path), name, digest) for path, _, made in rows for name, digest in made.items()],
            )
            many(
                "insert into files values(?, ?, ?, ?, ?, ?, ?)",
                [(self._name, path_key(path), *known) for path, known, _ in rows],
            )

    def _remove(self, corpus: Corpus | Shadow, key: str, mine: dict[str, str]) -> None:
        for name in mine:
            corpus.remove(name)
            self._ledger.removed += 1
        with self._connection:
            for table in ("documents", "files"):
                self._connection.execute(f"delete from {table} where repository = ? and path = ?", (self._name, key))


def documents(
    found: Sequence[Symbol], repository: str, root: str, path: str, redacted: dict[str, int]
) -> Iterator[Document]:
    """Yield one document a symbol of the file at ``path`` below ``root``; ``redacted`` counts secrets by kind."""
    language = language_of(path)
    shown = redact(clean(path), redacted)
    times: dict[str, int] = {}
    for symbol in found:
        node = f"{symbol.label}:{path}:{symbol.name}"
        times[node] = times.get(node, 0) + 1
        if times[node] > 1:
            node = f"{node}#{times[node]}"  # an overload, or a second definition of the same name
        yield _document(symbol, node, repository, root, (path, shown), language, redacted)


def _document(
    symbol: Symbol,
    node: str,
    repository: str,
    root: str,
    path: tuple[str, str],
    language: str,
    redacted: dict[str, int],
) -> Document:
    """Return the document of a symbol; ``path``: its file's path as it is, and without secrets."""
    text = redact(clean(symbol.text), redacted)
    title = redact(clean(symbol.name), redacted)
    name = clean(node)
    if (clean(path[0]), clean(symbol.name)) != (path[1], title):
        # Two names may be equal after redaction.
        name = f"{symbol.label}:{path[1]}:{title}#{_digits(node)}"
    meta = {
        "session_id": f"code-{hashlib.sha256(f'{repository}:{node}'.encode('utf-8', 'replace')).hexdigest()[:16]}",
        "source": NAME,
        "title": title,
        "project": redact(clean(root), redacted),
        "repository": repository,
        "nodeId": name,
        "label": symbol.label,
        "filePath": path[1],
        "startLine": symbol.start,
        "endLine": symbol.end,
    }
    ticks = "`" * max(3, _longest_run(text) + 1)
    where = f"{symbol.label} in `{path[1].replace('`', '')}`, lines {symbol.start}–{symbol.end}"
    body = f"# {title}\n\n{where}\n\n{ticks}{fence(language)}\n{text}\n{ticks}"
    return Document(f"{repository}/{file_name(node, node if name == clean(node) else name)}", meta, body)


def path_key(path: str) -> str:
    """Return the digest by which ``state/code.sqlite`` knows a path: a file's name may be forgotten, or be a secret."""
    return _KEY + hashlib.sha256(os.fsencode(path)).hexdigest()


def same(node: str, body: str) -> str:
    """Return a digest of a symbol's name, place and text, equal in every clone: 32 hexadecimal digits."""
    # Its lines depend on the rest of the file and are left out.
    text = body[body.find("\n```") :].strip()
    return hashlib.sha256(f"{node}\0{text}".encode("utf-8", "replace")).hexdigest()[:32]


def file_name(node: str, shown: str = "") -> str:
    """Return ``<escaped nodeId>-<8 hexadecimal digits of its SHA-256>.md``, distinct also if case is folded.

    ``shown``: the nodeId without secrets, if it has any.
    """
    escaped = "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in shown or node)
    return f"{escaped[-_LONGEST_NAME:].lstrip('.-')}-{_digits(node)}.md"


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _longest_run(text: str) -> int:
    longest = 0
    while "`" * (longest + 1) in text:
        longest += 1
    return longest
