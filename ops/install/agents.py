"""The agents that Brain can be wired into: how each is found, and which of its documented files take what.

docs/agents.md names the documentation of each agent. A path may begin with ``{VARIABLE:default}``, which is the folder
that an environment variable names. ``{editors:PLACE}`` is the user's folder of each editor made from VS Code in which
PLACE exists. Of names separated by ``|``, the first that exists counts, else the last.
"""

from __future__ import annotations

import os
import re
import shutil
from os.path import abspath, dirname, exists, expanduser
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.roots import expand, of_editors

if TYPE_CHECKING:
    from collections.abc import Mapping

MCP, SKILLS, GUIDANCE, RECALL = "mcp", "skills", "guidance", "recall"
_EDITORS = re.compile(r"\{editors:([^}]+)\}/?(.*)")
_BASE = re.compile(r"\{(\w+):([^}]*)\}")
_SHARED_SKILLS = "~/.agents/skills"


class Wiring(NamedTuple):
    """One thing that an agent gets: its ``kind``, the ``path`` and the ``form`` of the file (``ops.install.forms``).

    ``key`` is where an entry goes, ``shape`` names the function of ``ops.install.parts`` that makes its value.
    ``options`` belong to that function: for hooks, the events and what each of them runs. ``needs`` is a path without
    which there is nothing to wire.
    """

    kind: str
    path: str
    form: str
    key: tuple[str, ...] = ()
    shape: str = ""
    options: Mapping[str, Any] = {}
    needs: str = ""


class Agent(NamedTuple):
    """One agent: its ``name`` on the command line, its ``title``, and where its documentation is.

    The agent is on a machine if one of its ``programs`` is on the PATH or one of its ``folders`` exists. ``lacks`` says
    what Brain cannot do in it; ``then`` what the user must do after the installation.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    folders: tuple[str, ...]
    wirings: tuple[Wiring, ...]
    docs: str
    lacks: str = ""
    then: str = ""


def paths(pattern: str, environ: Mapping[str, str]) -> list[str]:
    """Return the absolute paths that a pattern of the table names: one, or with ``{editors:…}`` one for each editor."""
    if found := _EDITORS.match(pattern):
        places = [path for path in expand(of_editors(found[1]), environ) if exists(path)]
        return [f"{path.removesuffix(found[1])}{found[2]}" for path in dict.fromkeys(places)]
    whole = _BASE.sub(lambda match: environ.get(match[1]) or match[2], pattern)
    choices = whole.split("|")
    folder = dirname(choices[0])
    each = [abspath(expanduser(path if path is choices[0] else f"{folder}/{path}")) for path in choices]
    return [next(filter(exists, each), each[-1])]


def targets(wiring: Wiring, environ: Mapping[str, str]) -> list[str]:
    """Return the files or folders that one wiring is about on this machine."""
    if wiring.needs and not any(map(exists, paths(wiring.needs, environ))):
        return []
    return paths(wiring.path, environ)


def is_here(agent: Agent, environ: Mapping[str, str]) -> str:
    """Return where an agent was found, "" if it is not on this machine."""
    search = environ.get("PATH") or os.defpath
    for program in agent.programs:
        if (found := shutil.which(program, path=search)) is not None:
            return found
    for folder in agent.folders:
        for path in paths(folder, environ):
            if exists(path):
                return path
    return ""


def _mcp(path: str, *key: str, shape: str = "plain", form: str = "json") -> Wiring:
    return Wiring(MCP, path, form, (*(key or ("mcpServers",)), "brain"), shape)


def _skills(path: str = _SHARED_SKILLS) -> Wiring:
    return Wiring(SKILLS, path, "skills")


def _hooks(path: str, events: Mapping[str, str], **options: Any) -> Wiring:
    """Return hooks in JSON: event → the words behind ``brain hook``. ``ms`` is for limits in milliseconds."""
    return Wiring(RECALL, path, "hooks", (), "hooks", {"events": events, **options})


def _toml_hooks(path: str, events: Mapping[str, str]) -> Wiring:
    """Return hooks in TOML, as Kimi reads them."""
    return Wiring(RECALL, path, "toml", (), "toml_hooks", {"events": events})


def _plugin(path: str, script: str, source: str) -> Wiring:
    """Return a file of JavaScript, made of ``plugins/common.js`` and ``script``.

    ``source`` reads the agent's sessions.
    """
    return Wiring(RECALL, path, "file", (), "plugin", {"script": script, "source": source})


def _hook_file(path: str, events: Mapping[str, str]) -> Wiring:
    """Return a file of ours with hooks alone, in Claude Code's form: event → the words behind ``brain hook``."""
    return Wiring(RECALL, path, "file", (), "hook_file", {"events": events})


