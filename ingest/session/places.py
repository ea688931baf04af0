"""Folders that a conversation speaks of: which of them it was in, a digest or a name made of the path can tell."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_PATHS = re.compile(r"(?:/|\b[A-Za-z]:\\)[^\s\"'`<>|*?;:,()\[\]{}]{2,400}")
# Signs of a sentence, or of Markdown, that stand after a path; a folder may end in them all the same.
_AFTER = "/\\.!_~#&=%^$@…’”»–—-。！，、；："
_MOST = 5_000


def spoken_of(texts: Iterable[str], is_it: Callable[[str], bool]) -> str:
    """The absolute path in ``texts``, or folder above one, that ``is_it``; or "". Looks at 5,000 at most.

    Where several spellings are, the one that stands there most often.
    """
    found = Counter(_spoken_of(texts, is_it)).most_common(1)
    return found[0][0] if found else ""


def _spoken_of(texts: Iterable[str], is_it: Callable[[str], bool]) -> Iterator[str]:
    """Each time that one is spoken of: the path without the signs after it, the path, or the topmost folder above."""
    known: dict[str, str] = {}
    for text in texts:
        for match in _PATHS.finditer(text):
            path = match[0].rstrip("/\\.")
            if path and path not in known:
                cut = "/" if path.startswith("/") else "\\"
                above, chain = path.rpartition(cut)[0], [path]
                if path[-1] in _AFTER:
                    chain.append(path.rstrip(_AFTER))
                while len(above) > 1 and above not in known:
                    chain.append(above)
                    above = above.rpartition(cut)[0]
                found = known.get(above, "")
                for place in reversed(chain):
                    if place not in known:
                        if len(known) >= _MOST:
                            return
                        known[place] = found or (place if len(place) > 1 and is_it(place) else "")
                    found = known[place]
            if known.get(path):
                yield known[path]
