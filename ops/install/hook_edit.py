"""Hooks of ours in an agent's JSON settings: put in and taken out, without changing any other byte.

Claude Code's form, which most agents took over, has groups: ``{"hooks": {EVENT: [{"matcher": …, "hooks": [ENTRY]}]}}``.
The flat form is ``{"hooks": {EVENT: [ENTRY]}}``. The bare form has no key ``hooks``: the events are keys of the file.
An entry is ours if its command runs ``brain hook …``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ops.install import json_edit
from runtime.explaining.installation import is_hook


class Shape(NamedTuple):
    """The form of one agent's hooks: ``flat`` if an event's list holds the entries, not groups of them.

    ``bare`` is for a file that holds hooks alone: its events are keys of the file, unless it has a key ``hooks``.
    ``matchers`` has event → the expression over names of tools that a group gets. ``strict`` is for plain JSON.
    """

    flat: bool = False
    bare: bool = False
    matchers: Mapping[str, str] = {}
    strict: bool = False


def with_entries(text: str, entries: Mapping[str, dict[str, Any]], shape: Shape) -> str:
    """Return ``text`` with exactly ``entries`` (event → entry) as the hooks of ours. Raises ValueError."""
    present: dict[str, dict[str, Any]] = {}
    for event, span in reversed(ours(text, shape)):
        entry = json_edit.loads(text[span.start : span.end])
        if event in entries and entries[event] == entry and event not in present:
            present[event] = entry
        else:
            text = _without(text, event, span.start, shape)
    for event, entry in entries.items():
        if event not in present:
            text = _adding(text, event, entry, shape)
    json_edit.start(text, strict=shape.strict)  # write JSON, or nothing
    return text


def entries_of(text: str, shape: Shape) -> dict[str, dict[str, Any]]:
    """Return event → entry of the hooks of ours. Raises ValueError."""
    return {event: json_edit.loads(text[span.start : span.end]) for event, span in ours(text, shape)}


def ours(text: str, shape: Shape) -> list[tuple[str, json_edit.Span]]:
    """Return (event, where) of each hook entry of ours, in the order of the text. Raises ValueError."""
    return [
        (event, entry)
        for event, groups in _events(text, shape).items()
        if text[groups.value] == "["  # a file of hooks may have other keys, such as a schema's address
        for group in json_edit.items(text, groups.value)
        for entry in _entries(text, group, shape)
        if is_hook(json_edit.loads(text[entry.start : entry.end]))
    ]


def _entries(text: str, group: json_edit.Span, shape: Shape) -> list[json_edit.Span]:
    if shape.flat:
        return [group]
    hooks = json_edit.members(text, group.value).get("hooks")
    return [] if hooks is None else json_edit.items(text, hooks.value)


def _events(text: str, shape: Shape) -> dict[str, json_edit.Span]:
    members = json_edit.members(text, json_edit.start(text, strict=shape.strict))
    if "hooks" in members:
        return json_edit.members(text, members["hooks"].value)
    return members if shape.bare else {}


def _adding(text: str, event: str, entry: dict[str, Any], shape: Shape) -> str:
    unit = json_edit.indentation(text)
    top = json_edit.start(text, strict=shape.strict)
    members = json_edit.members(text, top)
    matcher = {"matcher": shape.matchers[event]} if event in shape.matchers else {}
    group = entry if shape.flat else {**matcher, "hooks": [entry]}
    is_nested = "hooks" in members
    if not is_nested and not shape.bare:
        addition = f'"hooks": {json_edit.dump({event: [group]}, unit)}'
        return json_edit.insert(text, top, list(members.values()), addition, 0)
    events = _events(text, shape)
    depth = int(is_nested)
    if event not in events:
        addition = f"{json.dumps(event)}: {json_edit.dump([group], unit)}"
        holder = members["hooks"].value if is_nested else top
        return json_edit.insert(text, holder, list(events.values()), addition, depth)
    groups = json_edit.items(text, events[event].value)
    return json_edit.insert(text, events[event].value, groups, json_edit.dump(group, unit), depth + 1)


def _without(text: str, event: str, start: int, shape: Shape) -> str:
    """Return ``text`` without the hook entry that begins at ``start``, and without containers that become empty."""
    members = json_edit.members(text, json_edit.start(text, strict=shape.strict))
    events = _events(text, shape)
    groups = json_edit.items(text, events[event].value)
    at = next(index for index, group in enumerate(groups) if group.start <= start < group.end)
    entries = _entries(text, groups[at], shape)
    if len(entries) > 1:
        return json_edit.remove(text, entries, [entry.start for entry in entries].index(start))
    if len(groups) > 1:
        return json_edit.remove(text, groups, at)
    if len(events) > 1 or "hooks" not in members:
        return json_edit.remove(text, list(events.values()), list(events).index(event))
    return json_edit.remove(text, list(members.values()), list(members).index("hooks"))
