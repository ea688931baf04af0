"""What is kept of a tool result: a failure's first lines, a person's decision, the agent that was started."""

from __future__ import annotations

from typing import Any, NamedTuple

from core.text import clean, one_line
from ingest.session import tool_calls

_REJECTED = ("The user doesn't want to proceed with this tool use", "The user doesn't want to take this action")
# Said of the calls that ran beside a failed one: nothing is known of them.
_SIBLING = "Sibling tool call errored"
_SAID = "the user said:"
_AFTER_SAID = "\n\nNote: The user's next message may contain"
# What the harness says for a person who asked to talk of the questions first, or to plan on what was answered so far.
_TALK = {
    "The user wants to clarify these questions.": "  the user wants to talk about the questions first",
    "The user has indicated they have provided enough answers": "  enough answered, the user says",
}
_MAX_ANSWER = 2000
_MAX_PLAN = 100_000


class Outcome(NamedTuple):
    """``note``: lines under the call; ``said``: a person's own words; ``agent``: the id of the subagent that ran."""

    note: str = ""
    said: str = ""
    agent: str = ""
    agent_type: str = ""


_NOTHING = Outcome()


def outcome(block: dict[str, Any], result: Any, *, wants_plan: bool = False) -> Outcome:
    """Read one ``tool_result`` block with its record's ``toolUseResult`` (a dict, a string, a list or nothing).

    ``wants_plan``: the call itself had no plan text, so the approved plan is taken from here.
    """
    details = result if type(result) is dict else {}
    if _failed(block, result):
        return _failure(_content(block) or (result if type(result) is str else ""))
    agent = details.get("agentId")
    if type(agent) is str and agent:
        kind = details.get("agentType")
        agent = one_line(agent, 200)
        return Outcome(f"  → agent-{agent}", "", agent, one_line(kind, 80) if type(kind) is str else "")
    if "answers" in details:
        return Outcome(_answers(details))
    text = block.get("content")
    if type(text) is not str or not text.startswith("User has "):
        return _NOTHING
    if text.startswith("User has approved"):
        plan = details.get("plan")
        if wants_plan and type(plan) is str and plan.strip():
            return Outcome(tool_calls.indented(clean(plan[:_MAX_PLAN]).strip()) + "\n  approved by the user")
        return Outcome("  approved by the user")
    if text.startswith("User has answered your questions:"):
        return Outcome(
            f"  answer: {one_line(text.partition(':')[2].partition('. You can now continue')[0], _MAX_ANSWER)}"
        )
    return _NOTHING


def _failed(block: dict[str, Any], result: Any) -> bool:
    if block.get("is_error") is True:
        return True
    if type(result) is str and result.startswith(("Error: ", "Error:\n")):
        return True
    text = block.get("content")
    return type(text) is str and text.startswith("Exit code ") and not text.startswith("Exit code 0")


def _failure(text: str) -> Outcome:
    if text.startswith(_REJECTED):
        said = ""
        if _SAID in text:
            said = clean(text.partition(_SAID)[2].partition(_AFTER_SAID)[0]).strip()
        for mark, note in _TALK.items():
            if said.startswith(mark):
                return Outcome("\n".join([note, *_so_far(said)]))
        return Outcome("  rejected by the user", said)
    if text.startswith("[Request interrupted by user"):
        return Outcome("  interrupted by the user")
    text = text.strip()
    if text.startswith("<tool_use_error>"):
        text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    if text.startswith(_SIBLING):
        return _NOTHING
    return Outcome(tool_calls.error_lines(text))


def _answers(details: dict[str, Any]) -> str:
    answers = details.get("answers")
    notes = details.get("annotations")
    lines: list[str] = []
    if type(answers) is dict:
        for question, answer in answers.items():
            shown = one_line(answer if type(answer) is str else ", ".join(map(str, answer or ())), _MAX_ANSWER)
            extra = notes.get(question) if type(notes) is dict else None
            extra = extra.get("notes") if type(extra) is dict else None
            if type(extra) is str and extra.strip():
                shown = f"{shown} ({one_line(extra, _MAX_ANSWER)})"
            which = f" to “{one_line(str(question), 120)}”" if len(answers) > 1 else ""
            lines.append(f"  answer{which}: {shown}")
    return "\n".join(lines)


def _so_far(said: str) -> list[str]:
    """What was answered of the questions that the harness lists, each with what was noted beside it."""
    lines: list[str] = []
    for piece in said.partition(":\n")[2].split('\n- "'):
        question, _, answer = piece.partition('"\n  Answer: ')
        answer, _, extra = answer.partition("\n  User notes: ")
        extra = extra or piece.partition('"\n  (No answer provided)\n  User notes: ')[2]
        shown = " ".join(part for part in (answer, f"({extra})" if extra else "") if part.strip())
        if shown:
            asked = one_line(question.partition('"\n  (No answer')[0].removeprefix('- "'), 120)
            lines.append(f"  answer to “{asked}”: {one_line(shown, _MAX_ANSWER)}")
    return lines


def _content(block: dict[str, Any]) -> str:
    content = block.get("content")
    if type(content) is str:
        return content
    if type(content) is not list:
        return ""
    return "\n".join(item["text"] for item in content if type(item) is dict and type(item.get("text")) is str)
