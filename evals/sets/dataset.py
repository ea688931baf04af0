"""The data of an evaluation: questions, the documents that answer them, and corpora."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

SPLITS = ("all", "dev", "held-out")
# The halves that a set assigns itself, so that no session is in both: one to choose by, one to check the choice.
HALVES = ("choose", "exam")
# Types of questions that a set asks although its corpus has no answer.
UNANSWERABLE = ("other topic", "near miss")


@dataclass(frozen=True, slots=True)
class Question:
    """``relevant`` maps ids of documents to grades above 0; empty where the corpus holds no answer.

    ``id`` is unique in its dataset, ``corpus`` names the corpus that is asked, ``kind`` is the type it is reported by.
    ``half`` is one of ``HALVES``, "" in a set without halves. ``spans`` are texts, normalised, of which each is the
    answer (``evals.sets.spans``); none where only the document is known.
    """

    id: str
    text: str
    corpus: str
    relevant: dict[str, int]
    kind: str = ""
    half: str = ""
    spans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents that are indexed together. ``key`` is a digest of their content, the same for the same documents.

    ``write(folder)`` puts them into an empty folder and returns id by file: a transcript's session id, or a file's
    name. ``layout`` says as what: transcripts of Claude Code (``transcripts``), markdown files (``documents``) or files
    of any ending (``files``). ``layout`` ``home`` means an existing brain; ``scope`` is then its
    collection ("" for those asked by default) and nothing is written. ``layout`` ``raw files`` means that the folders
    of ``sources`` (by source) are indexed where they are. A question's documents are then paths below ``base``: the
    files that the documents are made of.
    """

    name: str
    key: str
    layout: str
    write: Callable[[Path], dict[str, str]]
    scope: str = ""
    sources: dict[str, list[str]] = field(default_factory=dict)
    base: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named set. ``key`` is a digest of everything in it; ``left_out`` counts its questions that cannot be scored.

    ``about`` is reported with its figures: the version of the user's own set, and the share of copied words.
    """

    name: str
    corpora: list[Corpus]
    questions: list[Question]
    key: str = field(default="")
    left_out: int = 0
    about: dict[str, Any] = field(default_factory=dict)

    def corpus(self, name: str) -> Corpus:
        """The corpus of that name."""
        return next(corpus for corpus in self.corpora if corpus.name == name)


def clean(text: Any) -> str:
    """A question's words as the index can be asked them: no space around, none of a character's halves; "" for none."""
    return "" if text is None else str(text).encode("utf-8", "replace").decode().strip()


def repeated(names: Iterable[str]) -> str:
    """The first name that comes twice, "" where each comes once."""
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), "")  # type: ignore[func-returns-value]


def digest(parts: Iterable[str]) -> str:
    """16 hex digits that change with any of ``parts``."""
    whole = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        whole.update(b"%d:" % len(raw) + raw)
    return whole.hexdigest()[:16]


def order(text: str, salt: str = "") -> int:
    """A number that depends on the words of ``text`` alone: what questions are sampled and split by."""
    return int(digest([salt, " ".join(text.casefold().split())]), 16)


def split_of(text: str) -> str:
    """``dev`` or ``held-out``, half and half: by the question's words, so that a repeated one is never in both."""
    return "dev" if order(text, "split") % 2 == 0 else "held-out"


def select(questions: Sequence[Question], split: str, most: int = 0, half: str = "") -> list[Question]:
    """The questions of ``split``, in their order; of more than ``most`` (0: any number) a sample chosen by hash.

    ``half`` is one of ``HALVES``, "" for both.
    """
    if split not in SPLITS:
        raise BadInput(f"no split {split!r}", f"one of: {', '.join(SPLITS)}")
    kept = [q for q in questions if split in ("all", split_of(q.text)) and half in ("", q.half)]
    if most and len(kept) > most:
        chosen = {q.id for q in sorted(kept, key=lambda q: (order(q.text, "sample"), q.id))[:most]}
        kept = [question for question in kept if question.id in chosen]
    return kept


def foreign(datasets: Sequence[Dataset], of: Dataset, split: str, most: int) -> list[Question]:
    """Return questions without an answer in ``of``, at most ``most`` of a kind, spread evenly over its corpora.

    ``wrong set``: questions of another set. ``wrong conversation``: questions of another corpus of the same set, with
    similar subjects. Identical questions are left out.
    """
    own = {order(question.text) for question in of.questions}
    strangers = [
        question
        for dataset in datasets
        if dataset.name != of.name
        for question in select(dataset.questions, split)
        if question.relevant and order(question.text) not in own
    ]
    asked: list[Question] = []
    ordered = sorted({order(q.text, "foreign"): q for q in strangers}.items())
    for number, (_, question) in enumerate(ordered[:most]):
        corpus = of.corpora[number % len(of.corpora)].name
        asked.append(Question(f"wrong-set:{number}:{question.id}", question.text, corpus, {}, "wrong set"))
    if len(of.corpora) > 1:
        names = [corpus.name for corpus in of.corpora]
        where: dict[int, set[str]] = {}
        for question in of.questions:
            where.setdefault(order(question.text), set()).add(question.corpus)
        for question in select([q for q in of.questions if q.relevant], split, most):
            others = [name for name in names if name not in where[order(question.text)]]
            if others:
                other = others[order(question.text, "elsewhere") % len(others)]
                asked.append(
                    Question(f"wrong-conversation:{question.id}", question.text, other, {}, "wrong conversation")
                )
    return asked
