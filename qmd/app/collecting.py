"""``qmd collection``: which folders are indexed, and how."""

from __future__ import annotations

import os
from os.path import join, normpath, realpath

from qmd import trust
from qmd.app import figures
from qmd.index import collections, virtual
from qmd.settings import DEFAULT_GLOB, working_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    """One of the verbs below. Raises Exit for what cannot be done."""
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
        age = figures.ago_iso(each.latest) if each.latest else "0s ago"
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
    from qmd.index.walk import matcher

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
    """Approve what the user has just typed, but not what else the configuration asks for without approval."""
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
