"""Formats of agents' settings files: how a part of ours is looked for, put in and taken out of a text.

A part is one thing that a file holds for one agent: an MCP server, hooks, a whole file. Every edit
keeps the rest of the file byte for byte.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

from ops.install import block_edit, hook_edit, json_edit
from runtime.explaining.installation import runs_brain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ABSENT, SAME, OTHER, FOREIGN = "absent", "current", "outdated", "foreign"


class Part(NamedTuple):
    """One thing that a file holds: the ``agent`` that reads it, its ``kind``, and what its ``form`` puts where.

    ``key`` is the path of keys of an entry. ``value`` is an entry's value, the text of a block or file, or for hooks
    {"entries": event → entry, "flat", "bare", "matchers"}.
    """

    agent: str
    kind: str
    form: str
    key: tuple[str, ...]
    value: Any

    def record(self) -> dict[str, Any]:
        """Return the part as ``state/installed.json`` keeps it."""
        return {**self._asdict(), "key": list(self.key)}


def from_record(found: Any) -> Part:
    """Return the part that a record holds. Raises ValueError for another shape."""
    try:
        part = Part(*(found[name] for name in Part._fields))._replace(key=tuple(map(str, found["key"])))
        is_sound = isinstance(part.agent, str) and isinstance(part.kind, str) and part.form in FORMS
        value = part.value["entries"] if part.form == "hooks" else part.value
    except (KeyError, TypeError):
        is_sound, value = False, None
    if not is_sound or not isinstance(value, (dict, str)):
        raise ValueError("a part has another shape")
    return part


class Form(NamedTuple):
    """One format: the text of a ``new`` file, and three functions over (text, part).

    ``state`` returns ABSENT, SAME, OTHER (an entry of ours with another value) or FOREIGN. All raise ValueError if the
    text is not of the format.
    """

    new: str
    state: Callable[[str, Part], str]
    put: Callable[[str, Part], str]
    take: Callable[[str, Part], str]


def is_ours(value: Any) -> bool:
    """Return True if an entry runs ``brain mcp`` or ``brain hook``, of this installation or of another."""
    return runs_brain(_words(value), ("mcp", "hook"))


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split()
    if isinstance(value, dict):
        first = ("command", "cmd", "args")  # the program, then its arguments
        order = sorted(value, key=lambda name: first.index(name) if name in first else len(first))
        return [word for name in order for word in _words(value[name])]
    return [word for each in value for word in _words(each)] if isinstance(value, list) else []


_IN_TEXT = re.compile(r'^const COMMAND = (?P<json>\[.*\]);?$|^exec (?P<shell>.*) "\$@"$', re.M)


def command_lines(value: Any) -> list[str]:
    """Return the shell lines that a part starts programs by: of a server's entry, of hooks, of a text with either."""
    if isinstance(value, str):
        if found := _IN_TEXT.search(value):
            words = [] if found["shell"] else _parsed(found["json"])
            return [found["shell"] or shlex.join(map(str, words or ()))]
        parsed = _parsed(value)
        return command_lines(parsed) if isinstance(parsed, (dict, list)) else []
    if isinstance(value, list):
        return [line for each in value for line in command_lines(each)]
    if not isinstance(value, dict):
        return []
    command = value.get("command") or value.get("cmd") or value.get("bash")
    if isinstance(command, str) and not isinstance(value.get("args"), list):
        return [command]
    if isinstance(command, (str, list)):
        words = [command, *value["args"]] if isinstance(command, str) else command
        variables: dict[str, Any] = next(
            (value[name] for name in ("env", "environment", "envs") if value.get(name)), {}
        )
        before = [f"{name}={shlex.quote(str(each))}" for name, each in variables.items()]
        return [" ".join([*before, shlex.join(map(str, words))])]
    return [line for each in value.values() for line in command_lines(each)]


def _parsed(text: str) -> Any:
    """Return the value of a text in JSON, TOML or YAML, None for another text."""
    for parse in (json.loads, tomllib.loads, _yaml):
        try:
            return parse(text)
        except ValueError:
            continue
    return None


def _judge(found: Any, wanted: Any) -> str:
    if found is None:
        return ABSENT
    return SAME if found == wanted else OTHER if is_ours(found) else FOREIGN


