"""Journeys through the terminal's screens, key by key."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from core.config import load
from core.home import Home
from core.text import printable
from runtime.capture import entries
from tests.runtime.index_fixture import Shelf
from tests.tui.driving import Keys, drive, pane, plain, said, screen, see, until
from tests.web.site import SESSION
from tui.day import Day
from tui.dialogs import Help, Note
from tui.memory import Memory
from tui.reader import Reader
from tui.search import Search

_NOON = 1_773_316_800  # 2026-03-12 12:00 UTC
_TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
HOSTILE = (
    "[bold red]tide[/bold red] [link=http://x]y[/link]",
    "[@click=app.quit]tide[/]",
    "tide\x1b[2J\x1b]0;pwned\x07",
    "tide\u202etfarc",
    "$accent tide [/]",
    "tide\r\n\x9b31m",
    "[/]]tide[[",
)


@pytest.fixture
def stocked(shelf: Shelf, tmp_path: Path) -> Shelf:
    project = tmp_path / "code" / "ferry one"
    project.mkdir(parents=True)
    common: dict[str, Any] = {"source": "claude", "project": str(project)}
    shelf.put("brain", "t1.md", SESSION, date=_NOON, ended=_NOON + 3600, title="Tide table", session_id="t1", **common)
    shelf.put(
        "brain", "t2.md", "## [1] user · 2026-03-10 08:00\n\nHarbour lights", date=_NOON - 2 * 86_400, title="Harbour"
    )
    commits = "## 14:30 keep the low row\n\n`abc` · Ana\n"
    shelf.put("git", "ferry/2026-03-12.md", commits, date=_NOON + 9000, commits=1, session_id="ferry:2026-03-12")
    return shelf


async def _asked(keys: Keys, words: str, title: str) -> None:
    await keys.press(*("space" if each == " " else each for each in words))
    await until(keys, lambda: any(title in line for line in plain(keys, "hits")))


def test_a_question_is_answered_while_it_is_typed_and_its_hit_opens_at_the_line(stocked: Shelf) -> None:
    async def journey(keys: Keys) -> None:
        await see(keys, "Lately", "Tide table", "Harbour")
        await _asked(keys, "low tide", "Tide table")
        await until(keys, lambda: any("rows.get(low)" in line for line in plain(keys, "preview")))
        await keys.press("enter")
        await until(keys, lambda: isinstance(keys.app.screen, Reader))
        await see(keys, "assistant [2]", "The low tide has no row")
        await keys.press("q")
        await until(keys, lambda: isinstance(keys.app.screen, Search))

    drive(stocked.home, journey)


def test_hits_are_those_of_ask_in_its_order_with_its_words(stocked: Shelf) -> None:
    hits = stocked.ask("tide table row", limit=20)["hits"]

    async def journey(keys: Keys) -> None:
        await until(keys, lambda: any(" 1. " in line for line in plain(keys, "hits")))
        lines = plain(keys, "hits")
        for hit in hits:
            assert any(f"{hit['rank']}. {hit['title']}" in line for line in lines)
            assert any(f"score {hit['score']:.2f}" in line and hit["age"] in line for line in lines)

    drive(stocked.home, journey, size=(105, 30), question="tide table row")


def test_calls_are_folded_until_they_are_wanted(stocked: Shelf) -> None:
    async def journey(keys: Keys) -> None:
        await _asked(keys, "tide table", "Tide table")
        await keys.press("enter")
        await see(keys, "▸ Bash, Edit · 1 failed", "▸ reasoning")
        await keys.press("c")
        await until(keys, lambda: any("▾ Bash: pytest -k tide" in line for line in plain(keys, "text")))
        assert any("! KeyError: 'low'" in line for line in plain(keys, "text"))

    drive(stocked.home, journey)


def test_a_day_is_one_line_of_time_and_leads_to_its_neighbours(stocked: Shelf) -> None:
    async def journey(keys: Keys) -> None:
        await _asked(keys, "low tide", "Tide table")
        await keys.press("escape", "d")
        await until(keys, lambda: isinstance(keys.app.screen, Day) and plain(keys, "rows"))
        assert said(keys, "day") == "Thursday, 12 March 2026"
        first, second = plain(keys, "rows")
        assert first.startswith("12:00  session  Tide table")
        assert second.startswith("14:30  commit   keep the low row")
        await keys.press("left_square_bracket")
        await until(keys, lambda: "10 March" in said(keys, "day"))
        await keys.press("right_square_bracket")
        await until(keys, lambda: "12 March" in said(keys, "day"))
        await keys.press("enter")
        await until(keys, lambda: isinstance(keys.app.screen, Reader))

    drive(stocked.home, journey)


def test_the_resume_command_is_copied_with_its_folder(stocked: Shelf, tmp_path: Path) -> None:
    async def journey(keys: Keys) -> None:
        await _asked(keys, "low tide", "Tide table")
        await keys.press("escape", "y")
        line = f"cd '{tmp_path / 'code' / 'ferry one'}' && claude --resume t1"
        await until(keys, lambda: keys.app.clipboard == line)
        await see(keys, "Copied:")

    drive(stocked.home, journey)


def test_what_cannot_be_resumed_says_so(stocked: Shelf) -> None:
    async def journey(keys: Keys) -> None:
        await _asked(keys, "harbour", "Harbour")
        await keys.press("escape", "y")
        await see(keys, "no session that could be resumed")
        assert keys.app.clipboard == ""

    drive(stocked.home, journey)


def test_resuming_leaves_with_the_command_once_it_is_confirmed(
    stocked: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")

    async def journey(keys: Keys) -> None:
        await _asked(keys, "low tide", "Tide table")
        await keys.press("escape", "o")
        await see(keys, "Leave, and run", "claude --resume t1")
        await keys.press("escape")
        await until(keys, lambda: isinstance(keys.app.screen, Search))
        await keys.press("o")
        await see(keys, "claude --resume t1")
        await keys.press("enter")

    chosen = drive(stocked.home, journey)
    assert chosen is not None
    assert (chosen.command, chosen.folder) == ("claude --resume t1", str(tmp_path / "code" / "ferry one"))


def test_a_program_that_is_missing_is_named_instead_of_leaving(stocked: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)

    async def journey(keys: Keys) -> None:
        await _asked(keys, "low tide", "Tide table")
        await keys.press("escape", "o")
        await see(keys, "claude is not installed here")

    assert drive(stocked.home, journey) is None


def test_a_note_is_judged_kept_and_found(stocked: Shelf) -> None:
    async def journey(keys: Keys) -> None:
        await keys.press("escape", "n")
        await until(keys, lambda: isinstance(keys.app.screen, Note))
        await keys.press(*("underscore" if each == "_" else each for each in _TOKEN), "ctrl+s")
        await until(keys, lambda: "refused" in said(keys, "verdict"))
        assert "Ctrl+F" not in said(keys, "verdict")
        await keys.press(*["backspace"] * len(_TOKEN))
        await keys.press(*("space" if each == " " else each for each in "ferries wait for trains"))
        await keys.press("ctrl+t", "ctrl+s")
        await until(keys, lambda: isinstance(keys.app.screen, Search))
        await see(keys, "decision kept: ferries wait for trains")
        await keys.press("slash")
        await _asked(keys, "ferries trains", "ferries wait for trains")

    drive(stocked.home, journey)
    (entry,) = entries.entries(stocked.home)
    assert (entry.type, entry.title) == ("decision", "ferries wait for trains")


def test_the_gate_is_overridden_on_purpose_alone(stocked: Shelf) -> None:
    async def journey(keys: Keys) -> None:
        await keys.press("escape", "n")
        await until(keys, lambda: isinstance(keys.app.screen, Note))
        for line in ("$ git status", "On branch main", "nothing to commit"):
            await keys.press(*("space" if each == " " else "dollar_sign" if each == "$" else each for each in line))
            await keys.press("enter")
        await keys.press("ctrl+s")
        await until(keys, lambda: "Ctrl+F keeps it nevertheless" in said(keys, "verdict"))
        assert not list(entries.entries(stocked.home))
        await keys.press("ctrl+f")
        await until(keys, lambda: isinstance(keys.app.screen, Search))

    drive(stocked.home, journey)
    assert len(list(entries.entries(stocked.home))) == 1


def test_help_shows_the_keys(stocked: Shelf) -> None:
    async def journey(keys: Keys) -> None:
        await keys.press("escape", "question_mark")
        await until(keys, lambda: isinstance(keys.app.screen, Help))
        assert max(map(len, screen(keys).splitlines())) <= 80
        await keys.press("escape")
        await until(keys, lambda: isinstance(keys.app.screen, Search))

    drive(stocked.home, journey)


def test_nothing_found_says_why_and_what_is_nearest(stocked: Shelf) -> None:
    async def journey(keys: Keys) -> None:
        await until(keys, lambda: any("Nothing in memory" in line for line in plain(keys, "hits")))
        await keys.press("enter")
        assert isinstance(keys.app.screen, Search)

    drive(stocked.home, journey, question="zyxwv")


def test_an_empty_memory_says_how_to_fill_it(shelf: Shelf) -> None:
    async def journey(keys: Keys) -> None:
        await until(keys, lambda: any("brain index" in line for line in plain(keys, "hits")))

    drive(shelf.home, journey)


def test_a_home_without_an_index_names_the_command_that_makes_one(home: Home) -> None:
    async def journey(keys: Keys) -> None:
        await see(keys, "there is no index yet", "fix: brain index")
        await keys.press("escape", "d")
        await until(keys, lambda: isinstance(keys.app.screen, Day) and plain(keys, "rows"))
        assert "there is no index yet" in " ".join(plain(keys, "rows"))

    drive(home, journey)


@pytest.mark.parametrize("title", HOSTILE)
def test_a_hostile_document_is_shown_as_text(shelf: Shelf, title: str) -> None:
    body = f"## [1] user · 2026-03-12 12:00\n\n{title}\n\n- Bash: {title}\n  ! {title}"
    shelf.put("brain", "h.md", body, date=_NOON, title=title, source="claude", project=f"/x/{title}", session_id="h")
    wanted = " ".join(printable(title).split())

    async def journey(keys: Keys) -> None:
        await until(keys, lambda: any(wanted in line for line in plain(keys, "hits")))
        _assert_harmless(keys)
        await keys.press("enter")
        await until(keys, lambda: isinstance(keys.app.screen, Reader) and plain(keys, "text"))
        await keys.press("c")
        await keys.pause()
        _assert_harmless(keys)
        await keys.press("y")
        await until(keys, lambda: keys.app.clipboard == "claude --resume h")
        await keys.press("d")
        await until(keys, lambda: isinstance(keys.app.screen, Day) and plain(keys, "rows"))
        _assert_harmless(keys)

    drive(shelf.home, journey, question="tide")


def _assert_harmless(keys: Keys) -> None:
    text = screen(keys)
    assert printable(text) == text
    assert "\x1b" not in text


class _Slow(Memory):
    """A memory of which the first question takes until it is let go."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory.home, memory.config, memory.environ)
        self.asked: list[str] = []
        self.go = threading.Event()

    def ask(self, question: str) -> dict[str, Any]:
        self.asked.append(question)
        if len(self.asked) == 1:
            assert self.go.wait(20)
        return super().ask(question)


