"""Prompts of a session without a transcript become a document of that session alone."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from core import config
from core.document import split
from core.home import Home
from ingest import registry
from ingest.archive import archive
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.pulse import waiting
from ingest.pipeline.rehearsal import rehearse
from ingest.pipeline.run import one, run
from ingest.raw import store
from ingest.sources.gemini.source import SOURCE as GEMINI
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.forgetting import forget
from tests.ingest.sources import test_codex, test_copilot, test_gemini
from tests.ingest.transcripts import Script, corpus, save, text

HERE, GONE, AWAY = (f"0199abc{digit}-0000-7000-8000-00000000000{digit}" for digit in "123")
AT = 1_777_366_800  # 2026-04-28T09:00:00Z
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"

Said = tuple[str, str, int]


class Kind(NamedTuple):
    """A source: where its root and its history lie below a folder, and what writes its transcripts and its history."""

    source: str
    root: str
    history: str
    transcript: str
    write: Callable[[Path, str], object]
    entry: Callable[[Said], dict[str, Any]]
    prefix: str
    project: str | None


def _codex(path: Path, session: str) -> None:
    make = test_codex.Rollout()
    test_codex.save(path, make.meta(session), *make.asked(f"Told by {session}?"), *make.said("Yes."))


def _gemini(path: Path, session: str) -> None:
    test_gemini.whole(
        path, test_gemini.user("m1", f"Told by {session}?"), test_gemini.said("m2", "Yes."), sessionId=session
    )


def _claude(path: Path, session: str) -> None:
    script = Script(session)
    save(path, script.user(f"Told by {session}?"), script.assistant(text("Yes.")))


def _copilot(path: Path, session: str) -> None:
    opening = {**test_copilot.START, "sessionId": session}
    test_copilot.events(path, ("session.start", opening), ("user.message", {"content": f"Told by {session}?"}))


def _store(path: Path, said: list[Said]) -> None:
    path.unlink(missing_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute(
        "create table sessions(id text primary key, cwd text, repository text, branch text, summary text,"
        " created_at text, updated_at text); create table turns(id integer primary key, session_id text,"
        " turn_index int, user_message text, assistant_response text, timestamp text)"
    ).fetchall()
    for number, (session, typed, at) in enumerate(said):
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
        row = (session, "/home/me/shop", None, "main", None, stamp, stamp)
        connection.execute("insert or ignore into sessions values(?, ?, ?, ?, ?, ?, ?)", row)
        answer = "On the ice." if "seal" in typed else None
        connection.execute(
            "insert into turns values(?, ?, ?, ?, ?, ?)", (number, session, number, typed, answer, stamp)
        )
    connection.close()


KINDS = [
    Kind(
        "codex",
        "sessions",
        "history.jsonl",
        "sessions/2026/04/28/rollout-2026-04-28T09-00-00-{}.jsonl",
        _codex,
        lambda said: {"session_id": said[0], "text": said[1], "ts": said[2]},
        "codex__",
        None,
    ),
    Kind(
        "gemini",
        "",
        "logs.json",
        "chats/session-2026-04-28T09-00-{:.8}.json",
        _gemini,
        lambda said: {
            "sessionId": said[0],
            "messageId": 0,
            "type": "user",
            "message": said[1],
            "timestamp": f"2026-04-28T{9 + (said[2] - AT) // 3600:02}:00:00.000Z",
        },
        "gemini__",
        "/home/me/shop",
    ),
    Kind(
        "claude",
        "projects",
        "history.jsonl",
        "projects/-home-me-api/{}.jsonl",
        _claude,
        lambda said: {
            "sessionId": said[0],
            "display": said[1],
            "timestamp": said[2] * 1000,
            "project": "/home/me/shop",
            "pastedContents": {},
        },
        "",
        "/home/me/shop",
    ),
    Kind(
        "copilot",
        "session-state",
        "session-store.db",
        "session-state/{}/events.jsonl",
        _copilot,
        lambda said: {},
        "copilot__",
        "/home/me/shop",
    ),
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.source)


class Tool:
    """A tool's folder."""

    def __init__(self, home: Home, folder: Path, kind: Kind) -> None:
        self.home = home
        self.kind = kind
        self.folder = folder
        self.root = folder / kind.root
        self.root.mkdir(parents=True)
        (folder / ".project_root").write_text("/home/me/shop")
        self.said: list[Said] = []

    def type(self, *said: Said) -> None:
        self.said += said
        if self.kind.history.endswith(".db"):
            _store(self.folder / self.kind.history, self.said)
            return
        entries = [self.kind.entry(each) for each in self.said]
        whole = json.dumps(entries, indent=2)
        lines = "".join(json.dumps(entry) + "\n" for entry in entries)
        (self.folder / self.kind.history).write_text(whole if self.kind.history.endswith(".json") else lines)

    def write(self, session: str) -> Path:
        path = self.folder / self.kind.transcript.format(session)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.kind.write(path, session)
        return path

    def ingest(self, **options: Any) -> Ledger:
        return run(self.home, self.kind.source, [str(self.root)], trust_stat=False, **options)

    def name(self, session: str) -> str:
        return f"{self.kind.prefix}{session}.md"

    def archived(self) -> bytes:
        held = archive.versions(self.home, self.kind.source)
        return b"".join(archive.content(self.home.path("raw"), part) for entry in held for part in entry.segments)


