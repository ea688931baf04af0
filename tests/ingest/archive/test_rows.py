"""Documents made from databases can be made again, byte for byte, after the databases are gone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
import zstandard

from core.home import Home
from core.tombstones import Tombstones
from ingest import forgetting
from ingest.archive import archive
from ingest.pipeline.run import run
from tests.ingest.sources.test_opencode import database as opencode_database
from tests.ingest.transcripts import Script, corpus, save

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
AT = 1_777_366_440_000


def rows(path: Path, schema: str, statement: str, values: list[tuple[object, ...]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute(schema).fetchall()
    connection.executemany(statement, values)
    connection.close()
    return path


def cursor(folder: Path, said: str = f"Why? {TOKEN}") -> Path:
    values: list[tuple[object, ...]] = []
    for number in range(2):
        name = f"c{number}"
        values.append((f"composerData:{name}", json.dumps({"composerId": name, "name": f"Race {TOKEN}"})))
        for order, (kind, text) in enumerate([(1, f"{number} {said}"), (2, "Because.")]):
            bubble = {"type": kind, "text": text, "createdAt": "2026-04-28T09:14:00.000Z", "bubbleId": f"b{order}"}
            values.append((f"bubbleId:{name}:b{order}", json.dumps(bubble).encode()))
    values.append(("secret/of/another", TOKEN))
    schema = "create table if not exists cursorDiskKV(key text unique on conflict replace, value blob)"
    return rows(folder / "globalStorage/state.vscdb", schema, "insert into cursorDiskKV values(?, ?)", values)


def cursor_workspace(folder: Path) -> Path:
    tab = {"tabId": "t", "bubbles": [{"type": "user", "text": f"Old {TOKEN}"}, {"type": "ai", "text": "Answer."}]}
    values = [
        ("workbench.panel.aichat.view.aichat.chatdata", json.dumps({"tabs": [tab]})),
        ("aiService.prompts", json.dumps([{"text": "alone"}])),
    ]
    place = folder / "workspaceStorage/abc"
    path = rows(
        place / "state.vscdb", "create table ItemTable(key, value)", "insert into ItemTable values(?, ?)", [*values]
    )
    (place / "workspace.json").write_text(json.dumps({"folder": "file:///home/me/api"}), encoding="utf-8")
    return path


def cursor_agent(folder: Path) -> Path:
    names = ["aa" * 32, "bb" * 32]
    said = [{"role": "assistant", "content": [{"type": "text", "text": "So."}]}, {"role": "user", "content": TOKEN}]
    values: list[tuple[object, ...]] = [
        (name, json.dumps(message).encode()) for name, message in zip(names, said, strict=True)
    ]
    root = b"".join(b"\x0a\x20" + bytes.fromhex(name) for name in reversed(names))
    values += [("root", root + b"\x12\x28" + TOKEN.encode()), ("other", b"\x12\x28" + TOKEN.encode())]
    path = rows(
        folder / "chats/h/a1/store.db",
        "create table blobs(id text, data blob); create table meta(key text, value text)",
        "insert into blobs values(?, ?)",
        values,
    )
    about = {"agentId": "a1", "latestRootBlobId": "root", "name": "The race", "createdAt": AT}
    return rows(path, "select 1", "insert into meta values(?, ?)", [("0", json.dumps(about).encode().hex())])


def opencode(folder: Path) -> Path:
    path = opencode_database(folder / "opencode.db")
    return rows(path, "select 1", "update session set title = ?", [(f"The race {TOKEN}",)])


def openclaw(folder: Path) -> Path:
    head: dict[str, object] = {
        "type": "session",
        "version": 3,
        "id": "s0",
        "timestamp": "2026-04-28T09:14:00.000Z",
        "cwd": "/home/me",
    }
    said: dict[str, object] = {"type": "message", "id": "m1", "parentId": None, "timestamp": "2026-04-28T09:14:01.000Z"}
    said["message"] = {"role": "user", "content": f"Use {TOKEN}"}
    packed = zstandard.compress(json.dumps(said).encode())
    path = rows(
        folder / "agents/main/agent/openclaw-agent.sqlite",
        "create table transcript_events(session_id text, seq integer, event_json text, event_zstd blob);"
        "create table session_transcript_archives(session_id text, archive_blob blob)",
        "insert into transcript_events values(?, ?, ?, ?)",
        [("s0", 0, json.dumps(head), None), ("s0", 1, None, packed)],
    )
    old = "\n".join(json.dumps({**line, "id": f"x{number}"}) for number, line in enumerate([head, said])) + "\n{torn\n"
    return rows(
        path,
        "select 1",
        "insert into session_transcript_archives values(?, ?)",
        [("s9", zstandard.compress(old.encode()))],
    )


def shell(folder: Path) -> Path:
    return rows(
        folder / "history.db",
        "create table history(id text, timestamp int, exit int, command text, cwd text, deleted_at int)",
        "insert into history values(?, ?, ?, ?, ?, ?)",
        [("a", AT * 10**6, 1, f"curl {TOKEN}", f"/home/{TOKEN}", None), ("b", AT * 10**6 + 1, 0, "ls", "/", 5)],
    )


def ingest(home: Home, folder: Path, source: str) -> None:
    assert run(home, source, [str(folder)], trust_stat=False).failed_files == 0


def again(home: Home, folder: Path, source: str) -> dict[str, bytes]:
    shutil.rmtree(folder)
    shutil.rmtree(home.path("brain"))
    for path in Path(home.state).rglob("*.sqlite*"):
        path.unlink()
    assert run(home, source, trust_stat=False, from_archive=True).failed_files == 0
    return corpus(home)


def kept(home: Home) -> bytes:
    folder = home.path(archive.FOLDER)
    found = b""
    for source in archive.sources(home):
        for entry in archive.versions(home, source):
            found += b"".join(archive.content(folder, segment) for segment in entry.segments)
    return found


@pytest.mark.parametrize(
    ("make", "source", "documents"),
    [
        (cursor, "cursor", 2),
        (cursor_workspace, "cursor", 2),
        (cursor_agent, "cursor", 1),
        (opencode, "opencode", 1),
        (openclaw, "openclaw", 2),
        (shell, "shell", 1),
    ],
)
def test_what_was_made_from_a_database_is_made_again_without_it(
    home: Home, tmp_path: Path, make: Callable[[Path], Path], source: str, documents: int
) -> None:
    folder = tmp_path / "there"
    path = make(folder)
    os.utime(path, ns=(10**18, 1_700_000_000_123_456_789))
    ingest(home, folder, source)
    before = corpus(home)
    assert len(before) == documents
    assert b"[redacted:github]" in b"".join(before.values())
    assert TOKEN.encode() not in b"".join(before.values()) + kept(home)
    assert TOKEN.encode().hex().encode() not in kept(home)
    assert again(home, folder, source) == before


def test_what_is_gone_from_the_database_stays_and_the_rest_is_stored_once(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "there"
    path = cursor(folder)
    ingest(home, folder, "cursor")
    (first,) = archive.read(home, "cursor").values()
    rows(
        path,
        "delete from cursorDiskKV where key like '%:c0%'",
        "insert into cursorDiskKV values(?, ?)",
        [("bubbleId:c1:b9", json.dumps({"type": 1, "text": "And then?"}))],
    )
    ingest(home, folder, "cursor")
    (second,) = archive.read(home, "cursor").values()
    assert len(set(first.segments) & set(second.segments)) == 1
    assert len(list(archive.objects(home.path("raw")))) == 2, "what changed is not kept as it was before"
    before = corpus(home)
    assert len(before) == 2
    assert again(home, folder, "cursor") == before


def test_what_was_forgotten_of_a_database_does_not_come_back_into_the_archive(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "there"
    cursor(folder, "a phrase of its own")
    ingest(home, folder, "cursor")
    held = forgetting.look(home, "cursor", ["c0"])
    Tombstones(home).add([("cursor", "c0")])
    forgetting.erase(home, "cursor", held)
    assert b"0 a phrase of its own" not in kept(home)
    assert b"1 a phrase of its own" in kept(home), "the other session of the database stays"
    run(home, "cursor", [str(folder)], trust_stat=False, rebuild=True)
    assert b"1 a phrase of its own" in kept(home)
    assert b"0 a phrase of its own" not in kept(home)


def test_samples_of_databases_are_made_again(home: Home, shared: Path, tmp_path: Path) -> None:
    for source in ("cursor", "opencode", "openclaw"):
        folder = tmp_path / source
        for number, path in enumerate(sorted((shared / "samples").rglob("*"))):
            if path.suffix in (".vscdb", ".db", ".sqlite") and path.is_file() and "chrome" not in str(path):
                place = folder / str(number) / path.name
                place.parent.mkdir(parents=True)
                shutil.copyfile(path, place if "store" not in path.name else place.with_name("store.db"))
        if not folder.exists():
            continue
        run(home, source, [str(folder)], trust_stat=False)
        before = corpus(home)
        if before:
            assert again(home, folder, source) == before
            shutil.rmtree(home.path("brain"))


def _pair(folder: Path) -> Path:
    tabs = [
        {"tabId": f"t{n}", "bubbles": [{"type": "user", "text": f"{n} said"}, {"type": "ai", "text": "So."}]}
        for n in range(2)
    ]
    unnamed = {"bubbles": [{"type": "user", "text": "3 said"}, {"type": "ai", "text": "Indeed."}]}
    composers = [{"composerId": "k", "conversation": [{"type": 1, "text": "2 said"}, {"type": 2, "text": "Yes."}]}]
    values: list[tuple[object, ...]] = [
        ("workbench.panel.aichat.view.aichat.chatdata", json.dumps({"tabs": [*tabs, unnamed]})),
        ("composer.composerData", json.dumps({"allComposers": composers})),
        ("aiService.prompts", json.dumps([{"text": "4 said"}, {"text": "1 said"}])),
    ]
    return rows(
        folder / "workspaceStorage/abc/state.vscdb",
        "create table ItemTable(key, value)",
        "insert into ItemTable values(?, ?)",
        values,
    )


def _pair_of_opencode(folder: Path) -> Path:
    path = opencode(folder)
    rows(path, "insert into session(id, directory, title, version, time_created) select 'ses_other', directory,"
         " 'Another', version, time_created from session limit 1", "select ?", [(0,)])  # fmt: skip
    made = json.dumps({"role": "user"})
    rows(path, "select 1", "insert into message(id, session_id, time_created, data) values(?, ?, ?, ?)",
         [("msg_o", "ses_other", AT, made)])  # fmt: skip
    part = json.dumps({"type": "text", "text": "1 said"})
    return rows(path, "select 1", "insert into part(id, message_id, session_id, time_created, data)"
                " values(?, ?, ?, ?, ?)", [("prt_o", "msg_o", "ses_other", AT, part)])  # fmt: skip


def _days(folder: Path) -> Path:
    path = folder / ".zsh_history"
    folder.mkdir(parents=True)
    lines = [f": {AT // 1000 + day * 86_400 + n}:0;echo {day} said \\\n  {n}" for day in range(4) for n in range(3)]
    path.write_text("ls without a time\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_conversation_that_a_database_has_twice_is_made_again_as_it_was(home: Home, tmp_path: Path) -> None:
    path = _pair(tmp_path / "there")
    head = {"composerId": "k", "name": "Twice"}
    bubble = {"type": 1, "text": "said by the bubble", "bubbleId": "b"}
    rows(
        path,
        "create table cursorDiskKV(key text unique on conflict replace, value blob)",
        "insert into cursorDiskKV values(?, ?)",
        [("composerData:k", json.dumps(head)), ("bubbleId:k:b", json.dumps(bubble))],
    )
    ingest(home, tmp_path / "there", "cursor")
    before = corpus(home)
    assert b"said by the bubble" in kept(home)
    assert b"2 said" in kept(home)
    assert again(home, tmp_path / "there", "cursor") == before


def _two_of_claude(folder: Path) -> Path:
    one, two = Script("gone-1", prefix="a"), Script("stays-2", prefix="b")
    told = {"type": "summary", "summary": "What gone-1 came to", "leafUuid": "a1"}
    records = [told, one.user("Said in gone-1"), two.user("Said in the other"), one.user("More in gone-1")]
    records += [told, two.assistant({"type": "text", "text": "Answered"}), {"type": "summary", "summary": "Theirs"}]
    aside = one.user("Aside of gone-1", isSidechain=True)
    path = save(folder / "projects" / "-p" / "both.jsonl", *records, aside, two.user("At last"))
    path.write_bytes(
        path.read_bytes().replace(b'"At last"', b'"At last of stays"') + b'{"torn of gone-1 and stays-2"\n'
    )
    return path


@pytest.mark.parametrize("with_state", [True, False])
@pytest.mark.parametrize(
    ("make", "source", "gone", "stays"),
    [
        (lambda folder: cursor(folder, "said"), "cursor", "c0", 1),
        (_pair, "cursor", "t0", 4),
        (_pair_of_opencode, "opencode", "ses_other", 1),
        (_days, "shell", "2026-04-29", 4),
        (_two_of_claude, "claude", "gone-1", 1),
        (_two_of_claude, "claude", "stays-2", 1),
    ],
)
def test_forgetting_one_session_of_a_file_leaves_the_others_in_the_archive(
    home: Home,
    tmp_path: Path,
    make: Callable[[Path], Path],
    source: str,
    gone: str,
    stays: int,
    *,
    with_state: bool,
) -> None:
    folder = tmp_path / "there"
    path = make(folder)
    ingest(home, folder, source)
    before = corpus(home)
    mine = f"{gone}.md" if source == "claude" else f"{source}__{gone}.md"
    assert mine in before, before.keys()
    if not with_state:
        for each in Path(home.state).rglob("*.sqlite*"):
            each.unlink()
    Tombstones(home).add([(source, gone)])
    forgetting.erase(home, source, forgetting.look(home, source, [gone]))
    Path(home.path("brain"), mine).unlink()
    others = {name: data for name, data in before.items() if name != mine}
    assert len(others) == stays
    # Whether or not the file is read again: it is there now, it was not before, and it may grow.
    for _ in range(2):
        assert gone.encode() not in kept(home)
        saved, status = path.read_bytes(), path.stat()
        assert again(home, folder, source) == others
        path.parent.mkdir(parents=True)
        path.write_bytes(saved)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        run(home, source, [str(folder)], trust_stat=False, rebuild=True)
        assert corpus(home) == others


def test_rows_of_which_it_is_not_certain_whose_they_are_go_with_whatever_is_forgotten(
    home: Home, tmp_path: Path
) -> None:
    openclaw(tmp_path / "there")  # the row says s9, what is packed in it x0
    ingest(home, tmp_path / "there", "openclaw")
    assert b"s9" in kept(home)
    Tombstones(home).add([("openclaw", "x0")])
    forgetting.erase(home, "openclaw", forgetting.look(home, "openclaw", ["x0"]))
    assert b"s9" not in kept(home)
    assert b'"unit":"s0"' in kept(home)


def test_a_text_that_one_session_of_a_database_has_is_not_the_others_to_answer_for(home: Home, tmp_path: Path) -> None:
    for make, source in ((lambda folder: cursor(folder, "said"), "cursor"), (_days, "shell")):
        ingest(home, make(tmp_path / source).parent, source)
    assert forgetting.archived_with(home, lambda data: b"1 said" in data) == {("cursor", "c1"), ("shell", "2026-04-29")}
    assert len(forgetting.archived_with(home, lambda data: b"said" in data)) == 6
