"""The one place where raw files are opened: whole or by lines, packed or not, never more than can be held."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path

import pytest
import zstandard

from ingest.raw.packed import end_early
from ingest.raw.store import DISK


def test_a_packed_file_is_read_as_what_was_packed(tmp_path: Path) -> None:
    said = b'{"a": 1}\n' * 50_000
    packed = zstandard.compress(said)
    (tmp_path / "plain.jsonl").write_bytes(said)
    (tmp_path / "packed.jsonl.zst").write_bytes(packed)
    assert DISK.load(str(tmp_path / "plain.jsonl")) == DISK.load(str(tmp_path / "packed.jsonl.zst")) == said
    with DISK.open(str(tmp_path / "packed.jsonl.zst")) as raw:
        assert raw.packed is not None
        assert raw.lines.readline() == b'{"a": 1}\n'
        assert raw.packed.finish() == (len(packed), hashlib.sha256(packed).hexdigest())


def test_frames_that_follow_each_other_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "x.zst").write_bytes(zstandard.compress(b"one\n") + zstandard.compress(b"two\n"))
    assert DISK.load(str(tmp_path / "x.zst")) == b"one\ntwo\n"


def test_what_is_no_zstd_is_an_error_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "x.zst").write_bytes(b"plain text, whatever its name says")
    with pytest.raises(OSError, match="not zstd"):
        DISK.load(str(tmp_path / "x.zst"))


def test_a_journal_that_is_a_bomb_is_refused_while_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.zstd").write_bytes(zstandard.compress(b"\n" * 100_000_000))
    with DISK.open(str(tmp_path / "x.jsonl.zstd")) as raw, pytest.raises(OSError, match="200 times its size"):
        raw.lines.read()


def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.zst").write_bytes(zstandard.compress(b"\0" * 10_000_000))
    with pytest.raises(OSError, match="larger than 1 MB"):
        DISK.load(str(tmp_path / "bomb.zst"), limit=1 << 20)


def test_a_named_pipe_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        DISK.load(str(tmp_path / "pipe"))


_NOISE = random.Random(1).randbytes(200_000)


def streamed(data: bytes) -> bytes:
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return (
        packer.compress(data[:1000])
        + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        + packer.compress(data[1000:])
        + packer.flush()
    )


FORMS = {
    "small": zstandard.compress(b"one"),
    "empty": zstandard.compress(b""),
    "noise": zstandard.compress(_NOISE),
    "repeated": zstandard.compress(b"a" * 1_000_000),
    "checksum": zstandard.ZstdCompressor(write_checksum=True).compress(_NOISE[:70_000] + b"b" * 70_000),
    "streamed": streamed(_NOISE),
    "two": zstandard.compress(b"one") + zstandard.compress(_NOISE[:300]),
    "skippable": b"\x53\x2a\x4d\x18\x03\x00\x00\x00abc" + zstandard.compress(b"one"),
}


def ends_early(path: Path, data: bytes) -> bool:
    path.write_bytes(data)
    with path.open("rb") as stream:
        return end_early(stream.fileno(), os.fstat(stream.fileno()).st_size)


@pytest.mark.parametrize("form", FORMS)
def test_whole_frames_end_where_the_file_does_and_cut_ones_behind_it(tmp_path: Path, form: str) -> None:
    data = FORMS[form]
    assert not ends_early(tmp_path / "x.zst", data)
    whole = {0, len(data), len(zstandard.compress(b"one")) if form == "two" else 0, 11 if form == "skippable" else 0}
    places = {*range(1, min(len(data), 60)), *range(1, len(data), max(1, len(data) // 50)), len(data) - 1} - whole
    assert [at for at in sorted(places) if not ends_early(tmp_path / "x.zst", data[:at])] == []


@pytest.mark.parametrize("data", [b"plain text, whatever its name says", b"", b"\x28\xb5\x2f\xfd" + b"\xff" * 60])
def test_what_is_no_frame_is_for_whoever_unpacks_it(tmp_path: Path, data: bytes) -> None:
    assert not ends_early(tmp_path / "x.zst", data)
