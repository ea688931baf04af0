"""Known-item questions from the user's own memory: what is remembered of one document should lead back to it.

Drawn by a rule, not by choice: of all decisions, errors, commands, titles and days that point at few documents, those
whose words hash lowest. They are asked in the words that a person would remember (``evals.remembered``); those that are
copies (a command or an error, pasted) are types of their own. The same memory gives the same questions. They are kept
in ``state/eval/personal.json`` and are held out: no split of them can be asked for, so nothing is ever tuned on them.
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
from evals import recognised, remembered
from evals.dataset import Corpus, Dataset, Question, digest, order
from evals.own import OWN, corpus_of, documents_of
from qmd.store import open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.home import Home

# The rules that questions are drawn by. Figures of sets of different versions say nothing about each other.
VERSION = 2
# In the order in which they may take of a document, the scarce first.
KINDS = ("decision", "error", "reworded", "command", "title", "exact-error", "exact-command", "date")
# More places than this, and a question has no known item.
_MOST_DOCUMENTS = {
    "decision": 1, "error": 3, "reworded": 1, "command": 3, "title": 1, "exact-error": 3, "exact-command": 3,
    "date": 10,
}  # fmt: skip
_PER_DOCUMENT = 2
# Copies show only that what is pasted is found: a quarter as many, and one more of a document.
_COPIES = ("exact-error", "exact-command")
# Of each kind so many candidates are held while reading: memory does not grow with the corpus.
_HELD = 4_000
# Characters. What is longer is no line that somebody remembers, and costs time.
_LONGEST_LINE = 2_000
_LONGEST = 300

_OUTPUT = re.compile(r"^ {2}! (.+)$")
_PYTHON_FILE = re.compile(r'File "(?:[^"]*/)?([^"/<>]+\.\w+)", line \d+')
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
# What FTS5 is asked for beside an error's file: how errors are spelled.
_SPELLED = "(error OR fail OR exception OR fatal OR panic OR undefined OR denied OR traceback)"


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
        if len(documents) <= 2 * self._most:  # a document may have its distillate beside it
            documents[document] = None
        if len(self.held) > 2 * self.limit:
            kept = sorted(self.held)[: self.limit]
            self._ceiling = kept[-1]
            self.held = {place: self.held[place] for place in kept}

    def candidates(self) -> Iterator[tuple[str, list[str]]]:
        """(text, documents) of those that point at few enough, the lowest hash first."""
        for place in sorted(self.held):
            text, documents = self.held[place]
            if len({remembered.name(document) for document in documents}) <= self._most:
                yield text, sorted(documents)


def path(home: Home) -> str:
    """Where the set is kept."""
    return os.path.join(home.state, "eval", "personal.json")


def build(
    home: Home, each: int, *, fresh: bool = False, progress: Callable[[int, int, str], None] | None = None
) -> dict[str, Any]:
    """Draw up to ``each`` questions of each kind and keep them; returns counts for the user.

    Questions that are kept already stay as long as their documents are there, so that figures can be compared over
    time; ``fresh`` draws all of them anew, and so does a set of another version. Raises EngineMissing where nothing is
    indexed.
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
        pools = _read(home, connection, progress)
        places = remembered.Places(connection)
        chosen: list[dict[str, Any]] = []
        used: dict[str, int] = {}
        for kind in KINDS:
            most = max(1, each // 4) if kind in _COPIES else each
            mine = [question for question in old if question["type"] == kind][:most]
            chosen += _fill(kind, mine, most, pools[kind], places, used)
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
    }


def _fill(
    kind: str,
    mine: list[dict[str, Any]],
    most: int,
    pool: _Pool,
    places: remembered.Places,
    used: dict[str, int],
) -> list[dict[str, Any]]:
    """``mine`` and as many new questions of a kind as ``most`` leaves room for."""
    asked = {order(question["text"]) for question in mine}
    for question in mine:
        _use(used, kind, question["relevant"])
    for text, documents in pool.candidates():
        if len(mine) >= most:
            break
        room = _PER_DOCUMENT + (kind in _COPIES)
        if kind != "date" and any(used.get(document, 0) >= room for document in documents):
            continue
        said, told, relevant = _put(kind, text, documents, places)
        if not said or order(said) in asked:
            continue
        asked.add(order(said))
        _use(used, kind, relevant)
        copied = round(remembered.copied(told, places.passages(relevant)), 3)
        identity = f"{kind}-{digest([said])[:10]}"
        mine.append({"id": identity, "text": said, "type": kind, "relevant": relevant, "copied": copied})
    return mine


