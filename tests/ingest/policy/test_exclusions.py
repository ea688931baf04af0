"""What is excluded is never written; what no person had is said to be so."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import EngineMissing
from core.home import Home
from ingest import registry
from ingest.archive import archive
from ingest.pipeline.run import run
from ingest.policy import FILE, UNITS
from ingest.policy.exclusions import SYNTHETIC_PROMPT, Globs, Rules
from ingest.policy.withheld import Withheld
from tests import damaged
from tests.ingest.sources import test_codex as codex
from tests.ingest.sources import test_cursor as cursor
from tests.ingest.sources.test_opencode import database
from tests.ingest.transcripts import OTHER, SESSION, Script, corpus, document, ingest, save


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "transcripts"
    save(place / "work" / f"{SESSION}.jsonl", Script(cwd="/home/me/api/sub").user("about the api"))
    save(place / "play" / f"{OTHER}.jsonl", Script(OTHER, cwd="/home/me/game").user("about the game"))
    return place


def configure(home: Home, text: str) -> None:
    Path(home.path("collections.yml")).write_text(
        f"collections: {{brain: {{path: brain}}}}\n{text}\n", encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("exclude: {projects: [/home/me/api]}", "excluded: project"),
        ("exclude: {projects: ['*/api']}", "excluded: project"),
        ("exclude: {projects: [api]}", "excluded: project"),
        ("exclude: {projects: ['/home/*/a?i']}", "excluded: project"),
        ("exclude: {paths: ['*/transcripts/work']}", "excluded: path"),
        ("exclude: {paths: ['*/5f0c*.jsonl']}", "excluded: path"),
    ],
)
def test_an_excluded_session_is_written_nowhere(home: Home, folder: Path, rule: str, reason: str) -> None:
    configure(home, rule)
    ledger = ingest(home, folder)
    assert list(corpus(home)) == [f"{OTHER}.md"]
    assert ledger.skipped == {reason: 1}
    assert [Path(path).stem for path in archive.read(home, "claude")] == [OTHER]
    held = b"".join(path.read_bytes() for path in Path(home.root).rglob("*") if path.is_file())
    assert b"about the api" not in held


def test_a_folder_that_only_a_later_record_names_excludes_the_session(home: Home, tmp_path: Path) -> None:
    configure(home, "exclude: {projects: [/home/me/api]}")
    script = Script(cwd="/home/me/api")
    records = [script.user("hidden"), script.user("hidden, too"), script.user("and this")]
    for record in records[:2]:
        del record["cwd"]
    save(tmp_path / "t" / "a.jsonl", *records)
    assert ingest(home, tmp_path / "t").skipped == {"excluded: project": 1}
    assert corpus(home) == {}


def test_a_marker_file_excludes_its_folder_and_what_is_below(home: Home, tmp_path: Path) -> None:
    project = tmp_path / "client"
    (project / "deep").mkdir(parents=True)
    (project / ".brain-ignore").touch()
    save(tmp_path / "t" / "a.jsonl", Script(cwd=str(project / "deep")).user("hidden"))
    save(tmp_path / "t" / "b.jsonl", Script(OTHER, cwd=str(tmp_path)).user("shown"))
    ledger = ingest(home, tmp_path / "t")
    assert list(corpus(home)) == [f"{OTHER}.md"]
    assert ledger.skipped == {"excluded: .brain-ignore": 1}


def test_a_rule_that_names_a_link_covers_what_was_recorded_with_the_real_place_and_the_other_way_round(
    home: Home, tmp_path: Path
) -> None:
    (tmp_path / "real" / "api").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for rule, recorded in (("link", "real"), ("real", "link")):
        configure(home, f"exclude: {{projects: ['{tmp_path / rule}']}}")
        save(
            tmp_path / recorded / "t" / f"{SESSION}.jsonl", Script(cwd=str(tmp_path / recorded / "api")).user("hidden")
        )
        assert ingest(home, tmp_path / recorded / "t").skipped == {"excluded: project": 1}
    assert corpus(home) == {}


def test_a_marker_holds_for_a_session_that_came_by_a_link(home: Home, tmp_path: Path) -> None:
    (tmp_path / "client" / "deep").mkdir(parents=True)
    (tmp_path / "client" / ".brain-ignore").touch()
    (tmp_path / "link").symlink_to(tmp_path / "client" / "deep")
    assert Rules(home, registry.settings(home)).excluded("", str(tmp_path / "link")) == "excluded: .brain-ignore"


def test_a_rule_that_is_taken_away_lets_the_session_in(home: Home, folder: Path) -> None:
    configure(home, "exclude: {projects: [api]}")
    ingest(home, folder)
    configure(home, "")
    ingest(home, folder, trust_stat=True)
    assert len(corpus(home)) == 2


def test_a_document_that_was_there_before_the_rule_stays(home: Home, folder: Path) -> None:
    ingest(home, folder)
    before = corpus(home)
    configure(home, "exclude: {projects: [api]}")
    ledger = ingest(home, folder)
    assert corpus(home) == before
    assert ledger.kept == 1


@pytest.mark.parametrize(
    ("project", "expected"),
    [
        ("/tmp/x", True),
        ("/private/var/folders/ab/T/eval-1", True),
        ("C:\\Users\\me\\AppData\\Local\\Temp\\run", True),
        ("/home/me/tmp", False),
        ("/tmpfiles", False),
        ("/home/me/evals/run-7", True),
        ("/home/me/api", False),
        ("", False),
    ],
)
def test_sessions_in_temporary_folders_are_synthetic(home: Home, project: str, expected: bool) -> None:
    configure(home, "synthetic: {projects: [/home/me/evals]}")
    assert Rules(home, registry.settings(home)).is_synthetic(project, "") is expected


def test_a_synthetic_session_says_so_in_its_frontmatter(home: Home, tmp_path: Path) -> None:
    save(tmp_path / "t" / "a.jsonl", Script(cwd="/tmp/run").user("measure this"))
    save(tmp_path / "t" / "b.jsonl", Script(OTHER).user(f"{SYNTHETIC_PROMPT}\nDistil this session."))
    ingest(home, tmp_path / "t")
    assert document(home)[0]["synthetic"] is True
    assert document(home, f"{OTHER}.md")[0]["synthetic"] is True
    before = corpus(home)
    shutil.rmtree(home.path("brain"))
    ingest(home, tmp_path / "t")
    assert corpus(home) == before


def test_a_rehearsal_knows_what_is_excluded(home: Home, folder: Path) -> None:
    from ingest.pipeline.rehearsal import rehearse

    configure(home, "exclude: {projects: [api]}")
    would = rehearse(home, "claude", [str(folder)], trust_stat=False)["would"]
    assert would["units"] == [OTHER]
    assert not Path(home.path("raw")).exists()


AGENT = "agent-a1b2c3"


def agent_of(place: Path, session: str, cwd: str, said: str = "look into it") -> None:
    script = Script(session, prefix="s", cwd=cwd, isSidechain=True, agentId="a1b2c3")
    save(
        place / session / "subagents" / f"{AGENT}.jsonl",
        script.user(said),
        script.assistant({"type": "text", "text": "found"}),
    )


@pytest.mark.parametrize("rule", ["exclude: {projects: [api]}", "exclude: {paths: ['*/work/5f0c*.jsonl']}", ""])
def test_an_excluded_sessions_agents_go_with_it_wherever_they_worked(home: Home, folder: Path, rule: str) -> None:
    configure(home, rule)
    (folder.parent / "wt").mkdir()
    if not rule:
        shutil.rmtree(folder / "work")
        (folder.parent / "api").mkdir()
        (folder.parent / "api" / ".brain-ignore").touch()
        save(folder / "work" / f"{SESSION}.jsonl", Script(cwd=str(folder.parent / "api")).user("about the api"))
    agent_of(folder / "work", SESSION, str(folder.parent / "wt"), "the api's secret plan")
    agent_of(folder / "play", OTHER, str(folder.parent / "wt"), "about the game")
    ledger = ingest(home, folder)
    assert len(corpus(home)) == 2
    assert sum(ledger.skipped.values()) == 2
    agent_of(folder / "work", SESSION, str(folder.parent / "wt"), "the api's secret plan goes on")  # alone, later
    ingest(home, folder, trust_stat=True)
    held = b"".join(path.read_bytes() for path in Path(home.root).rglob("*") if path.is_file())
    assert b"secret plan" not in held
    assert not any(SESSION in path for path in archive.read(home, "claude"))


@pytest.mark.parametrize("again", ["grown", "rebuild", "lost state"])
def test_what_a_marker_excluded_stays_out_when_its_folder_is_gone(home: Home, tmp_path: Path, again: str) -> None:
    project = tmp_path / "client"
    (project / "deep").mkdir(parents=True)
    (project / ".brain-ignore").touch()
    script = Script(cwd=str(project / "deep"))
    records = [script.user("hidden words")]
    place = tmp_path / ".claude" / "projects"
    save(place / "p" / f"{SESSION}.jsonl", *records)
    ingest(home, place)
    shutil.rmtree(project)
    save(place / "p" / f"{SESSION}.jsonl", *records, script.user("more hidden words"))
    prompt = {"display": "hidden words", "timestamp": 1777367643000, "project": str(project), "sessionId": OTHER}
    save(tmp_path / ".claude" / "history.jsonl", prompt)
    if again == "lost state":
        (Path(home.state) / "sources.sqlite").unlink()
    ledger = ingest(home, tmp_path / ".claude", trust_stat=again == "grown", rebuild=again == "rebuild")
    assert corpus(home) == {}
    assert ledger.skipped == {"excluded: .brain-ignore": 2}
    assert all(b"client" not in (Path(home.state) / name).read_bytes() for name in (FILE, UNITS))
    project.mkdir()  # there again, and without a marker
    ingest(home, tmp_path / ".claude", rebuild=True)
    assert len(corpus(home)) == 2


def test_a_rehearsal_remembers_nothing(home: Home, tmp_path: Path) -> None:
    from ingest.pipeline.rehearsal import rehearse

    (tmp_path / "client").mkdir()
    (tmp_path / "client" / ".brain-ignore").touch()
    save(tmp_path / "t" / "a.jsonl", Script(cwd=str(tmp_path / "client")).user("hidden"))
    assert rehearse(home, "claude", [str(tmp_path / "t")], trust_stat=False)["skipped"]
    assert not any((Path(home.state) / name).exists() for name in (FILE, UNITS))


def test_agents_of_a_database_go_with_their_session_whatever_their_ids(home: Home, tmp_path: Path) -> None:
    place = database(tmp_path / "opencode.db")
    connection = apsw.Connection(str(place))
    for session, parent in (("ses_0", "ses_1"), ("ses_00", "ses_0"), ("ses_9", "ses_00")):
        row = (session, "/elsewhere", parent)
        connection.execute("insert into session values(?,'slug',?,'A task','1.18.4',?,1)", row)
        data = '{"role":"user","time":{"created":1777367643000}}'
        connection.execute("insert into message values(?1||'m',?1,1777367643000,?2)", (session, data))
        part = '{"type":"text","text":"a hidden task"}'
        connection.execute("insert into part values(?1||'p',?1||'m',?1,1,?2)", (session, part))
    connection.close()
    ledger = run(home, "opencode", [str(place)], trust_stat=False)
    assert len(corpus(home)) == 4
    other = Home(str(tmp_path / "other"))
    other.make()
    configure(other, "exclude: {projects: [/home/me/api]}")
    ledger = run(other, "opencode", [str(place)], trust_stat=False)
    assert corpus(other) == {}
    assert ledger.skipped == {"excluded: project": 1}
    assert archive.read(other, "opencode") == {}


def test_an_agent_that_is_read_before_its_session_goes_with_it(home: Home, tmp_path: Path) -> None:
    def rollout(place: Path, session: str, cwd: str, spawn: object = None) -> None:
        make = codex.Rollout()
        source = {"source": {"subagent": {"thread_spawn": spawn}}} if spawn else {}
        codex.save(
            place / f"rollout-2026-04-28T09-00-00-{session}.jsonl",
            make.meta(session, cwd=cwd, **source),
            *make.asked("hidden"),
        )

    spawn = {"parent_thread_id": SESSION, "depth": 1, "agent_nickname": "Ada", "agent_role": "explorer"}
    rollout(tmp_path / "archived_sessions", OTHER, "/elsewhere", spawn)
    rollout(tmp_path / "sessions", SESSION, "/home/me/api")
    configure(home, "exclude: {projects: [api]}")
    ledger = run(home, "codex", [str(tmp_path)], trust_stat=False)
    assert corpus(home) == {}
    assert ledger.skipped == {"excluded: project": 2}
    assert not list(archive.read(home, "codex"))


def test_a_marker_that_only_a_hook_saw_is_remembered(home: Home, tmp_path: Path) -> None:
    from runtime.hooks.hooks import excluded

    (tmp_path / "client").mkdir()
    (tmp_path / "client" / ".brain-ignore").touch()
    path = save(tmp_path / "t" / "a.jsonl", Script(cwd=str(tmp_path / "client")).user("hidden"))
    assert excluded(home, str(path), str(tmp_path / "client")) == "excluded: .brain-ignore"
    shutil.rmtree(tmp_path / "client")
    ingest(home, tmp_path / "t")
    assert corpus(home) == {}


def test_what_another_home_remembers_is_taken_over(home: Home, tmp_path: Path) -> None:
    other = Home(str(tmp_path / "other"))
    other.make()
    for place, folder in ((home, "/a"), (other, "/b")):
        withheld = Withheld(place)
        withheld.note_folder(folder, marked=True)
        withheld.note_unit("claude", folder, "excluded: .brain-ignore", folder)
        withheld.save()
    withheld = Withheld(home)
    withheld.add(Withheld(other))
    withheld.save()
    assert all(Withheld(home).has_folder(folder) for folder in ("/a", "/b"))
    assert Withheld(home).unit("claude", "/b") == ("excluded: .brain-ignore", True)


def test_what_two_note_at_once_is_remembered_of_both(home: Home) -> None:
    home.make()
    one, other = Withheld(home), Withheld(home)
    for name, each in (("a", one), ("b", other)):
        each.note_folder(f"/{name}", marked=True)
        each.note_unit("claude", name, "excluded: .brain-ignore", f"/{name}")
    one.save()
    other.save()
    assert all(Withheld(home).unit("claude", name) == ("excluded: .brain-ignore", True) for name in "ab")


_DAMAGED = (*damaged.JSON, b'{"schema": 1, "%s": null}', b'{"%s": [["a"]]}')


@pytest.mark.parametrize("data", _DAMAGED)
@pytest.mark.parametrize("name", [FILE, UNITS])
def test_nothing_is_read_while_what_was_excluded_cannot_be(home: Home, folder: Path, data: bytes, name: str) -> None:
    home.make()
    place = Path(home.state, name)
    place.write_bytes(data.replace(b"%s", b"folders" if name == FILE else b"units"))
    with pytest.raises(EngineMissing, match="what was excluded") as failure:
        ingest(home, folder)
    assert corpus(home) == {}
    assert str(place) in failure.value.fix
    place.rename(f"{place}.damaged")
    ingest(home, folder)
    assert len(corpus(home)) == 2


@pytest.mark.parametrize("name", [FILE, UNITS])
@pytest.mark.parametrize("whose", ["this home's", "the other's"])
def test_of_another_home_all_is_taken_over_that_either_can_read(
    home: Home, tmp_path: Path, name: str, whose: str
) -> None:
    other = Home(str(tmp_path / "other"))
    for place in (home, other):
        place.make()
    noted = Withheld(other)
    noted.note_folder("/b", marked=True)
    noted.note_unit("claude", "b", "excluded: .brain-ignore", "/b")
    noted.save()
    damaged = Path((other if whose == "the other's" else home).state, name)
    damaged.write_bytes(b"")
    withheld = Withheld(home)
    withheld.add(Withheld(other))
    withheld.save()
    assert damaged.read_bytes() == b""
    assert Path(home.state, UNITS if name == FILE else FILE).stat().st_size > 0


def test_a_hook_asks_for_folders_alone(home: Home, tmp_path: Path) -> None:
    from runtime.hooks.hooks import excluded

    (tmp_path / "client").mkdir()
    (tmp_path / "client" / ".brain-ignore").touch()
    home.make()
    Path(home.state, UNITS).mkdir()  # whoever reads it fails
    assert excluded(home, str(tmp_path / "t" / "a.jsonl"), str(tmp_path / "client")) == "excluded: .brain-ignore"
    assert Withheld(home).has_folder(str(tmp_path / "client"))


def test_an_agent_that_stands_before_its_conversation_in_cursors_database_goes_with_it(
    home: Home, tmp_path: Path
) -> None:
    rows: dict[str, object] = {}
    sub = {"subagentInfo": {"parentComposerId": "c9"}, "workspaceIdentifier": {"uri": {"fsPath": "/elsewhere"}}}
    known = {"trackedGitRepos": [{"repoPath": "/home/me/api"}]}
    for name, fields in (("c1", sub), ("c5", {}), ("c9", known)):
        heads = [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b2", "type": 2}]
        rows[f"composerData:{name}"] = {"createdAt": 1, "fullConversationHeadersOnly": heads, **fields}
        rows[f"bubbleId:{name}:b1"] = {"type": 1, "text": "Mend the lock"}
        rows[f"bubbleId:{name}:b2"] = {"type": 2, "text": f"As {name} would."}
    path = cursor.database(tmp_path / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    configure(home, "exclude: {projects: [/home/me/api]}")
    run(home, "cursor", [str(tmp_path / "globalStorage")], trust_stat=False)
    assert list(corpus(home)) == ["cursor__c5.md"]
    kept = b"".join(archive.held(home.path("raw"), archive.read(home, "cursor")[str(path)]))
    assert b"As c5 would" in kept
    assert b"As c1 would" not in kept


def test_prompts_that_tell_no_folder_stay_out_with_their_session(home: Home, tmp_path: Path) -> None:
    make = codex.Rollout()
    place = tmp_path / "codex" / "sessions"
    path = codex.save(place / f"rollout-2026-04-28T09-00-00-{codex.SESSION}.jsonl", make.meta(), *make.asked("hidden"))
    configure(home, "exclude: {projects: [/home/me/api]}")
    run(home, "codex", [str(place)], trust_stat=False)
    path.unlink()
    (Path(home.state) / "sources.sqlite").unlink()
    save(place.parent / "history.jsonl", {"session_id": codex.SESSION, "text": "hidden", "ts": 1777367643})
    ledger = run(home, "codex", [str(place.parent)], trust_stat=False)
    assert corpus(home) == {}
    assert ledger.skipped == {"excluded: project": 1}


@pytest.mark.parametrize(
    ("before", "now", "out"),
    [
        ("[/home/me/api, /home/me/game]", "[/home/me/game]", False),
        ("[/home/me/api, /home/me/game]", "[/home/me/api]", True),
        ("[/home/me/api, '*/api', game]", "['*/api', game]", True),
        ("[/home/me/api]", "['/home/me/*']", True),
        ("[/home/me/api, game]", "[game, work]", True),
        ("[/home/me/api]", "[]", False),
    ],
    ids=["its rule went", "another went", "one of its two went", "its rule was reworded", "a new one came", "all went"],
)
def test_each_rule_keeps_prompts_out_for_itself(home: Home, tmp_path: Path, before: str, now: str, out: bool) -> None:
    make = codex.Rollout()
    place = tmp_path / "codex" / "sessions"
    path = codex.save(place / f"rollout-2026-04-28T09-00-00-{codex.SESSION}.jsonl", make.meta(), *make.asked("shown"))
    configure(home, f"exclude: {{projects: {before}}}")
    run(home, "codex", [str(place)], trust_stat=False)
    path.unlink()
    save(place.parent / "history.jsonl", {"session_id": codex.SESSION, "text": "shown", "ts": 1777367643})
    (Path(home.state) / "sources.sqlite").unlink()
    configure(home, f"exclude: {{projects: {now}}}")
    run(home, "codex", [str(place.parent)], trust_stat=False)
    assert (corpus(home) == {}) is out


@pytest.mark.parametrize("folder", ["/tmp/a\ud800b", "/a" * 3000, "/x\0y"])
def test_a_folder_that_no_system_has_ends_no_run(home: Home, tmp_path: Path, folder: str) -> None:
    place = tmp_path / "transcripts" / "project"
    save(place / f"{SESSION}.jsonl", Script(cwd=folder).user("about the api"))
    save(place / f"{OTHER}.jsonl", Script(OTHER, cwd="/home/me/game").user("about the game"))
    ledger = ingest(home, place.parent)
    assert (ledger.ingested, ledger.failed_files) == (2, 0)
    assert sorted(corpus(home)) == sorted([f"{OTHER}.md", f"{SESSION}.md"])


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/c/acme", "/c/acme"),
        ("/c/acme", "/c/acme/"),
        ("/c/acme/", "/c/acme"),
        ("/c/acme", "/c/acme/api/deep"),
        ("/c/acme", "/c/web/../acme/api"),
        ("/c/*", "/c/acme/api"),
        ("/c/a?me/**", "/c/acme/api"),
        ("*/acme", "/c/acme/api"),
        ("acme", "/c/acme/api"),
        ("ac*", "/c/acme/api"),
        ("c/acme", "/home/c/acme/api"),
        ("/c/[id]", "/c/[id]/page"),
        ("/c/[ab]", "/c/a/page"),
        ("acme", "acme"),
    ],
)
def test_a_rule_covers_what_it_names_and_all_below(rule: str, path: str) -> None:
    assert Globs([rule]).covering(path) == (rule.rstrip("/"),)


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/c/acme", "/c/acme-other"),
        ("/c/acme", "/c"),
        ("/c/acme", "/c/ACME"),
        ("/c/acme", ""),
        ("acme", "/c/acme-other/api"),
        ("c/acme", "/home/c/web/acme"),
        ("/", "/c/acme"),
    ],
)
def test_a_rule_covers_nothing_beside_it(rule: str, path: str) -> None:
    assert Globs([rule]).covering(path) == ()


def test_a_link_and_the_folder_it_leads_to_are_one(tmp_path: Path) -> None:
    (tmp_path / "real" / "api").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    real, link = str(tmp_path / "real"), str(tmp_path / "link")
    assert Globs([link]).covering(f"{real}/api") == (link,)
    assert Globs([real]).covering(f"{link}/gone/deep") == (real,)
    assert Globs([f"{link}/a*"]).covering(f"{real}/api/x") == (f"{link}/a*",)
    assert Globs([f"{link}/api"]).covering(f"{real}/web") == ()


def test_a_home_is_written_with_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert Globs(["~/acme/"]).covering("/home/me/acme/api") == ("/home/me/acme",)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_rule_is_compared_with_any_path(rule: str, path: str) -> None:
    assert Globs([rule]).covering(path) in ((), Globs([rule]).given)


@pytest.mark.parametrize("path", ["/c/\ud800/x", "/c/\0/x", "/" + "a/" * 100_000])
def test_a_path_that_no_system_has_is_compared_as_written(path: str) -> None:
    assert Globs(["/c", "a"]).covering(path) in (("/c",), ("a",))