def test_typing_goes_on_while_a_question_is_asked_and_only_the_newest_counts(stocked: Shelf) -> None:
    memory = _Slow(Memory(stocked.home, load(stocked.home), {"BRAIN_SERVE": "off"}))

    async def journey(keys: Keys) -> None:
        await until(keys, lambda: memory.asked == [""])
        await keys.press(*"tide")
        assert isinstance(keys.app.screen, Search)
        assert keys.app.screen.question == "tide"
        assert plain(keys, "hits") == []
        memory.go.set()
        await until(keys, lambda: any("Tide table" in line for line in plain(keys, "hits")))

    drive(stocked.home, journey, memory=memory)
    # What was typed meanwhile was asked once, in its last state.
    assert memory.asked == ["", "tide"]


@pytest.mark.long
def test_a_session_of_ten_thousand_turns_comes_in_pieces(shelf: Shelf) -> None:
    body = "\n\n".join(
        f"## [{number}] {'user' if number % 2 else 'assistant'} · 2026-03-12 12:00\n\nword {number}"
        for number in range(1, 10_001)
    )
    shelf.put("brain", "long.md", body, date=_NOON, title="A long session", source="claude", session_id="long")

    async def journey(keys: Keys) -> None:
        await see(keys, "1. A long session")
        await keys.press("enter")
        await until(keys, lambda: isinstance(keys.app.screen, Reader) and plain(keys, "text"))
        begun = len(plain(keys, "text"))
        assert begun < 3_000
        await keys.press("G")
        await see(keys, "word 10000")
        assert len(plain(keys, "text")) < 3_000
        await keys.press("left_square_bracket")
        await see(keys, "user [9999]")
        await keys.press("g")
        await see(keys, "user [1]")
        while len(plain(keys, "text")) <= begun:
            await keys.press("space")
        assert len(plain(keys, "text")) < 6_000
        await keys.press("g")
        await keys.press("right_square_bracket")
        await see(keys, "user [3]")

    drive(shelf.home, journey, question="long session")


