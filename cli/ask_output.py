"""An ``ask`` envelope for people: plain text in a pipe, rich text on a terminal."""

from __future__ import annotations

from cli.context import Context, write
from runtime.asking.wording import LESS_CLEAR, about, begins_rest, behind, line, nothing, preface, snippet, took, where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


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
    lines = [each for said in preface(envelope) for each in (said, "")]
    for hit in envelope["hits"] or envelope.get("nearest", ()):
        lines += [LESS_CLEAR, ""] if begins_rest(hit, envelope) else []
        lines += [f"{hit['rank']}. {line(hit['title'])}", f"   {about(hit)}", f"   {where(hit)}"]
        lines += [f"   | {each}" for each in snippet(hit)]
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
    for said in preface(envelope):
        console.print(Text(said + "\n", style="yellow"))
    for hit in envelope["hits"] or envelope.get("nearest", ()):
        if begins_rest(hit, envelope):
            console.print(Text(LESS_CLEAR + "\n", style="yellow"))
        heading = Text(f"{hit['rank']}. ", style="bold")
        heading.append(line(hit["title"]), style="bold cyan")
        console.print(heading, overflow="ellipsis", no_wrap=True)
        console.print(Text(f"   {about(hit)}", style="green" if not hit["stale"] else "yellow"))
        console.print(Text(f"   {where(hit)}", style="dim"), overflow="fold")
        for each in snippet(hit):
            # A quote is whole sentences: cut at the edge of the terminal, it would lose the answer.
            for number, part in enumerate(Text(each).wrap(console, max(console.width - 7, 20))):
                part.rstrip()
                console.print(Text("   │   " if number else "   │ ") + part, overflow="fold")
        if hit["resume"]:
            console.print(Text(f"   > {hit['resume']}", style="dim"))
        if "warning" in hit:
            console.print(Text(f"   ! {hit['warning']}", style="yellow"))
        if "explain" in hit:
            console.print(Text(f"   = {_explained(hit['explain'])}", style="dim"))
        console.print()
    for each in _footer(envelope, within):
        console.print(Text(each, style="dim"))


def _explained(parts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in parts.items())


def _footer(envelope: dict[str, Any], within: Sequence[str]) -> list[str]:
    lines = nothing(envelope, within) if not envelope["hits"] else []
    return [*lines, *behind(envelope["freshness"], "brain ask --refresh …"), took(envelope)]
