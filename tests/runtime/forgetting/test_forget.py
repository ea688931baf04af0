"""A forgotten text is gone from every byte below the home, and nothing brings it back."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from core import config, telemetry
from core.document import render
from core.errors import BadInput, LockContention
from core.home import Home
from ingest import forgetting
from ingest.archive import archive, resuming
from ingest.archive.keeping import STATES
from ingest.pipeline.state import State
from qmd.index.store import open_index
from runtime.asking import envelope
from runtime.asking.documents import Selection
from runtime.capture import inbox
from runtime.capture.indexing import index
from runtime.forgetting import forget, unfinished, verify_erasure
from tests.ingest.transcripts import OTHER, SESSION, Script, lines, save, text, tool
from tests.unpacked import everything

PHRASE = "the quicksilver ledger of Odalys"


@pytest.fixture
def folder(claude_root: Path) -> Path:
    """Two sessions, one with an agent; the phrase is in the first one's prompt, in any case."""
    place = claude_root / "projects" / "-home-me-api"
    script = Script()
    save(
        place / f"{SESSION}.jsonl",
        script.user(f"Where is {PHRASE}?"),
        script.assistant(text("In the vault, as ever."), tool("Task", "t1", description="look", prompt="go")),
        script.result("t1", "done", outcome={"agentId": "a1"}),
    )
    agent = Script(prefix="g", agentId="a1", isSidechain=True)
    save(place / "agent-a1.jsonl", agent.user("Look for it, please"), agent.assistant(text("Found nothing at all.")))
    other = Script(OTHER, cwd="/home/me/web")
    save(place / f"{OTHER}.jsonl", other.user("A question of its own."), other.assistant(text("And its answer.")))
    return place


def run(home: Home, **options: Any) -> dict[str, Any]:
    return index(home, config.load(home), **options)


def gone(home: Home, match: str = "", **chosen: Any) -> forget.Outcome:
    found = forget.plan(home, config.load(home), Selection(**chosen), match)
    return forget.carry_out(home, found)


def documents(home: Home) -> set[str]:
    connection = open_index(home.index)
    try:
        return {
            envelope.uri(collection, path)
            for collection, path in connection.execute("select collection, path from documents where active")
        }
    finally:
        connection.close()


def test_a_phrase_is_in_no_byte_below_the_home_any_more(home: Home, folder: Path) -> None:
    run(home, enqueue=True)
    assert PHRASE.encode() in everything(home)
    outcome = gone(home, PHRASE)
    assert outcome.left == []
    held = everything(home)
    assert PHRASE.encode() not in held
    assert b"quicksilver" not in held
    assert b"In the vault, as ever." not in held
    assert b"A question of its own." in held
    assert documents(home) == {f"qmd://brain/{OTHER}.md"}


def test_what_parsers_knew_of_sessions_is_gone(home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "STEP", 1)
    run(home)
    with (folder / f"{SESSION}.jsonl").open("ab") as stream:
        stream.write(lines(Script(prefix="n").user("And now?")))
    run(home)
    states = Path(home.state, STATES)
    assert any(PHRASE.encode() in path.read_bytes() for path in states.rglob("*") if path.is_file())
    assert gone(home, PHRASE).left == []
    assert not states.exists()


def test_a_session_that_awaits_another_parser_is_forgotten_there_too(home: Home, folder: Path) -> None:
    run(home)
    state = State(home)
    state.expire("claude", policy="another")
    assert {SESSION, OTHER} < state.outdated("claude")
    state.close()
    assert gone(home, PHRASE).left == []
    state = State(home)
    assert state.outdated("claude") == {OTHER}
    state.close()


def test_case_does_not_matter(home: Home, folder: Path) -> None:
    run(home)
    gone(home, PHRASE.upper())
    assert b"quicksilver" not in everything(home)


