"""Rerankers: the interface of each, and the configured one: a cross-encoder on this machine, or an endpoint.

There is none unless somebody configures one: by a section ``rerank``, or if ``models.rerank`` (``QMD_RERANK_MODEL``)
names a folder, an address, or a provider and its model (``openai:MODEL``). This program runs no model of qmd's own
(``hf:…gguf``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOCAL = "local"
NAMES = (LOCAL, "openai", "cohere", "jina")
# How long a question waits for its reranker where the section does not say, and how long qmd's own commands do: forty
# chunks of 512 tokens take a small model twelve seconds of cpu.
TIMEOUT_S = 5.0
QMD_TIMEOUT_S = 30.0
_FOLDERS = ("/", "~", "./", "../", "file://")
_ADDRESSES = ("http://", "https://")


class Reranker(Protocol):
    """A model that judges texts.

    ``name`` is for people; ``identity`` changes with whatever makes its scores others than they were; ``remote`` says
    that texts leave this machine.
    """

    name: str
    identity: str
    remote: bool

    def score(
        self, query: str, texts: Sequence[str], until: float, found: dict[int, float] | None = None
    ) -> list[float]:
        """Return a score per text, in their order: probabilities (0-1), or the logits of such.

        ``found`` gets each score by the text's place as soon as it is known, so that a failure loses no judgement.
        Raises BrainError, EngineTimeout past ``until`` (``time.monotonic()``).
        """
        ...

    def cancel(self) -> None:
        """Have a ``score`` that runs in another thread end soon."""
        ...

    def close(self) -> None: ...


def configured(
    section: Mapping[str, Any], environ: Mapping[str, str], models: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the section in force, empty if there is no reranker.

    ``section`` is the configuration's ``rerank``, ``models`` its ``models``. An endpoint without a model in its section
    takes the name in ``models.rerank``, else in ``QMD_RERANK_MODEL``.
    """
    uri = (models or {}).get("rerank") or environ.get("QMD_RERANK_MODEL") or ""
    chosen = {key: value for key, value in section.items() if value is not None}
    if "provider" not in chosen:
        if "path" in chosen:
            chosen["provider"] = LOCAL
        elif "base_url" in chosen:
            chosen["provider"] = "openai"
        elif uri.partition(":")[0] in NAMES:
            chosen["provider"], _, named = uri.partition(":")
            chosen["path" if chosen["provider"] == LOCAL else "model"] = named
        elif uri.startswith(_FOLDERS):
            chosen.update(provider=LOCAL, path=uri.removeprefix("file://"))
        elif uri.startswith(_ADDRESSES):
            chosen.update(provider="openai", base_url=uri)
        else:
            return {}
    named = uri.removeprefix(f"{chosen['provider']}:")
    if chosen["provider"] != LOCAL and named and not named.startswith(("hf:", *_FOLDERS, *_ADDRESSES)):
        chosen.setdefault("model", named)
    return chosen


def make(section: Mapping[str, Any], environ: Mapping[str, str], threads: int = 0) -> Reranker:
    """Return the reranker of a section that ``configured`` gave; nothing is loaded and nobody is asked yet.

    Keys come from ``environ``. Raises BadInput for an unknown provider, or if an address or a key is missing,
    EngineMissing if a folder holds no model.
    """
    name = str(section["provider"])
    if name == LOCAL:
        from qmd.reranking.local import CrossEncoder

        return CrossEncoder(
            str(section.get("path") or ""), str(section.get("model") or ""), int(section.get("window") or 0), threads
        )
    from qmd.reranking.remote import PROVIDERS, Remote

    if name not in PROVIDERS:
        raise BadInput(f"unknown reranker {name!r}", f"rerank: {{provider: …}} is one of: {', '.join(NAMES)}")
    return Remote(name, section, environ)
