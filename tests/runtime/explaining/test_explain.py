from __future__ import annotations

import json
import os
import plistlib
import sys
from pathlib import Path
from typing import Any

import pytest

from core import clock, config, telemetry
from core.home import Home
from core.jsonio import dumps
from core.version import VERSION
from qmd.index.store import open_index
from qmd.index.update import update
from runtime.capture import inbox, indexing
from runtime.explaining import explain
from runtime.explaining.installation import _globs

RECORD = (
    '{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"5f0c93ab-0000-4000-8000-000000000000",'
    '"timestamp":"2026-04-28T09:14:03.000Z","cwd":"/p","message":{"role":"user","content":"hello there"}}\n'
)


def report(home: Home, **environ: str) -> dict[str, Any]:
    found = explain.report(home, "terminal", {**os.environ, **environ})
    assert json.loads(dumps(found)) == found
    return found


def failed(found: dict[str, Any]) -> set[str]:
    return {name for name, part in found.items() if isinstance(part, dict) and "error" in part}


def problem(found: dict[str, Any], part: str) -> list[dict[str, str]]:
    return [entry for entry in found["problems"] if entry["part"] == part]


def collection(found: dict[str, Any], name: str) -> dict[str, Any]:
    (entry,) = (entry for entry in found["collections"] if entry["name"] == name)
    return dict(entry)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def index(home: Home) -> None:
    connection = open_index(home.index, write=True)
    try:
        update(connection, config.load(home).collections.values())
    finally:
        connection.close()


def test_an_empty_machine_is_explained_without_making_anything(tmp_path: Path) -> None:
    home = Home(str(tmp_path / "never"))
    found = report(home)
    assert failed(found) == set()
    assert found["home"]["exists"] is False
    assert [entry["fix"] for entry in problem(found, "home") + problem(found, "index")] == ["brain init", "brain index"]
    assert not os.path.exists(home.root)


def test_the_report_names_what_runs(home: Home) -> None:
    import apsw

    found = report(home)
    assert found["version"]["product"] == VERSION
    assert found["interpreter"]["path"] == sys.executable
    assert found["engine"]["sqlite"] == apsw.sqlite_lib_version()
    assert found["engine"]["fts5"]
    assert found["home"] == {"path": home.root, "origin": "BRAIN_HOME", "exists": True, "mode": "0700"}


def test_who_rewrites_questions_is_named(home: Home) -> None:
    names = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "QMD_GENERATE_MODEL", "QMD_GENERATE_API_KEY", "QMD_GENERATE_BASE_URL")
    bare = dict.fromkeys(names, "")
    none = report(home, **bare)["expansion"]
    assert none == {"generator": None, "why": "there is no generator", "timeout_s": None}
    text = "collections: {inbox: {path: inbox}}\ngeneration: {base_url: 'http://localhost:1/v1', timeout_s: 3}\n"
    Path(home.root, "collections.yml").write_text(text)
    assert report(home, **bare)["expansion"] == {"generator": "openai/gpt-4.1-mini", "why": None, "timeout_s": 3}
    Path(home.root, "collections.yml").write_text(text.replace("base_url: 'http://localhost:1/v1'", "provider: openai"))
    assert report(home, **bare)["expansion"]["why"] == "OpenAI wants a key"


def test_who_reranks_is_named(home: Home, tmp_path: Path) -> None:
    bare = dict.fromkeys(
        ("QMD_RERANK_MODEL", "OPENAI_BASE_URL", "COHERE_API_KEY", "CO_API_KEY", "QMD_RERANK_API_KEY"), ""
    )
    none = report(home, **bare)["reranking"]
    assert none == {"reranker": None, "why": "there is no reranker", "timeout_s": None, "ask": False}
    text = "collections: {inbox: {path: inbox}}\nask: {rerank: true}\nrerank: "
    own = Path(home.root, "collections.yml")
    own.write_text(text + "{base_url: 'http://localhost:1/v1', model: m, timeout_s: 3}\n")
    assert report(home, **bare)["reranking"] == {"reranker": "openai/m", "why": None, "timeout_s": 3, "ask": True}
    own.write_text(text + "{provider: cohere}\n")
    assert report(home, **bare)["reranking"]["why"] == "cohere wants a key"
    own.write_text(text + f"{{path: '{tmp_path}/gone'}}\n")
    assert "model.onnx is missing" in report(home, **bare)["reranking"]["why"]


