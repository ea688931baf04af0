"""The page in a real browser: by mouse and keyboard, without JavaScript, in the dark, over hostile documents."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from runtime.capture import entries
from runtime.capture.capture import capture
from runtime.injections import ledger
from tests.cli.test_web import get, serving
from tests.runtime.index_fixture import Shelf
from tests.web.hostile import cases
from tests.web.site import SESSION, document, write_run

driver = pytest.importorskip("playwright.sync_api", reason="no playwright: make dev")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Each takes some seconds; the three others, of some hundred milliseconds, are part of `make test`.
long = pytest.mark.long
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
    # Playwright leaves the transport of its driver to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
_NOON = 1_773_316_800
_LEAST_CONTRAST = 4.5
# Pictures of each view, for whoever wants to see what a change did.
PICTURES = Path(__file__).resolve().parents[2] / "build" / "pages"
LONG = "a_name_without_any_place_to_break_that_no_telephone_is_wide_enough_for"
# The lowest contrast of visible text with what is behind it, and the text (WCAG 2.2, 1.4.3).
_CONTRAST = """
() => {
  const channel = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const found = parts(getComputedStyle(node).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  let worst = [21, ""];
  for (const node of document.querySelectorAll("main *, header *")) {
    const own = [...node.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest("svg, .hidden")) continue;
    const [a, b] = [light(parts(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst[0]) worst = [ratio, node.outerHTML.slice(0, 200)];
  }
  return worst;
}
"""
# What a document could have brought along.
_FOREIGN = """
() => [...document.querySelectorAll("script:not([src^='/static/']), img, iframe, form:not(.find), base, style")]
  .map((node) => node.outerHTML)
"""
# What is used by hand and has no name that a screen reader can say.
_NAMELESS = """
() => [...document.querySelectorAll("input:not([type=hidden]), textarea, select, button, main a, nav a")]
  .filter((node) => node.checkVisibility())
  .filter((node) => !(node.labels?.length || node.getAttribute("aria-label") || node.textContent.trim()))
  .map((node) => node.outerHTML)
"""


# What whoever does not see the page, or has no mouse, would miss: WCAG 2.2, 1.4.1, 2.1.1 and 2.4.6.
_UNREACHABLE = """
() => {
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((node) => node.checkVisibility());
  const faults = shown("h1").length === 1 ? [] : ["not one h1"];
  const marks = shown("nav, aside, [role=search]").map((node) => `${node.role ?? node.tagName} ${node.ariaLabel}`);
  faults.push(...marks.filter((mark, index) => marks.indexOf(mark) !== index || mark.endsWith("null")));
  for (const node of shown("main *")) {
    const scrolls = /auto|scroll/.test(getComputedStyle(node).overflowX) && node.scrollWidth > node.clientWidth + 1;
    if (scrolls && node.tabIndex < 0 && !node.querySelector("a, button, input, summary")) faults.push(node.outerHTML);
  }
  for (const node of shown("main p > a, main .pieces > a")) {
    const amid = [...node.parentNode.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim());
    if (amid && !getComputedStyle(node).textDecorationLine.includes("underline")) faults.push(node.outerHTML);
  }
  return faults.map((fault) => fault.slice(0, 200));
}
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with driver.sync_playwright() as playwright:
        # The sandbox needs user namespaces, which containers and root do not have.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def stocked(home: Home) -> Home:
    shelf = Shelf(home)
    common: dict[str, Any] = {"source": "claude", "project": "/code/ferry"}
    shelf.put(
        "brain", "tide.md", SESSION, date=_NOON, ended=_NOON + 3600, title="The tide table", session_id="tide", **common
    )
    for number in range(12):
        shelf.put("brain", f"other-{number}.md", f"tide number {number}", date=_NOON - 86_400 * number, **common)
    many = "\n\n".join(f"## [{turn}] user · 2026-03-10 10:00\n\nturn {turn} " + "word " * 120 for turn in range(1, 200))
    shelf.put("brain", "long.md", many, date=_NOON - 200_000, title="A long session", session_id="long", **common)
    return home


def give(home: Home, text: str, reason: str) -> None:
    """Record that an agent was given a text."""
    ledger.add(home, "s1", "hook", "guard", [ledger.Item(text, uri="qmd://brain/tide.md", kind="fix", reason=reason)])


class Tab:
    """A tab of the browser on the page; it notes whatever leaves, fails or asks."""

    def __init__(self, chromium: Any, url: str, **options: Any) -> None:
        self.place = url.partition("?")[0]
        self.context = chromium.new_context(**options)
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("dialog", self._hear)
        self.page.on("pageerror", lambda error: self.faults.append(f"error {error}"))
        self.page.on("console", self._say)
        self.context.on("request", self._look)
        self.page.goto(url)
        self.page.wait_for_url(self.place)

    def _hear(self, dialog: Any) -> None:
        self.faults.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _look(self, request: Any) -> None:
        if not request.url.startswith(self.place):
            self.faults.append(f"request {request.url}")

    def _say(self, message: Any) -> None:
        if message.type == "error":
            self.faults.append(message.text)

    def go(self, path: str) -> Any:
        return self.page.goto(self.place + path.removeprefix("/"), wait_until="domcontentloaded")


def test_a_session_is_found_and_read_by_the_keyboard_alone(chromium: Any, stocked: Home) -> None:
    del stocked
    with serving() as (_, said):
        tab = Tab(chromium, said["url"])
        page = tab.page
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        page.keyboard.type("low tide has no row", delay=30)
        page.wait_for_url("**/?q=low+tide+has+no+row")
        assert page.title().startswith("low tide has no row")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("k")
        assert page.locator(".hit.current h2").inner_text() == "The tide table"
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/s/brain/tide\.md\?line=\d+#here$"))
        assert page.locator("#here").is_visible()
        assert page.locator("button.copy").is_visible()
        page.locator("details.calls summary").click()
        assert "KeyError" in page.locator("details.calls").inner_text()
        assert tab.faults == []


@long
def test_every_page_is_left_by_a_question(chromium: Any, stocked: Home) -> None:
    del stocked
    with serving() as (_, said):
        tab = Tab(chromium, said["url"])
        for path in ("/health", "/time", "/s/brain/tide.md"):
            tab.go(path)
            tab.page.keyboard.press("/")
            tab.page.keyboard.type("low tide")
            tab.page.keyboard.press("Enter")
            tab.page.wait_for_url("**/?q=low+tide")
            assert tab.page.locator(".hit").count() > 0
        assert tab.faults == []


@long
def test_a_file_is_followed_from_the_session_that_wrote_it(chromium: Any, stocked: Home) -> None:
    del stocked
    with serving() as (_, said):
        tab = Tab(chromium, said["url"])
        page = tab.page
        tab.go("/s/brain/tide.md")
        page.locator(".files .state").wait_for()
        assert page.locator(".files li").inner_text().split() == ["tide.py", "unknown"]
        page.locator(".files li a").click()
        page.wait_for_url("**/file/code/ferry/tide.py")
        page.locator(".deeds a").first.click()
        page.wait_for_url(re.compile(r"/s/brain/tide\.md\?line=\d+#here$"))
        assert tab.faults == []


@long
def test_a_conflict_is_settled_and_an_entry_edited(chromium: Any, stocked: Home) -> None:
    with serving() as (_, said):
        capture(stocked, "Use tables for tides", type="decision", why="they are small")
        capture(stocked, "Use tables for tides", type="rejected", why="gulls move", force=True)
        tab = Tab(chromium, said["url"], java_script_enabled=False)
        page = tab.page
        tab.go("/why")
        page.get_by_role("button", name="This one holds").first.click()
        page.wait_for_url("**/why?settled=1")
        assert page.locator(".conflict").count() == 0
        tab.go("/inbox")
        page.get_by_role("link", name="edit").first.click()
        page.get_by_label("The entry").fill(page.get_by_label("The entry").input_value().replace("gulls", "crabs"))
        page.get_by_role("button", name="Save").click()
        page.wait_for_url("**/inbox?kept=*")
        assert any("crabs move" in stored.body for stored in entries.entries(stocked))
        assert tab.faults == []


@long
def test_a_day_is_browsed_from_the_year(chromium: Any, stocked: Home) -> None:
    del stocked
    with serving() as (_, said):
        tab = Tab(chromium, said["url"], timezone_id="UTC")
        page = tab.page
        tab.go("/time?year=2026")
        page.locator('a[aria-label^="Thu 12 Mar"]').click()
        page.wait_for_url("**/time/2026-03-12")
        assert page.locator("svg.line .bar").count() == 2
        page.get_by_role("link", name="The tide table").first.click()
        page.wait_for_url("**/s/brain/tide.md")
        assert tab.faults == []


@long
def test_a_long_session_grows_part_by_part(chromium: Any, stocked: Home) -> None:
    del stocked
    with serving() as (_, said):
        tab = Tab(chromium, said["url"])
        tab.go("/s/brain/long.md")
        before = tab.page.locator("section.turn").count()
        assert 5 < before < 50
        while tab.page.locator("#more a").count():
            count = tab.page.locator("section.turn").count()
            tab.page.locator("#more a").click()
            driver.expect(tab.page.locator("section.turn")).not_to_have_count(count)
        assert tab.page.locator("section.turn").count() == 199
        assert tab.faults == []


def test_everything_works_without_javascript(chromium: Any, stocked: Home) -> None:
    del stocked
    with serving() as (_, said):
        tab = Tab(chromium, said["url"], java_script_enabled=False)
        page = tab.page
        page.locator("#q").fill("low tide")
        page.locator(".ask button").click()
        page.locator(".hit h2 a").first.click()
        assert "/s/brain/" in page.url
        assert not page.locator("button.copy").first.is_visible()
        tab.go("/s/brain/long.md")
        page.locator("#more a").click()
        assert "from=" in page.url
        assert tab.faults == []


@long
def test_a_decision_is_noted_replaced_and_forgotten_with_proof(chromium: Any, stocked: Home) -> None:
    with serving() as (_, said):
        tab = Tab(chromium, said["url"])
        page = tab.page
        tab.go("/inbox")
        page.get_by_label("What to remember").fill("Keep zanzibar tides in a table")
        page.get_by_label("Type").select_option("decision")
        page.get_by_role("button", name="Keep").click()
        page.get_by_role("link", name="replace").click()
        page.get_by_label("What to remember").fill("Compute zanzibar tides when asked")
        page.get_by_role("button", name="Keep").click()
        page.wait_for_url("**/inbox?kept=*")
        tab.go("/why")
        assert page.locator(".entry.past").inner_text().startswith("decision Keep zanzibar")
        tab.go("/forget")
        page.get_by_label("Or all with this text").fill("zanzibar")
        page.get_by_role("button", name="Show what would go").click()
        page.get_by_label("To confirm").fill("forget 2 documents")
        page.get_by_role("button", name="Forget for good").click()
        page.get_by_text("nothing of it is left").wait_for()
        assert list(entries.entries(stocked)) == []
        assert not [path for path in Path(stocked.root).rglob("*.md") if b"zanzibar" in path.read_bytes()]
        assert tab.faults == []


def test_a_wrong_token_opens_nothing(chromium: Any, stocked: Home) -> None:
    del stocked
    with serving() as (_, said):
        page = chromium.new_context().new_page()
        place = said["url"].partition("?")[0]
        for address in (place, f"{place}?token=wrong"):
            answer = page.goto(address)
            assert answer.status == 401
            assert "The tide table" not in page.content()
        assert get(place)[0] == 401


@pytest.mark.parametrize("scheme", ["light", "dark"])
@long
def test_text_can_be_read_and_everything_has_a_name(chromium: Any, stocked: Home, scheme: str) -> None:
    with serving() as (_, said):
        tab = Tab(chromium, said["url"], color_scheme=scheme)
        write_run(stocked, "20260312T120000Z-0001", {"ask": 0.7, "qmd-lex": 0.5})
        _put_long_names(stocked)
        give(stocked, "Nets held.", LONG)
        first = capture(stocked, "Keep the tide in a table", type="decision")
        capture(stocked, "Compute the tide when asked", supersedes=first.entry_id)
        views = (
            "/",
            "/?q=tide",
            "/eval",
            "/file",
            "/file?path=tide.py",
            "/s/brain/tide.md?line=25",
            "/time?year=2026",
            "/time/2026-03-12",
            "/why?topic=tide",
            "/why",
            "/project",
            "/project/ferry",
            "/health",
            "/inbox",
            "/injected",
            "/forget?hit=tide",
        )
        for path in views:
            tab.go(path)
            ratio, text = tab.page.evaluate(_CONTRAST)
            assert ratio >= _LEAST_CONTRAST, f"{path}: {text}"
            assert tab.page.evaluate(_NAMELESS) == [], path
            assert tab.page.evaluate(_UNREACHABLE) == [], path
            picture = PICTURES / scheme / f"{path.strip('/').replace('/', '-').replace('?', '-') or 'first'}.png"
            tab.page.screenshot(path=picture, full_page=True)
            assert picture.stat().st_size > 5_000, "a picture of nothing"
        tab.page.set_viewport_size({"width": 360, "height": 700})
        for path in views:
            tab.go(path)
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360, path
            assert tab.page.evaluate(_UNREACHABLE) == [], path
        assert tab.faults == []


def _put_long_names(home: Home) -> None:
    """Write a session with names that have no place to break."""
    asked = f"## [1] assistant · 2026-03-12 12:00\n\n- AskUserQuestion: {LONG}? [a | b]\n  answer: /{LONG}/{LONG}\n"
    long = f"/code/{LONG}/{LONG}"
    Shelf(home).put("brain", "asked.md", asked, date=_NOON, source="claude", project=long, title=LONG, turns=1)


@long
def test_what_an_agent_was_given_is_rejected_by_one_key(chromium: Any, stocked: Home) -> None:
    give(stocked, "Boats held.", "an error")
    give(stocked, "Nets held.", "another error")
    with serving() as (_, said):
        tab = Tab(chromium, said["url"])
        page = tab.page
        tab.go("/injected")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("w")
        page.locator(".hit.past.current").wait_for()
        assert [row["wrong"] for row in ledger.listed(stocked)] == [False, True]
        page.locator(".hit.past").get_by_role("button", name="Not wrong").click()
        page.locator(".hit.past").wait_for(state="detached")
        assert not any(row["wrong"] for row in ledger.listed(stocked))
        assert tab.faults == []


@long
def test_the_keys_are_listed_and_lead_through_a_session(chromium: Any, stocked: Home) -> None:
    del stocked
    with serving() as (_, said):
        tab = Tab(chromium, said["url"])
        page = tab.page
        tab.go("/time/2026-03-11")
        page.keyboard.press("]")
        page.wait_for_url("**/time/2026-03-12")
        tab.go("/s/brain/long.md")
        page.keyboard.press("?")
        assert page.locator("dialog").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator("dialog").is_visible()
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert page.locator(".turn.current .number").inner_text() == "2"
        page.keyboard.press("n")
        page.wait_for_url("**/inbox#text")
        assert tab.faults == []


@long
def test_no_hostile_document_runs_or_asks_for_anything(chromium: Any, home: Home) -> None:
    shelf = Shelf(home)
    found = list(cases())
    for case in found:
        shelf.put("brain", case.path, case.body, date=_NOON, ended=_NOON + 60, **case.meta)
    with serving() as (_, said):
        tab = Tab(chromium, said["url"])
        for case in found:
            assert tab.go(document("brain", case.path)).status == 200, case.name
            assert tab.page.evaluate(_FOREIGN) == []
        for path in ("/", "/?q=anchor&n=50", "/time/2026-03-12", "/project", "/why?topic=anchor", "/file?path=anchor"):
            assert tab.go(path).status == 200
        assert tab.faults == []
