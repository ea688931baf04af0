"""``qmd collection``, ``qmd context`` and ``qmd ls``: the indexed folders, notes about them, their files."""

from __future__ import annotations

import os
from os.path import abspath, join, normpath, realpath

from qmd import config_file, trust
from qmd.app.output import ago, file_size, listed_date
from qmd.index import catalogue, collections, retrieve, virtual
from qmd.settings import DEFAULT_GLOB, home, working_directory

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from qmd.app.session import Session
    from qmd.settings import Collection


_HELP = (
    "Usage: qmd collection <command> [options]",
    "",
    "Commands:",
    "  list                      List all collections",
    "  add <path> [--name NAME] [--mask|--glob GLOB]  Add a collection",
    "  remove <name>             Remove a collection",
    "  rename <old> <new>        Rename a collection",
    "  show <name>               Show collection details",
    "  update-cmd <name> [cmd]   Set pre-update command (e.g., 'git pull')",
    "  include <name>            Include in default queries",
    "  exclude <name>            Exclude from default queries",
    "",
    "Examples:",
    "  qmd collection add ~/notes --name notes",
    "  qmd collection add ~/notes --name notes --mask 'a.md,journals/*.md'",
    "  qmd collection update-cmd brain 'git pull'",
    "  qmd collection exclude archive",
)
_HINT = "  Use 'qmd collection list' to see available collections"


def collection(session: Session) -> None:
    """Run one verb of ``qmd collection``. Raises Exit if the verb fails."""
    words = session.arguments.words
    verb = words[0] if words else "help"
    if verb in ("include", "exclude"):
        _include(session, verb == "include")
        return
    action = {
        "list": _list,
        "add": _add,
        "remove": _remove,
        "rm": _remove,
        "rename": _rename,
        "mv": _rename,
        "update-cmd": _update_command,
        "set-update": _update_command,
        "show": _show,
        "info": _show,
        "help": _help,
    }.get(verb)
    if action is None:
        raise session.fail(
            f"Unknown subcommand: {verb}",
            "Run 'qmd collection help' for usage",
            "If qmd still behaves unexpectedly, run 'qmd doctor' for diagnostics.",
        )
    action(session)


def _help(session: Session) -> None:
    session.out.line("\n".join(_HELP))


def _list(session: Session) -> None:
    out = session.out
    stored = collections.stored(session.index)
    if not stored:
        out.line("No collections found. Run 'qmd collection add .' to create one.")
        return
    out.line(f"{out.paint('bold', f'Collections ({len(stored)}):')}\n")
    for each in stored:
        configured = session.config.collections.get(each.name)
        excluded = configured is not None and not configured.include_by_default
        tag = f" {out.paint('yellow', '[excluded]')}" if excluded else ""
        address = out.paint("dim", f"({virtual.SCHEME}{each.name}/)")
        out.line(f"{out.paint('cyan', each.name)} {address}{tag}")
        out.line(f"  {out.paint('dim', 'Pattern:')}  {each.pattern}")
        if configured and configured.ignore:
            out.line(f"  {out.paint('dim', 'Ignore:')}   {', '.join(configured.ignore)}")
        out.line(f"  {out.paint('dim', 'Files:')}    {each.count}")
        age = ago(each.latest) if each.latest else "0s ago"
        out.line(f"  {out.paint('dim', 'Updated:')}  {age}")
        out.line()


