"""JetBrains AI Assistant: ``JetBrains/<product>/workspace/<id>.xml`` and ``aia-task-history/<id>.events``.

Formats: ``ingest.sources.jetbrains.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile

_WORKSPACE, _TASK = ".xml", ".events"
# Agents in the registry of the Agent Client Protocol → the source that reads their own sessions.
_READ = {
    "junie": "junie",
    "claude-acp": "claude",
    "codex-acp": "codex",
    "github-copilot": "copilot",
    "cline": "cline",
    "kilo": "kilo",
    "opencode": "opencode",
    "gemini": "gemini",
    "goose": "goose",
    "qwen-code": "qwen",
}


class JetBrains(Source):
    """Chats of JetBrains AI Assistant, and tasks of agents whose own sessions no source reads."""

    name = "jetbrains"
    prefix = "jetbrains__"
    suffixes = (_WORKSPACE, _TASK)
    roots = ROOTS["jetbrains"]
    resume = RESUME["jetbrains"]

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return workspaces and tasks; a task of an agent that keeps its own sessions names the source of these."""
        files = super().discover(roots)
        for file in files:
            if file.path.endswith(_TASK) and (owner := _owner(file.path)):
                file.skip = file.skip or f"a session of an agent's own: --source {owner} reads it"
        return files

    def is_restless(self, path: str) -> bool:
        """Return True for a workspace: the editor writes it whenever a window is moved."""
        return path.endswith(_WORKSPACE)

    def pieces(self, path: str, data: bytes) -> Iterable[tuple[str, bytes]] | None:
        """Return (unit, bytes) of each chat of a workspace as the archive has it."""
        if not path.endswith(_WORKSPACE):
            return None
        from ingest.sources.jetbrains.parser import unit_of

        return [(unit_of(line), line) for line in data.splitlines(keepends=True)]

    def dropped(self, path: str, held: bytes, before: bytes, now: bytes, read: bytes) -> bytes:
        """Return the chats that a workspace has lost, each as it was last."""
        del read
        lost = dict(self.pieces(path, held) or ()) | dict(self.pieces(path, before) or ())
        there = {unit for unit, _ in self.pieces(path, now) or ()}
        return b"".join(line for unit, line in lost.items() if unit and unit not in there) if lost else held

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.jetbrains.parser import read_task, read_workspace

        yield (read_task if path.endswith(_TASK) else read_workspace)(path, raw)


def _owner(path: str) -> str:
    """Return the source that reads the session of a task's agent, "" if none does.

    ``<task>.agentsession`` has one line, ``acp.registry.<agent>:<its own session's id>``.
    """
    from core.files import open_regular

    try:
        with open_regular(path.removesuffix(_TASK) + ".agentsession") as stream:
            line = stream.read(4096).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    agent, found, _ = line.partition(":")
    return _READ.get(agent.removeprefix("acp.registry."), "") if found else ""


SOURCE = JetBrains()
