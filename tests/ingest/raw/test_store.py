"""The one place where raw files are opened: whole or by lines, packed or not, never more than can be held."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
import zstandard

from ingest.raw.store import DISK


def test_a_packed_file_is_read_as_what_was_packed(tmp_path: Path) -> None:
    said = b'{"a": 1}\n' * 50_000
    packed = zstandard.compress(said)
    (tmp_path / "plain.jsonl").write_bytes(said)
    (tmp_path / "packed.jsonl.zst").write_bytes(packed)
    assert DISK.load(str(tmp_path / "plain.jsonl")) == DISK.load(str(tmp_path / "packed.jsonl.zst")) == said
    with DISK.open(str(tmp_path / "packed.jsonl.zst")) as raw:
        assert raw.packed
        assert raw.lines.readline() == b'{"a": 1}\n'
        assert raw.finish() == (len(packed), hashlib.sha256(packed).hexdigest())


def test_frames_that_follow_each_other_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "x.zst").write_bytes(zstandard.compress(b"one\n") + zstandard.compress(b"two\n"))
    assert DISK.load(str(tmp_path / "x.zst")) == b"one\ntwo\n"


def test_what_is_no_zstd_is_an_error_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "x.zst").write_bytes(b"plain text, whatever its name says")
    with pytest.raises(OSError, match="not zstd"):
        DISK.load(str(tmp_path / "x.zst"))


def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.zst").write_bytes(zstandard.compress(b"\0" * 10_000_000))
    with pytest.raises(OSError, match="larger than 1 MB"):
        DISK.load(str(tmp_path / "bomb.zst"), limit=1 << 20)


def test_a_named_pipe_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        DISK.load(str(tmp_path / "pipe"))
