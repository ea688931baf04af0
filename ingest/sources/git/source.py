"""Git commits: one document a day and repository, so that "when did I change this, and why" has an answer.

Which repositories: those given; who runs it without any gives those that sessions worked in.
All work trees of one are that one.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from os.path import abspath, isdir
from typing import TYPE_CHECKING, Any

import apsw

from core import clock
from core.document import Document, Failure, Timestamp
from core.errors import BadInput
from core.files import read_or_none
from core.redaction import clean as redact
from core.text import clean, one_line
from core.tombstones import Tombstones, by_content, digests, without_digests
from core.version import DOCUMENT, REDACTION
from ingest.pipeline.ledger import GIVEN, OWN, Ledger
from ingest.pipeline.shadow import corpus as corpus_of
from ingest.pipeline.shadow import listed, state_of
from ingest.policy.exclusions import Rules
from ingest.raw.files import SourceFile
from ingest.source import Collector, configured
from ingest.sources.code.source import fingerprint, repository_name
from ingest.sources.git.log import Commit, NoLog, commits, tip
from ingest.sources.git.places import Place, Worked, called, common_of, places, top_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from core.home import Home
    from ingest.pipeline.corpus import Corpus
    from ingest.pipeline.shadow import Shadow
    from ingest.pipeline.state import FileRow
    from ingest.source import Environ, Options


NAME = "git"
COLLECTION = "git"
FILE = "git.sqlite"
# Bump when the same commits give other documents.
VERSION = 2
_NONE = "no git repository"
_FIX = "brain index --source git --from REPOSITORY, or a folder of repositories"
# Folders within a repository where work trees are made, and deleted.
_TREES = frozenset(("worktrees", ".worktrees"))
_DIGITS = 12
_MESSAGE = 10_000
_SUBJECT = 200
_HASH = re.compile(rf"^`([0-9a-f]{{{_DIGITS}}})` · ", re.MULTILINE)

_SCHEMA = """
create table if not exists repositories(root blob primary key, name text not null unique) without rowid;
create table if not exists tips(name text primary key, tip text not null) without rowid;
create table if not exists documents(
  name text primary key, repository text not null, digest text not null) without rowid;
