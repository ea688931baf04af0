"""The arms: ways to answer a question, each behind one door.

An arm is opened on a place (a home with an index). It answers a question with documents, ``collection/path``, the best
first; no document is an abstention. An arm that cannot run says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from runtime.asking.ask import Request
from runtime.asking.request import MODES

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home

    Answer = Callable[[str, int], list[str]]


# Characters of a snippet at which it is measured whether the answer is shown.
BUDGETS = (300, 600)


class ArmAnswer(list[str]):
    """An answer: documents, and what else an arm knows.

    ``clock`` is how it was found: words, meaning (by which encoder), or the order of time; "" if the arm has one way.
    ``nearest`` are documents that the answer lists as not clearly relevant. ``snippets(budget)`` returns the hits'
    snippets in order, made for that many characters; None if the arm has no snippets. ``is_marked``: the answer names
    words of the question that its best place lacks.
    """

    __slots__ = ("clock", "is_marked", "nearest", "snippets")

    def __init__(
        self,
        documents: Iterable[str],
        clock: str = "",
        *,
        nearest: Iterable[str] = (),
        snippets: Callable[[int], list[str]] | None = None,
        is_marked: bool = False,
    ) -> None:
        super().__init__(documents)
        self.clock = clock
        self.nearest = list(nearest)
        self.snippets = snippets
        self.is_marked = is_marked


class Unavailable(Exception):
    """The arm cannot run here; the text says why."""


class Place:
    """A home to ask, its configuration, and the collection ("" for those asked by default).

    ``ids`` maps files of the scratch collection to the set's ids. For the user's own documents it is None, and an id is
    ``collection/path``.
    """

    __slots__ = ("config", "home", "ids", "scope")

    def __init__(self, home: Home, config: Config, scope: str, ids: dict[str, str] | None) -> None:
        self.home = home
        self.config = config
        self.scope = scope
        self.ids = ids

    def identify(self, found: str) -> str:
        """The id of ``collection/path``."""
        return found if self.ids is None else self.ids.get(found.partition("/")[2], found)


class Arm:
    """``most`` bounds the questions of a set that are asked, 0 for all; ``cold`` says that `brain ask` is it.

    ``own`` says that it can be asked about the user's own memory without writing anything;
    ``vectors`` that a scratch corpus must be embedded for it.
    """

    __slots__ = ("cold", "most", "name", "opener", "options", "own", "summary", "vectors")

    def __init__(
        self,
        name: str,
        summary: str,
        opener: str,
        *,
        options: tuple[str, ...] = (),
        most: int = 0,
        cold: bool = False,
        own: bool = True,
        vectors: bool = False,
    ) -> None:
        self.name = name
        self.summary = summary
        self.opener = opener
        self.options = options
        self.most = most
        self.cold = cold
        self.own = own
        self.vectors = vectors

    def open(self, place: Place, options: dict[str, str]) -> AbstractContextManager[Answer]:
        """A context in which questions are answered. Raises Unavailable."""
        module, _, function = self.opener.partition(":")
        opened: Any = getattr(import_module(module), function)(place, **options)
        return opened  # type: ignore[no-any-return]


# True if this version of `ask` has an option for the mode of search; without the option no vectors are needed.
HAS_MODES = "mode" in Request.__slots__

# The baseline that others are compared with is the first one that is run of these.
BASELINES = ("qmd-lex", "inproc-bm25")

ARMS = {
    arm.name: arm
    for arm in (
        Arm("inproc-bm25", "the rank-bm25 package over lower-case words, in memory", "evals.arms.engine:bm25"),
        Arm("qmd-lex", "the engine's lexical ranking alone: no routing, no dates", "evals.arms.engine:lex"),
        Arm(
            "qmd-vec",
            "vectors alone: the question by the model itself, an exact scan, a document's best chunk",
            "evals.arms.engine:exact",
            vectors=True,
        ),
        Arm(
            "qmd-hybrid",
            "words and vectors fused for every question, which the model itself encodes; no abstention",
            "evals.arms.asking:hybrid",
            vectors=HAS_MODES,
        ),
        Arm(
            "qmd-hybrid+rerank",
            "the same, put in order by a reranker",
            "evals.arms.asking:reranked",
            vectors=HAS_MODES,
        ),
        Arm(
            "qmd-query",
            "qmd's own query: words and vectors fused by rank",
            "evals.arms.engine:query",
            own=False,  # for comparison with the next, where both are named
            vectors=True,
        ),
        Arm(
            "qmd-query+expand",
            "the same, the question rewritten by the generator that QMD_GENERATE_MODEL or the configuration names",
            "evals.arms.engine:expanded",
            own=False,  # it keeps what the generator said in the index, and may cost
            vectors=True,
        ),
        Arm(
            "ask",
            "brain ask's whole path, routing included; cold, so questions are encoded by the fitted table",
            "evals.arms.asking:ask",
            options=("mode", "min_score"),
            cold=True,
            vectors=HAS_MODES,
        ),
        Arm(
            "ask-warm",
            "the same as brain serve answers: questions encoded by the model itself",
            "evals.arms.asking:warm",
            options=("mode", "min_score"),
            vectors=HAS_MODES,
        ),
        Arm(
            "distilled",
            "qmd-lex over extractive distillates alone, without the sessions",
            "evals.arms.distilled:distilled",
            options=("centrality",),
            own=False,  # a large memory takes minutes to distil: only where it is named
        ),
        Arm(
            "real-qmd",
            "the real qmd's `search`, a process a question",
            "evals.arms.real_qmd:search",
            most=60,
            own=False,
        ),
    )
}


def _is_share(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


# Option → test of its value.
_OPTIONS: dict[str, Callable[[str], bool]] = {
    "mode": MODES.__contains__,
    "min_score": _is_share,
    "centrality": ("embedding", "terms").__contains__,
}


class Chosen:
    """An arm and its options, written ``ask`` or ``ask:mode=lex,min_score=0``."""

    __slots__ = ("arm", "label", "options", "vectors")

    def __init__(self, text: str) -> None:
        """Raises BadInput where there is no such arm or option."""
        name, _, rest = text.partition(":")
        if name not in ARMS:
            raise BadInput(f"there is no arm {name!r}", f"one of: {', '.join(ARMS)}")
        self.arm = ARMS[name]
        self.options: dict[str, str] = {}
        for part in filter(None, rest.split(",")):
            key, equals, value = part.partition("=")
            if not equals or key not in self.arm.options:
                known = ", ".join(f"{option}=…" for option in self.arm.options) or "it has none"
                raise BadInput(f"arm {name}: no option {part!r}", f"options of {name}: {known}")
            if not _OPTIONS[key](value):
                raise BadInput(f"arm {name}: {key} is not {value!r}", f"brain ask --help: --{key.replace('_', '-')}")
            self.options[key] = value
        # Searches by words and by dates need no vectors.
        self.vectors = self.arm.vectors and self.options.get("mode") not in ("lex", "time")
        given = ",".join(f"{key}={value}" for key, value in sorted(self.options.items()))
        self.label = f"{name}:{given}" if given else name