def _add(session: Session) -> None:
    arguments, out = session.arguments, session.out
    given = arguments.words[1] if len(arguments.words) > 1 else ""
    if not given:
        raise session.fail(
            "Usage: qmd collection add <path> [--name NAME] [--mask GLOB]",
            "  Pass '.' to index the current directory.",
            "  --mask / --glob: glob (default **/*.md), brace group, or comma-separated list",
        )
    here = working_directory()
    path = here if given == "." else realpath(normpath(join(here, given)))
    if not os.path.exists(path):
        raise session.fail(
            out.paint("yellow", "Collection path does not exist."),
            f"  Received: {given}",
            f"  Resolved: {path}",
            "Provide an existing directory and run 'qmd collection add <path>' again.",
        )
    if not os.path.isdir(path):
        raise session.fail(
            out.paint("yellow", "Collection path is not a directory."),
            f"  Received: {given}",
            f"  Resolved: {path}",
            "Choose a directory and run 'qmd collection add <path>' again.",
        )
    pattern = arguments.text.get("mask") or arguments.text.get("glob") or DEFAULT_GLOB
    name = arguments.text.get("name") or next((part for part in reversed(path.split("/")) if part), "root")
    configured = session.config.collections
    if name in configured:
        raise session.fail(
            out.paint("yellow", f"Collection '{name}' already exists."), "Use a different name with --name <name>"
        )
    twin = next((each for each in configured.values() if (each.path, each.pattern) == (path, pattern)), None)
    if twin:
        raise session.fail(
            out.paint("yellow", "A collection already exists for this path and pattern:"),
            f"  Name: {twin.name} ({virtual.SCHEME}{twin.name}/)",
            f"  Pattern: {pattern}",
            f"\nUse 'qmd update' to re-index it, or remove it first with 'qmd collection remove {twin.name}'",
        )
    from qmd.app.updating import index_one
    from qmd.index.update import matcher

    matcher(pattern)
    was_approved = trust.may_run_commands(session.settings, session.config)
    collections.add(session.settings, name, path, pattern)
    session.changed()
    _approve_typed(session, was_approved)
    out.line(f"Creating collection '{name}'...")
    index_one(session, session.config.collections[name])
    out.line(f"{out.paint('green', '✓')} Collection '{name}' created successfully")


def _remove(session: Session) -> None:
    out = session.out
    name = _word(session, 1)
    if not name:
        raise session.fail("Usage: qmd collection remove <name>", _HINT)
    _configured(session, name)
    documents, contents = collections.remove(session.settings, session.index_to_write, name)
    session.changed()
    out.line(f"{out.paint('green', '✓')} Removed collection '{name}'")
    out.line(f"  Deleted {documents} documents")
    if contents:
        out.line(f"  Cleaned up {contents} orphaned content hashes")


def _rename(session: Session) -> None:
    out = session.out
    old, new = _word(session, 1), _word(session, 2)
    if not old or not new:
        raise session.fail("Usage: qmd collection rename <old-name> <new-name>", _HINT)
    _configured(session, old)
    if new in session.config.collections:
        raise session.fail(
            out.paint("yellow", f"Collection name already exists: {new}"),
            "Choose a different name or remove the existing collection first.",
        )
    collections.rename(session.settings, session.index_to_write, old, new)
    session.changed()
    out.line(f"{out.paint('green', '✓')} Renamed collection '{old}' to '{new}'")
    addresses = [out.paint("cyan", f"{virtual.SCHEME}{name}/") for name in (old, new)]
    out.line(f"  Virtual paths updated: {' → '.join(addresses)}")


def _approve_typed(session: Session, was_approved: bool) -> None:
    """Approve the user's own change, unless the configuration had unapproved parts before it."""
    if was_approved:
        trust.approve(session.settings, session.config)


def _update_command(session: Session) -> None:
    name = _word(session, 1)
    if not name:
        raise session.fail(
            "Usage: qmd collection update-cmd <name> [command]",
            "  Set the command to run before indexing (e.g., 'git pull')",
            "  Omit command to clear it",
        )
    _named(session, name)
    command = " ".join(session.arguments.words[2:])
    was_approved = trust.may_run_commands(session.settings, session.config)
    collections.set_update(session.settings, name, command)
    session.changed()
    _approve_typed(session, was_approved)
    session.out.line(
        f"✓ Set update command for '{name}': {command}" if command else f"✓ Cleared update command for '{name}'"
    )


