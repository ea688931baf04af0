"""The document of a session, and its distillate: sections of statements, each with the turns that it rests on."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from os.path import join
from typing import TYPE_CHECKING, Any

from core import document, redaction
from core.document import Timestamp
from core.errors import BadInput
from core.files import read_or_none
from core.text import one_line
from ingest.policy.exclusions import SYNTHETIC_PROMPT

if TYPE_CHECKING:
    from core.config import Config


STATEMENT_LIMIT = 600
_CITED = 6
# Characters of the one statement that even the smallest distillate has.
_LEAST = 80

# Key → heading, in the order in which they stand.
SECTIONS = {
    "goals": "Goals",
    "decisions": "Decisions",
    "rejected": "Rejected approaches",
    "errors": "Errors and their fixes",
    "points": "Key points",
    "questions": "Open questions",
    "commands": "Commands that worked",
    "ran": "Commands whose outcome is not recorded",
    "files": "Files touched",
    "technologies": "Technologies",
    "concepts": "Concepts",
}
# A statement of these is a word or a name. Each section is one line, a list.
WORDS = ("technologies", "concepts")
# A distillate has at most this share of its session's characters.
SHARE = 0.4
# Sections that go into a small distillate first.
_FIRST_IN = (
    "rejected", "decisions", "errors", "goals", "points", "questions", "commands", "files", "ran", "technologies",
    "concepts",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """One line, and the numbers of the turns that say so; ``why`` is what a decision or a rejection rests on."""

    text: str
    turns: tuple[int, ...]
    why: str = ""

    def line(self) -> str:
        """Return the statement as the document has it: text, why, citations."""
        text = one_line(self.text, STATEMENT_LIMIT)
        why = one_line(self.why, STATEMENT_LIMIT)
        cited = " ".join(f"[{number}]" for number in self.turns[:_CITED])
        return f"{text} Why: {why} {cited}" if why else f"{text} {cited}"


@dataclass(slots=True)
class Distillate:
    """Statements by section (the keys of ``SECTIONS``), and tags, which are words for the frontmatter."""

    sections: dict[str, list[Statement]] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)

    def cited(self) -> set[int]:
        """Return the turns that anything rests on."""
        return {turn for statements in self.sections.values() for each in statements for turn in each.turns}

    def count(self) -> int:
        """Return how many statements there are."""
        return sum(map(len, self.sections.values()))

    def trim(self, room: int) -> None:
        """Keep statements of at most ``room`` characters in all, headings included.

        The first statement of each section comes first, then the second, and so on; lists of words come last. A long
        statement gives way to later ones. If none fits, the first one of all stays, cut.
        """
        kept: dict[str, list[int]] = {key: [] for key in _FIRST_IN}
        # Sentences first: lists of words add little.
        for keys in ([key for key in _FIRST_IN if key not in WORDS], WORDS):
            queues = {key: self._in_turn(key) for key in keys}
            while any(queues.values()):
                for key, queue in queues.items():
                    if not queue:
                        continue
                    at, statement = queue.pop(0)
                    needed = len(statement.line()) + len(", " if key in WORDS else "- \n")
                    needed += 0 if kept[key] else len(f"\n## {SECTIONS[key]}\n\n")
                    if needed <= room:
                        kept[key].append(at)
                        room -= needed
        if not any(kept.values()):
            key = next((key for key in _FIRST_IN if self.sections.get(key)), "")
            if key:
                first = self.sections[key][0]
                self.sections = {key: [Statement(one_line(first.text, max(room, _LEAST)), first.turns)]}
            return
        self.sections = {key: [self.sections[key][at] for at in sorted(kept[key])] for key in SECTIONS if kept.get(key)}

    def _in_turn(self, key: str) -> list[tuple[int, Statement]]:
        """Return a section's statements with their places; decisions and rejections latest first, because they hold."""
        found = list(enumerate(self.sections.get(key, [])))
        return found[::-1] if key in ("decisions", "rejected") else found

    def body(self, title: str) -> str:
        """Return the markdown below the frontmatter: the title, then the sections that have something to say."""
        pieces = [f"# {one_line(title)}"]
        for key, heading in SECTIONS.items():
            statements = [each for each in self.sections.get(key, []) if each.turns]
            if not statements:
                continue
            pieces += ["", f"## {heading}", ""]
            if key in WORDS:
                pieces.append(", ".join(each.line() for each in statements))
            else:
                pieces += [f"- {each.line()}" for each in statements]
        return "\n".join(pieces) + "\n"


