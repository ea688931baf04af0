"""Git commits: one document a day and repository, by the author's own clock.

The state is ``state/git.sqlite``. One reading of the repositories makes a lost one again.
"""

from __future__ import annotations

import hashlib
import os
import re
from os.path import isdir
from typing import TYPE_CHECKING, Any

from core import clock
from core.document import Document, Timestamp
from core.errors import BadInput
from core.files import read_or_none
from core.redaction import clean as redact
from core.text import clean, one_line
from core.tombstones import Tombstones, by_content, digests, hidden, without_digests
from core.version import DOCUMENT, REDACTION
from ingest import repositories
from ingest.pipeline.collecting import Collecting
from ingest.raw.store import SourceFile
from ingest.repositories import NoLog, Place, RepositoryCollector, Worked, called, common_of, places, top_of
from ingest.source import configured
from ingest.sources.git.log import Commit, commits, tip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import apsw

    from core.home import Home
    from ingest.collector import Options
    from ingest.pipeline.ledger import Ledger
    from ingest.pipeline.state import FileRow
    from ingest.source import Environ, Settings

NAME = "git"
COLLECTION = "git"
FILE = "git.sqlite"
# Bump when the same commits give other documents.
VERSION = 2
_NONE = "no git repository"
_FIX = "brain index --source git --from REPOSITORY, or a folder of repositories"
# Folders within a repository in which tools make work trees, and delete them.
_TREES = frozenset(("worktrees", ".worktrees"))
_DIGITS = 12
_MESSAGE = 10_000
_SUBJECT = 200
_HASH = re.compile(rf"^`([0-9a-f]{{{_DIGITS}}})` · ", re.MULTILINE)

_SCHEMA = f"""{repositories.SCHEMA}
create table if not exists tips(name text primary key, tip text not null) without rowid;
create table if not exists documents(
  name text primary key, repository text not null, digest text not null) without rowid;
"""


class Git(RepositoryCollector):
    """Repositories, a document a day."""

    name = NAME
    collection = COLLECTION
    state_file = FILE
    reads_projects = True
    hides_units = True
    by_repository = (("documents", "repository"), ("tips", "name"))

    def default_roots(
        self, home: Home | None = None, environ: Environ | None = None, settings: Settings | None = None
    ) -> list[str]:
        """Return the repositories configured (``sources.git.roots``) that exist."""
        del environ, settings  # no variable names repositories
        return [] if home is None else [root for root in configured(NAME, home) if isdir(root)]

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return the repositories around the roots, or below them, sorted; ``skip`` marks folders without one."""
        found, without = places(roots, below=not isinstance(roots, Worked))
        files = [SourceFile(place.path, 0, 0, 0, "") for place in found]
        files += [SourceFile(folder, 0, 0, 0, _NONE) for folder in without]
        return sorted(files, key=lambda file: file.path)

    def pending(
        self, files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool
    ) -> list[SourceFile]:
        """Return all readable repositories: only git knows which have new commits."""
        del known, trust_stat  # neither describes a repository
        return [file for file in files if not file.skip]

    def made_of(self, fields: Mapping[str, Any], body: Callable[[], str]) -> list[str]:
        """Return the first digits of the hashes of the day's commits."""
        del fields
        return commits_of(body())

    def shared_name(self, fields: Mapping[str, Any], path: str) -> str:
        """Return the day."""
        del fields
        return os.path.basename(path)

    def units_named(self, path: str) -> set[str]:
        """Return the day of a repository, in plain and as a tombstone hides it."""
        day = path.removesuffix(".md").replace("/", ":")
        return {day, hidden(day)}

    def run(self, home: Home, roots: Sequence[str] | None, options: Options) -> Ledger:
        """Bring the days of the repositories at, around or below ``roots`` up to date.

        Without roots, or if sessions ``Worked`` in them, the configured repositories are read as well. Raises BadInput
        if there is no repository.
        """
        is_named = bool(roots) and not isinstance(roots, Worked)
        found, without = places(roots if is_named and roots else self.default_roots(home), below=True)
        if not is_named:
            also, others = places(roots or (), below=False)
            found, without = _united(found, also), [*without, *others]
        if is_named and not found:
            raise BadInput(f"no git repository at, below or around {', '.join(without)}", _FIX)
        if not (found or without):
            raise BadInput("no session worked in a repository that is here", _FIX)
        run = Collecting(self, home, roots, options)
        with run.state(_SCHEMA) as connection:
            run.ledger.seen = len(without) + len(found)
            for _ in without:
                run.ledger.skip(_NONE)
            for number, place in enumerate(found, 1):
                reason = _excluded(run, place)
                if reason:
                    run.ledger.skip(reason)
                else:
                    repository = _Repository(run, connection, place.path)
                    repository.take_over_work_trees()
                    repository.bring_up_to_date()
                run.progress(number, len(found), "repositories")
        return run.ledger


