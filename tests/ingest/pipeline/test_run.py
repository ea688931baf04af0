"""One run: incremental, restoring, independent of order, and undisturbed by any one file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import BadInput
from core.home import Home
from ingest.pipeline import ledger, normalise
from ingest.pipeline import state as state_module
from ingest.pipeline.run import run
from ingest.pipeline.state import Changes, State, UnitRow
from ingest.session import units
from ingest.session.units import split_key, unit_key
from tests.examples import examples
from tests.ingest.transcripts import OTHER, SESSION, Script, corpus, document, ingest, lines, save, text, tool


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "transcripts"
    place.mkdir()
    return place


def test_a_second_run_finds_everything_unchanged(home: Home, folder: Path) -> None:
    save(folder / "a.jsonl", Script().user("one"))
    (folder / "empty.jsonl").write_bytes(b"")
    first = ingest(home, folder)
    assert (first.seen, first.ingested, first.skipped) == (2, 1, {"empty": 1})
    for trust in (True, False):
        again = ingest(home, folder, trust_stat=trust)
        assert (again.ingested, again.unchanged, again.skipped, again.written) == (0, 1, {"empty": 1}, 0)
        assert again.bytes == 0


def test_a_line_still_being_written_is_read_when_it_is_whole(home: Home, folder: Path) -> None:
    s = Script()
    last = lines(s.user("one")), lines(s.user("the end"))
    path = folder / "a.jsonl"
    path.write_bytes(last[0] + last[1][:40])
    assert ingest(home, folder).failed_records == 0
    assert "the end" not in document(home)[1]
    assert (ingest(home, folder).unchanged, ingest(home, folder, trust_stat=True).unchanged) == (1, 1)
    path.write_bytes(last[0] + last[1])
    ingest(home, folder)
    assert "the end" in document(home)[1]


def test_a_file_rewritten_under_the_same_stat_is_noticed_by_its_digest(home: Home, folder: Path) -> None:
    path = save(folder / "a.jsonl", Script().user("aaaa"))
    ingest(home, folder)
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"aaaa", b"bbbb"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert ingest(home, folder, trust_stat=True).ingested == 0
    assert ingest(home, folder).ingested == 1
    assert "bbbb" in document(home)[1]


def test_a_vanished_source_keeps_its_document(home: Home, folder: Path) -> None:
    path = save(folder / "a.jsonl", Script().user("remember me"))
    ingest(home, folder)
    path.unlink()
    ledger = ingest(home, folder)
    assert (ledger.seen, ledger.vanished, ledger.documents) == (0, 1, 1)
    assert "remember me" in document(home)[1]
    save(folder / "a.jsonl", Script().user("remember me"))
    assert ingest(home, folder).vanished == 0


@pytest.mark.parametrize("damage", [b"", b"SQLite format 3\0\0\0", b"garbage\n"])
def test_a_file_that_lost_its_conversation_keeps_its_document_and_is_reported(
    home: Home, folder: Path, damage: bytes
) -> None:
    path = save(folder / "a.jsonl", Script().user("remember me"))
    ingest(home, folder)
    path.write_bytes(damage)
    ledger = ingest(home, folder)
    assert ledger.kept == 1
    assert "its document is kept" in str(ledger.as_dict())
    assert "remember me" in document(home)[1]


def test_a_shorter_copy_does_not_take_the_place_of_one_that_vanished(home: Home, folder: Path) -> None:
    s = Script()
    records = [s.user("one"), s.user("two"), s.user("three")]
    long = save(folder / "long.jsonl", *records)
    short = save(folder / "short.jsonl", records[0])
    ingest(home, folder)
    long.unlink()
    save(short, *records[:2])
    assert ingest(home, folder).kept == 1
    assert "three" in document(home)[1]
    Path(home.path("brain"), f"{SESSION}.md").unlink()
    assert ingest(home, folder).written == 1  # better the shorter one than none
    assert "two" in document(home)[1]


@pytest.mark.parametrize("trust", [True, False])
def test_a_deleted_document_is_restored(home: Home, folder: Path, trust: bool) -> None:
    save(folder / "a.jsonl", Script().user("one"))
    ingest(home, folder)
    before = corpus(home)
    Path(home.path("brain"), f"{SESSION}.md").unlink()
    assert ingest(home, folder, trust_stat=trust).written == 1
    assert corpus(home) == before


def test_a_document_edited_by_hand_is_restored_by_a_plain_run(home: Home, folder: Path) -> None:
    save(folder / "a.jsonl", Script().user("one"))
    ingest(home, folder)
    before = corpus(home)
    Path(home.path("brain"), f"{SESSION}.md").write_text("edited")
    assert ingest(home, folder).written == 1
    assert corpus(home) == before


def test_the_same_bytes_are_not_written_again(home: Home, folder: Path) -> None:
    save(folder / "a.jsonl", Script().user("one"))
    ingest(home, folder)
    path = Path(home.path("brain"), f"{SESSION}.md")
    before = path.stat()
    ledger = ingest(home, folder, rebuild=True)
    assert (ledger.ingested, ledger.written) == (1, 0)
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


def test_a_new_parser_version_normalises_everything_again(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(folder / "a/x.jsonl", Script().user("one"))
    save(folder / "b/y.jsonl", Script(OTHER).user("two"))
    ingest(home, folder)
    monkeypatch.setattr(state_module, "PARSER", 999)
    assert ingest(home, folder / "a", trust_stat=True).ingested == 1
    assert ingest(home, folder / "a", trust_stat=True).ingested == 0
    assert ingest(home, folder / "b", trust_stat=True).ingested == 1  # not covered by the run that noticed


def test_one_bad_file_never_stops_a_run(home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(folder / "good.jsonl", Script().user("fine"))
    (folder / "binary.jsonl").write_bytes(bytes(range(256)) * 100)
    (folder / "deep.jsonl").write_bytes(b'{"type":"user","x":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n")
    (folder / "folder.jsonl").mkdir()
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "dangling.jsonl").symlink_to(folder / "nowhere")
    save(folder / "denied.jsonl", Script(OTHER).user("secret"))
    real = os.open

    def refusing(path: Any, *rest: Any, **more: Any) -> int:
        if str(path).endswith("denied.jsonl"):
            raise PermissionError(13, "Permission denied")
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", refusing)
    ledger = ingest(home, folder)
    assert list(corpus(home)) == [f"{SESSION}.md"]
    assert ledger.seen == 6
    assert ledger.ingested == 1
    assert ledger.skipped == {"not a regular file": 1}
    assert ledger.failed_reasons == {"binary": 1, "nested too deeply": 1, "unreadable": 2}
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(folder))
    assert ingest(home, folder, trust_stat=True).ingested == 1  # tried again, and readable now


def test_links_to_folders_are_not_followed_into_loops(home: Home, folder: Path) -> None:
    save(folder / "p/a.jsonl", Script().user("one"))
    (folder / "p/loop").symlink_to(folder)
    assert ingest(home, folder).seen == 1


def test_file_names_that_are_no_utf8_are_read_and_shown(home: Home, folder: Path) -> None:
    raw = os.fsencode(str(folder)) + b"/\xff\xfe.jsonl"
    with open(raw, "wb") as stream:
        stream.write(lines(Script().user("one")) + b"[1]\n")
    ledger = ingest(home, folder)
    assert ledger.ingested == 1
    assert "\\xff\\xfe.jsonl" in str(ledger.failed[0]["path"])
    assert ingest(home, folder).unchanged == 1


def test_every_file_ends_in_exactly_one_account(home: Home, folder: Path) -> None:
    save(folder / "a.jsonl", Script().user("one"))
    save(folder / "b.jsonl", {"type": "session_meta"})
    (folder / "c.jsonl").write_bytes(b"\0" * 100)
    (folder / "memory").mkdir()
    save(folder / "memory/d.jsonl", Script().user("one"))
    for _ in range(2):
        found = ingest(home, folder)
        assert found.seen == 4
        assert found.ingested + found.unchanged + sum(found.skipped.values()) + found.failed_files == 4
    assert ledger.read(home)["claude"] == found.as_dict()


def test_the_same_agent_id_under_two_sessions_gives_names_by_the_set_not_the_order(home: Home, tmp_path: Path) -> None:
    def agent(session: str) -> bytes:
        return lines(Script(session, isSidechain=True, agentId="x1", prefix=session).user(f"task of {session}"))

    for session in (SESSION, OTHER):
        place = tmp_path / session / "subagents"
        place.mkdir(parents=True)
        (place / "agent-x1.jsonl").write_bytes(agent(session))
    results = []
    for order in ([SESSION, OTHER], [OTHER, SESSION]):
        one = Home(str(tmp_path / f"home-{order[0]}"))
        one.make()
        landed: list[str] = []
        for session in order:
            ingest(one, tmp_path / session, on_written=lambda *args, into=landed: into.append(args[1]))
        results.append(corpus(one))
        assert set(landed) > set(corpus(one))  # the first name, then both final ones
        assert ingest(one, tmp_path / order[0]).written == 0
    assert results[0] == results[1]
    assert list(results[0]) == [f"agent-x1__{SESSION[:8]}.md", f"agent-x1__{OTHER[:8]}.md"]


def test_an_unknown_source_is_refused_with_a_repair(home: Home) -> None:
    with pytest.raises(BadInput, match="unknown source"):
        run(home, "abacus", [], trust_stat=True)


def test_progress_counts_the_bytes_that_are_read(home: Home, folder: Path) -> None:
    sizes = []
    for number in range(3):
        path = folder / f"{number}.jsonl"
        save(path, Script(f"session-{number}").user("x" * 1000 * number))
        sizes.append(path.stat().st_size)
    seen: list[tuple[int, int, str]] = []
    ingest(home, folder, progress=lambda *news: seen.append(news))
    assert [done for done, _, _ in seen] == [sizes[0], sum(sizes[:2]), sum(sizes)]
    assert {(total, what) for _, total, what in seen} == {(sum(sizes), "reading claude")}, "one stage has one bar"


def test_without_roots_the_sources_own_are_read(home: Home, claude_root: Path) -> None:
    save(claude_root / "projects/-p" / f"{SESSION}.jsonl", Script().user("mine"))
    assert run(home, "claude", None, trust_stat=True).ingested == 1


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_corpus_depends_on_the_set_of_files_alone(tmp_path: Path, data: st.DataObject) -> None:
    """Any split of sessions over files, any order and grouping of runs: the same bytes as one run over all."""
    place = Path(tempfile.mkdtemp(dir=tmp_path))
    files: list[bytes] = []
    for session in (SESSION, OTHER):
        s = Script(session, prefix=session)
        records = [
            s.user("q"),
            s.assistant(tool("Agent", "t", description="d"), text("a")),
            s.result("t", outcome={"agentId": "z"}),
        ]
        records += [s.user(f"more {n}") for n in range(4)]
        for _ in range(data.draw(st.integers(1, 3))):
            start = data.draw(st.integers(0, 3))
            files.append(lines(*records[start : data.draw(st.integers(start + 1, len(records)))]))
        agent = Script(session, isSidechain=True, agentId="z", prefix=f"z{session}")
        files.append(lines(agent.user("task"), agent.assistant(text("done"))))
    once = Home(str(place / "once"))
    once.make()
    for number, content in enumerate(files):
        (place / "all").mkdir(parents=True, exist_ok=True)
        (place / "all" / f"{number}.jsonl").write_bytes(content)
    ingest(once, place / "all")
    step = Home(str(place / "step"))
    step.make()
    growing = place / "growing"
    growing.mkdir()
    for number in data.draw(st.permutations(range(len(files)))):
        (growing / f"{data.draw(st.integers(0, 10**9))}-{number}.jsonl").write_bytes(files[number])
        if data.draw(st.booleans()):
            ingest(step, growing, trust_stat=data.draw(st.booleans()))
    ingest(step, growing, trust_stat=True)
    assert corpus(step) == corpus(once)


def test_no_more_than_a_batch_is_lost_when_a_run_is_cut_short(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(normalise, "_BATCH", 2)
    for number in range(9):
        save(folder / f"{number}.jsonl", Script(f"session-{number}").user("x"))

    class Stop(Exception):
        pass

    calls = iter(range(7))

    def stop(done: int, total: int, what: str) -> None:
        if next(calls, None) is None:
            raise Stop

    with pytest.raises(Stop):
        ingest(home, folder, progress=stop)
    again = ingest(home, folder, trust_stat=True)
    assert again.unchanged >= 5
    assert again.documents == 9


def test_a_link_learnt_by_a_run_that_was_cut_short_reaches_the_agents_document(home: Home, folder: Path) -> None:
    agent = Script(isSidechain=True, agentId="x1", prefix="a")
    save(folder / "agent-x1.jsonl", agent.user("task"), agent.assistant(text("done")))
    ingest(home, folder)
    state = state_module.State(home)
    changes = Changes()
    changes.links[f"{SESSION}\tx1"] = "Explore\tLook around"
    state.save("claude", changes)
    state.close()
    ingest(home, folder)
    assert document(home, "agent-x1.md")[0]["task"] == "Look around"


# Letters that fold into others, in ASCII and out of it (long s and the Kelvin sign fold into ASCII).
_IDS = st.text("aAbsſkKéÉ-_%*[", min_size=1, max_size=3) | st.sampled_from(["agent-a", "agent-A", "Agent-s"])
_UNITS = st.builds(unit_key, _IDS, _IDS | st.just(""))


def _ids(unit: str) -> set[str]:
    session, agent = split_key(unit)
    return {part.casefold() for part in ((agent, f"agent-{agent}") if agent else (session,))}


@given(st.sets(_UNITS, min_size=1, max_size=12), _UNITS)
def test_a_file_bears_on_its_session_its_agents_and_whoever_shares_their_names(known: set[str], unit: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(str(Path(folder, "home")))
        home.make()
        state = State(home)
        try:
            changes, others = Changes(), Changes()
            changes.units = {each: UnitRow(each, f"{each}.md", "", 1, "", 0) for each in known}
            others.units[unit] = UnitRow(unit, "other.md", "", 1, "", 0)
            state.save("claude", changes)
            state.save("codex", others)
            found = set(state.near("claude", "/nowhere.jsonl", unit))
        finally:
            state.close()
    near = [each for each in known if split_key(each)[0] == split_key(unit)[0]]
    ids = set().union(*(_ids(each) for each in (unit, *near)))
    assert found == {each for each in known if not ids.isdisjoint(_ids(each))}
    # What this is for: the names are those that all units together would have.
    if unit in known:
        assert units.assign(found)[unit] == units.assign(known)[unit]
