"""Code as symbols: one small document a function, class or their like, of repositories that were named.

What it knows is in ``state/code.sqlite``, which one reading of the repositories makes
again.
"""

from __future__ import annotations

import hashlib
import os
from os.path import abspath, basename, dirname, isdir, join
from typing import TYPE_CHECKING, Any

import apsw

from core.document import Document, Failure
from core.errors import BadInput
from core.grammars import MAX_TEXT, language_of
from core.redaction import clean as redact
from core.text import clean
from core.tombstones import Tombstones, by_content, digests, without_digests
from core.version import DOCUMENT, REDACTION
from ingest.pipeline.ledger import GIVEN, OWN, Ledger
from ingest.pipeline.shadow import corpus as corpus_of
from ingest.pipeline.shadow import listed, state_of, to_read
from ingest.policy.exclusions import Rules
from ingest.raw.files import SourceFile
from ingest.source import Collector, configured
from ingest.sources.code.symbols import Reader, Symbol, Tangled, fence
from ingest.sources.code.walk import walk
from ingest.sources.git.places import places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from core.home import Home
    from ingest.pipeline.corpus import Corpus
    from ingest.pipeline.shadow import Shadow
    from ingest.pipeline.state import FileRow
    from ingest.source import Environ, OnWritten, Options, Progress


NAME = "code"
COLLECTION = "code"
FILE = "code.sqlite"
# Bump when the same code gives other documents.
VERSION = 4
_LONGEST_NAME = 120
_KEY = "sha256:"
_BATCH = 128
_TOO_LARGE = "too large"
_BINARY = "no text"
_TANGLED = "too tangled"

_SCHEMA = """
create table if not exists repositories(root blob primary key, name text not null unique) without rowid;
create table if not exists files(
  repository text not null, path text not null, size int not null, mtime_ns int not null, inode int not null,
  digest text not null, version text not null, primary key(repository, path)) without rowid;
create table if not exists documents(
  repository text not null, path text not null, name text not null, digest text not null,
  primary key(repository, path, name)) without rowid;
"""


