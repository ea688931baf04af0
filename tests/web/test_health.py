"""The page of the state of the memory: the last examination, freshness, questions in vain, disk."""

from __future__ import annotations

import pytest

from core import clock, telemetry
from core.home import Home
from ops.checks import reporting
from tests.runtime.index_fixture import Shelf
from tests.web.hostile import Judge
from tests.web.site import Browser


def report(home: Home, monkeypatch: pytest.MonkeyPatch, at: int, *findings: dict[str, str]) -> None:
    """Log an examination at ``at`` (epoch seconds) as the doctor does."""
    monkeypatch.setattr(clock, "now", lambda: at)
    reporting.report(home, {"BRAIN_NOTIFY": "off"}, "launchd", {"findings": findings, "took_ms": 1, "checks": 60})


def test_health_shows_the_last_examination_and_how_fast_answers_are(
    home: Home, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert browser.json("/health.json")["doctor"] == {"at": None, "findings": []}
    fault = {"id": "old-fault", "severity": "error", "evidence": "gone", "fix": "none"}
    backup = {"evidence": "the last backup is 40 days old", "fix": "brain backup --to <DIR>"}
    now = clock.now()
    report(home, monkeypatch, now - 7200, fault)
    report(home, monkeypatch, now - 3600, {"id": "backup-old", "severity": "warning", **backup})
    telemetry.record(home, "ask", "terminal", latency_ms=12.0, exit_code=0, n_hits=1)
    found = browser.json("/health.json")
    assert found["doctor"]["at"] == clock.iso(now - 3600)
    assert [(each["id"], each["fix"]) for each in found["doctor"]["findings"]] == [
        ("backup-old", "brain backup --to <DIR>")
    ]
    assert found["stats"]["commands"]["ask"]["p50_ms"] == 12.0
    page = browser.get("/health")
    assert "brain backup --to &lt;DIR&gt;" in page
    assert "12 ms" in page
    report(home, monkeypatch, now)
    assert "Healthy at" in browser.get("/health")


def test_health_counts_who_asked_in_vain_and_what_lies_on_disk(home: Home, browser: Browser) -> None:
    telemetry.record(home, "ask", "mcp", latency_ms=9.0, exit_code=67, n_hits=0, lexical_pending=3)
    telemetry.record(home, "ask", "terminal", latency_ms=9.0, exit_code=0, n_hits=1)
    found = browser.json("/health.json")
    assert found["stats"]["asks"]["by_surface"]["mcp"] == {"count": 1, "no_hits": 1}
    assert found["disk"]["index"] > 0
    assert {each["name"]: each["documents"] for each in found["collections"]} == found["documents"]
    assert found["expiry"]["unarchived"] == 0
    page = browser.get("/health")
    assert 'class="lexical"' in page
    assert Judge(page).faults == []


def test_health_counts_documents_by_week(stocked: Shelf, browser: Browser) -> None:
    before = {each["name"]: sum(each["weeks"]) for each in browser.json("/health.json")["collections"]}
    stocked.put("brain", "new.md", "gulls", date=clock.now() - 3600)
    after = {each["name"]: each["weeks"] for each in browser.json("/health.json")["collections"]}
    assert sum(after["brain"]) == before["brain"] + 1
    assert after["brain"][-1] == 1


def test_health_shows_how_fresh_each_collection_was_week_by_week(home: Home, browser: Browser) -> None:
    shelf, today = Shelf(home), clock.now()
    for days in (200, 40, 38, 2):
        shelf.put("brain", f"{days}.md", "gulls", date=today - days * clock.DAY)
    shelf.put("kb-raw", "young.md", "terns", date=today - 10 * clock.DAY)
    shelf.put("inbox", "undated.md", "a note")
    ages = {each["name"]: each["ages"] for each in browser.json("/health.json")["collections"]}
    assert ages["brain"][0] == 200 - 25 * 7, "of the document that is older than half a year"
    assert ages["brain"][-6:] == [3, 10, 17, 24, 31, 2]
    assert ages["kb-raw"] == [*[None] * 24, 3, 10]
    assert ages["inbox"] == [None] * 26
    page = browser.get("/health")
    assert "<title>newest: 2 days old</title>" in page
    assert Judge(page).faults == []


def test_health_shows_what_it_can_without_an_index(home: Home) -> None:
    browser = Browser(home)
    page = browser.get("/health", 503)
    assert Judge(page).faults == []
    assert "cannot be read" in page
    assert 'data-copy="brain index"' in page
    found = browser.json("/health.json", 503)
    assert (found["ok"], found["error"], found["freshness"]) == (False, "qmd_missing", None)
    assert found["stats"]["asks"]["count"] == 0
