"""The promises of every source, by its public contract alone.

A new source of Brain's own needs one row in ``samples.jsonl``; a plugin gives its row by ``--samples FILE``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core import config
from core.document import split
from core.home import Home
from ingest import registry
from ingest.collector import Collector
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.raw.store import DISK
from ingest.session.session import Part
from runtime.asking import envelope
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.forgetting import forget
from tests.ingest.sources.conformance.samples import ANIMALS, Row, Sample
from tests.ingest.transcripts import documents
from tests.unpacked import everything


def ingest(home: Home, sample: Sample, *, trust_stat: bool = False, from_archive: bool = False) -> Ledger:
    roots = None if from_archive else [str(sample.root)]
    return run(home, sample.source.name, roots, trust_stat=trust_stat, from_archive=from_archive)


def about(documents: dict[str, bytes], animal: str) -> dict[str, bytes]:
    """Return the documents that speak of an animal."""
    return {name: data for name, data in documents.items() if animal.encode() in data}


def configure(home: Home, sample: Sample, text: str) -> None:
    collections = f"collections: {{{sample.source.collection}: {{path: {sample.source.collection}}}}}"
    Path(home.path("collections.yml")).write_text(f"{collections}\n{text}\n", encoding="utf-8")


def other_home(home: Home, name: str) -> Home:
    made = Home(f"{home.root}-{name}")
    made.make()
    return made


def test_a_source_has_a_row_of_samples_and_a_row_has_a_source(name: str, sample_rows: dict[str, Row]) -> None:
    if name not in sample_rows:
        how = "add one to samples.jsonl" if name in registry.BUILTIN else "give one by --samples FILE"
        pytest.fail(f"the source {name!r} has no row of samples: {how} (docs/adding-a-source.md)", pytrace=False)
    if registry.find(name) is None:
        how = f"install the package that adds it into {sys.prefix}"
        pytest.fail(f"the row of {name!r} has no source: {how} (docs/adding-a-source.md)", pytrace=False)


def test_discovery_finds_the_files_where_the_tool_keeps_them_and_nothing_else(home: Home, sample: Sample) -> None:
    sample.write()
    for name in ("README.txt", "notes.rst", "picture.png", ".DS_Store"):
        (sample.root / name).write_bytes(b"The walrus has no part in it.")
    roots = sample.source.default_roots(home)
    if not sample.row["place"]:
        assert roots == []
        configure(home, sample, f"sources: {{{sample.source.name}: {{roots: ['{sample.root}']}}}}")
        roots = sample.source.default_roots(home)
    found = [file.path for file in sample.source.discover(roots) if not file.skip]
    assert found == sorted(map(str, sample.paths))


def test_a_part_has_its_folder_when_its_reading_is_yielded(home: Home, sample: Sample) -> None:
    """Whether it is excluded is judged then, and once: a folder that is learned late would be judged too late."""
    if isinstance(sample.source, Collector):
        pytest.skip("it makes no sessions")
    sample.write()
    for path in sample.paths:
        judged: dict[str, tuple[Part, str]] = {}
        for reading in sample.source.parse(str(path), DISK):
            for unit, part in reading.parts.items():
                judged.setdefault(unit, (part, part.cwd))
        assert judged
        assert all(part.cwd == folder for part, folder in judged.values())


def test_a_file_makes_a_document_that_names_its_source_and_has_a_date(home: Home, sample: Sample) -> None:
    sample.write()
    ledger = ingest(home, sample)
    made = sample.documents(home)
    dated = re.findall(r"\d{4}-\d\d-\d@n@", json.dumps({**sample.row, "path": ""}))
    assert (ledger.failed_files, ledger.failed_records, ledger.unknown, ledger.dropped) == (0, 0, {}, {})
    assert ledger.documents == len(made) == 2
    for animal, path in zip(ANIMALS, sample.paths, strict=True):
        ((name, data),) = about(made, animal).items()
        meta, body = split(data.decode())
        assert name.startswith(sample.source.prefix)
        assert meta["source"] == sample.source.name
        assert meta["session_id"]
        if dated:
            day = dated[0].replace("@n@", str(ANIMALS.index(animal) + 1))
            assert str(meta["date"]).startswith(day), f"the row has the date {day}, the document {meta['date']}"
        assert body.startswith("# ")
        assert str(path) not in data.decode() or "project" in meta


def test_a_document_says_how_its_session_is_resumed(home: Home, sample: Sample) -> None:
    sample.write()
    ingest(home, sample)
    registry.note_roots(home)
    made = sample.documents(home)
    for animal, command in zip(ANIMALS, sample.resume, strict=True):
        (data,) = about(made, animal).values()
        assert envelope.resume(split(data.decode())[0], home) == command


def test_a_second_run_reads_nothing(home: Home, sample: Sample) -> None:
    sample.write()
    first = ingest(home, sample)
    for trust_stat in (True, False):
        again = ingest(home, sample, trust_stat=trust_stat)
        assert (again.ingested, again.written, again.unchanged) == (0, 0, first.ingested)


def test_a_file_that_has_grown_is_read_again_and_no_other(home: Home, sample: Sample) -> None:
    sample.write()
    ingest(home, sample)
    before = sample.documents(home)
    sample.write(0, grown=True)
    landed: list[str] = []
    again = run(
        home, sample.source.name, [str(sample.root)], trust_stat=True, on_written=lambda *each: landed.append(each[1])
    )
    assert (again.ingested, again.unchanged) == (1, 1)
    after = sample.documents(home)
    assert sorted(landed) == sorted(name for name, data in after.items() if before.get(name) != data)
    assert about(after, "penguin") == about(before, "penguin")
    assert b"later" in b"".join(about(after, "walrus").values())


def test_a_session_that_has_grown_in_a_shared_database_rewrites_no_other(home: Home, sample: Sample) -> None:
    if "tables" not in sample.row:
        pytest.skip("a file has one session")
    sample.write_together()
    ingest(home, sample)
    before = sample.documents(home)
    assert [len(about(before, animal)) for animal in ANIMALS] == [1, 1]
    sample.write_together(grown=True)
    landed: list[str] = []
    run(home, sample.source.name, [str(sample.root)], trust_stat=True, on_written=lambda *each: landed.append(each[1]))
    assert landed == list(about(before, "walrus"))
    assert b"later" in sample.documents(home)[landed[0]]


def test_the_order_in_which_files_come_does_not_show_in_the_documents(
    home: Home, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample.write()
    ingest(home, sample)
    other = other_home(home, "other")
    for path in sample.paths:
        path.rename(f"{path}.later")
    for path in reversed(sample.paths):
        Path(f"{path}.later").rename(path)
        with monkeypatch.context() as patch:
            patch.setattr(os, "scandir", _reversed(os.scandir))
            ingest(other, sample)
    assert sample.documents(other) == sample.documents(home)


def _reversed(scandir: Callable[[Any], Any]) -> Callable[[Any], Any]:
    class Entries:
        def __init__(self, path: Any = ".") -> None:
            with scandir(path) as found:
                self._held = iter(list(found)[::-1])

        def __iter__(self) -> Iterator[os.DirEntry[str]]:
            return self._held

        def __enter__(self) -> Iterator[os.DirEntry[str]]:
            return self._held

        def __exit__(self, *_: object) -> None:
            """Nothing is open."""

    return Entries


def of_wrong_types(value: Any) -> Any:
    """Return ``value`` with text where numbers and containers were, and numbers where text was."""
    if isinstance(value, dict):
        return {key: of_wrong_types(each) for key, each in value.items()}
    if isinstance(value, list):
        return {"0": [of_wrong_types(each) for each in value]}
    return [7] if isinstance(value, str) else "seven"


def retyped(data: bytes) -> bytes:
    """Return JSON, or lines of it, with values of wrong types; other data cut and doubled."""
    try:
        return b"".join(json.dumps(of_wrong_types(json.loads(line))).encode() + b"\n" for line in data.splitlines())
    except ValueError:
        return data[len(data) // 3 :] * 2


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda data: data[: len(data) // 2],
    "nul bytes": lambda data: data[: len(data) // 2] + b"\0" * 4096,
    "not utf-8": lambda data: data.replace(b"walrus", b"wal\xff\xfe\x80rus"),
    "wrong types": retyped,
    "binary": lambda data: bytes(range(256)) * 16,
    "empty": lambda data: b"",
}
# A line without its end may still be being written; bytes that are no UTF-8 cost nothing but themselves.
UNCOUNTED = ("truncated", "not utf-8")


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_counted_and_costs_no_other_its_document(home: Home, sample: Sample, damage: str) -> None:
    sample.write(0, grown=True)
    sample.write(1)
    whole = sample.paths[0]
    files = [whole] if whole.is_file() else [path for path in whole.rglob("*") if path.is_file()]
    for path in files:
        path.chmod(0o600)
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    ledger = ingest(home, sample)
    assert ledger.ingested + ledger.failed_files + sum(ledger.skipped.values()) == ledger.seen == 2
    made = sample.documents(home)
    assert len(about(made, "penguin")) == 1
    assert sample.source.is_collector or all(documents(sample.source, whole))
    counts = (ledger.failed_files, ledger.failed_records, ledger.skipped, ledger.recovered, ledger.unknown)
    assert any(counts) or sample.is_text or damage in UNCOUNTED


def test_what_is_excluded_is_written_nowhere(home: Home, sample: Sample) -> None:
    sample.write()
    configure(home, sample, sample.exclude)
    ledger = ingest(home, sample)
    assert [*ledger.skipped.values(), *ledger.dropped.values()] == [1]
    made = sample.documents(home)
    assert (len(about(made, "walrus")), len(about(made, "penguin"))) == (0, 1)
    assert b"walrus" not in everything(home)


def test_documents_are_made_again_from_the_archive_when_the_files_are_gone(home: Home, sample: Sample) -> None:
    if not sample.is_archived:
        pytest.skip("a repository keeps its own history")
    sample.write()
    ingest(home, sample)
    made = sample.documents(home)
    for path in sample.paths:
        path.unlink()
    assert ingest(home, sample).vanished == 2
    assert sample.documents(home) == made
    other = other_home(home, "other")
    shutil.copytree(home.path("raw"), other.path("raw"), dirs_exist_ok=True)
    assert ingest(other, sample, from_archive=True).failed_files == 0
    assert sample.documents(other) == made


def test_what_is_forgotten_is_in_no_byte_of_the_home_and_does_not_come_back(home: Home, sample: Sample) -> None:
    sample.write()

    def read() -> dict[str, bytes]:
        index(home, config.load(home), source=sample.source.name, roots=[str(sample.root)])
        return sample.documents(home)

    before = read()
    plan = forget.plan(home, config.load(home), Selection(), "walrus")
    assert forget.carry_out(home, plan).left == []
    for after in (sample.documents(home), read()):
        assert about(after, "penguin") == about(before, "penguin")
        assert b"walrus" not in everything(home).lower()
