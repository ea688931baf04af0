"""What every provider of vectors offers, and which one is meant.

A provider turns texts into vectors of length 1; where a model distinguishes questions from documents, ``question`` says
which they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

LOCAL = "local"
PROVIDERS = (LOCAL, "openai", "gemini", "llm")


class Provider(Protocol):
    """A model that embeds.

    ``window`` is how many tokens it reads at once; ``fingerprint`` changes with whatever makes its vectors
    incomparable with those of before; ``batch`` is how many texts one call takes best.
    """

    name: str
    model: str
    window: int
    batch: int

    @property
    def dimensions(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def layout(self) -> Layout: ...

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:
        """One row of ``dimensions`` a text, of length 1. Raises BrainError."""
        ...

    def close(self) -> None: ...


class Layout(Protocol):
    """How texts are cut for a model; ``name`` changes with anything that moves a cut."""

    name: str

    def cut(self, text: str) -> list[tuple[int, int, int]]:
        """(start, end, kind) in characters of each chunk."""
        ...


def quantise(vectors: NDArray[np.float32]) -> list[bytes]:
    """Vectors of length 1 as they are stored: int8, times 127."""
    import numpy as np

    scaled: NDArray[np.int8] = np.clip(np.rint(vectors * 127.0), -127, 127).astype(np.int8)
    return [row.tobytes() for row in scaled]


def chosen(section: Mapping[str, Any], provider: str = "", model: str = "") -> tuple[str, str]:
    """(provider, model) that ``embedding:`` names, or the ones given instead. Raises BadInput for an unknown one.

    The model is "" where it is the provider's own default.
    """
    name = provider or str(section.get("provider") or LOCAL)
    if name not in PROVIDERS:
        raise BadInput(f"unknown provider {name!r}", f"providers: {', '.join(PROVIDERS)}")
    configured = section.get("model") if name == str(section.get("provider") or LOCAL) else ""
    return name, model or str(configured or "")
