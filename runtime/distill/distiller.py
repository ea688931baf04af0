"""The door that every distiller comes through, whether it thinks or counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from runtime.distill.budget import Budget
    from runtime.distill.distillate import Distillate
    from runtime.distill.likeness import Reader
    from runtime.distill.source import Source

TERMS = "terms"
NAMES = ("extractive", "claude", "openai", "llm:<model>")


class Unfit(Exception):
    """This document could not be distilled; the text says why, and ends as its dead letter's reason.

    ``tokens`` and ``cost_usd`` are what the attempts have cost all the same. ``answered``: whether the model answered
    at all; if it did not, another document may fare the same.
    """

    def __init__(
        self, reason: str, attempts: int = 1, tokens: int = 0, cost_usd: float = 0.0, *, answered: bool = True
    ) -> None:
        super().__init__(reason)
        self.answered = answered
        self.attempts = attempts
        self.tokens = tokens
        self.cost_usd = cost_usd


class OutOfBudget(Exception):
    """What is left of the budget does not suffice for this document; it goes on waiting.

    ``tokens`` and ``cost_usd`` are what attempts at it have cost before.
    """

    def __init__(self, reason: str, tokens: int = 0, cost_usd: float = 0.0) -> None:
        super().__init__(reason)
        self.tokens = tokens
        self.cost_usd = cost_usd


@dataclass(frozen=True, slots=True)
class Made:
    """A distillate, and what it took: tokens sent and received, US dollars where the provider says.

    ``centrality`` is what said which sentences are central: a local model's name, ``terms``, or "" where neither was
    asked.
    """

    found: Distillate
    model: str = ""
    tokens: int = 0
    cost_usd: float = 0.0
    centrality: str = ""


class Distiller(Protocol):
    """``name`` stands in the frontmatter, with the version of the procedure: ``extractive/1``."""

    name: str

    def distil(self, source: Source) -> Made:
        """The distillate. Raises Unfit for this document, OutOfBudget, BrainError where none can be distilled."""


class Extractive:
    """The default: no network, nothing to pay; ``reader`` is the local model, None for words alone."""

    def __init__(self, reader: Reader | None = None) -> None:
        from runtime.distill import extractive

        self.name = f"extractive/{extractive.VERSION}"
        self._reader = reader

    def distil(self, source: Source) -> Made:
        """See ``Distiller``."""
        from runtime.distill.extractive import distil

        opened = None if self._reader is None else self._reader.open()
        model, encode = (TERMS, None) if opened is None else opened
        return Made(distil(source.body, str(source.meta.get("project") or ""), encode), centrality=model)


def choose(
    name: str,
    section: Mapping[str, Any],
    environ: Mapping[str, str],
    budget: Budget,
    embedding: Mapping[str, Any] | None = None,
) -> Distiller:
    """The distiller of that name, its model the one of ``section`` (the configuration's ``distill:``).

    ``embedding`` is the section of that name, whose local model the extractive distiller reads with. Raises BadInput,
    and EngineMissing where what it needs is not installed.
    """
    if name == "extractive":
        from runtime.distill.likeness import Reader

        return Extractive(None if section.get("centrality") == TERMS else Reader(embedding or {}))
    kind, _, given = name.partition(":")
    if kind not in ("claude", "openai", "llm") or (given and kind != "llm") or name == "llm:":
        raise BadInput(f"there is no distiller {name!r}", f"one of: {', '.join(NAMES)}")
    from runtime.distill.thinking import Model, Thinking

    # The configured model belongs to the configured distiller.
    configured = str(section.get("llm") or "").partition(":")[0] == kind
    model = given or (str(section.get("model") or "") if configured else "")
    chosen: Model
    if kind == "claude":
        from runtime.distill.of_claude import Claude

        chosen = Claude(model, environ)
    elif kind == "openai":
        from runtime.distill.of_openai import OpenAI

        chosen = OpenAI(model, section, environ)
    else:
        from runtime.distill.of_llm import Llm

        chosen = Llm(model, environ)
    return Thinking(kind, chosen, section, budget)
