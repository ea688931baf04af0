from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from core.sqlite import connect, is_full


@pytest.mark.parametrize(
    ("blocks", "free", "full"),
    [(10**6, 255, True), (10**6, 256, False), (100, 0, True), (0, 0, False)],
    ids=["below a megabyte", "a megabyte", "nothing free", "file system that does not say"],
)
def test_no_database_is_opened_where_less_than_a_megabyte_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, free: int, full: bool
) -> None:
    connect(str(tmp_path / "a.sqlite")).close()
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=blocks, f_bavail=free, f_frsize=4096))
    assert is_full(str(tmp_path)) == full
    if full:
        with pytest.raises(apsw.FullError):
            connect(str(tmp_path / "a.sqlite"))
    else:
        connect(str(tmp_path / "a.sqlite")).close()


def test_a_folder_that_is_not_there_is_not_full(tmp_path: Path) -> None:
    assert not is_full(str(tmp_path / "gone"))
