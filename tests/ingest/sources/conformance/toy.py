"""The source of docs/adding-a-source.md, installed as another distribution would be."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from ingest import registry
from tests.conftest import ROOT

_PAGE = (ROOT / "docs" / "adding-a-source.md").read_text(encoding="utf-8")
MODULE = re.findall(r"```python\n(.*?)```", _PAGE, re.DOTALL)[0]
_ENTRY = tomllib.loads(re.findall(r"```toml\n(.*?)```", _PAGE, re.DOTALL)[0])["project"]["entry-points"][registry.GROUP]


def distribution(folder: Path) -> Path:
    """Write the source as an installed distribution below ``folder``; return the folder to import from."""
    packages = folder / "site-packages"
    about = packages / "toy-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    entries = "".join(f"{name} = {place}\n" for name, place in _ENTRY.items())
    (about / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{entries}")
    (packages / "toy.py").write_text(MODULE)
    return packages


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the source available in this process for the time of a test."""
    monkeypatch.syspath_prepend(str(distribution(folder)))
    monkeypatch.delitem(sys.modules, "toy", raising=False)
    monkeypatch.setattr(registry, "_found", [])
