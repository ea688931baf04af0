"""A search's results on stdout, in the six formats of qmd 2.8.3, byte for byte."""

from __future__ import annotations

import os
from os.path import exists, realpath, relpath

from qmd import ecma
from qmd.app.output import csv_field
from qmd.index import virtual
from qmd.index.references import number_lines
from qmd.search import excerpt

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from qmd.app.output import Output
    from qmd.app.session import Session


_CSV_HEADER = "docid,score,file,title,context,line,snippet"
# The excerpt's length in JSON, and elsewhere.
_SHORT = 300
_LONG = 500


class Result:
    """One result. ``chunk``: (start, length) of the piece that matched, in UTF-16 units; ``explain``: a score trace."""

    __slots__ = ("body", "chunk", "collection", "context", "docid", "explain", "path", "score", "title")

    def __init__(
        self,
        collection: str,
        path: str,
        title: str,
        body: str,
        score: float,
        context: str,
        docid: str,
        chunk: tuple[int, int] | None = None,
        explain: dict[str, Any] | None = None,
    ) -> None:
        self.collection = collection
        self.path = path
        self.title = title
        self.body = body
        self.score = score
        self.context = context
        self.docid = docid
        self.chunk = chunk
        self.explain = explain


def show_none(out: Output, shape: str, *, below: bool = False) -> None:
    """Print the output for no results; ``below``: all hits scored below ``--min-score``."""
    if shape == "json":
        out.line("[]")
    elif shape == "csv":
        out.line(_CSV_HEADER)
    elif shape == "xml":
        out.line("<results></results>")
    elif shape == "cli":
        out.line("No results found above minimum score threshold." if below else "No results found.")


def show(session: Session, results: Sequence[Result], query: str) -> None:
    """Print results in the format asked for."""
    arguments, out = session.arguments, session.out
    shape = arguments.format
    if not results:
        show_none(out, shape, below=True)
        return
    for result in results:
        # Filter whole texts before lines are cut out: a secret may span several lines.
        texts = session.settings.outgoing([result.title, result.body, result.context])
        result.title, result.body, result.context = texts
    names = _Names(session, results)
    view = _View(session, query, names)
    {
        "json": view.json,
        "files": view.files,
        "cli": view.cli,
        "md": view.markdown,
        "xml": view.xml,
        "csv": view.csv,
    }[shape](results)
    names.warn()


class _Names:
    """The displayed name of each result: its address, or with ``--full-path`` its file if there is one."""

    def __init__(self, session: Session, results: Sequence[Result]) -> None:
        self._session = session
        self._total = len(results)
        self._full = "full-path" in session.arguments.flags
        self._names: dict[int, str] = {}
        self._files: set[int] = set()
        for result in results:
            self._names[id(result)] = session.address(result.collection, result.path)
            if self._full:
                found = full_path(session, result.collection, result.path)
                if found is not None:
                    self._names[id(result)] = found
                    self._files.add(id(result))

    def of(self, result: Result) -> str:
        return self._names[id(result)]

    def line(self, result: Result) -> str:
        """Return the name on one line, so that a file's name cannot pass for another result."""
        return virtual.on_one_line(self.of(result))

    def docid(self, result: Result) -> str:
        """Return the docid, "" if the result is named by its file."""
        return "" if id(result) in self._files else result.docid

    @property
    def full(self) -> bool:
        return self._full

    def warn(self) -> None:
        if self._full:
            warn_unresolved(self._session, self._total - len(self._files), self._total)