# JSON and its relatives: one entry below a path of keys.


def _json_containers(text: str, key: Sequence[str]) -> list[tuple[int, dict[str, json_edit.Span]]]:
    """Return (position, members) of each object on the way to an entry, as far as they exist."""
    found = []
    at = json_edit.start(text)
    for name in [*key, ""]:
        members = json_edit.members(text, at)
        found.append((at, members))
        if name not in members or len(found) == len(key):
            return found
        at = members[name].value
    return found


def _json_state(text: str, part: Part) -> str:
    containers = _json_containers(text, part.key)
    span = containers[-1][1].get(part.key[-1]) if len(containers) == len(part.key) else None
    return _judge(None if span is None else json_edit.loads(text[span.value : span.end]), part.value)


def _json_put(text: str, part: Part) -> str:
    containers = _json_containers(text, part.key)
    depth = len(containers) - 1
    value = part.value
    for name in reversed(part.key[depth + 1 :]):
        value = {name: value}
    at, members = containers[-1]
    unit = json_edit.indentation(text)
    addition = json_edit.dump({part.key[depth]: value}, unit)
    if "\n" in addition:  # without the braces, and a level to the left
        addition = "\n".join(line.removeprefix(unit) for line in addition.splitlines()[1:-1])
    else:
        addition = addition[1:-1]
    changed = json_edit.insert(text, at, list(members.values()), addition, depth)
    json_edit.loads(changed)
    return changed


def _json_take(text: str, part: Part) -> str:
    containers = _json_containers(text, part.key)
    if len(containers) < len(part.key) or part.key[-1] not in containers[-1][1]:
        return text
    depth = len(part.key) - 1
    while depth and len(containers[depth][1]) == 1:
        depth -= 1  # a container that becomes empty goes, too
    members = containers[depth][1]
    return json_edit.remove(text, list(members.values()), list(members).index(part.key[depth]))


# Hooks in JSON.


def _shape(part: Part) -> hook_edit.Shape:
    flat, bare = (bool(part.value.get(name)) for name in ("flat", "bare"))
    return hook_edit.Shape(flat, bare, dict(part.value.get("matchers") or {}))


def _hooks_state(text: str, part: Part) -> str:
    found = hook_edit.entries_of(text, _shape(part))
    if not found:
        return ABSENT
    return SAME if found == part.value["entries"] else OTHER


def _hooks_put(text: str, part: Part) -> str:
    for name, value in (part.value.get("extra") or {}).items():
        top = json_edit.start(text)
        members = json_edit.members(text, top)
        if name not in members:  # the version of the form, which a new file must name
            text = json_edit.insert(text, top, list(members.values()), f"{json.dumps(name)}: {json.dumps(value)}", 0)
    return hook_edit.with_entries(text, part.value["entries"], _shape(part))


def _hooks_take(text: str, part: Part) -> str:
    return hook_edit.with_entries(text, {}, _shape(part))


# TOML: a block of tables at the end.


def _toml(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix("\ufeff"))


def _block_state(text: str, body: str) -> str:
    span = block_edit.find(text)
    if span is None:
        return ABSENT
    wanted = block_edit.block(body).split()
    return SAME if text[span[0] : span[1]].split() == wanted else OTHER


def _toml_state(text: str, part: Part) -> str:
    state = _block_state(text, part.value)
    if state != ABSENT or not part.key:
        return state
    return _judge(_value_at(_toml(text), part.key), _value_at(tomllib.loads(part.value), part.key))


def _toml_put(text: str, part: Part) -> str:
    changed = block_edit.append(text, part.value)
    _toml(changed)  # fails where the file has the table in a form that cannot be extended
    return changed


def _toml_take(text: str, part: Part) -> str:
    if block_edit.find(text):
        return block_edit.remove(text)
    if not part.key or not is_ours(_value_at(_toml(text), part.key)):
        return text
    name = r"\s*\.\s*".join(rf"[\"']?{re.escape(each)}[\"']?" for each in part.key)
    table = re.compile(rf"^[ \t]*\[\s*{name}\s*(?:\.[^\]\n]*)?\].*?(?=^[ \t]*\[|\Z)", re.S | re.M)
    changed = table.sub("", text)
    _toml(changed)
    return changed


