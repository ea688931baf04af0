"""Nothing that a document holds runs, loads, leaves or hides in a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import pytest

from core.home import Home
from runtime.capture import entries, inbox
from tests.runtime.index_fixture import Shelf
from tests.web.hostile import PAYLOADS, Judge, cases
from tests.web.site import Browser, document, write_run

_NOON = 1_773_316_800


@pytest.mark.long
def test_no_page_of_a_hostile_document_has_anything_of_its_own(home: Home) -> None:
    shelf = Shelf(home)
    found = list(cases())
    assert len(found) >= 200
    for case in found:
        shelf.put("brain", case.path, case.body, date=_NOON, ended=_NOON + 60, **case.meta)
    browser = Browser(home)
    wrong = {}
    for case in found:
        address = document("brain", case.path)
        for path in (address, f"{address}?line=8", f"/trace/{address.removeprefix('/s/')}"):
            faults = Judge(browser.get(path)).faults
            if faults:
                wrong[f"{path} {case.name}"] = faults
    _write_hostile_entries(home)
    lists = ("/", "/?q=anchor&n=50", "/time?year=2026", "/time/2026-03-12", "/project", "/why?topic=anchor", "/health")
    editing = [f"/inbox?edit={stored.entry_id}" for stored in entries.entries(home)]
    for path in (
        *lists,
        "/forget?project=*",
        "/inbox",
        "/why",
        "/file",
        "/file?path=anchor",
        "/eval",
        "/injected",
        *editing,
    ):
        faults = Judge(browser.get(path)).faults
        if faults:
            wrong[path] = faults
    assert wrong == {}


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_entry_run_or_file_is_written_into_a_page_as_html(home: Home, payload: str) -> None:
    shelf = Shelf(home)
    flat = " ".join(payload.split())
    body = f"## [1] user · 2026-03-12 12:00\n\nlook\n\n## [2] assistant\n\n- Edit: /code/{flat}/tide.py\n"
    shelf.put("brain", "a.md", body, date=_NOON, ended=_NOON + 60, source="claude", session_id="a", project=payload)
    _write_hostile_entries(home, (payload,))
    write_run(home, "20260312T120000Z-0001", {payload: 0.5, "ask": 0.7}, dataset=payload)
    browser = Browser(home)
    whole = [f"/inbox?edit={stored.entry_id}" for stored in entries.entries(home)]
    for path in ("/file", "/file?path=tide.py", "/eval", "/why", "/inbox", "/health", "/", "/injected", *whole):
        assert Judge(browser.get(path)).faults == [], path


def _write_hostile_entries(home: Home, payloads: Sequence[str] = PAYLOADS) -> None:
    """Write decisions that replace and contradict each other, with payloads in every field."""
    for number, payload in enumerate(payloads):
        fields: dict[str, Any] = {
            "why": payload,
            "project": payload,
            "alternatives": [f"{payload} anchors"],
            "tags": [payload],
        }
        first = inbox.write(home, f"{payload} anchors {number}", type="decision", **fields)
        inbox.write(home, f"{payload} anchors again {number}", type="rejected", **fields)
        inbox.write(home, f"anchored {payload} {number}", type="decision", supersedes=first.entry_id, **fields)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_parameter_is_written_into_a_page_as_html(home: Home, payload: str) -> None:
    Shelf(home).put("brain", "a.md", "anchor", date=_NOON)
    browser = Browser(home)
    given = quote(payload.replace("\x1b", ""))
    for path in (
        f"/?q={given}",
        f"/?q=anchor&project={given}&source={given}",
        f"/?q=anchor&collection={given}",
        f"/?q=anchor&trust={given}",
        f"/?q=anchor&month={given}",
        f"/why?topic={given}&project={given}",
        f"/why?project={given}",
        f"/file?path={given}",
        f"/file/{given}",
        f"/eval?measure={given}",
        f"/inbox?edit={given}",
        f"/injected?session={given}&since=7d",
        f"/injected?since={given}",
        f"/time?year={given}",
        f"/time?project={given}",
        f"/time/{given}",
        f"/s/{given}",
        f"/trace/{given}",
        f"/project/{given}",
        f"/inbox?supersedes={given}&kept={given}",
        f"/inbox?remove={given}",
        f"/forget?hit={given}",
        f"/forget?match={given}&project=",
        f"/{given}",
    ):
        page = browser.client.get(path).text
        assert Judge(page).faults == [], path


def test_the_judge_sees_what_runs() -> None:
    for page in ("<script>1</script>", "<img src=x>", "<a href=javascript:1>", "<p onclick=x>", "<a href=//x.example>"):
        assert Judge(page).faults
    assert Judge('<a href="https://x.example" rel="noreferrer noopener">x</a>').faults == []
