"""The policy for browsing: cases in data/policy.jsonl, each with the promise it keeps."""

from __future__ import annotations

from typing import Any

import pytest

from core import config_yaml
from core.home import Home
from ingest.sources.chrome.source import settings
from ingest.web import policy as reasons
from ingest.web.policy import Page, Policy, with_lists
from tests.cases import cases
from tests.tables import every

CASES = cases(__file__, "test_the_policy_keeps_its_promise")


def judge_alone(case: dict[str, Any]) -> Page | str:
    policy = Policy({"mode": "all", **case.get("section", {})})
    return policy.judge(case["url"], case.get("title", ""), case.get("term", ""))


@every(CASES)
def test_the_policy_keeps_its_promise(case: dict[str, Any]) -> None:
    found = judge_alone(case)
    if "reason" in case:
        assert found == case["reason"]
        return
    assert isinstance(found, Page)
    assert {name: getattr(found, name) for name in case.get("page", ())} == case.get("page", {})


def test_a_kept_page_is_judged_the_same_again() -> None:
    policy = Policy({"mode": "all"})
    pages = [found for case in CASES if "section" not in case and isinstance(found := judge_alone(case), Page)]
    assert [policy.judge(page.url, page.title, page.term) for page in pages] == pages


def test_many_are_judged_as_each_alone() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    texts = [(case["url"], case.get("title", ""), case.get("term", "")) for case in CASES if "section" not in case]
    texts += [
        (f"https://docs.python.org/?q={token}", "t", ""),
        ("https://a.test/b", f"made {token}", ""),
    ]
    one, many = Policy({"mode": "all"}), Policy({"mode": "all"})
    assert many.judge_all(texts) == [one.judge(*each) for each in texts]
    assert many.redacted == one.redacted
    assert many.redacted["github"] == 1
    assert many.judge_all([]) == []


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://docs.python.org/3/", ""),
        ("https://www.google.de/search?q=x", ""),
        ("http://localhost:3000/", ""),
        ("http://[::1]/", ""),
        ("https://mail.google.com/mail/u/0/", reasons.DENIED),
        ("https://shop.test.example.com/", reasons.NOT_ALLOWED),
    ],
)
def test_the_shipped_policy_keeps_work_and_drops_mail(home: Home, url: str, reason: str) -> None:
    found = Policy(settings(home)).judge(url, "", "")
    assert found == reason if reason else isinstance(found, Page)


def test_the_shipped_lists_are_parsed_once_and_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with_lists({})["deny"].clear()
    monkeypatch.setattr(config_yaml, "parse", lambda path: pytest.fail(f"parsed again: {path}"))

    assert with_lists({})["deny"]
    assert with_lists({"deny": []})["deny"] == []
