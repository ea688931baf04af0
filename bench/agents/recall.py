"""The hooks that recall, a new process each time: what they add to the wait at a session's start and at a prompt."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from bench import corpora
from bench.measure import DATA, Failed, environment, floor, median, percentile, program, run
from bench.report import Report, Row, ms

_P95_BAR_S = 0.200
_CHARACTERS = 1_500
_PROJECT = "/bench/gateway"
_DECISIONS = (
    "Keep the gateway's lock outside of the transaction because the cache grew stale under it",
    "Roll back by schema version because a restart loses the session cache",
    "Answer from the replica when the primary is slow because readers outnumber writers",
)


def measure(report: Report, *, quick: bool) -> None:
    """Each hook over the large brain, a new session each time; the median and the 95th percentile."""
    corpus = corpora.published(corpora.LARGE) or corpora.own()
    home, claude = DATA / f"home-recall-{corpus.name}", DATA / "recall-claude"
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(claude, ignore_errors=True)
    shutil.copytree(corpora.brain(corpus), home)
    environ = {**environment(home), "CLAUDE_CONFIG_DIR": str(claude)}
    _furnish(home, claude, corpus, environ)
    prompts = [each for each in corpus.questions if len(each.split()) > 2]
    rounds = 10 if quick else 60
    for verb, event in (("session-start", "SessionStart"), ("prompt", "UserPromptSubmit")):
        wall: list[float] = []
        cpu: list[float] = []
        floors: list[float] = []
        said = 0
        for number in range(rounds):
            given = _payload(verb, event, number, prompts[number % len(prompts)])
            floors.append(floor(environ))
            done = run([*program(), "hook", verb], environ, stdin=given)
            wall.append(done.wall_s)
            cpu.append(done.cpu_s)
            if done.output:
                said += 1
                length = len(done.answer()["hookSpecificOutput"]["additionalContext"])
                if length > _CHARACTERS:
                    raise Failed(f"hook {verb} said {length} characters")
        if not said:
            raise Failed(f"hook {verb} had nothing to say, {rounds} times")
        name = f"hook {verb}, {corpus.files:,} documents"
        compared = f"floor {ms(median(floors))}; cpu {ms(median(cpu))}; spoke {said} of {rounds} times"
        report.add(Row(f"{name}: p50", ms(median(wall)), compared, median(wall) / median(floors)))
        p95 = percentile(wall, 0.95)
        report.add(Row(f"{name}: p95", ms(p95), "", p95 / median(floors), "≤ 200 ms", p95 <= _P95_BAR_S))


def _furnish(home: Path, claude: Path, corpus: corpora.Corpus, environ: dict[str, str]) -> None:
    """Add sessions and decisions of one project to the corpus; a session that begins there should recall them."""
    folders = {
        "notes": {"path": str(corpus.folder), "trust": "note"},
        "brain": {"path": "brain", "trust": "session"},
        "inbox": {"path": "inbox", "trust": "note"},
    }
    (home / "collections.yml").write_text(json.dumps({"collections": folders}), encoding="utf-8")
    place = claude / "projects" / "-bench-gateway"
    place.mkdir(parents=True)
    for number in range(5):
        identity = f"0fffffff-0000-4000-8000-{number:012}"
        record = {
            "type": "user",
            "uuid": identity,
            "parentUuid": None,
            "timestamp": f"2026-05-02T08:0{number}:00.000Z",
            "sessionId": identity,
            "cwd": _PROJECT,
            "version": "2.1.98",
            "isSidechain": False,
            "message": {"role": "user", "content": f"why did deploy number {number} of the gateway stall?"},
        }
        (place / f"{identity}.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    for text in _DECISIONS:
        run([*program(), "inbox", "--type", "decision", "--project", _PROJECT, text], environ)
    run([*program(), "index", "--json"], environ)


def _payload(verb: str, event: str, number: int, prompt: str) -> Path:
    """The file that holds the hook's input, of a session that has been shown nothing yet."""
    path = DATA / "recall-payload.json"
    session = f"recall-{verb}-{number}"
    given = {
        "session_id": session,
        "transcript_path": f"/bench/{session}.jsonl",
        "hook_event_name": event,
        "cwd": _PROJECT,
        "source": "startup",
        "prompt": prompt,
    }
    path.write_text(json.dumps(given), encoding="utf-8")
    return path
