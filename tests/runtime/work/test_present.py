from __future__ import annotations

from pathlib import Path

import pytest

from ingest.pipeline.edit_log import Change
from runtime.work.present import CHANGED, GONE, LARGEST, UNCHANGED, Present, owners, ranges, state
from runtime.work.traces import Trace, difference, is_comparable, is_telling, key, packed, trace, unpacked

FILE = "import os\n\n\ndef first(value):\n    return value + 1\n\n\ndef second(value):\n    return value + 2\n"


def change(before: str | None, after: str, *, is_whole: bool = False) -> Trace:
    return trace(Change(1, "", "/a.py", before, after, is_whole))


def looked(path: Path, text: str, before: str | None, after: str) -> tuple[str, list[int]] | None:
    path.write_text(text)
    found = Present(str(path)).look(change(before, after))
    return None if found is None else (found.state, found.lines)


SECOND = "def second(value):\n    return value + 2\n"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("", SECOND, (UNCHANGED, [8, 9])),
        ("def second(value):\n    return value\n", SECOND, (UNCHANGED, [9])),
        ("", "def second(other):\n    return value + 2\n", (CHANGED, [9])),
        ("", "def third(value):\n    return nothing_at_all\n", (GONE, [])),
        ("    assert value is not None\n", "", (UNCHANGED, [])),
        (SECOND, "", (GONE, [])),
        ("    return value\n", "}\n", (GONE, [])),
        ("x\n", "\n\n", None),
        (None, FILE, (UNCHANGED, list(range(1, 10)))),
    ],
    ids=[
        "inserted",
        "one line of a block",
        "partly",
        "gone",
        "removed",
        "removed and back",
        "short line",
        "blank",
        "all",
    ],
)
def test_a_file_tells_what_became_of_an_edit(
    tmp_path: Path, before: str | None, after: str, found: tuple[str, list[int]] | None
) -> None:
    assert looked(tmp_path / "a.py", FILE, before, after) == found


def test_line_ends_and_indentation_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(FILE.replace("\n", "\r\n").encode())
    indented = "".join(f"\t{line}\n" for line in SECOND.splitlines())
    found = Present(str(path)).look(change("", indented))
    assert found is not None
    assert (found.state, found.lines) == (UNCHANGED, [8, 9])


def test_a_secret_in_the_file_is_compared_as_the_log_has_it(tmp_path: Path) -> None:
    path = tmp_path / "a.env"
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    path.write_text(f"GITHUB_TOKEN={token}\n")
    found = Present(str(path)).look(change("", "GITHUB_TOKEN=[redacted:github-token]\n"))
    assert found is not None
    assert found.state in (UNCHANGED, GONE)
    assert token not in str(Present(str(path)).look(change("", "GITHUB_TOKEN=[redacted:github-token]\n")))


@pytest.mark.parametrize("kind", ["missing", "folder", "binary", "huge"])
def test_a_file_that_cannot_be_compared_tells_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    if kind == "folder":
        path.mkdir()
    elif kind == "binary":
        path.write_bytes(b"\0\1\2 text of the edit\n")
    elif kind == "huge":
        with path.open("wb") as stream:
            stream.truncate(LARGEST + 1)
    assert Present(str(path)).look(change("", "text of the edit\n")) is None


def test_a_long_file_is_compared_by_what_both_have_once(tmp_path: Path) -> None:
    lines = [f"statement number {number}" if number % 3 else "}" for number in range(3000)]
    path = tmp_path / "a.py"
    path.write_text("\n".join([*lines[:1500], "another line of a person", *lines[1500:]]))
    found = Present(str(path)).look(change(None, "\n".join(lines), is_whole=True))
    assert found is not None
    assert found.state == UNCHANGED
    assert 1501 not in found.lines
    assert len(found.lines) >= 2990


def test_a_text_that_repeats_its_lines_is_not_compared_pair_by_pair(tmp_path: Path) -> None:
    lines = [f"the repeated line {number % 2}" for number in range(999)]
    assert not is_comparable(lines, lines)
    path = tmp_path / "a.py"
    path.write_text("\n".join([*lines, "a line of its own", *lines]))
    found = Present(str(path)).look(
        change("", "\n".join(["another line altogether", *lines[::-1], "a line of its own"]))
    )
    assert found is not None
    assert found.state == CHANGED
    assert 1000 in found.lines


def test_only_what_differs_is_an_edits_own() -> None:
    assert difference(["a", "b", "c", "d"], ["a", "B", "c", "D"]) == ([1, 3], ["b", "d"])


def test_a_key_tells_if_its_line_can_be_recognised() -> None:
    assert key("  \t") == ""
    assert key("    return value  ") == key("return value\r")
    assert [is_telling(key(line)) for line in ("}", "return value", "")] == [False, True, False]


def test_what_a_session_wrote_and_took_away_again_is_not_missed(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("def final_answer():\n    return 42_000_000\n")
    first = change("", "def first_attempt():\n    return 42_000_000\n")
    second = change("def first_attempt():\n", "def final_answer():\n")
    present = Present(str(path))
    looked = [(each, present.look(each)) for each in (second, first)]
    assert [found.state for _, found in looked if found] == [UNCHANGED, CHANGED]
    assert state([(each, found) for each, found in looked if found]) == UNCHANGED
    assert state([]) is None


def test_traces_come_back_from_the_cache_without_any_text() -> None:
    made = [change("old text here\n", "new text here\n"), change(None, "whole text\n", is_whole=True)]
    assert unpacked(packed(made)) == made
    assert "text" not in str([each.after for each in made])


@pytest.mark.parametrize("data", [b"", b"junk", packed([])[:-3], b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_cache_counts_as_none(data: bytes) -> None:
    assert unpacked(data) is None


def test_a_file_written_over_an_unknown_one_has_only_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("the first line of all\nthe second line of all\nthe third line of all\n")
    newest = change(None, path.read_text(), is_whole=True)
    edit = change("", "the second line of all\n")
    oldest = change(None, "the first line of all\n", is_whole=True)
    present = Present(str(path))
    looked = [(each, found) for each in (newest, edit, oldest) if (found := present.look(each)) is not None]
    assert owners(looked) == {1: 2, 2: 1, 3: 0}


def test_lines_become_ranges() -> None:
    assert ranges([1, 2, 3, 7, 9, 10]) == [[1, 3], [7, 7], [9, 10]]
