"""Known-item questions from the user's own memory: what a person remembers of a document should find it again.

A rule draws them: from all decisions, errors, commands, titles and days found in few documents, those with the lowest
hashes. They are asked in remembered words (``evals.questions.wording``); copies (a pasted command or error) are types
of their own. The same memory gives the same questions. They are stored in ``state/eval/personal.json``. They are held
out: they have no split to choose by, so nothing is tuned on them.
"""

from __future__ import annotations

import itertools
import json
import os
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import BadInput, BrainError, EngineMissing
from core.files import write_atomic
from evals.questions import candidates, wording
from evals.questions.candidates import KINDS
from evals.sets import spans
from evals.sets.dataset import Corpus, Dataset, Question, digest, order
from evals.sets.own import OWN, corpus_of, documents_of
from qmd.index.store import open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.home import Home

    # (the text that a question is made from, its documents, the answer or "" if none is known)
    _Candidate = tuple[str, list[str], str]

# The rules that questions are drawn by. Figures of sets of different versions say nothing about each other.
VERSION = 3
# FTS5 terms next to an error's file: spellings of errors.
_SPELLED = "(error OR fail OR exception OR fatal OR panic OR undefined OR denied OR traceback)"
_PER_DOCUMENT = 2
# Copies show only that what is pasted is found: a quarter as many, and one more of a document.
_COPIES = ("exact-error", "exact-command")
# Asked by all that a document has, and by another's words: neither takes a question of another type away.
_APART = ("date", "paraphrase")


def path(home: Home) -> str:
    """Where the set is kept."""
    return os.path.join(home.state, "eval", "personal.json")


