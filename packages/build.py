"""Build the packages for agents' stores below a folder: ``python packages/build.py [FOLDER]``."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent
# Times of members: the same checkout gives the same bytes.
_THEN = (2026, 1, 1, 0, 0, 0)


def build(target: Path) -> list[Path]:
    """Write every package below ``target``, in place of those that are there; returns their paths."""
    version = _version()
    codex, gemini, bundle = target / "codex", target / "gemini", target / "brain.mcpb"
    for folder in (codex, gemini):
        shutil.rmtree(folder, ignore_errors=True)
    _fill(_HERE / "codex" / "marketplace.json", codex / ".agents" / "plugins" / "marketplace.json", version)
    plugin = codex / "plugins" / "brain"
    _fill(_HERE / "codex" / "plugin.json", plugin / ".codex-plugin" / "plugin.json", version)
    _fill(_HERE / "codex" / "mcp.json", plugin / ".mcp.json", version)
    _with_program_and_skills(plugin)
    for name in ("gemini-extension.json", "GEMINI.md"):
        _fill(_HERE / "gemini" / name, gemini / name, version)
    _with_program_and_skills(gemini)
    _bundle(bundle, version)
    formula = target / "homebrew" / "brain-memory.rb"
    _fill(_HERE / "homebrew" / "brain-memory.rb", formula, version, _sdist(target))
    return [codex, gemini, bundle, formula]


def _version() -> str:
    sys.path.insert(0, str(_ROOT))
    from core.version import VERSION

    return VERSION


def _fill(source: Path, target: Path, version: str, digest: str = "") -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(_filled(source, version, digest), encoding="utf-8")


def _filled(source: Path, version: str, digest: str = "") -> str:
    return source.read_text(encoding="utf-8").replace("@VERSION@", version).replace("@SHA256@", digest)


def _with_program_and_skills(folder: Path) -> None:
    (folder / "bin").mkdir(parents=True)
    shutil.copy(_ROOT / "bin" / "plugin-brain", folder / "bin" / "plugin-brain")
    shutil.copy(_ROOT / "LICENSE", folder / "LICENSE")
    shutil.copytree(_ROOT / "skills", folder / "skills", ignore=shutil.ignore_patterns("README.md"))


def _bundle(path: Path, version: str) -> None:
    """Write the MCP bundle, a ZIP with ``manifest.json`` at its top."""
    members = {
        "manifest.json": (_filled(_HERE / "mcpb" / "manifest.json", version).encode(), 0o644),
        "bin/plugin-brain": ((_ROOT / "bin" / "plugin-brain").read_bytes(), 0o755),
        "LICENSE": ((_ROOT / "LICENSE").read_bytes(), 0o644),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, (data, mode) in members.items():
            member = zipfile.ZipInfo(name, _THEN)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100000 | mode) << 16
            packed.writestr(member, data)


def _sdist(target: Path) -> str:
    """Return the SHA-256 of the source distribution, which is left in ``target``. Raises CalledProcessError."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(target)]
    subprocess.run(command, cwd=_ROOT, check=True, capture_output=True)
    (built,) = target.glob(f"brain_memory-{_version()}.tar.gz")
    return hashlib.sha256(built.read_bytes()).hexdigest()


if __name__ == "__main__":
    for made in build(Path(sys.argv[1]) if len(sys.argv) > 1 else _ROOT / "build" / "packages"):
        sys.stdout.write(f"{made}\n")
