"""The hooks of agents at the end of a turn: index the transcript that one names, now or soon, and prove it.

A hook may take 150 ms of somebody's work and may never fail it: small transcripts are indexed at once, larger ones and
those that meet a lock by a child that outlives the hook. Every transcript is noted first (``runtime.hooks.due``);
the note goes when the index has the document. Only of Claude Code's transcripts is it known how the last message looks,
for which a hook waits: those of other agents are the child's.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from os.path import abspath, basename, dirname, expanduser, isabs, join

from core.errors import BadInput, BrainError, LockContention
from core.files import FileLock
from runtime.hooks import due

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.config import Config
    from core.home import Home

SOURCE = "claude"
# The result of ``runtime.capture.indexing``, which is imported only if there is something to index.
NEEDS_RUN = "needs a whole run"
# The limit of a hook's input: it holds the whole last message of a turn.
INPUT_LIMIT = 16 * 1024 * 1024
# Above this many bytes a transcript is not parsed while somebody waits (40 MB/s, and as much again to write it).
_AT_ONCE = 1_200_000
# A database is read whole: above this many bytes it waits for the next run (2 s of a child's time).
_DATABASE = 40_000_000
# How long to wait for the last message of a turn, which Claude Code writes meanwhile: in the hook, and in the child.
_PATIENCE_S = 0.04
_QUIET_S = 0.2
_CHILD_PATIENCE_S = 1.2
_CHILD_LOCK_S = 600.0
_TAIL = 256 * 1024
_GUARD = "BRAIN_IN_HOOK"
_WRITER = "it is written by the agent; see `brain install --status`"
# Characters of a session's id that may be looked for in names of files.
_SHORTEST_ID, _LONGEST_ID = 8, 100
# A transcript that was written to within this time is at work, and its own hook's to index.
_IDLE_S = 60


def silenced(environ: Mapping[str, str]) -> str:
    """Return why hooks do nothing in this environment (the kill switch, or a brain that runs the agent), "" if they
    work."""
    if (environ.get("BRAIN_HOOKS") or "").strip().lower() in ("off", "0", "false", "no"):
        return "BRAIN_HOOKS=off"
    return next((name for name in (_GUARD, "BRAIN_DISTILLING") if environ.get(name)), "")


def payload(data: bytes) -> dict[str, Any]:
    """Return a hook's input as Claude Code documents it. Raises BadInput if it is invalid."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise BadInput("the hook's input is not JSON", _WRITER) from None
    if not isinstance(found, dict):
        raise BadInput("the hook's input is no JSON object", _WRITER)
    return found


def transcript(given: Mapping[str, Any], source: str = SOURCE, home: Home | None = None) -> str:
    """Return the path of the event's transcript: a subagent's own if there is one.

    Without a path, the newest file of the source with the session's id in its path, else its newest database, if
    that is not too large to be read after each turn. Raises BadInput.
    """
    from ingest import registry
    from ingest.raw.store import DATABASES

    tool = registry.source(source)
    for name in ("agent_transcript_path", "transcript_path"):
        path = given.get(name)
        if isinstance(path, str) and path:
            path = expanduser(path)
            if source != SOURCE and not tool.wants(basename(path)):
                continue  # another file of the session, such as Grok's log of updates
            if not isabs(path) or not tool.wants(basename(path)) or "\0" in path:
                raise BadInput(f"{name} is no transcript", _WRITER)
            return abspath(path)
    session = given.get("session_id")
    if source != SOURCE and isinstance(session, str) and _SHORTEST_ID <= len(session) <= _LONGEST_ID:
        files = [file for file in tool.discover(tool.default_roots(home)) if not file.skip]
        named = [file for file in files if session in file.path]
        stored = [file for file in files if file.path.endswith(DATABASES) and file.size <= _DATABASE]
        if found := named or stored:
            return max(found, key=lambda file: file.mtime_ns).path
    raise BadInput("the hook's input names no transcript", _WRITER)


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def stop(home: Home, given: Mapping[str, Any], environ: Mapping[str, str], source: str = SOURCE) -> dict[str, Any]:
    """Index the event's transcript, or have it indexed; returns what was done, for telemetry.

    ``source`` reads the agent's transcripts.

    Raises BrainError and OSError if not even the note could be made.
    """
    from ingest.registry import settled

    path = transcript(given, source, home)
    if os.path.exists(path) and not os.path.isfile(path):
        raise BadInput("what the hook's input names as transcript is no file", _WRITER)
    config = settled(home)
    cwd, session, last = (_text(given, name) for name in ("cwd", "session_id", "last_assistant_message"))
    reason = excluded(home, path, cwd, config=config)
    if reason:
        return {"outcome": "excluded", "reason": reason}
    at = time.time()
    if source != SOURCE:
        due.add(home, path, session, cwd, at=at, source=source)
        detach(home, environ)
        return {"outcome": "detached", "reason": "the transcript of another agent"}
    key = due.add(home, path, session, cwd, at=at)
    try:
        size = os.stat(path).st_size
    except OSError as error:
        detach(home, environ)
        return {"outcome": "detached", "reason": f"not there yet: {error.strerror}"}
    written = await_message(path, last, _PATIENCE_S)
    if size > _AT_ONCE or not written:
        if not written:
            due.add(home, path, session, cwd, beyond=size)
        detach(home, environ)
        return {"outcome": "detached", "reason": "large" if size > _AT_ONCE else "the last message is not written yet"}
    try:
        outcome = settle(home, key, wait_s=0.0, note={"path": path, "at": at}, config=config)
    except LockContention:
        detach(home, environ)
        return {"outcome": "detached", "reason": "another process writes"}
    if outcome == NEEDS_RUN:
        detach(home, environ)
        return {"outcome": "detached", "reason": outcome}
    from runtime.capture.transcripts import is_untidy

    if is_untidy(home):
        detach(home, environ)
    return {"outcome": outcome}


