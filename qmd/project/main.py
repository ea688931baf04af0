"""``commonplace-search-update``, ``-query``, ``-keyword``, ``-get`` and ``-status``: arguments, one call, output.

Exit codes are those of ``core.errors``; finding nothing is a result, and ends with 0.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

from core.errors import OK, BadInput, BrainError, Internal, Refused, from_os
from core.home import private_process
from core.text import one_line, printable, printable_value

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    import apsw

    from qmd.project.semantic import Near
    from qmd.search.search import Hit

_LIMIT = 15
# Below this cosine `query` shows nothing; docs/commonplace.md has the trial behind the figure.
LEAST_COSINE = 0.25
_ERASE = "\r\x1b[2K"


def update(argv: Sequence[str] | None = None) -> int:
    """Bring the project's index up to date with its files."""
    parser = _parser("update", "bring a project's search index up to date with its files")
    parser.add_argument("--no-embed", action="store_true", help="words only: meaning waits for another update")
    parser.add_argument("--trust", action="store_true", help="index also what lies outside the project, now and later")
    parser.add_argument("--verify", action="store_true", help="read every file, whatever its size and time say")
    return _run(parser, argv, _update)


def query(argv: Sequence[str] | None = None) -> int:
    """Find by meaning."""
    parser = _search_parser("query", "find what means the same; needs an embedding backend")
    parser.add_argument(
        "--min-score",
        metavar="COSINE",
        type=_cosine,
        default=LEAST_COSINE,
        help=f"leave out what scores below this, -1 to 1 ({LEAST_COSINE})",
    )
    return _run(parser, argv, _query)


def keyword(argv: Sequence[str] | None = None) -> int:
    """Find by words."""
    parser = _search_parser("keyword", "find what has the words, the best first")
    parser.add_argument("--all-words", action="store_true", help='every word, "phrases", -exclusions')
    return _run(parser, argv, _keyword)


def get(argv: Sequence[str] | None = None) -> int:
    """Print a record."""
    parser = _parser("get", "print a file or a chunk of it, as it was indexed")
    parser.add_argument("id", metavar="ID", help="kb/notes/a.md#file, kb/notes/a.md#chunk-0001, or a path")
    return _run(parser, argv, _get)


def status(argv: Sequence[str] | None = None) -> int:
    """Print the state of the index."""
    return _run(_parser("status", "say what is indexed, since when, and by which embedding backend"), argv, _status)


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    import argparse

    parser = argparse.ArgumentParser(f"commonplace-search-{name}", description=description, allow_abbrev=False)
    parser.add_argument("--config", metavar="FILE", help="the configuration (the nearest semantic-search.yml)")
    parser.add_argument("--database", metavar="FILE", help="the index (.search/search.db beside the configuration)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _search_parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = _parser(name, description)
    parser.add_argument("words", metavar="QUERY", nargs="+", help="what to look for")
    parser.add_argument(
        "--collection", "-c", metavar="NAME", action="append", default=[], help="only this one; may be repeated"
    )
    parser.add_argument("-n", metavar="N", type=int, default=_LIMIT, help=f"how many ({_LIMIT})")
    return parser


def _cosine(text: str) -> float:
    value = float(text)
    if not -1 <= value <= 1:
        raise ValueError(text)
    return value


def _run(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, command: Callable[[argparse.Namespace], dict[str, Any]]
) -> int:
    if argv is None:  # the process is this command's
        private_process()
    words = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in words[: words.index("--") if "--" in words else None]
    try:
        try:
            arguments = parser.parse_args(words)
        except SystemExit as stop:
            return OK if not stop.code else BadInput.code
        _print(command(arguments), as_json)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`| head`): not our failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except (BrainError, OSError, _sqlite_error()) as error:
        return _fail(parser.prog, _known(error), as_json)
    return OK


def _sqlite_error() -> type[Exception]:
    import apsw

    return apsw.Error


def _known(error: Exception) -> BrainError:
    if isinstance(error, BrainError):
        return error
    if isinstance(error, OSError):
        return from_os(error) or Internal(str(error))
    from qmd.index.store import translate

    return translate(error, "the index")  # type: ignore[arg-type]


