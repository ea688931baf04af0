"""Providers of vectors: the interface of each, and the configured one.

A provider turns texts into vectors of length 1. If a model distinguishes questions from documents, ``question`` says
which they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from core.config import EMBEDDERS, embedder
from core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from qmd.embedding.cutting import Tokens
    from qmd.vectors.chunking import Break

LOCAL = "local"


class Provider(Protocol):
    """A model that embeds.

    ``window`` is how many tokens it reads at once; ``fingerprint`` changes with whatever makes its vectors
    incomparable with those of before; ``batch`` is how many texts one call takes best. ``here``: this process computes;
    ``outside``: texts leave this machine.
    """

    name: str
    model: str
    window: int
    batch: int
    here: bool
    outside: bool

    @property
    def dimensions(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def layout(self) -> Layout: ...

    @property
    def tokenizer(self) -> Any:
        """Return the model's own tokenizer (of the package ``tokenizers``), None if it is not on this machine."""
        ...

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:
        """Return one row of ``dimensions`` per text, of length 1. Raises BrainError."""
        ...

    def close(self) -> None: ...


class Layout(Protocol):
    """How texts are cut for a model; ``name`` changes with anything that moves a cut."""

    name: str

    def cut(self, text: str, more: Sequence[Break] = ()) -> list[tuple[int, int, int]]:
        """Return (start, end, kind) in characters of each chunk; ``more`` are further places to cut."""
        ...

    def tokens(self, text: str) -> Tokens:
        """Return the tokens of a text, or about as many."""
        ...


def quantise(vectors: NDArray[np.float32]) -> list[bytes]:
    """Vectors of length 1 as they are stored: int8, times 127."""
    import numpy as np

    scaled: NDArray[np.int8] = np.clip(np.rint(vectors * 127.0), -127, 127).astype(np.int8)
    return [row.tobytes() for row in scaled]


def make(
    section: dict[str, Any],
    environ: Mapping[str, str],
    provider: str = "",
    model: str = "",
    threads: int = 0,
    cluster: str = "",
) -> Provider:
    """Return the provider that the section ``embedding`` names, or the one given instead, ready to embed.

    ``threads`` is for a local model, 0 for as many as there are processors; ``cluster`` names the Ray cluster that
    computes it instead (``qmd/embedding/on_ray.py``). Keys and endpoints come from ``environ``.
    Raises BadInput for an unknown provider or model, or if a key is missing, EngineMissing if what it needs is not
    installed.
    """
    name, model = embedder(section, provider, model)
    own = section if name == str(section.get("provider") or LOCAL) else {}
    if cluster:
        if name != LOCAL:
            raise BadInput(f"a cluster computes the local model, not {name}", "brain embed, without --on")
        from qmd.embedding.on_ray import OnRay

        return OnRay(cluster, str(own.get("path") or ""), model, int(own.get("window") or 0))
    if name == LOCAL:
        from qmd.embedding.local import Local

        return Local(str(own.get("path") or ""), model, int(own.get("window") or 0), threads)
    if name == "llm":
        from qmd.embedding.remote import LlmEmbedder

        return LlmEmbedder(own, model)
    from qmd.embedding import remote

    if name == "openai":
        return remote.OpenAI(own, environ, model)
    if name == "gemini":
        return remote.Gemini(own, environ, model)
    raise _unknown(name)


def check(section: dict[str, Any]) -> None:
    """See that the provider which the section ``embedding`` names exists, and a local model's files; loads nothing.

    Raises BadInput and EngineMissing, as ``make`` would. Keys and endpoints are for those who embed to have.
    """
    name, model = embedder(section)
    if name not in EMBEDDERS:
        raise _unknown(name)
    if name == LOCAL:
        from qmd.embedding.local import find

        find(str(section.get("path") or ""), model)


def _unknown(name: str) -> BadInput:
    return BadInput(f"unknown provider {name!r}", f"embedding: {{provider: …}} is one of {', '.join(EMBEDDERS)}")