"""


class Git(Collector):
    """Repositories, a document a day."""

    name = NAME
    collection = COLLECTION

    def default_roots(self, home: Home | None = None, environ: Environ | None = None) -> list[str]:
        """Return the repositories configured (``sources.git.roots``) that exist."""
        del environ  # no variable names repositories
        return [] if home is None else [root for root in configured(NAME, home) if isdir(root)]

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return the repositories around the roots, or below them, sorted; ``skip`` says which folders have none."""
        found, without = places(roots, below=not isinstance(roots, Worked))
        files = [SourceFile(place.path, 0, 0, 0, "") for place in found]
        files += [SourceFile(folder, 0, 0, 0, _NONE) for folder in without]
        return sorted(files, key=lambda file: file.path)

    def pending(
        self, files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool
    ) -> list[SourceFile]:
        """All that can be read: only git knows what is new in them."""
        del known, trust_stat  # neither says anything of a repository
        return [file for file in files if not file.skip]

    def documents(self, path: str) -> Iterator[Document | Failure]:
        """The days of one repository, called as its folder. Raises nothing."""
        try:
            yield from days(commits(path), os.path.basename(abspath(path)), abspath(path), {})
        except NoLog as error:
            yield Failure(path, "no log", str(error))

    def run(self, home: Home, roots: Sequence[str] | None, options: Options) -> Ledger:
        """Run over the repositories; nothing is written if ``options`` has a shadow.

        ``roots``: folders that are, hold or lie in repositories. If there are none, or sessions ``Worked`` in them, the
        configured ones are read as well. Raises BadInput if there is no repository.
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
        ledger = Ledger(NAME, GIVEN if roots else OWN)
        rules = Rules(home)
        with state_of(home, FILE, _SCHEMA, ledger, options.shadow) as connection:
            for _ in without:
                ledger.seen += 1
                ledger.skip(_NONE)
            for number, place in enumerate(found, 1):
                ledger.seen += 1
                reason = _excluded(rules, place)
                if reason:
                    ledger.skip(reason)
                else:
                    run = _Run(home, connection, ledger, rules, options)
                    _take_over(run, place)
                    _one(run, place.path)
                if options.progress is not None:
                    options.progress(number, len(found), "repositories")
        if options.shadow is None:
            rules.withheld.save()
        return ledger


SOURCE = Git()


def _united(*found: list[Place]) -> list[Place]:
    held: dict[str, Place] = {}
    for place in (place for some in found for place in some):
        known = held.get(place.path, place)
        held[place.path] = place._replace(trees=tuple(sorted({*known.trees, *place.trees})))
    return [held[path] for path in sorted(held)]


def _excluded(rules: Rules, place: Place) -> str:
    """Why a repository is excluded: it is itself, or all of its work trees that are looked at."""
    reasons = [rules.excluded(tree, tree) for tree in place.trees]
    return rules.excluded(place.path, place.path) or (reasons[0] if all(reasons) else "")


@dataclass(frozen=True)
class _Run:
    """What a run has for all repositories that it reads."""

    home: Home
    connection: apsw.Connection
    ledger: Ledger
    rules: Rules
    options: Options

    def landed(self, name: str, data: bytes, status: os.stat_result) -> None:
        self.ledger.written += 1
        if self.options.on_written is not None:
            self.options.on_written(COLLECTION, name, data, status)

    def leaves_out(self, tree: str) -> bool:
        return bool(self.rules.excluded(tree, tree))

    def corpus(self) -> Corpus | Shadow:
        return corpus_of(self.home, COLLECTION, self.landed, self.options.shadow)


def _take_over(run: _Run, place: Place) -> None:
    """Let the documents of other work trees go, which earlier versions took for repositories of their own."""
    rows = _rows(run)
    known = {root for root, _ in rows}
    common = common_of(place.path)
    for root, name in rows:
        if root == place.path or not _is_of(root, place.path, common):
            continue
        if place.path not in known and os.path.basename(root) == os.path.basename(place.path):
            known.add(place.path)
            with run.connection:  # the same by another path: its documents keep their names
                run.connection.execute(
                    "update repositories set root = ? where root = ?", (os.fsencode(place.path), os.fsencode(root))
                )
        else:
            _drop(run, root, name)


def _rows(run: _Run) -> list[tuple[str, str]]:
    """(folder, name) of every repository that is known."""
    found = run.connection.execute("select root, name from repositories")
    return [(os.fsdecode(root), str(name)) for root, name in found]


def _is_of(root: str, place: str, common: str) -> bool:
    """Whether a folder is, or was before it was deleted, a work tree of the repository at ``place``."""
    if os.path.lexists(root):
        return common_of(root) == common
    return top_of(root) == place and not _TREES.isdisjoint(os.path.relpath(root, place).split(os.sep))


def _let_go(run: _Run, repository: str, commits: set[str]) -> None:
    """Let the documents go of folders that are gone and showed nothing but commits of this repository."""
    for root, name in _rows(run):
        if name == repository or os.path.lexists(root):
            continue
        told: set[str] = set()
        for (document,) in run.connection.execute("select name from documents where repository = ?", (name,)):
            told.update(
                commits_of((read_or_none(run.home.path(COLLECTION, str(document))) or b"").decode("utf-8", "replace"))
            )
        if told and told <= commits:
            _drop(run, root, name)


def _drop(run: _Run, root: str, name: str) -> None:
    connection = run.connection
    with run.corpus() as corpus:
        for (document,) in connection.execute("select name from documents where repository = ?", (name,)).fetchall():
            corpus.remove(str(document))
            run.ledger.removed += 1
    with connection:
        connection.execute("delete from documents where repository = ?", (name,))
        connection.execute("delete from tips where name = ?", (name,))
        connection.execute("delete from repositories where root = ?", (os.fsencode(root),))


def days(found: Iterable[Commit], repository: str, root: str, redacted: dict[str, int]) -> Iterator[Document]:
    """One document a day, by the authors' own clocks; ``redacted`` counts secrets by kind."""
    held: dict[str, list[Commit]] = {}
    for commit in found:
        if clock.parse_iso(commit.at) is not None:
            held.setdefault(commit.at[:10], []).append(commit)
    for day in sorted(held):
        told = sorted(held[day], key=lambda commit: (clock.parse_iso(commit.at), commit.hash))
        instants = [clock.parse_iso(commit.at) or 0 for commit in told]
        subjects = [_subject(commit, redacted) for commit in told]
        said = one_line(f"{repository} on {day}: {subjects[0]}{f' (+{len(told) - 1})' if told[1:] else ''}", _SUBJECT)
        meta: dict[str, Any] = {
            "session_id": f"{repository}:{day}",
            "source": NAME,
            "title": said,
            "date": Timestamp(clock.iso(min(instants))),
            "ended": Timestamp(clock.iso(max(instants))),
            "project": redact(clean(root), redacted),
            "repository": repository,
            "commits": len(told),
            "authors": list(dict.fromkeys(redact(one_line(commit.author, 100), redacted) for commit in told))[:20],
        }
        parts = [f"# Commits to {repository} on {day}\n"]
        for commit, subject in zip(told, subjects, strict=True):
            parts.append(_section(commit, subject, redacted))
        yield Document(f"{repository}/{day}.md", meta, "".join(parts))


