"""A tool's arguments against its schema, and what is wrong with them in the words that qmd 2.8.3 uses.

Knows the part of JSON Schema that the tools' schemas need: object, array, string, number, boolean, enum, maxItems.
"""

from __future__ import annotations

import math
from typing import Any

_NAMES = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array"}


def check(tool: str, schema: dict[str, Any], given: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """(the arguments with their defaults, nothing), or ({}, what is wrong). Unknown arguments are left out."""
    faults: list[str] = []
    values = _object(schema, given, "", faults)
    if faults:
        return {}, f"Input validation error: Invalid arguments for tool {tool}: {', '.join(faults)}"
    return values, ""


def _object(schema: dict[str, Any], given: dict[str, Any], where: str, faults: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    required = schema.get("required", ())
    for name, rule in schema["properties"].items():
        path = f"{where}.{name}" if where else name
        if name in given:
            values[name] = _value(rule, given[name], path, faults)
        elif "default" in rule:
            values[name] = rule["default"]
        elif name in required:
            faults.append(f"{path}: {_wrong(rule, 'undefined')}")
    return values


def _value(rule: dict[str, Any], value: Any, path: str, faults: list[str]) -> Any:
    kind = "object" if isinstance(value, dict) else _NAMES[type(value)]
    if kind == "number" and not math.isfinite(value):
        kind = "NaN"
    if kind != rule["type"] or ("enum" in rule and value not in rule["enum"]):
        faults.append(f"{path}: {_wrong(rule, kind)}")
    elif kind == "array":
        if len(value) > rule.get("maxItems", len(value)):
            faults.append(f"{path}: Too big: expected array to have <={rule['maxItems']} items")
            return []
        return [_value(rule["items"], item, f"{path}.{index}", faults) for index, item in enumerate(value)]
    elif kind == "object":
        return _object(rule, value, path, faults)
    return value


def _wrong(rule: dict[str, Any], kind: str) -> str:
    if "enum" in rule:
        return f"Invalid option: expected one of {'|'.join(f'{chr(34)}{option}{chr(34)}' for option in rule['enum'])}"
    return f"Invalid input: expected {rule['type']}, received {kind}"