@pytest.mark.parametrize(
    ("section", "message", "fix"),
    [
        ("{provider: nope}", "unknown provider 'nope'", "one of local, openai"),
        ("{path: /nowhere/model}", "/nowhere/model/model.onnx is missing", "a folder with model.onnx"),
        ("{model: nope}", "there is no local model 'nope'", "path: ~/models/nope"),
    ],
)
def test_what_cannot_embed_is_a_problem_with_its_fix(home: Home, section: str, message: str, fix: str) -> None:
    index(home)
    assert (report(home)["semantic"]["why"], problem(report(home), "semantic")) == (None, [])
    write(Path(home.root, "collections.yml"), f"collections: {{brain: }}\nembedding: {section}\n")
    found = report(home)
    (said,) = problem(found, "semantic")
    assert said["message"] == f"nothing can be embedded: {message}"
    assert fix in said["fix"]
    assert "collections.yml" in said["fix"]
    assert found["semantic"]["why"] == message


def test_todays_inbox_is_where_a_note_of_today_goes(home: Home) -> None:
    assert report(home)["inbox"]["today"] == os.path.dirname(inbox.write(home, "x").path)


def test_a_collection_says_what_is_on_disk_and_what_waits(home: Home) -> None:
    wiki = Path(home.root, "kb-wiki")
    for name in ("kept", "changed", "removed", "blank"):
        write(wiki / f"{name}.md", f"# {name}\n\nwords\n" if name != "blank" else " \n")
    index(home)
    before = collection(report(home), "kb-wiki")
    assert (before["files"], before["documents"], before["pending"]) == (4, 3, 0)
    assert before["lexical"]["fresh"] is True
    assert before["lexical"]["as_of"].endswith("Z")
    assert before["bytes"] == sum(path.stat().st_size for path in wiki.iterdir())

    write(wiki / "changed.md", "# changed\n\nother words\n")
    (wiki / "removed.md").unlink()
    write(wiki / "new.md", "# new\n")
    write(wiki / "blank-too.md", "\n\n")
    found = report(home)
    after = collection(found, "kb-wiki")
    assert (after["files"], after["documents"], after["pending"]) == (5, 3, 3)
    assert after["lexical"] == {"fresh": False, "pending": 3, "as_of": before["lexical"]["as_of"]}
    assert [entry["fix"] for entry in problem(found, "collections")] == ["brain index"]


def test_a_missing_folder_keeps_its_documents_and_is_a_problem(home: Home) -> None:
    write(Path(home.root, "kb-wiki", "a.md"), "# a\n")
    index(home)
    os.rename(home.path("kb-wiki"), home.path("elsewhere"))
    found = report(home)
    entry = collection(found, "kb-wiki")
    assert (entry["exists"], entry["files"], entry["documents"], entry["pending"]) == (False, 0, 1, 0)
    assert "its 1 document still answers" in problem(found, "collections")[0]["message"]


def test_documents_of_an_unconfigured_collection_are_noticed(home: Home) -> None:
    write(Path(home.root, "kb-wiki", "a.md"), "# a\n")
    index(home)
    write(Path(home.root, "collections.yml"), "collections:\n  brain:\n")
    found = report(home)
    assert found["index"]["by_collection"] == {"kb-wiki": 1}
    assert "1 document of collection kb-wiki" in problem(found, "index")[-1]["message"]


def test_a_broken_config_is_named_with_its_line_and_hides_nothing_else(home: Home) -> None:
    write(Path(home.root, "kb-wiki", "a.md"), "# a\n")
    index(home)
    write(Path(home.root, "collections.yml"), "collections:\n  brain: {\n")
    found = report(home)
    assert failed(found) == {"config", "collections"}
    assert found["config"]["valid"] is False
    assert found["config"]["origin"] == "home"
    assert "collections.yml:3:" in found["config"]["error"]
    assert found["index"]["documents"] == 1
    assert len(problem(found, "config")) == 1
    assert problem(found, "collections") == []


