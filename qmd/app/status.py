"""``qmd status`` and ``qmd cleanup``: the contents of the index, and the removal of orphans."""

from __future__ import annotations

import os
from os.path import exists, getsize, join

from qmd import ecma
from qmd.app import semantic
from qmd.app.embedding import active
from qmd.app.output import ago, file_size
from qmd.index import catalogue, collections, completeness, virtual
from qmd.vectors import models, syntax

TYPE_CHECKING = False
if TYPE_CHECKING:
    from qmd.app.session import Session
    from qmd.index.collections import Stored

_PREVIEW = 60


def status(session: Session) -> None:
    """Print the state of the index."""
    from qmd.index import collections
    from qmd.index.semantic import spaces

    out = session.out
    connection = session.index
    path = session.settings.database
    out.line(f"{out.paint('bold', 'QMD Status')}\n")
    out.line(f"Index: {path}")
    out.line(f"Size:  {file_size(getsize(path))}")
    _daemon(session)
    out.line()
    total, latest = catalogue.total(connection)
    vectors: int = connection.execute("SELECT count(*) FROM content_vectors").get
    orphaned = completeness.orphaned_vectors(connection) if vectors else 0
    pending = models.waiting(connection, session.config)
    out.line(out.paint("bold", "Documents"))
    out.line(f"  Total:    {total} files indexed")
    ours = sum(spaces.count(connection, space) for space in spaces.listed(connection))
    out.line(f"  Vectors:  {vectors + ours} embedded")
    if orphaned:
        share = ecma.round_half_up(orphaned / vectors * 100)
        text = f"Orphaned: {orphaned} embedding chunks ({share}%)"
        out.line(f"  {out.paint('yellow', text)} — run 'qmd cleanup'")
    if pending:
        out.line(f"  {out.paint('yellow', f'Pending:  {pending} need embedding')} (run 'qmd embed')")
    if latest:
        out.line(f"  Updated:  {ago(str(latest))}")
    _embedding(session)
    _syntax(session)
    stored = collections.stored(connection)
    if stored:
        _collections(session, stored)
    else:
        hint = "No collections. Run 'qmd collection add .' to index markdown files."
        out.line(f"\n{out.paint('dim', hint)}")
    _models(session)
    tips = _tips(session, stored)
    if tips:
        out.line(f"\n{out.paint('bold', 'Tips')}")
        for tip in tips:
            out.line(f"  {tip}")


def _syntax(session: Session) -> None:
    """Print the languages that ``--chunk-strategy auto`` knows."""
    out = session.out
    found = syntax.languages()
    usable = [name for name, fault in found.items() if not fault]
    out.line(f"\n{out.paint('bold', 'AST Chunking')}")
    if usable:
        out.line(f"  Status:   {out.paint('green', 'active')}")
        out.line(f"  Languages: {', '.join(usable)}")
    else:
        out.line(f"  Status:   {out.paint('yellow', 'unavailable')} (falling back to regex chunking)")
    for name, fault in found.items():
        if fault:
            text = f"Unavailable: {name} ({fault})" if usable else f"{name}: {fault}"
            out.line(f"  {out.paint('yellow' if usable else 'dim', text)}")


def _daemon(session: Session) -> None:
    settings = session.settings
    suffix = "" if settings.index == "index" else f"-{settings.index}"
    if exists(join(settings.cache_dir, f"mcp{suffix}.pid")):
        from qmd.mcp import daemon

        pid = daemon.running(settings)
        if pid:
            session.out.line(f"MCP:   {session.out.paint('green', 'running')} (PID {pid})")


def _collections(session: Session, stored: list[Stored]) -> None:
    out = session.out
    listed = collections.listed(session.config)
    out.line(f"\n{out.paint('bold', 'Collections')}")
    for each in stored:
        age = ago(each.latest) if each.latest else "never"
        address = out.paint("dim", f"({virtual.SCHEME}{each.name}/)")
        out.line(f"  {out.paint('cyan', each.name)} {address}")
        out.line(f"    {out.paint('dim', 'Pattern:')}  {each.pattern}")
        out.line(f"    {out.paint('dim', 'Files:')}    {each.count} (updated {age})")
        own = [(prefix, text) for name, prefix, text in listed if name == each.name]
        if own:
            out.line(f"    {out.paint('dim', 'Contexts:')} {len(own)}")
        for prefix, text in own:
            shown = text if ecma.length(text) <= _PREVIEW else ecma.cut(text, 0, _PREVIEW - 3) + "..."
            where = "/" if prefix in ("", "/") else f"/{prefix}"
            out.line(f"      {out.paint('dim', f'{where}:')} {shown}")
    first = stored[0].name
    out.line(f"\n{out.paint('bold', 'Examples')}")
    for hint, example in (
        ("List files in a collection", f"ls {first}"),
        ("Get a document", f"get {virtual.SCHEME}{first}/path/to/file.md"),
        ("Search within a collection", f'search "query" -c {first}'),
    ):
        out.line(f"  {out.paint('dim', f'# {hint}')}")
        out.line(f"  qmd {example}")


