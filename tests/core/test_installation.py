"""`brain --version` says how the program was installed."""

from __future__ import annotations

import pytest

from core.installation import described


@pytest.mark.parametrize(
    ("prefix", "said"),
    [
        ("/home/me/.local/share/pipx/venvs/brain-memory", "pipx, /home/me/.local/share/pipx/venvs/brain-memory"),
        ("/home/me/.local/share/uv/tools/brain-memory", "uv, /home/me/.local/share/uv/tools/brain-memory"),
        (
            "/opt/homebrew/Cellar/brain-memory/0.1.0/libexec",
            "Homebrew, /opt/homebrew/Cellar/brain-memory/0.1.0/libexec",
        ),
        ("/home/me/env", "pip, /home/me/env"),
    ],
)
def test_an_environment_is_named_with_its_maker(prefix: str, said: str) -> None:
    assert described(None, prefix) == said


def test_a_checkout_is_named() -> None:
    assert described("/home/me/brain", "/home/me/brain/.venv") == "checkout /home/me/brain"
