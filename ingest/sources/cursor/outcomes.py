"""What became of a call of Cursor's: its editor's calls carry that themselves, its agents' messages say it as text.

A terminal's result is ``{output, exitCodeV2, exitCode, rejected, …}`` (``aiserver.v1.RunTerminalCommandV2Result``; the
older number is left out where it is 0), an error ``{clientVisibleErrorMessage, modelVisibleErrorMessage, …}``
(``aiserver.v1.ToolResultError``). An agent's shell says ``Exit code: <n>``, then what was printed between two fences.
"""

from __future__ import annotations

import json
from typing import Any

from ingest.session.values import exit_code, mapping, string

_TERMINALS = ("run_terminal_cmd", "run_terminal_command", "Shell")
_SAYS = ("modelVisibleErrorMessage", "clientVisibleErrorMessage")
_CODE, _PRINTED, _FENCE = "Exit code: ", "\n\nCommand output:\n\n```\n", "\n```"


def of_call(tool: dict[str, Any]) -> tuple[str, str]:
    """(error, note) of a call of the editor's; both "" where all went well."""
    terminal, status, result = _is_terminal(string(tool.get("name"))), tool.get("status"), tool.get("result")
    result = _object(result) if terminal or type(result) is not str or '"rejected"' in result else {}
    if "rejected" in (tool.get("userDecision"), status) or result.get("rejected") is True:
        return "", "rejected by the user"
    error = tool.get("error")
    if status == "error" or error:
        said = _object(error)
        text = next((string(said[key]) for key in _SAYS if said.get(key)), "") or string(error)
        text = text or (json.dumps(error, ensure_ascii=False) if error else "")
        return text or string(tool.get("result")) or "error", ""
    if status == "cancelled":
        return "", "cancelled by the user"
    if not terminal:
        return "", ""
    codes = [code for key in ("exitCodeV2", "exitCode") if type(code := result.get(key)) is int]
    return (f"Exit code {codes[0]}\n{string(result.get('output'))}", "") if codes and codes[0] else ("", "")


def of_text(tool: str, text: str) -> str:
    """The failure that an agent's shell tells of, or ""."""
    line, _, rest = text.partition("\n")
    code = exit_code(line.removeprefix(_CODE)) if line.startswith(_CODE) else 0
    if not code or (tool and not _is_terminal(tool)):
        return ""
    printed = f"\n{rest}".partition(_PRINTED)[2]
    return f"Exit code {code}\n{printed.rpartition(_FENCE)[0] or printed or rest}"


def _is_terminal(tool: str) -> bool:
    return tool.startswith(_TERMINALS)


def _object(value: Any) -> dict[str, Any]:
    if type(value) is str and value.startswith("{"):
        try:
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return {}
    return mapping(value)
