"""``qmd skills`` and ``qmd skill``: instructions for agents that match this version, shown or installed."""

from __future__ import annotations

import os
import shutil
import sys
from os.path import basename, dirname, exists, isdir, isfile, islink, join, lexists, realpath, relpath

from qmd import ecma
from qmd.app.output import Exit
from qmd.settings import home, working_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from qmd.app.session import Session

_HINT = "If qmd still behaves unexpectedly, run 'qmd doctor' for diagnostics."
_SKILLS_HELP = """Usage: qmd skills <list|get|path> [options]

Commands:
  list                 List bundled runtime skills
  get <name>           Print a bundled runtime skill
  get <name> --full    Include references/templates/scripts
  get --all            Print all bundled runtime skills
  path [name]          Print runtime skill directory path(s)

Options:
  --json               Print structured JSON"""
SKILL_HELP = """Usage: qmd skill <show|install> [options]

Commands:
  show                 Print the QMD skill
  install              Install QMD skill into ./.agents/skills/qmd

Options:
  --global             Install into ~/.agents/skills/qmd
  --yes                Also create the .claude/skills/qmd symlink
  -f, --force          Replace existing install or symlink"""
# The installed file asks the program for the rest, so it is never outdated.
_STUB = """---
name: qmd
description: Search local markdown knowledge bases, notes and sessions with the qmd command, and read what is found. Use when the user asks what their notes, sessions or documents say, or wants a document found.
allowed-tools: Bash(qmd:*), mcp__qmd__*
---

# QMD - Query Markdown Documents

`qmd search` finds documents, `qmd get` reads them. The instructions that belong to the installed version:

!`qmd skill show`

Where that line was not replaced by its output, run it:

```bash
qmd skill show
```
"""  # noqa: E501  # a description is one line


class _Skill:
    def __init__(self, name: str, description: str, hidden: bool, folder: str) -> None:
        self.name = name
        self.description = description
        self.hidden = hidden
        self.folder = folder

    def text(self) -> str:
        return _read(join(self.folder, "SKILL.md"))

    def files(self) -> list[tuple[str, str]]:
        """Return (path, text) of what comes with it."""
        return [
            (f"{part}/{name}", _read(join(self.folder, part, name)))
            for part in ("references", "templates", "scripts")
            if isdir(join(self.folder, part))
            for name in sorted(os.listdir(join(self.folder, part)))
            if isfile(join(self.folder, part, name))
        ]


class _Wrong(Exception):
    """The command fails; the message says why."""


def skills(session: Session) -> None:
    """List, print or locate the skills. Raises Exit for an unknown one."""
    words = session.arguments.words
    verb = words[0] if words else "list"
    action = {"list": _list, "get": _get, "path": _path, "help": _help}.get(verb)
    try:
        if action is None:
            raise _Wrong(f"Unknown skills subcommand: {verb}")
        action(session)
    except _Wrong as error:
        if "json" in session.arguments.flags:
            _json(session, {"success": False, "error": str(error)})
            raise Exit(1) from None
        raise session.fail(str(error)) from None


def skill(session: Session) -> None:
    """Show or install the one skill. Raises Exit if that cannot be done."""
    words = session.arguments.words
    verb = words[0] if words else "help"
    try:
        if verb == "show":
            show(session)
        elif verb == "install":
            _install(session)
        elif verb == "help":
            session.out.line(SKILL_HELP)
        else:
            raise session.fail(f"Unknown subcommand: {verb}", "Run 'qmd skill help' for usage", _HINT)
    except _Wrong as error:
        raise session.fail(str(error), _HINT) from None


def show(session: Session) -> None:
    """Print the skill."""
    session.out.line("QMD Skill\n")
    session.out.write(_ended(_own().text()))


def _list(session: Session) -> None:
    found = _visible()
    if "json" in session.arguments.flags:
        rows = [{"name": each.name, "description": each.description} for each in found]
        _json(session, {"success": True, "data": rows})
        return
    if not found:
        session.out.line("No skills found")
        return
    width = max(len(each.name) for each in found)
    for each in found:
        session.out.line(f"  {each.name:<{width}}  {each.description}")