def _fail(program: str, failure: BrainError, as_json: bool) -> int:
    if as_json:
        from core import jsonio

        sys.stdout.write(jsonio.dumps(printable_value(failure.envelope())) + "\n")
    else:
        fix = f"fix: {failure.fix}\n" if failure.fix else ""
        sys.stderr.write(printable(f"{program}: {failure.message}\n{fix}"))
    return failure.code


def _print(answer: dict[str, Any], as_json: bool) -> None:
    text = answer.pop("_text")
    if as_json:
        from core import jsonio

        text = jsonio.dumps(printable_value({"schema": 1, "ok": True, **answer})) + "\n"
    else:
        text = printable(text)
    # Lone surrogates cannot be written; a name of a file may hold some.
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())


def _database(arguments: argparse.Namespace) -> str:
    from qmd.project import config

    here = os.getcwd()
    named = config.locate(arguments.config, here) if arguments.config else None
    return config.database(arguments.database, named, here)


def _update(arguments: argparse.Namespace) -> dict[str, Any]:
    from qmd.project import config, store

    path = config.locate(arguments.config, os.getcwd())
    project = config.read(path)
    if arguments.trust:
        project.approve()
    for each in project.outside:
        said = f"{each.name}: {one_line(each.path)} lies outside this project and is left out"
        sys.stderr.write(printable(f"{said}\nfix: commonplace-search-update --trust\n"))
    if not project.collections:
        raise Refused("every collection lies outside this project", "commonplace-search-update --trust")
    database = _database(arguments)
    embedding: dict[str, Any] = {}

    def embed(connection: apsw.Connection) -> None:
        if not arguments.no_embed:
            embedding.update(_embed(connection, progress))

    progress = _progress if sys.stderr.isatty() else None
    try:
        changes = store.update(project, database, verify=arguments.verify, then=embed, progress=progress)
    finally:
        if progress:
            sys.stderr.write(_ERASE)
    lines = []
    for name, change in changes.items():
        if change.missing:
            folder = next(each.path for each in project.collections if each.name == name)
            sys.stderr.write(printable(f"{name}: its folder is missing, its records are kept: {one_line(folder)}\n"))
        for failed, reason in change.failed:
            sys.stderr.write(printable(f"{name}: not read: {one_line(failed)}: {reason}\n"))
        counts = f"{change.added} new, {change.updated} updated, {change.unchanged} unchanged, {change.removed} removed"
        lines.append(f"{name}: {counts}\n")
    if embedding:
        lines.append(f"embedding: {embedding['backend']}, {embedding['pending']} files wait\n")
    collections = {name: change.as_dict() for name, change in changes.items()}
    return {
        "config": path,
        "database": database,
        "collections": collections,
        "outside": [{"name": each.name, "path": each.path} for each in project.outside],
        "embedding": embedding or None,
        "_text": "".join(lines),
    }


def _progress(done: int, total: int, what: str) -> None:
    sys.stderr.write(f"{_ERASE}{one_line(printable(what), 40)}: {done * 100 // max(1, total)} %")
    sys.stderr.flush()


def _embed(connection: apsw.Connection, progress: Callable[[int, int, str], None] | None) -> dict[str, Any]:
    """Bring the vectors up to date; without a backend the words are there all the same."""
    from core.errors import EngineMissing
    from qmd.project import semantic

    try:
        report = semantic.embed(connection, progress)
    except EngineMissing as error:
        return {**semantic.status(connection), "why": error.message}
    for digest, reason in report.failed.items():
        sys.stderr.write(printable(f"not embedded: #{digest[:6]}: {one_line(reason)}\n"))
    return semantic.status(connection)


def _query(arguments: argparse.Namespace) -> dict[str, Any]:
    from qmd.project import semantic, store

    question = _question(arguments)
    database = _database(arguments)
    with closing(store.open_to_read(database)) as connection:
        # A file may be in two collections, one in the other; it is one record.
        near = semantic.search(connection, question, arguments.n * 2, _collections(connection, arguments))
        found = [each for each in near if each.score >= arguments.min_score]
        hits = _shown(connection, database, found, arguments.n)
        state = semantic.status(connection)
    if state["pending"]:
        sys.stderr.write(f"{state['pending']} files wait for vectors: commonplace-search-update\n")
    answer = {"query": question, "by": "meaning", "min_score": arguments.min_score, "embedding": state}
    return {**answer, "hits": hits, "_text": _hits(hits)}


