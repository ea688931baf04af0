"""RE2 as the automaton and the rules use it: patterns of ASCII over bytes, compiled at their first use."""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


@cache
def compiled(pattern: str) -> Any:
    """Return a pattern for bytes compiled by RE2, with the methods of ``re.Pattern``."""
    import re2

    return re2.compile(pattern.encode(), options=re2_options())


def re2_options() -> Any:
    """Return the options of every RE2 pattern here: bytes as they come, since all patterns are ASCII."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 64 << 20  # bytes, of the automaton's states, which are made as they are met
    return options


@cache
def whether(pattern: str) -> Callable[[bytes], list[int]]:
    """Return a function that says whether ``pattern`` is in bytes, not where: its automaton has fewer states."""
    return which(pattern)


def which(*patterns: str) -> Callable[[bytes], list[int]]:
    """Return a function that says which of ``patterns``, by number, are in bytes."""
    import re2

    whole = re2.Set.SearchSet(re2_options())
    for pattern in patterns:
        whole.Add(pattern.encode())
    whole.Compile()
    # The method around this one looks at the text's type first, which takes as long as a short text does.
    found: Callable[[bytes], list[int]] = whole._set.Match
    return found
