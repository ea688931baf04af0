"""Pi and OpenClaw: the cases of ``data/pi.jsonl``, databases, and which of the two tools reads a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from core.document import Document, split
from core.home import Home
from core.tombstones import Tombstones
from ingest import registry
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.sources.pi import source as pi
from ingest.sources.pi.parser import OTHERS
from tests.ingest.sources.cases import Case, cases, check, parsed
from tests.ingest.transcripts import corpus, documents, from_the_archive_alone

SESSION = "019a0000-0000-7000-8000-00000000000a"
Record = dict[str, Any]


class Tree:
    """Makes entries, each the child of the one before it."""

    def __init__(self, session: str = SESSION, **header: Any) -> None:
        self.count = 0
        self.records: list[Record] = [
            {"type": "session", "version": 3, "id": session, "timestamp": self.at(), "cwd": "/home/me/api", **header}
        ]

    def at(self) -> str:
        return f"2026-04-28T09:00:{self.count:02}.000Z"

    def entry(self, kind: str, **fields: Any) -> Tree:
        parent = f"e{self.count}" if self.count else None
        self.count += 1
        self.records.append(
            {"type": kind, "id": f"e{self.count}", "parentId": parent, "timestamp": self.at(), **fields}
        )
        return self

    def user(self, text: str, **fields: Any) -> Tree:
        return self.entry("message", message={"role": "user", "content": [{"type": "text", "text": text}]}, **fields)

    def said(self, *blocks: Record, **fields: Any) -> Tree:
        message = {"role": "assistant", "content": list(blocks), "model": "m-1", "usage": {"output": 7}, **fields}
        return self.entry("message", message=message)

    def result(self, call: str, text: str, *, error: bool) -> Tree:
        content = [{"type": "text", "text": text}]
        message = {"role": "toolResult", "toolCallId": call, "toolName": "bash", "content": content, "isError": error}
        return self.entry("message", message=message)

    def save(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records), encoding="utf-8")
        return path


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def tool(name: str, call: str = "t1", **given: Any) -> Record:
    return {"type": "toolCall", "id": call, "name": name, "arguments": given}


def ingest(home: Home, folder: Path, source: str = "pi") -> Ledger:
    return run(home, source, [str(folder)], trust_stat=False)


def document(home: Home, name: str = f"pi__{SESSION}.md") -> tuple[dict[str, Any], str]:
    return split(corpus(home)[name].decode())


@pytest.mark.parametrize("case", cases("pi"))
def test_a_transcript_becomes_its_document(case: Case, tmp_path: Path) -> None:
    tree = Tree(**case.get("header", {}))
    for kind, value, *fields in case["entries"]:
        if kind == "raw":
            tree.records.append(value)
        elif kind == "said":
            tree.said(*value, **fields[0])
        else:
            getattr(tree, kind)(value, **fields[0])
    source = registry.source(case.get("source", "pi"))
    check(case, parsed(source, tree.save(tmp_path / "x.jsonl")))


def _database(path: Path, *trees: Tree, packed: bool) -> Path:
    path.parent.mkdir(parents=True)
    connection = apsw.Connection(str(path))
    columns = ", event_zstd blob, event_utf8_bytes integer" if packed else ""
    connection.execute(f"create table transcript_events(session_id text, seq integer, event_json text{columns})")
    for number, tree in enumerate(trees):
        for seq, record in enumerate(tree.records):
            data = json.dumps(record)
            if packed and seq % 2:
                row = (f"s{number}", seq, None, zstandard.compress(data.encode()), len(data))
                connection.execute("insert into transcript_events values(?, ?, ?, ?, ?)", row)
            else:
                connection.execute(
                    "insert into transcript_events(session_id, seq, event_json) values(?, ?, ?)",
                    (f"s{number}", seq, data),
                )
    connection.close()
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_an_agents_database_holds_the_same_entries(home: Home, tmp_path: Path, packed: bool) -> None:
    one = Tree("s0").user("First").said(text("One."))
    two = Tree("s1").user("Second").said(text("Two."), model="delivery-mirror").said(text("NO_REPLY"))
    path = _database(tmp_path / "agents/main/agent/openclaw-agent.sqlite", one, two, packed=packed)
    ledger = ingest(home, tmp_path, "openclaw")
    assert (ledger.seen, ledger.ingested, ledger.documents) == (1, 1, 2)
    assert "One." in document(home, "openclaw__s0.md")[1]
    assert "Two." not in document(home, "openclaw__s1.md")[1]
    assert ingest(home, tmp_path, "openclaw").unchanged == 1
    connection = apsw.Connection(str(path))
    late = json.dumps({"type": "message", "id": "late", "message": {"role": "user", "content": "Third"}})
    connection.execute("insert into transcript_events(session_id, seq, event_json) values('s0', 99, ?)", (late,))
    connection.close()
    assert ingest(home, tmp_path, "openclaw").written == 1
    assert "Third" in document(home, "openclaw__s0.md")[1]


def test_a_damaged_database_is_a_failure_and_no_end(home: Home, tmp_path: Path) -> None:
    (tmp_path / "openclaw-agent.sqlite").write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    Tree().user("Hi").save(tmp_path / "s.jsonl")
    ledger = ingest(home, tmp_path, "openclaw")
    assert (ledger.failed_files, ledger.ingested) == (1, 1)


ID = "5f0c1a52-0b1f-4a57-9a40-3f2d1c0b9a8e"


def snapshot() -> Tree:
    return Tree(ID).entry("custom", customType="model-snapshot", data={}).user("Hi")


def ran() -> Tree:
    return Tree(ID).said({"type": "toolCall", "id": "t", "name": "exec", "arguments": {"command": "ls"}}).user("Hi")


def typed() -> Tree:
    command = {"role": "bashExecution", "command": "ls", "output": "", "exitCode": 0}
    return Tree(ID).entry("message", message=command).user("Hi")


def plain() -> Tree:
    return Tree(ID).user("Hi")


WHOSE = [
    (plain, f"old/.pi/agent/sessions/--home-me-api--/2026-04-28T09-00-00-000Z_{ID}.jsonl", "pi"),
    (plain, f"backup/--home-me-.openclaw-workspace--/{ID}.jsonl", "pi"),
    (plain, f"2026-04-28T09-00-00-000Z_{ID}.jsonl", "pi"),
    (typed, "exported.jsonl", "pi"),
    (plain, f"old/agents/main/sessions/2026-04-28T09-00-00-000Z_{ID}.jsonl", "openclaw"),
    (plain, ".openclaw-work/any.jsonl", "openclaw"),
    (plain, f"{ID}.jsonl", "openclaw"),
    (plain, f"{ID}-topic-42.jsonl", "openclaw"),
    (snapshot, f"2026-04-28T09-00-00-000Z_{ID}.jsonl", "openclaw"),
    (ran, "exported.jsonl", "openclaw"),
    (plain, "pi/openclaw/sessions/full.jsonl", "openclaw"),
    (plain, "openclaw/agents/pi/agent/sessions/full.jsonl", "pi"),
    (plain, "home/pi/openclaw/agents/full.jsonl", "openclaw"),
    (typed, "openclaw/sessions/full.jsonl", "pi"),
]


@pytest.mark.parametrize(("make", "place", "whose"), WHOSE, ids=[f"{whose} {n}" for n, (*_, whose) in enumerate(WHOSE)])
@pytest.mark.parametrize("order", [("pi", "openclaw"), ("openclaw", "pi")], ids=["pi first", "openclaw first"])
def test_a_transcript_is_one_tools_whichever_source_is_run_over_its_folder(
    home: Home, tmp_path: Path, make: Any, place: str, whose: str, order: tuple[str, str]
) -> None:
    make().save(tmp_path / "from" / place)
    (other,) = {"pi", "openclaw"} - {whose}
    ledgers = {source: ingest(home, tmp_path / "from", source) for source in order}
    assert list(corpus(home)) == [f"{whose}__{ID}.md"]
    assert ledgers[other].skipped == {OTHERS[other]: 1}
    assert ledgers[other].failed_files == 0


@pytest.mark.parametrize("folder", ["from", "home/pi/export", "srv/openclaw"])
@pytest.mark.parametrize("order", [("pi", "openclaw"), ("openclaw", "pi")], ids=["pi first", "openclaw first"])
def test_a_transcript_that_could_be_either_tools_is_the_first_ones(
    home: Home, tmp_path: Path, order: tuple[str, str], folder: str
) -> None:
    place = plain().save(tmp_path / folder / "full.jsonl").parent
    for _ in range(2):
        for source in order:
            ingest(home, place, source)
        assert list(corpus(home)) == [f"{order[0]}__{ID}.md"]
    assert from_the_archive_alone(home, order[0], place).keys() == {f"{order[0]}__{ID}.md"}


NAME = f"2026-04-28T09-00-00-000Z_{ID}.jsonl"


@pytest.mark.parametrize("make", [plain, typed, ran])
@pytest.mark.parametrize(
    ("setting", "source"),
    [("PI_CODING_AGENT_SESSION_DIR", "pi"), ("sessionDir", "pi"), ("OPENCLAW_STATE_DIR", "openclaw")],
)
def test_a_transcript_belongs_to_the_tool_that_has_its_place_in_its_settings(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any, setting: str, source: str
) -> None:
    place = tmp_path / "agents" / "api" / "sessions" if source == "pi" else tmp_path / "--state--"
    make().save(place / NAME if source == "pi" else place / "agents" / "api" / "sessions" / NAME)
    if setting == "sessionDir":
        agent = tmp_path / "settings"
        agent.mkdir()
        (agent / "settings.json").write_text(json.dumps({setting: str(place)}))
        monkeypatch.setenv("PI_CODING_AGENT_DIR", str(agent))
    else:
        monkeypatch.setenv(setting, str(place))
    (other,) = {"pi", "openclaw"} - {source}
    run(home, source, trust_stat=False)
    assert ingest(home, place, other).skipped == {OTHERS[other]: 1}
    assert list(corpus(home)) == [f"{source}__{ID}.md"]
    # A rebuild may run where the variable is not set.
    monkeypatch.delenv(setting, raising=False)
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    assert from_the_archive_alone(home, source, place).keys() == {f"{source}__{ID}.md"}


def test_entries_that_one_tool_writes_count_more_than_names_of_folders(home: Home, tmp_path: Path) -> None:
    typed().save(tmp_path / "agents" / "api" / "sessions" / NAME)
    assert ingest(home, tmp_path / "agents", "openclaw").skipped == {OTHERS["openclaw"]: 1}
    assert ingest(home, tmp_path / "agents").ingested == 1
    assert list(corpus(home)) == [f"pi__{ID}.md"]


@pytest.mark.parametrize("source", ["pi", "openclaw"])
def test_folders_of_collections_yml_decide_unless_their_transcripts_do(home: Home, tmp_path: Path, source: str) -> None:
    place = tmp_path / "agents" / "api" / "sessions"
    Tree("either").user("Hi").save(place / "2026-04-28T09-00-00-000Z_either.jsonl")
    Tree("clear").entry("custom", customType="model-snapshot", data={}).user("Hi").save(place / "clear.jsonl")
    text = f"collections: {{brain: {{path: brain}}}}\nsources: {{{source}: {{roots: [{json.dumps(str(place))}]}}}}\n"
    Path(home.path("collections.yml")).write_text(text, encoding="utf-8")
    for name in ("pi", "openclaw"):
        ingest(home, place, name)
    assert sorted(corpus(home)) == sorted([f"{source}__either.md", "openclaw__clear.md"])


def test_a_session_that_was_forgotten_does_not_come_back_as_another_tools(home: Home, tmp_path: Path) -> None:
    plain().save(tmp_path / "from" / "full.jsonl")
    Tombstones(home).add([("pi", ID)])
    for source in ("openclaw", "pi"):
        ingest(home, tmp_path / "from", source)
    assert corpus(home) == {}


def test_archived_sessions_are_read_and_work_files_are_not(home: Home, tmp_path: Path) -> None:
    Tree("gone").user("Hi").save(tmp_path / "gone.jsonl.deleted.2026-04-28T09-00-00.000Z")
    Tree("gone").user("Hi").save(tmp_path / "gone.trajectory.jsonl")
    ledger = ingest(home, tmp_path, "openclaw")
    assert (ledger.ingested, ledger.skipped) == (1, {"trajectory of a run": 1})
    assert list(corpus(home)) == ["openclaw__gone.md"]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "content", "text", "type", "arguments", "name", "usage", "output", "model", "id"]),
        inner, max_size=5), max_leaves=20))  # fmt: skip
def test_no_shape_of_an_entry_stops_the_file(tmp_path_factory: pytest.TempPathFactory, message: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "shapes.jsonl"
    Tree().entry("message", message=message).entry("compaction", summary=message).user("Still here").save(path)
    found = list(documents(pi.SOURCE, str(path)))
    assert any(isinstance(entry, Document) and "Still here" in entry.body for entry in found)


def test_every_sample_is_accounted_for(home: Home, shared: Path) -> None:
    other = shared / "samples/other-synthetic/jazzyalex+agent-sessions/Resources/Fixtures/stage0/agents"
    for source, place in (("pi", shared / "samples/pi"), ("pi", other / "pi"), ("openclaw", other / "openclaw")):
        first = ingest(home, place, source)
        assert first.seen == first.ingested == len(list(place.rglob("*.jsonl")))
        assert (first.failed_records, set(first.unknown) - {"record compact"}) == (0, set())
        assert ingest(home, place, source).written == 0
    for data in corpus(home).values():
        for section in split(data.decode())[1].split("\n## [")[1:]:
            role, _, said = section.partition("\n\n")
            assert not ("user" in role and said.startswith("<"))
