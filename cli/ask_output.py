"""An ``ask`` envelope for people: plain text in a pipe, rich text on a terminal."""

from __future__ import annotations

from cli.context import Context, write
from core.text import one_line, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


_NEAREST = "Nothing clearly answers this. Nearest:"
_LESS_CLEAR = "--- less clear from here on ---"


def render(envelope: dict[str, Any], context: Context, within: Sequence[str] = ()) -> None:
    """Print the hits, or say that nothing was found and what to try.

    ``within`` are the restrictions that were asked for, as they are typed: ``--source claude``.
    """
    if context.rich:
        _rich(envelope, within)
    else:
        write(plain(envelope, within))


def plain(envelope: dict[str, Any], within: Sequence[str] = ()) -> str:
    """Return the envelope as text without any styling."""
    lines = [_NEAREST, ""] if envelope.get("nearest") else []
    for hit in envelope["hits"] or envelope.get("nearest", ()):
        lines += [_LESS_CLEAR, ""] if _begins_rest(hit, envelope) else []
        lines += [f"{hit['rank']}. {_line(hit['title'])}", f"   {_about(hit)}", f"   {_where(hit)}"]
        lines += [f"   | {line}" for line in _snippet(hit)]
        lines += [f"   > {hit['resume']}"] if hit["resume"] else []
        if "warning" in hit:
            lines.append(f"   ! {hit['warning']}")
        if "explain" in hit:
            lines.append(f"   = {_explained(hit['explain'])}")
        lines.append("")
    lines += _footer(envelope, within)
    return "\n".join(lines) + "\n"


def _rich(envelope: dict[str, Any], within: Sequence[str]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    if envelope.get("nearest"):
        console.print(Text(_NEAREST + "\n", style="yellow"))
    for hit in envelope["hits"] or envelope.get("nearest", ()):
        if _begins_rest(hit, envelope):
            console.print(Text(_LESS_CLEAR + "\n", style="yellow"))
        heading = Text(f"{hit['rank']}. ", style="bold")
        heading.append(_line(hit["title"]), style="bold cyan")
        console.print(heading, overflow="ellipsis", no_wrap=True)
        console.print(Text(f"   {_about(hit)}", style="green" if not hit["stale"] else "yellow"))
        console.print(Text(f"   {_where(hit)}", style="dim"), overflow="fold")
        for line in _snippet(hit):
            # A quote is whole sentences: cut at the edge of the terminal, it would lose the answer.
            for number, part in enumerate(Text(line).wrap(console, max(console.width - 7, 20))):
                part.rstrip()
                console.print(Text("   │   " if number else "   │ ") + part, overflow="fold")
        if hit["resume"]:
            console.print(Text(f"   > {hit['resume']}", style="dim"))
        if "warning" in hit:
            console.print(Text(f"   ! {hit['warning']}", style="yellow"))
        if "explain" in hit:
            console.print(Text(f"   = {_explained(hit['explain'])}", style="dim"))
        console.print()
    for line in _footer(envelope, within):
        console.print(Text(line, style="dim"))


def _begins_rest(hit: dict[str, Any], envelope: dict[str, Any]) -> bool:
    """Return True if the scores fall off before this hit; another engine says nothing about that."""
    return bool(envelope["hits"]) and hit["rank"] == envelope.get("clear", 0) + 1 > 1


def _about(hit: dict[str, Any]) -> str:
    age = f"{hit['age']} ({hit['date'][:10]})" if hit["date"] else "of unknown age"
    parts = [age, hit["type"], hit["source"] or hit["collection"], hit["trust"]]
    parts.append(_project(hit["project"]))
    shown = [_line(part) for part in parts if part]
    return " · ".join(dict.fromkeys(shown)) + f" · score {hit['score']:.2f}"


def _project(path: str | None) -> str:
    """Return a project by the end of its path: the whole of it is in --json and in the document."""
    return "/".join(path.rstrip("/").split("/")[-2:]) if path else ""


def _where(hit: dict[str, Any]) -> str:
    where = f"{_line(hit['uri'])}:{hit['line']}  {hit['docid']}"
    for other in hit.get("representations", ())[1:]:
        where += f"  (also {_line(other['uri'])}:{other['line']}, {other['trust']})"
    return where


def _line(text: str) -> str:
    """Return text of a document on one line: it can neither drive the terminal nor pass for a line of ours."""
    return one_line(printable(text))


def _snippet(hit: dict[str, Any]) -> list[str]:
    return [line for raw in hit["snippet"].splitlines() if (line := printable(raw).rstrip())]


def _explained(parts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in parts.items())


def _nothing(envelope: dict[str, Any], within: Sequence[str]) -> list[str]:
    """Return why there are no hits, and what would show more: the restrictions first, as they leave out the most."""
    lines = []
    if within:
        lines.append(_line(f"Asked only within {' '.join(within)}: leave that out to ask all of memory."))
    where = "there" if within else "in memory"
    about = envelope.get("days")
    if about:
        from runtime.asking.absence import days_sentence

        lines.append(days_sentence(about, within=bool(within)))
        if not about["documents"]:
            return lines
    if envelope.get("abstained"):
        lines.append(f"Nothing {where} is relevant enough. Other words may find more.")
    else:
        explain = ", or `brain explain` to see what is indexed"
        lines.append(f"Nothing {where} matches. Try fewer or other words{'' if within else explain}.")
    return lines


def behind(found: dict[str, Any], fix: str) -> list[str]:
    """Return a line for people about transcripts that no run has read; ``found`` is an envelope's ``freshness``."""
    lexical = found["lexical"]
    if lexical["as_of"] is None:
        return ["No index run has ended yet, so there may be more: brain index"]
    if not lexical["pending"]:
        return []
    many = lexical["pending"] > 1
    what = f"At least {lexical['pending']} transcripts" if many else "A transcript or a collection"
    return [f"{what} changed since {lexical['as_of']}: {fix}"]


def _footer(envelope: dict[str, Any], within: Sequence[str]) -> list[str]:
    lines = []
    if not envelope["hits"]:
        lines += _nothing(envelope, within)
    lines += behind(envelope["freshness"], "brain ask --refresh …")
    count = len(envelope["hits"])
    hits = "1 hit" if count == 1 else f"{count} hits"
    lines.append(f"{hits} in {envelope['took_ms']:.0f} ms ({envelope['route']['reason']})")
    return lines
