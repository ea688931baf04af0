from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from core.home import Home
from core.version import VERSION
from ops.install import skills
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf

SECTIONS = ["Collections", "Sources", "Telemetry", "Schedule", "Hooks", "Skills", "Doctor", "Disk"]


def test_skills_are_listed_once_with_their_patterns_and_the_agents_that_have_them(
    brain: Brain, home: Home, claude_root: Path
) -> None:
    scopes = skills.scopes(["recent="])
    for agents in (False, True):
        skills.install(home, skills.folder(os.environ, agents=agents), scopes, agents=agents)
    skills.install(home, skills.folder(os.environ), skills.scopes(["why=src/**,lib/{a,b}/**"]))
    listed = brain("explain").stdout.partition("\nSkills\n")[2].partition("\n\n")[0].splitlines()
    assert listed == [
        "  brain-ask  for paths that match ~/Projects/**  (Claude Code, other agents)",
        "  brain-explain  everywhere  (Claude Code, other agents)",
        "  brain-inbox  everywhere  (Claude Code, other agents)",
        "  brain-recent  everywhere  (Claude Code, other agents)",
        "  brain-why  for paths that match src/**,lib/{a,b}/**  (Claude Code)",
        "  brain-why  for paths that match ~/Projects/**  (other agents)",
    ]
    found = json.loads(brain("explain", "--json").stdout)["skills"]["skills"]
    assert [each["scopes"] for each in found if each["name"] == "brain-ask"] == [["~/Projects/**"]] * 2


def test_people_get_every_section_and_no_escape_codes(brain: Brain) -> None:
    done = brain("explain")
    assert done.returncode == 0
    assert done.stdout.startswith(f"brain {VERSION}\n")
    assert [line for line in done.stdout.splitlines() if line in SECTIONS] == SECTIONS
    assert "\x1b" not in done.stdout


def test_programs_get_one_object(brain: Brain, home: Home) -> None:
    done = brain("explain", "--json", env={"BRAIN_SURFACE": "mcp"})
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert (found["schema"], found["ok"], found["surface"]) == (1, True, "mcp")
    assert found["home"]["path"] == home.root


@pytest.mark.parametrize("config", ["collections: [", "", "\x00", "collections:\n  inbox:\n    trust: blind\n"])
def test_a_broken_config_is_shown_and_exits_0(brain: Brain, home: Home, config: str) -> None:
    Path(home.root, "collections.yml").write_text(config)
    done = brain("explain")
    assert done.returncode == 0, done.stderr
    assert "error: config: " in done.stdout
    assert "collections.yml" in done.stdout.split("error: config: ")[1]


def test_a_corrupt_index_is_shown_and_exits_0(brain: Brain, home: Home) -> None:
    Path(home.index).write_bytes(b"\x00garbage" * 900)
    done = brain("explain")
    assert done.returncode == 0, done.stderr
    assert "error: index: " in done.stdout
    assert "unknown" in done.stdout


def test_text_from_the_log_cannot_drive_the_terminal(brain: Brain, home: Home) -> None:
    Path(home.logs, "doctor.log").write_text("2026-11-21 \x1b]0;owned\x07 failed\n")
    done = brain("explain")
    assert "failed" in done.stdout
    assert "\x1b" not in done.stdout
    assert "owned" not in done.stdout


def test_the_last_event_is_shown(brain: Brain) -> None:
    brain("inbox", "hello")
    shown = brain("explain").stdout.split("\nTelemetry\n")[1].split("\nSchedule\n")[0]
    assert "inbox" in shown
    assert "exit_code=0" in shown


def test_explain_makes_no_home_wherever_it_is_named(brain: Brain, tmp_path: Path) -> None:
    user = tmp_path / "user"
    user.mkdir()
    done = brain("explain", env={"HOME": str(user), "BRAIN_HOME": "~/x"}, cwd=str(user))
    assert done.returncode == 0
    assert f"{user}/x" in done.stdout
    assert list(user.iterdir()) == []


