"""The one place that decides if what is shown is still true.

A claim is what a person, an agent or a note said, with its date. Claims are compared in pairs within their project: the
newer one takes the place of the older, or both contradict each other. ``superseded_by`` of a note decides before all.
Nobody takes back what another member of a team said: claims of two owners at most contradict each other.
"""

from __future__ import annotations

from runtime.validity import CHANGED, CONTRADICTED, CURRENT, SUPERSEDED, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from runtime.validity.statements import Statement

# Characters of the other side that are shown.
_SIDE = 200
# Claims that are compared, each with each.
_MOST = 400


class Claim:
    """Statement at one place: ``at`` is epoch seconds, ``line`` counts from 1.

    ``key`` names the result that shows the claim; claims of one key never contradict each other. ``lines`` are (line,
    text) of what a person says in it. ``project`` is "" if none is known.
    ``heard`` are (line, text) of what an agent said: a person's later words may replace that, never the reverse.
    ``negative``: it says what was rejected. ``entry`` is its id, ``successor`` the id of what took its
    place, and ``holds_with`` are ids of entries that hold all the same, as its own document says. ``owner`` is the
    member of the team who said it, "" for the user.
    """

    __slots__ = (
        "_heard", "_lines", "_negative", "_older", "_read", "at", "entry", "holds_with", "is_said", "key", "owner",
        "project", "successor", "uri",
    )  # fmt: skip

    def __init__(
        self,
        key: object,
        uri: str,
        at: int,
        lines: Iterable[tuple[int, str]],
        *,
        heard: Iterable[tuple[int, str]] = (),
        project: str = "",
        negative: bool = False,
        entry: str = "",
        successor: str = "",
        holds_with: Iterable[str] = (),
        owner: str = "",
    ) -> None:
        self.key, self.uri, self.at, self.owner = key, uri, at, owner
        self.project, self.entry, self.successor = project.rstrip("/"), entry, successor
        self.holds_with = frozenset(holds_with)
        self.is_said = bool(lines := list(lines))
        # Read when they are compared: most claims have none to be compared with.
        self._lines, self._heard, self._negative = lines, list(heard), negative
        self._read: list[tuple[int, Statement]] | None = None
        self._older: list[tuple[int, Statement]] | None = None

    def said(self) -> list[tuple[int, Statement]]:
        """Return what a person says in it, by line."""
        if self._read is None:
            self._read = _read(self._lines, negative=self._negative)
        return self._read

    def replaceable(self) -> list[tuple[int, Statement]]:
        """Return what a person or an agent says in it, by line: a person's later words may replace it."""
        if self._older is None:
            self._older = [*self.said(), *_read(self._heard)]
        return self._older


class Side:
    """The other side of a claim: what was said, where and when. ``own`` is what the claim itself says of it."""

    __slots__ = ("claim", "line", "own", "state", "text")

    def __init__(self, state: str, claim: Claim, line: int, text: str, own: str) -> None:
        self.state, self.claim, self.line, self.text, self.own = state, claim, line, text, own

    def as_dict(self) -> dict[str, Any]:
        """Return the side as results have it."""
        from core import clock

        text = self.text if len(self.text) <= _SIDE else self.text[: _SIDE - 1] + "…"
        found = {"uri": self.claim.uri, "line": self.line, "date": clock.iso(self.claim.at), "text": text}
        return {**found, "owner": self.claim.owner} if self.claim.owner else found


def may_differ(claims: Iterable[Claim]) -> bool:
    """Return True if a person said something after another claim of the project: others need not be compared."""
    projects: set[str] = set()
    for claim in sorted(claims, key=_order):
        if claim.is_said and claim.project in projects:
            return True
        projects.add(claim.project)
    return False


def judge(claims: Sequence[Claim]) -> dict[object, list[Side]]:
    """Return, for each claim that does not hold alone, its other sides by its key: the newest first.

    An older claim that a newer one of its owner took the place of has that one as its side. Of two that contradict each
    other, each is the other's side. Claims of different projects are left alone.
    """
    found: dict[object, list[Side]] = {}
    ordered = sorted(claims, key=_order)[-_MOST:]
    for place, newer in enumerate(ordered):
        for older in ordered[:place]:
            if older.key == newer.key or not _may_meet(older, newer):
                continue
            seen = _compare(older, newer)
            if seen is None:
                continue
            state, (old_line, old), (new_line, new) = seen
            if older.owner != newer.owner:
                state = CONTRADICTED
            found.setdefault(older.key, []).insert(0, Side(state, newer, new_line, new.text, old.text))
            if state == CONTRADICTED:
                found.setdefault(newer.key, []).insert(0, Side(state, older, old_line, old.text, new.text))
    return found


def verdict(
    sides: Sequence[Side] = (), changed: Sequence[str] = (), *, successor: str = "", known: bool = False
) -> dict[str, Any]:
    """Return the ``validity`` of a result: ``state``, ``by`` (the other sides) and, of changed code, ``files``.

    ``changed`` are files that the claim rests on and that are others now. ``successor`` is the entry that took its
    place. ``known``: a person said it, or the files were looked at, and are as they were.
    """
    if successor:
        return {"state": SUPERSEDED, "by": [{"entry_id": successor}]}
    for state in (SUPERSEDED, CONTRADICTED):
        by = [side.as_dict() for side in sides if side.state == state]
        if by:
            return {"state": state, "by": by[:3]}
    if changed:
        return {"state": CHANGED, "by": [], "files": list(changed)[:5]}
    return {"state": CURRENT if known else UNKNOWN, "by": []}


def words(validity: dict[str, Any]) -> str:
    """Return a validity in one line for people and agents, "" if nothing speaks against the claim."""
    state, by = validity["state"], validity["by"]
    if state == CHANGED:
        return f"code changed since: {', '.join(validity['files'])}"
    if state not in (SUPERSEDED, CONTRADICTED) or not by:
        return ""
    other = by[0]
    if "entry_id" in other and "text" not in other:
        return f"{state} by {other['entry_id']}"
    owner = f"{other['owner']}: " if "owner" in other else ""
    return f"{state} by {owner}“{other['text']}” ({other['date'][:10]}, {other['uri']}:{other['line']})"


def _order(claim: Claim) -> tuple[int, str]:
    """Sort claims by time; entries of one second are told apart by their ids, which sort by time."""
    return claim.at, claim.entry


def _may_meet(older: Claim, newer: Claim) -> bool:
    if older.entry in newer.holds_with or newer.entry in older.holds_with:
        return False  # a person said that both hold
    same_entry = older.entry and (older.owner, older.entry) == (newer.owner, newer.entry)
    return older.project == newer.project and not same_entry


def _read(lines: Iterable[tuple[int, str]], *, negative: bool = False) -> list[tuple[int, Statement]]:
    from runtime.validity import statements

    return [(line, each) for line, text in lines for each in statements.read(text, negative=negative)]


def _compare(older: Claim, newer: Claim) -> tuple[str, tuple[int, Statement], tuple[int, Statement]] | None:
    from runtime.validity.comparing import relation

    best = None
    for other in newer.said():
        for one in older.replaceable():
            state = relation(one[1], other[1])
            if state == SUPERSEDED:
                return state, one, other
            if state and best is None:
                best = state, one, other
    return best
