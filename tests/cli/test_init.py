"""``brain init``: from nothing to a first answer, and nothing of the user's is changed on the way."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import cli.bring_in.init
from core.files import FileLock
from tests.conftest import Brain
from tests.forking import WITHOUT_MODEL

ROOT = Path(__file__).resolve().parent.parent.parent
DEMO = ROOT / "demo"
COPIED = list((DEMO / "documents").rglob("*.md"))
PROMISES = {
    "why did the permission hook fail": "Why the permission hook let a force push through",
    "what did we decide about token refresh": "Token refresh: single flight in the database",
    "did we reject redis, and why": "No Redis for the notification queue",
    "commands to restore the queue database": "Runbook: restore the queue database",
    "departures one hour late": "Departures one hour late since summer time began",
    "ECONNREFUSED": "Flaky test_worker_drains: ECONNREFUSED on port 8025",
}

# A document of the demo set that is soon distilled.
SHORTEST = "bdbb9deb-8e39-4404-b4c8-5bcd0c3f0f0c.md"


@pytest.fixture
def place() -> Path:
    """The home of this test, as a path."""
    return Path(os.environ["BRAIN_HOME"])


def session(folder: Path, name: str, text: str, day: int = 1) -> None:
    """A transcript of one question and one answer."""
    common = {"sessionId": name, "cwd": "/Users/ana/code/atlas", "version": "2.1.98", "isSidechain": False}
    answer = {
        "id": f"msg_{name}",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "text", "text": "Looked into it; the answer is in the second paragraph."}],
    }
    records: list[dict[str, Any]] = [
        {"type": "user", "uuid": "1", "parentUuid": None, "message": {"role": "user", "content": text}},
        {"type": "assistant", "uuid": "2", "parentUuid": "1", "message": answer},
    ]
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({**record, **common, "timestamp": f"2026-05-{day:02d}T08:00:0{second}.000Z"})
        for second, record in enumerate(records)
    ]
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def init(brain: Brain, *words: str) -> dict[str, Any]:
    done = brain("init", *words, "--json")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert isinstance(report, dict)
    return report


def markdown(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*.md")}


def test_a_machine_without_sessions_gets_the_demo_and_an_answer(brain: Brain, place: Path) -> None:
    report = init(brain)
    assert (report["demo"], report["sessions"]) == (True, 0)
    assert report["question"] == "why did the permission hook fail"
    assert "permission hook" in report["answer"]["hits"][0]["title"]
    assert len(markdown(place)) == len(list(DEMO.rglob("*.jsonl"))) + len(COPIED)


def test_the_demo_says_that_it_is_one_and_how_to_leave_it(brain: Brain) -> None:
    done = brain("init")
    assert (done.returncode, done.stderr) == (0, "")
    assert "the demo set: invented sessions of an invented project, not yours" in done.stdout
    assert "This is the demo set." in done.stdout
    assert " index` or a hook reads anything of yours" in done.stdout


def test_what_to_type_next_is_at_the_end(brain: Brain) -> None:
    lines = brain("init").stdout.splitlines()
    following = lines[lines.index("Next:") + 1 :]
    assert [line for line in following if line.startswith("  ")] == following[:4]


def test_this_machines_sessions_are_indexed_and_the_newest_is_asked_about(brain: Brain, claude_root: Path) -> None:
    folder = claude_root / "projects" / "-Users-ana-code-atlas"
    session(folder, "older", "Why is the northern tile grey?", day=1)
    session(folder, "newer", "Rename the legend's colours", day=2)
    report = init(brain)
    assert (report["demo"], report["sessions"]) == (False, 2)
    assert report["question"] == "Rename the legend's colours"
    assert report["answer"]["hits"][0]["uri"] == "qmd://brain/newer.md"
    assert "demo set" not in brain("init").stdout


def test_the_demo_is_left_once_there_are_sessions_and_notes_stay(brain: Brain, claude_root: Path, place: Path) -> None:
    init(brain)
    assert brain("inbox", "the harbour closes at nine").returncode == 0
    session(claude_root / "projects" / "p", "mine", "Why is the northern tile grey?")
    report = init(brain)
    assert (report["demo"], report["demo_left"]) == (False, len(list(DEMO.rglob("*.jsonl"))) + len(COPIED))
    assert list((place / "brain").iterdir()) == [place / "brain" / "mine.md"]
    assert brain("ask", "permission hook fail", "--json").returncode == 67
    assert json.loads(brain("ask", "harbour closes", "--json").stdout)["hits"][0]["collection"] == "inbox"


def _documents(place: Path) -> set[str]:
    """Return the names of the documents of sessions."""
    return {path.name for path in (place / "brain").rglob("*.md")}


@pytest.mark.parametrize("way", ["index", "index --new", "index --from", "hook"])
def test_whatever_reads_a_session_has_the_demo_give_way(
    brain: Brain, claude_root: Path, tmp_path: Path, place: Path, way: str
) -> None:
    init(brain)
    assert brain("distill", f"qmd://brain/{SHORTEST}", "--llm", "extractive", code=WITHOUT_MODEL).returncode == 0
    assert list((place / "distilled").glob("*.md"))
    folder = tmp_path / "old laptop" if way == "index --from" else claude_root / "projects" / "p"
    session(folder, "mine", "Why is the northern tile grey?")
    if way == "hook":
        given = {"hook_event_name": "Stop", "session_id": "mine", "transcript_path": str(folder / "mine.jsonl")}
        assert brain("hook", "stop", stdin=json.dumps(given)).returncode == 0
        # A child that outlives the hook does it.
        deadline = time.monotonic() + 60
        while len(list((place / "brain").glob("*.md"))) > 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with FileLock(str(place / "state" / "hooks" / "drain.lock"), 60):
            pass
    else:
        done = brain(*way.split(), *([str(folder)] if way == "index --from" else []))
        assert f"demo: {7 + len(COPIED)} documents removed" in done.stdout
    assert _documents(place) == {"mine.md"}
    assert list(markdown(place)) == ["brain/mine.md"]
    assert not (place / "git" / "ferrypost").exists()
    if way in ("index", "hook"):  # the home is the same whichever index run read the session
        assert brain("ask", "permission hook fail", "--json").returncode == 67
        assert json.loads(brain("explain", "--json").stdout)["archive"]["objects"] == 1
    if way == "index":
        assert brain("index", "--from-archive").returncode == 0
        assert _documents(place) == {"mine.md"}
        assert brain("doctor", "--no-wedge", "--json").returncode == 0


def test_the_demo_stays_while_nothing_else_was_read(brain: Brain, place: Path) -> None:
    init(brain)
    before = markdown(place)
    for words in (["index"], ["index", "--from", str(DEMO)], ["index", "--rebuild"], ["rebuild"], ["hook", "drain"]):
        assert brain(*words).returncode == 0
    assert markdown(place) == before


def test_the_demo_can_be_taken_again(brain: Brain, claude_root: Path) -> None:
    init(brain)
    session(claude_root / "projects" / "p", "mine", "Why is the northern tile grey?")
    init(brain)
    report = init(brain, "--demo")
    assert report["demo"] is True
    assert "permission hook" in report["answer"]["hits"][0]["title"]


def test_a_brain_that_holds_sessions_never_gets_the_demo(brain: Brain, tmp_path: Path, place: Path) -> None:
    session(tmp_path / "old laptop", "mine", "Why is the northern tile grey?")
    init(brain, "--from", str(tmp_path / "old laptop"))
    report = init(brain)
    assert (report["demo"], report["sessions"]) == (False, 0)
    assert list(markdown(place)) == ["brain/mine.md"]


def test_from_takes_a_folder_of_any_layout(brain: Brain, tmp_path: Path) -> None:
    session(tmp_path / "a" / "b" / "c", "deep", "Why is the northern tile grey?")
    report = init(brain, "--from", str(tmp_path / "a"))
    assert (report["sessions"], report["demo"]) == (1, False)
    assert report["answer"]["hits"][0]["uri"] == "qmd://brain/deep.md"


def test_it_says_what_became_of_each_transcript_and_what_the_brain_holds(brain: Brain, claude_root: Path) -> None:
    folder = claude_root / "projects" / "p"
    session(folder, "older", "Why is the northern tile grey?", day=1)
    session(folder, "newer", "Rename the legend's colours", day=2)
    (folder / "nothing.jsonl").write_text("")
    assert brain("inbox", "the harbour closes at nine").returncode == 0
    first = brain("init").stdout
    assert "indexed  3 transcripts in " in first
    assert " s: 2 became documents; 1 left out (1 × empty)\n" in first
    assert "\nholds    3 documents (brain 2, inbox 1)\n" in first
    assert " s: 2 became documents (0 of them new or grown); 1 left out (1 × empty)\n" in brain("init").stdout
    session(folder / "copy", "older", "Why is the northern tile grey?", day=1)
    assert " s: 3 became 2 documents, a session's copies and parts being one (1 of them" in brain("init").stdout
    assert init(brain)["documents"] == {"brain": 2, "inbox": 1}


@pytest.mark.parametrize(
    ("cwd", "shown"),
    [("/", "{tmp}/my env/bin/brain"), ("{tmp}", "my env/bin/brain"), ("{tmp}/my env/bin", "./brain"),
     ("{tmp}/elsewhere", "{tmp}/my env/bin/brain")],
)  # fmt: skip
def test_the_command_it_shows_can_be_typed_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cwd: str, shown: str
) -> None:
    own = tmp_path / "my env" / "bin" / "brain"
    own.parent.mkdir(parents=True)
    own.touch()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(sys, "executable", str(own.parent / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(cwd.format(tmp=tmp_path))
    (word,) = shlex.split(cli.bring_in.init._command())
    assert word == shown.format(tmp=tmp_path)
    assert os.path.samefile(word, own)


def test_running_it_again_changes_nothing(brain: Brain, place: Path) -> None:
    init(brain, "--config")
    before = markdown(place), (place / "collections.yml").stat().st_mtime_ns
    report = init(brain, "--config")
    assert (markdown(place), (place / "collections.yml").stat().st_mtime_ns) == before
    assert report["config_written"] is False
    assert report["demo"] is True
    assert sum(ledger["ingested"] for ledger in report["index"]["sources"].values()) == 0


def test_the_home_is_private(brain: Brain, place: Path) -> None:
    place.rmdir()
    os.environ["BRAIN_HOME"] = str(place / "below" / "it")
    init(brain)
    for path in (place / "below", *(place / "below").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_configuration_is_written_only_when_asked_for(brain: Brain, place: Path) -> None:
    init(brain, "--no-index")
    assert not (place / "collections.yml").exists()
    report = init(brain, "--no-index", "--config")
    assert (report["config"], report["config_written"]) == (str(place / "collections.yml"), True)
    assert (place / "collections.yml").read_bytes() == (ROOT / "collections.yml").read_bytes()


def test_a_configuration_that_is_there_stays_as_it_is(brain: Brain, place: Path) -> None:
    own = "collections:\n  brain: {trust: session}\n"
    (place / "collections.yml").write_text(own)
    report = init(brain, "--config")
    assert report["config_written"] is False
    assert (place / "collections.yml").read_text() == own


def test_no_index_looks_and_indexes_nothing(brain: Brain, claude_root: Path, place: Path) -> None:
    session(claude_root / "projects" / "p", "mine", "Why is the northern tile grey?")
    report = init(brain, "--no-index")
    assert (report["sessions"], report["index"], report["answer"]) == (1, None, None)
    assert not (place / "index.sqlite").exists()
    assert markdown(place) == {}


@pytest.mark.parametrize("words", [[], ["--demo"], ["--from", "~/empty folder"]])
def test_without_indexing_nothing_speaks_of_a_demo_that_is_there(brain: Brain, words: list[str], place: Path) -> None:
    Path(os.environ["HOME"], "empty folder").mkdir()
    done = brain("init", "--no-index", *words)
    assert "demo set" not in done.stdout
    assert "0 sessions, not indexed" in done.stdout
    following = done.stdout.partition("Next:\n")[2].splitlines()[0]
    assert shlex.split(following)[1:] == ["init", *words]
    assert json.loads(brain("init", "--no-index", *words, "--json").stdout)["demo"] is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--demo", "--from", "."], "--demo and --from name two different sources"),
        (["--from", "/no/such/folder"], "not a folder: /no/such/folder"),
        (["twice"], "`brain init` takes no arguments: 'twice'"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_fix(brain: Brain, words: list[str], message: str) -> None:
    done = brain("init", *words, "--json")
    error = json.loads(done.stdout)
    assert (done.returncode, error["error"], error["message"]) == (64, "bad_input", message)
    assert error["fix"]


def test_a_title_made_of_marks_still_gives_a_question_or_none(brain: Brain, claude_root: Path) -> None:
    session(claude_root / "projects" / "p", "mine", '`;$(rm)` "tile"; 北の tile…')
    report = init(brain)
    assert report["question"] == "rm tile 北の tile"
    assert report["answer"]["hits"][0]["uri"] == "qmd://brain/mine.md"


def test_progress_goes_to_a_terminals_stderr_and_leaves_stdout_alone(place: Path) -> None:
    master, slave = os.openpty()
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import brain; brain.entry()"
    environ = {**os.environ, "TERM": "xterm"}
    command = [sys.executable, "-c", code, "init", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, env=environ) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # Linux reports a terminal without a writer so
                break
            if not part:
                break
            shown += part
        assert process.stdout is not None
        printed = process.stdout.read()
    os.close(master)
    assert process.returncode == 0
    assert json.loads(printed)["ok"] is True
    assert shown


def test_the_demo_answers_what_its_page_promises(brain: Brain) -> None:
    page = (DEMO / "README.md").read_text()
    typed = [question if " " not in question else json.dumps(question) for question in PROMISES]
    assert [question for question in typed if f"`brain ask {question}`" not in page] == []
    init(brain, "--demo")
    answers = {question: json.loads(brain("ask", question, "--json").stdout)["hits"] for question in PROMISES}
    assert {question: hits[0]["title"] for question, hits in answers.items()} == PROMISES


def test_the_demo_is_small_whole_and_in_the_real_format(brain: Brain) -> None:
    files = list(DEMO.rglob("*.jsonl"))
    assert sum(path.stat().st_size for path in files) < 120_000
    ledger = init(brain)["index"]["sources"]["claude"]
    assert (ledger["seen"], ledger["ingested"]) == (len(files), len(files))
    assert (ledger["failed_files"], ledger["failed_records"], ledger["unknown"]) == (0, 0, {})


def test_the_demos_subagent_is_linked_to_its_session(brain: Brain, place: Path) -> None:
    init(brain)
    (agent,) = DEMO.rglob("agent-*.jsonl")
    document = (place / "brain" / f"{agent.stem}.md").read_text()
    assert f"parent: {agent.parent.parent.name}\n" in document
    assert (place / "brain" / f"{agent.parent.parent.name}.md").exists()


def test_a_machine_with_another_agents_sessions_alone_gets_no_demo(brain: Brain, tmp_path: Path) -> None:
    from tests.ingest.sources.test_codex import NAME, Rollout, save

    make = Rollout()
    save(tmp_path / "codex" / "sessions" / "2026" / NAME, make.meta(), *make.asked("Why does the walrus sing?"))
    done = brain("init", "--json", env={"CODEX_HOME": str(tmp_path / "codex")})
    report = json.loads(done.stdout)
    assert (report["sessions"], report["demo"]) == (1, False)
    assert report["index"]["sources"]["codex"]["documents"] == 1
