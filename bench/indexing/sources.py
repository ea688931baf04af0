"""``brain index --source …`` from nothing over invented sessions of each agent: MB of raw files a second."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.indexing import shell_history
from bench.measure import DATA, ROOT, Failed, Run, environment, median, program, run
from bench.report import Report, Row

_BAR = 15.0
# A session's file is mostly what its documents leave out; nothing of a history is left out.
_KNOWN = {"shell": "all of a history goes into its documents; where the time goes: docs/performance.md"}
# Real sessions of these tools are 3 % (Codex) to 10 % (Pi) conversation; the rest is what tools gave back.
_SESSIONS, _TURNS, _OUTPUT = 24, 60, 1500
_WORDS = (ROOT / "docs" / "documents.md").read_text(encoding="utf-8").split()
_AT = 1_777_367_643


def measure(report: Report, *, quick: bool) -> None:
    """One row a source. Each session: a prompt, reasoning, a call with 10 KB of output and an answer, over and over.

    The shell has two histories: random words without repetition, and lines that a person may have typed.
    """
    # Each run has a home of its own, and they go at the end: a file system may keep the places of files that were just
    # removed, and go through them for each new one (ext4 does for minutes: fs/ext4/ialloc.c, recently_deleted).
    homes = DATA / "homes-sources"
    shutil.rmtree(homes, ignore_errors=True)
    try:
        _rows(report, homes, 1 if quick else 3)
    finally:
        shutil.rmtree(homes, ignore_errors=True)


def _rows(report: Report, homes: Path, count: int) -> None:
    for name, write in _WRITERS.items():
        source, _, whose = name.partition(", ")
        folder = DATA / "sources" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write(folder, random.Random(name))  # noqa: S311  # text, not keys
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
        runs = [_cold(source, folder, homes / f"{name}-{number}") for number in range(count)]
        speed = size / median([done.wall_s for done in runs])
        cpu = size / median([done.cpu_s for done in runs])
        what = f"index --source {source}, {whose and whose + ', '}{size:.0f} MB"
        compared, known = f"{cpu:.1f} MB a second of cpu", _KNOWN.get(source, "")
        report.add(Row(what, f"{speed:.1f} MB/s", compared, None, f"≥ {_BAR:g} MB/s", speed >= _BAR, known))


def _cold(name: str, folder: Path, home: Path) -> Run:
    home.mkdir(parents=True)
    done = run([*program(), "index", "--source", name, "--from", str(folder), "--json"], environment(home))
    ledger: Any = done.answer()["sources"][name]
    if not ledger["documents"] or ledger["failed_files"] or ledger["failed_records"] or ledger["unknown"]:
        raise Failed(f"{name}: {ledger['documents']} documents, {ledger['failed']}, {ledger['unknown']}")
    return done


def _text(dice: random.Random, count: int) -> str:
    return " ".join(dice.choices(_WORDS, k=count))


def _turns(dice: random.Random) -> Iterator[tuple[int, str, str, str, str]]:
    """(number, prompt, thought, output, answer)."""
    for number in range(_TURNS):
        yield number, _text(dice, 20), _text(dice, 30), _text(dice, _OUTPUT), _text(dice, 80)


def _stamp(seconds: int) -> str:
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(_AT + seconds))


def _lines(path: Path, records: list[Any]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def _codex(folder: Path, dice: random.Random) -> None:
    for session in range(_SESSIONS):
        name = f"019a0000-0000-7000-8000-{session:012}"
        meta = {"id": name, "timestamp": _stamp(session), "cwd": "/home/me/api", "cli_version": "0.121.0"}
        made: list[tuple[str, Any]] = [("session_meta", meta)]
        for number, prompt, thought, output, answer in _turns(dice):
            call = f"c{number}"
            given = json.dumps({"cmd": "npm test -- auth"})
            said: list[Any] = [{"type": "output_text", "text": answer}]
            asked = [{"type": "input_text", "text": prompt}]
            summary = [{"type": "summary_text", "text": thought}]
            made += [
                (
                    "response_item",
                    {"type": "message", "role": "user", "content": asked},
                ),
                ("event_msg", {"type": "user_message", "message": prompt}),
                ("event_msg", {"type": "agent_reasoning", "text": thought}),
                ("response_item", {"type": "reasoning", "summary": summary}),
                (
                    "response_item",
                    {"type": "function_call", "name": "exec_command", "arguments": given, "call_id": call},
                ),
                ("response_item", {"type": "function_call_output", "call_id": call, "output": output}),
                ("event_msg", {"type": "agent_message", "message": answer}),
                ("response_item", {"type": "message", "role": "assistant", "content": said}),
            ]
        records = [
            {"timestamp": _stamp(at), "type": kind, "payload": payload} for at, (kind, payload) in enumerate(made)
        ]
        _lines(folder / f"rollout-2026-04-28T09-00-00-{name}.jsonl", records)


def _pi(folder: Path, dice: random.Random) -> None:
    for session in range(_SESSIONS):
        head = {"type": "session", "version": 3, "id": f"s{session}", "timestamp": _stamp(0), "cwd": "/x"}
        records: list[Any] = [head]

        def add(message: dict[str, Any], records: list[Any] = records) -> None:
            at = len(records)
            entry = {"type": "message", "id": f"e{at}", "parentId": f"e{at - 1}", "timestamp": _stamp(at)}
            records.append({**entry, "message": message})

        for number, prompt, thought, output, answer in _turns(dice):
            call = {"type": "toolCall", "id": f"c{number}", "name": "bash", "arguments": {"command": "npm test"}}
            add({"role": "user", "content": [{"type": "text", "text": prompt}]})
            add({"role": "assistant", "content": [{"type": "thinking", "thinking": thought}, call], "model": "m"})
            result = [{"type": "text", "text": output}]
            add(
                {
                    "role": "toolResult",
                    "toolCallId": f"c{number}",
                    "toolName": "bash",
                    "content": result,
                    "isError": False,
                }
            )
            add({"role": "assistant", "content": [{"type": "text", "text": answer}], "model": "m"})
        _lines(folder / f"{session}.jsonl", records)


def _gemini(folder: Path, dice: random.Random) -> None:
    for session in range(_SESSIONS):
        head = {"sessionId": f"s{session}", "projectHash": "0", "startTime": _stamp(0), "kind": "main"}
        records: list[Any] = [head]
        for number, prompt, thought, output, answer in _turns(dice):
            response = {"functionResponse": {"id": "c", "name": "shell", "response": {"output": output}}}
            call = {
                "id": f"c{number}",
                "name": "run_shell_command",
                "args": {"command": "npm test"},
                "status": "success",
            }
            thoughts = [{"subject": "So", "description": thought}]
            records += [
                {"id": f"u{number}", "timestamp": _stamp(number), "type": "user", "content": prompt},
                {"id": f"g{number}", "timestamp": _stamp(number), "type": "gemini", "content": answer,
                 "thoughts": thoughts, "toolCalls": [{**call, "result": [response]}], "model": "g"},
            ]  # fmt: skip
        _lines(folder / f"session-{session}.jsonl", records)


def _opencode(folder: Path, dice: random.Random) -> None:
    import apsw

    connection = apsw.Connection(str(folder / "opencode.db"))
    connection.execute(
        "create table session(id text, directory text, title text, version text, time_created int);"
        " create table message(id text, session_id text, time_created int, data text);"
        " create table part(id text, message_id text, session_id text, time_created int, data text);"
        " create index m on message(session_id); create index p on part(session_id)"
    ).fetchall()
    with connection:
        for session in range(_SESSIONS):
            name = f"ses_{session:03}"
            connection.execute("insert into session values(?, '/x', 'A session', '1.18.4', ?)", (name, _AT * 1000))
            for number, prompt, thought, output, answer in _turns(dice):
                tool = {"type": "tool", "tool": "bash", "callID": f"c{number}",
                    "state": {"status": "completed", "input": {"command": "npm test"}, "output": output}}  # fmt: skip
                said = [{"type": "reasoning", "text": thought}, tool, {"type": "text", "text": answer}]
                for role, parts in (("user", [{"type": "text", "text": prompt}]), ("assistant", said)):
                    message = f"msg_{session:03}_{number:04}_{role != 'user':d}"
                    at = (_AT + number) * 1000
                    row = (message, name, at, json.dumps({"role": role}))
                    connection.execute("insert into message values(?, ?, ?, ?)", row)
                    for place, part in enumerate(parts):
                        held = (f"{message}_{place}", message, name, at, json.dumps(part))
                        connection.execute("insert into part values(?, ?, ?, ?, ?)", held)
    connection.close()


def _cursor(folder: Path, dice: random.Random) -> None:
    import apsw

    connection = apsw.Connection(str(folder / "state.vscdb"))
    connection.execute("create table cursorDiskKV(key text unique on conflict replace, value blob)")
    with connection:
        for session in range(_SESSIONS):
            heads: list[Any] = []

            def put(bubble: dict[str, Any], heads: list[Any] = heads, session: int = session) -> None:
                name = f"b{len(heads):05}"
                heads.append({"bubbleId": name, "type": bubble["type"]})
                row = (f"bubbleId:c{session}:{name}", json.dumps({**bubble, "createdAt": _stamp(len(heads))}))
                connection.execute("insert into cursorDiskKV values(?, ?)", row)

            for _, prompt, thought, output, answer in _turns(dice):
                tool = {"name": "run_terminal_cmd", "params": '{"command": "npm test"}', "result": output}
                put({"type": 1, "text": prompt})
                put({"type": 2, "text": "", "thinking": {"text": thought}, "toolFormerData": tool})
                put({"type": 2, "text": answer})
            data = {"name": "A session", "createdAt": _AT * 1000, "fullConversationHeadersOnly": heads}
            connection.execute("insert into cursorDiskKV values(?, ?)", (f"composerData:c{session}", json.dumps(data)))
    connection.close()


def _copilot(folder: Path, dice: random.Random) -> None:
    for session in range(_SESSIONS):
        made: list[tuple[str, Any]] = [("session.start", {"sessionId": f"s{session}", "startTime": _stamp(0)})]
        for number, prompt, thought, output, answer in _turns(dice):
            call = {"toolCallId": f"c{number}", "name": "bash", "arguments": {"command": "npm test"}}
            begun = {"toolCallId": f"c{number}", "toolName": "bash", "arguments": {"command": "npm test"}}
            ended = {"toolCallId": f"c{number}", "success": True, "result": {"content": output}}
            made += [
                ("user.message", {"content": prompt, "transformedContent": prompt}),
                ("assistant.message", {"content": "", "toolRequests": [call], "reasoningText": thought}),
                ("tool.execution_start", begun),
                ("tool.execution_complete", ended),
                ("assistant.message", {"content": answer, "toolRequests": []}),
            ]
        records = [
            {"type": kind, "data": data, "id": f"e{at}", "parentId": None, "timestamp": _stamp(at)}
            for at, (kind, data) in enumerate(made)
        ]
        (folder / f"s{session}").mkdir()
        _lines(folder / f"s{session}" / "events.jsonl", records)


def _amp(folder: Path, dice: random.Random) -> None:
    for session in range(_SESSIONS):
        messages: list[Any] = []
        for number, prompt, thought, output, answer in _turns(dice):
            use = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"cmd": "npm test"}}
            done = {"status": "done", "result": {"output": output, "exitCode": 0}}
            result = {"type": "tool_result", "toolUseID": f"c{number}", "run": done}
            messages += [
                {"role": "user", "content": [{"type": "text", "text": prompt}]},
                {"role": "assistant", "content": [{"type": "thinking", "thinking": thought}, use]},
                {"role": "user", "content": [result]},
                {"role": "assistant", "content": [{"type": "text", "text": answer}]},
            ]
        thread = {"id": f"T-{session}", "created": _AT * 1000, "messages": messages}
        (folder / f"T-{session}.json").write_text(json.dumps(thread, indent=2), encoding="utf-8")


def _shell(folder: Path, dice: random.Random) -> None:
    commands = [f": {_AT + 40 * number}:0;{_text(dice, 12)}\n" for number in range(_SESSIONS * _TURNS * 60)]
    (folder / ".zsh_history").write_text("".join(commands).replace("\\", "/"), encoding="utf-8")


def _shells(folder: Path, dice: random.Random) -> None:
    shell_history.write(folder, dice, _WORDS)


_WRITERS: dict[str, Callable[[Path, random.Random], None]] = {
    "codex": _codex,
    "pi": _pi,
    "openclaw": _pi,
    "gemini": _gemini,
    "opencode": _opencode,
    "cursor": _cursor,
    "copilot": _copilot,
    "amp": _amp,
    "shell": _shell,
    "shell, a person's": _shells,
}
