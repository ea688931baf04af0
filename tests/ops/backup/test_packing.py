"""An archive comes from anybody: it is checked before a byte is written, and writes no more than it declares."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from ops.backup import packing
from tests.ops.backups import forged, member

ABOUT = {"kind": "brain-backup", "made_at": "2026-04-28T09:14:03Z", "index": False}


def _written(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _refuse(path: str | Path, folder: Path) -> str:
    """Unpack a hostile archive; nothing is written. Returns the error's message."""
    with pytest.raises(BadInput) as refused:
        packing.unpack(str(path), str(folder))
    assert _written(folder) == []
    return refused.value.message


def _tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    """An archive of ``members`` and no manifest."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    path.write_bytes(zstandard.compress(plain.getvalue()))
    return path


def _with_headers(name: str, **headers: str) -> tarfile.TarInfo:
    info = member(name)
    info.pax_headers = {key.replace("__", "."): value for key, value in headers.items()}
    return info


def test_nothing_is_written_before_the_manifest_is_read(tmp_path: Path) -> None:
    path = _tar(tmp_path / "x.tar.zst", (member("brain/a.md"), b"a" * 5000))
    assert "no manifest" in _refuse(path, tmp_path / "folder")


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = forged(tmp_path / "x.tar.zst", ("brain/zeros.md", bytes(32 << 20)))
    monkeypatch.setattr(packing, "ALWAYS_BYTES", 1 << 20)
    assert os.path.getsize(path) * packing.MOST_TIMES < 32 << 20
    assert "more than" in _refuse(path, tmp_path / "folder")


def test_a_backup_that_could_not_be_restored_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home" / "brain").mkdir(parents=True)
    (tmp_path / "home" / "brain" / "zeros.md").write_bytes(bytes(32 << 20))
    monkeypatch.setattr(packing, "ALWAYS_BYTES", 1 << 20)
    target = tmp_path / "disk" / "x.tar.zst"
    with pytest.raises(BadInput) as refused:
        packing.pack(str(tmp_path / "home"), str(target), ABOUT)
    assert "brain/zeros.md" in refused.value.message
    assert list((tmp_path / "disk").iterdir()) == []


def test_an_archive_larger_than_the_free_disk_is_refused_before_it_fills_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = forged(tmp_path / "x.tar.zst", ("brain/a.md", b"a" * 5000))
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=1 << 30, f_bavail=1, f_frsize=4096))
    assert "disk" in _refuse(path, tmp_path / "folder")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    "files",
    [
        [["brain/a.md", 1, _digest(b"a" * 5000)]],
        [["brain/a.md", 4999, _digest(b"a" * 4999)]],
        [["brain/a.md", -5000, _digest(b"a" * 5000)]],
        [["brain/a.md", True, _digest(b"a" * 5000)]],
        [["brain/a.md", 5000.0, _digest(b"a" * 5000)]],
        [["brain/a.md", 5000, "x"], ["brain/a.md", 5000, _digest(b"a" * 5000)]],
        [["brain/b.md", 5000, _digest(b"a" * 5000)]],
        [["brain/a.md", 5000]],
        [7],
        {"brain/a.md": 5000},
        None,
    ],
    ids=str,
)
def test_a_manifest_that_lies_is_refused_before_anything_is_written(tmp_path: Path, files: Any) -> None:
    given_files = "none" if files is None else files
    path = forged(tmp_path / "x.tar.zst", ("brain/a.md", b"a" * 5000), files=given_files)
    _refuse(path, tmp_path / "folder")


@pytest.mark.parametrize(
    "names",
    [
        ("../outside.md",),
        ("brain/../../outside.md",),
        ("/tmp/outside.md",),
        ("brain//x.md",),
        ("./brain/x.md",),
        ("brain/.",),
        ("/".join(["deep"] * 1500) + "/x.md",),
        ("brain/a.md", "brain/a.md"),
        ("brain/a", "brain/a/b.md"),
        ("brain", "brain/a/b.md"),
        ("brain/" + "x" * 5000,),
    ],
    ids=lambda names: names[-1][:30],
)
def test_a_name_that_no_backup_has_is_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    _refuse(forged(tmp_path / "x.tar.zst", *((name, b"owned") for name in names)), tmp_path / "deep" / "folder")
    assert not list(tmp_path.rglob("outside.md"))


@pytest.mark.parametrize(
    "head",
    [
        member("brain/link.md", tarfile.SYMTYPE, "/etc/passwd"),
        member("brain/hard.md", tarfile.LNKTYPE, "../../etc/passwd"),
        member("brain/pipe.md", tarfile.FIFOTYPE),
        member("brain/device.md", tarfile.CHRTYPE),
        member("brain/disk.md", tarfile.BLKTYPE),
        member("brain/folder", tarfile.DIRTYPE),
        member("brain/whole.md", tarfile.CONTTYPE),
        _with_headers("brain/sparse.md", GNU__sparse__size="64000000", GNU__sparse__map="0,5"),
    ],
    ids=lambda head: head.name,
)
def test_only_plain_files_are_unpacked(tmp_path: Path, head: tarfile.TarInfo) -> None:
    _refuse(forged(tmp_path / "x.tar.zst", (head, b"owned")), tmp_path / "folder")


def test_a_header_of_any_size_costs_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = forged(tmp_path / "x.tar.zst", (_with_headers("brain/a.md", comment="x" * (4 << 20)), b"a"))
    assert "header" in _refuse(path, tmp_path / "folder")


def test_headers_without_end_are_refused(tmp_path: Path) -> None:
    path = _tar(tmp_path / "x.tar.zst", *((member("x", tarfile.XHDTYPE), b"11 path=ab\n") for _ in range(900)))
    _refuse(path, tmp_path / "folder")


def test_two_names_that_are_one_on_this_disk_are_refused(tmp_path: Path) -> None:
    """A disk that folds case has the second file already when it comes."""
    path = forged(tmp_path / "x.tar.zst", ("brain/a.md", b"owned"))
    there = tmp_path / "folder" / "brain" / "a.md"
    there.parent.mkdir(parents=True)
    there.write_bytes(b"first")
    with pytest.raises(BadInput) as refused:
        packing.unpack(path, str(tmp_path / "folder"))
    assert "brain/a.md" in refused.value.message
    assert there.read_bytes() == b"first"


def test_what_was_packed_is_what_is_unpacked_whatever_its_names(tmp_path: Path) -> None:
    home = tmp_path / "home"
    names = ["brain/a.md", "brain/A.md", "state/x/y/z.json", "brain/" + "long " * 45 + ".md", "logs/é.md"]
    names.append("notes/" + "/".join(["d"] * 60) + "/x.md")
    for number, name in enumerate(names):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(b"%d" % number * number)
    path = str(tmp_path / "x.tar.zst")
    packing.pack(str(home), path, ABOUT)
    manifest = packing.unpack(path, str(tmp_path / "copy"))
    assert manifest == packing.read_manifest(path)
    assert {str(each.relative_to(tmp_path / "copy")): each.read_bytes() for each in _written(tmp_path / "copy")} == {
        str(each.relative_to(home)): each.read_bytes() for each in _written(home)
    }


_PLAIN = io.BytesIO()
with tarfile.open(fileobj=_PLAIN, mode="w", format=tarfile.PAX_FORMAT) as _archive:
    for _name in ("brain/a.md", "brain/é" + "x" * 120 + ".md"):
        _info = tarfile.TarInfo(_name)
        _info.size = 600
        _archive.addfile(_info, io.BytesIO(b"a" * 600))


@given(st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), min_size=1, max_size=12))
def test_whatever_is_in_the_tar_it_is_refused_as_damage(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("x")
    data = bytearray(_PLAIN.getvalue())
    for at, value in changes:
        data[at % len(data)] = value
    path = folder / "x.tar.zst"
    path.write_bytes(zstandard.compress(bytes(data)))
    _refuse(path, folder / "folder")  # it has no manifest, whatever else it has


@pytest.mark.parametrize("deep", [101, 300])
def test_a_folder_too_deep_to_be_restored_is_named_when_it_is_packed(tmp_path: Path, deep: int) -> None:
    place = tmp_path / "home" / "notes"
    place.mkdir(parents=True)
    name = "/".join(["d"] * deep)
    os.makedirs(place / name)
    (place / name / "x.md").write_text("x")
    with pytest.raises(BadInput) as refused:
        packing.pack(str(tmp_path / "home"), str(tmp_path / "x.tar.zst"), ABOUT)
    assert "notes/d/d" in refused.value.message