def commits_of(body: str) -> list[str]:
    """The first digits of the hashes of a day's commits, as its document tells them."""
    # Nothing else in a document begins a line so: messages are quoted, and names of files stand in a list.
    return _HASH.findall(body)


def _section(commit: Commit, subject: str, redacted: dict[str, int]) -> str:
    author = redact(one_line(commit.author, 100), redacted)
    lines = [f"\n## {commit.at[11:16]} {subject}\n\n`{commit.hash[:_DIGITS]}` · {author}\n"]
    # A message is quoted, line by line: nothing in it is a heading, a fence or a list of ours.
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


def _subject(commit: Commit, redacted: dict[str, int]) -> str:
    return one_line(redact(clean(commit.message), redacted).partition("\n")[0], _SUBJECT) or "no message"


def _one(run: _Run, root: str) -> None:
    home, connection, ledger = run.home, run.connection, run.ledger
    repository = repository_name(connection, root, called(root))
    held = {
        str(name): str(digest)
        for name, digest in connection.execute("select name, digest from documents where repository = ?", (repository,))
    }

    there = {f"{repository}/{name}" for name in listed(home.path(COLLECTION, repository), run.options.shadow)}
    with run.corpus() as corpus:
        whole = there.issuperset(held) and not (
            not run.options.trust_stat and any(corpus.digest(name) != digest for name, digest in held.items())
        )
        try:
            held_back = Tombstones(home)
            forgotten, commits_gone = held_back.of(NAME), digests(held_back.marks(), NAME)
            # A branch may be called after what is nobody's business: of what git says only the digest is kept.
            tips = hashlib.sha256(tip(root, run.leaves_out).encode("utf-8", "surrogateescape")).hexdigest()
            now = f"{VERSION}.{DOCUMENT}.{REDACTION}{fingerprint(forgotten)} {tips}"
            before = connection.execute("select tip from tips where name = ?", (repository,)).get
            if now == before and whole and not run.options.rebuild:
                ledger.unchanged += 1
                return
            found = commits(root, run.leaves_out)
            if run.options.shadow is not None:
                run.options.shadow.files[root] = 0
        except NoLog as error:
            ledger.fail(root, "no log", str(error))
            return
        # Whatever folder shows them: a clone, or the same one under another name. What else it shows is its own.
        shown = [commit for commit in found if commit.hash[:_DIGITS] not in commits_gone]
        held_back_here = len(found) - len(shown)
        made: dict[str, str] = {}
        lacking, told = without_digests(forgotten), []
        for day in days(shown, repository, root, ledger.redacted):
            unit = str(day.meta["session_id"])
            if held_back.covers(NAME, unit):
                if unit in lacking:  # forgotten where its commits could not be read: a clone shows the same
                    told.append(by_content(NAME, unit, commits_of(day.body)))
                held_back_here += int(str(day.meta["commits"]))
            else:
                made[day.name] = corpus.put(day.name, day.render())
        if held_back_here:
            ledger.note(root, {"dropped": {"forgotten": held_back_here}})
        if told and run.options.shadow is None:
            held_back.add(told)
        corpus.flush()
        for name in held.keys() - made.keys():
            corpus.remove(name)
            ledger.removed += 1
    _let_go(run, repository, {commit.hash[:_DIGITS] for commit in found})
    ledger.ingested += 1
    with connection:
        connection.execute("delete from documents where repository = ?", (repository,))
        connection.executemany(
            "insert into documents values(?, ?, ?)", [(name, repository, digest) for name, digest in made.items()]
        )
        connection.execute("insert or replace into tips values(?, ?)", (repository, now))
