"""Two machines with a repository between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime import inbox
from tests.ops.machines import Machine


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Machine, Machine]:
    remote = tmp_path / "remote.git"
    one, other = Machine(tmp_path, "laptop", remote), Machine(tmp_path, "tower", remote)
    one.session(1, "walrus")
    one.session(2, "ocelot")
    inbox.write(one.home, "the pelican landed on the laptop")
    other.session(3, "heron")
    inbox.write(other.home, "the puffin landed on the tower")
    return one, other
