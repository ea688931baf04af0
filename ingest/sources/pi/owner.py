"""Whose a transcript of Pi's family is, Pi's or OpenClaw's: both write one format, and a folder may hold either's.

The place says it where a tool's variables and settings name it, or a folder is called as only one of them calls its
own; then what only one of them writes; then the folders that collections.yml gives a source; then how else folders and
the file are called: ``~/.pi/agent/sessions/--<folder>--/<time>_<id>.jsonl`` (Pi's own documentation),
``~/.openclaw/agents/<agent>/sessions/<id>.jsonl`` (https://docs.openclaw.ai/concepts/session). Where nothing says it,
it is the source's that was named first.
"""

from __future__ import annotations

from os.path import abspath, expanduser, join
from typing import TYPE_CHECKING, Any

from ingest import registry
from ingest.session.values import string

if TYPE_CHECKING:
    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore

PI, OPENCLAW = "pi", "openclaw"
OTHERS = {
    PI: "a transcript of OpenClaw's: --source openclaw reads it",
    OPENCLAW: "a transcript of Pi's: --source pi reads it",
}
_OTHER = {PI: OPENCLAW, OPENCLAW: PI}
_FOLDERS = (".openclaw", ".clawdbot", ".moltbot", ".moldbot")
# What a tool of OpenClaw's is called, and none of Pi's own (read, bash, edit, write, grep, find, ls).
_TOOLS = frozenset("exec process session_status subagents memory_search memory_get".split())
_MODELS = frozenset(("delivery-mirror", "gateway-injected"))


def of_entry(record: dict[str, Any], message: dict[str, Any]) -> str:
    """Who alone writes such an entry, "" where both do."""
    custom = string(record.get("customType"))
    if custom == "model-snapshot" or custom.startswith(("openclaw.", "openclaw:")):
        return OPENCLAW
    if record.get("type") == "session":
        return OPENCLAW if any(part.startswith(_FOLDERS) for part in _parts(string(record.get("cwd")))) else ""
    if message.get("role") == "bashExecution":
        return PI
    if message.get("model") in _MODELS or message.get("provider") == OPENCLAW:
        return OPENCLAW
    content = message.get("content")
    for block in content if type(content) is list else ():
        name = block.get("name") if type(block) is dict and block.get("type") == "toolCall" else ""
        if type(name) is str and (name in _TOOLS or name.startswith("sessions_")):
            return OPENCLAW
    return ""


def owner(path: str, raw: RawStore, unit: str, written: set[str]) -> str:
    """``pi``, ``openclaw`` or "", of the file at ``path`` with the session ``unit``; ``written``: what entries say."""
    if named := _whose(path, {name: registry.source(name).places() for name in _OTHER}):
        return named
    *folders, name = _parts(path)
    if any(len(folder) > 4 and folder.startswith("--") and folder.endswith("--") for folder in folders):
        return PI
    if any(folder.startswith(_FOLDERS) for folder in folders):
        return OPENCLAW
    if ".pi" in folders:
        return PI
    stem, _, rest = name.partition(".jsonl")
    if rest:  # archived, or a copy that a repair made
        return OPENCLAW
    if len(written) == 1:
        return next(iter(written))
    if written:
        return OPENCLAW
    if given := _whose(path, {name: raw.configured(name) for name in _OTHER}):
        return given
    around = folders[:-1] if folders[-1:] == ["cold"] else folders
    if around[-1:] == ["sessions"] and around[-3:-2] == ["agents"]:
        return OPENCLAW
    if stem == unit or stem.startswith(f"{unit}-topic-"):
        return OPENCLAW
    return PI if stem.endswith(f"_{unit}") and stem[:4].isdigit() else ""


def is_others(name: str, reading: Reading, unit: str, written: set[str]) -> bool:
    """Whether a transcript is not for the source ``name`` to read."""
    path, raw = reading.path, reading.raw
    found = owner(path, raw, unit, written)
    if found and not raw.alone_has(path, _OTHER[name]):
        return found != name
    return raw.is_of(_OTHER[name], path, unit)


def _whose(path: str, folders: dict[str, list[str]]) -> str:
    """The source one of whose ``folders`` holds the file, the innermost counts; "" where that is both's or neither's.

    A folder that holds all of the home folder says nothing.
    """
    path, home = abspath(path), join(expanduser("~"), "")
    depths = {
        name: max((len(each) for each in given if _holds(each, path) and not _holds(each, home)), default=0)
        for name, given in folders.items()
    }
    (least, _), (most, name) = sorted((depth, name) for name, depth in depths.items())
    return name if least < most else ""


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(join(folder, ""))


def _parts(path: str) -> list[str]:
    return path.replace("\\", "/").split("/")