def _embedding(session: Session) -> None:
    """Print the vectors of each provider as qmd's fork does; nothing if there are none."""
    from qmd.app.embedding import active
    from qmd.index.semantic import renewal, spaces, vectors

    out, connection = session.out, session.index
    known = spaces.listed(connection)
    if not known and not session.config.embedding:
        return
    current = active(session)
    out.line(f"\n{out.paint('bold', 'Embedding')}")
    out.line(f"  Active: {current}")
    out.line("  Versions:")
    for space in known:
        waiting = sum(vectors.pending(connection, space).values())
        note = f" ({waiting} documents pending, run 'qmd embed')" if waiting else ""
        if renewing := sum(renewal.pending(connection, space).values()):
            note += f" ({renewing} documents to be renewed, run 'qmd embed')"
        out.line(f"    {space.name}: {spaces.count(connection, space)} vectors{note}")
    if current not in [space.name for space in known]:
        out.line(f"    {current}: 0 vectors (run 'qmd embed')")


def _models(session: Session) -> None:
    out = session.out
    out.line(f"\n{out.paint('bold', 'Models')}")
    configured = session.config.models
    for slot, label in (("embed", "Embedding:  "), ("rerank", "Reranking:  "), ("generate", "Generation: ")):
        # Show the user's choice; semantic search alone uses the default model.
        uri = configured.get(slot) or os.environ.get(f"QMD_{slot.upper()}_MODEL") or ""
        if slot == "embed" and not uri:
            uri = active(session)
        if slot == "generate":
            uri = semantic.generator_name(session) or uri
        if slot == "rerank":
            uri = semantic.reranker_name(session) or uri
        parts = uri.removeprefix("hf:").split("/")
        page = f"https://huggingface.co/{parts[0]}/{parts[1]}" if uri.startswith("hf:") and len(parts) > 2 else uri
        out.line(f"  {label} {page or 'none'}")


def _tips(session: Session, stored: list[Stored]) -> list[str]:
    out = session.out
    configured = session.config.collections
    tips = []
    bare = [each.name for each in stored if each.name not in configured or not configured[each.name].context]
    if bare:
        tips.append(f"Add context to collections for better search results: {_some(bare)}")
        for place, text in (("", "What this collection contains"), ("meeting-notes", "Weekly team meeting notes")):
            example = f'qmd context add {virtual.SCHEME}<name>/{place} "{text}"'
            tips.append(f"  {out.paint('dim', example)}")
    still = [each.name for each in stored if each.name not in configured or not configured[each.name].update]
    if still and len(stored) > 1:
        example = "qmd collection update-cmd <name> 'git stash && git pull --rebase --ff-only && git stash pop'"
        tips += [
            f"Add update commands to keep collections fresh: {_some(still)}",
            f"  {out.paint('dim', example)}",
        ]
    return tips


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" +{len(names) - 3} more" if len(names) > 3 else "")


def cleanup(session: Session) -> None:
    """Remove orphans; with ``--dry-run`` only print them."""
    from qmd.index import cleanup

    out = session.out
    dry = "dry-run" in session.arguments.flags
    counts = cleanup.preview(session.index) if dry else cleanup.clean(session.index_to_write)
    if dry:
        out.line("Dry run — no changes made.\n")
    rows = (
        (counts.inactive, "inactive document records"),
        (counts.contents, "orphaned content hashes"),
    )

    def line(done: str, would: str) -> None:
        out.line(f"Would {would}" if dry else f"{out.paint('green', '✓')} {done}")

    line(f"Cleared {counts.cached} cached API responses", f"clear {counts.cached} cached API responses")
    if counts.vectors:
        line(
            f"Removed {counts.vectors} orphaned embedding chunks", f"remove {counts.vectors} orphaned embedding chunks"
        )
    elif counts.kept:
        out.line(f"{counts.kept} orphaned embedding chunks left as they are: sqlite-vec does not load, or has no table")
    else:
        out.line(out.paint("dim", "No orphaned embeddings to remove"))
    for count, what in rows:
        if count:
            line(f"Removed {count} {what}", f"remove {count} {what}")
    line("FTS compacted, database vacuumed", "compact FTS and vacuum the database")
