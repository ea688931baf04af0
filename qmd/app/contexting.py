"""``qmd context``: what people wrote about collections and folders."""

from __future__ import annotations

from os.path import abspath, join, normpath, realpath

from qmd import config_file
from qmd.index import collections, contexts, virtual
from qmd.index.references import home
from qmd.settings import working_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from qmd.app.session import Session

_USAGE = (
    "Usage: qmd context <add|list|rm>",
    "",
    "Commands:",
    '  qmd context add [path] "text"  - Add context (defaults to current dir)',
    '  qmd context add / "text"       - Add global context to all collections',
    "  qmd context list                - List all contexts",
    "  qmd context rm <path>           - Remove context",
)
_ADD_USAGE = (
    'Usage: qmd context add [path] "text"',
    "",
    "Examples:",
    '  qmd context add "Context for current directory"',
    '  qmd context add . "Context for current directory"',
    '  qmd context add /subfolder "Context for subfolder"',
    '  qmd context add / "Global context for all collections"',
    "",
    "  Using virtual paths:",
    '  qmd context add qmd://journals/ "Context for entire journals collection"',
    '  qmd context add qmd://journals/2024 "Context for 2024 journals"',
)
_REMOVE_USAGE = (
    "Usage: qmd context rm <path>",
    "Examples:",
    "  qmd context rm /",
    "  qmd context rm qmd://journals/2024",
)


def context(session: Session) -> None:
    """Add, list or remove. Raises Exit for what cannot be done."""
    words = session.arguments.words
    verb = words[0] if words else ""
    if not verb:
        raise session.fail(*_USAGE)
    if verb == "add":
        if len(words) < 2:
            raise session.fail(*_ADD_USAGE)
        # One word is the text, for where the user stands; of several the first is the place.
        if len(words) > 2 and words[2]:
            _add(session, words[1], " ".join(words[2:]))
        else:
            _add(session, ".", words[1])
    elif verb == "list":
        _list(session)
    elif verb in ("rm", "remove"):
        if len(words) < 2 or not words[1]:
            raise session.fail(*_REMOVE_USAGE)
        _remove(session, words[1])
    elif verb == "check":
        _check(session)
    else:
        raise session.fail(f"Unknown subcommand: {verb}", "Available: add, list, rm")


def _add(session: Session, given: str, text: str) -> None:
    out = session.out
    session.index_to_write  # noqa: B018  # an index that cannot be opened is said before anything is changed
    if given == "/":
        _set_global(session, text)
        out.line(f"{out.paint('green', '✓')} Set global context")
    else:
        name, prefix, root = _place(session, given)
        _put(session, name, prefix, text)
        where = f"{virtual.SCHEME}{name}/{prefix}{'' if prefix else root}"
        out.line(f"{out.paint('green', '✓')} Added context for: {where}")
    session.changed()
    out.line(out.paint("dim", f"Context: {text}"))


def _list(session: Session) -> None:
    out = session.out
    session.index  # noqa: B018  # brings the index's collections up to date with the configuration
    listed = contexts.listed(session.config)
    if not listed:
        out.line(out.paint("dim", "No contexts configured. Use 'qmd context add' to add one."))
        return
    out.line(f"\n{out.paint('bold', 'Configured Contexts')}\n")
    last = ""
    for name, prefix, text in listed:
        if name != last:
            out.line(out.paint("cyan", name))
            last = name
        out.line(f"  {prefix}" if prefix else "  / (root)")
        out.line(f"    {out.paint('dim', text)}")


def _check(session: Session) -> None:
    """Name the collections that nobody has written anything about."""
    bare = [each.name for each in session.config.collections.values() if not each.context]
    for name in bare:
        session.out.line(f"{virtual.SCHEME}{name}/ has no context")
    if not bare:
        session.out.line("Every collection has a context.")


def _remove(session: Session, given: str) -> None:
    out = session.out
    if given == "/":
        session.index_to_write  # noqa: B018  # told below that the global context is gone
        _set_global(session, "")
        session.changed()
        out.line(f"{out.paint('green', '✓')} Removed global context")
        return
    virtually = virtual.is_virtual(given)
    name, prefix, _ = _place(session, given, hint=False)
    shown = given if virtually else f"{virtual.SCHEME}{name}/{prefix}"
    if not _drop(session, name, prefix):
        raise session.fail(out.paint("yellow", f"No context found for: {shown}"))
    session.changed()
    out.line(f"{out.paint('green', '✓')} Removed context for: {shown}")


def _place(session: Session, given: str, *, hint: bool = True) -> tuple[str, str, str]:
    """(collection, prefix, what to say of an empty prefix) of an address or of a path on disk. Raises Exit."""
    out = session.out
    if virtual.is_virtual(given):
        address = virtual.parse(given)
        if address is None:
            raise session.fail(out.paint("yellow", f"Invalid virtual path: {given}"))
        if address.collection not in session.config.collections:
            raise session.fail(out.paint("yellow", f"Collection not found: {address.collection}"))
        return address.collection, address.path, " (collection root)"
    path = given
    if path in (".", "./"):
        path = working_directory()
    elif path.startswith("~/"):
        path = home() + path[1:]
    elif not path.startswith("/"):
        path = normpath(join(working_directory(), path))
    real = realpath(abspath(path))
    holders = [
        each for each in session.config.collections.values() if f"{real}/".startswith(f"{each.path.rstrip('/')}/")
    ]
    if not holders:
        lines = [out.paint("yellow", f"Path is not in any indexed collection: {path}")]
        if hint:
            lines.append(out.paint("dim", "Run 'qmd status' to see indexed collections"))
        raise session.fail(*lines)
    holder = max(holders, key=lambda each: len(each.path))
    return holder.name, real[len(holder.path.rstrip("/")) :].removeprefix("/"), ""


def _put(session: Session, name: str, prefix: str, text: str) -> None:
    def edit(entry: Any) -> None:
        if not entry.get("context"):
            entry["context"] = {}
        entry["context"][prefix] = config_file.quoted(text)

    collections.change_one(session.settings, name, edit)


def _drop(session: Session, name: str, prefix: str) -> bool:
    configured = session.config.collections[name].context
    if not configured.get(prefix):
        return False

    def edit(entry: Any) -> None:
        key = next(key for key in entry["context"] if ("" if key is None else str(key)) == prefix)
        del entry["context"][key]
        if not entry["context"]:
            del entry["context"]

    collections.change_one(session.settings, name, edit)
    return True


def _set_global(session: Session, text: str) -> None:
    def edit(data: Any) -> None:
        if text:
            data["global_context"] = config_file.quoted(text)
        else:
            data.pop("global_context", None)

    collections.change_file(session.settings, edit)