class Code(Collector):
    """Files of repositories, a document a symbol."""

    name = NAME
    collection = COLLECTION

    def default_roots(self, home: Home | None = None, environ: Environ | None = None) -> list[str]:
        """Return the repositories that were named before, and those configured (``sources.code.roots``), that exist."""
        del environ  # no variable names repositories
        return [] if home is None else [root for root in _named(home) if isdir(root)]

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Every file of the repositories that a grammar is for and no ``.gitignore`` leaves out, sorted by path."""
        found: list[SourceFile] = []
        for root in roots:
            root = abspath(root)
            for path, status in walk(root, lambda name: bool(language_of(name))):
                why = _TOO_LARGE if status.st_size > MAX_TEXT else ""
                found.append(SourceFile(join(root, path), status.st_size, status.st_mtime_ns, status.st_ino, why))
        return sorted(found, key=lambda file: file.path)

    def pending(
        self, files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool
    ) -> list[SourceFile]:
        """Those of ``files`` that are new or not what they were; see ``ingest.raw.files.changed``."""
        from ingest.raw.files import changed

        return [file for file in files if not file.skip and changed(file, known.get(file.path), trust_stat=trust_stat)]

    def documents(self, path: str) -> Iterator[Document | Failure]:
        """The documents of one file, taken for the only one of a repository called as its folder. Raises nothing."""
        folder = basename(dirname(abspath(path)))
        try:
            with open(path, "rb") as stream:
                data = stream.read(MAX_TEXT + 1)
        except OSError as error:
            yield Failure(path, "unreadable", error.strerror or "")
            return
        if len(data) > MAX_TEXT or b"\0" in data:
            yield Failure(path, _TOO_LARGE if len(data) > MAX_TEXT else _BINARY)
            return
        reader = Reader()
        try:
            found = reader.symbols(data, language_of(path))
        except Tangled:
            yield Failure(path, _TANGLED)
            return
        finally:
            reader.worker.close()
        yield from documents(found, folder, dirname(abspath(path)), basename(path), {})

    def run(self, home: Home, roots: Sequence[str] | None, options: Options) -> Ledger:
        """Run over the repositories; nothing is written if ``options`` has a shadow.

        Raises BadInput where no repository was ever named, or none of those is there.
        """
        chosen = [abspath(root) for root in roots] if roots else self.default_roots(home)
        for root in chosen:
            if not isdir(root):
                raise BadInput(f"not a folder: {root}", "brain index --source code --from REPOSITORY")
        if not chosen:
            gone = ", ".join(_named(home))
            why = f"what was named is not there: {gone}" if gone else "no repository was named yet"
            raise BadInput(why, "brain index --source code --from REPOSITORY")
        ledger = Ledger(NAME, GIVEN if roots else OWN)
        rules = Rules(home)
        reader = Reader()
        with reader.worker, state_of(home, FILE, _SCHEMA, ledger, options.shadow) as connection:
            for root in dict.fromkeys(chosen):
                reason = _excluded(rules, root)
                if reason:
                    ledger.seen += 1
                    ledger.skip(reason)
                    continue
                _Repository(home, connection, root, ledger, rules, options.on_written, options.shadow, reader).go(
                    trust_stat=options.trust_stat, rebuild=options.rebuild, progress=options.progress
                )
        if options.shadow is None:
            rules.withheld.save()
        return ledger


SOURCE = Code()


def _named(home: Home) -> list[str]:
    """The repositories that were named before, and those configured."""
    found = configured(NAME, home)
    path = join(home.state, FILE)
    if os.path.exists(path):
        connection = to_read(path)
        try:
            roots = connection.execute("select root from repositories order by root")
            found += [os.fsdecode(root) for (root,) in roots]
        finally:
            connection.close()
    return list(dict.fromkeys(found))


def _excluded(rules: Rules, root: str) -> str:
    """Why a repository is excluded, by itself or as another work tree of one that is; "" where it is not."""
    found, _ = places([root], below=False)
    return next(filter(None, (rules.excluded(each, each) for each in (root, *(place.path for place in found)))), "")


class _Repository:
    """One repository's part of a run."""

    def __init__(
        self,
        home: Home,
        connection: apsw.Connection,
        root: str,
        ledger: Ledger,
        rules: Rules,
        on_written: OnWritten | None,
        shadow: Shadow | None,
        reader: Reader,
    ) -> None:
        self._home = home
        self._reader = reader
        self._rules = rules
        self._connection = connection
        self._root = root
        self._ledger = ledger
        self._on_written = on_written
        self._shadow = shadow
        self._name = repository_name(connection, root)
        held = Tombstones(home)
        self._forgotten = held.of(NAME)
        self._lacking, self._told = without_digests(self._forgotten), list[tuple[str, str]]()
        self._same = digests(held.marks(), NAME)
        self._version = f"{VERSION}.{DOCUMENT}.{REDACTION}{fingerprint(self._forgotten)}"
        self._rows: list[tuple[str, tuple[Any, ...], dict[str, str]]] = []

    def go(self, *, trust_stat: bool, rebuild: bool, progress: Progress | None) -> None:
        """Bring this repository's documents up to date."""
        execute = self._connection.execute
        known: dict[str, tuple[Any, ...]] = {
            str(path): tuple(rest)
            for path, *rest in execute(
                "select path, size, mtime_ns, inode, digest, version from files where repository = ?", (self._name,)
            )
        }
        held: dict[str, dict[str, str]] = {}
        for path, name, digest in execute(
            "select path, name, digest from documents where repository = ?", (self._name,)
        ):
            held.setdefault(str(path), {})[str(name)] = str(digest)
        found = list(walk(self._root, lambda name: bool(language_of(name))))
        folder = self._home.path(COLLECTION, self._name)
        there = {f"{self._name}/{name}" for name in listed(folder, self._shadow)}
        with corpus_of(self._home, COLLECTION, self._landed, self._shadow) as corpus:
            for number, (path, status) in enumerate(found, 1):
                key = path_key(path)
                row, mine = known.pop(key, None), held.pop(key, {})
                self._ledger.seen += 1
                place = join(self._root, path)
                reason = self._rules.excluded(place, dirname(place))
                if reason:  # what was made of it before stays
                    self._ledger.skip(reason)
                    continue
                whole = there.issuperset(mine) and (trust_stat or self._are_whole(corpus, mine))
                self._file(corpus, path, status, row, mine, fresh=rebuild or not whole, trust_stat=trust_stat)
                if progress is not None and number % 64 == 0:
                    progress(number, len(found), f"{self._name}: files")
            # What is left is of files that are gone, renamed or ignored by now.
            for key in {*known, *held}:
                self._forget(corpus, key, held.get(key, {}))
            self._save(corpus)
        if self._told and self._shadow is None:
            Tombstones(self._home).add(self._told)

    def _file(
        self,
        corpus: Corpus | Shadow,
        path: str,
        status: os.stat_result,
        row: tuple[Any, ...] | None,
        mine: dict[str, str],
        *,
        fresh: bool,
        trust_stat: bool,
    ) -> None:
        ledger = self._ledger
        here = (status.st_size, status.st_mtime_ns, status.st_ino)
        current = row is not None and row[4] == self._version and not fresh
        if current and trust_stat and row is not None and row[:3] == here:
            ledger.unchanged += 1
            return
        if status.st_size > MAX_TEXT:
            ledger.skip(_TOO_LARGE)
            self._forget(corpus, path_key(path), mine)
            return
        try:
            with open(join(self._root, path), "rb") as stream:
                data = stream.read(MAX_TEXT)
        except OSError as error:
            ledger.fail(join(self._root, path), "unreadable", error.strerror or "")
            return
        digest = hashlib.sha256(data).hexdigest()
        if current and row is not None and row[3] == digest:
            ledger.unchanged += 1
            made = mine
        elif b"\0" in data:
            ledger.skip(_BINARY)
            self._forget(corpus, path_key(path), mine)
            return
        else:
            try:
                found = self._reader.symbols(data, language_of(path))
            except Tangled:
                # Remembered like any other: it is not parsed again before it changes.
                ledger.skip(_TANGLED)
                found = []
            else:
                ledger.ingested += 1
                ledger.bytes += len(data)
                if self._shadow is not None:
                    self._shadow.files[join(self._root, path)] = len(data)
            made = {}
            for document in documents(found, self._name, self._root, path, ledger.redacted):
                unit = str(document.meta["session_id"])
                if unit in self._forgotten:
                    if unit in self._lacking:  # forgotten where its text could not be read: a clone shows the same
                        self._told.append(by_content(NAME, unit, [same(str(document.meta["nodeId"]), document.body)]))
                    continue
                # A clone is a repository of another name.
                if self._same and same(str(document.meta["nodeId"]), document.body) in self._same:
                    continue
                made[document.name] = corpus.put(document.name, document.render())
            for name in mine.keys() - made.keys():
                corpus.remove(name)
                ledger.removed += 1
        self._rows.append((path, (*here, digest, self._version), made))
        if len(self._rows) >= _BATCH:
            self._save(corpus)

    def _save(self, corpus: Corpus | Shadow) -> None:
        """Remember what was read, once its documents are on the disk: a run that dies reads it again."""
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

    def _forget(self, corpus: Corpus | Shadow, key: str, mine: dict[str, str]) -> None:
        for name in mine:
            corpus.remove(name)
            self._ledger.removed += 1
        with self._connection:
            for table in ("documents", "files"):
                self._connection.execute(f"delete from {table} where repository = ? and path = ?", (self._name, key))

    def _are_whole(self, corpus: Corpus | Shadow, mine: dict[str, str]) -> bool:
        return all(corpus.digest(name) == digest for name, digest in mine.items())

    def _landed(self, name: str, data: bytes, status: os.stat_result) -> None:
        self._ledger.written += 1
        if self._on_written is not None:
            self._on_written(COLLECTION, name, data, status)


