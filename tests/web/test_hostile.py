"""Nothing that a document holds runs, loads, leaves or hides in a page."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from core.home import Home
from tests.runtime.index_fixture import Shelf
from tests.web.hostile import PAYLOADS, Judge, cases
from tests.web.site import Browser, document

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
    lists = ("/", "/?q=anchor&n=50", "/time?year=2026", "/time/2026-03-12", "/project", "/why?topic=anchor", "/health")
    for path in (*lists, "/forget?project=*", "/inbox"):
        faults = Judge(browser.get(path)).faults
        if faults:
            wrong[path] = faults
    assert wrong == {}


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
