"""What a session is compressed to, and its markdown: sections of statements, each with the turns it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.text import one_line

STATEMENT_LIMIT = 600
_CITED = 6

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
# Of these a statement is a word or a name: they stand on one line each, as lists.
WORDS = ("technologies", "concepts")


@dataclass(frozen=True, slots=True)
class Statement:
    """One line, and the numbers of the turns that say so; ``why`` is what a decision or a rejection rests on."""

    text: str
    turns: tuple[int, ...]
    why: str = ""

    def line(self) -> str:
        """As it stands in the document: text, why, citations."""
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
        """The turns that anything rests on."""
        return {turn for statements in self.sections.values() for each in statements for turn in each.turns}

    def count(self) -> int:
        """How many statements there are."""
        return sum(map(len, self.sections.values()))

    def body(self, title: str) -> str:
        """The markdown below the frontmatter: the title, then the sections that have something to say."""
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