def test_an_opened_hit_counts_as_a_question_and_typing_does_not(stocked: Shelf) -> None:
    async def journey(keys: Keys) -> None:
        await _asked(keys, "low tide", "Tide table")
        await keys.press("enter")
        await until(keys, lambda: isinstance(keys.app.screen, Reader) and plain(keys, "text"))

    drive(stocked.home, journey)
    rows = [json.loads(line) for line in Path(stocked.home.usage).read_text().splitlines()]
    assert [(row["event"], row["surface"]) for row in rows] == [("ask", "tui"), ("show", "tui")]
    assert "query" not in rows[0]
    assert rows[0]["n_hits"] >= 1


@pytest.mark.parametrize(("size", "beside"), [((80, 24), False), ((140, 40), True)])
def test_the_preview_is_beside_the_hits_where_there_is_room(
    stocked: Shelf, size: tuple[int, int], beside: bool
) -> None:
    async def journey(keys: Keys) -> None:
        await see(keys, "Tide table")
        assert (pane(keys, "preview").region.x > 0) == beside
        assert max(map(len, screen(keys).splitlines())) <= size[0]

    drive(stocked.home, journey, size=size)


def test_colours_change_by_a_key(stocked: Shelf) -> None:
    async def change(keys: Keys) -> None:
        await keys.press("escape", "t")
        assert keys.app.theme == "light"
        await keys.press("t")
        assert keys.app.theme == "dark"
        await keys.press("t")
        assert keys.app.theme == "terminal"

    drive(stocked.home, change)