class _View:
    def __init__(self, session: Session, query: str, names: _Names) -> None:
        flags = session.arguments.flags
        self._session = session
        self._out = session.out
        self._query = query
        self._names = names
        self._full = "full" in flags
        self._numbered = "line-numbers" in flags
        self._intent = session.arguments.text.get("intent", "")

    def json(self, results: Sequence[Result]) -> None:
        rows = []
        for result in results:
            snippet = self._snippet(result, _SHORT)
            row: dict[str, Any] = {}
            docid = self._names.docid(result)
            if docid:
                row["docid"] = f"#{docid}"
            row["score"] = ecma.round_half_up(result.score * 100) / 100
            row["file"] = self._names.of(result)
            row["line"] = snippet.line
            row["title"] = result.title
            if result.context:
                row["context"] = result.context
            content = result.body if self._full else snippet.text
            if content:
                row["body" if self._full else "snippet"] = number_lines(content) if self._numbered else content
            if result.explain is not None and "explain" in self._session.arguments.flags:
                row["explain"] = result.explain
            rows.append(row)
        self._out.json(rows)

    def files(self, results: Sequence[Result]) -> None:
        for result in results:
            context = quoted_context(result.context)
            head = "" if self._names.full else f"#{result.docid},"
            self._out.line(f"{head}{ecma.to_fixed(result.score, 2)},{self._names.line(result)}{context}")

    def markdown(self, results: Sequence[Result]) -> None:
        for result in results:
            name, docid = self._names.line(result), self._names.docid(result)
            lines = ["---", f"# {result.title or name}", f"**file:** `{name}`"]
            if docid:
                lines.append(f"**docid:** `#{docid}`")
            if result.context:
                lines.append(f"**context:** {result.context}")
            self._out.line("\n".join([*lines, "", f"{self._content(result)}\n"]))

    def xml(self, results: Sequence[Result]) -> None:
        for result in results:
            docid = self._names.docid(result)
            title = _attribute("title", result.title)
            context = _attribute("context", result.context)
            head = f' docid="#{docid}"' if docid else ""
            name = self._names.line(result)
            self._out.line(f'<file{head} name="{name}"{title}{context}>\n{self._content(result)}\n</file>\n')

    def csv(self, results: Sequence[Result]) -> None:
        self._out.line(_CSV_HEADER)
        for result in results:
            snippet = self._snippet(result, _LONG)
            content = result.body if self._full else snippet.text
            if self._numbered:
                content = number_lines(content, 1 if self._full else snippet.line)
            docid = self._names.docid(result)
            fields = [
                f"#{docid}" if docid else "",
                ecma.to_fixed(result.score, 4),
                csv_field(self._names.of(result)),
                csv_field(result.title),
                csv_field(result.context),
                str(snippet.line),
                csv_field(content),
            ]
            self._out.line(",".join(fields))

    def cli(self, results: Sequence[Result]) -> None:
        out = self._out
        for number, result in enumerate(results):
            snippet = self._snippet(result, _LONG)
            shown = snippet.text.partition("\n")[2].lower()
            matched = any(term in shown for term in ecma.words(self._query.lower()))
            name = out.shown(self._names.line(result))
            docid = self._names.docid(result)
            # Unfiltered: a terminal link is an escape sequence.
            out.write(
                _link(self._session, result, name, snippet.line if matched else 0)
                + (f" {out.paint('dim', f'#{docid}')}" if docid else "")
                + "\n"
            )
            if result.title:
                out.line(out.paint("bold", f"Title: {result.title}"))
            if result.context:
                out.line(out.paint("dim", f"Context: {result.context}"))
            out.line(f"Score: {out.paint('bold', _score(out, result.score))}")
            if result.explain is not None and "explain" in self._session.arguments.flags:
                for line in explain_lines(result.explain):
                    out.line(out.paint("dim", line))
            out.line()
            content = result.body if self._full else snippet.text
            if self._numbered:
                content = number_lines(content, 1 if self._full else snippet.line)
            out.line(_highlight(out, content, self._query))
            if number < len(results) - 1:
                out.line("\n")

    def _content(self, result: Result) -> str:
        content = result.body if self._full else self._snippet(result, _LONG).text
        return number_lines(content) if self._numbered else content

    def _snippet(self, result: Result, most: int) -> excerpt.Excerpt:
        start, length = result.chunk or (None, None)
        return excerpt.extract(result.body, self._query, most, start, length, self._intent)


def full_path(session: Session, collection: str, path: str) -> str | None:
    """Return a document's file for people: ``./…`` below the working directory, else absolute; None if it is gone."""
    from qmd.index.retrieve import on_disk

    found = on_disk(session.index, collection, path)
    if found is None or not exists(found):
        return None
    real, here = realpath(found), realpath(os.getcwd())
    if real == here:
        return "./"
    # In the root folder every path is below, and is shown whole, as qmd does.
    return f"./{relpath(real, here)}" if real.startswith(f"{here}/") else real