@pytest.mark.parametrize(
    ("written", "match"),
    [
        ("The name is AWS\\_SECRET\\_ACCESS\\_KEY here.", "AWS_SECRET_ACCESS_KEY"),
        ("The name is AWS_SECRET_ACCESS_KEY here.", "aws\\_secret"),
        ("We met in the Caf\u00e9 Stra\u00dfe.", "CAF\u00c9 STRASSE"),
        ("We met in the Cafe\u0301 at noon.", "caf\u00e9 at"),
        ("We met in the Caf\u00e9 at noon.", "cafe\u0301 at"),
        ("It was a split\nphrase of mine.", "split phrase"),
        ("It was a split \t phrase of mine.", "Split  phrase"),
    ],
)
def test_what_looks_the_same_is_the_same(home: Home, written: str, match: str) -> None:
    run(home)
    inbox.write(home, written, title="odd")
    inbox.write(home, "Something else altogether.", title="even")
    outcome = gone(home, match)
    assert (outcome.documents, outcome.left) == (1, [])
    assert len(documents(home)) == 1


@pytest.mark.parametrize("written", ["api\\_key of Zo\u00eb", "API_KEY OF ZO\u00cb", "Api_Key\nof Zoe\u0308"])
def test_every_spelling_is_looked_for_afterwards(home: Home, written: str) -> None:
    home.make()
    Path(home.path("notes.txt")).write_text(f"x {written} y")
    Path(home.path("notes.json")).write_text(json.dumps({"text": f"x {written} y"}))
    assert sorted(verify_erasure.find(home, verify_erasure.spellings("API_key of zo\u00eb"))) == [
        "notes.json",
        "notes.txt",
    ]


def test_nothing_brings_it_back(home: Home, folder: Path) -> None:
    run(home)
    gone(home, PHRASE)
    run(home)
    run(home, trust_stat=True)
    with (folder / f"{SESSION}.jsonl").open("ab") as stream:  # the session goes on
        stream.write(lines(Script(prefix="n").user("And what of the ledger?")))
    run(home)
    run(home, rebuild=True)
    for path in Path(home.state).glob("sources.sqlite*"):
        path.unlink()
    ledger = run(home)["sources"]["claude"]
    assert ledger["skipped"]["forgotten"] >= 1
    run(home, from_archive=True)
    assert b"quicksilver" not in everything(home)
    assert documents(home) == {f"qmd://brain/{OTHER}.md"}


def test_its_agents_and_distillates_are_forgotten_too(home: Home, folder: Path) -> None:
    run(home)
    made = Path(home.path("distilled", f"{SESSION}.md"))
    made.parent.mkdir()
    made.write_bytes(render({"session_id": SESSION, "source": "claude"}, "# Goal\n\nTo find a thing."))
    run(home)
    before = documents(home)
    assert {f"qmd://distilled/{SESSION}.md", "qmd://brain/agent-a1.md"} <= before
    gone(home, references=[SESSION])
    assert documents(home) == {f"qmd://brain/{OTHER}.md"}
    assert not made.exists()
    assert b"To find a thing" not in everything(home)


def test_what_is_only_in_the_distillate_takes_its_origin_along(home: Home, folder: Path) -> None:
    run(home)
    made = Path(home.path("distilled", f"{SESSION}.md"))
    made.parent.mkdir()
    made.write_bytes(render({"session_id": SESSION, "source": "claude"}, "# Goal\n\nFind the zephyr engine."))
    run(home)
    gone(home, "zephyr engine")
    assert documents(home) == {f"qmd://brain/{OTHER}.md"}


def test_what_a_document_leaves_out_is_found_in_the_raw_file(home: Home, folder: Path) -> None:
    script = Script("9d1d3c2f-0000-4000-8000-00000000000c")
    save(
        folder / "third.jsonl",
        script.user("Run it."),
        script.assistant(tool("Bash", "t9", command="cat notes")),
        script.result("t9", 'the "obsidian" answer\nwith ümlaut'),
    )
    run(home)
    assert b"obsidian" not in b"".join(path.read_bytes() for path in Path(home.path("brain")).glob("*.md"))
    outcome = gone(home, 'the "obsidian" answer')
    assert outcome.left == []
    assert b"obsidian" not in everything(home)
    assert "qmd://brain/9d1d3c2f-0000-4000-8000-00000000000c.md" not in documents(home)


