"""Recall and tools as real agents take them, after ``brain install``, with a model on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from core.home import Home
from tests.cli.hooked import eventually
from tests.conftest import Brain
from tests.real_agents import MODEL, RealAgent

PROMPT = "which tank do we keep the kelp in"
FORBIDDEN = "make flood-all"
GUARDED = "From memory, as evidence to be checked: "
MEMORY = "blue tank because the red one leaks"

pytestmark = pytest.mark.long

Start = Callable[[str], RealAgent]


@pytest.fixture
def start(tmp_path: Path, home: Home, brain: Brain) -> Iterator[Start]:
    """Make an agent's world, with a memory of where the kelp is and a ``brain`` that installs into it."""
    made: list[RealAgent] = []

    def make(name: str) -> RealAgent:
        agent = RealAgent(tmp_path / "real", name)
        agent.environ |= {"BRAIN_HOME": home.root, "BRAIN_RECALL_S": "30"}
        made.append(agent)
        note = ("inbox", "--type", "decision", f"We keep the kelp in the {MEMORY}")
        assert brain(*note, env=agent.environ).returncode == 0
        assert brain("index", env=agent.environ).returncode == 0
        return agent

    yield make
    for agent in made:
        agent.api.close()


def by_prompt(home: Home) -> bool:
    """Return True if the hook of the prompt answered, not only that of the session's start."""
    rows = [json.loads(line) for line in Path(home.usage).read_text("utf-8").splitlines()]
    return any(row.get("hook") == "prompt" and row.get("n_hits") for row in rows)


def forbids(brain: Brain, agent: RealAgent) -> None:
    """Note a decision that quotes a command, in the agent's project."""
    note = ("inbox", "--type", "decision", f"Never run `{FORBIDDEN}`: it empties the tanks of the aquarium")
    assert brain(*note, env=agent.environ, cwd=str(agent.project)).returncode == 0
    assert brain("index", env=agent.environ).returncode == 0


