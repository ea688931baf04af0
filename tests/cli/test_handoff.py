"""``brain handoff`` and ``brain pack``: bounded, cited, fenced, and never over a file of yours."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from core.config import load
from core.home import Home
from qmd.index.store import open_index
from runtime.handover import handoff
from runtime.injections import ledger
from tests.cli.hooked import payload
from tests.conftest import Brain
from tests.runtime.handover.documents import COMPACTED, SESSION


@pytest.fixture
def held(brain: Brain, home: Home, tmp_path: Path, claude_root: Path) -> Home:
    """A home with the session, in a project that is there."""
    project = tmp_path / "api"
    (project / "src" / "net").mkdir(parents=True)
    (project / "src" / "net" / "client.py").write_text("retries = 3\n")
    path = Path(home.path("brain", "s1.md"))
    path.parent.mkdir(parents=True)
    path.write_text(SESSION.replace("/srv/api", str(project)))
    assert brain("index", "--json").returncode in (0, 64)
    return home


def test_a_handoff_holds_the_state_within_its_tokens_and_a_fence(brain: Brain, held: Home) -> None:
    found = json.loads(brain("handoff", "--session", "s1", "--json").stdout)
    assert (found["session"], found["uri"]) == ("s1", "qmd://brain/s1.md")
    assert found["tokens"] <= 3_000
    assert len(found["text"]) <= 12_000
    text = found["text"]
    assert text.count("<memory>") == text.count("</memory>") == 1
    for fact in ("| Make the HTTP client sturdier.", "`make check-net`", "go vet ./pkg/quorum", "wire the limiter"):
        assert fact in text
    assert "client.py` [changed since]" in text or "client.py` [not known]" in text
    assert "pyproject.toml` [gone]" in text
    assert "&lt;fast>" in text


def test_the_smallest_handoff_still_has_the_goal(brain: Brain, held: Home) -> None:
    found = json.loads(brain("handoff", "--session", "s1", "--tokens", "350", "--json").stdout)
    assert found["tokens"] <= 350
    assert found["left_out"] > 0
    assert "Make the HTTP client" in found["text"]
    assert brain("handoff", "--tokens", "10").returncode == 64


def test_the_newest_session_is_taken_without_an_id(brain: Brain, held: Home) -> None:
    assert "session_id: s1" in brain("handoff").stdout
    assert brain("handoff", "--session", "nothing").returncode == 67


def test_a_handoff_is_written_where_an_agent_reads_and_never_over_a_file(
    brain: Brain, held: Home, tmp_path: Path
) -> None:
    done = brain("handoff", "--session", "s1", "--to", "codex", "--json")
    target = tmp_path / "api" / "AGENTS.md"
    assert json.loads(done.stdout)["file"] == str(target)
    assert os.stat(target).st_mode & 0o777 == 0o600
    before = target.read_text()
    assert brain("handoff", "--session", "s1", "--to", "codex").returncode == 71
    assert brain("handoff", "--session", "s1", "--out", str(target)).returncode == 71
    assert target.read_text() == before
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "nowhere.md")
    assert brain("handoff", "--session", "s1", "--out", str(link)).returncode == 71
    assert not (tmp_path / "nowhere.md").exists()
    assert brain("handoff", "--session", "s1", "--to", "nobody").returncode == 64


def test_a_bundle_cites_each_line_and_keeps_to_its_tokens(brain: Brain, held: Home) -> None:
    found = json.loads(brain("pack", "exponential backoff gateway", "--tokens", "400", "--json").stdout)
    assert found["tokens"] <= 400
    lines = Path(held.path("brain", "s1.md")).read_text().split("\n")
    rejected = next(each for each in found["quotes"] if each["section"] == "Decisions" and "backoff" in each["text"])
    assert "backoff" in lines[rejected["line"] - 1]
    assert all(f"{each['uri']}:{each['line']}" in found["text"] for each in found["quotes"])
    assert brain("pack", "zymurgy").returncode == 67


def test_a_compaction_gives_back_what_was_lost_once(brain: Brain, held: Home, tmp_path: Path) -> None:
    Path(held.path("brain", "s1.md")).write_text(COMPACTED)
    given = payload(tmp_path / "s1.jsonl", "s1", "SessionStart", source="compact")
    spoken = json.loads(brain("hook", "session-start", stdin=given).stdout)["hookSpecificOutput"]["additionalContext"]
    assert "Rejected by the user: No, don't use exponential backoff" in spoken
    assert "check-net" not in spoken
    assert len(spoken) <= ledger.BUDGET
    rows = ledger.listed(held, "s1")
    assert {row["event"] for row in rows} == {"compact"}
    ledger.wrong(held, rows[-1]["id"])
    again = brain("hook", "session-start", stdin=given).stdout
    assert "exponential backoff" not in again


@pytest.mark.parametrize("topic", ["exponential backoff gateway", "zymurgy"])
def test_a_bundle_does_not_repeat_a_secret_of_its_topic(brain: Brain, held: Home, topic: str) -> None:
    done = brain("pack", f"{topic} password=hunter2Xy", "--json")
    assert done.returncode in (0, 67)
    assert "hunter2Xy" not in done.stdout


LATER = """---
session_id: s2
source: claude
title: Retries again
date: 2026-05-09T08:00:00Z
ended: 2026-05-09T09:00:00Z
project: {project}
turns: 2
---