def _get(session: Session) -> None:
    arguments, out = session.arguments, session.out
    full = "full" in arguments.flags
    found = _visible() if "all" in arguments.flags else [_named(name) for name in arguments.words[1:]]
    if not found:
        raise _Wrong("No skill name provided. Usage: qmd skills get <name>")
    if "json" in arguments.flags:
        rows = []
        for each in found:
            row: dict[str, Any] = {"name": each.name, "content": each.text()}
            if full:
                row["files"] = [{"path": path, "content": text} for path, text in each.files()]
            rows.append(row)
        _json(session, {"success": True, "data": rows})
        return
    for number, each in enumerate(found):
        if number:
            out.line("\n---\n")
        out.write(_ended(each.text()))
        for path, text in each.files() if full else ():
            out.line(f"\n--- {path} ---\n")
            out.write(_ended(text))


def _path(session: Session) -> None:
    words = session.arguments.words
    as_json = "json" in session.arguments.flags
    if len(words) > 1:
        found = _named(words[1])
        if as_json:
            _json(session, {"success": True, "data": {"name": found.name, "path": found.folder}})
        else:
            session.out.line(found.folder)
        return
    places = _places()
    if as_json:
        _json(session, {"success": True, "data": {"paths": places}})
    else:
        for place in places:
            session.out.line(place)


def _help(session: Session) -> None:
    session.out.line(_SKILLS_HELP)


def _install(session: Session) -> None:
    flags, out = session.arguments.flags, session.out
    base = home() if "global" in flags else working_directory()
    target = join(base, ".agents", "skills", "qmd")
    link = join(base, ".claude", "skills", "qmd")
    force = "force" in flags
    own = _own()
    if lexists(target):
        if not force:
            raise _Wrong(f"Skill already exists: {target} (use --force to replace it)")
        _remove(target)
    shutil.copytree(own.folder, target)
    with open(join(target, "SKILL.md"), "w", encoding="utf-8") as stream:
        stream.write(_STUB)
    out.line(f"✓ Installed QMD skill to {target}")
    if not _wants_link(session, link):
        return
    if _link(link, target, force):
        out.line(f"✓ Linked Claude skill at {link}")
    else:
        out.line(f"✓ Claude already sees the skill via {dirname(link)}")


def _wants_link(session: Session, link: str) -> bool:
    out = session.out
    if "yes" in session.arguments.flags:
        return True
    if not (out.terminal and sys.stdin is not None and sys.stdin.isatty()):
        out.line(f"Tip: create a Claude symlink manually at {link}")
        return False
    out.write(f"Create a symlink in {link}? [y/N] ")
    out.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _link(link: str, target: str, force: bool) -> bool:
    """Link to the installed skill; return False if the folder already leads to it."""
    folder = dirname(link)
    if exists(folder) and realpath(folder) == realpath(dirname(target)):
        return False
    wanted = relpath(target, folder)
    os.makedirs(folder, exist_ok=True)
    if lexists(link):
        if islink(link) and os.readlink(link) == wanted:
            return True
        if not force:
            raise _Wrong(f"Claude skill path already exists: {link} (use --force to replace it)")
        _remove(link)
    os.symlink(wanted, link)
    return True


def _remove(path: str) -> None:
    if isdir(path) and not islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _places() -> list[str]:
    own = os.environ.get("QMD_SKILLS_DIR") or join(dirname(dirname(realpath(__file__))), "skills")
    return [own] if os.environ.get("QMD_SKILLS_DIR") or isdir(own) else []


def _discover() -> list[_Skill]:
    found = []
    for place in _places():
        for name in sorted(os.listdir(place)) if isdir(place) else ():
            folder = join(place, name)
            if isfile(join(folder, "SKILL.md")):
                parsed = _parse(_read(join(folder, "SKILL.md")), folder)
                found += [parsed] if parsed else []
    return sorted(found, key=lambda each: each.name)


def _visible() -> list[_Skill]:
    return [each for each in _discover() if not each.hidden]


def _named(name: str) -> _Skill:
    found = next((each for each in _discover() if each.name == name), None)
    if found is None:
        raise _Wrong(f"Skill not found: {name}")
    return found


def _own() -> _Skill:
    found = next((each for each in _discover() if each.name == "qmd"), None)
    if found is None:
        raise _Wrong("QMD skill not found. Reinstall qmd or set QMD_SKILLS_DIR.")
    return found


def _parse(text: str, folder: str) -> _Skill | None:
    from core.document import split

    meta, _ = split(text.lstrip())
    name = str(meta.get("name") or "")
    if not name:
        return None
    hidden = str(meta.get("hidden", "")).lower() in ("true", "yes")
    return _Skill(name, " ".join(str(meta.get("description") or "").split()), hidden, folder)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError as error:
        raise _Wrong(f"cannot read {basename(path)}: {error.strerror}") from None


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _json(session: Session, value: dict[str, Any]) -> None:
    session.out.line(ecma.to_json(value))