DISTILLED = "distilled"
SESSIONS = "brain"
# Fields of a session's frontmatter that say nothing of its content.
_OF_THE_SESSION = frozenset(("git_branch", "models", "output_tokens", "slug", "turns", "version"))
# Every prompt of ours begins with it. A transcript that holds it there is the distiller's own, and no memory.
MARKER = f"{SYNTHETIC_PROMPT} brain-distill-request"
_FIRST = re.compile(r"(?m)^## \[1\] .*\n+(.*)$")


@dataclass(frozen=True, slots=True)
class Source:
    """One document: ``hash`` is the SHA-256 of its text, as the index has it; ``body`` is without frontmatter.

    ``size`` is that of its file, in bytes.
    """

    collection: str
    path: str
    hash: str
    meta: dict[str, Any]
    body: str
    size: int = 0

    @property
    def uri(self) -> str:
        """The uri of the document."""
        return f"qmd://{self.collection}/{self.path}"

    @property
    def title(self) -> str:
        """Its title, or its name."""
        return str(self.meta.get("title") or self.path.removesuffix(".md"))

    @property
    def is_synthetic(self) -> bool:
        """True if no person had this session: one that is labelled so, or the distiller's own with a model."""
        if self.meta.get("synthetic") is True:
            return True
        first = _FIRST.search(self.body)
        return first is not None and first[1].startswith(MARKER)


def file_of(config: Config, collection: str, path: str) -> str:
    """Return the absolute path of a document. Raises BadInput if its collection is not configured."""
    folder = config.collections.get(collection)
    if folder is None:
        raise BadInput(f"there is no collection {collection!r}", f"add it to {config.own}")
    return join(folder.path, path)


def digest(data: bytes) -> str:
    """Return the hash that the index has of a document with these bytes."""
    return hashlib.sha256(data.decode("utf-8", "replace").encode()).hexdigest()


def load(config: Config, collection: str, path: str) -> Source | None:
    """Return the document of a session, None if it is gone. Raises BadInput, OSError."""
    data = read_or_none(file_of(config, collection, path))
    if data is None:
        return None
    meta, body = document.split(data.decode("utf-8", "replace"))
    return Source(collection, path, digest(data), meta, body, len(data))


def known(config: Config, path: str) -> dict[str, Any]:
    """Return the frontmatter of the distilled document of that name, empty if there is none."""
    data = read_or_none(file_of(config, DISTILLED, path))
    return {} if data is None else document.split(data.decode("utf-8", "replace"))[0]


def changed(config: Config, source: Source) -> bool:
    """Return True if the document is another one by now, or gone."""
    data = read_or_none(file_of(config, source.collection, source.path))
    return data is None or digest(data) != source.hash


def compose(source: Source, found: Distillate, distiller: str, model: str, tokens: int, centrality: str = "") -> bytes:
    """Return the distilled document: the source's frontmatter and where this one is from, then the statements.

    ``tokens`` were sent to a model and received, 0 for none. Secrets are replaced here, too: a model may put together
    what the redaction of the source took apart.
    """
    meta = {
        key: Timestamp(value) if key in ("date", "ended") and isinstance(value, str) else value
        for key, value in source.meta.items()
        if key not in _OF_THE_SESSION
    }
    meta |= {
        "distiller": distiller,
        "distiller_model": model or None,
        "distiller_tokens": tokens or None,
        "distiller_centrality": centrality or None,
        "source_uri": source.uri,
        "source_hash": source.hash,
        "tags": found.tags,
    }
    body, _ = redaction.redact(found.body(source.title))
    return document.render(meta, body)


def names(config: Config, collection: str) -> list[str]:
    """Return the documents of a collection, regular files, by name. Raises BadInput if it is not configured."""
    top = file_of(config, collection, "")
    found = []
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        relative = os.path.relpath(folder, top)
        found += [
            name if relative == "." else join(relative, name)
            for name in sorted(files)
            if name.endswith(".md") and not name.startswith(".") and os.path.isfile(join(folder, name))
        ]
    return found