# Retries again

## [1] user · 2026-05-09 08:00

{said}

## [2] assistant · 2026-05-09 08:01

- AskUserQuestion: How often do we retry?
  answer to “How often do we retry?”: Retry {times} times

All right.
"""


def remember(brain: Brain, home: Home, name: str, text: str) -> None:
    Path(home.path("brain", f"{name}.md")).write_text(text)
    assert brain("index", "--json").returncode in (0, 64)


def test_a_handoff_marks_what_a_later_session_overruled(brain: Brain, held: Home, tmp_path: Path) -> None:
    project = str(tmp_path / "api")
    early = LATER.format(project=project, said="Retry failed requests 3 times.", times=3)
    late = LATER.replace("s2", "s3").replace("05-09", "05-12")
    remember(brain, held, "s2", early)
    assert json.loads(brain("handoff", "--session", "s2", "--json").stdout)["validity"] == []
    remember(brain, held, "s3", late.format(project=project, said="Go on.", times=8))
    found = json.loads(brain("handoff", "--session", "s2", "--json").stdout)
    assert {each["state"] for each in found["validity"]} == {"superseded"}
    assert found["validity"][0]["by"][0]["uri"] == "qmd://brain/s3.md"
    assert "[superseded by" in found["text"]


def test_a_short_session_with_many_lines_is_overruled_by_the_next(brain: Brain, held: Home, tmp_path: Path) -> None:
    project = str(tmp_path / "api")
    early = LATER.replace("T09:00", "T08:00").format(project=project, said="Go on.\n\n" + "Look.\n" * 500, times=3)
    late = LATER.replace("s2", "s3").replace("08:00", "08:02").replace("08:01", "08:03")
    remember(brain, held, "s2", early)
    remember(brain, held, "s3", late.format(project=project, said="Go on.", times=8))
    found = json.loads(brain("handoff", "--session", "s2", "--json").stdout)
    (by,) = found["validity"][0]["by"]
    assert (found["validity"][0]["state"], by["uri"]) == ("superseded", "qmd://brain/s3.md")


def test_decisions_elsewhere_and_of_machines_limited_to_evidence_overrule_nothing(
    brain: Brain, held: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = str(tmp_path / "api")
    remember(brain, held, "s2", LATER.format(project=project, said="Go on.", times=3))
    far = LATER.replace("s2", "s3").replace("05-09", "05-12").format(project=project, said="Go on.", times=8)
    Path(held.path("brain", "machines/far")).mkdir(parents=True)
    remember(brain, held, "machines/far/s3", far)
    for number in range(4, 7):
        text = LATER.replace("s2", f"s{number}").replace("05-09", "05-14")
        remember(brain, held, f"s{number}", text.format(project="/srv/other", said="Go on.", times=number))
    config = load(held)
    with closing(open_index(held.index)) as connection:
        monkeypatch.setattr(handoff, "_LATER", 1)  # newer decisions of another project take no place
        (by,) = handoff.handoff(held, config, connection, "s2", "")["validity"][0]["by"]
        assert by["uri"] == "qmd://brain/machines/far/s3.md"
        config.limited = ["far"]
        assert handoff.handoff(held, config, connection, "s2", "")["validity"] == []


def test_a_bundle_lists_a_decision_of_several_sessions_once(brain: Brain, held: Home, tmp_path: Path) -> None:
    for number, day in enumerate(("05-09", "05-12", "05-14"), 2):
        text = LATER.replace("s2", f"s{number}").replace("05-09", day)
        remember(brain, held, f"s{number}", text.format(project=str(tmp_path / "api"), said="Go on.", times=3))
    found = json.loads(brain("pack", "how often do we retry", "--json").stdout)
    decided = [each for each in found["quotes"] if each["section"] == "Decisions" and "Retry 3 times" in each["text"]]
    assert len(decided) == 1
    assert decided[0]["validity"]["state"] in ("current", "unknown")
