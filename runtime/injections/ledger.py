"""The ledger of injections: each text from memory that an agent was given, in ``state/injected.jsonl``.

A journal of rows, appended under the file's lock. ``given``: a text went to an agent. ``used``: the session went on,
and used the text or not. ``wrong``: a person rejected the text. ``context``: the agent lost its context, by compaction,
so that its session starts with a new budget. Rows name the document, so ``brain forget`` removes them with it.
"""

from __future__ import annotations

import fcntl
import os
import time
from os.path import join

from core import clock, jsonio
from core.digest import blake2b
from core.errors import BadInput
from core.files import read_or_none
from core.home import PRIVATE_FILE, make_private
from runtime.injections import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from io import BufferedRandom
    from typing import Any

    from core.config import Config
    from core.home import Home

    Row = dict[str, Any]

# Characters of injected text that a session gets from all hooks together (``injected: {budget: …}``).
BUDGET = 1_500
# A token is about four characters of English (https://platform.openai.com/tokenizer): an estimate, no count.
CHARACTERS_PER_TOKEN = 4
GIVEN, USED, WRONG, CONTEXT = "given", "used", "wrong", "context"
# A ledger of more bytes is trimmed to the newest rows of half as many.
_MOST_BYTES = 1 << 20
_KEEP_S = 90 * clock.DAY
_TEXT = 1_000
_REASON = 200
# A hook gives nothing more from a document with so many texts that a person rejected.
_MOST_WRONG = 2
# A kind of line that was ignored so often in a row, within so long, is not given.
_IGNORED = 5
_MUTED_S = 30 * clock.DAY


class Item:
    """One text for an agent: ``key`` is what may be given once a session, ``text`` is as the agent reads it.

    ``kind`` says what sort of line it is (``dead end``, ``decision``, …), ``reason`` why it is given, ``about`` what
    the agent was doing, which its next words repeat anyway. ``is_clean``: no text in it has a secret, as it comes from
    documents that the present redaction policy has gone through.
    """

    __slots__ = (
        "about", "characters", "collection", "docid", "is_clean", "key", "kind", "line", "path", "reason", "text",
    )  # fmt: skip

    def __init__(
        self,
        text: str,
        *,
        uri: str = "",
        line: int = 0,
        docid: str = "",
        key: str = "",
        kind: str = "",
        reason: str = "",
        about: str = "",
        characters: int = 0,
        is_clean: bool = False,
    ) -> None:
        self.text, self.line, self.docid = text, line, docid
        self.collection, _, self.path = uri.removeprefix("qmd://").partition("/")
        self.key = key or uri
        self.kind, self.reason, self.about = kind, reason, about
        self.characters, self.is_clean = characters or len(text), is_clean


def path(home: Home) -> str:
    """Return where the ledger lies."""
    return join(home.state, FILE)


def tokens(characters: int) -> int:
    """Return about how many tokens ``characters`` are."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def add(
    home: Home,
    session: str,
    surface: str,
    event: str,
    items: Iterable[Item],
    now: float | None = None,
    overhead: int = 0,
) -> list[str]:
    """Record what a session was given and return the ids; texts that are not clean are redacted here.

    ``overhead``: characters around the items, such as a notice, which count with the first one. Raises OSError.
    """
    instant = time.time() if now is None else now
    rows: list[Row] = []
    for item in items:
        text, key, reason, about = _clean(item)
        rows.append(
            {
                "schema": 1,
                "row": GIVEN,
                "id": _id(session, instant, item.key, len(rows)),
                "ts": clock.iso(instant),
                "session": session,
                "surface": surface,
                "event": event,
                "kind": item.kind,
                "collection": item.collection,
                "path": item.path,
                "line": item.line,
                "docid": item.docid,
                "key": key,
                "text": text[:_TEXT],
                "mark": mark(item.text),
                "reason": reason[:_REASON],
                "about": about[:_REASON],
                "characters": item.characters + (0 if rows else overhead),
                "tokens": tokens(item.characters + (0 if rows else overhead)),
            }
        )
    _append(home, rows, instant)
    return [str(row["id"]) for row in rows]


def renew(home: Home, session: str, now: float | None = None) -> None:
    """Record that a session's agent has lost its context: what it was given before is gone, and may come again."""
    instant = time.time() if now is None else now
    _append(home, [{"schema": 1, "row": CONTEXT, "ts": clock.iso(instant), "session": session}], instant)