_NO_HOOKS = "no hook adds to a prompt: the agent asks by itself, by the skills and tools"

# Droid reads its settings for hooks only where there is no hooks.json.
_DROID = {"SessionStart": "session-start", "UserPromptSubmit": "prompt", "Stop": "stop --source droid"}

_CONTINUE = "{CONTINUE_GLOBAL_DIR:~/.continue}/config.yaml"

AGENTS = (
    Agent(
        "claude",
        "Claude Code",
        ("claude",),
        ("{CLAUDE_CONFIG_DIR:~/.claude}",),
        (
            _mcp("{CLAUDE_CONFIG_DIR:~}/.claude.json", shape="stdio"),
            _skills("{CLAUDE_CONFIG_DIR:~/.claude}/skills"),
            Wiring(RECALL, "{CLAUDE_CONFIG_DIR:~/.claude}/settings.json", "claude"),
        ),
        "https://code.claude.com/docs/en/settings, /mcp, /hooks, /skills",
    ),
    Agent(
        "codex",
        "Codex",
        ("codex",),
        ("{CODEX_HOME:~/.codex}",),
        (
            _mcp("{CODEX_HOME:~/.codex}/config.toml", "mcp_servers", form="toml"),
            _skills(),
            _hooks(
                "{CODEX_HOME:~/.codex}/hooks.json",
                {
                    "SessionStart": "session-start",
                    "UserPromptSubmit": "prompt",
                    "PreToolUse": "guard",
                    "Stop": "stop --source codex",
                },
                matchers={"PreToolUse": "Bash|apply_patch|mcp__.*"},
            ),
        ),
        "https://developers.openai.com/codex/config-reference, /codex/hooks, /codex/skills",
        "no event for a failed call",
        "run /hooks in Codex once and trust the hooks: it runs no hook before",
    ),
    Agent(
        "gemini",
        "Gemini CLI",
        ("gemini",),
        ("{GEMINI_CLI_HOME:~}/.gemini/settings.json",),
        (
            _mcp("{GEMINI_CLI_HOME:~}/.gemini/settings.json"),
            _skills(),
            _hooks(
                "{GEMINI_CLI_HOME:~}/.gemini/settings.json",
                {"SessionStart": "session-start", "BeforeAgent": "prompt", "AfterAgent": "stop --source gemini"},
                ms=True,
            ),
        ),
        "https://geminicli.com/docs/hooks/reference, /docs/tools/mcp-server, /docs/cli/skills",
        "no guard: a hook before a call cannot add to the context",
    ),
    Agent(
        "qwen",
        "Qwen Code",
        ("qwen",),
        ("~/.qwen",),
        (
            _mcp("~/.qwen/settings.json"),
            _skills("~/.qwen/skills"),
            _hooks(
                "~/.qwen/settings.json",
                {"SessionStart": "session-start", "UserPromptSubmit": "prompt", "Stop": "stop --source qwen"},
                ms=True,
            ),
        ),
        "https://qwenlm.github.io/qwen-code-docs/en/users/features/hooks, /features/mcp, /features/skills",
        # Seen in 0.24.4: the hook before a call runs, and its additionalContext is in no request.
        "no guard: what a hook adds before a call does not reach the model (0.24.4)",
    ),
    Agent(
        "cursor",
        "Cursor",
        ("cursor-agent", "cursor"),
        ("~/.cursor",),
        (
            _mcp("~/.cursor/mcp.json"),
            _skills(),
            _hooks(
                "~/.cursor/hooks.json",
                {"sessionStart": "session-start --form snake", "stop": "stop --source cursor"},
                flat=True,
                extra={"version": 1},
            ),
        ),
        "https://cursor.com/docs/agent/hooks, /docs/context/mcp, /docs/context/skills",
        "recall at the start of a session only: no other event adds to the context before the model answers",
    ),
    Agent(
        "opencode",
        "OpenCode",
        ("opencode",),
        ("{XDG_CONFIG_HOME:~/.config}/opencode",),
        (
            _mcp("{XDG_CONFIG_HOME:~/.config}/opencode/opencode.jsonc|opencode.json", "mcp", shape="array"),
            _skills(),
            _plugin("{XDG_CONFIG_HOME:~/.config}/opencode/plugins/brain.js", "opencode.js", "opencode"),
        ),
        "https://opencode.ai/docs/plugins, /docs/mcp-servers, /docs/skills",
    ),
    Agent(
        "pi",
        "Pi",
        ("pi",),
        ("{PI_CODING_AGENT_DIR:~/.pi/agent}",),
        (
            _mcp("{PI_CODING_AGENT_DIR:~/.pi/agent}/mcp.json", shape="direct"),
            _skills(),
            _plugin("{PI_CODING_AGENT_DIR:~/.pi/agent}/extensions/brain.js", "pi.js", "pi"),
        ),
        "https://pi.dev/docs: extensions.md, mcp.md, skills.md of the package",
    ),
    Agent(
        "openclaw",
        "OpenClaw",
        ("openclaw",),
        ("{OPENCLAW_STATE_DIR:~/.openclaw}",),
        (_mcp("{OPENCLAW_STATE_DIR:~/.openclaw}/openclaw.json", "mcp", "servers"), _skills()),
        "https://docs.openclaw.ai/cli/mcp, /tools/skills",
        "no recall: its hooks are packages that its own command installs",
    ),
    Agent(
        "copilot",
        "Copilot CLI",
        ("copilot",),
        ("{COPILOT_HOME:~/.copilot}",),
        (
            _mcp("{COPILOT_HOME:~/.copilot}/mcp-config.json", shape="local"),
            _skills(),
            Wiring(
                RECALL,
                "{COPILOT_HOME:~/.copilot}/hooks/brain.json",
                "file",
                (),
                "copilot",
                {
                    "events": {
                        "sessionStart": "session-start --form camel",
                        "userPromptSubmitted": "prompt --form camel",
                        "agentStop": "stop --source copilot",
                    }
                },
            ),
        ),
        "https://docs.github.com/en/copilot/reference/hooks-reference, "
        "/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers, …/create-skills",
        "no guard",
    ),
    Agent(
        "vscode",
        "Copilot in VS Code",
        ("code", "code-insiders", "codium"),
        ("{editors:globalStorage/github.copilot-chat}",),
        (_mcp("{editors:globalStorage/github.copilot-chat}/mcp.json", "servers", shape="stdio"), _skills()),
        "https://code.visualstudio.com/docs/copilot/customization/mcp-servers, /agent-skills",
        _NO_HOOKS,
    ),
    Agent(
        "amp",
        "Amp",
        ("amp",),
        ("{XDG_CONFIG_HOME:~/.config}/amp",),
        (
            _mcp("{XDG_CONFIG_HOME:~/.config}/amp/settings.jsonc|settings.json", "amp.mcpServers"),
            _skills("{XDG_CONFIG_HOME:~/.config}/agents/skills"),
        ),
        "https://ampcode.com/manual",
        _NO_HOOKS,
    ),
    Agent(
        "goose",
        "Goose",
        ("goose",),
        ("{XDG_CONFIG_HOME:~/.config}/goose",),
        (
            _mcp("{XDG_CONFIG_HOME:~/.config}/goose/config.yaml", "extensions", shape="goose", form="yaml"),
            _skills(),
            Wiring(RECALL, "~/.agents/plugins/brain/plugin.json", "file", (), "manifest"),
            _hook_file("~/.agents/plugins/brain/hooks/hooks.json", {"Stop": "stop --source goose"}),
        ),
        "https://goose-docs.ai/docs/guides/config-files, /docs/guides/context-engineering/using-skills, /hooks",
        # crates/goose/src/hooks/mod.rs: of what a hook prints, Goose reads a refusal and a banner for the user.
        "no recall, no guard: what a hook prints does not reach the model",
    ),
    Agent(
        "zed",
        "Zed",
        ("zed", "zeditor"),
        ("{XDG_CONFIG_HOME:~/.config}/zed",),
        (_mcp("{XDG_CONFIG_HOME:~/.config}/zed/settings.json", "context_servers"), _skills()),
        "https://zed.dev/docs/ai/mcp, /docs/ai/skills",
        _NO_HOOKS,
    ),
    Agent(
        "cline",
        "Cline",
        ("cline",),
        ("{editors:globalStorage/saoudrizwan.claude-dev}", "{CLINE_DIR:~/.cline}"),
        (
            _mcp(
                "{editors:globalStorage/saoudrizwan.claude-dev}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
            ),
            _mcp("{CLINE_DIR:~/.cline}/data/settings/cline_mcp_settings.json")._replace(
                needs="{CLINE_DIR:~/.cline}/data"
            ),
            _skills("{CLINE_DIR:~/.cline}/skills"),
        ),
        "https://docs.cline.bot/mcp/configuring-mcp-servers, /features/skills, /customization/hooks",
        # cline/cline issues 13554 and 13822. In 3.0.65 of the CLI, the files of hooks run aside, and a plugin was not
        # started within Cline's four seconds.
        "no recall: what a hook adds to a prompt is dropped (4.1); no guard: an event has one file, which is yours",
    ),
    Agent(
        "roo",
        "Roo Code",
        (),
        ("{editors:globalStorage/rooveterinaryinc.roo-cline}",),
        (
            _mcp(
                "{editors:globalStorage/rooveterinaryinc.roo-cline}/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
            ),
            _skills("~/.roo/skills"),
        ),
        "https://docs.roocode.com/features/mcp/using-mcp-in-roo, /features/skills",
        _NO_HOOKS,
    ),
    Agent(
        "kilo",
        "Kilo Code",
        ("kilo", "kilocode"),
        ("{XDG_CONFIG_HOME:~/.config}/kilo", "{editors:globalStorage/kilocode.kilo-code}"),
        (
            _mcp("{XDG_CONFIG_HOME:~/.config}/kilo/kilo.json|kilo.jsonc", "mcp", shape="array"),
            _skills(),
            _plugin("{XDG_CONFIG_HOME:~/.config}/kilo/plugins/brain.js", "opencode.js", "kilo"),
        ),
        "https://kilo.ai/docs/automate/mcp/using-in-kilo-code, /docs/customize/skills",
    ),
    Agent(
        "windsurf",
        "Windsurf",
        ("windsurf",),
        ("~/.codeium/windsurf",),
        (
            _mcp("~/.codeium/windsurf/mcp_config.json"),
            _skills("~/.codeium/windsurf/skills"),
        ),
        "https://docs.windsurf.com/windsurf/cascade/mcp, /windsurf/cascade/skills",
        _NO_HOOKS,
    ),
    Agent(
        "crush",
        "Crush",
        ("crush",),
        ("{XDG_CONFIG_HOME:~/.config}/crush",),
        (
            _mcp("{XDG_CONFIG_HOME:~/.config}/crush/crush.json", "mcp", shape="stdio"),
            _skills("{XDG_CONFIG_HOME:~/.config}/crush/skills"),
            _hooks("{XDG_CONFIG_HOME:~/.config}/crush/crush.json", {"PreToolUse": "guard --form context"}, flat=True),
        ),
        "https://github.com/charmbracelet/crush: README.md, docs/config/README.md, docs/hooks/README.md",
        "no recall: no hook adds to a prompt; crush.json is the older form, which Crush reads in addition to crushrc",
    ),
    Agent(
        "grok",
        "Grok CLI",
        ("grok",),
        ("{GROK_HOME:~/.grok}",),
        (
            _mcp("{GROK_HOME:~/.grok}/config.toml", "mcp_servers", form="toml"),
            _skills(),
            _hook_file(
                "{GROK_HOME:~/.grok}/hooks/brain.json",
                {"PreToolUse": "guard", "PostToolUseFailure": "guard", "Stop": "stop --source grok"},
            ),
        ),
        "https://docs.x.ai/build/features/hooks, /mcp-servers, /skills",
        "no recall: what a hook of a prompt or of a session's start prints is dropped",
    ),
    Agent(
        "droid",
        "Droid",
        ("droid",),
        ("~/.factory",),
        (
            _mcp("~/.factory/mcp.json", shape="stdio"),
            _skills("~/.factory/skills"),
            _hooks("~/.factory/settings.json", _DROID),
            _hooks("~/.factory/hooks.json", _DROID, bare=True)._replace(needs="~/.factory/hooks.json"),
        ),
        "https://docs.factory.ai/harness/hooks, /reference/hooks-reference, /cli/configuration/mcp, "
        "/cli/configuration/skills",
        "no guard",
    ),
    Agent(
        "continue",
        "Continue",
        ("cn",),
        ("{CONTINUE_GLOBAL_DIR:~/.continue}",),
        (
            # A new config.yaml would take the place of an old config.json.
            _mcp(_CONTINUE, "mcpServers", shape="named", form="yaml")._replace(needs=_CONTINUE),
            Wiring(GUIDANCE, "{CONTINUE_GLOBAL_DIR:~/.continue}/rules/brain.md", "file", (), "rule"),
        ),
        "https://docs.continue.dev/customize/deep-dives/mcp, /customize/deep-dives/rules",
        "no skills: a rule takes their place; no recall, no guard",
    ),
    Agent(
        "kimi",
        "Kimi CLI",
        ("kimi",),
        ("{KIMI_SHARE_DIR:~/.kimi}",),
        (
            _mcp("{KIMI_SHARE_DIR:~/.kimi}/mcp.json"),
            _skills(),
            _toml_hooks(
                "{KIMI_SHARE_DIR:~/.kimi}/config.toml",
                {
                    "SessionStart": "session-start --form text",
                    "UserPromptSubmit": "prompt --form text",
                    "PreToolUse": "guard --form text",
                    "Stop": "stop --source kimi",
                },
            ),
        ),
        "https://moonshotai.github.io/kimi-cli/en/customization/hooks, /customization/mcp, /customization/skills",
    ),
    Agent(
        "kimi-code",
        "Kimi Code",
        # Its program has the name of Kimi CLI's.
        (),
        ("{KIMI_CODE_HOME:~/.kimi-code}",),
        (
            _mcp("{KIMI_CODE_HOME:~/.kimi-code}/mcp.json"),
            _skills(),
            _toml_hooks(
                "{KIMI_CODE_HOME:~/.kimi-code}/config.toml",
                {"UserPromptSubmit": "prompt --form text", "Stop": "stop --source kimi"},
            ),
        ),
        "https://moonshotai.github.io/kimi-code/en/customization/hooks, /customization/mcp, /customization/skills",
        # Seen in 2.1.0: only what the hook of a prompt prints reaches the model.
        "no recall at the start of a session, no guard: only the hook of a prompt adds to the context",
    ),
    Agent(
        "hermes",
        "Hermes",
        ("hermes",),
        ("{HERMES_HOME:~/.hermes}",),
        (
            _mcp("{HERMES_HOME:~/.hermes}/config.yaml", "mcp_servers", form="yaml"),
            _skills("{HERMES_HOME:~/.hermes}/skills"),
            Wiring(
                RECALL,
                "{HERMES_HOME:~/.hermes}/config.yaml",
                "yaml",
                ("hooks", "pre_llm_call"),
                "yaml_hooks",
                {"events": {"pre_llm_call": "prompt --form context"}},
            ),
        ),
        "https://hermes-agent.nousresearch.com/docs/user-guide/features/mcp, /features/skills, /features/hooks",
        # Seen in the source of 0.19.0: the answer of pre_tool_call can block a call, and nothing else.
        "no recall at the start of a session; no guard: a hook before a call cannot add to the context",
        "start Hermes once in a terminal and allow the hook: it runs none before",
    ),
)
BY_NAME = {agent.name: agent for agent in AGENTS}
