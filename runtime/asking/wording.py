"""Sentences of an answer for people, besides its hits: where each comes from, why nothing was found, how old it is.

Texts of documents are one line and printable here, so that a surface cannot forget it.
"""

from __future__ import annotations

from core.text import one_line, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_NEAREST = "Nothing clearly answers this. Nearest:"
_UNMENTIONED = "The best match does not mention"
_MODES = {
    "lex": "by words", "strict": "by words, all of them", "vec": "by meaning", "hybrid": "by words and meaning",
    "time": "in the order of time",
}  # fmt: skip
_WORKTREES = ("worktrees", ".worktrees")
LESS_CLEAR = "--- less clear from here on ---"


def line(text: str) -> str:
    """Return text of a document on one line: it can neither drive the terminal nor pass for a line of ours."""
    return one_line(printable(text))


def snippet(hit: dict[str, Any]) -> list[str]:
    """Return the lines of a hit that answer, without blank ones."""
    return [shown for raw in hit["snippet"].splitlines() if (shown := printable(raw).rstrip())]


def preface(envelope: dict[str, Any]) -> list[str]:
    """Return the line before hits that may not answer, if any: words that the best place lacks, or that all are far."""
    missing = ", ".join(f"“{line(name)}”" for name in envelope.get("missing", ()))
    if envelope.get("nearest"):
        return [f"{_UNMENTIONED} {missing}. Nearest:" if missing else _NEAREST]
    return [f"{_UNMENTIONED} {missing}."] if missing and envelope.get("hits") else []


def begins_rest(hit: dict[str, Any], envelope: dict[str, Any]) -> bool:
    """Return True if the scores fall off before this hit; another engine says nothing about that."""
    return bool(envelope["hits"]) and hit["rank"] == envelope.get("clear", 0) + 1 > 1


def about(item: dict[str, Any]) -> str:
    """Return when and where a hit, or an item of a list, is from, and the score of a hit."""
    age = f"{item['age']} ({item['date'][:10]})" if item["date"] else "of unknown age"
    parts = [
        item.get("owner"),
        age,
        item["type"],
        item["source"] or item["collection"],
        item["trust"],
        project(item["project"]),
    ]
    parts.append(item.get("machine") and f"from {item['machine']}")
    said = " · ".join(dict.fromkeys(line(part) for part in parts if part))
    return f"{said} · score {item['score']:.2f}" if "score" in item else said


def project(path: str | None) -> str:
    """Return a project by the end of its path: the whole of it is in --json and in the document."""
    return project_name(path, parts=2)


def project_name(path: str | None, parts: int = 1) -> str:
    """Return a project by the last parts of its path; a work tree by its repository and its own name: ``cli/1``."""
    if not path:
        return ""
    # A drive begins the paths of Windows.
    whole = path.replace("\\", "/") if path[1:2] == ":" else path
    names = whole.rstrip("/").split("/")
    for index, name in enumerate(names[1:-1], 1):
        if name in _WORKTREES:
            repository = next((each for each in names[index - 1 :: -1] if each and not each.startswith(".")), "")
            return f"{repository}/{names[-1]}" if repository else names[-1]
    return "/".join(names[-parts:]) or path


def where(hit: dict[str, Any]) -> str:
    """Return the uri and the docid of a hit, and of its other representations."""
    said = f"{line(hit['uri'])}:{hit['line']}  {hit['docid']}"
    for other in hit.get("representations", ())[1:]:
        said += f"  (also {line(other['uri'])}:{other['line']}, {other['trust']})"
    return said


def nothing(envelope: dict[str, Any], within: Sequence[str] = ()) -> list[str]:
    """Return why there are no hits, and what would show more: the restrictions first, as they leave out the most.

    ``within`` are the restrictions as they are typed: ``--source claude``.
    """
    lines = []
    if within:
        lines.append(line(f"Asked only within {' '.join(within)}: leave that out to ask all of memory."))
    place = "there" if within else "in memory"
    days = envelope.get("days")
    if days:
        from runtime.asking.absence import days_sentence

        lines.append(days_sentence(days, within=bool(within)))
        if not days["documents"]:
            return lines
    if envelope.get("abstained"):
        lines.append(f"Nothing {place} is relevant enough. Other words may find more.")
    else:
        explain = ", or `brain explain` to see what is indexed"
        lines.append(f"Nothing {place} matches. Try fewer or other words{'' if within else explain}.")
    return lines


def without_team(found: dict[str, Any]) -> list[str]:
    """Return a line if an answer lacks what the team shares, or a part; ``found`` is an envelope's ``freshness``."""
    team: dict[str, Any] = found.get("team", {})
    if missing := team.get("missing"):
        return [f"Without what the team shares: {line(missing)}"]
    if left_out := team.get("left_out"):
        what = "document" if left_out == 1 else "documents"
        return [f"Without {left_out} {what} of the team: they are more text than one answer reads"]
    return []


def behind(found: dict[str, Any], fix: str) -> list[str]:
    """Return a line about transcripts that no run has read; ``found`` is an envelope's ``freshness``."""
    lexical, lines = found["lexical"], without_team(found)
    if lexical["as_of"] is None:
        return [*lines, "No index run has ended yet, so there may be more: brain index"]
    if not lexical["pending"]:
        return lines
    many = lexical["pending"] > 1
    what = f"At least {lexical['pending']} transcripts" if many else "A transcript or a collection"
    return [*lines, f"{what} changed since {lexical['as_of']}: {fix}"]


def how(envelope: dict[str, Any]) -> str:
    """Return how a question was answered, in a few words: ``by words``."""
    mode = str(envelope["route"]["mode"])
    return _MODES.get(mode, mode)


def took(envelope: dict[str, Any]) -> str:
    """Return how many hits there are, how long they took, and how the question was read."""
    count = len(envelope["hits"])
    hits = "1 hit" if count == 1 else f"{count} hits"
    return f"{hits} in {envelope['took_ms']:.0f} ms ({envelope['route']['reason']})"
