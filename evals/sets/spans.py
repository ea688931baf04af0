"""Spans: the shortest text that is an answer, located in a raw file, and found again in a snippet.

A locator has a line, a JSON pointer (RFC 6901) into the record of that line, and a range of characters in the text
there. Line 0 is a file that is one JSON document. A pointer goes on into a text that is JSON itself, such as the
arguments of a tool call of Codex. A set stores locators, so that it contains no text of its files.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from core.redaction import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

# Snippets differ from the raw text by emphasis, code marks, quotes, list and table marks, and by the marks before
# lines of output. The same characters leave both sides.
_MARKS = re.compile(r"[*_`~#>|!\\\s]+")


def normalise(text: str) -> str:
    """Return ``text`` in small letters, without markdown marks, each run of marks or white space one space."""
    return _MARKS.sub(" ", text).strip().casefold()


def variants(text: str) -> tuple[str, ...]:
    """Return a span as a snippet may show it, normalised: as written, and redacted where that differs."""
    return tuple(dict.fromkeys(filter(None, (normalise(text), normalise(clean(text, {}))))))


def first(spans: Sequence[str], snippets: Iterable[str], budget: int) -> int:
    """Return the rank (from 1) of the first snippet with a span in its first ``budget`` characters, 0 for none.

    ``spans`` are normalised.
    """
    for rank, snippet in enumerate(snippets, 1):
        shown = normalise(snippet[:budget])
        if any(span in shown for span in spans):
            return rank
    return 0


def read(path: Path, locator: Sequence[Any]) -> str:
    """Return the text at ``locator`` (line, pointer, start, end) of a file. Raises BadInput."""
    line, pointer, start, end = locator
    try:
        value: Any = json.loads(_line(path, line))
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            value = json.loads(value) if isinstance(value, str) else value
            value = value[int(key)] if isinstance(value, list) else value[key]
        text = value[start:end]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise BadInput(f"{path}:{line}: no text at {pointer!r}: {error}", "correct `spans` of the question") from None
    if not isinstance(text, str) or len(text) != end - start or not normalise(text):
        raise BadInput(f"{path}:{line}: no characters {start} to {end} at {pointer!r}", "correct `spans`")
    return text


def _line(path: Path, number: int) -> bytes:
    if number == 0:
        return path.read_bytes()
    with path.open("rb") as stream:
        for count, line in enumerate(stream, 1):
            if count == number:
                return line
    raise ValueError(f"the file has fewer than {number} lines")
