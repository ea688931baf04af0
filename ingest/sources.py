"""Where each source keeps its files: a table, so that what this machine has is known without importing any source."""

from __future__ import annotations

import os
from os.path import abspath, exists, expanduser, isdir, isfile, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

    from core.config import Config
    from core.home import Home

_AMP_IN_EDITORS = tuple(
    f"{editor}/User/globalStorage/sourcegraph.amp/threads3"
    for editor in ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
)
# Source → its places: (environment variable that moves the folder or "", the folder, what is looked at below it; a
# star stands for anything within one name).
# The vendors' own documentation and sources name them; Claude Code's need more than a table: ``_of_claude``.
PLACES: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "claude": (),
    "codex": (("CODEX_HOME", "~/.codex", ("sessions", "archived_sessions", "history.jsonl")),),
    "pi": (("PI_CODING_AGENT_DIR", "~/.pi/agent", ("sessions",)), ("PI_CODING_AGENT_SESSION_DIR", "", ())),
    "gemini": (
        ("", "~/.gemini", ("tmp",)),
        ("GEMINI_CLI_HOME", "", (".gemini/tmp",)),
        ("", "~/.cache/.gemini", ("tmp",)),
    ),
    "cursor": (
        ("", "~/Library/Application Support", ("Cursor/User/globalStorage", "Cursor/User/workspaceStorage")),
        ("XDG_CONFIG_HOME", "~/.config", ("Cursor/User/globalStorage", "Cursor/User/workspaceStorage")),
        ("APPDATA", "", ("Cursor/User/globalStorage", "Cursor/User/workspaceStorage")),
        # What an editor asks of `cursor-agent acp` lies apart, in the same form (tiann/hapi pull request 844).
        ("", "~/.cursor", ("projects", "chats", "acp-sessions")),
        # The agent in the terminal keeps its chats, and they alone, with its settings (rimio-ai/rimz pull request 399;
        # with a capital letter chenhg5/cc-connect pull request 1232).
        ("CURSOR_CONFIG_DIR", "", ("chats", "acp-sessions")),
        ("XDG_CONFIG_HOME", "~/.config", ("cursor/chats", "cursor/acp-sessions", "Cursor/chats")),
    ),
    "opencode": (
        ("XDG_DATA_HOME", "~/.local/share", ("opencode/opencode.db", "opencode/storage", "opencode/project")),
        # Versions that are not released keep a database each, named after their channel.
        ("XDG_DATA_HOME", "~/.local/share", ("opencode/opencode-*.db",)),
        ("OPENCODE_DB", "", ()),
    ),
    "copilot": (("COPILOT_HOME", "~/.copilot", ("session-state", "history-session-state", "session-store.db")),),
    "amp": (
        ("XDG_DATA_HOME", "~/.local/share", ("amp/threads",)),
        ("XDG_CONFIG_HOME", "~/.config", _AMP_IN_EDITORS),
        ("", "~/Library/Application Support", _AMP_IN_EDITORS),
    ),
    "shell": (
        ("HISTFILE", "", ()),
        ("", "~", (".zsh_history", ".zhistory", ".histfile", ".bash_history", ".cache/zsh/history")),
        ("ZDOTDIR", "", (".zsh_history", ".zhistory", ".histfile")),
        ("XDG_DATA_HOME", "~/.local/share", ("fish/*_history", "atuin/history.db", "zsh/history", "bash/history")),
        ("XDG_STATE_HOME", "~/.local/state", ("zsh/history", "bash/history")),
    ),
    "openclaw": (
        ("OPENCLAW_STATE_DIR", "~/.openclaw", ("agents", "sessions")),
        # `openclaw --profile NAME` has a folder of its own (docs.openclaw.ai/cli), OPENCLAW_HOME stands for all of ~.
        ("", "~", (".openclaw-*/agents", ".openclaw-*/sessions")),
        ("OPENCLAW_HOME", "", (".openclaw/agents", ".openclaw-*/agents")),
        ("CLAWDBOT_STATE_DIR", "~/.clawdbot", ("agents", "sessions")),
        ("", "~", (".moltbot/agents", ".moldbot/agents")),
    ),
}

# Read only when they are named: nobody who indexes sessions has thereby asked for browsing or code to be read.
ON_REQUEST = ("chrome", "code", "git")


def names() -> tuple[str, ...]:
    """The sources of this version, in the order in which they run; those on request last."""
    return (*PLACES, *ON_REQUEST)


