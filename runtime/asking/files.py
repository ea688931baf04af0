"""Did the files change that a hit names? Asked only of hits whose project is on this machine.

A file that was not written since the session ended is as it was: one ``stat``. Of a later one git knows, if there is
time to ask it; without git a later time says nothing.
"""

from __future__ import annotations

import os
from os.path import basename, isfile, join, normpath
from typing import TYPE_CHECKING

from qmd.index.actions import history
from qmd.index.actions.action import FAILED, path_of

if TYPE_CHECKING:
    import apsw

    from qmd.search.search import Hit

# Names of one hit that are looked at.
_MOST = 5
_AROUND = "`'\"“”‘’()[]{}<>,;:!?*"


def changed(
    connection: apsw.Connection, hit: Hit, project: str, text: str, *, may_wait: bool
) -> tuple[list[str], bool]:
    """Return (files that a text names and that changed or are gone since; True if all are known to be as they were).

    ``may_wait``: git may be asked, which takes some ten ms. Raises apsw.Error.
    """
    known: list[str] = []
    doubtful: list[str] = []
    for path in _named(connection, hit, project, text):
        try:
            is_later = os.stat(path).st_mtime > hit.ended
        except OSError:
            is_later = True
        (doubtful if is_later else known).append(path)
    if not doubtful:
        return [], bool(known)
    gone = [path for path in doubtful if not os.path.lexists(path)]
    if not may_wait or len(gone) == len(doubtful):
        return gone, False
    from runtime.validity.file_changes import changed_files

    found, are_known = changed_files(doubtful, hit.ended)
    return found, are_known


def _named(connection: apsw.Connection, hit: Hit, project: str, text: str) -> list[str]:
    """Return the absolute paths of files of a project that a text names, if they are there or the session touched them.

    A text may quote anybody. No path outside the project is looked at: a look alone can reach another machine.
    """
    names = dict.fromkeys(word for each in text.split() if _may_be_file(word := each.strip(_AROUND).rstrip(".")))
    found: dict[str, None] = {}
    for name in list(names)[:_MOST]:
        path = normpath(join(project, name))
        if not path.startswith(f"{project}/"):
            continue
        if isfile(path):
            found[path] = None
            continue
        for action in history.of_file(connection, basename(name)):
            place = normpath(path_of(action))
            is_named = place.startswith(f"{project}/") and f"/{place}".endswith(f"/{name}")
            if is_named and action.document == hit.id and action.outcome != FAILED:
                found[place] = None
    return list(found)


def _may_be_file(word: str) -> bool:
    """Return True for ``a.py`` and ``src/a.py``, not for a number, an address or an abbreviation."""
    head, dot, ending = word.rpartition(".")
    return bool(dot and head and ending.isalnum() and not ending.isdigit() and "://" not in word and len(head) > 1)
