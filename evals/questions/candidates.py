"""Candidates for questions: texts of a memory by kind, with the documents that contain them."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from core import config, document
from core.redaction import clean
from evals.questions import recognition, wording
from evals.sets.dataset import order
from qmd.index import catalogue, derived

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw

    from core.home import Home

# In the order in which they may take of a document, the scarce first.
KINDS = ("decision", "error", "reworded", "command", "title", "exact-error", "exact-command", "date", "paraphrase")
# More places than this, and a question has no known item.
_MOST_DOCUMENTS = {
    "decision": 1, "error": 3, "reworded": 1, "command": 3, "title": 1, "exact-error": 3, "exact-command": 3,
    "date": 10, "paraphrase": 1,
}  # fmt: skip
# So many candidates of each kind are held while reading: memory does not grow with the corpus.
HELD = 4_000
# Characters. Nobody remembers a longer line, and reading it costs time.
_LONGEST_LINE = 2_000
_LONGEST = 300

_OUTPUT = re.compile(r"^ {2}! (.+)$")
_PYTHON_FILE = re.compile(r'File "(?:[^"]*/)?([^"/<>]+\.\w+)", line \d+')
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Pool:
    """Candidates of one kind: text → its documents. Beyond twice ``limit``, the highest hashes are dropped.

    A text's hash decides whether it is held, so whichever are held were counted from their first place on.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._ceiling: int | None = None
        self.limit = HELD
        self.held: dict[int, tuple[str, dict[str, None]]] = {}
        # Text → what a person wants to read: the sentence that decides, the command itself.
        self.answers: dict[str, str] = {}

    def add(self, text: str, document: str, answer: str = "") -> None:
        """Record that ``document`` contains ``text``, and the ``answer`` to a question made of it ("" if none)."""
        place = order(text, "personal")
        if self._ceiling is not None and place > self._ceiling:
            return
        _, documents = self.held.setdefault(place, (text, {}))
        if answer:
            self.answers.setdefault(text, answer)
        if len(documents) <= 2 * self._most:  # a document may have a distillate
            documents[document] = None
        if len(self.held) > 2 * self.limit:
            kept = sorted(self.held)[: self.limit]
            self._ceiling = kept[-1]
            self.held = {place: self.held[place] for place in kept}
            self.answers = {said: self.answers[said] for said, _ in self.held.values() if said in self.answers}

    def candidates(self) -> Iterator[tuple[str, list[str]]]:
        """(text, documents) of those that point at few enough, the lowest hash first."""
        for place in sorted(self.held):
            text, documents = self.held[place]
            if len({wording.name(document) for document in documents}) <= self._most:
                yield text, sorted(documents)


def read(
    home: Home, connection: apsw.Connection, progress: Callable[[int, int, str], None] | None = None
) -> dict[str, Pool]:
    """Return by kind the texts of all documents that are asked by default, with the documents that contain them.

    Without secrets and private spans: they are kept, and may be sent to a generator.
    """
    pools = {kind: Pool(_MOST_DOCUMENTS[kind]) for kind in KINDS}
    asked = [name for name, folder in config.load(home).collections.items() if folder.include_by_default]
    of_asked = catalogue.Filters(asked)
    total = catalogue.count(connection, of_asked)
    for number, (row, text) in enumerate(catalogue.texts(connection, of_asked, ending="ORDER BY d.id"), 1):
        document = f"{row.collection}/{row.path}"
        if progress is not None and number % 100 == 0:
            progress(number, total, "reading documents")
        # As a whole: a line of a private span shows neither end of it.
        title, text = clean(derived.title(text, row.path), {}), clean(text, {})
        for kind, said, answer in _draw(title, text, row.fields):
            pools[kind].add(said, document, answer)
        if row.dated:
            for day in _days(row.date, row.ended):
                pools["date"].add(day, document)
    return pools


def _draw(title: str, text: str, fields: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(kind, what a question is made of, its answer or "") of everything in a document that could be asked for."""
    if _tells(title, 3) and len(title) <= 200:
        yield "title", title, ""
        yield "reworded", title, ""
        yield "paraphrase", title, ""
    found = document.bounds(text)
    noted = fields.get("type") in ("decision", "rejected", "preference")
    made: recognition.Call | None = None
    file = ""
    for line in text[found[2] if found else 0 :].splitlines():
        if len(line) > _LONGEST_LINE:
            continue
        if output := _OUTPUT.match(line):
            if made is not None:  # what an agent's own tools answer is no error that a person had
                file = named[1] if (named := _PYTHON_FILE.search(line)) else file
                yield from ((kind, said, "") for kind, said in _errors(output[1].strip(), made, file))
            continue
        if line.startswith("- "):
            made, file = recognition.call(line), ""
            if made is not None and recognition.sought(made) and made.line.isprintable():
                yield "exact-command", made.line, ""
                said = made.purpose or made.line.partition(made.program)[2]
                if made.purpose.isprintable() and len(made.purpose) <= _LONGEST and _tells(made.purpose, 3):
                    yield "reworded", made.purpose, made.line
                if said.isprintable() and len(said) <= _LONGEST:
                    yield "command", f"{made.program}\t\t{said}", made.line
        elif line[:1].isalpha() or line.startswith("**"):
            for sentence in _SENTENCE.split(line.replace("**", "")):
                if len(sentence) > _LONGEST or not 5 <= len(sentence.split()) <= 40 or not _tells(sentence, 3):
                    continue
                if recognition.decides(sentence) or (noted and not recognition.asks(sentence)):
                    yield "decision", sentence.strip(), sentence.strip()
                    yield "reworded", sentence.strip(), sentence.strip()
                    yield "paraphrase", sentence.strip(), sentence.strip()


def _errors(line: str, made: recognition.Call, file: str) -> Iterator[tuple[str, str]]:
    failure = recognition.error(line) if len(line) <= _LONGEST and line.isprintable() else None
    if failure is None:
        return
    if 20 <= len(line) <= 160 and _tells(failure.said, 2) and _tells(line, 3):
        yield "exact-error", line
    if failure.file or file:
        yield "error", f"{failure.kind}\t{failure.file or file}\t"
    elif made.program and _tells(failure.said, 2):
        yield "error", f"{made.program} {failure.kind}\t\t{failure.said}"


def _tells(text: str, least: int) -> bool:
    """Return True if so many different words remain without stop words."""
    return text.isprintable() and len(wording.content(text)) >= least


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
