"""The packages for agents' stores: what is in them, and that the server which they name starts."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from core.version import VERSION

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them, as `make packages` builds them."""
    folder = tmp_path_factory.mktemp("packages")
    built = runpy.run_path(str(ROOT / "packages" / "build.py"))["build"](folder)
    assert all(path.exists() for path in built)
    return folder


@pytest.fixture
def bundle(packages: Path, tmp_path: Path) -> Path:
    """The MCP bundle as a client unpacks it."""
    with zipfile.ZipFile(packages / "brain.mcpb") as packed:
        for member in packed.infolist():
            packed.extract(member, tmp_path / "bundle")
            (tmp_path / "bundle" / member.filename).chmod(member.external_attr >> 16 & 0o777)
    return tmp_path / "bundle"


def read(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def tools(command: list[str], cwd: Path, home: Home, user: Path) -> set[str]:
    """The names of the tools of a server, in a home folder with `brain` in ~/.local/bin and nothing on the PATH."""
    program = user / ".local" / "bin" / "brain"
    program.parent.mkdir(parents=True)
    program.symlink_to(Path(sys.executable).with_name("brain"))
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(user), "BRAIN_HOME": home.root}
    with subprocess.Popen(command, cwd=cwd, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(json.dumps(each) + "\n" for each in asked).encode())
        server.stdin.flush()
        for line in server.stdout:
            said = json.loads(line)
            if said.get("id") == 2:
                server.stdin.close()
                return {tool["name"] for tool in said["result"]["tools"]}
    raise AssertionError("the server ended without a list of tools")


def test_every_package_has_this_version_and_no_name_to_fill_in(packages: Path, bundle: Path) -> None:
    assert read(packages / "codex/plugins/brain/.codex-plugin/plugin.json")["version"] == VERSION
    assert read(packages / "gemini/gemini-extension.json")["version"] == VERSION
    assert read(bundle / "manifest.json")["version"] == VERSION
    for path in packages.rglob("*"):
        if path.is_file() and path.suffix in (".json", ".md", ".rb"):
            assert not re.search(r"@[A-Z0-9]+@", path.read_text(encoding="utf-8")), path


def test_the_marketplace_of_codex_names_the_plugin_in_it(packages: Path) -> None:
    (only,) = read(packages / "codex/.agents/plugins/marketplace.json")["plugins"]
    plugin = packages / "codex" / only["source"]["path"]
    manifest = read(plugin / ".codex-plugin/plugin.json")
    assert manifest["name"] == only["name"]
    assert (plugin / manifest["mcpServers"]).is_file()
    assert (plugin / manifest["skills"] / "brain-ask" / "SKILL.md").is_file()


def test_the_server_of_codex_s_plugin_starts(packages: Path, home: Home, tmp_path: Path) -> None:
    plugin = packages / "codex/plugins/brain"
    server = read(plugin / ".mcp.json")["mcpServers"]["brain"]
    assert "search_sessions" in tools([server["command"], *server["args"]], plugin / server["cwd"], home, tmp_path)


def test_the_server_of_gemini_s_extension_starts(packages: Path, home: Home, tmp_path: Path) -> None:
    extension = packages / "gemini"
    manifest = read(extension / "gemini-extension.json")
    server = manifest["mcpServers"]["brain"]
    command = server["command"].replace("${extensionPath}", str(extension))
    assert "search_sessions" in tools([command, *server["args"]], tmp_path, home, tmp_path)
    assert (extension / manifest["contextFileName"]).is_file()


def test_the_server_of_the_bundle_starts(bundle: Path, home: Home, tmp_path: Path) -> None:
    server = read(bundle / "manifest.json")["server"]
    assert (bundle / server["entry_point"]).is_file()
    command = server["mcp_config"]["command"].replace("${__dirname}", str(bundle))
    assert "search_sessions" in tools([command, *server["mcp_config"]["args"]], tmp_path, home, tmp_path)


def test_the_formula_is_ruby_and_names_the_source_of_this_version(packages: Path) -> None:
    formula = packages / "homebrew" / "brain-memory.rb"
    assert f"brain_memory-{VERSION}.tar.gz" in formula.read_text(encoding="utf-8")
    ruby = shutil.which("ruby")
    if ruby is None:
        pytest.skip("no Ruby is installed")
    assert subprocess.run([ruby, "-c", formula], capture_output=True, check=False).returncode == 0


def test_an_agents_instructions_name_commands_that_exist() -> None:
    from brain import COMMANDS

    named = set(re.findall(r"`brain ([a-z]+)", (ROOT / "llms-install.md").read_text(encoding="utf-8")))
    assert named >= {"init", "doctor", "ask", "teardown"}
    assert named <= set(COMMANDS)


@pytest.mark.long
def test_codex_takes_the_plugin(packages: Path, tmp_path: Path) -> None:
    codex = shutil.which("codex")
    if codex is None:
        pytest.skip("Codex is not installed")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    def run(*words: str) -> str:
        done = subprocess.run([codex, *words], env=environ, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("plugin", "marketplace", "add", str(packages / "codex"))
    run("plugin", "add", "brain@brain")
    assert "plugin-brain" in run("mcp", "list")


@pytest.mark.long
def test_gemini_cli_takes_the_extension(packages: Path, tmp_path: Path) -> None:
    gemini = shutil.which("gemini")
    if gemini is None:
        pytest.skip("Gemini CLI is not installed")
    words = [gemini, "extensions", "validate", str(packages / "gemini")]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert "successfully validated" in done.stdout + done.stderr