def _include(session: Session, included: bool) -> None:
    name = _word(session, 1)
    verb = "include" if included else "exclude"
    if not name:
        raise session.fail(
            f"Usage: qmd collection {verb} <name>", f"  {verb.capitalize()} collection in default queries"
        )
    _named(session, name)
    collections.set_included(session.settings, name, included)
    session.changed()
    session.out.line(f"✓ Collection '{name}' {'included in' if included else 'excluded from'} default queries")


def _show(session: Session) -> None:
    name = _word(session, 1)
    if not name:
        raise session.fail("Usage: qmd collection show <name>")
    found = _named(session, name)
    out = session.out
    out.line(f"Collection: {name}")
    out.line(f"  Path:     {found.path}")
    out.line(f"  Pattern:  {found.pattern}")
    out.line(f"  Include:  {'yes (default)' if found.include_by_default else 'no'}")
    if found.update:
        out.line(f"  Update:   {found.update}")
    if found.context:
        out.line(f"  Contexts: {len(found.context)}")


def _word(session: Session, index: int) -> str:
    words = session.arguments.words
    return words[index] if len(words) > index else ""


def _named(session: Session, name: str) -> Collection:
    found = session.config.collections.get(name)
    if found is None:
        raise session.fail(f"Collection not found: {name}")
    return found


def _configured(session: Session, name: str) -> None:
    if name not in session.config.collections:
        raise session.fail(
            session.out.paint("yellow", f"Collection not found: {name}"),
            "Run 'qmd collection list' to see available collections.",
        )


