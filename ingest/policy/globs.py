"""Which folders and files a rule covers: of ``exclude:`` and ``synthetic:``, and of ``brain forget --project``.

A folder has several spellings (by a symlink, with ``..``, with a slash at its end), and tools record any of them.
"""

from __future__ import annotations

from os.path import expanduser, isabs, join, normpath, realpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_WILD = "*?["
# No system has longer paths; a record may say any string.
_MAX_PATH = 4096


class Globs:
    """Rules as a person wrote them (``given``), and what each covers: what it names, and all that lies below.

    A rule without a slash is any folder of that name; one that does not begin with a slash is looked for at any depth.
    The real place of a rule or a path counts as well as its spelling.
    """

    __slots__ = ("_forms", "_known", "given")

    def __init__(self, given: Iterable[str]) -> None:
        self.given = tuple(spelled(glob) for glob in given)
        self._forms: list[tuple[str, ...]] | None = None
        self._known: dict[str, tuple[str, ...]] = {}

    def covering(self, path: str) -> tuple[str, ...]:
        """Return the rules that cover a path; each path is looked at once."""
        if not self.given or not path:
            return ()
        known = self._known.get(path)
        if known is None:
            if self._forms is None:
                self._forms = [_forms(glob) for glob in self.given]
            ways = spellings(path)
            known = tuple(
                glob
                for glob, forms in zip(self.given, self._forms, strict=True)
                if any(_covers(form, way) for form in forms for way in ways)
            )
            self._known[path] = known
        return known

    @staticmethod
    def places(glob: str) -> tuple[str, ...]:
        """Return the folder that a rule names by its whole path, as written and as its real path; () for other
        rules."""
        return spellings(glob) if isabs(glob) and not any(sign in glob for sign in _WILD) else ()


def spelled(glob: str) -> str:
    """Return a rule with ``~`` expanded, without the slash at its end."""
    return expanduser(glob).rstrip("/") or "/"


def spellings(path: str) -> tuple[str, ...]:
    """Return a path as it is written, without ``..``, and as its real path, each once."""
    if not isabs(path) or len(path) > _MAX_PATH:
        return (path,)
    try:
        return tuple(dict.fromkeys((path, normpath(path), realpath(path))))
    except (OSError, ValueError):  # half a character, or a NUL: no system has such a folder
        return path, normpath(path)


def _forms(glob: str) -> tuple[str, ...]:
    """Return a rule, and the same rule with the real path of the folders before its first wildcard."""
    if not isabs(glob):
        return (glob, f"*/{glob}") if "/" in glob and not glob.startswith("*") else (glob,)
    at = min((at for sign in _WILD if (at := glob.find(sign)) >= 0), default=-1)
    head, rest = (glob, "") if at < 0 else (glob[: glob.rindex("/", 0, at)], glob[glob.rindex("/", 0, at) + 1 :])
    return tuple(dict.fromkeys((glob, *(join(way, rest) if rest else way for way in spellings(head or "/")))))


def _covers(glob: str, path: str) -> bool:
    """Return True if a path is, or lies below, what a glob names; a folder may be called like a glob."""
    if path == glob or (glob != "/" and path.startswith(f"{glob}/")):
        return True
    if not any(sign in glob for sign in _WILD):
        return "/" not in glob and glob in path.split("/")
    from fnmatch import fnmatchcase  # a run with nothing new, and one without such rules, does without `re`

    if "/" not in glob:
        return any(fnmatchcase(part, glob) for part in path.split("/"))
    return fnmatchcase(path, glob) or fnmatchcase(path, f"{glob}/*")
