"""What is put into a settings file of any format comes out again, and every other byte stays."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ops.install import forms, json_edit
from ops.install.forms import ABSENT, FOREIGN, FORMS, OTHER, SAME, Part

SERVER = {"command": "/opt/brain/bin/brain", "args": ["mcp"], "env": {"BRAIN_HOME": "/x"}}
OLD = {"command": "/gone/brain", "args": ["mcp"]}
HOOKS = {"entries": {"Stop": {"type": "command", "command": "/opt/brain hook stop", "timeout": 10}}}
FLAT = {"entries": {"stop": {"command": "/opt/brain hook stop"}}, "flat": True}

JSON_TEXTS = [
    "{}\n",
    "{ }",
    '{"a": 1}',
    '{"mcpServers": {}}\n',
    '{\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
    '{\n\t"a": [1, 2], // why\n\t"mcpServers": {\n\t\t"other": {}, /* kept */\n\t},\n}\n',
    '// head\n{\n  // first\n  "a": "}//\\"{", // not a comment: //\n  "b": 1.50 // last\n}\n// tail\n',
    '{\r\n  "a": "\\u00e9"\r\n}\r\n',
    '\ufeff{\n  "a": 1\n}',
    "{\n  // only a remark\n}\n",
    "{\n  mcp: { unquoted: 'single' },\n  other: [1, 2,],\n}\n",
]


def _part(form: str, value: Any, *key: str) -> Part:
    return Part("any", "mcp", form, key, value)


@pytest.mark.parametrize("text", JSON_TEXTS)
def test_an_entry_in_json_with_comments_comes_and_goes(text: str) -> None:
    part = _part("json", SERVER, "mcpServers", "brain")
    form = FORMS["json"]
    assert form.state(text, part) == ABSENT
    changed = form.put(text, part)
    assert form.state(changed, part) == SAME
    before = json_edit.loads(text)
    wanted = {**before, "mcpServers": {**before.get("mcpServers", {}), "brain": SERVER}}
    assert json_edit.loads(changed) == wanted
    for line in text.split("\n"):
        assert line.strip(" {}\t\r,").replace(",", "") in changed.replace(",", ""), "each line is there still"
    back = form.take(changed, part)
    assert form.state(back, part) == ABSENT
    rest = {name: value for name, value in before.items() if name != "mcpServers" or value}
    assert json_edit.loads(back) == rest
    for remark in ("// why", "/* kept */", "// head", "// last", "// tail", "// first", "// only a remark"):
        assert (remark in back) == (remark in text)


@pytest.mark.parametrize("text", [text for text in JSON_TEXTS if "mcpServers" not in text and text != "{ }"])
def test_taking_an_entry_out_by_its_place_alone_gives_the_bytes_back(text: str) -> None:
    part = _part("json", SERVER, "mcp.servers", "brain")
    assert FORMS["json"].take(FORMS["json"].put(text, part), part) == text


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
        max_leaves=12,
    ).filter(lambda value: isinstance(value, dict)),
    st.sampled_from([None, 2, "\t"]),
)
def test_any_json_keeps_its_bytes(value: dict[str, Any], indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    part = _part("json", SERVER, "mcpServers", "brain")
    if isinstance(value.get("mcpServers", {}), dict):
        changed = FORMS["json"].put(text, part)
        assert json.loads(changed)["mcpServers"]["brain"] == SERVER
        if "mcpServers" not in value and value:
            assert FORMS["json"].take(changed, part) == text


@pytest.mark.parametrize(
    ("found", "state"),
    [(SERVER, SAME), (OLD, OTHER), ({"command": "npx", "args": ["brain-games"]}, FOREIGN), (None, ABSENT)],
)
def test_an_entry_of_somebody_else_is_told_from_ours(found: Any, state: str) -> None:
    text = json.dumps({"mcpServers": {} if found is None else {"brain": found}})
    assert FORMS["json"].state(text, _part("json", SERVER, "mcpServers", "brain")) == state


@pytest.mark.parametrize("value", [HOOKS, FLAT])
@pytest.mark.parametrize("text", ["{}\n", '{\n  "hooks": {\n    "Other": []\n  }, // mine\n  "a": 1\n}\n', '{"a": 1}'])
def test_hooks_come_and_go(value: Any, text: str) -> None:
    part, form = _part("hooks", value), FORMS["hooks"]
    changed = form.put(text, part)
    assert form.state(changed, part) == SAME
    assert form.put(changed, part) == changed
    assert form.take(changed, part) == text


@pytest.mark.parametrize("text", ["{}\n", '{\n  "$schema": "https://x",\n  "Other": []\n}\n', '{"Other": []}'])
def test_hooks_in_a_file_of_hooks_alone_are_keys_of_the_file(text: str) -> None:
    part, form = _part("hooks", {**HOOKS, "bare": True}), FORMS["hooks"]
    assert form.state(text, part) == ABSENT
    changed = form.put(text, part)
    assert json.loads(changed) == {**json.loads(text), "Stop": [{"hooks": [HOOKS["entries"]["Stop"]]}]}
    assert form.state(changed, part) == SAME
    assert form.put(changed, part) == changed
    assert form.take(changed, part) == text


def test_hooks_beside_others_of_the_same_event_come_and_go() -> None:
    text = '{\n  "Stop": [\n    {\n      "hooks": [{"type": "command", "command": "mine"}]\n    }\n  ]\n}\n'
    part, form = _part("hooks", {**HOOKS, "bare": True}), FORMS["hooks"]
    changed = form.put(text, part)
    assert [group["hooks"][0]["command"] for group in json.loads(changed)["Stop"]] == ["mine", "/opt/brain hook stop"]
    assert form.take(changed, part) == text


def test_a_file_of_hooks_that_has_the_key_hooks_keeps_its_form() -> None:
    text = '{"hooks": {"Other": []}}'
    part, form = _part("hooks", {**HOOKS, "bare": True}), FORMS["hooks"]
    changed = form.put(text, part)
    assert set(json.loads(changed)["hooks"]) == {"Other", "Stop"}
    assert form.take(changed, part) == text


TOML = '[mcp_servers.brain]\ncommand = "/opt/brain"\nargs = ["mcp"]\n'
TOML_TEXTS = [
    "",
    '# mine\nmodel = "x" # why\n',
    '[mcp_servers.other]\ncommand = "x"',
    "a = 1\r\n[b]\r\nc = '''\n[not.a.table]\n'''\r\n",
    '[[hooks]]\nevent = "Stop"\ncommand = "x"\n\n\n',
]


@pytest.mark.parametrize("text", TOML_TEXTS)
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_table_in_toml_comes_and_goes(text: str, end: str) -> None:
    text += end
    part, form = _part("toml", TOML, "mcp_servers", "brain"), FORMS["toml"]
    changed = form.put(text, part)
    assert changed.startswith(text)
    assert form.state(changed, part) == SAME
    found = tomllib.loads(changed)
    assert found["mcp_servers"].pop("brain") == {"command": "/opt/brain", "args": ["mcp"]}
    assert {**found, "mcp_servers": found["mcp_servers"] or None} == {"mcp_servers": None, **tomllib.loads(text)}
    assert form.take(changed, part).rstrip() == text.rstrip()


def test_a_table_whose_markers_are_gone_goes_with_its_own_tables_only() -> None:
    text = f'{TOML}[mcp_servers.brain.env]\nA = "b"\n[mcp_servers.brainy]\ncommand = "x"\n'
    part = _part("toml", TOML, "mcp_servers", "brain")
    assert FORMS["toml"].state(text, part) == OTHER
    assert FORMS["toml"].take(text, part) == '[mcp_servers.brainy]\ncommand = "x"\n'


def test_a_toml_that_cannot_be_extended_is_refused() -> None:
    with pytest.raises(ValueError, match="mcp_servers"):
        FORMS["toml"].put("mcp_servers = { other = 1 }\n", _part("toml", TOML, "mcp_servers", "brain"))


ENTRY = '  brain:\n    cmd: "/opt/brain"\n    args: ["mcp"]'
ITEM = '  - name: "brain"\n    command: "/opt/brain"\n    args: ["mcp"]'
YAML_TEXTS = [
    ("", "extensions", ENTRY),
    ("a: 1 # one\n", "extensions", ENTRY),
    ("extensions:\n    # note\n    developer:\n        enabled: true\nb: 2\n", "extensions", ENTRY),
    ("extensions: {} # none yet\nb: 2\n", "extensions", ENTRY),
    ("b: 2\nextensions:", "extensions", ENTRY),
    ("b: 2\nextensions:\n\n# last\n", "extensions", ENTRY),
    ("mcpServers:\n- name: other\n  command: x\nb: |\n  mcpServers:\n  - name: brain\n", "mcpServers", ITEM),
    ("mcpServers: []\n", "mcpServers", ITEM),
]


@pytest.mark.parametrize(("text", "top", "entry"), YAML_TEXTS)
def test_an_entry_in_yaml_comes_and_goes(text: str, top: str, entry: str) -> None:
    part, form = _part("yaml", entry, top, "brain"), FORMS["yaml"]
    assert form.state(text, part) == ABSENT
    changed = form.put(text, part)
    assert form.state(changed, part) == SAME
    found, before = yaml.safe_load(changed), yaml.safe_load(text) or {}
    assert {name: value for name, value in found.items() if name != top} == {
        name: value for name, value in before.items() if name != top
    }
    assert len(found[top]) == len(before.get(top) or ()) + 1
    for remark in ("# one", "# note", "# none yet", "# last"):
        assert (remark in changed) == (remark in text)
    assert form.state(form.take(changed, part), part) == ABSENT


@pytest.mark.parametrize(
    "written", ["extensions:\n  a: {x: 1}\n  brain:\n    cmd: /opt/brain\n    args:\n    - mcp\nz: 1\n"]
)
def test_an_entry_in_yaml_that_the_agent_rewrote_goes(written: str) -> None:
    part = _part("yaml", ENTRY, "extensions", "brain")
    assert FORMS["yaml"].take(written, part) == "extensions:\n  a: {x: 1}\nz: 1\n"


@pytest.mark.parametrize("text", ["extensions: {a: 1}\n", "extensions: &x\n  a: 1\n", "a: [\n"])
def test_a_yaml_that_cannot_be_extended_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        FORMS["yaml"].put(text, _part("yaml", ENTRY, "extensions", "brain"))


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (SERVER, ["BRAIN_HOME=/x /opt/brain/bin/brain mcp"]),
        ({"command": ["/a b/brain", "mcp"]}, ["'/a b/brain' mcp"]),
        (HOOKS["entries"], ["/opt/brain hook stop"]),
        (TOML, ["/opt/brain mcp"]),
        (ENTRY, ["/opt/brain mcp"]),
        ('// x\nconst COMMAND = ["/opt/brain", "hook"];\n', ["/opt/brain hook"]),
        ('#!/bin/sh\nexec /opt/brain "$@"\n', ["/opt/brain"]),
        ("Ask the memory: `brain ask`.\n", []),
    ],
)
def test_the_commands_of_a_part_are_known(value: Any, lines: list[str]) -> None:
    assert forms.command_lines(value) == lines