@pytest.fixture
def tool(home: Home, tmp_path: Path, kind: Kind) -> Tool:
    made = Tool(home, tmp_path / "tool", kind)
    made.write(HERE)
    made.type(
        (HERE, "said and told", AT),
        (GONE, f"Where is the walrus? {TOKEN}", AT + 3600),
        (GONE, "/compact", AT + 7200),
        (GONE, "And <private>the other</private> the seal?", AT + 10800),
    )
    return made


@each_kind
def test_only_a_session_without_a_transcript_is_made_of_its_prompts(tool: Tool, kind: Kind) -> None:
    would = rehearse(tool.home, kind.source, [str(tool.root)], trust_stat=True)
    ledger = tool.ingest()
    assert would["would"]["new"] == ledger.documents == ledger.written == 2
    assert (ledger.ingested, ledger.failed_files, ledger.skipped, ledger.unknown) == (2, 0, {}, {})
    held = corpus(tool.home)
    assert ledger.redacted["github"] == 1
    assert b"said and told" not in held[tool.name(HERE)] + tool.archived()
    meta, body = split(held[tool.name(GONE)].decode())
    expected = {"session_id": GONE, "source": kind.source, "partial": True, "date": "2026-04-28T10:00:00Z"}
    assert expected.items() <= meta.items()
    answered = kind.source == "copilot"
    assert (meta["ended"], meta.get("project"), meta["turns"]) == ("2026-04-28T12:00:00Z", kind.project, 3 + answered)
    assert ("On the ice." in body) == answered
    assert meta["title"] == "Where is the walrus? [redacted:github]"
    assert "- /compact" in body
    assert "the other" not in body
    assert TOKEN.encode() not in tool.archived()
    assert b"walrus" in tool.archived()
    # A history that says nothing new costs a look, and is no news to whoever waits for transcripts.
    assert tool.ingest().unchanged == 2
    shutil.rmtree(tool.folder)
    shutil.rmtree(tool.home.path("brain"))
    for path in Path(tool.home.state).glob("*.sqlite*"):
        path.unlink()
    run(tool.home, kind.source, trust_stat=False, from_archive=True)
    assert corpus(tool.home) == held


