"""Links from a terminal into an editor: a template's ``{path}``, ``{line}`` and ``{col}`` filled in."""

from __future__ import annotations


def uri(template: str, path: str, line: int, column: int) -> str:
    """The link to ``line`` and ``column`` (1-based; less means the first) of the file at the absolute ``path``."""
    from urllib.parse import quote

    # What encodeURI leaves as it is, less ? and #, which would end the path.
    encoded = quote(path, safe="/;,:@&=+$!'()*-._~")
    filled = template.replace("{path}", encoded).replace("{line}", str(max(1, line)))
    return filled.replace("{col}", str(max(1, column))).replace("{column}", str(max(1, column)))