SOURCE = Git()


def _united(*found: list[Place]) -> list[Place]:
    held: dict[str, Place] = {}
    for place in (place for some in found for place in some):
        known = held.get(place.path, place)
        held[place.path] = place._replace(trees=tuple(sorted({*known.trees, *place.trees})))
    return [held[path] for path in sorted(held)]


def _excluded(run: Collecting, place: Place) -> str:
    """Return why a repository is excluded: itself, or all its work trees among the roots."""
    reasons = [run.rules.excluded(tree, tree) for tree in place.trees]
    return run.rules.excluded(place.path, place.path) or (reasons[0] if all(reasons) else "")


class _Repository:
    """One repository's part of a run."""

    def __init__(self, run: Collecting, connection: apsw.Connection, root: str) -> None:
        self._run = run
        self._ledger = run.ledger
        self._connection = connection
        self._root = root

    def take_over_work_trees(self) -> None:
        """Remove documents that were made of this repository's other work trees, or of it under another path."""
        rows = repositories.registered(self._connection)
        known = {root for root, _ in rows}
        common = common_of(self._root)
        for root, name in rows:
            if root == self._root or not self._is_tree(root, common):
                continue
            if self._root not in known and os.path.basename(root) == os.path.basename(self._root):
                # The same repository by another path: its documents keep their names.
                known.add(self._root)
                with self._connection:
                    self._connection.execute(
                        "update repositories set root = ? where root = ?", (os.fsencode(self._root), os.fsencode(root))
                    )
            else:
                self._drop(root, name)

    def bring_up_to_date(self) -> None:
        """Write the days of the repository, unless its branches are the recorded ones and its documents are whole."""
        run, connection, ledger = self._run, self._connection, self._ledger
        repository = repositories.registered_name(connection, self._root, called(self._root))
        held = dict(self._documents("name, digest", repository))
        there = {f"{repository}/{name}" for name in run.listed(repository)}
        with run.corpus() as corpus:
            is_whole = there.issuperset(held) and (
                run.options.trust_stat or all(corpus.digest(name) == digest for name, digest in held.items())
            )
            tombstones = Tombstones(run.home)
            forgotten = tombstones.of(NAME)
            try:
                # The name of a branch may be a secret: only the digest is recorded.
                tips = hashlib.sha256(tip(self._root, self._leaves_out).encode("utf-8", "surrogateescape")).hexdigest()
                now = f"{VERSION}.{DOCUMENT}.{REDACTION}{repositories.forgotten_digest(forgotten)} {tips}"
                before = connection.execute("select tip from tips where name = ?", (repository,)).get
                if now == before and is_whole and not run.options.rebuild:
                    ledger.unchanged += 1
                    return
                found = commits(self._root, self._leaves_out)
                run.note_read(self._root, 0)
            except NoLog as error:
                ledger.fail(self._root, "no log", str(error))
                return
            # A forgotten commit is left out of every clone that has it; the clone's other commits are shown.
            gone = digests(tombstones.marks(), NAME)
            shown = [commit for commit in found if commit.hash[:_DIGITS] not in gone]
            left_out = len(found) - len(shown)
            made: dict[str, str] = {}
            # Days that were forgotten while their commits could not be read: a clone has the same commits.
            lacking, marks = without_digests(forgotten), []
            for day in days(shown, repository, self._root, ledger.redacted):
                unit = str(day.meta["session_id"])
                if tombstones.covers(NAME, unit):
                    if unit in lacking:
                        marks.append(by_content(NAME, unit, commits_of(day.body)))
                    left_out += int(str(day.meta["commits"]))
                else:
                    made[day.name] = corpus.put(day.name, day.render())
            if left_out:
                ledger.note(self._root, {"dropped": {"forgotten": left_out}})
            if marks and run.shadow is None:
                tombstones.add(marks)
            corpus.flush()
            for name in held.keys() - made.keys():
                corpus.remove(name)
                ledger.removed += 1
        self._drop_gone_clones(repository, {commit.hash[:_DIGITS] for commit in found})
        ledger.ingested += 1
        with connection:
            connection.execute("delete from documents where repository = ?", (repository,))
            connection.executemany(
                "insert into documents values(?, ?, ?)", [(name, repository, digest) for name, digest in made.items()]
            )
            connection.execute("insert or replace into tips values(?, ?)", (repository, now))

    def _leaves_out(self, tree: str) -> bool:
        return bool(self._run.rules.excluded(tree, tree))

    def _documents(self, columns: str, repository: str) -> list[Any]:
        return self._connection.execute(
            f"select {columns} from documents where repository = ?", (repository,)
        ).fetchall()

    def _is_tree(self, root: str, common: str) -> bool:
        """Return True if a folder is a work tree of this repository, or was one before it was deleted."""
        if os.path.lexists(root):
            return common_of(root) == common
        below = os.path.relpath(root, self._root).split(os.sep)
        return top_of(root) == self._root and not _TREES.isdisjoint(below)

    def _drop_gone_clones(self, repository: str, shown: set[str]) -> None:
        """Remove the documents of folders that are gone, if this repository has all their commits."""
        for root, name in repositories.registered(self._connection):
            if name == repository or os.path.lexists(root):
                continue
            theirs: set[str] = set()
            for (document,) in self._documents("name", name):
                body = read_or_none(self._run.home.path(COLLECTION, document)) or b""
                theirs.update(commits_of(body.decode("utf-8", "replace")))
            if theirs and theirs <= shown:
                self._drop(root, name)

    def _drop(self, root: str, name: str) -> None:
        connection = self._connection
        with self._run.corpus() as corpus:
            for (document,) in self._documents("name", name):
                corpus.remove(document)
                self._ledger.removed += 1
        with connection:
            connection.execute("delete from documents where repository = ?", (name,))
            connection.execute("delete from tips where name = ?", (name,))
            connection.execute("delete from repositories where root = ?", (os.fsencode(root),))