def _put(kind: str, text: str, documents: list[str], places: remembered.Places) -> tuple[str, str, list[str]]:
    """(the question, what of it is told of the document, the documents that answer it).

    No question where it would fit other documents as well, or says too little.
    """
    nothing: tuple[str, str, list[str]] = ("", "", documents)
    if kind == "date":
        return f"what did I do on {text}?", text, documents
    if kind in _COPIES:
        return text, text, documents
    about, file, said = text.split("\t") if kind in ("error", "command") else ("", "", text)
    if file:
        found = places.only_in([file, _SPELLED], documents)
        told = f"{about} in {file}"
        return (told, told, sorted({*documents, *found})) if found else nothing
    named = set(about.lower().split())
    known = [word for word in remembered.words(said, places.spread, places.rare) if word not in named]
    if kind == "reworded":
        words = remembered.reworded(known, said)
        if words is None or places.elsewhere(words[0], documents):
            return nothing
        wordings = [words]
    else:
        wordings = remembered.wordings(known, said, 2 if about else 3)
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
    """By type, the mean share (0–1) of a question's words that stand in its document's best passage."""
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
        Question(q["id"], q["text"], OWN, {document: 1 for document in q["relevant"] if document in known}, q["type"])
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
    """What is kept, its version among it: sets that say none are of the first."""
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
    for document in documents if kind != "date" else ():  # a day asks for all that it has
        used[document] = used.get(document, 0) + 1


def _read(home: Home, connection: Any, progress: Callable[[int, int, str], None] | None) -> dict[str, _Pool]:
    pools = {kind: _Pool(_MOST_DOCUMENTS[kind]) for kind in KINDS}
    asked = [name for name, folder in config.load(home).collections.items() if folder.include_by_default]
    marks = ",".join("?" * len(asked))
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
                pools["date"].add(day, str(document))
    return pools


def _draw(title: str, text: str, fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(kind, what a question is made of) of everything in a document that could be asked for."""
    if _tells(title, 3) and len(title) <= 200:
        yield "title", title
        yield "reworded", title
    found = frontmatter.bounds(text)
    noted = fields.get("type") in ("decision", "rejected", "preference")
    made: recognised.Call | None = None
    file = ""
    for line in text[found[2] if found else 0 :].splitlines():
        if len(line) > _LONGEST_LINE:
            continue
        if output := _OUTPUT.match(line):
            if made is not None:  # what an agent's own tools answer is no error that a person had
                file = named[1] if (named := _PYTHON_FILE.search(line)) else file
                yield from _errors(output[1].strip(), made, file)
            continue
        if line.startswith("- "):
            made, file = recognised.call(line), ""
            if made is not None and recognised.sought(made) and made.line.isprintable():
                yield "exact-command", made.line
                said = made.purpose or made.line.partition(made.program)[2]
                if made.purpose.isprintable() and len(made.purpose) <= _LONGEST and _tells(made.purpose, 3):
                    yield "reworded", made.purpose
                if said.isprintable() and len(said) <= _LONGEST:
                    yield "command", f"{made.program}\t\t{said}"
        elif line[:1].isalpha() or line.startswith("**"):
            for sentence in _SENTENCE.split(line.replace("**", "")):
                if len(sentence) > _LONGEST or not 5 <= len(sentence.split()) <= 40 or not _tells(sentence, 3):
                    continue
                if recognised.decides(sentence) or (noted and not recognised.asks(sentence)):
                    yield "decision", sentence.strip()
                    yield "reworded", sentence.strip()


def _errors(line: str, made: recognised.Call, file: str) -> Iterator[tuple[str, str]]:
    failure = recognised.error(line) if len(line) <= _LONGEST and line.isprintable() else None
    if failure is None:
        return
    if 20 <= len(line) <= 160 and _tells(failure.said, 2) and _tells(line, 3):
        yield "exact-error", line
    if failure.file or file:
        yield "error", f"{failure.kind}\t{failure.file or file}\t"
    elif made.program and _tells(failure.said, 2):
        yield "error", f"{made.program} {failure.kind}\t\t{failure.said}"


def _tells(text: str, least: int) -> bool:
    """Whether so many different words remain without those that say nothing."""
    return text.isprintable() and len(remembered.content(text)) >= least


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