def _keyword(arguments: argparse.Namespace) -> dict[str, Any]:
    from qmd.index.catalogue import Filters
    from qmd.project import store
    from qmd.search import lex
    from qmd.search.search import Searcher

    question = _question(arguments)
    database = _database(arguments)
    with closing(store.open_to_read(database)) as connection:
        filters = Filters(tuple(_collections(connection, arguments)))
        most = arguments.n * 2
        searcher = Searcher(connection)
        if arguments.all_words:
            found = lex.strict(connection, question, most, filters)
        else:
            found = searcher.search(question, limit=most, filters=filters)
        searcher.show(found)
        hits = _shown(connection, database, found, arguments.n)
    return {"query": question, "by": "keyword", "hits": hits, "_text": _hits(hits)}


def _question(arguments: argparse.Namespace) -> str:
    question = " ".join(arguments.words).strip()
    if not question or arguments.n < 1:
        raise BadInput("nothing to look for" if not question else "-n must be 1 or more", "commonplace-search-query -h")
    return question


def _shown(connection: apsw.Connection, database: str, found: Sequence[Hit | Near], most: int) -> list[dict[str, Any]]:
    """Hits as records, each file once."""
    from qmd.project import store
    from qmd.project.records import Records, identity

    records = Records(connection, store.root(connection, database))
    hits: list[dict[str, Any]] = []
    for hit in found:
        path = records.path(hit.collection, hit.path)
        if len(hits) == most or any(path == other["path"] for other in hits):
            continue
        chunk = records.chunk(hit.hash, hit.line)
        hits.append(
            {
                "id": identity(path),
                "chunk": identity(path, chunk) if chunk else None,
                "path": path,
                "collection": hit.collection,
                "title": hit.title,
                "score": round(hit.score, 4),
                "line": hit.line,
                "snippet": hit.snippet,
            }
        )
    return hits


def _hits(hits: list[dict[str, Any]]) -> str:
    if not hits:
        sys.stderr.write("No results found.\n")
    lines = []
    for hit in hits:
        lines.append(f"{hit['score']:.4f}  {one_line(printable(hit['id']))}  {one_line(printable(hit['title']))}")
        lines.append(f"        {one_line(printable(hit['snippet']), 160)}")
    return "".join(f"{line}\n" for line in lines)


def _collections(connection: apsw.Connection, arguments: argparse.Namespace) -> list[str]:
    """Return the collections asked for, else all that are to be searched unasked. Raises BadInput if one is unknown."""
    known: dict[Any, Any] = dict(
        connection.execute("SELECT name, include_by_default FROM store_collections").fetchall()  # type: ignore[arg-type]
    )
    for name in arguments.collection:
        if name not in known:
            raise BadInput(
                f"there is no collection {name!r}", f"one of: {', '.join(known)}; or commonplace-search-update"
            )
    return list(dict.fromkeys(arguments.collection)) or [name for name, included in known.items() if included]


def _get(arguments: argparse.Namespace) -> dict[str, Any]:
    from qmd.project import store
    from qmd.project.records import Records

    database = _database(arguments)
    with closing(store.open_to_read(database)) as connection:
        record = Records(connection, store.root(connection, database)).get(arguments.id)
    text = record.text if record.text.endswith("\n") else f"{record.text}\n"
    return {
        "id": record.id,
        "path": record.path,
        "collection": record.collection,
        "title": record.title,
        "text": record.text,
        "_text": text,
    }


def _status(arguments: argparse.Namespace) -> dict[str, Any]:
    from qmd.project import semantic, store

    database = _database(arguments)
    with closing(store.open_to_read(database)) as connection:
        found = store.status(connection, database)
        embedding = semantic.status(connection)
    found["embedding"] = embedding
    counts = f"{embedding['vectors']} vectors, {embedding['pending']} files wait"
    lines = [
        f"database:  {one_line(database)} ({found['bytes'] / 1024:.0f} KB)",
        f"config:    {one_line(str(found['config']))}",
        f"updated:   {found['updated'] or 'never'}",
        f"embedding: {embedding['backend']} ({embedding.get('why') or counts})",
    ]
    for each in found["collections"]:
        gone = "  folder is missing" if each["missing"] else ""
        lines.append(f"{one_line(each['name'])}: {each['files']} files in {one_line(each['path'])}{gone}")
    return {**found, "_text": printable("\n".join(lines)) + "\n"}