_CONTEXT_USAGE = (
    "Usage: qmd context <add|list|rm>",
    "",
    "Commands:",
    '  qmd context add [path] "text"  - Add context (defaults to current dir)',
    '  qmd context add / "text"       - Add global context to all collections',
    "  qmd context list                - List all contexts",
    "  qmd context rm <path>           - Remove context",
)
_ADD_CONTEXT_USAGE = (
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
_REMOVE_CONTEXT_USAGE = (
    "Usage: qmd context rm <path>",
    "Examples:",
    "  qmd context rm /",
    "  qmd context rm qmd://journals/2024",
)


def context(session: Session) -> None:
    """Run one verb of ``qmd context``. Raises Exit if the verb fails."""
    words = session.arguments.words
    verb = words[0] if words else ""
    if not verb:
        raise session.fail(*_CONTEXT_USAGE)
    if verb == "add":
        if len(words) < 2:
            raise session.fail(*_ADD_CONTEXT_USAGE)
        # One word is the text for the working directory; of several words the first is the place.
        if len(words) > 2 and words[2]:
            _add_context(session, words[1], " ".join(words[2:]))
        else:
            _add_context(session, ".", words[1])
    elif verb == "list":
        _list_contexts(session)
    elif verb in ("rm", "remove"):
        if len(words) < 2 or not words[1]:
            raise session.fail(*_REMOVE_CONTEXT_USAGE)
        _remove_context(session, words[1])
    elif verb == "check":
        _check_contexts(session)
    else:
        raise session.fail(f"Unknown subcommand: {verb}", "Available: add, list, rm")


def _add_context(session: Session, given: str, text: str) -> None:
    out = session.out
    session.index_to_write  # noqa: B018  # an index that cannot be opened fails before the file is changed
    if given == "/":
        _set_global(session, text)
        out.line(f"{out.paint('green', '✓')} Set global context")
    else:
        name, prefix, root = _context_place(session, given)
        _put_context(session, name, prefix, text)
        where = f"{virtual.SCHEME}{name}/{prefix}{'' if prefix else root}"
        out.line(f"{out.paint('green', '✓')} Added context for: {where}")
    session.changed()
    out.line(out.paint("dim", f"Context: {text}"))


def _list_contexts(session: Session) -> None:
    out = session.out
    session.index  # noqa: B018  # brings the index's collections up to date with the configuration
    listed = collections.listed(session.config)
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


def _check_contexts(session: Session) -> None:
    """Name the collections without a context."""
    bare = [each.name for each in session.config.collections.values() if not each.context]
    for name in bare:
        session.out.line(f"{virtual.SCHEME}{name}/ has no context")
    if not bare:
        session.out.line("Every collection has a context.")


def _remove_context(session: Session, given: str) -> None:
    out = session.out
    if given == "/":
        session.index_to_write  # noqa: B018  # an index that cannot be opened fails before the file is changed
        _set_global(session, "")
        session.changed()
        out.line(f"{out.paint('green', '✓')} Removed global context")
        return
    virtually = virtual.is_virtual(given)
    name, prefix, _ = _context_place(session, given, hint=False)
    shown = given if virtually else f"{virtual.SCHEME}{name}/{prefix}"
    if not _drop_context(session, name, prefix):
        raise session.fail(out.paint("yellow", f"No context found for: {shown}"))
    session.changed()
    out.line(f"{out.paint('green', '✓')} Removed context for: {shown}")


def _context_place(session: Session, given: str, *, hint: bool = True) -> tuple[str, str, str]:
    """Return (collection, prefix, label of an empty prefix) for an address or a path on disk. Raises Exit."""
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


def _put_context(session: Session, name: str, prefix: str, text: str) -> None:
    def edit(entry: Any) -> None:
        if not entry.get("context"):
            entry["context"] = {}
        entry["context"][prefix] = config_file.quoted(text)

    collections.change_one(session.settings, name, edit)


def _drop_context(session: Session, name: str, prefix: str) -> bool:
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


def ls(session: Session) -> None:
    """Print a listing. Raises Exit for a collection that is not configured."""
    out = session.out
    connection = session.index
    given = session.arguments.words[0] if session.arguments.words else ""
    if not given:
        _list_folders(session)
        return
    name, prefix = _listed_place(session, given)
    if name not in session.config.collections:
        raise session.fail(f"Collection not found: {name}", "Run 'qmd ls' to see available collections.")
    files = retrieve.list_files(connection, name, prefix)
    if not files:
        where = f"under {virtual.SCHEME}{name}/{prefix}" if prefix else f"in collection: {name}"
        out.line(f"No files found {where}")
        return
    sizes = [file_size(file.size) for file in files]
    width = max(map(len, sizes))
    head = out.paint("dim", f"{virtual.SCHEME}{name}/")
    for file, size in zip(files, sizes, strict=True):
        path = out.paint("cyan", virtual.on_one_line(file.path))
        out.line(f"{size:>{width}}  {listed_date(file.modified_at)}  {head}{path}")


def _list_folders(session: Session) -> None:
    out = session.out
    names = list(session.config.collections)
    if not names:
        out.line("No collections found. Run 'qmd collection add .' to index files.")
        return
    out.line(f"{out.paint('bold', 'Collections:')}\n")
    counts = catalogue.counts(session.index)
    for name in names:
        address = f"{out.paint('dim', virtual.SCHEME)}{out.paint('cyan', f'{name}/')}"
        out.line(f"  {address}  {out.paint('dim', f'({counts.get(name, 0)} files)')}")


def _listed_place(session: Session, given: str) -> tuple[str, str]:
    """Return (collection, path below it) of an address, of ``name/path``, or of an absolute path that begins with a
    name.
    """
    rest = given.removeprefix(virtual.SCHEME)
    addressed = rest != given
    if rest.startswith("/"):
        # Collections may be named by an absolute path; the longest such name wins.
        whole = rest.removesuffix("/")
        names = [name for name in session.config.collections if f"{whole}/".startswith(f"{name}/")]
        if names:
            name = max(names, key=len)
            return name, whole[len(name) :].removeprefix("/")
        if not addressed:
            return whole, ""
    if addressed:
        address = virtual.parse(given)
        if address is None:
            raise session.fail(f"Invalid virtual path: {given}")
        return address.collection, address.path
    name, _, path = given.partition("/")
    return name, path