def wire(brain: Brain, agent: RealAgent, name: str) -> None:
    done = brain("install", name, "--json", env=agent.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(done.stdout)["agents"][0]["wired"]
    assert {row["outcome"] for row in rows} == {"wired"}, rows


def for_opencode(agent: RealAgent) -> str:
    """Return OpenCode's settings with the model on loopback."""
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": agent.api.url, "apiKey": "any"}}
    return json.dumps({"provider": {"test": {**provider, "models": {MODEL: {}}}}, "model": f"test/{MODEL}"})


def for_pi(agent: RealAgent) -> tuple[str, ...]:
    """Write Pi's table of models, and return the options that choose the model on loopback."""
    model = {"id": MODEL, "name": MODEL}
    provider = {"baseUrl": agent.api.url, "api": "openai-completions", "apiKey": "any", "models": [model]}
    agent.write(".pi/agent/models.json", json.dumps({"providers": {"test": provider}}))
    return ("-p", "--provider", "test", "--model", MODEL)


def is_remembered(home: Home, words: str = PROMPT) -> bool:
    """Return True once the agent's own session is a document, which the hook of a turn's end has a child make."""
    return eventually(lambda: any(words in path.read_text("utf-8") for path in Path(home.path("brain")).glob("*.md")))


def test_codex_gives_its_model_the_memory_the_tools_and_the_skills(start: Start, brain: Brain, home: Home) -> None:
    agent = start("codex")
    provider = f'name = "test"\nbase_url = "{agent.api.url}"\nwire_api = "responses"\nenv_key = "TEST_KEY"\n'
    agent.write(".codex/config.toml", f'model = "{MODEL}"\nmodel_provider = "test"\n[model_providers.test]\n{provider}')
    wire(brain, agent, "codex")
    # A person trusts the hooks by /hooks; the option stands for that.
    trust = ("--dangerously-bypass-hook-trust",)
    done = agent.run("exec", "--skip-git-repo-check", *trust, PROMPT, TEST_KEY="any")
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert MEMORY in agent.given(), done.stderr
    assert by_prompt(home)
    assert is_remembered(home)
    assert "brain-ask" in agent.given()
    # Codex lists the tools of servers to the model only on its own models: ask Codex itself.
    assert json.loads(agent.run("mcp", "get", "brain", "--json").stdout)["enabled"] is True


def test_gemini_cli_gives_its_model_the_memory_the_tools_and_the_skills(start: Start, brain: Brain, home: Home) -> None:
    agent = start("gemini")
    agent.write(".gemini/settings.json", '{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    wire(brain, agent, "gemini")
    url = agent.api.url.removesuffix("/v1")
    more = {"GEMINI_API_KEY": "any", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    done = agent.run("-p", PROMPT, "-m", "gemini-2.5-flash", **more)
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert MEMORY in agent.given(), done.stderr
    assert by_prompt(home)
    assert is_remembered(home)
    assert "brain_ask" in agent.given()
    assert "brain-ask" in agent.given()


def test_qwen_code_gives_its_model_the_memory_the_tools_and_the_skills(start: Start, brain: Brain, home: Home) -> None:
    agent = start("qwen")
    agent.write(".qwen/settings.json", '{"security": {"auth": {"selectedType": "openai"}}}')
    wire(brain, agent, "qwen")
    done = agent.run("-p", PROMPT, OPENAI_API_KEY="any", OPENAI_BASE_URL=agent.api.url, OPENAI_MODEL=MODEL)
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert MEMORY in agent.given(), done.stderr
    assert by_prompt(home)
    assert is_remembered(home)
    assert "brain_ask" in agent.given()
    assert "brain-ask" in agent.given()


def test_opencode_gives_its_model_the_memory_the_tools_and_the_skills(start: Start, brain: Brain, home: Home) -> None:
    agent = start("opencode")
    agent.write(".config/opencode/opencode.json", for_opencode(agent))
    wire(brain, agent, "opencode")
    done = agent.run("run", PROMPT, OPENCODE_DISABLE_AUTOUPDATE="1", OPENCODE_DISABLE_MODELS_FETCH="1")
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert MEMORY in agent.given(), done.stderr
    assert by_prompt(home)
    assert is_remembered(home)
    assert "brain_ask" in agent.given()
    assert "brain-ask" in agent.given()


def test_pi_gives_its_model_the_memory_the_tools_and_the_skills(start: Start, brain: Brain, home: Home) -> None:
    agent = start("pi")
    options = for_pi(agent)
    wire(brain, agent, "pi")
    done = agent.run(*options, PROMPT)
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert MEMORY in agent.given(), done.stderr
    assert by_prompt(home)
    assert is_remembered(home)
    assert "brain_ask" in agent.given()
    assert "brain-ask" in agent.given()


def test_copilot_cli_gives_its_model_the_memory_the_tools_and_the_skills(
    start: Start, brain: Brain, home: Home
) -> None:
    agent = start("copilot")
    wire(brain, agent, "copilot")
    more = {"COPILOT_PROVIDER_BASE_URL": agent.api.url, "COPILOT_PROVIDER_TYPE": "openai", "COPILOT_MODEL": MODEL}
    done = agent.run("-p", PROMPT, "--allow-all-tools", COPILOT_PROVIDER_API_KEY="any", COPILOT_OFFLINE="true", **more)
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert MEMORY in agent.given(), done.stderr
    assert by_prompt(home)
    assert is_remembered(home)
    assert "brain_ask" in agent.given()
    assert "brain-ask" in agent.given()


def test_claude_code_gives_its_model_the_memory_the_tools_and_the_skills(
    start: Start, brain: Brain, home: Home
) -> None:
    agent = start("claude")
    agent.environ["CLAUDE_CONFIG_DIR"] = str(agent.write(".claude/settings.json", "{}").parent)
    wire(brain, agent, "claude")
    more = {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": agent.api.url.removesuffix("/v1")}
    done = agent.run("-p", PROMPT, DISABLE_AUTOUPDATER="1", MCP_CONNECTION_NONBLOCKING="0", **more)
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert MEMORY in agent.given(), done.stderr
    assert by_prompt(home)
    assert "brain_ask" in agent.given()
    assert "brain-inbox" in agent.given(), "brain-ask is for the folders of its scope"


def test_kimi_code_gives_its_model_the_memory_the_tools_and_the_skills(start: Start, brain: Brain, home: Home) -> None:
    agent = start("kimi")
    provider = f'type = "openai"\nbase_url = "{agent.api.url}"\napi_key = "any"\n'
    model = f'provider = "test"\nmodel = "{MODEL}"\nmax_context_size = 100000\n'
    agent.write(".kimi-code/config.toml", f'default_model = "test"\n[providers.test]\n{provider}[models.test]\n{model}')
    wire(brain, agent, "kimi-code")
    done = agent.run("-p", PROMPT)
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert MEMORY in agent.given(), done.stderr
    assert by_prompt(home)
    assert is_remembered(home)
    assert "brain_ask" in agent.given()
    assert "brain-ask" in agent.given()


def test_continue_gives_its_model_the_rule_and_the_tools(start: Start, brain: Brain) -> None:
    agent = start("cn")
    model = {"name": "test", "provider": "openai", "model": MODEL, "apiBase": agent.api.url, "apiKey": "any"}
    config = {"name": "test", "version": "0.0.1", "schema": "v1", "models": [{**model, "roles": ["chat"]}]}
    path = agent.write(".continue/config.yaml", f"# mine\n{yaml.safe_dump(config)}")
    wire(brain, agent, "continue")
    done = agent.run("-p", "--config", str(path), PROMPT)
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert "This machine keeps a memory of past sessions" in agent.given()
    assert "brain_ask" in agent.given()


def test_codex_tells_its_model_what_the_memory_holds_of_a_command(start: Start, brain: Brain) -> None:
    agent = start("codex")
    provider = f'name = "test"\nbase_url = "{agent.api.url}"\nwire_api = "responses"\nenv_key = "TEST_KEY"\n'
    agent.write(".codex/config.toml", f'model = "{MODEL}"\nmodel_provider = "test"\n[model_providers.test]\n{provider}')
    forbids(brain, agent)
    wire(brain, agent, "codex")
    agent.call = ("exec_command", {"cmd": FORBIDDEN})
    trust = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
    done = agent.run("exec", "--skip-git-repo-check", *trust, "please proceed", TEST_KEY="any")
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert GUARDED in agent.given(), done.stderr


def test_claude_code_tells_its_model_what_the_memory_holds_of_a_command(start: Start, brain: Brain) -> None:
    agent = start("claude")
    agent.environ["CLAUDE_CONFIG_DIR"] = str(agent.write(".claude/settings.json", "{}").parent)
    forbids(brain, agent)
    wire(brain, agent, "claude")
    agent.call = ("Bash", {"command": FORBIDDEN, "description": "x"})
    more = {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": agent.api.url.removesuffix("/v1")}
    done = agent.run("-p", "please proceed", "--allowedTools", "Bash", DISABLE_AUTOUPDATER="1", **more)
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert GUARDED in agent.given(), done.stderr


def test_hermes_gives_its_model_the_memory_the_tools_and_the_skills(start: Start, brain: Brain, home: Home) -> None:
    agent = start("hermes")
    model = {"default": MODEL, "provider": "custom", "base_url": agent.api.url, "api_key": "any"}
    agent.write(".hermes/config.yaml", f"# mine\n{yaml.safe_dump({'model': model})}")
    wire(brain, agent, "hermes")
    # A person allows the hook at the terminal; the option stands for that.
    done = agent.run("chat", "-q", PROMPT, "--accept-hooks")
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert MEMORY in agent.given(), done.stderr
    assert by_prompt(home)
    assert "brain_ask" in agent.given()
    assert "brain-ask" in agent.given()


def test_opencode_tells_its_model_what_the_memory_holds_of_a_command(start: Start, brain: Brain) -> None:
    agent = start("opencode")
    agent.write(".config/opencode/opencode.json", for_opencode(agent))
    forbids(brain, agent)
    wire(brain, agent, "opencode")
    agent.call = ("bash", {"command": FORBIDDEN, "description": "x"})
    offline = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    done = agent.run("run", "please proceed", **offline)
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert GUARDED in agent.given(), done.stderr


def test_pi_tells_its_model_what_the_memory_holds_of_a_command(start: Start, brain: Brain) -> None:
    agent = start("pi")
    options = for_pi(agent)
    forbids(brain, agent)
    wire(brain, agent, "pi")
    agent.call = ("bash", {"command": FORBIDDEN})
    done = agent.run(*options, "please proceed")
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert GUARDED in agent.given(), done.stderr


def test_grok_tells_its_model_what_the_memory_holds_of_a_command(start: Start, brain: Brain, home: Home) -> None:
    agent = start("grok")
    agent.call = ("run_terminal_command", {"command": FORBIDDEN, "description": "flood"})
    agent.write(
        ".grok/config.toml",
        f'[cli]\nauto_update = false\n[models]\ndefault = "test"\n[model.test]\nmodel = "{MODEL}"\n'
        f'base_url = "{agent.api.url}"\napi_key = "any"\n[features]\ntelemetry = false\n',
    )
    forbids(brain, agent)
    wire(brain, agent, "grok")
    done = agent.run("-p", PROMPT, "-m", "test", "--always-approve", XAI_API_KEY="any")
    assert "hello there" in done.stdout, done.stdout + done.stderr
    assert GUARDED in agent.given(), done.stderr
    assert "brain-ask" in agent.given()
    assert "brain" in agent.run("mcp", "list", "--json").stdout
    assert is_remembered(home)