def documents(
    found: Sequence[Symbol], repository: str, root: str, path: str, redacted: dict[str, int]
) -> Iterator[Document]:
    """One document a symbol of a file at ``path`` below ``root``; ``redacted`` counts secrets by kind."""
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
    """``path``: of its file, as it is and as it is shown."""
    text = redact(clean(symbol.text), redacted)
    title = redact(clean(symbol.name), redacted)
    name = clean(node)
    if (clean(path[0]), clean(symbol.name)) != (path[1], title):
        # Two may be one without what was replaced.
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
    """A digest that a symbol of this name, place and text has in every folder, 32 hexadecimal digits."""
    # Where in its file it stands depends on what else is there.
    text = body[body.find("\n```") :].strip()
    return hashlib.sha256(f"{node}\0{text}".encode("utf-8", "replace")).hexdigest()[:32]


def fingerprint(forgotten: Iterable[str]) -> str:
    """What was forgotten, as part of a version: when that changes, everything is read again; "" for nothing."""
    held = "\n".join(sorted(forgotten))
    return f".{hashlib.sha256(held.encode()).hexdigest()[:8]}" if held else ""


def file_name(node: str, shown: str = "") -> str:
    """``<escaped nodeId>-<8 hexadecimal digits of its SHA-256>.md``: safe, and different also where case is folded.

    ``shown``: what it may be called, where that is something else.
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


def repository_name(connection: apsw.Connection, root: str, called: str = "") -> str:
    """The folder's name, or what it is ``called``; with digits of the path's digest where another one has that."""
    known = connection.execute("select name from repositories where root = ?", (os.fsencode(root),)).get
    if known is not None:
        return str(known)
    wanted = "".join(
        each if each.isascii() and (each.isalnum() or each in "._-") else "-"
        for each in redact(called or basename(root), {})
    )
    wanted = wanted.strip(".-")[:60] or "repository"
    taken = {str(name).casefold() for (name,) in connection.execute("select name from repositories")}
    if wanted.casefold() in taken:
        wanted = f"{wanted}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:8]}"
    with connection:
        connection.execute("insert into repositories values(?, ?)", (os.fsencode(root), wanted))
    return wanted