@each_kind
def test_a_transcript_that_appears_takes_the_place_of_the_prompts_for_good(tool: Tool, kind: Kind) -> None:
    tool.ingest()
    tool.write(GONE)
    tool.ingest()
    whole = corpus(tool.home)[tool.name(GONE)]
    assert f"Told by {GONE}?".encode() in whole
    assert b"walrus" not in whole
    path = tool.write(AWAY)
    tool.type((GONE, "more", AT + 14400), (AWAY, "typed", AT + 14400))
    tool.ingest()
    assert b"walrus" not in tool.archived()
    path.unlink()
    tool.type((AWAY, "typed again", AT + 18000))
    ledger = tool.ingest()
    assert (ledger.documents, ledger.written, ledger.vanished) == (3, 0, 1)
    assert corpus(tool.home)[tool.name(GONE)] == whole


@each_kind
def test_one_transcript_read_alone_takes_the_place_too(tool: Tool, kind: Kind) -> None:
    tool.type((AWAY, "another one", AT + 14400))
    tool.ingest()
    path = tool.write(GONE)
    one(tool.home, kind.source, str(path), wait_s=1, settings={}, on_written=lambda *_: None, settle=lambda _: None)
    held = corpus(tool.home)
    assert b"walrus" not in held[tool.name(GONE)]
    assert tool.ingest().written == 0
    tool.type((AWAY, "goes on", AT + 18000))
    tool.ingest()
    assert b"goes on" in corpus(tool.home)[tool.name(AWAY)]


@each_kind
def test_prompts_that_a_history_drops_stay(tool: Tool, kind: Kind) -> None:
    tool.ingest()
    held = corpus(tool.home)[tool.name(GONE)]
    tool.said = tool.said[2:]
    tool.type((AWAY, "newer", AT + 14400))
    tool.ingest()
    assert corpus(tool.home)[tool.name(GONE)] == held
    tool.said = []
    tool.type((AWAY, "newer", AT + 14400))
    tool.ingest()
    assert corpus(tool.home)[tool.name(GONE)] == held
    assert b"walrus" in tool.archived()


@each_kind
def test_a_forgotten_session_does_not_come_back_by_its_prompts(tool: Tool, kind: Kind) -> None:
    home, settings = tool.home, config.load(tool.home)

    def indexed() -> None:
        index(home, settings, source=kind.source, roots=[str(tool.root)])

    indexed()
    for phrase, session in (("Told by", HERE), ("walrus", GONE)):
        outcome = forget.carry_out(home, forget.plan(home, settings, Selection(), phrase))
        assert outcome.left == []
        assert tool.name(session) not in corpus(home)
    tool.type((HERE, "said and told", AT), (GONE, "the walrus again", AT + 14400), (AWAY, "seen", AT + 14400))
    shutil.rmtree(tool.folder / kind.transcript.partition("/")[0])
    tool.root.mkdir(exist_ok=True)
    indexed()
    assert list(corpus(home)) == [tool.name(AWAY)]
    assert b"walrus" not in tool.archived()
    assert b"said and told" not in tool.archived()


@each_kind
def test_prompts_of_what_is_excluded_do_not_come_in_by_the_history(home: Home, tmp_path: Path, kind: Kind) -> None:
    tool = Tool(home, tmp_path / "tool", kind)
    path = tool.write(HERE)
    Path(home.path("collections.yml")).write_text(
        f"collections: {{brain: }}\nexclude: {{paths: ['{path.parent}'], projects: ['/home/me/shop']}}\n"
    )
    tool.type((HERE, "said and told", AT), (HERE, "and more", AT))
    for _ in range(2):
        tool.ingest()
        assert corpus(home) == {}
        assert tool.archived() == b""
        if path.exists():
            path.unlink()
            tool.type((HERE, "and on", AT))


