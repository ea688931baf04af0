"""``brain hook stop``, a new process each time, over a large brain: what somebody who works waits for."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

from bench import corpora
from bench.measure import DATA, Failed, environment, floor, median, percentile, program, run
from bench.report import Report, Row, ms

_P95_BAR_S = 0.150
_VISIBLE_BAR_S = 2.0
_KB = 1000
# Sizes of an appended turn: a short answer, a long one, and the size in the bar.
_APPENDED = (20 * _KB, 200 * _KB, 1000 * _KB)
_PARAGRAPH = "the gateway held its lock across the transaction and the cache grew stale while nobody looked at it. "


def measure(report: Report, *, quick: bool) -> None:
    """Append to a session, fire the hook, again and again; the median and the 95th percentile by size."""
    corpus = corpora.published(corpora.LARGE) or corpora.own()
    home, claude = DATA / f"home-hook-{corpus.name}", DATA / "hook-claude"
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(claude, ignore_errors=True)
    home.mkdir(parents=True)
    folders = {"notes": {"path": str(corpus.folder), "trust": "note"}, "brain": {"path": "brain", "trust": "session"}}
    (home / "collections.yml").write_text(json.dumps({"collections": folders}), encoding="utf-8")
    environ = {**environment(home), "CLAUDE_CONFIG_DIR": str(claude)}
    session = Session(claude, "0eeeeeee-0000-4000-8000-000000000000")
    session.append(2 * _KB, "begun")
    run([*program(), "index", "--json"], environ)
    os.sync()  # 400 MB of a new index: a hook would wait for the disk to take them
    rounds = 5 if quick else 40
    for size in _APPENDED:
        taken: list[float] = []
        floors: list[float] = []
        outcomes: set[str] = set()
        for number in range(rounds):
            fresh = Session(claude, f"0eeeeeee-0000-4000-8000-{size:06}{number:06}")
            fresh.append(1 * _KB, "begun")
            run([*program(), "hook", "stop"], environ, stdin=fresh.payload())
            settled(home)
            fresh.append(size, f"turn {number}")
            floors.append(floor(environ))
            done = run([*program(), "hook", "stop", "--json"], environ, stdin=fresh.payload())
            taken.append(done.wall_s)
            outcomes.add(str(done.answer().get("outcome")))
            settled(home)
        name = f"hook stop, {size // _KB:,} KB appended, {corpus.files:,} documents"
        p95 = percentile(taken, 0.95)
        said = f"floor {ms(median(floors))}; {', '.join(sorted(outcomes))}"
        report.add(Row(f"{name}: p50", ms(median(taken)), said, median(taken) / median(floors)))
        report.add(Row(f"{name}: p95", ms(p95), "", p95 / median(floors), "≤ 150 ms", p95 <= _P95_BAR_S))
    _visible(report, environ, home, claude)


def _visible(report: Report, environ: dict[str, str], home: Path, claude: Path) -> None:
    """How long a large turn takes from the hook's end until it is answered from."""
    large = Session(claude, "0eeeeeee-0000-4000-8000-999999999999")
    large.append(3000 * _KB, "the zymurgist arrived")
    run([*program(), "hook", "stop"], environ, stdin=large.payload())
    began = time.perf_counter()
    while time.perf_counter() - began < 30:
        done = run(
            [*program(), "ask", "--json", "zymurgist"], environ, ok=(0, 65, 67)
        )  # 65: the document is on disk, and not indexed yet
        if done.code == 0:
            seen = time.perf_counter() - began
            report.add(Row("hook stop, 3 MB: until it is found", ms(seen), "", None, "≤ 2 s", seen <= _VISIBLE_BAR_S))
            settled(home)
            return
    raise Failed("a large turn was not found within 30 s of its hook")


def settled(home: Path) -> None:
    """Wait until nothing is left to be indexed, so that runs do not meet."""
    due = home / "state" / "hooks" / "due"
    began = time.perf_counter()
    while any(due.glob("*.json")) if due.is_dir() else False:
        if time.perf_counter() - began > 60:
            raise Failed(f"something is still due in {due}")
        time.sleep(0.01)


class Session:
    """A transcript in Claude Code's form that grows by a turn at a time."""

    def __init__(self, claude: Path, identity: str) -> None:
        self._identity = identity
        self._path = claude / "projects" / "-bench" / f"{identity}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._count = 0

    def append(self, size: int, words: str) -> None:
        """A prompt and about ``size`` bytes of work on it: a quarter is said, the rest is what tools printed."""
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(self._record("user", f"{words}, what next?"))
            while size > 0:
                share = min(size, 8 * _KB)
                said = "\n".join([_PARAGRAPH] * max(1, share // 4 // len(_PARAGRAPH)))
                use = {"type": "tool_use", "id": f"t{self._count}", "name": "Bash", "input": {"command": "make test"}}
                printed = "\n".join([_PARAGRAPH] * max(1, share // 2 // len(_PARAGRAPH)))
                result = {"type": "tool_result", "tool_use_id": use["id"], "content": printed}
                for role, block in (
                    ("assistant", {"type": "text", "text": said}),
                    ("assistant", use),
                    ("user", result),
                ):
                    line = self._record(role, [block])
                    size -= len(line)
                    stream.write(line)

    def work(self, size: int) -> None:
        """About ``size`` bytes of work as in real transcripts: a twenty-fifth is said, the rest is what was printed."""
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(self._record("user", "find out what is slow, and mend it"))
            while size > 0:
                call = f"t{self._count}"
                use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"make part-{call}"}}
                result = {"type": "tool_result", "tool_use_id": call, "content": _PARAGRAPH * 80}
                for role, block in (
                    ("assistant", {"type": "text", "text": f"step {call}: {_PARAGRAPH * 2}"}),
                    ("assistant", use),
                    ("user", result),
                ):
                    line = self._record(role, [block])
                    size -= len(line)
                    stream.write(line)

    def payload(self) -> Path:
        """The file that holds the hook's input."""
        path = DATA / "hook-payload.json"
        given = {"session_id": self._identity, "transcript_path": str(self._path), "hook_event_name": "Stop"}
        path.write_text(json.dumps({**given, "cwd": "/bench"}), encoding="utf-8")
        return path

    def _record(self, role: str, content: object) -> str:
        self._count += 1
        message = {"role": role, "content": content, **({"id": f"m{self._count}"} if role == "assistant" else {})}
        record = {
            "type": role,
            "uuid": f"{self._identity}-{self._count}",
            "parentUuid": f"{self._identity}-{self._count - 1}" if self._count > 1 else None,
            "timestamp": f"2026-05-02T08:{self._count // 60 % 60:02}:{self._count % 60:02}.000Z",
            "sessionId": self._identity,
            "cwd": "/bench",
            "version": "2.1.98",
            "isSidechain": False,
            "message": message,
        }
        return json.dumps(record) + "\n"
