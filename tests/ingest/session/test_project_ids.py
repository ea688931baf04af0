"""An exclusion holds if only an id of the folder is known: a slug, a digest, another file's session."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from core.home import Home
from ingest.pipeline.run import run
from ingest.policy.exclusions import Globs
from ingest.session.project_ids import Signs, mentioned_folder, of_digest, of_slug, slug_of
from tests.ingest.policy.test_exclusions import configure
from tests.ingest.sources import test_gemini as gemini
from tests.ingest.sources import test_opencode as opencode
from tests.ingest.sources.cases import ingest
from tests.ingest.transcripts import corpus, from_the_archive_alone

SECRET = "/home/me/secret"


def agent(folder: Path, slug: str) -> Path:
    path = folder / f"projects/{slug}/agent-transcripts/{slug}/{slug}.jsonl"
    path.parent.mkdir(parents=True)
    said = {"role": "user", "message": {"content": [{"type": "text", "text": f"Question of {slug}"}]}}
    path.write_text(json.dumps(said) + "\n")
    return path


@pytest.mark.parametrize(
    ("rule", "slug", "covers"),
    [
        (SECRET, "home-me-secret", True),
        (SECRET, "home-me-secret-api", True),
        (SECRET, "home-me-secrets", False),
        (SECRET, "home-me", False),
        ("/Home/me/My Secret!", "home-me-My-Secret", True),
        ("secret", "home-me-secret-api", True),
        ("sec*", "home-me-secret", True),
        ("*/clients/*", "home-me-clients-acme", True),
        ("*/clients/*", "home-me-clientele", False),
        ("/home/*/secret", "home-me-secret", True),
        ("/work/*/secret", "home-me-secret", False),
        ("c/secret", "home-c-secret-x", True),
    ],
)
def test_a_slug_is_compared_with_rules_as_it_is_made_of_a_path(rule: str, slug: str, covers: bool) -> None:
    assert bool(Signs(Globs([rule])).covering(of_slug(slug))) is covers


def test_a_slug_of_a_folder_on_this_machine_is_that_folder(tmp_path: Path) -> None:
    (tmp_path / "acme-api").mkdir()
    (tmp_path / "acme").mkdir()
    rules = Signs(Globs([str(tmp_path / "acme")]))
    assert rules.covering(of_slug(f"{tmp_path}/acme/api")) == (), "the other folder is there, and below no rule"
    (tmp_path / "acme" / "api").mkdir()
    assert Signs(Globs([str(tmp_path / "acme")])).covering(of_slug(f"{tmp_path}/acme/api")), "either may be meant"


def test_transcripts_of_an_excluded_folder_that_only_their_own_folder_names_stay_out(
    home: Home, tmp_path: Path
) -> None:
    marked = tmp_path / "marked"
    marked.mkdir()
    (marked / ".brain-ignore").touch()
    for slug in ("home-me-secret", "home-me-open", str(marked).strip("/").replace("/", "-").replace("_", "-")):
        agent(tmp_path / "cursor", slug)
    configure(home, f"exclude: {{projects: [{SECRET}]}}")
    ledger = run(home, "cursor", [str(tmp_path / "cursor")], trust_stat=False)
    assert list(corpus(home)) == ["cursor__home-me-open.md"]
    assert ledger.skipped == {"excluded: project": 1, "excluded: .brain-ignore": 1}


def test_a_digest_identifies_a_rules_folder_and_existing_folders_below_it(tmp_path: Path) -> None:
    (tmp_path / "acme" / "api").mkdir(parents=True)
    rules = Signs(Globs([str(tmp_path / "acme"), "web"]))
    for name, covers in (("acme", True), ("acme/api", True), ("acme/gone", False), ("other", False)):
        sign = of_digest("a1", hashlib.sha256(str(tmp_path / name).encode()).hexdigest())
        assert bool(rules.covering(sign)) is covers, name
    assert of_digest("a1", "home") == ""


def test_sessions_and_prompts_of_an_excluded_folder_that_is_known_by_its_digest_stay_out(
    home: Home, tmp_path: Path
) -> None:
    for place, session in ((SECRET, "s1"), ("/home/me/open", "s2")):
        folder = tmp_path / "there/.gemini/tmp" / hashlib.sha256(place.encode()).hexdigest()
        gemini.whole(folder / f"chats/session-{session}.json", gemini.user("a", f"Why {session}?"), sessionId=session)
        prompt = {"sessionId": f"{session}-typed", "messageId": 0, "type": "user", "message": f"And {session}?"}
        (folder / "logs.json").write_text(json.dumps([{**prompt, "timestamp": "2026-04-28T09:00:00.000Z"}]))
        tag = gemini.user("b", f"Saved {session}")
        (folder / "checkpoint-x.json").write_text(json.dumps([{"role": "user", "parts": [{"text": tag["content"]}]}]))
    ingest(home, "gemini", tmp_path / "there")
    assert len(corpus(home)) == 6
    rule = f"exclude: {{projects: [{SECRET}]}}"
    other = Home(str(tmp_path / "other"))
    other.make()
    configure(other, rule)
    ingest(other, "gemini", tmp_path / "there")
    assert {"gemini__s2.md", "gemini__s2-typed.md"} <= corpus(other).keys()
    assert not [name for name, data in corpus(other).items() if b"s1" in data]
    configure(home, rule)
    assert from_the_archive_alone(home, "gemini", tmp_path / "there") == corpus(other)


@pytest.mark.parametrize("names", [("a", "z"), ("z", "a")])
def test_an_exported_agent_goes_with_its_excluded_session_whatever_the_files_are_called(
    home: Home, tmp_path: Path, names: tuple[str, str]
) -> None:
    child, parent = names
    agent_of = {**opencode.INFO, "id": "ses_2", "parentID": "ses_1", "directory": "/home/me/open"}
    opencode.export(tmp_path / f"{child}.json", agent_of)
    opencode.export(tmp_path / f"{parent}.json", {**opencode.INFO, "directory": SECRET})
    opencode.export(tmp_path / "m.json", {**opencode.INFO, "id": "ses_3", "parentID": "ses_9", "directory": "/o"})
    configure(home, f"exclude: {{projects: [{SECRET}]}}")
    for _ in range(2):
        ingest(home, "opencode", tmp_path)
        assert list(corpus(home)) == ["opencode__ses_3.md"]


@pytest.mark.parametrize(("text", "found"), [
    ("Look at /Users/me/app! It fails.", "/Users/me/app"), ("In _/Users/me/app_ it", "/Users/me/app"),
    ("/users/me/app, then /Users/me/app/a.py and /Users/me/app", "/Users/me/app"),
    ("See /Users/me/app_/a.py and /Users/me/app_/b.py, or /Users/me/app!", "/Users/me/app_"),
    ("C:\\Users\\me\\app!", ""), ("/... //. /!! \\\\..", ""), ("/Users/you/app", "")])  # fmt: skip
def test_the_mentioned_folder_is_the_most_frequent_spelling_without_punctuation(text: str, found: str) -> None:
    assert mentioned_folder([text], lambda place: slug_of(place) == "users-me-app") == found


def test_no_more_than_5000_folders_are_looked_at() -> None:
    looked: list[str] = []

    def no(place: str) -> bool:
        looked.append(place)
        return False

    assert mentioned_folder([" ".join(f"/{number}/x and /{number}/x_" for number in range(9_000))], no) == ""
    assert 4_000 < len(looked) == len(set(looked)) <= 5_000