def test_histories_are_looked_for_where_the_tools_keep_them_and_are_no_news(home: Home) -> None:
    user = Path(os.environ["HOME"])
    codex, claude = user / ".codex", Path(os.environ["CLAUDE_CONFIG_DIR"])
    for folder, part, entry in ((codex, "sessions", KINDS[0].entry), (claude, "projects", KINDS[2].entry)):
        (folder / part).mkdir(parents=True)
        (folder / "history.jsonl").write_text(json.dumps(entry((GONE, "hello walrus", AT))) + "\n")
    (user / ".copilot").mkdir()
    logs = user / ".gemini/tmp/shop/logs.json"
    logs.parent.mkdir(parents=True)
    logs.write_text(json.dumps([KINDS[1].entry((GONE, "hello walrus", AT))]))
    _store(user / ".copilot/session-store.db", [(GONE, "hello walrus", AT)])
    for source in ("claude", "codex", "copilot", "gemini"):
        assert source in registry.present(home)
        run(home, source, trust_stat=True)
        assert waiting(home, source) == {source: 0}
    assert sorted(corpus(home)) == sorted(kind.prefix + GONE + ".md" for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS[1:2], ids=["gemini"])
def test_prompts_after_a_resume_belong_to_the_resumed_session(tool: Tool) -> None:
    path = tool.folder / "chats/session-2026-04-28T09-30-55555555.json"
    test_gemini.whole(path, test_gemini.user("m1", f"Where is the walrus? {TOKEN}"), sessionId="5" * 36)
    tool.ingest()
    assert sorted(corpus(tool.home)) == sorted([tool.name(HERE), tool.name("5" * 36)])
    path.unlink()
    os.mkfifo(path)  # which nobody writes to
    tool.type((AWAY, "newer", AT + 14400))
    tool.ingest()
    assert tool.name(GONE) not in corpus(tool.home)
    assert tool.name(AWAY) in corpus(tool.home)


@pytest.mark.parametrize("kind", KINDS[1:2], ids=["gemini"])
def test_transcripts_are_looked_through_once_for_all_sessions_that_may_have_been_resumed(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tool.folder / "chats/session-2026-04-28T09-30-55555555.json"
    asked = [test_gemini.user(f"m{number}", f"Prompt number {number}.") for number in range(20)]
    test_gemini.whole(path, *asked, sessionId="5" * 36)
    tool.type(*((f"{number:08}" * 4, f"Prompt number {number}.", AT + 7200) for number in range(40)))
    opened: list[str] = []
    whole = store.RawFile.__init__

    def init(raw: store.RawFile, path: str, *more: Any) -> None:
        opened.append(path)
        whole(raw, path, *more)

    monkeypatch.setattr(store.RawFile, "__init__", init)
    list(GEMINI.parse(str(tool.folder / "logs.json"), store.DISK))
    assert opened.count(str(path)) == 1
    tool.ingest()
    made = corpus(tool.home)
    assert [tool.name(f"{number:08}" * 4) in made for number in range(40)] == [False] * 20 + [True] * 20


def test_odd_entries_are_counted_and_pasted_text_is_put_where_it_was_pasted(home: Home, tmp_path: Path) -> None:
    (tmp_path / "projects").mkdir()
    pasted = {"1": {"id": 1, "type": "text", "content": "a long\nlog"}}
    first = "[Pasted text #1 +1 lines]"
    known = {"sessionId": GONE, "timestamp": AT * 1000, "project": "/p"}
    entries: list[Any] = [
        {**known, "display": f"Why {first} and [Pasted text #2 +9 lines], not {first}?", "pastedContents": pasted},
        {**known, "display": "!make test"},
        {**known, "display": "from tomorrow on", "mood": "fine"},
        {**known, "display": 7},
        {"display": "an old one", "timestamp": AT * 1000, "project": "/p"},
    ]
    lines = [json.dumps(entry) for entry in entries]
    (tmp_path / "history.jsonl").write_text("\n".join([*lines[:2], "{broken", *lines[2:], '{"display": "tor']))
    ledger = run(home, "claude", [str(tmp_path / "projects")], trust_stat=False)
    body = split(corpus(home)[f"{GONE}.md"].decode())[1]
    assert f"Why a long\nlog and [Pasted text #2 +9 lines], not {first}?" in body
    assert "- ! make test" in body
    assert list(ledger.unknown) == ["prompt: field mood"]
    assert ledger.dropped == {"prompts that name no session": 1}
    assert ledger.failed_records == 1
