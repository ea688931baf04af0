"""What people said in their sessions that they prefer, or want from now on, newest sessions first.

Such a sentence is read when it is asked for: no distillate is needed. Rules read the English of ``phrases.PREFERS``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from core import clock
from core.redaction import excerpt
from qmd.index import catalogue
from qmd.index.catalogue import Document, Filters
from runtime.distill import phrases
from runtime.distill.transcript import TURN, read
from runtime.distill.words import sentences, straight

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from core.config import Config

# A passage that can hold such a sentence, for FTS5.
_MATCH = " OR ".join(
    f'"{each}"'
    for each in (
        "prefer", "d rather", "would rather", "from now on", "going forward", "always use", "never use",
        "always", "never",
    )
)  # fmt: skip
# Sessions that are read, and characters of them.
_SESSIONS, _CHARACTERS = 200, 4_000_000
_PERSON = "user"


class Preference(NamedTuple):
    """One sentence of a person: its text, time (epoch seconds), line, and the session's document."""

    text: str
    at: int
    line: int
    document: Document


def said(connection: apsw.Connection, config: Config) -> Iterator[Preference]:
    """Yield what persons said in the newest sessions that hold such a sentence. Raises apsw.Error."""
    filters = Filters(config.trusting("session"), unnamed="session")
    left = _CHARACTERS
    for row in catalogue.mentioning(connection, _MATCH, filters, _SESSIONS):
        document = Document(row)
        # The prompts of a subagent are its agent's.
        if document.field("parent") or config.trust_of(document.collection, document.path) != "session":
            continue
        text = catalogue.text(connection, document.hash) or ""
        left -= len(text)
        if left < 0:
            return
        yield from _of_session(document, excerpt(text, 0, len(text), is_clean=document.is_clean))


def _of_session(document: Document, text: str) -> Iterator[Preference]:
    lines = text.split("\n")
    turns = [(at, opened) for at, line in enumerate(lines) if (opened := TURN.match(line))]
    ends = [at for at, _ in turns[1:]] + [len(lines)]
    for (start, opened), end in zip(turns, ends, strict=True):
        if opened[2] != _PERSON:
            continue
        whole = "\n".join(lines[start:end])
        if not phrases.PREFERS.search(straight(whole)):
            continue  # nearly always
        time = (opened[3] or "").removeprefix(" · ").replace(" ", "T")
        at = (clock.parse_iso(f"{time}:00Z") if time else None) or document.ended
        for sentence in sentences(read(whole)):
            plain = straight(sentence.text)
            is_said = sentence.is_own and phrases.PREFERS.search(plain) and not phrases.SUPPOSES.search(plain)
            if is_said and not plain.endswith(("?", ":")):
                yield Preference(sentence.text, at, start + 1, document)