def settle(
    home: Home,
    key: str,
    *,
    wait_s: float,
    whole: bool = False,
    note: dict[str, Any] | None = None,
    config: Config | None = None,
) -> str:
    """Index the transcript that a note is about and take the note away; returns indexed, unchanged or gone.

    Without ``whole``, "needs a whole run" where that has to come first; the note then stays. ``note`` and ``config``
    are read if they are None. Raises LockContention where another run does not end within ``wait_s`` seconds, and what
    indexing raises; the note then stays, too.
    """
    from runtime.capture.transcripts import index_transcript

    note = note or due.read(home, key)
    if note is None:
        return "gone"
    if not os.path.exists(note["path"]):
        due.done(home, key, note["at"])  # deleted before it was read: there is nothing left to wait for
        return "gone"
    outcome = index_transcript(
        home, note.get("source") or SOURCE, note["path"], wait_s=wait_s, whole=whole, config=config
    )
    if outcome == NEEDS_RUN:
        return outcome
    due.done(home, key, note["at"])
    return outcome


def drain(home: Home) -> int:
    """Settle all that is due and tidy up after hooks; the child that does this waits for locks, others leave it to it.

    Returns how many notes were settled. Raises the first failure of those that are left, after having tried them all.
    """
    from runtime.capture.tidying import tidy

    settled = 0
    failures: dict[str, Exception] = {}
    tried: dict[str, float] = {}

    def nothing_new() -> bool:
        return all(tried.get(key) == note["at"] for key, note in due.waiting(home))

    while True:
        try:
            with FileLock(join(home.state, "hooks", "drain.lock"), wait_s=0.0):
                for key, note in due.waiting(home):
                    if tried.get(key) == note["at"]:
                        continue
                    tried[key] = note["at"]
                    _await_quiet(note["path"], note["at"], note.get("beyond"))
                    try:
                        settle(home, key, wait_s=_CHILD_LOCK_S, whole=True)
                        settled += 1
                        failures.pop(key, None)
                    except Exception as error:  # noqa: BLE001  # whatever one meets, the others still wait
                        failures[key] = error
                # A hook notes first and writes last: it finds the index free.
                tidied = tidy(home, lambda: not nothing_new())
        except LockContention:
            return settled  # another child is at it, and looks again before it ends
        # A note written while the lock was being given back would otherwise wait for the next hook.
        if tidied and nothing_new():
            break
    for failure in failures.values():
        raise failure
    return settled