@pytest.mark.parametrize(
    "chosen",
    [
        {"references": [f"qmd://brain/{OTHER}.md"]},
        {"references": [OTHER]},
        {"references": [f"{OTHER}.md"]},
        {"within": "*/web"},
        {"within": "web"},
        {"within": "/home/me/web/"},
    ],
)
def test_documents_are_chosen_by_name_or_project(home: Home, folder: Path, chosen: dict[str, Any]) -> None:
    run(home)
    assert gone(home, **chosen).documents == 1
    assert b"A question of its own." not in everything(home)
    assert f"qmd://brain/{SESSION}.md" in documents(home)


def test_a_span_of_time(home: Home, folder: Path) -> None:
    run(home)
    assert gone(home, since=1_777_000_000, until=1_778_000_000).documents == 3
    assert documents(home) == set()
    assert gone(home, since=1_777_000_000).documents == 0


def test_a_note_and_a_file_of_ones_own_leave_what_identifies_them(home: Home) -> None:
    entry = inbox.write(home, "Remember the cinnabar door.")
    inbox.write(home, "Another one.")
    page = Path(home.path("kb-wiki", "door.md"))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("# Doors\n\nThe cinnabar door is in the east.\n", encoding="utf-8")
    digest = hashlib.sha256(page.read_bytes()).hexdigest()
    run(home)
    outcome = gone(home, "cinnabar door")
    assert (outcome.documents, outcome.left) == (2, [])
    assert b"cinnabar" not in everything(home)
    assert forget.forgotten(home) == [("document", digest), ("note", entry.entry_id)]
    assert forget.unforget(home, [entry.entry_id]) == [("note", entry.entry_id)]
    run(home)
    assert len(documents(home)) == 1


def test_another_homes_notes_articles_and_files_are_forgotten_by_what_they_are(home: Home, tmp_path: Path) -> None:
    entry = inbox.write(home, "Remember the cinnabar door.")
    other = Path(home.path("kb-wiki", "sub", "renamed.md"))
    other.parent.mkdir(parents=True)
    other.write_bytes(b"# Doors\n")
    article = Path(home.path("kb-raw", "a.md"))
    article.parent.mkdir(parents=True, exist_ok=True)
    article.write_bytes(render({"session_id": "article-1", "source": "article"}, "# Paper"))
    kept = Path(home.path("kb-wiki", "kept.md"))
    kept.write_bytes(b"# Windows\n")
    run(home)
    marks = [("note", entry.entry_id), ("document", hashlib.sha256(b"# Doors\n").hexdigest()), ("article", "article-1")]
    assert forget.obey(home, [*marks, ("hologram", "1")]) == 3
    assert documents(home) == {"qmd://kb-wiki/kept.md"}
    assert forget.forgotten(home) == sorted([*marks, ("hologram", "1")])