def build(
    home: Home,
    each: int,
    *,
    fresh: bool = False,
    paraphrase: Callable[[str], str] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, Any]:
    """Draw up to ``each`` questions of each kind and keep them; returns counts for the user.

    Stored questions stay as long as their documents exist, so that figures can be compared. ``fresh`` replaces all of
    them; so does a set of another version. ``paraphrase`` rewords a text ("" if it cannot); its first failure
    ends rewording, and ``stopped`` in the result has the reason. Raises
    EngineMissing where nothing is indexed.
    """
    known = set(documents_of(home))
    if not known:
        raise EngineMissing("nothing is indexed yet", "brain index")
    before = _load(home)
    replaced = before["version"] if before and before["version"] != VERSION else None
    stay = [] if fresh or before is None or replaced else before["questions"]
    old = [question for question in stay if set(question["relevant"]) <= known and question["type"] in KINDS]
    connection = open_index(home.index)
    try:
        pools = candidates.read(home, connection, progress)
        places = wording.Places(connection)
        chosen: list[dict[str, Any]] = []
        used: dict[str, int] = {}
        stopped: list[str] = []
        for kind in KINDS:
            most = max(1, each // 4) if kind in _COPIES else each
            mine = [question for question in old if question["type"] == kind][:most]
            pool = pools[kind]
            texts: Iterator[_Candidate] = (
                (text, documents, pool.answers.get(text, "")) for text, documents in pool.candidates()
            )
            if kind == "paraphrase":  # each is a call of a model: as many again as are wanted may come to nothing
                texts = itertools.islice(_put_otherwise(texts, paraphrase, stopped), 2 * most)
            chosen += _fill(kind, mine, most, texts, places, used)
            if progress is not None:
                progress(len(known), len(known), f"drawing questions: {kind}")
    finally:
        connection.close()
    if not chosen:
        raise EngineMissing("no document says anything that a question could be drawn from", "brain index")
    kept = {"schema": 1, "version": VERSION, "built": clock.iso(clock.now()), "held_out": True, "questions": chosen}
    write_atomic(path(home), json.dumps(kept, ensure_ascii=False, indent=1).encode("utf-8", "replace"))
    counts = {kind: sum(question["type"] == kind for question in chosen) for kind in KINDS}
    return {
        "questions": len(chosen),
        "by_type": counts,
        "copied": shares(chosen),
        "documents": len(known),
        "kept": sum(question in old for question in chosen),
        "version": VERSION,
        "replaced": replaced,
        "stopped": stopped[0] if stopped else None,
    }


def _fill(
    kind: str,
    mine: list[dict[str, Any]],
    most: int,
    texts: Iterator[_Candidate],
    places: wording.Places,
    used: dict[str, int],
) -> list[dict[str, Any]]:
    """``mine`` and as many new questions of a kind as ``most`` leaves room for."""
    asked = {order(question["text"]) for question in mine}
    for question in mine:
        _use(used, kind, question["relevant"])
    while len(mine) < most and (found := next(texts, None)) is not None:
        text, documents, answer = found
        room = _PER_DOCUMENT + (kind in _COPIES)
        if kind not in _APART and any(used.get(document, 0) >= room for document in documents):
            continue
        said, told, relevant = _put(kind, text, documents, places)
        if not said or order(said) in asked:
            continue
        asked.add(order(said))
        _use(used, kind, relevant)
        copied = round(wording.copied(told, places.passages(relevant)), 3)
        identity = f"{kind}-{digest([said])[:10]}"
        entry = {"id": identity, "text": said, "type": kind, "relevant": relevant, "copied": copied}
        mine.append({**entry, "answer": answer} if answer else entry)
    return mine


def _put_otherwise(
    texts: Iterator[_Candidate], paraphrase: Callable[[str], str] | None, stopped: list[str]
) -> Iterator[_Candidate]:
    """``texts`` in other words; none without a ``paraphrase``, no more once it fails: why is added to ``stopped``."""
    if paraphrase is None:
        return
    for text, documents, answer in texts:
        try:
            said = paraphrase(text)
        except BrainError as error:
            stopped.append(f"{error.message} ({error.fix})" if error.fix else error.message)
            return
        yield said, documents, answer


def _put(kind: str, text: str, documents: list[str], places: wording.Places) -> tuple[str, str, list[str]]:
    """Return (the question, its share of copied words, the documents that answer it).

    No question where it would fit other documents as well, or says too little.
    """
    nothing: tuple[str, str, list[str]] = ("", "", documents)
    if kind == "date":
        return f"what did I do on {text}?", text, documents
    if kind in _COPIES:
        return text, text, documents
    if kind == "paraphrase":
        terms = sorted(wording.content(text))
        return nothing if len(terms) < 2 or places.elsewhere(terms, documents) else (text, text, documents)
    about, file, said = text.split("\t") if kind in ("error", "command") else ("", "", text)
    if file:
        found = places.only_in([file, _SPELLED], documents)
        told = f"{about} in {file}"
        return (told, told, sorted({*documents, *found})) if found else nothing
    named = set(about.lower().split())
    known = [word for word in wording.words(said, places.spread, places.rare) if word not in named]
    if kind == "reworded":
        exchanged = wording.reworded(known, said)
        if exchanged is None or places.elsewhere(exchanged[0], documents):
            return nothing
        wordings = [exchanged]
    else:
        wordings = wording.wordings(known, said, 2 if about else 3)
    fixed = [about] if kind == "command" else []
    for asked, own in wordings:
        found = places.only_in([*fixed, *own], documents) if len(own) > 1 else set()
        if found:
            told = " ".join(asked)
            return f"{_LEADS[kind].format(about)} {told}", f"{about} {told}", sorted({*documents, *found})
    return nothing


_LEADS = {
    "decision": "what did we decide about", "title": "where did we talk about", "reworded": "where did we talk about",
    "command": "the {} command to", "error": "{} about",
}  # fmt: skip


def shares(questions: list[dict[str, Any]]) -> dict[str, float]:
    """Return by type the mean share (0–1) of a question's words that its document's best passage has."""
    found: dict[str, list[float]] = {}
    for question in questions:
        if "copied" in question:
            found.setdefault(question["type"], []).append(float(question["copied"]))
    return {kind: round(sum(values) / len(values), 3) for kind, values in found.items()}


def load(home: Home) -> tuple[Dataset, int]:
    """The set, asked of the brain that is there, and how many of its questions have lost their documents.

    Raises BadInput where none was built.
    """
    kept = _load(home)
    if kept is None:
        raise BadInput("there are no questions about your own memory yet", "brain eval build  (or --data PATH)")
    questions = kept["questions"]
    known = set(documents_of(home))
    asked = [
        Question(
            q["id"],
            q["text"],
            OWN,
            {document: 1 for document in q["relevant"] if document in known},
            q["type"],
            spans=spans.variants(str(q.get("answer") or "")),
        )
        for q in questions
    ]
    asked = [question for question in asked if question.relevant]
    if not asked:
        raise BadInput("the documents of all questions are gone", "brain eval build --fresh")
    corpus: Corpus = corpus_of(home)
    key = digest([corpus.key, *(f"{q.id}\t{q.text}\t{sorted(q.relevant)}" for q in asked)])
    about = {"set_version": kept["version"], "copied": shares(questions)}
    return Dataset(OWN, [corpus], asked, key, about=about), len(questions) - len(asked)


def _load(home: Home) -> dict[str, Any] | None:
    """Return the stored set with its version."""
    try:
        with open(path(home), encoding="utf-8") as stream:
            kept: dict[str, Any] = json.load(stream)
        kept["questions"] = list(kept["questions"])
        kept["version"] = int(kept.get("version", 1))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{path(home)} is damaged: {error}", "brain eval build --fresh") from None
    return kept


def _use(used: dict[str, int], kind: str, documents: list[str]) -> None:
    for document in documents if kind not in _APART else ():
        used[document] = used.get(document, 0) + 1
