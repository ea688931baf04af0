"""``brain hook``: what an agent runs. Never fails it, never speaks to it unasked.

Claude Code's names are those of ``runtime.hooks``: of a session, a folder, a prompt. Other agents took over most of
them; the rest is in the tables below.
"""

from __future__ import annotations

import sys

from cli.context import Context, write
from cli.spec import Args, Command, Option
from core.errors import OK, BrainError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_FORM = Option(
    "--form",
    metavar="FORM",
    default="nested",
    choices=("nested", "camel", "snake", "context", "text"),
    help="how the agent reads the answer: nested (Claude Code), camel, snake, context, text",
)

COMMAND = Command(
    "hook",
    "entry point for installed hooks (reads hook JSON from stdin)",
    description=(
        "Reads the JSON that an agent hands to a hook. Exits 0 whatever happens; failures are in the telemetry.\n"
        "BRAIN_HOOKS=off makes all of them do nothing."
    ),
    commands=(
        Command(
            "hook stop",
            "index the session that the event names",
            options=(Option("--source", metavar="NAME", default="claude", help="the source of the agent's sessions"),),
            examples=("brain hook stop < payload.json", "brain hook stop --source codex < payload.json"),
        ),
        Command(
            "hook session-start",
            "put what holds in the project, or what a compaction lost, into the context, and report a missed session",
            options=(Option("--misses", help="only the line"), _FORM),
            examples=("brain hook session-start --misses < payload.json",),
        ),
        Command(
            "hook prompt",
            "put what the memory holds on the prompt into the context",
            options=(_FORM,),
            examples=("brain hook prompt < payload.json",),
        ),
        Command(
            "hook guard",
            "put one line of memory before a command or an edit, or after its failure, into the context",
            options=(_FORM,),
            examples=("brain hook guard < payload.json",),
        ),
        Command("hook drain", "index what hooks have left to be indexed", examples=("brain hook drain",)),
    ),
)

# The name here → the names elsewhere: camelCase is Copilot's and Grok's, conversation_id Cursor's, event Crush's and
# Goose's, working_dir and message Goose's.
_NAMES = {
    "session_id": ("sessionId", "sessionID", "conversation_id"),
    "transcript_path": ("transcriptPath",),
    "prompt": ("initialPrompt", "message"),
    "hook_event_name": ("hookEventName", "event"),
    "cwd": ("working_dir",),
    "tool_name": ("toolName",),
    "tool_input": ("toolInput",),
}
# Names of events elsewhere: Gemini CLI's, Copilot's, Cursor's, Hermes's.
_EVENTS = {
    "BeforeAgent": "UserPromptSubmit",
    "AfterAgent": "Stop",
    "agentStop": "Stop",
    "stop": "Stop",
    "pre_llm_call": "UserPromptSubmit",
}
# The key of the answer in forms that have one key.
_KEYS = {"camel": "additionalContext", "snake": "additional_context", "context": "context"}
# Events of a hook for which the agent gave none.
_OWN_EVENTS = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}
# The events that the installed hooks answer to; telemetry names no other, since any text may come on stdin.
EVENTS = frozenset(
    """PostToolUseFailure PreCompact PreToolUse SessionEnd SessionStart Stop SubagentStop UserPromptSubmit""".split()
)


def run(args: Args, context: Context) -> int:
    """Do it, and end with 0: a memory that fails must not fail the work that it remembers."""
    context.surface = "hook"
    try:
        _run(args, context)
    except BrainError as error:
        context.fields.update(error=error.error, reason=_reason(error.message))
    except Exception as error:  # noqa: BLE001  # whatever it was, it is a fact for the telemetry and nobody else's
        context.fields.update(error=type(error).__name__, reason=_reason(str(error)))
    return OK


def _run(args: Args, context: Context) -> None:
    from runtime.hooks import hooks

    verb = args.command.verb
    context.fields["hook"] = verb
    if verb == "drain":
        context.fields["settled"] = hooks.drain(context.home)
        return
    reason = hooks.silenced(context.environ)
    if reason:
        context.fields.update(outcome="silenced", reason=reason)
        return
    raw = hooks.payload(sys.stdin.buffer.read(hooks.INPUT_LIMIT + 1))
    given = understood(raw)
    event = given.get("hook_event_name")
    context.fields["hook_event"] = event if isinstance(event, str) and event in EVENTS else "other"
    if verb == "stop":
        done = hooks.stop(context.home, given, context.environ, args.source)
        context.fields.update(done)
        if args.json:
            context.emit({"schema": 1, "ok": True, **done})
        return
    if verb == "guard":
        line = _guarded(given, context)
        if line:
            write(answer(args.form, verb, raw, line))
        return
    from runtime.hooks import recall

    spoken = recall.speak(context.home, verb, given, misses_only=verb == "session-start" and args.misses)
    context.fields["n_hits"] = len(spoken.uris)
    if spoken.uris:
        context.fields["uris"] = spoken.uris
    if spoken.text:
        write(answer(args.form, verb, raw, spoken.text))


def _guarded(given: dict[str, Any], context: Context) -> str:
    """Return the guard's line, "" for none. Without a decision in the output, the call goes on as it is."""
    from runtime.guard import guard
    from runtime.hooks import hooks

    folder, path = given.get("cwd"), given.get("transcript_path")
    names = [each if isinstance(each, str) else "" for each in (path, folder)]
    if hooks.excluded(context.home, *names):
        context.fields["outcome"] = "excluded"
        return ""
    line = guard.speak(context.home, given)
    context.fields["n_hits"] = int(bool(line))
    return line


def _reason(message: str) -> str:
    """Return what telemetry says of a failure, which may name a file that the payload names."""
    from core.redaction import shown

    return shown(message)[:300]


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
    extra = given.get("extra")  # Hermes's
    if "prompt" not in found and isinstance(extra, dict) and "user_message" in extra:
        found["prompt"] = extra["user_message"]
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
            ``context`` that of Hermes and Crush, ``text`` is for agents that add what a hook prints as it is.
        verb: the hook, whose event is named if the input names none.
        given: the hook's input as the agent gave it.
        text: the context to add.
    """
    import json

    if form == "text":
        return text + "\n"
    if form in _KEYS:
        return json.dumps({_KEYS[form]: text}) + "\n"
    event = given.get("hook_event_name")
    named = event if isinstance(event, str) and event else _OWN_EVENTS.get(verb, "")
    return json.dumps({"hookSpecificOutput": {"hookEventName": named, "additionalContext": text}}) + "\n"
