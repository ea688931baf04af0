"""A file's history: every spelling of its path, what each line did, and no other file."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import BadInput
from core.home import Home
from runtime.explaining.file_history import changed_lately, file_history
from tests.runtime.index_fixture import Shelf

_NOON = 1_773_316_800  # 2026-03-12 12:00 UTC
_COMMON: dict[str, Any] = {"source": "claude", "project": "/code/ferry"}


@pytest.fixture
def shelf(home: Home, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setenv("HOME", "/home/ana")
    return Shelf(home)


def session(*lines: str) -> str:
    """Return a session in which a person asks and an agent does ``lines``."""
    said = "\n".join(lines)
    return f"## [1] user · 2026-03-12 12:00\n\nlook\n\n## [2] assistant · 2026-03-12 12:05\n\n{said}\n"


LINES = [
    ("- Edit: /code/ferry/src/tide.py (2 edits)", "changed"),
    ("- write: /code/ferry/src/tide.py", "changed"),
    ("- apply_patch: src/tide.py", "changed"),
    ("- Read: /code/ferry/src/tide.py", "read"),
    ("- Bash: pytest src/tide.py  # look", "ran"),
    ("I changed `src/tide.py`, and it works.", "mentioned"),
    ("See src/tide.py.", "mentioned"),
    ("- Edit: ./src/tide.py", "changed"),
    ("- Edit: ../src/tide.py", ""),
    ("src/tide.py:12 is wrong", "mentioned"),
    ("- Edit: /code/ferry/src/tide.pyi", ""),
    ("- Edit: /code/ferry/src/old_tide.py", ""),
    ("- Edit: /other/code/ferry/src/tide.py", ""),
    ("- Edit: tests/src/tide.py", ""),
    ("src/tide.py/more is a folder", ""),
    ("tide.py alone may be any file", ""),
]


@pytest.mark.parametrize(("line", "deed"), LINES)
def test_a_line_names_the_file_or_another_one(shelf: Shelf, line: str, deed: str) -> None:
    shelf.put("brain", "a.md", session(line), date=_NOON, ended=_NOON + 600, session_id="a", **_COMMON)
    found = file_history(shelf.home, shelf.config, "/code/ferry/src/tide.py")
    assert found["deeds"] == ({deed: 1} if deed else {})
    if deed:
        (event,) = found["items"][0]["events"]
        assert (event["deed"], event["at"]) == (deed, "2026-03-12T12:05:00Z")
        assert line.split()[-1] in event["text"]


def test_an_end_of_a_path_stands_for_every_such_file(shelf: Shelf) -> None:
    for name, place in (
        ("a", "/code/ferry/src/tide.py"),
        ("b", "/code/gull/src/tide.py"),
        ("c", "/code/x/lib/tide.py"),
    ):
        shelf.put("brain", f"{name}.md", session(f"- Edit: {place}"), date=_NOON, session_id=name, source="claude")

    def ask(path: str) -> set[str]:
        return {each["uri"][-4:] for each in file_history(shelf.home, shelf.config, path)["items"]}

    assert ask("src/tide.py") == {"a.md", "b.md"}
    assert ask("tide.py") == {"a.md", "b.md", "c.md"}
    assert ask("/code/gull/src/tide.py") == {"b.md"}


def test_the_home_folder_has_two_spellings(shelf: Shelf) -> None:
    shelf.put("brain", "a.md", session("- Edit: ~/notes/tide.md"), date=_NOON, session_id="a", source="claude")
    for path in ("/home/ana/notes/tide.md", "~/notes/tide.md", "notes/tide.md"):
        assert file_history(shelf.home, shelf.config, path)["deeds"] == {"changed": 1}


def test_the_newest_deed_is_first_and_commits_count_once(shelf: Shelf) -> None:
    shelf.put(
        "brain", "a.md", session("- Edit: src/tide.py"), date=_NOON, ended=_NOON + 9_000, session_id="a", **_COMMON
    )
    commits = (
        "## 14:30 tide: keep the low row\n\n`abc` · Ana\n\n- src/tide.py\n- docs/src/tide.py is moved\n\n## 15:00 no\n"
    )
    day: dict[str, Any] = {"project": "/code/ferry", "commits": 2, "session_id": "ferry:2026-03-12"}
    shelf.put("git", "ferry/2026-03-12.md", commits, date=_NOON + 5400, ended=_NOON + 7200, **day)
    found = file_history(shelf.home, shelf.config, "src/tide.py")
    assert [(each["kind"], each["touched"]) for each in found["items"]] == [
        ("commit", "2026-03-12T14:00:00Z"),
        ("session", "2026-03-12T12:05:00Z"),
    ]
    assert [event["text"] for event in found["items"][0]["events"]] == ["14:30 tide: keep the low row"]
    assert found["deeds"] == {"committed": 1, "changed": 1}


@pytest.mark.parametrize("path", ["", "/", "//", "..", "a\nb", " / "])
def test_what_names_no_file_is_refused(shelf: Shelf, path: str) -> None:
    with pytest.raises(BadInput):
        file_history(shelf.home, shelf.config, path)


@pytest.mark.parametrize("path", ['a"b.py', "a* OR b.py", "NEAR(a b).py", "ü日本.py", "x" * 2000])
def test_no_name_is_read_as_a_query(shelf: Shelf, path: str) -> None:
    shelf.put("brain", "a.md", session(f"- Edit: {path}"), date=_NOON, session_id="a", **_COMMON)
    assert file_history(shelf.home, shelf.config, path)["deeds"] in ({"changed": 1}, {})


def test_a_secret_of_an_older_policy_is_not_shown(shelf: Shelf) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    shelf.put("brain", "a.md", session(f"- Bash: TOKEN={token} cat src/tide.py"), date=_NOON, session_id="a", **_COMMON)
    shelf.sql("UPDATE brain_facts SET policy = 0")
    found = file_history(shelf.home, shelf.config, "src/tide.py")
    assert found["deeds"] == {"ran": 1}
    assert token not in str(found)


def test_files_that_were_changed_are_listed_the_last_first(shelf: Shelf) -> None:
    shelf.put("brain", "a.md", session("- Edit: src/tide.py", "- Edit: src/tide.py (3 edits)"), date=_NOON, **_COMMON)
    later = session("- Write: /code/ferry/gull.py", "- Read: /code/ferry/crab.py").replace("12:05", "13:05")
    shelf.put("brain", "b.md", later, date=_NOON + 3600, session_id="b", **_COMMON)
    found = changed_lately(shelf.home, shelf.config)["items"]
    assert [(each["path"], each["changes"]) for each in found] == [
        ("/code/ferry/gull.py", 1),
        ("/code/ferry/src/tide.py", 2),
    ]
