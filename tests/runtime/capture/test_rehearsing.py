"""What `brain index` would do is told of the sources that it would choose."""

from __future__ import annotations

from pathlib import Path

from core.config import load
from core.home import Home
from runtime.capture.indexing import index
from runtime.capture.rehearsing import dry_run
from tests.ingest.sources.test_git import Repository
from tests.ingest.transcripts import Script, save, text


def test_commits_are_looked_for_where_sessions_worked(home: Home, tmp_path: Path, claude_root: Path) -> None:
    repository = Repository(tmp_path / "shop")
    repository.commit("Begin")
    script = Script(cwd=str(repository.root))
    save(claude_root / "projects/-shop/a.jsonl", script.user("Why?"), script.assistant(text("So.")))
    index(home, load(home))
    said = dry_run(home, source="git")["sources"]["git"]
    assert (said["seen"], said["would"]["new"], said["would"]["files"]) == (1, 1, [str(repository.root)])
    assert index(home, load(home), source="git")["sources"]["git"]["written"] == 1
    assert dry_run(home, source="git")["sources"]["git"]["would"]["unchanged"] == 1