def settle(home: Home, verdicts: Iterable[tuple[Mapping[str, Any], bool, str]], now: float | None = None) -> None:
    """Record verdicts: (row of ``given``, True if the session used its text, what showed it)."""
    instant = time.time() if now is None else now
    rows = [
        {
            "schema": 1,
            "row": USED,
            "id": row["id"],
            "ts": clock.iso(instant),
            "session": row["session"],
            "collection": row["collection"],
            "path": row["path"],
            "used": used,
            "by": by,
        }
        for row, used, by in verdicts
    ]
    _append(home, rows, instant)


def wrong(home: Home, ident: str, now: float | None = None) -> Row:
    """Record that a person rejected the injection ``ident``, and return it; a second time changes nothing.

    Raises BadInput if no injection, or more than one, begins with ``ident``; OSError.
    """
    row = _one(home, ident)
    if not row["wrong"]:
        instant = time.time() if now is None else now
        same = {name: row[name] for name in ("id", "session", "collection", "path", "line", "key", "mark")}
        _append(home, [{"schema": 1, "row": WRONG, "ts": clock.iso(instant), **same}], instant)
        row["wrong"] = True
    return row


def withdraw(home: Home, ident: str) -> Row:
    """Take back the rejection of the injection ``ident``, and return it. Raises as ``wrong``."""
    row = _one(home, ident)
    if row["wrong"]:
        ours = (f'"row":"{WRONG}"'.encode(), jsonio.dumps(row["id"]).encode())
        with open(path(home), "r+b") as stream:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX)
            lines = stream.read().splitlines(keepends=True)
            _rewrite(stream, [line for line in lines if not all(each in line for each in ours)])
        row["wrong"] = False
    return row


def _one(home: Home, ident: str) -> Row:
    """Return the one injection that begins with ``ident``."""
    found = [row for row in listed(home) if str(row["id"]).startswith(ident)]
    if not found:
        raise BadInput(f"no injection has the id {ident!r}", "brain injected")
    if len(found) > 1:
        raise BadInput(f"{len(found)} injections begin with {ident!r}", "give more of the id: brain injected")
    return found[0]


def listed(home: Home, session: str = "", since: float | None = None) -> list[Row]:
    """Return what was given, newest first, with ``used`` (None if not judged yet), ``by`` and ``wrong``."""
    rows = _rows(home)
    verdicts = {row["id"]: row for row in rows if row["row"] == USED}
    rejected = {row["id"] for row in rows if row["row"] == WRONG}
    found = []
    for row in rows:
        if row["row"] != GIVEN or (session and row["session"] != session):
            continue
        if since is not None and (clock.parse_iso(row["ts"]) or 0) < since:
            continue
        verdict = verdicts.get(row["id"], {})
        if verdict.get("session"):
            row["session"] = verdict["session"]
        found.append({**row, "used": verdict.get("used"), "by": verdict.get("by", ""), "wrong": row["id"] in rejected})
    return found[::-1]


class Allowance:
    """Texts that one session may still be given: not a text twice, within the budget, nothing that was rejected."""

    def __init__(self, home: Home, config: Config, session: str, now: float | None = None) -> None:
        self.budget = budget(config)
        self._now = time.time() if now is None else now
        self._keys: set[str] = set()
        self._spent = 0
        self._marks: set[str] = set()
        self._wrong: dict[tuple[str, str], int] = {}
        self._home = home
        for row in _rows(home, needles=(jsonio.dumps(session), f'"row":"{WRONG}"')):
            if row["row"] == WRONG:
                self._marks.add(row["mark"])
                source = (row["collection"], row["path"])
                self._wrong[source] = self._wrong.get(source, 0) + 1
            if not session or row["session"] != session:
                continue
            if row["row"] == CONTEXT:
                self._keys.clear()
                self._spent = 0
            elif row["row"] == GIVEN:
                self._keys.add(row["key"])
                if row["surface"] == "hook":
                    self._spent += int(row["characters"])

    def room(self, share: float = 1.0) -> int:
        """Return how many characters are left of ``share`` of the budget."""
        return max(0, int(self.budget * share) - self._spent)

    def permits(self, item: Item) -> bool:
        """Return True if the session has not had the item, and nobody has rejected it or its document."""
        if item.key in self._keys or mark(item.text) in self._marks:
            return False
        return self.rejected(item) < _MOST_WRONG and not self.is_muted(item.kind)

    def rejected(self, item: Item) -> int:
        """Return how many texts of the item's document a person rejected."""
        return self._wrong.get((item.collection, item.path), 0)

    def is_muted(self, kind: str) -> bool:
        """Return True if the last five lines of this kind that were judged were all ignored."""
        if not kind:
            return False
        rows = _rows(self._home, needles=(f'"kind":{jsonio.dumps(kind)}', f'"row":"{USED}"'))
        verdicts = {row["id"]: bool(row.get("used")) for row in rows if row["row"] == USED}
        judged = [row for row in rows if row["row"] == GIVEN and row["kind"] == kind and row["id"] in verdicts]
        late = [row for row in judged if self._now - (clock.parse_iso(row["ts"]) or 0) < _MUTED_S]
        last = [verdicts[row["id"]] for row in late[-_IGNORED:]]
        return len(last) == _IGNORED and not any(last)


