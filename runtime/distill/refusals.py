"""Calls that a person refused, with what they said next: the plainest rejections that a transcript holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.text import one_line
from runtime.distill import phrases, shell
from runtime.distill.distillate import Statement
from runtime.distill.words import straight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.distill.transcript import Call
    from runtime.distill.words import Sentence

_WHAT = 200
_LATEST = 2  # turns after the refusal in which what is said is of it
_CURT = 3


def told(calls: Sequence[Call], said: Sequence[Sentence]) -> list[Statement]:
    """One statement for what was refused at once; looking that was broken off rejects nothing.

    What a person says next is given as that, "Said then", as it may be a ground or the next thing they want.
    """
    together: dict[tuple[int, str], list[str]] = {}
    cited: dict[tuple[int, str], tuple[int, ...]] = {}
    for call in calls:
        if not call.refused:
            continue
        answer = _answer(call, said)
        what = _what(call, answer is not None)
        if not what:
            continue
        key = (call.turn, answer.text if answer is not None else "")
        together.setdefault(key, []).append(what)
        cited[key] = (call.turn,) if answer is None else (call.turn, answer.turn)
    statements = []
    for (turn, answer_text), all_refused in together.items():
        listed = one_line("; ".join(dict.fromkeys(all_refused)), 2 * _WHAT)
        then = f" — said then: {answer_text}" if answer_text else ""
        statements.append(Statement(f"Refused by the user: {listed}{then}", cited[turn, answer_text]))
    return statements


def _answer(call: Call, said: Sequence[Sentence]) -> Sentence | None:
    """The first sentence of the prompt that followed, None where it was a mere "go on"."""
    for sentence in said:
        if sentence.role != "user" or not call.turn < sentence.turn <= call.turn + _LATEST:
            continue
        curt = len(sentence.words) <= _CURT and phrases.is_curt(straight(sentence.text))
        return sentence if sentence.is_own and sentence.words and not curt else None
    return None


def _what(call: Call, answered: bool) -> str:
    """What was refused, "" where that says nothing of an approach."""
    if call.kind == "shell":
        if not shell.acts(call.command):
            return ""
        # Its description says what it was for, where there is one.
        aim = call.argument.partition("  # ")[2] or call.command.partition("\n")[0].removeprefix("#!").lstrip()
        aim = aim.lstrip("# ") if aim.startswith("#") or "  # " in call.argument else ""
        return one_line(f"{call.name}: {aim or shell.short(call.command)}", _WHAT)
    if call.name == "ExitPlanMode":
        plan = next((each for each in [call.argument, *call.notes] if each.strip(" #`")), "")
        return one_line(f"the plan {plan.strip(' #`')}", _WHAT)
    if call.kind == "change" or call.name.startswith("mcp__"):
        return one_line(f"{call.name}: {call.argument}", _WHAT) if answered else ""
    return ""
