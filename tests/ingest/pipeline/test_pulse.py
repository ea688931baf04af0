"""Has something new appeared? By stat alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from core import config
from core.config import load
from core.errors import BadInput
from core.home import Home
from ingest import registry
from ingest.pipeline import pulse
from ingest.pipeline import state as state_module
from ingest.pipeline.pulse import waiting
from ingest.pipeline.run import run
from ingest.roots import ROOTS
from tests.ingest.transcripts import OTHER, SESSION, Script, ingest, lines, save


@pytest.fixture
def project(home: Home, claude_root: Path) -> Path:
    """A project folder with one session, ingested."""
    folder = claude_root / "projects/-p"
    save(folder / f"{SESSION}.jsonl", Script().user("one"))
    _age(claude_root)
    run(home, "claude", trust_stat=True)
    return folder


def _age(root: Path) -> None:
    """Move everything a minute into the past: file systems' clocks are coarse."""
    past = time.time() - 60
    for path in sorted(root.rglob("*"), reverse=True):
        os.utime(path, (past, past))
    os.utime(root, (past, past))


def test_without_any_source_nothing_is_news(home: Home) -> None:
    assert pulse.news(home, None) == set()


def test_with_nothing_new_nothing_is_news(home: Home, project: Path) -> None:
    assert pulse.news(home, None) == set()


def test_a_grown_session_a_new_one_and_a_new_project_are_noticed(home: Home, project: Path) -> None:
    with (project / f"{SESSION}.jsonl").open("ab") as stream:
        stream.write(lines(Script().user("two")))
    assert len(pulse.news(home, None)) == 1
    save(project / f"{OTHER}.jsonl", Script(OTHER).user("x"))
    assert len(pulse.news(home, None)) == 2
    save(project.parent / "-new/x.jsonl", Script("s3").user("x"))
    assert len(pulse.news(home, None)) == 3
    run(home, "claude", trust_stat=True)
    assert len(pulse.news(home, None)) == 0


def test_a_one_off_folder_leaves_the_pulse_alone(home: Home, project: Path, tmp_path: Path) -> None:
    before = Path(home.state, "pulse/claude").read_bytes()
    save(tmp_path / "elsewhere/x.jsonl", Script(OTHER).user("x"))
    ingest(home, tmp_path / "elsewhere")
    assert Path(home.state, "pulse/claude").read_bytes() == before


def test_without_a_pulse_that_can_be_read_the_files_are_counted(home: Home, project: Path) -> None:
    path = Path(home.state, "pulse/claude")
    save(project / f"{OTHER}.jsonl", Script(OTHER).user("x"))
    for damage in (b"", b"torn", path.read_bytes()[:40]):
        path.write_bytes(damage)
        assert pulse.news(home, None) == {str(project / f"{OTHER}.jsonl")}