def warn_unresolved(session: Session, count: int, total: int) -> None:
    """Warn about results of ``--full-path`` without a file."""
    if count <= 0:
        return
    subject = "the file" if total == 1 else f"{count} of {total} results"
    session.out.error(
        f"{session.out.paint('yellow', 'warning:')} --full-path could not resolve {subject} on disk"
        f" (moved or deleted since indexing); showing {virtual.SCHEME} + docid instead."
        " Run 'qmd update' to refresh the index."
    )


def quoted_context(context: str) -> str:
    """Return a context as the last field of a file list, after its comma; empty for none."""
    return ',"' + context.replace('"', '""') + '"' if context else ""


def _attribute(name: str, value: str) -> str:
    # As qmd writes it: only the quote, which would end the attribute, is an entity.
    return f' {name}="' + value.replace('"', "&quot;") + '"' if value else ""


_GOOD = 0.7
_FAIR = 0.4
# Shorter words occur everywhere.
_HIGHLIGHTED = 3


def _link(session: Session, result: Result, name: str, line: int) -> str:
    """Return ``name:line`` (no line where it is 0), on a terminal a link to the file (OSC 8)."""
    out = session.out
    where = f":{line}" if line else ""
    if out.terminal and result.path:
        from qmd.index.retrieve import on_disk
        from qmd.settings import EDITOR_URI

        path = on_disk(session.index, result.collection, result.path)
        if path:
            template = os.environ.get("QMD_EDITOR_URI", "").strip() or session.config.editor_uri or EDITOR_URI
            return out.paint("cyan", f"\x1b]8;;{editor_uri(template, path, line or 1, 1)}\x07{name}{where}\x1b]8;;\x07")
    if not out.color:
        return f"{name}{where}"
    return f"\x1b[36m{name}\x1b[2m{where}\x1b[0m"


def _score(out: Output, value: float) -> str:
    """Return a score in percent, three places wide."""
    text = f"{ecma.to_fixed(value * 100, 0):>3}%"
    return out.paint("green" if value >= _GOOD else "yellow" if value >= _FAIR else "dim", text)


def _highlight(out: Output, text: str, query: str) -> str:
    """Return ``text`` with the query's longer words marked, where colours are wanted."""
    if not out.color:
        return text
    import re

    for term in ecma.words(query.lower()):
        if len(term) >= _HIGHLIGHTED:
            text = re.sub(f"({re.escape(term)})", "\x1b[33m\x1b[1m\\1\x1b[0m", text, flags=re.IGNORECASE)
    return text


def explain_lines(trace: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of ``--explain`` for people."""
    rrf = trace["rrf"]
    fts, vectors = (", ".join(map(_four, trace[name])) or "none" for name in ("ftsScores", "vectorScores"))
    yield f"Explain: fts=[{fts}] vec=[{vectors}]"
    yield (
        f"  RRF: total={_four(rrf['totalScore'])} base={_four(rrf['baseScore'])}"
        f" bonus={_four(rrf['topRankBonus'])} rank={rrf['rank']}"
    )
    weight = float(rrf["weight"])
    yield (
        f"  Blend: {ecma.round_half_up(weight * 100)}%*{_four(rrf['positionScore'])}"
        f" + {ecma.round_half_up((1 - weight) * 100)}%*{_four(trace['rerankScore'])} = {_four(trace['blendedScore'])}"
    )
    best = sorted(rrf["contributions"], key=lambda item: -float(item["rrfContribution"]))[:3]
    if best:
        shown = (f"{one['source']}/{one['queryType']}#{one['rank']}:{_four(one['rrfContribution'])}" for one in best)
        yield f"  Top RRF contributions: {' | '.join(shown)}"


def _four(value: float) -> str:
    return ecma.to_fixed(float(value), 4)


def editor_uri(template: str, path: str, line: int, column: int) -> str:
    """Return the link to ``line`` and ``column`` (1-based; less means the first) of the file at the
    absolute ``path``.
    """
    from urllib.parse import quote

    # Characters that encodeURI keeps, except ? and #, which would end the path.
    encoded = quote(path, safe="/;,:@&=+$!'()*-._~")
    filled = template.replace("{path}", encoded).replace("{line}", str(max(1, line)))
    return filled.replace("{col}", str(max(1, column))).replace("{column}", str(max(1, column)))
