"""The words of agents' hooks: what each names a session, a folder, a prompt, and the form of the answer.

Claude Code's names are this package's. Other agents took over most of them; the rest is in the tables below.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The name here → the names elsewhere: camelCase is Copilot's, conversation_id Cursor's.
_NAMES = {
    "session_id": ("sessionId", "sessionID", "conversation_id"),
    "transcript_path": ("transcriptPath",),
    "prompt": ("initialPrompt",),
    "hook_event_name": ("hookEventName",),
}
# Gemini CLI's names of events.
_EVENTS = {"BeforeAgent": "UserPromptSubmit"}
# Events of a hook for which the agent gave none.
_OWN_EVENTS = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}


def understood(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hook's input under Claude Code's names."""
    found = dict(given)
    for name, others in _NAMES.items():
        if name not in found:
            value = next((given[other] for other in others if given.get(other) is not None), None)
            if value is not None:
                found[name] = value
    roots = given.get("workspace_roots")  # Cursor's
    if "cwd" not in found and isinstance(roots, list) and roots:
        found["cwd"] = roots[0]
    prompt = found.get("prompt")
    if isinstance(prompt, list):  # parts of a message, as Kimi gives them
        texts = [part.get("text") for part in prompt if isinstance(part, dict)]
        found["prompt"] = " ".join(text for text in texts if isinstance(text, str))
    event = found.get("hook_event_name")
    if isinstance(event, str):
        found["hook_event_name"] = _EVENTS.get(event, event)
    return found


def answer(form: str, verb: str, given: Mapping[str, Any], text: str) -> str:
    """Return the one line that gives ``text`` to the agent in its form.

    Args:
        form: ``nested`` is Claude Code's, ``camel`` Copilot's and our plugins', ``snake`` Cursor's,
            ``text`` is for agents that add what a hook prints as it is.
        verb: the hook, whose event is named if the input names none.
        given: the hook's input as the agent gave it.
        text: the context to add.
    """
    import json

    if form == "text":
        return text + "\n"
    if form in ("camel", "snake"):
        return json.dumps({"additionalContext" if form == "camel" else "additional_context": text}) + "\n"
    event = given.get("hook_event_name")
    named = event if isinstance(event, str) and event else _OWN_EVENTS.get(verb, "")
    return json.dumps({"hookSpecificOutput": {"hookEventName": named, "additionalContext": text}}) + "\n"