# Where each tool's transcript lies below the user's folder, as the tool names it.
TRANSCRIPTS = {
    "claude": ".claude/projects/-p/5f0c0000-0000-4000-8000-000000000001.jsonl",
    "codex": ".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-5f0c0000-0000-4000-8000-000000000001.jsonl",
    "pi": ".pi/agent/sessions/--p--/2026-01-02T03-04-05-000Z_5f0c0000.jsonl",
    "gemini": ".gemini/tmp/p/chats/session-2026-01-02T03-04-5f0c0000.json",
    "cursor": ".cursor/projects/p/agent-transcripts/5f0c0000/5f0c0000.jsonl",
    "opencode": ".local/share/opencode/opencode.db",
    "copilot": ".copilot/session-state/5f0c0000/events.jsonl",
    "amp": ".local/share/amp/threads/T-5f0c0000.json",
    "cline": ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1777367643001/ui_messages.json",
    "roo": ".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks/5f0c0000/ui_messages.json",
    "kilo": ".local/share/kilo/kilo.db",
    "qwen": ".qwen/projects/-p/chats/5f0c0000.jsonl",
    "goose": ".local/share/goose/sessions/sessions.db",
    "aider": ".aider.chat.history.md",
    "zed": ".local/share/zed/threads/threads.db",
    "droid": ".factory/sessions/-p/5f0c0000.jsonl",
    "grok": ".grok/sessions/%2Fp/5f0c0000/chat_history.jsonl",
    "antigravity": ".gemini/antigravity/brain/5f0c0000/.system_generated/logs/transcript.jsonl",
    "hermes": ".hermes/state.db",
    "crush": ".crush/crush.db",
    "continuedev": ".continue/sessions/5f0c0000.json",
    "kimi": ".kimi/sessions/5f0c/5f0c0000/context.jsonl",
    "omp": ".omp/agent/sessions/--p--/2026-01-02T03-04-05-000Z_5f0c0000.jsonl",
    "vscode": ".config/Code/User/workspaceStorage/5f0c/chatSessions/5f0c0000.json",
    "windsurf": ".windsurf/transcripts/5f0c0000.jsonl",
    "junie": ".junie/sessions/session-260101-100000-5f0c/events.jsonl",
    "jetbrains": ".config/JetBrains/PyCharm2026.2/aia-task-history/5f0c0000.events",
    "dsh": ".dsh/sessions/--p--/5f0c0000/session.v3.jsonl",
    "shell": ".zsh_history",
    "openclaw": ".openclaw/agents/main/sessions/5f0c0000.jsonl",
}


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with nothing in it, in which every tool keeps its files at its own place."""
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for variable in {variable for rows in ROOTS.values() for variable, _, _ in rows if variable}:
        monkeypatch.delenv(variable.rstrip(","), raising=False)
    return folder


def test_every_source_has_a_transcript_here() -> None:
    assert set(TRANSCRIPTS) == {"claude", *ROOTS}


@pytest.mark.parametrize("source", TRANSCRIPTS)
def test_a_tool_that_appears_after_the_last_run_is_news(home: Home, user: Path, source: str) -> None:
    run(home, "claude", trust_stat=True)
    assert pulse.news(home, None) == set()
    path = user / TRANSCRIPTS[source]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    assert pulse.news(home, None) == {str(path)}
    assert waiting(home)[source] == 1
    run(home, source, trust_stat=True)
    assert pulse.news(home, None) == set()


def test_a_place_that_a_configuration_or_a_variable_adds_is_news(
    home: Home, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved, added = tmp_path / "moved/sessions", tmp_path / "added"
    for folder, name in ((moved, SESSION), (added, OTHER)):
        save(folder / f"{name}.jsonl", Script(name).user("x"))
    monkeypatch.setenv("CODEX_HOME", str(moved.parent))
    Path(home.root, "collections.yml").write_text(
        f"collections: {{brain: {{path: brain}}}}\nsources: {{claude: {{roots: [{added}]}}}}\n"
    )
    news = pulse.news(home, load(home))
    assert news == {str(moved / f"{SESSION}.jsonl"), str(added / f"{OTHER}.jsonl")}


def test_a_session_read_by_name_is_no_news_at_a_place_that_no_run_has_read(home: Home, claude_root: Path) -> None:
    folder = claude_root / "projects/-p"
    for name in (SESSION, OTHER):
        save(folder / f"{name}.jsonl", Script(name).user("x"))
    ingest(home, folder / f"{SESSION}.jsonl")
    assert pulse.news(home, None) == {str(folder / f"{OTHER}.jsonl")}


def test_state_that_cannot_be_read_leaves_a_place_as_news(home: Home, project: Path) -> None:
    Path(home.state, "pulse/claude").unlink()
    Path(home.state, "sources.sqlite").write_bytes(b"no database" * 1000)
    assert pulse.news(home, None) == {str(project.parent)}


@pytest.mark.parametrize("day", ["2026/01/03", "2026/02/01", "2027/01/01"])
def test_the_first_session_of_a_day_is_news(home: Home, user: Path, day: str) -> None:
    sessions = user / ".codex/sessions"
    save(sessions / "2026/01/02/rollout-1.jsonl", Script(SESSION).user("x"))
    _age(sessions)
    run(home, "codex", trust_stat=True)
    assert pulse.news(home, None) == set()
    save(sessions / day / "rollout-2.jsonl", Script(OTHER).user("x"))
    assert pulse.news(home, None) == {str(sessions / day / "rollout-2.jsonl")}


@pytest.mark.parametrize("emptied", [True, False], ids=["its sessions were deleted", "it never had one"])
def test_the_first_session_of_an_empty_folder_is_news(home: Home, project: Path, emptied: bool) -> None:
    folder = project if emptied else project.parent / "-empty/deeper"
    folder.mkdir(parents=True, exist_ok=True)
    if emptied:
        (project / f"{SESSION}.jsonl").unlink()
    _age(project.parent)
    run(home, "claude", trust_stat=True)
    assert pulse.news(home, None) == set()
    save(folder / f"{OTHER}.jsonl", Script(OTHER).user("x"))
    assert pulse.news(home, None) == {str(folder / f"{OTHER}.jsonl")}


@pytest.mark.parametrize("copied", ["2026/01/02/rollout-2.jsonl", "2026/01/03/rollout-2.jsonl"])
def test_a_copy_that_keeps_its_old_mtime_is_news(home: Home, user: Path, copied: str) -> None:
    sessions = user / ".codex/sessions"
    save(sessions / "2026/01/02/rollout-1.jsonl", Script(SESSION).user("x"))
    _age(sessions)
    run(home, "codex", trust_stat=True)
    save(sessions / copied, Script(OTHER).user("x"))
    os.utime(sessions / copied, (1_600_000_000,) * 2)
    assert pulse.news(home, None) == {str(sessions / copied)}


def test_a_folder_moved_below_a_place_is_news(home: Home, user: Path) -> None:
    sessions = user / ".codex/sessions"
    save(user / "backup/01/02/rollout-2.jsonl", Script(OTHER).user("x"))
    save(sessions / "2026/01/02/rollout-1.jsonl", Script(SESSION).user("x"))
    _age(user)
    run(home, "codex", trust_stat=True)
    (user / "backup").rename(sessions / "2025")
    assert pulse.news(home, None) == {str(sessions / "2025/01/02/rollout-2.jsonl")}


def test_the_hot_path_imports_nothing_heavy(home: Home) -> None:
    registry.note_roots(home)
    code = (
        "import sys; before = set(sys.modules); from core.home import resolve; from ingest.pipeline.pulse import news;"
        "news(resolve(), None); print(*sorted(set(sys.modules) - before))"
    )
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {[root, *sys.path]!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {
        "re",
        "json",
        "argparse",
        "typing",
        "dataclasses",
        "pathlib",
        "enum",
        "datetime",
        "functools",
        "yaml",
        "rich",
    }
    assert not heavy.intersection(done.stdout.split())


def test_with_nothing_new_folders_are_looked_at_and_none_is_listed(
    home: Home, claude_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        save(claude_root / f"projects/-p{number}/s{number}.jsonl", Script(f"s{number}").user("x"))
    _age(claude_root)
    run(home, "claude", trust_stat=True)

    def refused(path: str) -> NoReturn:
        raise AssertionError(path)

    looked: list[str] = []
    mtime = pulse._mtime

    def counted(path: str) -> int:
        looked.append(path)
        return mtime(path)

    with monkeypatch.context() as patch:  # what looks at the home after a test lists folders
        patch.setattr(os, "scandir", refused)
        patch.setattr(os, "walk", refused)
        patch.setattr(pulse, "_mtime", counted)
        assert pulse.news(home, None) == set()
    assert len(looked) == 256


@pytest.fixture
def many(home: Home, claude_root: Path) -> Path:
    """A folder of eighty sessions, more than a pulse names, ingested, and a memory folder without transcripts."""
    folder = claude_root / "projects/-p"
    for number in range(80):
        save(folder / f"{number}.jsonl", Script(f"session-{number}").user("x"))
        os.utime(folder / f"{number}.jsonl", (1_700_000_000 + number,) * 2)
    save(folder / "memory/x.jsonl", Script("memory").user("x"))
    run(home, "claude", trust_stat=True)
    return folder


def test_old_transcripts_that_grew_are_counted(home: Home, many: Path) -> None:
    assert waiting(home) == {"claude": 0}
    for number in range(70):  # the oldest, each grown and with its old mtime
        path = many / f"{number}.jsonl"
        with path.open("ab") as stream:
            stream.write(lines(Script(f"session-{number}", prefix="more").user("y")))
        os.utime(path, (1_700_000_000 + number,) * 2)
    assert waiting(home) == {"claude": 70}
    save(many / "deeper/new.jsonl", Script("new").user("x"))
    (many / "72.jsonl").unlink()  # vanished, which is nothing to read
    os.utime(many / "73.jsonl")
    assert waiting(home, "claude") == {"claude": 72}
    run(home, "claude", trust_stat=True)
    assert waiting(home) == {"claude": 0}


def test_before_the_first_run_all_wait_and_nothing_is_made(home: Home, claude_root: Path) -> None:
    save(claude_root / "projects/-p/a.jsonl", Script().user("x"))
    assert waiting(home) == {"claude": 1}
    assert set(os.listdir(home.state)) <= {"config.cache"}
    assert not Path(home.path("brain")).exists()


def test_looking_reads_no_file_and_writes_none(home: Home, many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (many / "3.jsonl").open("ab") as stream:
        stream.write(b"{}\n")

    def everything() -> dict[str, tuple[int, bytes]]:
        files = [path for path in Path(home.root).rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    config.load(home)  # which keeps what it has read of collections.yml
    before = everything()

    def refusing(real: Callable[..., Any]) -> Callable[..., Any]:
        def opened(path: str | int, *rest: Any, **given: Any) -> Any:
            assert not str(path).endswith(".jsonl")
            return real(path, *rest, **given)

        return opened

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refusing(os.open))
        patched.setattr("builtins.open", refusing(open))
        assert waiting(home) == {"claude": 1}
    assert everything() == before


def test_other_folders_than_the_sources_own_do_not_count(home: Home, many: Path, tmp_path: Path) -> None:
    path = save(tmp_path / "elsewhere/a.jsonl", Script("elsewhere").user("x"))
    ingest(home, tmp_path / "elsewhere")
    with path.open("ab") as stream:
        stream.write(b"{}\n")
    assert waiting(home) == {"claude": 0}


def test_an_unreadable_transcript_waits_only_when_it_changed(
    home: Home, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(many / "denied.jsonl", Script("denied").user("x"))
    real = os.open

    def refusing(name: str, *rest: int) -> int:
        if str(name).endswith("denied.jsonl"):
            raise PermissionError(13, "Permission denied")
        return real(name, *rest)

    monkeypatch.setattr(os, "open", refusing)
    assert run(home, "claude", trust_stat=True).failed_reasons == {"unreadable": 1}
    assert waiting(home) == {"claude": 0}
    os.utime(path, (1, 1))
    assert waiting(home) == {"claude": 1}


def test_after_a_change_of_the_parser_all_wait(home: Home, many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "PARSER", 999)
    assert waiting(home) == {"claude": 80}


def test_an_unknown_source_is_refused(home: Home) -> None:
    with pytest.raises(BadInput, match="unknown source"):
        waiting(home, "abacus")
