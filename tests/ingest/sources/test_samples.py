"""Real transcripts, from the folder next to the checkout: every file accounted for, the same bytes in any order."""

from __future__ import annotations

import random
import re
import shutil
import time
from pathlib import Path

import pytest

from core.document import split
from core.home import Home
from ingest.pipeline.ledger import Ledger
from ingest.sources.claude import source as claude
from tests.ingest.transcripts import corpus, documents, ingest

FOLDERS = ("claude", "claude-growing-chains", "claude-fragments", "claude-synthetic")


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> dict[str, tuple[Home, Ledger]]:
    """A home for each folder of samples, which is indexed, with the ledger of that run; nobody writes to them."""
    made: dict[str, tuple[Home, Ledger]] = {}
    for folder in FOLDERS:
        home = Home(str(tmp_path_factory.mktemp(folder)))
        home.make()
        made[folder] = (home, ingest(home, shared / "samples" / folder))
    return made


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_is_accounted_for_and_then_unchanged(
    sampled: dict[str, tuple[Home, Ledger]], shared: Path, folder: str
) -> None:
    place = shared / "samples" / folder
    files = [path for path in place.rglob("*.jsonl") if path.is_file()]
    home, first = sampled[folder]
    assert first.seen == len(files)
    assert first.ingested + sum(first.skipped.values()) + first.failed_files == len(files)
    assert first.failed_files == 0
    second = ingest(home, place)
    assert (second.ingested, second.written, second.unchanged) == (0, 0, first.ingested)
    assert second.skipped == first.skipped
    assert second.unknown == first.unknown


def test_nothing_in_the_real_transcripts_is_unknown(sampled: dict[str, tuple[Home, Ledger]]) -> None:
    assert sampled["claude"][1].unknown == {}


def test_every_document_is_well_formed_and_free_of_the_machine_it_was_made_on(
    sampled: dict[str, tuple[Home, Ledger]], shared: Path
) -> None:
    made = corpus(sampled["claude"][0])
    assert len(made) > 60
    for name, data in made.items():
        meta, body = split(data.decode())
        assert meta["session_id"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["date"])
        assert meta["date"] <= meta["ended"]
        assert len(meta["title"]) <= 120
        assert body.startswith("# ")
        assert [int(n) for n in re.findall(r"(?m)^## \[(\d+)\] ", body)] == list(range(1, meta["turns"] + 1))
        assert str(shared).encode() not in data
        assert not re.search(rb"[\x00-\x08\x0b-\x1f]", data)
        for mark in ("<local-command-stdout>", "<command-name>/", "<system-reminder>\n"):
            assert f"\n{mark}" not in body, name


@pytest.mark.parametrize("folder", ["claude-fragments", pytest.param("claude", marks=pytest.mark.long)])
def test_any_order_of_files_and_runs_gives_the_same_bytes(
    sampled: dict[str, tuple[Home, Ledger]], shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    place = shared / "samples" / folder
    shuffled = Home(str(tmp_path / "shuffled"))
    shuffled.make()
    files = [path for path in place.rglob("*.jsonl") if path.is_file()]
    random.Random(7).shuffle(files)
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    for start in range(0, len(files), 32):
        layout = tmp_path / f"layout-{start}"
        layout.mkdir()
        for number, path in enumerate(files[start : start + 32]):
            deep = layout / str(number)
            deep.mkdir()
            shutil.copyfile(path, deep / path.name)
        ingest(shuffled, layout)
    monkeypatch.undo()
    time.tzset()
    assert corpus(shuffled) == corpus(sampled[folder][0])


def test_a_growing_session_ends_as_its_longest_copy_alone(
    sampled: dict[str, tuple[Home, Ledger]], shared: Path, tmp_path: Path
) -> None:
    place = shared / "samples/claude-growing-chains"
    together = corpus(sampled["claude-growing-chains"][0])
    longest = Home(str(tmp_path / "longest"))
    grown = Home(str(tmp_path / "grown"))
    longest.make()
    grown.make()
    for chain in sorted(path for path in place.iterdir() if path.is_dir()):
        copies = sorted(chain.glob("*.jsonl"))
        (tmp_path / "one" / chain.name).mkdir(parents=True)
        shutil.copyfile(max(copies, key=lambda path: path.stat().st_size), tmp_path / "one" / chain.name / "x.jsonl")
        for copy in copies:
            shutil.copyfile(copy, tmp_path / "grow.jsonl")
            ingest(grown, tmp_path / "grow.jsonl", trust_stat=True)
    ingest(longest, tmp_path / "one")
    assert corpus(longest) == together
    assert corpus(grown) == together


def test_each_file_alone_parses_into_documents_and_failures(shared: Path) -> None:
    for folder in FOLDERS[2:]:
        for path in (shared / "samples" / folder).rglob("*.jsonl"):
            assert list(documents(claude.SOURCE, str(path)))
