"""Known-item questions from the user's own memory: what stands in one document should lead back to it.

Drawn by a rule, not by choice: of all titles, decisions, commands, errors and days that point at few documents, those
whose words hash lowest. The same memory gives the same questions. They are kept in ``state/eval/personal.json`` and are
held out: no split of them can be asked for, so nothing is ever tuned on them.
"""

from __future__ import annotations

import json
import os
import re
import time
from typing import TYPE_CHECKING, Any

from core import clock, config, frontmatter, jsonb
from core.errors import BadInput, EngineMissing
from core.files import write_atomic
from evals.dataset import Corpus, Dataset, Question, digest, order
from evals.own import OWN, corpus_of, documents_of
from qmd.store import open_index
from qmd.terms import STOP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.home import Home

KINDS = ("title", "decision", "command", "error", "date")
# More places than this, and a question has no known item.
_MOST_DOCUMENTS = {"title": 1, "decision": 1, "command": 3, "error": 3, "date": 10}
_PER_DOCUMENT = 2
# Of each kind so many candidates are held while reading: memory does not grow with the corpus.
_HELD = 4_000

_COMMAND = re.compile(r"^- (?:Bash: |! )(.+)$")
_ERROR = re.compile(r"^ {2}! (.+)$")
_DECIDES = re.compile(
    r"\b(?:decided|decision|agreed|instead of|from now on|we(?:'ll| will) (?:use|keep)|let's (?:use|keep|go with))\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w+")