def detach(home: Home, environ: Mapping[str, str]) -> None:
    """Start the child that settles what is due; it outlives the hook and is nobody's to wait for.

    It is in a session of its own, in the home, and has nothing open of the hook's. (``subprocess`` would cost the hook
    5 ms to import.) Raises OSError.
    """
    root = dirname(dirname(dirname(abspath(__file__))))
    # Not every system begins a session with a process: the child then does.
    code = (
        "import os, sys; os.getsid(0) == os.getpid() or os.setsid(); os.chdir(sys.argv.pop(1));"
        " sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
    )
    actions: list[Any] = [(os.POSIX_SPAWN_OPEN, end, os.devnull, os.O_RDWR, 0) for end in range(3)]
    actions += [(os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _handed_down()]
    os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-c", code, home.root, root, "hook", "drain"],
        {**environ, _GUARD: "1", "BRAIN_HOME": home.root, "BRAIN_INBOX_DIR": home.inbox, "BRAIN_SURFACE": "hook"},
        file_actions=actions,
        setsid=sys.platform == "linux",
    )


def _handed_down() -> list[int]:
    """Return the descriptors that a child would inherit from the hook's parent, besides the standard streams."""
    found = []
    for name in os.listdir("/dev/fd"):
        try:
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:  # the one that the folder was listed by
            continue
    return found


def await_message(path: str, message: str, patience_s: float) -> bool:
    """Wait until the transcript's end holds ``message`` (the turn's last); False where it does not within the time."""
    wanted = message.strip()
    if not wanted:
        return True
    deadline = time.monotonic() + patience_s
    while True:
        if _holds(path, wanted):
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.005)


def _await_quiet(path: str, noted: float, beyond: Any = None) -> None:
    """Wait until nobody writes to a transcript any more, for as long as a child has patience.

    Nor is one taken out of the hands of the hook that has just ``noted`` it (epoch seconds); one that lacks its last
    message must first outgrow ``beyond`` (bytes).
    """
    least = beyond if isinstance(beyond, int) else -1
    deadline = time.monotonic() + _CHILD_PATIENCE_S
    while time.monotonic() < deadline:
        try:
            status = os.stat(path)
        except OSError:  # about to be made
            time.sleep(_QUIET_S / 4)
            continue
        if status.st_size > least and time.time() - max(status.st_mtime, noted) > _QUIET_S:
            return
        time.sleep(_QUIET_S / 4)


def _holds(path: str, wanted: str) -> bool:
    try:
        with open(path, "rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - _TAIL - 4 * len(wanted)))
            lines = stream.read().splitlines()
    except OSError:
        return False
    for line in reversed(lines):
        if b'"assistant"' not in line:
            continue
        try:
            content = json.loads(line)["message"]["content"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        texts = (
            [content]
            if isinstance(content, str)
            else [block.get("text") for block in content if isinstance(block, dict)]
        )
        if any(isinstance(text, str) and text.strip() and text.strip() in wanted for text in texts):
            return True
    return False


def misses(home: Home, given: Mapping[str, Any], now: float) -> str:
    """Return one line on sessions that should have been indexed and were not; "" if there are none.

    Looked for are notes that nobody settled, and transcripts that a cheap stat finds new or grown since the last run:
    a hook that never ran leaves no note.
    """
    from ingest.pipeline.pulse import news
    from ingest.registry import settled

    own = given.get("transcript_path")
    notes = due.missed(home, now)
    paths = {note["path"] for note in notes} | {path for path in news(home, settled(home)) if _idle(path, now)}
    paths.discard(own if isinstance(own, str) else "")
    if not paths:
        return ""
    count = f"{len(paths)} sessions that ended were" if len(paths) > 1 else "A session that ended was"
    return f"Brain: {count} not indexed and cannot be recalled yet. To repair: brain index --new"


def _idle(path: str, now: float) -> bool:
    try:
        return now - os.stat(path).st_mtime > _IDLE_S
    except OSError:
        return False


def excluded(home: Home, path: str, cwd: str, *, config: Config | None = None) -> str:
    """Return why a session (its transcript, the folder it works in) is excluded, "" if it is not.

    ``config`` is read if it is None. A configuration that is not valid excludes nothing: other commands report it.
    """
    from ingest.policy.exclusions import Rules
    from ingest.registry import settled

    if os.path.realpath(path).startswith(join(os.path.realpath(home.root), "")):
        return "the brain's own"
    config = config or settled(home)
    rules = Rules(home, {} if config is None else config.data)
    reason = rules.excluded(path, cwd)
    with contextlib.suppress(OSError, BrainError):
        # The folder may be gone before a run reads the transcript, and its marker with it.
        rules.save(wait_s=_PATIENCE_S)
    return reason