def budget(config: Config) -> int:
    """Return how many characters a session may be given by hooks."""
    found = config.section("injected").get("budget")
    return BUDGET if found is None else int(found)


def mark(text: str) -> str:
    """Return what identifies a text, without the text: letters and digits decide, ages and punctuation do not."""
    import re

    words = re.sub(r"\W+", " ", re.sub(r"\([^()]*\bago\b[^()]*\)", " ", text)).casefold().split()
    return blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=8).hexdigest()


def expire(home: Home, now: float | None = None) -> None:
    """Delete rows of more than 90 days ago, except rejections. Raises OSError."""
    instant = time.time() if now is None else now
    horizon = clock.iso(instant - _KEEP_S)
    if not any(row["ts"] < horizon and row["row"] != WRONG for row in _rows(home, needles=('"row":',))):
        return
    with open(path(home), "r+b") as stream:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX)
        _trim(stream, instant, _MOST_BYTES)


def unsettled(home: Home) -> list[Row]:
    """Return the injections that no session is known to have used, oldest first."""
    return [row for row in listed(home)[::-1] if not row["used"]]


def _clean(item: Item) -> list[str]:
    """Return the texts of an item without secrets. Redaction takes a hook a third of its time, so only where needed."""
    texts = [item.text, item.key, item.reason, item.about]
    if item.is_clean:
        return texts
    from core.redaction import shown

    return [shown(text) for text in texts]


def _id(session: str, instant: float, key: str, number: int) -> str:
    said = f"{session}\0{instant!r}\0{os.getpid()}\0{number}\0{key}".encode("utf-8", "replace")
    return blake2b(said, digest_size=4).hexdigest()


def _rows(home: Home, needles: Sequence[str] = ()) -> list[Row]:
    """Return the whole rows of the ledger, oldest first; what a crash tore is left out.

    With ``needles``, rows without any of these texts may be left out: a hook has no time to parse them all.
    """
    found = []
    wanted = [each.encode("utf-8", "replace") for each in needles if each.isascii()]
    if len(wanted) < len(needles):
        wanted = []
    for line in (read_or_none(path(home)) or b"").splitlines():
        if wanted and not any(each in line for each in wanted):
            continue
        try:
            row = jsonio.loads(line.decode())
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("row"), str) and isinstance(row.get("ts"), str):
            row.setdefault("session", "")
            found.append(row)
    return found


def _append(home: Home, rows: Sequence[Row], now: float) -> None:
    """Append rows under the file's lock, on lines of their own whatever a crash left, and keep the file small."""
    if not rows:
        return
    data = "".join(jsonio.dumps(row) + "\n" for row in rows).encode("utf-8", "replace")
    make_private(home.state)
    descriptor = os.open(path(home), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    with open(descriptor, "r+b") as stream:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = stream.seek(0, os.SEEK_END)
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            data = b"\n" + data
        stream.write(data)
        stream.flush()
        if size + len(data) > _MOST_BYTES:
            _trim(stream, now, _MOST_BYTES // 2)


def _trim(stream: BufferedRandom, now: float, room: int) -> None:
    """Rewrite the ledger, of which the caller holds the lock, with what is to be kept.

    Readers take no lock. A row that they see torn is left out, and given again at worst.
    """
    stream.seek(0)
    _rewrite(stream, _kept(stream.read().splitlines(keepends=True), now, room))


def _rewrite(stream: BufferedRandom, lines: Sequence[bytes]) -> None:
    stream.seek(0)
    stream.truncate(0)
    stream.write(b"".join(lines))


def _kept(lines: list[bytes], now: float, room: int) -> list[bytes]:
    """Return the lines to keep: every rejection, else the newest of the last 90 days, of ``room`` bytes."""
    horizon = clock.iso(now - _KEEP_S)
    kept: list[bytes] = []
    for line in reversed(lines):
        try:
            row: Any = jsonio.loads(line.decode())
            ts, kind = str(row["ts"]), row["row"]
        except (ValueError, KeyError, TypeError):
            continue
        if kind != WRONG and (ts < horizon or room < len(line)):
            continue
        room -= len(line)
        kept.append(line)
    return kept[::-1]