def test_what_a_run_did_not_understand_is_said_in_words(brain: Brain, tmp_path: Path) -> None:
    bad = "".join(f'{{broken {number}\n{{"type":"odd-{number}"}}\n' for number in range(10))
    good = (
        '{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"5f0c","timestamp":"2026-04-28T09:14:03.000Z",'
        '"cwd":"/p","message":{"role":"user","content":"hello there"}}\n'
    )
    (tmp_path / "old").mkdir()
    transcript = tmp_path / "old" / "5f0c.jsonl"
    transcript.write_text(bad + good)
    assert brain("index", "--from", str(tmp_path / "old")).returncode == 0
    done = brain("explain")
    shown = done.stdout.split("\nSources\n")[1].split("\nTelemetry\n")[0]
    assert "no transcripts have been read yet" not in done.stdout
    assert "    failed: 10 × malformed line\n" in shown
    assert f"    failed: {transcript}:1: malformed line (" in shown
    assert "    and 7 more failures: brain explain --json\n" in shown
    assert f"    unknown: odd-0, 1 ×, first at {transcript}:2\n" in shown
    assert "    and 5 more kinds: brain explain --json\n" in shown
    assert not any(mark in shown for mark in "{}[]'")


def test_a_ledger_of_another_shape_does_not_break_the_report(brain: Brain, home: Home) -> None:
    folder = Path(home.state, "ledger")
    folder.mkdir()
    odd = {"seen": "many", "failed": [1, {}], "unknown": {"x": 3, "y": {}}, "skipped": {"a": "b"}, "failed_reasons": []}
    (folder / "claude.json").write_text(json.dumps(odd))
    done = brain("explain")
    assert done.returncode == 0, done.stderr
    assert "  claude: no counts\n" in done.stdout


@pytest.fixture
def notes(home: Home) -> Path:
    shelf = Shelf(home)
    for number in range(7):
        text = f"the turnstile and its encoder, turnstile {number}"
        shelf.put("inbox", f"{number}.md", text, title=text)
    text = "a long note about the harbour, its opening hours and, in passing, a turnstile"
    shelf.put("inbox", "long.md", text, title=text)
    return Path(home.inbox)


def test_a_hit_is_explained_sentence_first_then_its_terms(brain: Brain, notes: Path) -> None:
    (found,) = [path for path in notes.rglob("*.md") if "harbour" in path.read_text()]
    done = brain("explain", "--hit", str(found), "turnstile encoder")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("rank 8 of 8; the first is ")
    assert lines[0].endswith("; it lacks encoder")
    rows = {line.split()[0]: line.split()[1:] for line in lines if line}
    assert rows["title"][:3] == ["a", "long", "note"]
    assert rows["uri"][0].endswith(found.name)
    assert rows["rank"] == ["8,", "of", "8", "candidates"]
    weight, passages, times = rows["turnstile"]
    assert (float(weight) > 0, passages, int(times) > 0) == (True, "8", True)
    assert rows["encoder"][1:] == ["7", "0"]
    above = lines[lines.index("Outranked by") + 1 :]
    assert [line.split()[0] for line in above] == ["1.", "2.", "3.", "4.", "5."]
    assert all("qmd://inbox/" in line for line in above)
    assert not any(mark in done.stdout for mark in "{}[]")


def test_a_file_that_is_not_indexed_yet_differs_from_a_missing_one(brain: Brain, notes: Path) -> None:
    manual = notes / "2026" / "11" / "manual.md"
    manual.parent.mkdir(parents=True, exist_ok=True)
    manual.write_text("a manual of the turnstile\n")
    for reference in ("inbox/2026/11/manual.md", "qmd://inbox/2026/11/manual.md", str(manual)):
        done = brain("explain", "--hit", reference, "turnstile")
        assert (done.returncode, done.stdout) == (0, "on disk, not indexed yet\nfix: brain index\n")
    done = brain("explain", "--hit", "inbox/2026/11/other.md", "turnstile")
    assert done.stdout.startswith("no document 'inbox/2026/11/other.md' in the index\n")


@pytest.mark.parametrize("words", [["--hit", "qmd://inbox/x.md"], ["a question alone"]])
def test_a_hit_and_its_question_belong_together(brain: Brain, words: list[str]) -> None:
    done = brain("explain", "--json", *words)
    assert done.returncode == 64
    assert "--hit" in json.loads(done.stdout)["fix"]
