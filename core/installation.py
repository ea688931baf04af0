"""How this program came to the machine."""

from __future__ import annotations

import os

# A folder in the path of an environment → the program that makes such environments.
_MAKERS = (
    (f"{os.sep}pipx{os.sep}venvs{os.sep}", "pipx"),
    (f"{os.sep}uv{os.sep}tools{os.sep}", "uv"),
    (f"{os.sep}Cellar{os.sep}", "Homebrew"),
)


def described(checkout: str | None, prefix: str) -> str:
    """Return how the program was installed and where, as ``brain --version`` says it.

    ``checkout`` is the folder of the checkout that runs, None without one; ``prefix`` the environment's.
    """
    if checkout is not None:
        return f"checkout {checkout}"
    maker = next((name for part, name in _MAKERS if part in os.path.join(prefix, "")), "pip")
    return f"{maker}, {prefix}"
