"""``brain forget`` leaves no term of a session in the full text, however the session was indexed before."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import apsw
import pytest

from core import config
from core.home import Home
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.capture.tidying import tidy
from runtime.capture.transcripts import index_transcript
from runtime.forgetting import forget, unfinished
from tests.full_text import faults, terms
from tests.ingest.transcripts import Script, save, text

_WORDS = [f"w{number:04d}" for number in range(3000)]


def _session(folder: Path, number: int, turns: int) -> Path:
    """A transcript with words ``own<number>x<turn>`` that no other one has."""
    draw = random.Random(number)  # the same sessions every time
    script = Script(f"{number:08x}-0000-4000-8000-000000000000")
    records = [script.user(f"Where is own{number}x0 of the harvest?")]
    for turn in range(turns):
        said = " ".join(draw.choices(_WORDS, k=200))
        records += [
            script.assistant(text(f"It is own{number}x{turn} in {said}.")),
            script.user(f"And own{number}x{turn}?"),
        ]
    return save(folder / f"{number:08x}-0000-4000-8000-000000000000.jsonl", *records)


def _forget(home: Home, match: str) -> forget.Outcome:
    return forget.carry_out(home, forget.plan(home, config.load(home), Selection(), match))


def test_no_term_of_a_session_is_left_that_grew_while_hooks_indexed_it(
    home: Home, claude_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qmd.index.segments._STEP", 1)  # small as the index is, merging is cut short
    folder = claude_root / "projects" / "-home-me-api"
    settings = config.load(home)
    for number in range(30):
        _session(folder, number, 4)
    index(home, settings)
    grown = [_session(folder, number, 7) for number in range(30)]
    grown += [_session(folder, number, 4) for number in range(30, 60)]
    for path in grown[:15]:
        assert index_transcript(home, "claude", str(path), wait_s=10) == "indexed"
        steps = iter([False])
        tidy(home, lambda steps=steps: next(steps, True))  # type: ignore[misc]
    index(home, settings)
    for number in (7, 21):
        assert {f"own{number}x0", f"own{number}x6"} <= terms(home.index)
        assert _forget(home, f"own{number}x0").left == []
        assert not [term for term in terms(home.index) if term.startswith(f"own{number}x")]
        assert faults(home.index) == []
    assert {"own8x6", "own22x6", "own40x3"} <= terms(home.index)


def test_what_was_cut_short_does_not_keep_a_damaged_index_from_being_rebuilt(
    home: Home, claude_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _session(claude_root / "projects" / "-home-me-api", 1, 2)
    _session(claude_root / "projects" / "-home-me-api", 2, 2)
    settings = config.load(home)
    index(home, settings)

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(forget, "_erase", dies)
        with pytest.raises(KeyboardInterrupt):
            _forget(home, "own1x0")
    Path(home.index).write_bytes(b"no database at all" * 1000)
    index(home, settings, rebuild=True)
    assert not Path(home.state, unfinished.JOB).exists()
    assert "own2x1" in terms(home.index)
    assert not [term for term in terms(home.index) if term.startswith("own1x")]


def test_a_second_forget_makes_full_text_sound_that_was_damaged(home: Home, claude_root: Path) -> None:
    _session(claude_root / "projects" / "-home-me-api", 1, 2)
    index(home, config.load(home))
    connection = apsw.Connection(home.index)
    connection.execute("UPDATE documents_fts_data SET block = zeroblob(length(block)) WHERE id > 10")
    connection.close()
    assert faults(home.index)
    forget.sweep(home, "nothing has this")
    assert faults(home.index) == []
    assert "own1x1" in terms(home.index)
