"""What a parser knew after the last line is kept, and used only if a reading from the start would give the same."""

from __future__ import annotations

import functools
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.home import Home
from ingest import registry
from ingest.archive import archive, keeping, resuming
from ingest.archive.keeping import STATES
from ingest.pipeline.reading import Reading
from ingest.raw.store import RawStore
from tests.examples import examples
from tests.ingest.growing import Reader, grow, split
from tests.ingest.transcripts import SESSION, Script, lines, text, tool

CLAUDE = registry.source("claude")


def kept(home: Home) -> list[Path]:
    return [path for path in Path(home.state, STATES).rglob("*") if path.is_file()]


class Growing:
    """A session that two homes read: one resumes, the other reads from the start each time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "projects" / f"{SESSION}.jsonl"
        self.script = Script()
        self.reader = Reader(Home(str(folder / "resumes")), CLAUDE, self.path)
        self.other = Reader(Home(str(folder / "whole")), CLAUDE, self.path, resumes=False)
        grow(self.path, [self.turn("why"), self.turn("how")], self.reader, self.other)

    def turn(self, words: str) -> bytes:
        s = self.script
        return lines(s.user(words), s.assistant(tool("Bash", command="make")), s.result("t1"), s.assistant(text("ok")))

    def states(self) -> list[Path]:
        return kept(self.reader.home)

    def state(self) -> Path:
        (path,) = self.states()
        return path

    def append(self, data: bytes) -> int:
        """Append and read; return the bytes that the resuming home left out."""
        with self.path.open("ab") as stream:
            stream.write(data)
        return self.read()

    def read(self) -> int:
        assert self.reader.read() == self.other.read()
        return self.reader.went_on[-1]


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    return Growing(tmp_path)


def test_a_grown_journal_is_parsed_from_where_it_ended(growing: Growing) -> None:
    size = growing.path.stat().st_size
    assert growing.append(growing.turn("when")) == size
    assert growing.read() > size  # unchanged


def test_a_state_is_kept_of_a_file_that_is_read_again_and_of_no_other(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    reader = Reader(Home(str(tmp_path / "home")), CLAUDE, path)
    grow(path, [lines(Script().user("why"))], reader)
    assert not kept(reader.home)
    reader.read()
    assert kept(reader.home)


def test_a_state_is_replaced_once_the_journal_has_grown_by_some_lines(growing: Growing) -> None:
    size = growing.path.stat().st_size
    growing.reader.step = 2 * len(growing.turn("x"))
    found = [growing.append(growing.turn(words)) for words in ("when", "where", "who", "what")]
    assert found[:2] == [size, size]
    assert found[2] == found[3] > size


def _rewrite_a_letter(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"why"', b'"who"'))


def _truncate(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))


def _drop_the_beginning(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[2:]))


@pytest.mark.parametrize("change", [_rewrite_a_letter, _truncate, _drop_the_beginning])
def test_a_journal_with_another_beginning_is_read_from_the_start(
    growing: Growing, change: Callable[[Path], None]
) -> None:
    change(growing.path)
    assert growing.append(growing.turn("when")) == 0
    assert growing.append(growing.turn("who")) == 0  # the first reading compared it with what was archived before
    size = growing.path.stat().st_size
    assert growing.append(growing.turn("where")) == size


def test_a_journal_that_another_file_replaced_goes_on_if_the_bytes_are_the_same(growing: Growing) -> None:
    size = growing.path.stat().st_size
    copy = growing.path.with_suffix(".new")
    shutil.copyfile(growing.path, copy)
    copy.rename(growing.path)
    assert growing.append(growing.turn("when")) == size


def _cut_short(state: Path) -> None:
    state.write_bytes(state.read_bytes()[:-10])


def _flip_a_bit(state: Path) -> None:
    data = bytearray(state.read_bytes())
    data[-100] ^= 1
    state.write_bytes(data)


def _empty(state: Path) -> None:
    state.write_bytes(b"")


@pytest.mark.parametrize("damage", [_cut_short, _flip_a_bit, _empty, Path.unlink])
def test_a_damaged_state_costs_time_alone(growing: Growing, damage: Callable[[Path], None]) -> None:
    damage(growing.state())
    assert growing.append(growing.turn("when")) == 0


@pytest.mark.parametrize("version", ["PARSER", "DOCUMENT", "VERSION"])
def test_another_version_reads_from_the_start(growing: Growing, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, version, "next")
    assert growing.append(growing.turn("when")) == 0


def test_a_changed_parser_reads_from_the_start(
    growing: Growing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ingest.sources.claude import parser

    edited = tmp_path / "parser.py"
    shutil.copyfile(parser.__file__, edited)
    monkeypatch.setattr(parser, "__file__", str(edited))
    assert growing.append(growing.turn("when")) == 0


def test_what_the_archive_has_lost_is_stored_again(growing: Growing) -> None:
    home = growing.reader.home
    for entry in archive.versions(home, "claude"):
        for name, _ in entry.segments:
            Path(archive.object_path(home.path(archive.FOLDER), name)).unlink()
    assert growing.append(growing.turn("when")) == 0
    (entry,) = archive.versions(home, "claude")
    assert b"".join(archive.held(home.path(archive.FOLDER), entry)) == growing.path.read_bytes()


def test_a_run_that_was_killed_before_it_committed_loses_nothing(growing: Growing, tmp_path: Path) -> None:
    before = tmp_path / "before"
    shutil.copytree(growing.reader.home.path(archive.FOLDER), before)
    growing.append(growing.turn("when"))
    # The state is on disk, and the archive still is what it was.
    shutil.rmtree(growing.reader.home.path(archive.FOLDER))
    shutil.copytree(before, growing.reader.home.path(archive.FOLDER))
    growing.reader.read()
    assert growing.reader.went_on[-1] == 0
    assert growing.append(growing.turn("where")) > 0


def test_a_state_holds_no_secret(growing: Growing) -> None:
    key = "sk-ant-api03-" + "aB3dE5gH7j" * 9
    growing.append(growing.turn(f"my key is {key}"))
    assert key.encode() not in growing.state().read_bytes()
    assert growing.append(growing.turn("when")) > 0


def test_an_excluded_session_leaves_no_state(growing: Growing) -> None:
    assert growing.state()
    growing.reader.settings["exclude"] = {"projects": ["/home/me/api"]}
    growing.reader.read()
    assert not growing.states()


def _exclude(growing: Growing, _: pytest.MonkeyPatch) -> None:
    growing.reader.settings["exclude"] = {"projects": ["/home/me/api"]}


def _redact_otherwise(_: Growing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "REDACTION", 999)


@pytest.mark.parametrize("change", [_exclude, _redact_otherwise])
def test_what_other_exclusions_and_policies_left_goes_with_the_next_run_also_of_a_file_that_is_gone(
    growing: Growing, change: Callable[[Growing, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    growing.append(growing.turn("zebra"))
    assert any(b"zebra" in path.read_bytes() for path in growing.states())
    change(growing, monkeypatch)
    growing.path.unlink()
    growing.reader.read()
    assert not growing.states()


def _rewrite(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"zebra", b"horse"))


def _cut(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))


@pytest.mark.parametrize("change", [_rewrite, _cut])
def test_a_state_goes_with_the_text_that_its_journal_has_lost(growing: Growing, change: Callable[[Path], None]) -> None:
    growing.append(growing.turn("zebra"))
    change(growing.path)
    growing.reader.step = 1 << 20
    growing.reader.read()
    assert not any(b"zebra" in path.read_bytes() for path in growing.states())


def test_a_class_that_a_module_of_ours_has_from_elsewhere_is_in_no_state(growing: Growing) -> None:
    import hashlib

    from ingest.sources.bookmarks import parser

    assert vars(parser)["partial"] is functools.partial
    mark, _, _ = growing.state().read_bytes().partition(b"\n")
    data = b"cingest.sources.bookmarks.parser\npartial\n."
    growing.state().write_bytes(b"\n".join((mark, hashlib.sha256(data).hexdigest().encode(), data)))
    with pytest.raises(pickle.UnpicklingError, match="partial"):
        resuming._Unpickler(data, Reading("", RawStore())).load()
    assert growing.append(growing.turn("when")) == 0


def test_a_state_makes_nothing_but_sessions(growing: Growing, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (str(tmp_path / "touched"),))

    import hashlib

    mark, _, _ = growing.state().read_bytes().partition(b"\n")
    data = pickle.dumps(Evil())
    growing.state().write_bytes(b"\n".join((mark, hashlib.sha256(data).hexdigest().encode(), data)))
    assert growing.append(growing.turn("when")) == 0
    assert not (tmp_path / "touched").exists()


def test_the_states_of_few_journals_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "_MOST", 2)
    home = Home(str(tmp_path / "home"))
    for number in range(4):
        path = tmp_path / str(number) / f"{SESSION}.jsonl"
        s = Script()
        grow(path, [lines(s.user("why")), lines(s.user("how"))], Reader(home, CLAUDE, path))
    assert len(kept(home)) == 2


@pytest.mark.parametrize("source", ["claude", "codex", "pi"])
def test_real_transcripts_that_grow_give_what_they_give_whole(source: str, shared: Path, tmp_path: Path) -> None:
    chance, went_on = random.Random(5), 0
    files = sorted((shared / "samples" / source).rglob("*.jsonl"))
    found = [path for path in files if 1 << 14 < path.stat().st_size < 1 << 19]
    for number, path in enumerate(chance.sample(found, min(len(found), examples(20)))):
        grown = tmp_path / str(number) / path.name
        data = path.read_bytes()
        pieces = split(data, [chance.randrange(len(data) + 1) for _ in range(4)])
        readers = [
            Reader(Home(str(tmp_path / f"{number}-{each}")), registry.source(source), grown, resumes=each)
            for each in (True, False)
        ]
        for resumed, whole in grow(grown, pieces, *readers):
            assert resumed == whole, path
        went_on += any(readers[0].went_on)
    assert went_on
