"""Tables of tools' folders, and of the commands that resume their sessions, as data that is read without their code.

``ingest.registry`` writes those of other distributions' sources to ``state/roots`` when an index run ends.
"""

from __future__ import annotations

import os
from os.path import abspath, exists, expanduser, join

from core import jsonb
from core.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from core.config import Config
    from core.home import Home

# One row of a table. The variable of the environment that moves the folder ("" for none; a comma at its end: it may
# name several folders, separated by commas or the path separator). The folder, or several separated by commas, "" for
# none but the variable's. The places below the folder: a star matches any text within one name; of places separated
# by "|" the first that exists counts, else the first; "file#key" is the folder that a key of a JSON file names.
Root = tuple[str, str, tuple[str, ...]]

_CURSOR_EDITOR = ("Cursor/User/globalStorage", "Cursor/User/workspaceStorage")
# VS Code, and the editors that were made from it: their folders among those of settings, and the folders of the servers
# that they start on another machine or in a container.
_EDITORS = "Code,Code - Insiders,VSCodium,Cursor,Windsurf,Antigravity,Trae,Kiro,Void,Positron".split(",")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscode-remote", ".cursor-server", ".windsurf-server",
    ".antigravity-server", ".trae-server", ".vscodium-server")  # fmt: skip
# JetBrains' editors have a folder a version.
_CHATS = ("JetBrains/*/workspace", "JetBrains/*/aia-task-history")


def of_editors(*below: str) -> tuple[Root, ...]:
    """Return rows for places below the user's folder of each editor, such as ``globalStorage``."""
    own = tuple(f"{editor}/User/{place}" for editor in _EDITORS for place in below)
    return (
        ("XDG_CONFIG_HOME", "~/.config", own),
        ("", "~/Library/Application Support", own),
        ("APPDATA", "", own),
        ("", "~", tuple(f"{server}/data/User/{place}" for server in _SERVERS for place in below)),
        ("XDG_DATA_HOME", "~/.local/share", tuple(f"code-server/User/{place}" for place in below)),
    )