def _value_at(value: Any, key: Sequence[str]) -> Any:
    for name in key:
        if isinstance(value, list):
            value = next((each for each in value if isinstance(each, dict) and each.get("name") == name), None)
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


# YAML: an entry of a mapping, or an item of a list of named mappings, below one key of the top.


def _yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error).replace("\n", " ")) from None


def _yaml_state(text: str, part: Part) -> str:
    return _judge(_value_at(_yaml(text), part.key), _value_at(_yaml(f"{part.key[0]}:\n{part.value}"), part.key))


def _yaml_put(text: str, part: Part) -> str:
    before = _yaml(text)
    top = part.key[0]
    found = re.search(rf"^{re.escape(top)}[ \t]*:[ \t]*(\{{\}}|\[\]|null|~)?[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)", text, re.M)
    if found is None:
        if top in before:
            raise ValueError(f"{top!r} has a form that cannot be extended")
        lines = part.value.splitlines()
        changed = block_edit.append(text, "\n".join([f"{top}:", *lines]))
    else:
        line = found[0] if not found[1] else re.sub(rf":[ \t]*{re.escape(found[1])}", ":", found[0], count=1)
        text = text[: found.start()] + line + text[found.end() :]
        at = found.start() + len(line)
        if not text[:at].endswith("\n"):
            text += "\n"
            at = len(text)
        child = re.match(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*([ \t]*)(?:(-)[ \t]|[^\s#])", text[at:])
        has_child = child is not None and (bool(child[1]) or bool(child[2]))
        indent = child[1] if child is not None and has_child else "  "
        own = len(part.value) - len(part.value.lstrip(" "))
        body = "\n".join(line[own:] for line in part.value.splitlines())
        changed = block_edit.insert(text, at, body, indent)
    after = _yaml(changed)
    if _value_at(after, part.key) is None or _without(after, part.key) != _without(before, part.key):
        raise ValueError(f"{top!r} has a form that cannot be extended")
    return changed


def _without(value: Any, key: Sequence[str]) -> Any:
    """Return a document without an entry, and without the container that is empty then."""
    inner = value.get(key[0]) if isinstance(value, dict) else None
    if isinstance(inner, dict):
        inner = {name: each for name, each in inner.items() if name != key[1]}
    elif isinstance(inner, list):
        inner = [each for each in inner if not (isinstance(each, dict) and each.get("name") == key[1])]
    rest = {name: each for name, each in value.items() if name != key[0]}
    return {**rest, key[0]: inner} if inner else rest


def _yaml_take(text: str, part: Part) -> str:
    if block_edit.find(text):
        return block_edit.remove(text)
    if not is_ours(_value_at(_yaml(text), part.key)):
        return text
    # The agent rewrote the file without the markers: take the lines that are indented below the entry.
    name = re.escape(part.key[1])
    entry = re.compile(
        rf"^(?P<in>[ \t]+){name}[ \t]*:[^\n]*\n(?:(?P=in)[ \t]+[^\n]*\n?|[ \t]*\n)*"
        rf"|^(?P<it>[ \t]*)-[ \t]+name:[ \t]*[\"']?{name}[\"']?[ \t]*\n(?:(?P=it)[ \t]+[^\n]*\n?|[ \t]*\n)*",
        re.M,
    )
    changed = entry.sub("", text, count=1)
    if _without(_yaml(changed), part.key) != _without(_yaml(text), part.key):
        raise ValueError(f"the entry {part.key[1]!r} cannot be taken out alone")
    return changed


FORMS = {
    "json": Form("{}\n", _json_state, _json_put, _json_take),
    "hooks": Form("{}\n", _hooks_state, _hooks_put, _hooks_take),
    "toml": Form("", _toml_state, _toml_put, _toml_take),
    "yaml": Form("", _yaml_state, _yaml_put, _yaml_take),
    "file": Form(
        "",
        lambda text, part: ABSENT if not text else SAME if text == part.value else FOREIGN,
        lambda _, part: str(part.value),
        lambda _, __: "",
    ),
}
