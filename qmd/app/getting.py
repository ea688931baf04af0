"""``qmd get`` and ``qmd multi-get``: documents by name, whole or some of their lines."""

from __future__ import annotations

from qmd.app.output import csv_field, xml_text
from qmd.app.results import full_path, quoted_context, warn_unresolved
from qmd.index import retrieve, virtual
from qmd.index.references import is_docid, is_list, lines, number_lines, split_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from qmd.app.session import Session
    from qmd.index.retrieve import Fetched

_RULE = "=" * 60


def get(session: Session) -> None:
    """Print one document. Raises Exit if there is none of that name."""
    arguments, out = session.arguments, session.out
    if not arguments.words or not arguments.words[0]:
        raise session.fail(
            "Usage: qmd get <filepath>[:from[:count]] [--from <line>] [-l <lines>] [--no-line-numbers] [--full-path]"
        )
    given = arguments.words[0]
    reference, first, count = split_range(given)
    # Options override the reference. A value that is no number means line 1, or 0 lines.
    if arguments.text.get("from"):
        first = arguments.number("from") or 1
    if arguments.text.get("l"):
        count = arguments.number("l") or 0
    first = max(1, first) if first is not None else None
    address = virtual.parse(reference) if virtual.is_virtual(reference) else None
    if address:
        if address.index:
            session.use_index(address.index)
        reference = virtual.build(address.collection, address.path)
    found = retrieve.get(session.index, reference)
    if isinstance(found, retrieve.NotFound):
        if found.ignored:
            collection, path, rule = found.ignored
            raise session.fail(
                f"Document is excluded by ignore rule: {given}",
                f"Collection: {collection}",
                f"Matched path: {path}",
                f"Ignore rule: {rule}",
            )
        similar = (
            ["Similar files:", *(f"  {virtual.on_one_line(path)}" for path in found.similar)] if found.similar else []
        )
        raise session.fail(f"Document not found: {given}", *similar)
    header = f"{found.uri}  #{found.docid}"
    if "full-path" in arguments.flags:
        file = full_path(session, found.collection, found.path)
        if file is None:
            warn_unresolved(session, 1, 1)
        header = file or header
    text = lines(session.settings.outgoing(found.body or ""), first, count)
    if "no-line-numbers" not in arguments.flags:
        text = number_lines(text, first or 1)
    out.line(virtual.on_one_line(header))
    if found.context:
        out.line(f"Folder Context: {found.context}")
    out.line("---\n")
    out.line(text)


def multi_get(session: Session) -> None:
    """Print the documents of a list or a glob. Raises Exit if a glob matches none."""
    arguments = session.arguments
    if not arguments.words or not arguments.words[0]:
        raise session.fail(
            "Usage: qmd multi-get <pattern> [-l <lines>] [--max-bytes <bytes>] [--no-line-numbers] [--full-path]"
            " [--format json|csv|md|xml|files]",
            "  pattern: glob (e.g., 'journals/2025-05*.md') or comma-separated list",
        )
    pattern = arguments.words[0]
    most = arguments.number("max-bytes") if arguments.text.get("max-bytes") else retrieve.DEFAULT_MAX_BYTES
    # A limit that is no number limits nothing.
    limit = most if most is not None else 1 << 62
    entries, errors = retrieve.multi_get(session.index, pattern, max_bytes=limit)
    for error in errors:
        session.out.error(error)
    if not entries and (not is_list(pattern) or is_docid(pattern)):
        raise session.fail()
    rows = [_Row(session, entry, by_name=is_list(pattern)) for entry in entries]
    {"json": _json, "csv": _csv, "files": _files, "md": _markdown, "xml": _xml, "cli": _cli}[arguments.format](
        session, rows
    )
    if "full-path" in arguments.flags:
        warn_unresolved(session, sum(not row.resolved for row in rows), len(rows))


