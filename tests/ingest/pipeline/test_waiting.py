"""How many transcripts wait is counted over all of them, by stat, and without a trace."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core import config
from core.errors import BadInput
from core.home import Home
from ingest.pipeline import state as state_module
from ingest.pipeline.pulse import waiting
from ingest.pipeline.run import run
from tests.ingest.transcripts import Script, ingest, lines, save


@pytest.fixture
def project(home: Home, claude_root: Path) -> Path:
    """A project folder of two hundred sessions, ingested, and a memory folder, which holds no transcripts."""
    folder = claude_root / "projects/-p"
    for number in range(200):
        save(folder / f"{number}.jsonl", Script(f"session-{number}").user("x"))
        os.utime(folder / f"{number}.jsonl", (1_700_000_000 + number,) * 2)
    save(folder / "memory/x.jsonl", Script("memory").user("x"))
    run(home, "claude", trust_stat=True)
    return folder


def test_old_transcripts_that_grew_are_counted(home: Home, project: Path) -> None:
    assert waiting(home) == {"claude": 0}
    for number in range(100):  # the oldest, each grown and with its old mtime
        path = project / f"{number}.jsonl"
        with path.open("ab") as stream:
            stream.write(lines(Script(f"session-{number}", prefix="more").user("y")))
        os.utime(path, (1_700_000_000 + number,) * 2)
    assert waiting(home) == {"claude": 100}
    save(project / "deeper/new.jsonl", Script("new").user("x"))
    (project / "150.jsonl").unlink()  # vanished, which is nothing to read
    os.utime(project / "151.jsonl")
    assert waiting(home, "claude") == {"claude": 102}
    run(home, "claude", trust_stat=True)
    assert waiting(home) == {"claude": 0}


def test_before_the_first_run_all_wait_and_nothing_is_made(home: Home, claude_root: Path) -> None:
    save(claude_root / "projects/-p/a.jsonl", Script().user("x"))
    assert waiting(home) == {"claude": 1}
    assert set(os.listdir(home.state)) <= {"config.cache"}
    assert not Path(home.path("brain")).exists()


def test_looking_reads_no_file_and_writes_none(home: Home, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (project / "3.jsonl").open("ab") as stream:
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


def test_other_folders_than_the_sources_own_do_not_count(home: Home, project: Path, tmp_path: Path) -> None:
    path = save(tmp_path / "elsewhere/a.jsonl", Script("elsewhere").user("x"))
    ingest(home, tmp_path / "elsewhere")
    with path.open("ab") as stream:
        stream.write(b"{}\n")
    assert waiting(home) == {"claude": 0}


def test_an_unreadable_transcript_waits_only_when_it_changed(
    home: Home, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(project / "denied.jsonl", Script("denied").user("x"))
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


def test_after_a_change_of_the_parser_all_wait(home: Home, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "PARSER", 999)
    assert waiting(home) == {"claude": 200}


def test_an_unknown_source_is_refused(home: Home) -> None:
    with pytest.raises(BadInput, match="unknown source"):
        waiting(home, "abacus")