class _Pool:
    """Candidates of one kind: text → the documents it stands in. Beyond twice ``limit``, the highest hashes are let go.

    A text's hash decides whether it is held, so whichever are held were counted from their first place on.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._ceiling: int | None = None
        self.limit = _HELD
        self.held: dict[int, tuple[str, dict[str, None]]] = {}

    def add(self, text: str, document: str) -> None:
        """``text`` stands in ``document``."""
        place = order(text, "personal")
        if self._ceiling is not None and place > self._ceiling:
            return
        _, documents = self.held.setdefault(place, (text, {}))
        if len(documents) <= self._most:
            documents[document] = None
        if len(self.held) > 2 * self.limit:
            kept = sorted(self.held)[: self.limit]
            self._ceiling = kept[-1]
            self.held = {place: self.held[place] for place in kept}

    def candidates(self) -> Iterator[tuple[str, list[str]]]:
        """(text, documents) of those that point at few enough, the lowest hash first."""
        for place in sorted(self.held):
            text, documents = self.held[place]
            if len(documents) <= self._most:
                yield text, sorted(documents)


def path(home: Home) -> str:
    """Where the set is kept."""
    return os.path.join(home.state, "eval", "personal.json")


def build(
    home: Home, each: int, *, fresh: bool = False, progress: Callable[[int, int, str], None] | None = None
) -> dict[str, Any]:
    """Draw up to ``each`` questions of each kind and keep them; returns counts for the user.

    Questions that are kept already stay as long as their documents are there, so that figures can be compared over
    time; ``fresh`` draws all of them anew. Raises EngineMissing where nothing is indexed.
    """
    known = set(documents_of(home))
    if not known:
        raise EngineMissing("nothing is indexed yet", "brain index")
    old = [] if fresh else [q for q in _load(home) or [] if set(q["relevant"]) <= known and q["type"] in KINDS]
    pools = _read(home, progress)
    chosen: list[dict[str, Any]] = []
    used: dict[str, int] = {}
    for kind in KINDS:
        mine = [question for question in old if question["type"] == kind][:each]
        for question in mine:
            _use(used, question["relevant"])
        asked = {order(question["text"]) for question in mine}
        for text, documents in pools[kind].candidates():
            if len(mine) >= each:
                break
            if order(text) in asked or any(used.get(document, 0) >= _PER_DOCUMENT for document in documents):
                continue
            _use(used, documents)
            mine.append({"id": f"{kind}-{digest([text])[:10]}", "text": text, "type": kind, "relevant": documents})
        chosen += mine
    if not chosen:
        raise EngineMissing("no document says anything that a question could be drawn from", "brain index")
    kept = {"schema": 1, "built": clock.iso(clock.now()), "held_out": True, "questions": chosen}
    write_atomic(path(home), json.dumps(kept, ensure_ascii=False, indent=1).encode("utf-8", "replace"))
    counts = {kind: sum(question["type"] == kind for question in chosen) for kind in KINDS}
    return {"questions": len(chosen), "by_type": counts, "documents": len(known), "kept": sum(q in old for q in chosen)}


def load(home: Home) -> tuple[Dataset, int]:
    """The set, asked of the brain that is there, and how many of its questions have lost their documents.

    Raises BadInput where none was built.
    """
    questions = _load(home)
    if questions is None:
        raise BadInput("there are no questions about your own memory yet", "brain eval build  (or --data PATH)")
    known = set(documents_of(home))
    asked = [
        Question(q["id"], q["text"], OWN, {document: 1 for document in q["relevant"] if document in known}, q["type"])
        for q in questions
    ]
    asked = [question for question in asked if question.relevant]
    if not asked:
        raise BadInput("the documents of all questions are gone", "brain eval build --fresh")
    corpus: Corpus = corpus_of(home)
    key = digest([corpus.key, *(f"{q.id}\t{q.text}\t{sorted(q.relevant)}" for q in asked)])
    return Dataset(OWN, [corpus], asked, key), len(questions) - len(asked)


def _load(home: Home) -> list[dict[str, Any]] | None:
    try:
        with open(path(home), encoding="utf-8") as stream:
            questions: list[dict[str, Any]] = json.load(stream)["questions"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path(home)} is damaged: {error}", "brain eval build --fresh") from None
    return questions


def _use(used: dict[str, int], documents: list[str]) -> None:
    for document in documents:
        used[document] = used.get(document, 0) + 1


def _read(home: Home, progress: Callable[[int, int, str], None] | None) -> dict[str, _Pool]:
    pools = {kind: _Pool(_MOST_DOCUMENTS[kind]) for kind in KINDS}
    asked = [name for name, folder in config.load(home).collections.items() if folder.include_by_default]
    marks = ",".join("?" * len(asked))
    connection = open_index(home.index)
    try:
        total = connection.execute(
            f"SELECT count(*) FROM documents WHERE active = 1 AND collection IN ({marks})", asked
        ).get
        rows = connection.execute(
            "SELECT d.collection || '/' || d.path, d.title, f.date, f.ended, f.dated, f.fields, c.doc FROM documents d"
            " JOIN content c ON c.hash = d.hash JOIN brain_facts f ON f.document_id = d.id"
            f" WHERE d.active = 1 AND d.collection IN ({marks}) ORDER BY d.id",
            asked,
        )
        for number, (document, title, date, ended, dated, fields, text) in enumerate(rows, 1):
            if progress is not None and number % 100 == 0:
                progress(number, int(str(total)), "reading documents")
            unpacked: Any = jsonb.unpack(bytes(fields)) if fields else {}
            for kind, said in _draw(str(title), str(text), unpacked if isinstance(unpacked, dict) else {}):
                pools[kind].add(said, str(document))
            if dated:
                for day in _days(int(date), int(ended)):
                    pools["date"].add(f"what happened on {day}?", str(document))
    finally:
        connection.close()
    return pools


def _draw(title: str, text: str, fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(kind, question) of everything in a document that could be asked for."""
    if _tells(title, 3) and len(title) <= 120:
        yield "title", title
    found = frontmatter.bounds(text)
    decided = fields.get("type") in ("decision", "rejected", "preference")
    for line in text[found[2] if found else 0 :].splitlines():
        if command := _COMMAND.match(line):
            said = command[1].partition("  # ")[0].strip()
            if 12 <= len(said) <= 120 and len(said.split()) >= 3:
                yield "command", said
        elif error := _ERROR.match(line):
            said = error[1].strip()
            if 20 <= len(said) <= 160 and _tells(said, 3) and not said.startswith("Exit code"):
                yield "error", said
        elif line[:1].isalpha() and (decided or _DECIDES.search(line)):
            for sentence in _SENTENCE.split(line):
                if 5 <= len(sentence.split()) <= 30 and _tells(sentence, 4) and (decided or _DECIDES.search(sentence)):
                    yield "decision", sentence.strip()


def _tells(text: str, least: int) -> bool:
    """Whether so many different words remain without those that say nothing."""
    return text.isprintable() and len({word for word in _WORD.findall(text.lower()) if word not in STOP}) >= least


_MONTHS = "January February March April May June July August September October November December".split()


def _days(date: int, ended: int) -> Iterator[str]:
    """The first and the last day of a document where the user is, as a person writes them."""
    seen = None
    for instant in (date, ended):
        try:
            day = time.localtime(instant)[:3]
        except (OverflowError, ValueError, OSError):
            continue
        if day != seen:
            seen = day
            yield f"{day[2]} {_MONTHS[day[1] - 1]} {day[0]}"