# The tables of Brain's own sources that need not be named, in the order in which the sources run.
ROOTS: dict[str, tuple[Root, ...]] = {
    "claude": (("CLAUDE_CONFIG_DIR,", "~/.claude,~/.config/claude", ("projects|history.jsonl",)),),
    "codex": (("CODEX_HOME", "~/.codex", ("sessions", "archived_sessions", "history.jsonl")),),
    # Pi's own settings may name a folder of sessions, relative to the agent's.
    "pi": (
        ("PI_CODING_AGENT_DIR", "~/.pi/agent", ("sessions",)),
        ("PI_CODING_AGENT_SESSION_DIR", "", ()),
        ("PI_CODING_AGENT_DIR", "~/.pi/agent", ("settings.json#sessionDir",)),
    ),
    "gemini": (
        ("", "~/.gemini", ("tmp",)),
        ("GEMINI_CLI_HOME", "", (".gemini/tmp",)),
        ("", "~/.cache/.gemini", ("tmp",)),
    ),
    "cursor": (
        ("", "~/Library/Application Support", _CURSOR_EDITOR),
        ("XDG_CONFIG_HOME", "~/.config", _CURSOR_EDITOR),
        ("APPDATA", "", _CURSOR_EDITOR),
        # Chats that an editor starts by `cursor-agent acp` have a folder of their own (tiann/hapi pull request 844).
        ("", "~/.cursor", ("projects", "chats", "acp-sessions")),
        # The agent in the terminal keeps only its chats with its settings (rimio-ai/rimz pull request 399; with a
        # capital letter chenhg5/cc-connect pull request 1232).
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
        *of_editors("globalStorage/sourcegraph.amp/threads3"),
    ),
    "cline": (
        *of_editors("globalStorage/saoudrizwan.claude-dev/tasks"),
        # The CLI, and the extension in JetBrains' editors.
        ("CLINE_DATA_DIR", "~/.cline/data", ("tasks", "sessions")),
        ("CLINE_DIR", "", ("tasks", "sessions", "data/tasks", "data/sessions")),
    ),
    "roo": (
        *of_editors("globalStorage/rooveterinaryinc.roo-cline/tasks"),
        # The CLI (RooCodeInc/Roo-Code, packages/vscode-shim/src/context/ExtensionContext.ts).
        ("", "~", (".vscode-mock/global-storage/tasks",)),
    ),
    "kilo": (
        *of_editors("globalStorage/kilocode.kilo-code/tasks"),
        # The CLI before 1.0.
        ("", "~/.kilocode", ("cli/global/tasks",)),
        ("XDG_DATA_HOME", "~/.local/share", ("kilo/kilo.db", "kilo/storage", "kilo/kilo-*.db")),
    ),
    "qwen": (("QWEN_RUNTIME_DIR", "~/.qwen", ("projects", "tmp")),),
    "goose": (
        ("XDG_DATA_HOME", "~/.local/share", ("goose/sessions",)),
        ("GOOSE_PATH_ROOT", "", ("data/sessions",)),
        ("APPDATA", "", ("Block/goose/data/sessions",)),
    ),
    # The histories of other repositories are found where sessions worked.
    "aider": (("AIDER_CHAT_HISTORY_FILE", "", ()), ("", "~", (".aider.chat.history.md",))),
    "zed": (
        ("XDG_DATA_HOME", "~/.local/share", ("zed/threads",)),
        ("", "~/Library/Application Support", ("Zed/threads",)),
        ("", "~/.var/app/dev.zed.Zed/data", ("zed/threads",)),
        ("LOCALAPPDATA", "", ("Zed/threads",)),
    ),
    "droid": (("", "~/.factory", ("sessions",)),),
    "grok": (("GROK_HOME", "~/.grok", ("sessions",)),),
    "antigravity": (("", "~/.gemini", ("antigravity*/brain", "antigravity*/conversations")),),
    "hermes": (("HERMES_HOME", "~/.hermes", ("state.db", "sessions", "profiles/*/state.db", "profiles/*/sessions")),),
    # As with Aider, the databases of projects are found where sessions worked.
    "crush": (("", "~", (".crush/crush.db",)),),
    "continuedev": (("CONTINUE_GLOBAL_DIR", "~/.continue", ("sessions",)),),
    "kimi": (("KIMI_SHARE_DIR", "~/.kimi", ("sessions",)), ("KIMI_CODE_HOME", "~/.kimi-code", ("sessions",))),
    "omp": (("", "~/.omp/agent", ("sessions",)),),
    "vscode": of_editors("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions"),
    "junie": (("", "~/.junie", ("sessions",)),),
    "jetbrains": (
        ("XDG_CONFIG_HOME", "~/.config", _CHATS),
        ("", "~/Library/Application Support", _CHATS),
        ("APPDATA", "", _CHATS),
    ),
    "dsh": (("DSH_HOME", "~/.dsh", ("sessions",)),),
    "windsurf": (("", "~", (".windsurf/transcripts", ".codeium/windsurf/cascade")),),
    "shell": (
        ("HISTFILE", "", ()),
        ("", "~", (".zsh_history", ".zhistory", ".histfile", ".bash_history", ".cache/zsh/history")),
        ("ZDOTDIR", "", (".zsh_history", ".zhistory", ".histfile")),
        ("XDG_DATA_HOME", "~/.local/share", ("fish/*_history", "atuin/history.db", "zsh/history", "bash/history")),
        ("XDG_STATE_HOME", "~/.local/state", ("zsh/history", "bash/history")),
    ),
    "openclaw": (
        ("OPENCLAW_STATE_DIR", "~/.openclaw", ("agents", "sessions")),
        # `openclaw --profile NAME` has a folder of its own (docs.openclaw.ai/cli), OPENCLAW_HOME replaces ~.
        ("", "~", (".openclaw-*/agents", ".openclaw-*/sessions")),
        ("OPENCLAW_HOME", "", (".openclaw/agents", ".openclaw-*/agents")),
        ("CLAWDBOT_STATE_DIR", "~/.clawdbot", ("agents", "sessions")),
        ("", "~", (".moltbot/agents", ".moldbot/agents")),
    ),
}