class _Row:
    """One document to print. Documents of a glob are named without their collection."""

    def __init__(self, session: Session, entry: Fetched, *, by_name: bool) -> None:
        arguments, document = session.arguments, entry.document
        display = document.uri if by_name else document.path
        self.display = display
        path = full_path(session, document.collection, document.path) if "full-path" in arguments.flags else None
        self.resolved = path is not None
        self.name = path or display
        self.line = virtual.on_one_line(self.name)
        self.docid = "" if path else f"#{document.docid}"
        self.context = document.context
        self.reason = (
            f"{entry.skipped}. Use 'qmd get {virtual.on_one_line(display)}' to retrieve." if entry.skipped else ""
        )
        stem = display.rpartition("/")[2] or display
        self.title = session.settings.outgoing(stem if entry.skipped else document.title or stem)
        self.body = "" if entry.skipped else _body(session, session.settings.outgoing(document.body or ""))


def _body(session: Session, text: str) -> str:
    arguments = session.arguments
    if arguments.text.get("l"):
        count = arguments.number("l") or 0
        total = text.count("\n") + 1
        text = lines(text, None, count)
        if total > count:
            text += f"\n\n[... truncated {total - count} more lines]"
    return text if "no-line-numbers" in arguments.flags else number_lines(text)


def _json(session: Session, rows: Sequence[_Row]) -> None:
    shown = []
    for row in rows:
        item: dict[str, Any] = {"file": row.name}
        if row.docid:
            item["docid"] = row.docid
        item["title"] = row.title
        if row.context:
            item["context"] = row.context
        item |= {"skipped": True, "reason": row.reason} if row.reason else {"body": row.body}
        shown.append(item)
    session.out.json(shown)


def _csv(session: Session, rows: Sequence[_Row]) -> None:
    session.out.line("docid,file,title,context,skipped,body")
    for row in rows:
        skipped = "true" if row.reason else "false"
        fields = (row.docid, row.name, row.title, row.context, skipped, row.reason or row.body)
        session.out.line(",".join(map(csv_field, fields)))


def _files(session: Session, rows: Sequence[_Row]) -> None:
    for row in rows:
        head = f"{row.docid}," if row.docid else ""
        session.out.line(f"{head}{row.line}{quoted_context(row.context)}{',[SKIPPED]' if row.reason else ''}")


def _markdown(session: Session, rows: Sequence[_Row]) -> None:
    out = session.out
    for row in rows:
        out.line(f"## {row.line}\n")
        if row.docid:
            out.line(f"**docid:** `{row.docid}`\n")
        if row.title and row.title != row.display:
            out.line(f"**Title:** {row.title}\n")
        if row.context:
            out.line(f"**Context:** {row.context}\n")
        out.line(f"> {row.reason}\n" if row.reason else f"```\n{row.body}\n```\n")


def _xml(session: Session, rows: Sequence[_Row]) -> None:
    out = session.out
    out.line('<?xml version="1.0" encoding="UTF-8"?>')
    out.line("<documents>")
    for row in rows:
        out.line(f'  <document docid="{row.docid}">' if row.docid else "  <document>")
        fields = [("file", row.name), ("title", row.title), ("context", row.context)]
        fields += [("skipped", "true"), ("reason", row.reason)] if row.reason else []
        for name, value in fields:
            if value or name != "context":
                out.line(f"    <{name}>{xml_text(value)}</{name}>")
        if not row.reason:
            out.line(f"    <body>{xml_text(row.body)}</body>")
        out.line("  </document>")
    out.line("</documents>")


def _cli(session: Session, rows: Sequence[_Row]) -> None:
    out = session.out
    for row in rows:
        out.line(f"\n{_RULE}")
        out.line(f"File: {row.line}{f'  {row.docid}' if row.docid else ''}")
        out.line(f"{_RULE}\n")
        if row.reason:
            out.line(f"[SKIPPED: {row.reason}]")
            continue
        if row.context:
            out.line(f"Folder Context: {row.context}\n---\n")
        out.line(row.body)