def module(name: str) -> ModuleType:
    """A source's module. Raises BadInput where there is none of that name."""
    if name not in names():
        from core.errors import BadInput

        raise BadInput(f"unknown source {name!r}", f"sources of this version: {', '.join(names())}")
    found: ModuleType = getattr(__import__(f"ingest.{name}"), name)  # importlib would cost more than what it imports
    return found


def roots(name: str, home: Home | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the folders (or single files) in which this machine keeps a source's files, those that exist.

    With ``home``, ``sources.<name>.roots`` of collections.yml are added. Raises BadInput if that file is not valid.
    """
    return _existing([*places(name, environ), *(configured(name, home) if home is not None else [])])


def every_root(config: Config | None, environ: Mapping[str, str] | None = None) -> dict[str, list[str]]:
    """Return ``roots`` for each source that has any: none of those on request, and nothing is imported.

    ``config``: its ``sources.<name>.roots`` are added.
    """
    section = {} if config is None else config.section("sources")
    found = {name: _existing([*places(name, environ), *_added(section, name)]) for name in PLACES}
    return {name: there for name, there in found.items() if there}


def places(name: str, environ: Mapping[str, str] | None = None) -> list[str]:
    """Where a source's tool keeps its files on this machine, as far as its variables and settings say, there or not."""
    env = os.environ if environ is None else environ
    if name == "claude":
        return _of_claude(env)
    found: list[str] = []
    for variable, folder, below in PLACES[name]:
        given = env.get(variable) or folder
        if not given:
            continue
        base = abspath(expanduser(given))
        for part in below:
            found += _below(base, part) if "*" in part else (join(base, part),)
        if not below:
            found.append(base)
    if name == "pi":
        found += _pi_setting(abspath(expanduser(env.get("PI_CODING_AGENT_DIR") or "~/.pi/agent")))
    return found


def _of_claude(env: Mapping[str, str]) -> list[str]:
    """Claude Code's folders of transcripts, and the history of prompts if a folder of transcripts was removed.

    ``CLAUDE_CONFIG_DIR`` (one folder, or several separated by commas or the path separator) takes the place of
    ``~/.claude`` and ``~/.config/claude``.
    """
    given = (env.get("CLAUDE_CONFIG_DIR") or "").strip()
    if not given:
        configs = ["~/.claude", "~/.config/claude"]
    elif isdir(expanduser(given)):
        configs = [given]
    else:
        configs = [part.strip() for part in given.replace(os.pathsep, ",").split(",") if part.strip()]
    found: list[str] = []
    for config in configs:
        folder = abspath(expanduser(config))
        projects, history = join(folder, "projects"), join(folder, "history.jsonl")
        found.append(history if isfile(history) and not isdir(projects) else projects)
    return found


def _existing(paths: list[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if exists(path)]


def _below(base: str, part: str) -> list[str]:
    """The paths that ``part`` names below a folder, whatever a star stands for in it."""
    found = [base]
    for piece in part.split("/"):
        begins, star, ends = piece.partition("*")
        if star:
            found = [join(each, name) for each in found for name in _names(each, begins, ends)]
        else:
            found = [join(each, piece) for each in found]
    return found


def _names(folder: str, begins: str, ends: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if name.startswith(begins) and name[len(begins) :].endswith(ends)]


def _pi_setting(agent: str) -> list[str]:
    """The folder that Pi's own settings name for its sessions, ``sessionDir``; a relative one lies below the agent's.

    None where that holds all of the home folder.
    """
    path = join(agent, "settings.json")
    if not isfile(path):
        return []
    import json

    try:
        with open(path, "rb") as stream:
            named = json.loads(stream.read(1_000_000)).get("sessionDir")
    except (OSError, ValueError, AttributeError, RecursionError):
        return []
    if type(named) is not str or not named or "\0" in named:
        return []
    folder = abspath(join(agent, expanduser(named)))
    return [] if join(expanduser("~"), "").startswith(join(folder, "")) else [folder]


def configured(name: str, home: Home) -> list[str]:
    """Return the folders that collections.yml adds to a source's own. Raises BadInput if that file is not valid."""
    from core.config import load

    return _added(load(home).section("sources"), name)


def _added(section: Mapping[str, Any], name: str) -> list[str]:
    return [abspath(expanduser(str(root))) for root in (section.get(name) or {}).get("roots") or []]


def present(home: Home) -> tuple[str, ...]:
    """The sources that have files here, and Claude Code, which is always looked for; none of those on request."""
    there = every_root(settled(home))
    return tuple(name for name in PLACES if name == "claude" or name in there)


def settled(home: Home) -> Config | None:
    """Return the configuration, None if it is not valid: the commands that need it report that."""
    from core.config import load
    from core.errors import BadInput

    try:
        return load(home)
    except BadInput:
        return None
