"""What each source's samples say is there again, byte for byte, when nothing but the archive is left."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.home import Home
from ingest.archive import archive
from ingest.pipeline.run import run
from tests.ingest.history import configure, days
from tests.ingest.transcripts import corpus, from_the_archive_alone

_STAGE = "other-synthetic/jazzyalex+agent-sessions/Resources/Fixtures/stage0/agents"
# Where the samples of each source lie.
SAMPLES = {
    "claude": ("claude", "claude-fragments", "claude-growing-chains", "claude-synthetic"),
    "codex": ("codex", "codex-synthetic"),
    "copilot": (f"{_STAGE}/copilot",),
    "cursor": ("cursor-synthetic",),
    "gemini": ("gemini", "gemini-synthetic"),
    "openclaw": (f"{_STAGE}/openclaw",),
    "opencode": ("opencode", f"{_STAGE}/opencode"),
    "pi": ("pi", f"{_STAGE}/pi"),
}


@pytest.mark.parametrize(
    "source", [pytest.param(name, marks=pytest.mark.long if name == "claude" else ()) for name in sorted(SAMPLES)]
)
def test_the_samples_of_a_source_come_back_from_the_archive_alone(
    home: Home, shared: Path, tmp_path: Path, source: str
) -> None:
    originals = tmp_path / "originals"
    for place in SAMPLES[source]:
        shutil.copytree(shared / "samples" / place, originals / place)
    run(home, source, [str(originals)], trust_stat=False)
    before = corpus(home)
    assert before
    assert archive.read(home, source)
    assert from_the_archive_alone(home, source, originals) == before


def test_the_sampled_browsers_days_come_back_from_the_archive_alone(home: Home, shared: Path, tmp_path: Path) -> None:
    configure(home, "{mode: all}")
    originals = tmp_path / "originals"
    shutil.copytree(shared / "samples" / "chrome", originals)
    run(home, "chrome", [str(originals)], trust_stat=False)
    before = days(home)
    assert len(before) > 5
    for gone in (originals, home.path("chrome-history"), home.state):
        shutil.rmtree(gone)
    home.make()
    assert run(home, "chrome", trust_stat=False, from_archive=True).written == len(before)
    assert days(home) == before