@pytest.mark.parametrize("damage", [b"not a database, but long enough to be looked at " * 4, b"", None])
def test_a_corrupt_index_leaves_its_figures_unknown_and_the_rest_known(home: Home, damage: bytes | None) -> None:
    write(Path(home.root, "kb-wiki", "a.md"), "# a\n")
    index(home)
    for suffix in ("-wal", "-shm"):
        Path(home.index + suffix).unlink(missing_ok=True)
    whole = Path(home.index).read_bytes()
    Path(home.index).write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096) if damage is None else damage)
    found = report(home)
    entry = collection(found, "kb-wiki")
    assert "error" in found["index"]
    assert (entry["files"], entry["documents"], entry["pending"]) == (1, None, None)
    assert (entry["lexical"]["fresh"], entry["semantic"]["installed"]) == (None, None)
    assert "brain index" in problem(found, "index")[0]["fix"]


def test_a_folder_where_the_index_should_be_is_an_error_of_the_index_alone(home: Home) -> None:
    os.mkdir(home.index)
    found = report(home)
    assert failed(found) == {"index"}


def test_a_part_that_breaks_hides_no_other(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise PermissionError(13, "Permission denied", home.usage)

    monkeypatch.setattr(telemetry, "tail", broken)
    found = report(home)
    assert failed(found) == {"telemetry"}
    assert found["telemetry"] == {
        "error": f"Permission denied: {home.usage}",
        "fix": f"check its permissions: ls -ld {home.usage}",
    }
    assert problem(found, "telemetry")[0]["severity"] == "error"


def test_an_unreadable_home_is_reported_and_not_mistaken_for_an_empty_one(home: Home) -> None:
    write(Path(home.root, "kb-wiki", "a.md"), "# a\n")
    report(home)  # as root, so that every module is loaded before the privileges go
    os.chmod(home.root, 0)
    privileged = os.geteuid() == 0
    try:
        if privileged:
            os.seteuid(65534)
        found = report(home)
    finally:
        if privileged:
            os.seteuid(0)
        os.chmod(home.root, 0o700)
    assert {"index", "telemetry", "doctor"} <= failed(found)
    assert "Permission denied" in found["index"]["error"]
    assert found["version"]["product"] == VERSION


def test_waiting_transcripts_are_counted(home: Home, claude_root: Path) -> None:
    before = report(home)
    assert before["transcripts"] == {"waiting": 0, "sources": {"claude": 0}, "as_of": None}
    assert before["ledger"] == {}
    assert problem(before, "transcripts")[0]["message"] == "no transcripts have been read yet"
    project = claude_root / "projects" / "-p"
    write(project / "5f0c93ab-0000-4000-8000-000000000000.jsonl", RECORD + "{broken\n" + RECORD)
    indexing.index(home, config.load(home), source="claude")
    after = report(home)
    assert after["transcripts"]["waiting"] == 0
    assert after["transcripts"]["as_of"] == after["index"]["as_of"]
    assert after["index"]["as_of"].endswith("Z")
    assert (after["ledger"]["claude"]["seen"], after["ledger"]["claude"]["failed_records"]) == (1, 1)
    assert "claude: 1 record could not be read" in problem(after, "ledger")[0]["message"]
    write(project / "5f0c93ab-0000-4000-8000-000000000001.jsonl", RECORD)
    waiting = report(home)
    assert waiting["transcripts"]["waiting"] == 1
    assert problem(waiting, "transcripts")[0]["fix"] == "brain index --new"


def test_a_run_over_another_folder_has_read_transcripts_too(home: Home, tmp_path: Path) -> None:
    write(tmp_path / "old" / "5f0c93ab-0000-4000-8000-000000000000.jsonl", RECORD)
    indexing.index(home, config.load(home), source="claude", roots=[str(tmp_path / "old")])
    found = report(home)
    assert found["ledger"]["claude"]["ingested"] == 1
    assert problem(found, "transcripts") == []
    assert found["transcripts"]["as_of"] is not None


def test_a_collection_that_only_notes_went_into_says_when(home: Home) -> None:
    before = clock.now()
    inbox.write(home, "use flock")
    found = report(home)
    as_of = clock.parse_iso(collection(found, "inbox")["lexical"]["as_of"])
    assert as_of is not None
    assert before <= as_of <= clock.now()
    assert collection(found, "brain")["lexical"]["as_of"] is None
    assert (found["index"]["complete"], found["index"]["as_of"]) == (False, None)
    assert "no index run has ended yet" in problem(found, "index")[0]["message"]


def test_collections_that_changed_since_the_last_run_are_noticed(home: Home) -> None:
    indexing.index(home, config.load(home))
    found = report(home)
    assert (found["index"]["complete"], found["index"]["current"], problem(found, "index")) == (True, True, [])
    write(Path(home.root, "collections.yml"), "collections:\n  brain:\n  more:\n")
    changed = report(home)
    assert (changed["index"]["complete"], changed["index"]["current"]) == (True, False)
    assert "changed since" in problem(changed, "index")[0]["message"]


def test_telemetry_readable_by_others_is_a_warning(home: Home) -> None:
    telemetry.record(home, "ask", "terminal", exit_code=0)
    private = report(home)
    assert private["telemetry"]["mode"] == "0600"
    assert [row["event"] for row in private["telemetry"]["last"]] == ["ask"]
    assert problem(private, "telemetry") == []
    os.chmod(home.usage, 0o644)
    (open_to_all,) = problem(report(home), "telemetry")
    assert (open_to_all["severity"], open_to_all["fix"]) == ("warning", f"chmod 600 {home.usage}")


@pytest.mark.parametrize(
    ("setting", "resolves"), [("builtin", True), ("", True), (sys.executable, True), ("/no/qmd", False)]
)
def test_the_engine_is_resolved(home: Home, setting: str, resolves: bool) -> None:
    found = report(home, BRAIN_QMD=setting)
    assert found["engine"]["setting"] == (setting or "builtin")
    assert (found["engine"]["resolved"] is not None) is resolves
    assert bool(problem(found, "engine")) is not resolves


def test_surfaces_are_not_installed_until_they_are(home: Home, claude_root: Path) -> None:
    before = report(home)
    assert [before[part]["installed"] for part in ("schedule", "hooks", "skills", "doctor")] == [False] * 4
    write(claude_root / "skills" / "brain-ask" / "SKILL.md", "---\npaths: '~/{a,b}/**, *.ts'\n---\nbody\n")
    write(claude_root / "skills" / "brain-inbox" / "SKILL.md", "---\nname: brain-inbox\n---\nbody\n")
    write(claude_root / "skills" / "brain-bad" / "SKILL.md", "---\nname: [\n---\nbody\n")
    write(claude_root / "skills" / "other" / "SKILL.md", "---\nname: other\n---\n")
    hook = {"type": "command", "command": "'/a b/brain' hook stop"}
    other = {"type": "command", "command": "notify brain-storm hook"}
    exact = {"type": "command", "command": "brain", "args": ["hook", "stop"]}
    groups = {"Stop": [{"hooks": [hook, other]}], "SessionEnd": [{"hooks": [exact]}], "PreCompact": "odd"}
    write(claude_root / "settings.json", json.dumps({"hooks": groups}))
    write(Path(home.logs, "doctor.log"), "".join(f"line {number}\n" for number in range(9)))
    found = report(home)
    scopes = {skill["name"]: skill.get("scopes") for skill in found["skills"]["skills"]}
    assert scopes == {"brain-ask": ["~/{a,b}/**", "*.ts"], "brain-inbox": [], "brain-bad": None}
    assert [hook["event"] for hook in found["hooks"]["hooks"]] == ["Stop", "SessionEnd"]
    assert found["doctor"]["last"] == [f"line {number}" for number in range(4, 9)]
    assert len(problem(found, "skills")) == 1


def test_settings_that_cannot_be_parsed_are_a_problem_of_the_hooks(home: Home, claude_root: Path) -> None:
    path = write(claude_root / "settings.json", "{")
    found = report(home)
    assert found["hooks"]["installed"] is False
    assert str(path) in problem(found, "hooks")[0]["message"]


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH besides the system's."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def tool(folder: Path, name: str, script: str) -> None:
    path = write(folder / name, f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_jobs_are_what_the_schedulers_say(home: Home, tools: Path) -> None:
    user = Path(os.environ["HOME"])
    agents = user / "Library" / "LaunchAgents"
    agents.mkdir(parents=True)
    for name in ("doctor", "week1"):
        (agents / f"com.brain.{name}.plist").write_bytes(plistlib.dumps({"Label": f"com.brain.{name}"}))
    write(agents / "com.brain.bad.plist", "no plist")
    write(user / ".config" / "systemd" / "user" / "brain-ingest.timer", "[Timer]\n")
    tool(tools, "launchctl", "printf -- '-\\t78\\tcom.brain.doctor\\n-\\t0\\tcom.apple.other\\n'")
    tool(tools, "systemctl", 'case "$*" in *timer*) echo ActiveState=active;; *) echo ExecMainStatus=0;; esac')
    tool(tools, "crontab", "printf '# brain\\n0 * * * * /opt/brain/doctor.sh\\n5 * * * * backup\\n'")
    found = report(home)
    jobs = {job["name"]: (job.get("loaded"), job.get("last_exit")) for job in found["schedule"]["jobs"]}
    assert jobs == {
        "com.brain.bad.plist": (None, None),
        "com.brain.doctor": (True, 78),
        "com.brain.week1": (False, None),
        "brain-ingest": (True, 0),
        "0 * * * * /opt/brain/doctor.sh": (True, None),
    }
    messages = " ".join(entry["message"] for entry in problem(found, "schedule"))
    assert all(sign in messages for sign in ("bad.plist", "week1 is installed but not loaded", "doctor ended with 78"))


def test_a_scheduler_that_does_not_answer_leaves_the_status_unknown(home: Home, tools: Path) -> None:
    write(Path(os.environ["HOME"], ".config", "systemd", "user", "brain-ingest.timer"), "[Timer]\n")
    tool(tools, "systemctl", "exit 1")
    (job,) = report(home)["schedule"]["jobs"]
    assert (job["loaded"], job["last_exit"]) == (None, None)


def test_sizes_are_those_on_disk(home: Home) -> None:
    write(Path(home.root, "kb-wiki", "a.md"), "# a\n" * 100)
    index(home)
    write(Path(home.state, "queue", "x"), "x" * 50)
    found = report(home)
    assert found["disk"]["corpus"] == 400
    assert found["disk"]["index"] >= os.path.getsize(home.index)
    assert found["disk"]["state"] == sum(path.stat().st_size for path in Path(home.state).rglob("*") if path.is_file())


def test_file_names_that_are_not_utf8_do_not_break_the_report(home: Home, claude_root: Path) -> None:
    folder = os.fsencode(claude_root) + b"/skills/brain-\xff"
    os.makedirs(folder)
    Path(os.fsdecode(folder), "SKILL.md").write_text("---\nname: x\n---\n")
    (skill,) = report(home)["skills"]["skills"]
    assert skill["name"] == "brain-\\xff"


@pytest.mark.parametrize(
    ("text", "globs"), [("a, b", ["a", "b"]), ("{a,b}/**", ["{a,b}/**"]), ("", []), (",", []), ("a},b", ["a}", "b"])]
)
def test_a_comma_string_of_globs_is_split_outside_braces(text: str, globs: list[str]) -> None:
    assert _globs(text) == globs


def test_a_kind_of_record_that_is_not_known_is_a_finding(home: Home, claude_root: Path) -> None:
    from tests.ingest.transcripts import SESSION, Script, save

    script = Script()
    place = claude_root / "projects" / "x" / f"{SESSION}.jsonl"
    save(place, script.user("hello"), script.record("never-seen-before"))
    indexing.index(home, config.load(home))
    said = [problem["message"] for problem in explain.report(home, "terminal", {})["problems"]]
    assert any("never-seen-before" in message for message in said)