# ``state/roots``: the tables of sources that other distributions add.
FILE = "roots"
_MOST_SETTINGS = 1_000_000
# Sources of documents that are no sessions.
_PAGES = ("bookmarks", "mail", "calendar")
# Source → (command that a session's id completes, "" for none; the only ``surface`` with such sessions, "" for all).
# Sources of Brain's own without a command are in it, too: only for others ``noted_resume`` reads a file.
RESUME = {
    **dict.fromkeys(("", "openclaw", "shell", "chrome", "code", "git", "article", "note", *_PAGES), ("", "")),
    "claude": ("claude --resume", ""),
    "codex": ("codex resume", ""),
    "pi": ("pi --session", ""),
    "gemini": ("gemini --resume", ""),
    # The editor's own conversations are resumed in the editor.
    "cursor": ("cursor-agent --resume", "agent"),
    "opencode": ("opencode --session", ""),
    "copilot": ("copilot --resume", ""),
    "amp": ("amp threads continue", ""),
    # The tasks of the extensions are opened in the editor.
    "cline": ("cline --id", "cli"),
    "roo": ("", ""),
    "kilo": ("kilo --session", "cli"),
    "qwen": ("qwen --resume", ""),
    "goose": ("goose session --resume --session-id", ""),
    "aider": ("", ""),
    "zed": ("", ""),
    "droid": ("droid --resume", ""),
    "grok": ("grok --resume", ""),
    "antigravity": ("", ""),
    "hermes": ("hermes --resume", ""),
    **dict.fromkeys(("crush", "continuedev", "jetbrains", "vscode", "windsurf", "chatgpt", "claudeai"), ("", "")),
    "kimi": ("kimi --session", ""),
    "omp": ("omp --resume", ""),
    "junie": ("junie --resume --session-id", ""),
    # The app of the terminal is a profile, which need not be installed.
    "dsh": ("dsh --profile tui --resume", ""),
}

# Source → the file in a project that the tool reads at the start of a session (https://agents.md, the tools' docs).
INSTRUCTIONS = {
    "claude": "CLAUDE.local.md",
    "gemini": "GEMINI.md",
    **dict.fromkeys(("codex", "cursor", "copilot", "opencode", "amp", "pi"), "AGENTS.md"),
}


def noted_resume(source: str, home: Home) -> tuple[str, str]:
    """Return a row as of ``RESUME`` for a source of another distribution (``Source.resume``), which a run noted."""
    held = noted(home)
    rows = () if held is None else held.get("resumes") or ()
    return next(((command, surface) for name, command, surface in rows if name == source), ("", ""))


def expand(rows: Iterable[Sequence[Any]], environ: Mapping[str, str], known: Folders | None = None) -> list[str]:
    """Return the paths that a table of roots names in an environment, whether or not they exist.

    ``known`` remembers folders from one table to the next; paths below folders that do not exist are then left out.
    """
    found: list[str] = []
    for variable, folder, below in rows:
        given = environ.get(variable.rstrip(",")) or folder
        for base in filter(None, _folders(given) if "," in variable else (given,)):
            base = abspath(expanduser(base)) if known is None else known.whole(base)
            if not below:
                found.append(base)
            for part in below:
                if known is None or known.may_have(base, part):
                    found += _below(base, part)
    return found


class Folders:
    """What was seen of folders: editors have the same ones in many tables, and most machines have few of them."""

    def __init__(self) -> None:
        self.there: dict[str, bool] = {}
        self._whole: dict[str, str] = {}

    def whole(self, folder: str) -> str:
        """Return the path of a folder as a table names it."""
        if folder not in self._whole:
            self._whole[folder] = abspath(expanduser(folder))
        return self._whole[folder]

    def may_have(self, base: str, part: str) -> bool:
        """Return False if the first folder of a place below ``base`` does not exist."""
        top, found, _ = part.partition("/")
        if not found or "*" in top or "|" in part:
            return True
        path = f"{base}/{top}"
        if path not in self.there:
            self.there[path] = exists(path)
        return self.there[path]