def test_a_run_that_was_killed_is_finished_by_the_next(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(home)
    found = forget.plan(home, config.load(home), Selection(), PHRASE)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("erase", "_erase", "scrub"):
        module: Any = {"erase": forgetting, "_erase": forget, "scrub": verify_erasure}[step]
        with monkeypatch.context() as patch:
            patch.setattr(module, step, dies)
            with pytest.raises(KeyboardInterrupt):
                forget.carry_out(home, found)
    job = Path(home.state, unfinished.JOB)
    assert PHRASE.encode() not in job.read_bytes()
    run(home)
    assert not job.exists()
    assert b"quicksilver" not in everything(home)
    assert documents(home) == {f"qmd://brain/{OTHER}.md"}


@pytest.mark.parametrize("step", ["_from_state", "_from_archive"])
def test_nor_does_a_kill_leave_what_lies_in_a_file_that_others_share(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    history = tmp_path / ".zsh_history"
    history.write_text(": 1777300000:0;echo harmless\n: 1777400000:0;echo quicksilver\n")
    run(home, source="shell", roots=[str(history)])
    assert b"quicksilver" in everything(home)
    history.unlink()

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(forgetting, step, dies)
        with pytest.raises(KeyboardInterrupt):
            gone(home, "quicksilver")
    run(home, trust_stat=True)
    assert b"quicksilver" not in everything(home)


def test_what_was_cut_short_elsewhere_is_done_by_the_next_run(home: Home, folder: Path) -> None:
    run(home)
    found = forget.plan(home, config.load(home), Selection(), PHRASE)
    told: list[Any] = []

    def dies(*_: object) -> Any:
        raise LockContention("held", "wait")

    def works(*what: Any) -> tuple[list[str], list[str]]:
        told.append(what)
        return [], []

    with pytest.raises(LockContention):
        forget.carry_out(home, found, dies)
    assert PHRASE.encode() not in Path(home.state, unfinished.JOB).read_bytes()
    run(home)
    assert forget.pending(home), "indexing cannot reach backups"
    forget.carry_out(home, forget.plan(home, config.load(home), Selection(references=[OTHER])), works)
    (documents, marks, _), *_ = told
    assert {("brain", f"{SESSION}.md"), ("brain", f"{OTHER}.md")} <= set(documents)
    assert {("claude", SESSION), ("claude", OTHER)} <= set(marks)
    assert not forget.pending(home)


def test_a_lifted_tombstone_lets_the_session_in_again(home: Home, folder: Path) -> None:
    run(home)
    before = documents(home)
    gone(home, PHRASE)
    with pytest.raises(BadInput):
        forget.unforget(home, ["nothing-of-the-kind"])
    assert forget.unforget(home, [f"qmd://brain/{SESSION}.md"]) == [("claude", SESSION)]
    assert forget.forgotten(home) == [("claude", f"{SESSION}\ta1")] or forget.forgotten(home) == []
    for source, unit in forget.forgotten(home):
        forget.unforget(home, [unit])
        assert source == "claude"
    run(home, trust_stat=True)
    assert documents(home) == before


def test_what_lies_outside_the_home_is_named_and_not_deleted(home: Home, tmp_path: Path, folder: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    mine = notes / "mine.md"
    mine.write_text(f"# Mine\n\n{PHRASE}\n", encoding="utf-8")
    Path(home.path("collections.yml")).write_text(
        f"collections:\n  brain: {{path: brain, trust: session}}\n  notes: {{path: {notes}}}\n", encoding="utf-8"
    )
    run(home)
    found = forget.plan(home, config.load(home), Selection(), PHRASE)
    assert found.outside == ["qmd://notes/mine.md"]
    outcome = forget.carry_out(home, found)
    assert mine.exists()
    assert outcome.left == ["index.sqlite"]


def test_logs_and_caches_forget_too(home: Home, folder: Path) -> None:
    run(home, enqueue=True)
    uri = f"qmd://brain/{SESSION}.md"
    telemetry.record(home, "ask", "terminal", uris=[uri, f"qmd://brain/{OTHER}.md"])
    telemetry.record(home, "ask", "terminal", query=PHRASE)
    cache = Path(home.state, "eval", "personal.json")
    cache.parent.mkdir()
    cache.write_text(json.dumps({"questions": [{"session": SESSION, "text": "x"}]}), encoding="utf-8")
    Path(home.logs, "crash.log").write_text(f"ValueError: {PHRASE}", encoding="utf-8")
    gone(home, PHRASE)
    assert uri.encode() not in Path(home.usage).read_bytes()
    assert f"qmd://brain/{OTHER}.md".encode() in Path(home.usage).read_bytes()
    assert SESSION.encode() not in Path(home.state, "queue.jsonl").read_bytes()
    assert not cache.exists()
    assert b"quicksilver" not in everything(home)


def test_what_nothing_can_make_again_is_kept_and_named(home: Home) -> None:
    names = ("sync.json", "installed.json", "schedule.json", "distill.json")
    for name in names:
        Path(home.state, name).write_text('{"name": "vermilion gate"}', encoding="utf-8")
    Path(home.state, "edit-x.md").write_text("vermilion gate", encoding="utf-8")
    assert forget.sweep(home, "vermilion gate") == (sorted(f"state/{name}" for name in names), [])
    assert all(Path(home.state, name).exists() for name in names)
    assert not Path(home.state, "edit-x.md").exists()


def test_a_phrase_that_no_document_has_is_swept_out_of_logs(home: Home, folder: Path) -> None:
    run(home)
    Path(home.logs, "crash.log").write_text("ValueError: vermilion gate", encoding="utf-8")
    found = forget.plan(home, config.load(home), Selection(), "vermilion gate")
    assert (found.rows, found.marks) == ([], [])
    assert forget.sweep(home, "vermilion gate") == ([], [])
    assert b"vermilion" not in everything(home)


def test_a_day_of_browsing_goes_with_its_visits(home: Home) -> None:
    from ingest.session.zones import Zones, day_number
    from ingest.sources.chrome import archive as chrome_archive

    day = day_number("2026-05-01")
    visits = chrome_archive.Archive(home)
    visits._connection.execute(
        "insert into visits values(?, 'https://example.com/heliotrope', 'example.com', 'Heliotrope', 0, '', '', 0, 0,"
        " 0, '', ?, 1)",
        (day * 86_400 * 1_000_000, day),
    )
    visits.close()
    page = Path(home.path("chrome-history", "2026-05-01.md"))
    page.parent.mkdir()
    page.write_bytes(render({"session_id": "2026-05-01", "source": "chrome"}, "# Friday\n\nHeliotrope"))
    run(home)
    outcome = gone(home, "Heliotrope")
    assert (outcome.documents, outcome.left) == (1, [])
    assert forget.forgotten(home) == [("chrome", "2026-05-01")]
    visits = chrome_archive.Archive(home)
    try:
        from ingest.sources.chrome.history import Visit

        fields: dict[str, Any] = dict.fromkeys(Visit._fields, "")
        fields |= {"at": day * 86_400 * 1_000_000, "url": "https://example.com/heliotrope", "title": "Heliotrope"}
        fields |= {"title_at": 0, "reload": 0, "dwell": 0, "led_at": 0}
        visits.unite("x", [Visit(**fields)], Zones([(0, "UTC")]), follow_clears=False, is_whole=lambda: True)
        assert visits.figures()["visits"] == 0
    finally:
        visits.close()


def test_the_archive_of_other_sessions_stays(home: Home, folder: Path) -> None:
    run(home)
    gone(home, PHRASE)
    held = archive.read(home, "claude")
    assert [os.path.basename(path) for path in held] == [f"{OTHER}.jsonl"]
    shutil.rmtree(folder)
    shutil.rmtree(home.path("brain"))
    run(home, from_archive=True)
    assert documents(home) == {f"qmd://brain/{OTHER}.md"}


def test_a_git_repository_around_the_home_is_named(home: Home, folder: Path) -> None:
    run(home)
    Path(home.path(".git")).mkdir()
    assert any("git repository" in line for line in gone(home, PHRASE).beyond)


def test_where_a_forgotten_file_lay_goes_when_its_tool_has_deleted_it(home: Home, folder: Path) -> None:
    run(home)
    gone(home, references=[SESSION])
    place = os.fsencode(folder / f"{SESSION}.jsonl")
    state = Path(home.state, "sources.sqlite")
    run(home)
    # The file is still there, and would count as new.
    assert place in state.read_bytes()
    assert forgetting.let_go(home) == 0
    (folder / f"{SESSION}.jsonl").unlink()
    run(home)
    forget.sweep(home, SESSION)
    assert place not in state.read_bytes()
    save(folder / f"{SESSION}.jsonl", Script().user("it is back"))
    run(home)
    assert documents(home) == {f"qmd://brain/{OTHER}.md"}