def days(found: Iterable[Commit], repository: str, root: str, redacted: dict[str, int]) -> Iterator[Document]:
    """Yield one document a day, by the authors' own clocks; ``redacted`` counts secrets by kind."""
    held: dict[str, list[Commit]] = {}
    for commit in found:
        if clock.parse_iso(commit.at) is not None:
            held.setdefault(commit.at[:10], []).append(commit)
    for day in sorted(held):
        ordered = sorted(held[day], key=lambda commit: (clock.parse_iso(commit.at), commit.hash))
        instants = [clock.parse_iso(commit.at) or 0 for commit in ordered]
        subjects = [_subject(commit, redacted) for commit in ordered]
        others = f" (+{len(ordered) - 1})" if ordered[1:] else ""
        meta: dict[str, Any] = {
            "session_id": f"{repository}:{day}",
            "source": NAME,
            "title": one_line(f"{repository} on {day}: {subjects[0]}{others}", _SUBJECT),
            "date": Timestamp(clock.iso(min(instants))),
            "ended": Timestamp(clock.iso(max(instants))),
            "project": redact(clean(root), redacted),
            "repository": repository,
            "commits": len(ordered),
            "authors": list(dict.fromkeys(_author(commit, redacted) for commit in ordered))[:20],
        }
        parts = [f"# Commits to {repository} on {day}\n"]
        for commit, subject in zip(ordered, subjects, strict=True):
            parts.append(_section(commit, subject, redacted))
        yield Document(f"{repository}/{day}.md", meta, "".join(parts))


def commits_of(body: str) -> list[str]:
    """Return the first digits of the hashes of a day's commits from its document."""
    # Only commits begin a line so: messages are quoted, and names of files are list items.
    return _HASH.findall(body)


def _section(commit: Commit, subject: str, redacted: dict[str, int]) -> str:
    author = _author(commit, redacted)
    lines = [f"\n## {commit.at[11:16]} {subject}\n\n`{commit.hash[:_DIGITS]}` · {author}\n"]
    # Each line of a message is quoted, so that it is no heading, fence or list of the document.
    text = redact(clean(commit.message), redacted).partition("\n")[2].strip("\n")
    if text:
        cut = f"{text[:_MESSAGE]}\n… {len(text) - _MESSAGE:,} more characters" if len(text) > _MESSAGE else text
        lines.append("\n" + "".join(f"> {line}".rstrip() + "\n" for line in cut.split("\n")))
    if commit.files:
        lines.append("\n")
        lines += [f"- {redact(one_line(path, 300), redacted)}\n" for path in commit.files]
        if commit.changed > len(commit.files):
            lines.append(f"- … {commit.changed - len(commit.files):,} more files\n")
    return "".join(lines)


def _author(commit: Commit, redacted: dict[str, int]) -> str:
    return redact(one_line(commit.author, 100), redacted)


def _subject(commit: Commit, redacted: dict[str, int]) -> str:
    return one_line(redact(clean(commit.message), redacted).partition("\n")[0], _SUBJECT) or "no message"