def existing(paths: Iterable[str]) -> list[str]:
    """Return the paths that exist, each once."""
    return [path for path in dict.fromkeys(paths) if exists(path)]


def added(section: Mapping[str, Any], name: str) -> list[str]:
    """Return the folders that the section ``sources`` of collections.yml adds to a source's own."""
    return [abspath(expanduser(str(root))) for root in (section.get(name) or {}).get("roots") or ()]


def places(home: Home, config: Config | None, environ: Mapping[str, str]) -> dict[str, list[str]] | None:
    """Return the existing roots of each source that has any: Brain's own, and those that were noted.

    None if one of these finds its places by code of its own.
    """
    tables: dict[str, Any] = {**ROOTS, **dict((noted(home) or {"tables": ()})["tables"])}
    if None in tables.values():
        return None
    known = Folders()
    expanded = {name: expand(rows, environ, known) for name, rows in tables.items()}
    return there(expanded, {} if config is None else config.sources)


def there(found: Mapping[str, Iterable[str]], section: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the existing ones of the ``found`` places and of those that the ``section`` adds, by source."""
    whole = {name: existing([*own, *added(section, name)]) for name, own in found.items()}
    return {name: paths for name, paths in whole.items() if paths}


def noted(home: Home) -> dict[str, Any] | None:
    """Return what the registry wrote to ``state/roots``, None if nothing of this version can be read."""
    held = read(join(home.state, FILE))
    is_ours = isinstance(held, dict) and held.get("version") == VERSION and isinstance(held.get("tables"), list)
    return held if is_ours else None


def read(path: str) -> Any:
    """Return the value of a file of JSONB, None if there is no such file or its bytes are none."""
    try:
        with open(path, "rb") as stream:
            return jsonb.unpack(stream.read())
    except (OSError, ValueError):
        return None


def _folders(given: str) -> list[str]:
    """Return the folders that a list names; a path that exists is one folder, whatever is in its name."""
    if exists(expanduser(given.strip())):
        return [given.strip()]
    return [part.strip() for part in given.replace(os.pathsep, ",").split(",")]


def _below(base: str, part: str) -> Sequence[str]:
    """Return the paths that one place of a row names below a folder."""
    if "*" in part:
        return _starred(base, part)
    if "#" in part:
        return _named_by_settings(base, *part.split("#"))
    choices = [join(base, each) for each in part.split("|")]
    return (next(filter(exists, choices), choices[0]),)


def _starred(base: str, part: str) -> list[str]:
    """Return the paths that ``part`` names below a folder, with every expansion of its stars."""
    found = [base]
    for piece in part.split("/"):
        found = [join(each, name) for each in found for name in (_names(each, piece) if "*" in piece else (piece,))]
    return found


def _names(folder: str, piece: str) -> list[str]:
    """Return the names in a folder that match ``piece``, which has one star."""
    begins, _, ends = piece.partition("*")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if name.startswith(begins) and name[len(begins) :].endswith(ends)]


def _named_by_settings(base: str, file: str, key: str) -> list[str]:
    """Return the folder that a tool's settings name, relative to ``base``; a folder that holds the user's is left out.

    Settings that cannot be read name none.
    """
    path = join(base, file)
    if not exists(path):
        return []
    import json

    try:
        with open(path, "rb") as stream:
            named = json.loads(stream.read(_MOST_SETTINGS)).get(key)
    except (OSError, ValueError, AttributeError, RecursionError):
        return []
    if type(named) is not str or not named or "\0" in named:
        return []
    folder = abspath(join(base, expanduser(named)))
    return [] if join(expanduser("~"), "").startswith(join(folder, "")) else [folder]
